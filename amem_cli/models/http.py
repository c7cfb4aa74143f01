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
_CHUNK_BYTES = 65_536
# How often a waiting thread looks whether it is to stop.
_LOOK_SECONDS = 0.05


class HttpFault(Exception):
    """There is no reply; the text says why and quotes neither request nor reply.

    `again`: a retry may help, after so many seconds as the server asks to `wait`.
    """

    def __init__(self, message: str, *, again: bool = False, wait: float = 0.0) -> None:
        super().__init__(message)
        self.again, self.wait = again, wait


@dataclass(frozen=True, slots=True)
class Reply:
    status: int
    retry_after: str
    body: bytes = field(repr=False)


def fetch(
    method: str,
    url: str,
    headers: dict[str, str],
    seconds: float,
    body: bytes = b"",
    *,
    stop: threading.Event | None = None,
) -> Reply:
    """Send a request and read the whole reply in so many seconds, or raise `HttpFault`.

    The proxies of the environment are used for other machines only. `stop` ends the request.
    """
    import httpx

    if stop is not None and stop.is_set():
        raise HttpFault("the request was stopped")
    use_proxies = not is_loopback(host_of(url))
    client = httpx.Client(trust_env=use_proxies)
    outcome: list[Reply | HttpFault] = []

    def attempt() -> None:
        try:
            outcome.append(_exchange(client, method, url, headers, body, seconds))
        except HttpFault as fault:
            outcome.append(fault)

    # The client's timeouts cover single reads and no name look-up: a dripping server or a silent
    # resolver would hold the caller, so the request has a thread that is left behind.
    worker = threading.Thread(target=attempt, name="amem-http", daemon=True)
    until = time.monotonic() + seconds
    worker.start()
    while worker.is_alive() and (left := until - time.monotonic()) > 0:
        if stop is not None and stop.is_set():
            break
        worker.join(min(_LOOK_SECONDS, left))
    # Takes the connection away from a server that never stops talking.
    client.close()
    if not outcome:
        limit = f"within {seconds:.0f} s" if seconds >= 1 else "in time"
        raise HttpFault(f"the server did not answer {limit}")
    if isinstance(outcome[0], HttpFault):
        raise outcome[0] from None
    return outcome[0]


def _exchange(
    client: httpx.Client,
    method: str,
    url: str,
    headers: dict[str, str],
    body: bytes,
    seconds: float,
) -> Reply:
    import httpx

    until = time.monotonic() + seconds
    # Packed content could unpack to far more than the bound.
    headers = {"accept-encoding": "identity", "user-agent": "amem"} | headers
    answering = False
    try:
        with client.stream(
            method, url, content=body or None, headers=headers, timeout=seconds
        ) as response:
            answering = True
            if response.headers.get("content-encoding", "identity") != "identity":
                raise HttpFault("the server sent a packed reply that was not asked for")
            received = bytearray()
            if not 300 <= response.status_code < 400:
                for chunk in response.iter_raw(_CHUNK_BYTES):
                    received += chunk
                    if len(received) > MAX_BODY_BYTES:
                        raise HttpFault("the server sent more than 4 MiB")
                    if time.monotonic() >= until:
                        raise HttpFault("the server did not finish its answer in time")
            retry_after = response.headers.get("retry-after", "")
            return Reply(response.status_code, retry_after, bytes(received))
    except HttpFault:
        raise
    except httpx.TimeoutException:
        raise HttpFault("the server did not answer in time") from None
    except httpx.ConnectError as error:
        encrypting = "[SSL" in str(error)
        reason = "no trusted encrypted connection" if encrypting else "no connection"
        raise HttpFault(reason, again=not encrypting) from None
    except Exception as error:
        again = isinstance(error, httpx.HTTPError) and not answering
        raise HttpFault(f"the connection failed ({type(error).__name__})", again=again) from None


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
