"""A model hub on this machine: lists a repository's files and gives them out."""

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
    """

    url: str = ""
    given: list[str] = field(default_factory=list)


@contextmanager
def a_hub(repository: str, files: Mapping[str, bytes]) -> Iterator[Hub]:
    """Serve one repository until the block ends."""
    hub = Hub()

    class Handler(BaseHTTPRequestHandler):
        protocol_version = "HTTP/1.1"

        def do_HEAD(self) -> None:
            self._answer(body=False)

        def do_GET(self) -> None:
            self._answer(body=True)

        def _answer(self, *, body: bool) -> None:
            path = self.path.partition("?")[0]
            prefix = f"/{repository}/resolve/"
            name = path.removeprefix(prefix).partition("/")[2] if path.startswith(prefix) else ""
            if path.startswith(f"/api/models/{repository}/tree/"):
                self._send(200, _listed(files), body=body)
            elif path.startswith(f"/api/models/{repository}"):
                self._send(200, _described(repository, files), body=body)
            elif name in files:
                if body:
                    hub.given.append(name)
                self._send(200, files[name], body=body)
            else:
                self._send(404, b"{}", body=body)

        def _send(self, status: int, content: bytes, *, body: bool) -> None:
            self.send_response(status)
            self.send_header("Content-Length", str(len(content)))
            self.send_header("X-Repo-Commit", COMMIT)
            # Files of one content are stored once; these differ, as those of a model do.
            mark = hashlib.sha256(self.path.encode() + content).hexdigest()
            self.send_header("ETag", f'"{mark}"')
            self.end_headers()
            if body:
                self.wfile.write(content)

        def log_message(self, format: str, *args: object) -> None:
            """Say nothing."""

    server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
    threading.Thread(target=server.serve_forever, daemon=True).start()
    hub.url = f"http://127.0.0.1:{server.server_address[1]}"
    try:
        yield hub
    finally:
        server.shutdown()
        server.server_close()


def _described(repository: str, files: Mapping[str, bytes]) -> bytes:
    siblings = [{"rfilename": name} for name in files]
    return json.dumps(
        {"id": repository, "sha": COMMIT, "siblings": siblings, "tags": [], "private": False}
    ).encode()


def _listed(files: Mapping[str, bytes]) -> bytes:
    return json.dumps(
        [
            {"type": "file", "path": name, "size": len(content), "oid": "0" * 40}
            for name, content in files.items()
        ]
    ).encode()
