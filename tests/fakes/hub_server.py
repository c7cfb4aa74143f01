"""A model hub on this machine: lists a repository's files and gives them out, well or badly."""

from __future__ import annotations

import hashlib
import json
import threading
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, field
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer

COMMIT = "c" * 40


@dataclass
class Hub:
    """A running hub.

    Attributes:
        url: for `HF_ENDPOINT`.
        given: names of the files whose content was asked for.
        asked: the headers of these requests, in small letters.
        files: content by name; may be changed while the hub runs.
        faults: for the next requests of a file's content, one each, the last one for good; "" is
            none. A number is a status; other names are methods of the handler.
        cut_at: bytes after which a connection is cut.
        announced: a size that the listing claims for every file; 0: the true one.
        redirect_to: where the fault `elsewhere` leads.
        ranges: the hub gives parts of a file.
        listing: status of the description of the repository.
    """

    url: str = ""
    given: list[str] = field(default_factory=list)
    asked: list[dict[str, str]] = field(default_factory=list)
    files: dict[str, bytes] = field(default_factory=dict)
    faults: list[str] = field(default_factory=lambda: [""])
    cut_at: int = 1000
    announced: int = 0
    redirect_to: str = ""
    retry_after: str = ""
    ranges: bool = True
    listing: int = 200
    stopped: threading.Event = field(default_factory=threading.Event)

    def next_fault(self) -> str:
        return self.faults.pop(0) if len(self.faults) > 1 else self.faults[0]


@contextmanager
def a_hub(repository: str, files: Mapping[str, bytes]) -> Iterator[Hub]:
    """Serve one repository until the block ends."""
    hub = Hub(files=dict(files))

    class Handler(_HubHandler):
        hub_state = hub
        name = repository

    server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
    server.daemon_threads = True
    threading.Thread(target=server.serve_forever, args=(0.05,), daemon=True).start()
    hub.url = f"http://127.0.0.1:{server.server_address[1]}"
    try:
        yield hub
    finally:
        hub.stopped.set()
        server.shutdown()
        server.server_close()


