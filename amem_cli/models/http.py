"""HTTP bounded in time and bytes, without redirects, and the rules for which addresses are safe."""

from __future__ import annotations

import ipaddress
import threading
import time
from dataclasses import dataclass, field
from typing import TYPE_CHECKING
from urllib.parse import SplitResult, urlsplit

from amem_cli.errors import UsageError

if TYPE_CHECKING:
    import httpx

MAX_BODY_BYTES = 4 * 2**20
CHUNK_BYTES = 65_536
FAILURES_IN_A_ROW = 3
REST_SECONDS = 60.0


class HttpFault(Exception):
    """There is no reply; the text says why and quotes neither request nor reply.

    `again`: a retry may help, after so many seconds as the server asks to `wait`.
    """

    def __init__(self, message: str, *, again: bool = False, wait: float = 0.0) -> None:
        super().__init__(message)
        self.again, self.wait = again, wait


@dataclass(frozen=True, slots=True)
class Reply:
    """A server's complete reply."""

    status: int
    retry_after: str
    body: bytes = field(repr=False)


class BoundedHttp:
    """A client for one server; `use_proxies`: those that the environment names."""

    def __init__(self, *, use_proxies: bool) -> None:
        self._use_proxies = use_proxies
        self._client: httpx.Client | None = None
        # One for each request under way; set when nobody is to wait for it any more.
        self._waiting: set[threading.Event] = set()

    def request(
        self, method: str, url: str, headers: dict[str, str], seconds: float, body: bytes = b""
    ) -> Reply:
        """Send a request and read the whole reply in so many seconds, or raise `HttpFault`."""
        client = self.prepare()
        outcome: list[Reply | HttpFault] = []
        ended = threading.Event()

        def attempt() -> None:
            outcome.append(_exchange(client, method, url, headers, body, seconds))
            ended.set()

        # The client's timeouts cover single reads and no name look-up: a dripping server or a
        # silent resolver would hold the caller, so the request has a thread that is left behind.
        worker = threading.Thread(target=attempt, name="amem-http", daemon=True)
        self._waiting.add(ended)
        worker.start()
        in_time = ended.wait(seconds)
        self._waiting.discard(ended)
        if not in_time:
            # Takes the connection away from a server that never stops talking.
            self.close()
        if not outcome:
            if in_time:
                raise HttpFault("the request was stopped")
            limit = f"within {seconds:.0f} s" if seconds >= 1 else "in time"
            raise HttpFault(f"the server did not answer {limit}")
        if isinstance(outcome[0], HttpFault):
            raise outcome[0] from None
        return outcome[0]

    def prepare(self) -> httpx.Client:
        """Load the client ahead of a request that has little time."""
        if self._client is None:
            import httpx

            self._client = httpx.Client(trust_env=self._use_proxies, follow_redirects=False)
        return self._client

    def close(self) -> None:
        """Close the connections and end requests under way; a later one opens new connections."""
        client, self._client = self._client, None
        for ended in list(self._waiting):
            ended.set()
        if client is not None:
            client.close()


def _exchange(
    client: httpx.Client,
    method: str,
    url: str,
    headers: dict[str, str],
    body: bytes,
    seconds: float,
) -> Reply | HttpFault:
    import httpx

    until = time.monotonic() + seconds
    # Packed content could unpack to far more than the bound.
    headers = {"accept-encoding": "identity"} | headers
    answering = False
    try:
        with client.stream(
            method, url, content=body or None, headers=headers, timeout=seconds
        ) as response:
            answering = True
            if response.headers.get("content-encoding", "identity") != "identity":
                return HttpFault("the server sent a packed reply that was not asked for")
            received = bytearray()
            if not 300 <= response.status_code < 400:
                for chunk in response.iter_raw(CHUNK_BYTES):
                    received += chunk
                    if len(received) > MAX_BODY_BYTES:
                        return HttpFault("the server sent more than 4 MiB")
                    if time.monotonic() >= until:
                        return HttpFault("the server did not finish its answer in time")
            retry_after = response.headers.get("retry-after", "")
            return Reply(response.status_code, retry_after, bytes(received))
    except httpx.TimeoutException:
        return HttpFault("the server did not answer in time")
    except httpx.ConnectError as error:
        encrypting = "[SSL" in str(error)
        reason = "no trusted encrypted connection" if encrypting else "no connection"
        return HttpFault(reason, again=not encrypting)
    except httpx.HTTPError as error:
        return HttpFault(f"the connection failed ({type(error).__name__})", again=not answering)
    except Exception as error:
        return HttpFault(f"the request failed ({type(error).__name__})")


class FailureBreaker:
    """Counts failures in a row; from the third on it is open, which means: do not ask.

    After a rest one attempt is let through: its success closes the breaker, its failure opens it
    for another rest.
    """

    def __init__(self, rest_seconds: float = REST_SECONDS) -> None:
        self._rest_seconds = rest_seconds
        self._last_failure = 0.0
        self.failures = 0

    @property
    def is_open(self) -> bool:
        """True while nothing should be asked."""
        resting = time.monotonic() - self._last_failure < self._rest_seconds
        return resting and self.failures >= FAILURES_IN_A_ROW

    def failed(self) -> None:
        """Count a failure."""
        self.failures += 1
        self._last_failure = time.monotonic()

    def reset(self) -> None:
        """Forget all failures, after a success or a change."""
        self.failures = 0


def seconds_to_wait(retry_after: str) -> float:
    """What a server asks to wait, 0 if it does not say it in seconds."""
    seconds = retry_after.strip()
    return float(seconds) if seconds.isascii() and seconds.isdigit() and len(seconds) < 8 else 0.0


def is_loopback(host: str) -> bool:
    """Whether a host name or address is this machine's own."""
    if host.lower() == "localhost":
        return True
    try:
        return ipaddress.ip_address(host).is_loopback
    except ValueError:
        return False


def host_of(url: str) -> str:
    """The host of an address, without a port; empty if the address is invalid."""
    try:
        return urlsplit(url.strip()).hostname or ""
    except ValueError:
        return ""


def check_fetchable(url: str) -> SplitResult:
    """The parts of an address that is encrypted or of this machine; else raises `UsageError`."""
    try:
        parts = urlsplit(url.strip())
        host, _ = parts.hostname or "", parts.port
        usable = parts.scheme in ("http", "https") and host
        problem = "" if usable else "is no http or https address"
    except ValueError:
        problem = "cannot be read"
    if problem:
        raise UsageError(f"the address {problem}", hint="Copy the whole https address.")
    if parts.username is not None or parts.password is not None:
        raise UsageError(f"the address of {host} holds a name or password", hint="Leave it out.")
    if parts.scheme == "http" and not is_loopback(host):
        raise UsageError(f"{host} would be asked without encryption", hint="Use its https address.")
    return parts
