"""Fetches one large file over HTTP, and goes on where an earlier attempt was cut off.

What has come lies in a `.part` file, beside it what it is a part of; a file that changed on the
server meanwhile is begun anew. Nothing of it is believed before its header and digest are checked.
"""

from __future__ import annotations

import os
import re
import shutil
import threading
import time
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING
from urllib.parse import urljoin

from amem_cli.adapters.addresses import check_fetchable, host_of, is_loopback
from amem_cli.adapters.part_file import begin, forget, read_state, size_of
from amem_cli.core.errors import AmemError, ModelError, NotFoundError, SettingsError, UsageError

if TYPE_CHECKING:
    import httpx

Progress = Callable[[int, int], None]

MOST_BYTES = 200 * 10**9
SPARE_BYTES = 256 * 2**20
REDIRECTS = 5
_REDIRECTING = frozenset({301, 302, 303, 307, 308})
_BUSY = frozenset({408, 429, 500, 502, 503, 504})
_RANGE = re.compile(r"bytes (\d+)-(\d+)/(\d+)")
_NOTHING_CAME = "Is the address right, and this machine online?"
_LATER = "What has come is kept: the same command goes on from there."


@dataclass(frozen=True, slots=True)
class Patience:
    """How long a server is waited for.

    Attributes:
        silence_seconds: for the next bytes.
        slow_seconds, slow_bytes: so many bytes must come in so long.
        total_seconds: for all of it.
        attempts: in a row that brought fewer bytes than that.
        wait_seconds: longest pause that a server may ask for.
    """

    silence_seconds: float = 30.0
    slow_seconds: float = 60.0
    slow_bytes: int = 64 * 1024
    total_seconds: float = 24 * 3600.0
    attempts: int = 4
    wait_seconds: float = 120.0
    pause_seconds: float = 1.0


@dataclass(frozen=True, slots=True)
class Wanted:
    """What is to be fetched.

    Attributes:
        headers: sent to the address's own host and to no other.
        size: bytes, 0 where unknown; another size is refused.
        begins: first bytes that it must have; empty: any.
    """

    url: str
    headers: Mapping[str, str] = field(default_factory=dict, repr=False)
    size: int = 0
    begins: bytes = b""


class _Cut(Exception):
    """The transfer ended early; going on may help.

    Attributes:
        wait: seconds that the server asked for.
    """

    def __init__(self, message: str, wait: float = 0.0) -> None:
        super().__init__(message)
        self.wait = wait


def download(
    wanted: Wanted,
    part: Path,
    *,
    progress: Progress | None = None,
    patience: Patience | None = None,
) -> None:
    """Fetch a file into a part file, going on with what is there of it.

    Raises:
        ModelError: it could not be had; what has come is kept.
        NotFoundError: there is no such file.
        SettingsError: it may not be had, or there is no room for it.
        UsageError: the address, or one that it leads to, is not encrypted.
    """
    # Imported before the clock runs.
    import httpx  # noqa: F401

    check_fetchable(wanted.url)
    patience = patience or Patience()
    until = time.monotonic() + patience.total_seconds
    failures = 0
    while True:
        before = size_of(part)
        try:
            _Transfer(wanted, part, patience, progress, until).run()
            return
        except _Cut as cut:
            came = size_of(part) - before
            failures = 1 if came >= patience.slow_bytes else failures + 1
            wait = max(cut.wait, patience.pause_seconds * 2.0 ** (failures - 1))
            late = time.monotonic() + wait >= until
            if failures >= patience.attempts or wait > patience.wait_seconds or late:
                hint = _LATER if size_of(part) else _NOTHING_CAME
                raise ModelError(f"{host_of(wanted.url)}: {cut}", hint=hint) from None
        time.sleep(wait)


