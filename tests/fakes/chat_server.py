"""An OpenAI-compatible server on this machine that can be told to misbehave."""

from __future__ import annotations

import json
import random
import ssl
import threading
from collections.abc import Callable
from dataclasses import dataclass
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from types import TracebackType
from typing import Any

from tests.fakes.language_model import random_value


@dataclass(frozen=True, slots=True)
class Received:
    """One request as the server got it."""

    path: str
    authorization: str
    body: dict[str, Any]


class ChatServer:
    """Serves chat completions in a thread; use it in a `with` statement.

    Attributes:
        content: the next answers' text, or a function that makes it from the request; as long as
            it is None, answers are made up from the schema in the request.
        faults: names of faults for the next requests, one each, the last one for good. "" is none.
        complaint: text of the refusals 400, 401 and 404.
        requests: what was received, in order.
        finish_reason, usage, message: parts of the reply.
        is_ollama: it answers at Ollama's own address as well.
        models: names that it lists.
        sizes: what an Ollama's own list says of them, by name.
        listing_fault: the fault of its lists.
        looked_at: the paths of the lists that were asked for.
    """

    def __init__(self, certificate: Path | None = None) -> None:
        """Open a port; with a certificate (PEM with its key) the server speaks TLS."""
        self.content: str | Callable[[dict[str, Any]], str] | None = None
        self.faults: list[str] = [""]
        self.complaint = "something is wrong"
        self.redirect_to = ""
        self.retry_after = ""
        self.requests: list[Received] = []
        self.finish_reason: str | None = "stop"
        self.usage: object = {"prompt_tokens": 7, "completion_tokens": 3}
        self.message: dict[str, Any] = {}
        self.is_ollama = False
        self.models: list[str] = ["test-model"]
        self.sizes: dict[str, dict[str, Any]] = {}
        self.listing_fault = ""
        self.looked_at: list[str] = []
        self.stopped = threading.Event()
        self._server = ThreadingHTTPServer(("127.0.0.1", 0), self._handler())
        self._server.daemon_threads = True
        self._scheme = "http"
        if certificate is not None:
            context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
            context.load_cert_chain(certificate)
            self._server.socket = context.wrap_socket(self._server.socket, server_side=True)
            self._scheme = "https"
        self._thread = threading.Thread(target=self._server.serve_forever, args=(0.05,))

    @property
    def port(self) -> int:
        return int(self._server.server_address[1])

    def variables(self, model: str = "test-model") -> dict[str, Any]:
        """What makes the program ask this server."""
        return {
            "AMEM_LLM_BACKEND": "openai",
            "AMEM_LLM_BASE_URL": self.url,
            "AMEM_LLM_MODEL": model,
        }

    @property
    def url(self) -> str:
        return f"{self._scheme}://127.0.0.1:{self.port}/v1"

    def __enter__(self) -> ChatServer:
        self._thread.start()
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        self.stopped.set()
        self._server.shutdown()
        self._server.server_close()
        self._thread.join()

    def completion(self, body: dict[str, Any]) -> dict[str, Any]:
        message = {"role": "assistant", "content": self._said(body)} | self.message
        choice = {"index": 0, "finish_reason": self.finish_reason, "message": message}
        return {"id": "x", "object": "chat.completion", "choices": [choice], "usage": self.usage}

    def native_completion(self, body: dict[str, Any]) -> dict[str, Any]:
        """As Ollama answers at `/api/chat`."""
        usage = self.usage if isinstance(self.usage, dict) else {}
        return {
            "model": body["model"],
            "message": {"role": "assistant", "content": self._said(body)} | self.message,
            "done": True,
            "done_reason": self.finish_reason,
            "prompt_eval_count": usage.get("prompt_tokens"),
            "eval_count": usage.get("completion_tokens"),
        }

    def next_fault(self) -> str:
        return self.faults.pop(0) if len(self.faults) > 1 else self.faults[0]

    def _said(self, body: dict[str, Any]) -> str:
        if callable(self.content):
            return self.content(body)
        if self.content is not None:
            return self.content
        asked = body.get("response_format", {})
        schema = body.get("format") or asked.get("schema") or asked["json_schema"]["schema"]
        return json.dumps(random_value(schema, random.Random(len(self.requests))))

    def _handler(self) -> type[BaseHTTPRequestHandler]:
        outer = self

        class Handler(_ChatHandler):
            server_state = outer

        return Handler


