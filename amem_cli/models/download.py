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
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING

from amem_cli.errors import ModelError, NotFoundError, SettingsError, UsageError
from amem_cli.models.gguf import MAGIC
from amem_cli.models.http import HttpFault, check_fetchable, host_of, is_loopback, seconds_to_wait
from amem_cli.settings import read_state

if TYPE_CHECKING:
    import httpx

Progress = Callable[[int, int], None]

MOST_BYTES = 200 * 10**9
SPARE_BYTES = 256 * 2**20
REDIRECTS = 5
# A server may be silent for so long.
SILENCE_SECONDS = 30.0
# Attempts in a row that bring less than this end a download.
ATTEMPTS = 4
LEAST_BYTES = 64 * 1024
# The pause before the second attempt, doubled with each further one, and the longest of all.
PAUSE_SECONDS = 1.0
LONGEST_PAUSE_SECONDS = 120.0
_BUSY = frozenset({408, 429, 500, 502, 503, 504})


@dataclass(frozen=True, slots=True)
class DownloadRequest:
    """A file to fetch; the headers go to the address's own host only. `size` 0: unknown."""

    url: str
    headers: Mapping[str, str] = field(default_factory=dict, repr=False)
    size: int = 0


def download(request: DownloadRequest, part: Path, progress: Progress) -> None:
    """Fetch a file into a part file, or what is missing of it.

    After a `ModelError` what has come is kept. `SettingsError`: access is denied, or the disk has
    no room. `NotFoundError`: there is no such file. `UsageError`: the address is not encrypted.
    """
    check_fetchable(request.url)
    failures = 0
    while True:
        before = _size_of(part)
        try:
            _attempt(request, part, progress)
            return
        except HttpFault as cut:
            failures = 1 if _size_of(part) - before >= LEAST_BYTES else failures + 1
            wait = max(cut.wait, PAUSE_SECONDS * 2.0 ** (failures - 1))
            if failures >= ATTEMPTS or wait > LONGEST_PAUSE_SECONDS:
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


def _attempt(request: DownloadRequest, part: Path, progress: Progress) -> None:
    import httpx

    host = host_of(request.url)
    etag = _read_etag(part, request.url)
    start = _size_of(part) if etag else 0
    headers = {"accept-encoding": "identity", "user-agent": "amem", **request.headers}
    if start:
        headers |= {"range": f"bytes={start}-", "if-range": etag}
    try:
        with (
            httpx.Client(trust_env=not is_loopback(host), timeout=SILENCE_SECONDS) as client,
            _answer(client, request.url, headers) as response,
        ):
            _receive(response, request, part, start, progress)
    except httpx.TimeoutException:
        raise HttpFault("the server does not answer") from None
    except httpx.ConnectError as error:
        secure = "trusted encrypted " if "[SSL" in str(error) else ""
        raise HttpFault(f"no {secure}connection") from None
    except (httpx.HTTPError, httpx.InvalidURL) as error:
        raise HttpFault(f"the connection was cut ({type(error).__name__})") from None


@contextlib.contextmanager
def _answer(client: httpx.Client, url: str, headers: Mapping[str, str]) -> Iterator[httpx.Response]:
    """The answer to a request, wherever safe redirects lead."""
    host, asked = host_of(url), client.build_request("GET", url, headers=headers)
    for _ in range(REDIRECTS + 1):
        response = client.send(asked, stream=True)
        with contextlib.closing(response):
            if response.next_request is None:
                yield response
                return
        # The client itself leaves the key out of requests to another host.
        asked = response.next_request
        try:
            check_fetchable(str(asked.url))
        except UsageError as error:
            raise ModelError(f"{host} leads elsewhere: {error.message}") from None
        if is_loopback(asked.url.host) and not is_loopback(host):
            raise ModelError(f"{host} leads back to this machine, which is refused")
    raise ModelError(f"{host} leads from one address to another without end")


def _receive(
    response: httpx.Response, request: DownloadRequest, part: Path, start: int, progress: Progress
) -> None:
    host = host_of(request.url)
    status, headers = response.status_code, response.headers
    span = headers.get("content-range", "")
    etag = headers.get("etag", "")
    # A weak one does not tell whether the bytes are the same.
    etag = "" if etag.startswith("W/") or len(etag) >= 300 else etag
    if status == 200:
        # Emptied first: an ETag must never stand beside bytes of another version.
        part.write_bytes(b"")
        state = json.dumps({"url": request.url, "etag": etag})
        _state_file(part).write_text(state, encoding="utf-8")
        start = 0
    elif start and (
        status == 416
        or (status == 206 and not span.startswith(f"bytes {start}-"))
        or (status == 206 and etag not in ("", _read_etag(part, request.url)))
    ):
        forget(part)
        raise HttpFault("the file changed on the server, and is fetched anew")
    elif status != 206:
        raise _refusal(host, status, headers.get("retry-after", ""))
    size = span.rpartition("/")[2] if status == 206 else headers.get("content-length", "")
    total = int(size) if size.isdecimal() else request.size
    if request.size and total != request.size:
        forget(part)
        raise ModelError(
            f"{host} sends {total} bytes of a file that has {request.size}",
            hint="Try again later, or take the file from elsewhere.",
        )
    check_room(part.parent, total - start)
    done = start
    with part.open("ab") as file:
        for chunk in response.iter_raw():
            if done == 0 and not chunk.startswith(MAGIC[: len(chunk)]):
                raise ModelError(
                    f"what {host} sends is no GGUF model",
                    hint="Is the address that of the file, and not of a page about it?",
                )
            done += len(chunk)
            if done > (total or MOST_BYTES):
                raise ModelError(f"{host} sends more than it announced")
            file.write(chunk)
            # On disk at once, for the process may be killed at any time.
            file.flush()
            progress(done, total or done)
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