class _Transfer:
    """One attempt, in a thread of its own that the caller watches and can leave behind.

    The client's timeouts bound only single reads and no name look-up.
    """

    def __init__(
        self,
        wanted: Wanted,
        part: Path,
        patience: Patience,
        progress: Progress | None,
        until: float,
    ) -> None:
        self._wanted = wanted
        self._part = part
        self._patience = patience
        self._progress = progress
        self._until = until
        self._stop = threading.Event()
        self._client: httpx.Client | None = None
        self._fault: BaseException | None = None
        self._done = self._total = 0

    def run(self) -> None:
        worker = threading.Thread(target=self._work, name="amem-download", daemon=True)
        worker.start()
        try:
            late = self._watch(worker)
        finally:
            # Also where the user interrupts: the part file is closed before anything else is done.
            self._stop.set()
            if worker.is_alive() and self._client is not None:
                self._client.close()
            worker.join(0.5)
        if late:
            raise _Cut(late)
        if self._fault is not None:
            raise self._fault

    def _watch(self, worker: threading.Thread) -> str:
        """Wait for the worker; why it must end early, or an empty text."""
        mark, marked = time.monotonic(), 0
        while worker.is_alive():
            worker.join(0.1)
            if self._progress is not None and self._total:
                self._progress(self._done, self._total)
            now = time.monotonic()
            if now >= self._until:
                return "it takes too long"
            if now - mark >= self._patience.slow_seconds:
                if self._done - marked < self._patience.slow_bytes:
                    return "the server sends next to nothing"
                mark, marked = now, self._done
        return ""

    def _work(self) -> None:
        import httpx

        try:
            local = is_loopback(host_of(self._wanted.url))
            with httpx.Client(trust_env=not local, follow_redirects=False) as client:
                self._client = client
                self._fetch(client)
        except (AmemError, _Cut) as fault:
            self._fault = fault
        except httpx.TimeoutException:
            self._fault = _Cut("the server does not answer")
        except httpx.ConnectError as error:
            kind = "no trusted encrypted connection" if "[SSL" in str(error) else "no connection"
            self._fault = _Cut(kind)
        except httpx.HTTPError as error:
            self._fault = _Cut(f"the connection was cut ({type(error).__name__})")
        except OSError as error:
            self._fault = SettingsError(
                f"the model cannot be written: {error.strerror}", hint="Is the disk full?"
            )
        except Exception as error:
            self._fault = _Cut(f"the transfer failed ({type(error).__name__})")

    def _fetch(self, client: httpx.Client) -> None:
        state = read_state(self._part, self._wanted.url)
        start = size_of(self._part) if state else 0
        url, headers = self._wanted.url, dict(self._wanted.headers)
        for _ in range(REDIRECTS + 1):
            asked = {"accept-encoding": "identity", "user-agent": "amem"} | headers
            if start and state:
                asked |= {"range": f"bytes={start}-", "if-range": state}
            timeout = self._patience.silence_seconds
            with client.stream("GET", url, headers=asked, timeout=timeout) as response:
                if response.status_code not in _REDIRECTING:
                    self._receive(response, start, state)
                    return
                following = urljoin(url, response.headers.get("location", ""))
            headers = headers if host_of(following) == host_of(url) else {}
            url = self._checked_redirect(url, following)
        raise ModelError(f"{host_of(url)} leads from one address to another without end")

    def _checked_redirect(self, url: str, following: str) -> str:
        try:
            check_fetchable(following)
        except UsageError as error:
            raise ModelError(f"{host_of(url)} leads elsewhere: {error.message}") from None
        if is_loopback(host_of(following)) and not is_loopback(host_of(self._wanted.url)):
            raise ModelError(f"{host_of(url)} leads back to this machine, which is refused")
        return following

    def _receive(self, response: httpx.Response, start: int, state: str) -> None:
        if self._stop.is_set():
            # Left behind: another attempt may be at work on the part file.
            return
        status = response.status_code
        if status == 416:
            # Asked for this very version, the server says that nothing is missing of it.
            if start and response.headers.get("content-range", "") == f"bytes */{start}":
                self._done = self._total = start
                self._check_size(start)
                return
            forget(self._part)
            raise _Cut("the server has less of the file than came before")
        if status not in (200, 206):
            raise _refusal(self._wanted.url, status, response.headers.get("retry-after", ""))
        if response.headers.get("content-encoding", "identity") != "identity":
            raise ModelError(f"{host_of(self._wanted.url)} packs the file, which was not asked for")
        mark = _validator(response)
        if status == 206:
            self._check_range(response, start, state, mark)
        else:
            start = 0
            length = response.headers.get("content-length", "")
            self._total = int(length) if length.isdigit() else self._wanted.size
            begin(self._part, self._wanted.url, mark)
        self._check_size(start)
        self._store(response, start)

    def _check_range(self, response: httpx.Response, start: int, state: str, mark: str) -> None:
        told = _RANGE.fullmatch(response.headers.get("content-range", ""))
        if told is None or int(told[1]) != start or (mark and mark != state):
            forget(self._part)
            raise _Cut("the file changed on the server, and is fetched anew")
        self._total = int(told[3])

    def _check_size(self, start: int) -> None:
        host = host_of(self._wanted.url)
        if self._wanted.size and self._total != self._wanted.size:
            forget(self._part)
            raise ModelError(
                f"{host} sends {self._total} bytes of a file that has {self._wanted.size}",
                hint="Try again later, or take the file from elsewhere.",
            )
        if self._total > MOST_BYTES:
            raise ModelError(f"{host} sends more than {MOST_BYTES // 10**9} GB")
        free = shutil.disk_usage(self._part.parent).free
        if self._total - start + SPARE_BYTES > free:
            raise SettingsError(
                f"the model needs {(self._total - start) / 1e9:.1f} GB of disk, and"
                f" {free / 1e9:.1f} GB are free in {self._part.parent}",
                hint="Make room, or set AMEM_DATA_DIR to a folder on another disk.",
            )

    def _store(self, response: httpx.Response, start: int) -> None:
        self._done = start
        most = self._total or MOST_BYTES
        with self._part.open("r+b" if start else "wb") as file:
            file.seek(start)
            for chunk in response.iter_raw():
                if self._stop.is_set():
                    return
                if self._done == 0 and not chunk.startswith(self._wanted.begins[: len(chunk)]):
                    raise ModelError(
                        f"what {host_of(self._wanted.url)} sends is no GGUF model",
                        hint="Is the address that of the file, and not of a page about it?",
                    )
                if self._done + len(chunk) > most:
                    raise ModelError(f"{host_of(self._wanted.url)} sends more than it announced")
                file.write(chunk)
                # A thread that waits for a silent server is left behind with what it has not sent.
                file.flush()
                self._done += len(chunk)
            os.fsync(file.fileno())
        if self._total and self._done < self._total:
            raise _Cut(f"the connection was cut after {self._done} of {self._total} bytes")
        if self._progress is not None:
            self._progress(self._done, self._total or self._done)


def _refusal(url: str, status: int, retry_after: str) -> Exception:
    host = host_of(url)
    if status in (401, 403):
        return SettingsError(
            f"{host} gives the file only to those it knows (status {status})",
            hint="Accept the model's terms on the hub where it has some, and set HF_TOKEN.",
        )
    if status in (404, 410):
        return NotFoundError(f"{host} has no such file", hint="Check the name and the address.")
    if status in _BUSY:
        wait = float(retry_after) if retry_after.isdigit() and len(retry_after) < 8 else 0.0
        return _Cut(f"the server is busy (status {status})", wait)
    return ModelError(f"{host} refused with status {status}")


def _validator(response: httpx.Response) -> str:
    """What tells this version of the file from others; empty where nothing reliable does."""
    mark = str(response.headers.get("etag", ""))
    return mark if mark and not mark.startswith("W/") and len(mark) < 300 else ""