class _HubHandler(BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"
    hub_state: Hub
    name: str

    def do_HEAD(self) -> None:
        self._answer(body=False)

    def do_GET(self) -> None:
        self._answer(body=True)

    def log_message(self, format: str, *args: object) -> None:
        """Say nothing."""

    def _answer(self, *, body: bool) -> None:
        hub, repository = self.hub_state, self.name
        path = self.path.partition("?")[0]
        prefix = f"/{repository}/resolve/"
        name = path.removeprefix(prefix).partition("/")[2] if path.startswith(prefix) else ""
        if path.startswith(f"/api/models/{repository}/tree/"):
            self._send(200, _listed(hub), body=body)
        elif path.startswith(f"/api/models/{repository}"):
            self._send(hub.listing, _described(repository, hub), body=body)
        elif name in hub.files:
            if body:
                hub.given.append(name)
                hub.asked.append({key.lower(): value for key, value in self.headers.items()})
            self._give(hub.files[name], hub.next_fault() if body else "", body=body)
        else:
            self._send(404, b"{}", body=body)

    def _give(self, content: bytes, fault: str, *, body: bool) -> None:
        if fault.isdigit():
            self._send(int(fault), b"{}", body=body)
        elif fault:
            getattr(self, f"_{fault}")(content)
        else:
            start = self._start_of(content)
            if start:
                told = f"bytes {start}-{len(content) - 1}/{len(content)}"
                self._send(206, content[start:], body=body, marked=content, range_told=told)
            elif self.headers.get("range") and self._same(content) and self.hub_state.ranges:
                self._send(416, b"", marked=content, range_told=f"bytes */{len(content)}")
            else:
                self._send(200, content, body=body, marked=content)

    def _start_of(self, content: bytes) -> int:
        """Where a part begins that the client has a right to, else 0."""
        asked = self.headers.get("range", "")
        start = int(asked[6:-1]) if asked.startswith("bytes=") and asked.endswith("-") else 0
        usable = self.hub_state.ranges and self._same(content) and start < len(content)
        return start if usable else 0

    def _same(self, content: bytes) -> bool:
        return self.headers.get("if-range", "") in ("", self._mark(content))

    def _mark(self, content: bytes) -> str:
        # Files of one content are stored once; these differ, as those of a model do.
        return f'"{hashlib.sha256(self.path.encode() + content).hexdigest()}"'

    def _begin(self, content: bytes, length: int) -> None:
        self.send_response(200)
        self.send_header("Content-Length", str(length))
        self.send_header("ETag", self._mark(content))
        self.end_headers()

    def _cut(self, content: bytes) -> None:
        """The connection ends in the middle, wherever the part began."""
        start = self._start_of(content)
        if start:
            self.send_response(206)
            self.send_header("Content-Length", str(len(content) - start))
            self.send_header("Content-Range", f"bytes {start}-{len(content) - 1}/{len(content)}")
            self.send_header("ETag", self._mark(content))
            self.end_headers()
        else:
            self._begin(content, len(content))
        self.wfile.write(content[start : start + self.hub_state.cut_at])
        self.close_connection = True

    def _wrong_part(self, content: bytes) -> None:
        """A part of another version than was asked for."""
        self.send_response(206)
        self.send_header("Content-Length", "10")
        self.send_header("Content-Range", f"bytes 10-19/{len(content)}")
        self.end_headers()
        self.wfile.write(b"x" * 10)

    def _announces_more(self, content: bytes) -> None:
        self._begin(content, len(content) + 50)
        self.wfile.write(content)
        self.close_connection = True

    def _endless(self, content: bytes) -> None:
        self.send_response(200)
        self.send_header("ETag", self._mark(content))
        self.send_header("Connection", "close")
        self.end_headers()
        self.close_connection = True
        self._write_until_stopped(content, 0.001)

    def _silence(self, content: bytes) -> None:
        self.close_connection = True
        self.hub_state.stopped.wait(30)

    def _stall(self, content: bytes) -> None:
        """A part comes, and then nothing."""
        self._begin(content, len(content))
        self.close_connection = True
        self.wfile.write(content[: self.hub_state.cut_at])
        self.wfile.flush()
        self.hub_state.stopped.wait(30)

    def _hang_up(self, content: bytes) -> None:
        self.close_connection = True

    def _page(self, content: bytes) -> None:
        self._send(200, b"<html>Please log in</html>")

    def _packed(self, content: bytes) -> None:
        self.send_response(200)
        self.send_header("Content-Encoding", "gzip")
        self.send_header("Content-Length", "0")
        self.end_headers()

    def _elsewhere(self, content: bytes) -> None:
        self.send_response(302)
        self.send_header("Location", self.hub_state.redirect_to or self.path)
        self.send_header("Content-Length", "0")
        self.end_headers()

    def _write_until_stopped(self, block: bytes, pause: float) -> None:
        try:
            while not self.hub_state.stopped.wait(pause):
                self.wfile.write(block)
                self.wfile.flush()
        except OSError:
            return

    def _send(
        self,
        status: int,
        content: bytes,
        *,
        body: bool = True,
        marked: bytes | None = None,
        range_told: str = "",
    ) -> None:
        self.send_response(status)
        self.send_header("Content-Length", str(len(content)))
        self.send_header("X-Repo-Commit", COMMIT)
        self.send_header("ETag", self._mark(content if marked is None else marked))
        if range_told:
            self.send_header("Content-Range", range_told)
        if self.hub_state.retry_after:
            self.send_header("Retry-After", self.hub_state.retry_after)
        self.end_headers()
        if body:
            self.wfile.write(content)


def _described(repository: str, hub: Hub) -> bytes:
    siblings = []
    for name, content in hub.files.items():
        sibling: dict[str, object] = {"rfilename": name, "size": hub.announced or len(content)}
        if name.endswith(".gguf"):
            digest = hashlib.sha256(content).hexdigest()
            sibling["lfs"] = {"sha256": digest, "size": sibling["size"], "pointerSize": 134}
        siblings.append(sibling)
    return json.dumps(
        {"id": repository, "sha": COMMIT, "siblings": siblings, "tags": [], "private": False}
    ).encode()


def _listed(hub: Hub) -> bytes:
    return json.dumps([_entry(hub, name, content) for name, content in hub.files.items()]).encode()


def _entry(hub: Hub, name: str, content: bytes) -> dict[str, object]:
    size = hub.announced or len(content)
    entry: dict[str, object] = {"type": "file", "path": name, "size": size, "oid": "0" * 40}
    if name.endswith(".gguf"):
        digest = hashlib.sha256(content).hexdigest()
        entry["lfs"] = {"oid": digest, "size": size, "pointerSize": 134}
    return entry
