"""HTTP that is bounded in time and in bytes, follows no redirect and tells no secret.

Stops asking something that keeps failing, for a while.
Which addresses mean this machine, and which may be asked without encryption.
"""

from __future__ import annotations

import ipaddress
import threading
import time
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import TYPE_CHECKING
from urllib.parse import urlsplit

from amem_cli.errors import UsageError

if TYPE_CHECKING:
    import httpx

MAX_BODY_BYTES = 4 * 2**20
CHUNK_BYTES = 65_536


class HttpFault(Exception):
    """No reply could be had; the text says why and quotes nothing of the request or the reply.

    Attributes:
        again: the server had not begun to answer, so that asking again may help.
    """

    def __init__(self, message: str, *, again: bool = False) -> None:
        super().__init__(message)
        self.again = again


@dataclass(frozen=True, slots=True)
class Reply:
    """What a server said."""

    status: int
    retry_after: str
    body: bytes = field(repr=False)


class BoundedHttp:
    """Asks one server."""

    def __init__(self, *, use_proxies: bool) -> None:
        """Prepare; proxies of the environment are used only if asked."""
        self._use_proxies = use_proxies
        self._client: httpx.Client | None = None

    def post(self, url: str, body: bytes, headers: dict[str, str], seconds: float) -> Reply:
        """Post a body and read the reply within the time in all, whatever the server does.

        Raises:
            HttpFault: no connection, no complete reply in time, or more than 4 MiB of it.
        """
        return self._asked(_Attempt(self._opened(), "POST", url, body, headers, seconds), seconds)

    def get(self, url: str, headers: dict[str, str], seconds: float) -> Reply:
        """Get a reply within the time in all.

        Raises:
            HttpFault: as `post`.
        """
        return self._asked(_Attempt(self._opened(), "GET", url, b"", headers, seconds), seconds)

    def _asked(self, attempt: _Attempt, seconds: float) -> Reply:
        worker = threading.Thread(target=attempt.run, name="amem-http", daemon=True)
        worker.start()
        worker.join(seconds)
        if worker.is_alive():
            # Takes the connection away from under a server that never stops talking.
            self.close()
        return attempt.result(seconds)

    def prepare(self) -> None:
        """Load what a request needs, where the time of the request itself is short."""
        self._opened()

    def close(self) -> None:
        """Close the connections; a later post opens new ones."""
        client, self._client = self._client, None
        if client is not None:
            client.close()

    def _opened(self) -> httpx.Client:
        if self._client is None:
            import httpx

            self._client = httpx.Client(trust_env=self._use_proxies, follow_redirects=False)
        return self._client


class _Attempt:
    """One request in its own thread, which is left behind when the time is up.

    The client's timeouts bound only single reads and no name look-up, so that a dripping server or
    a silent resolver would hold the caller for as long as it likes.
    """

    def __init__(
        self,
        client: httpx.Client,
        method: str,
        url: str,
        body: bytes,
        headers: dict[str, str],
        seconds: float,
    ) -> None:
        self._client = client
        self._method = method
        self._url = url
        self._body = body
        self._headers = {"accept-encoding": "identity"} | headers
        self._seconds = seconds
        self._until = time.monotonic() + seconds
        self._reply: Reply | None = None
        self._fault: HttpFault | None = None

    def run(self) -> None:
        import httpx

        answering = False
        try:
            with self._client.stream(
                self._method,
                self._url,
                content=self._body or None,
                headers=self._headers,
                timeout=self._seconds,
            ) as response:
                answering = True
                self._reply = self._read(response)
        except HttpFault as fault:
            self._fault = fault
        except httpx.TimeoutException:
            self._fault = HttpFault("the server did not answer in time")
        except httpx.ConnectError as error:
            encrypting = "[SSL" in str(error)
            self._fault = HttpFault(
                "no trusted encrypted connection" if encrypting else "no connection",
                again=not encrypting,
            )
        except httpx.HTTPError as error:
            self._fault = HttpFault(
                f"the connection failed ({type(error).__name__})", again=not answering
            )
        except Exception as error:
            self._fault = HttpFault(f"the request failed ({type(error).__name__})")

    def result(self, seconds: float) -> Reply:
        if self._reply is not None:
            return self._reply
        within = f"within {seconds:.0f} s" if seconds >= 1 else "in time"
        late = HttpFault(f"the server did not answer {within}")
        raise (self._fault or late) from None

    def _read(self, response: httpx.Response) -> Reply:
        received = bytearray()
        if response.headers.get("content-encoding", "identity") != "identity":
            raise HttpFault("the server sent a packed reply that was not asked for")
        if not 300 <= response.status_code < 400:
            for chunk in response.iter_raw(CHUNK_BYTES):
                received += chunk
                if len(received) > MAX_BODY_BYTES:
                    raise HttpFault("the server sent more than 4 MiB")
                if time.monotonic() >= self._until:
                    raise HttpFault("the server did not finish its answer in time")
        retry_after = response.headers.get("retry-after", "")
        return Reply(response.status_code, retry_after, bytes(received))


class FailureBreaker:
    """Counts failures in a row; open, which means do not ask, from the limit on until some rest.

    After the rest one attempt is let through: its success closes the breaker, its failure opens it
    for another rest.
    """

    def __init__(
        self, limit: int, rest_seconds: float, clock: Callable[[], float] = time.monotonic
    ) -> None:
        self._limit = limit
        self._rest_seconds = rest_seconds
        self._clock = clock
        self._opened = 0.0
        self.failures = 0

    @property
    def is_open(self) -> bool:
        """True while nothing should be asked."""
        rested = self._clock() - self._opened >= self._rest_seconds
        return self.failures >= self._limit and not rested

    def failed(self) -> None:
        """Count a failure."""
        self.failures += 1
        self._opened = self._clock()

    def reset(self) -> None:
        """Forget all failures, after a success or when something has changed."""
        self.failures = 0


def is_loopback(host: str) -> bool:
    """True where a host name or address is this machine's own."""
    if host.lower() == "localhost":
        return True
    try:
        return ipaddress.ip_address(host).is_loopback
    except ValueError:
        return False


def host_of(url: str) -> str:
    """The host of an address, without a port; empty where it cannot be read."""
    try:
        return urlsplit(url.strip()).hostname or ""
    except ValueError:
        return ""


def check_fetchable(url: str) -> None:
    """Make sure that an address is encrypted, or of this machine.

    Raises:
        UsageError: it is not, cannot be read, or holds a name and password.
    """
    try:
        parts = urlsplit(url)
        host, _ = parts.hostname or "", parts.port
    except ValueError:
        raise UsageError("the address cannot be read", hint="Copy it whole.") from None
    if parts.scheme not in ("http", "https") or not host:
        raise UsageError("the address is no https address", hint="Copy it whole.")
    if parts.username is not None or parts.password is not None:
        raise UsageError(f"the address of {host} holds a name or password", hint="Leave it out.")
    if parts.scheme == "http" and not is_loopback(host):
        raise UsageError(f"{host} would be asked without encryption", hint="Use its https address.")