class _ChatHandler(BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"
    server_state: ChatServer

    def do_POST(self) -> None:
        state = self.server_state
        body = json.loads(self.rfile.read(int(self.headers["content-length"])))
        key = self.headers.get("authorization", "")
        state.requests.append(Received(self.path, key, body))
        if self.path == "/api/chat" and not state.is_ollama:
            self._send(404, b"404 page not found", "text/plain")
            return
        fault = state.next_fault()
        if not fault and self.path == "/api/chat":
            self._send(200, json.dumps(state.native_completion(body)).encode())
        elif not fault:
            self._send(200, json.dumps(state.completion(body)).encode())
        elif fault.isdigit():
            self._refuse(int(fault), key)
        else:
            getattr(self, f"_{fault}")()

    def do_GET(self) -> None:
        state = self.server_state
        state.looked_at.append(self.path)
        if state.listing_fault:
            getattr(self, f"_{state.listing_fault}")()
            return
        if self.path == "/api/tags" and state.is_ollama:
            rows = [{"name": name, **row} for name, row in state.sizes.items()]
            self._send(200, json.dumps({"models": rows}).encode())
            return
        if self.path != "/v1/models":
            self._send(404, b"{}")
            return
        owner = "library" if state.is_ollama else "somebody"
        data = [{"id": name, "object": "model", "owned_by": owner} for name in state.models]
        self._send(200, json.dumps({"object": "list", "data": data}).encode())

    def log_message(self, format: str, *arguments: Any) -> None:
        pass

    def _refuse(self, status: int, key: str) -> None:
        complaint = self.server_state.complaint.replace("{key}", key)
        self._send(status, json.dumps({"error": {"message": complaint}}).encode())

    def _html(self) -> None:
        self._send(200, b"<html>Please log in</html>", "text/html")

    def _empty_choices(self) -> None:
        self._send(200, b'{"choices": []}')

    def _error_body(self) -> None:
        self._send(200, b'{"error": {"message": "no such model"}}')

    def _redirect(self) -> None:
        self.send_response(307)
        self.send_header("location", self.server_state.redirect_to)
        self.send_header("content-length", "0")
        self.end_headers()

    def _huge(self) -> None:
        self._begin(300 * 2**20)
        self._write_until_stopped(b" " * 2**20, 0.0)

    def _drip(self) -> None:
        self._begin(100_000)
        self._write_until_stopped(b" ", 0.05)

    def _drip_headers(self) -> None:
        self.wfile.write(b"HTTP/1.1 200 OK\r\nx: ")
        self._write_until_stopped(b"x", 0.05)

    def _hints(self) -> None:
        self._write_until_stopped(b"HTTP/1.1 103 Early Hints\r\nx: x\r\n\r\n" * 500, 0.0)

    def _no_http(self) -> None:
        self.wfile.write(b"SSH-2.0-OpenSSH_9.6\r\n")
        self.close_connection = True

    def _deep(self) -> None:
        self._send(200, b'{"choices":' + b"[" * 1_000_000)

    def _silence(self) -> None:
        self.server_state.stopped.wait(30)
        self.close_connection = True

    def _cut(self) -> None:
        self._begin(1_000)
        self.wfile.write(b'{"choices":')
        self.close_connection = True

    def _hang_up(self) -> None:
        self.close_connection = True

    def _packed(self) -> None:
        self.send_response(200)
        self.send_header("content-encoding", "gzip")
        self.send_header("content-length", "0")
        self.end_headers()

    def _begin(self, length: int) -> None:
        self.send_response(200)
        self.send_header("content-type", "application/json")
        self.send_header("content-length", str(length))
        self.end_headers()

    def _write_until_stopped(self, block: bytes, pause: float) -> None:
        self.close_connection = True
        try:
            while not self.server_state.stopped.wait(pause):
                self.wfile.write(block)
                self.wfile.flush()
        except OSError:
            return

    def _send(self, status: int, body: bytes, kind: str = "application/json") -> None:
        self.send_response(status)
        self.send_header("content-type", kind)
        self.send_header("content-length", str(len(body)))
        if self.server_state.retry_after:
            self.send_header("retry-after", self.server_state.retry_after)
        self.end_headers()
        self.wfile.write(body)
