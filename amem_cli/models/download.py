"""Fetches one GGUF file over HTTP, and resumes what an earlier attempt left unfinished.

The bytes go into a `.part` file; a JSON file beside it holds the address and the version (ETag), so
that parts of two versions never mix.
"""

from __future__ import annotations

import contextlib
import json
import os
import shutil
import time
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING

from amem_cli.errors import AmemError, ModelError, NotFoundError, SettingsError, UsageError
from amem_cli.models.gguf import MAGIC
from amem_cli.models.http import HttpFault, check_fetchable, host_of, is_loopback, seconds_to_wait
from amem_cli.settings import read_state

if TYPE_CHECKING:
    import anyio
    import httpx

Progress = Callable[[int, int], None]

MOST_BYTES = 200 * 10**9
SPARE_BYTES = 256 * 2**20
REDIRECTS = 5
_BUSY = frozenset({408, 429, 500, 502, 503, 504})


@dataclass(frozen=True, slots=True)
class Patience:
    """How long to wait for a server.

    Attributes:
        silence_seconds: for the next bytes.
        slow_seconds, slow_bytes: so many bytes must arrive in so many seconds.
        total_seconds: for the whole file.
        attempts: in a row that bring fewer than `slow_bytes`.
        wait_seconds: the longest pause that a server may ask for.
        pause_seconds: before the second attempt; doubled with each further one.
    """

    silence_seconds: float = 30.0
    slow_seconds: float = 60.0
    slow_bytes: int = 64 * 1024
    total_seconds: float = 24 * 3600.0
    attempts: int = 4
    wait_seconds: float = 120.0
    pause_seconds: float = 1.0


USUAL_PATIENCE = Patience()


@dataclass(frozen=True, slots=True)
class DownloadRequest:
    """A file to fetch; the headers go to the address's own host only. `size` 0: unknown."""

    url: str
    headers: Mapping[str, str] = field(default_factory=dict, repr=False)
    size: int = 0


def download(request: DownloadRequest, part: Path, progress: Progress, patience: Patience) -> None:
    """Fetch a file into a part file, or what is missing of it.

    After a `ModelError` what has come is kept. `SettingsError`: access is denied, or the disk is
    full. `NotFoundError`: there is no such file. `UsageError`: the address is not encrypted.
    """
    import anyio

    check_fetchable(request.url)
    until = time.monotonic() + patience.total_seconds
    failures = 0
    while True:
        before = _size_of(part)
        try:
            anyio.run(_Transfer(request, part, progress, patience, until).run)
            return
        except HttpFault as cut:
            progressed = _size_of(part) - before >= patience.slow_bytes
            failures = 1 if progressed else failures + 1
            wait = max(cut.wait, patience.pause_seconds * 2.0 ** (failures - 1))
            late = time.monotonic() + wait >= until
            if failures >= patience.attempts or wait > patience.wait_seconds or late:
                hint = "Is the address right, and this machine online?"
                if _size_of(part):
                    hint = "What has come is kept: the same command goes on from there."
                raise ModelError(f"{host_of(request.url)}: {cut}", hint=hint) from None
        time.sleep(wait)


def forget(part: Path) -> None:
    """Delete a part file and its state."""
    for path in (part, _state_file(part)):
        with contextlib.suppress(OSError):
            path.unlink()


def check_room(folder: Path, needed: int) -> None:
    """Raise SettingsError if a disk has no room for so many bytes and some to spare."""
    free = shutil.disk_usage(folder).free
    if needed + SPARE_BYTES > free:
        raise SettingsError(
            f"the model needs {needed / 1e9:.1f} GB of disk, and {free / 1e9:.1f} GB are free in"
            f" {folder}",
            hint="Make room, or set AMEM_DATA_DIR to a folder on another disk.",
        )


@dataclass
class _Transfer:
    """One attempt.

    A deadline covers name look-up, headers and content alike, which the client's own timeouts,
    being for single reads, do not; it moves on with every `slow_bytes` that arrive.
    """

    _request: DownloadRequest
    _part: Path
    _progress: Progress
    _patience: Patience
    _until: float

    def __post_init__(self) -> None:
        self._host = host_of(self._request.url)
        self._etag = _read_etag(self._part, self._request.url)
        self._start = _size_of(self._part) if self._etag else 0

    async def run(self) -> None:
        import anyio
        import httpx

        try:
            timeout, proxies = self._patience.silence_seconds, not is_loopback(self._host)
            async with httpx.AsyncClient(trust_env=proxies, timeout=timeout) as client:
                with anyio.fail_after(None) as scope:
                    scope.deadline = self._deadline()
                    response = await self._ask(client)
                    try:
                        await self._receive(response, scope)
                    finally:
                        await response.aclose()
        except (AmemError, HttpFault):
            raise
        except TimeoutError:
            late = time.monotonic() >= self._until
            why = "it takes too long" if late else "the server sends next to nothing"
            raise HttpFault(why) from None
        except OSError as error:
            raise SettingsError(
                f"the model cannot be written: {error.strerror}", hint="Is the disk full?"
            ) from None
        except httpx.TimeoutException:
            raise HttpFault("the server does not answer") from None
        except httpx.ConnectError as error:
            secure = "trusted encrypted " if "[SSL" in str(error) else ""
            raise HttpFault(f"no {secure}connection") from None
        except Exception as error:
            raise HttpFault(f"the connection was cut ({type(error).__name__})") from None

    def _deadline(self) -> float:
        return min(time.monotonic() + self._patience.slow_seconds, self._until)

    async def _ask(self, client: httpx.AsyncClient) -> httpx.Response:
        headers = {"accept-encoding": "identity", "user-agent": "amem", **self._request.headers}
        if self._start:
            headers |= {"range": f"bytes={self._start}-", "if-range": self._etag}
        request = client.build_request("GET", self._request.url, headers=headers)
        for _ in range(REDIRECTS + 1):
            response = await client.send(request, stream=True)
            if response.next_request is None:
                return response
            await response.aclose()
            # The client itself leaves the key out of requests to another host.
            request = response.next_request
            self._check_redirect(str(request.url))
        raise ModelError(f"{self._host} leads from one address to another without end")

    def _check_redirect(self, url: str) -> None:
        try:
            check_fetchable(url)
        except UsageError as error:
            raise ModelError(f"{self._host} leads elsewhere: {error.message}") from None
        if is_loopback(host_of(url)) and not is_loopback(self._host):
            raise ModelError(f"{self._host} leads back to this machine, which is refused")

    async def _receive(self, response: httpx.Response, scope: anyio.CancelScope) -> None:
        status, headers = response.status_code, response.headers
        span = headers.get("content-range", "")
        if status == 416:
            if self._start and span == f"bytes */{self._start}":
                # All of it came before, and was not checked yet.
                self._check_size(self._start)
                return
            forget(self._part)
            raise HttpFault("the server has less of the file than came before")
        if status not in (200, 206):
            raise _refusal(self._host, status, headers.get("retry-after", ""))
        if headers.get("content-encoding", "identity") != "identity":
            raise ModelError(f"{self._host} sends the file compressed, which was not asked for")
        etag = headers.get("etag", "")
        etag = "" if etag.startswith("W/") or len(etag) >= 300 else etag
        if status == 200:
            self._start = 0
            # Emptied first: an ETag must never stand beside bytes of another version.
            self._part.write_bytes(b"")
            state = json.dumps({"url": self._request.url, "etag": etag})
            _state_file(self._part).write_text(state, encoding="utf-8")
        elif not span.startswith(f"bytes {self._start}-") or (etag and etag != self._etag):
            forget(self._part)
            raise HttpFault("the file changed on the server, and is fetched anew")
        size = span.rpartition("/")[2] if status == 206 else headers.get("content-length", "")
        total = int(size) if size.isdecimal() else self._request.size
        self._check_size(total)
        await self._store(response, total, scope)

    def _check_size(self, total: int) -> None:
        if self._request.size and total != self._request.size:
            forget(self._part)
            raise ModelError(
                f"{self._host} sends {total} bytes of a file that has {self._request.size}",
                hint="Try again later, or take the file from elsewhere.",
            )
        if total > MOST_BYTES:
            raise ModelError(f"{self._host} sends more than {MOST_BYTES // 10**9} GB")
        check_room(self._part.parent, total - self._start)

    async def _store(self, response: httpx.Response, total: int, scope: anyio.CancelScope) -> None:
        done = mark = self._start
        with self._part.open("ab") as file:
            async for chunk in response.aiter_raw():
                if done == 0 and not chunk.startswith(MAGIC[: len(chunk)]):
                    raise ModelError(
                        f"what {self._host} sends is no GGUF model",
                        hint="Is the address that of the file, and not of a page about it?",
                    )
                if done + len(chunk) > (total or MOST_BYTES):
                    raise ModelError(f"{self._host} sends more than it announced")
                file.write(chunk)
                # On disk at once, for the process may be killed at any time.
                file.flush()
                done += len(chunk)
                if done - mark >= self._patience.slow_bytes:
                    mark, scope.deadline = done, self._deadline()
                self._progress(done, total or done)
            os.fsync(file.fileno())
        if done < total:
            raise HttpFault(f"the connection was cut after {done} of {total} bytes")


def _refusal(host: str, status: int, retry_after: str) -> Exception:
    if status in (401, 403):
        return SettingsError(
            f"{host} denies access to the file (status {status})",
            hint="Accept the model's terms on the hub if it has any, and set HF_TOKEN.",
        )
    if status in (404, 410):
        return NotFoundError(f"{host} has no such file", hint="Check the name and the address.")
    if status in _BUSY:
        return HttpFault(f"the server is busy (status {status})", wait=seconds_to_wait(retry_after))
    return ModelError(f"{host} refused with status {status}")


def _state_file(part: Path) -> Path:
    return part.with_name(part.name + ".json")


def _size_of(path: Path) -> int:
    return path.stat().st_size if path.exists() else 0


def _read_etag(part: Path, url: str) -> str:
    """The version of what a part file holds; empty if it must be fetched from the beginning."""
    state = read_state(_state_file(part))
    known = isinstance(state, dict) and state.get("url") == url
    return str(state.get("etag") or "") if known else ""
