"""A language model behind an OpenAI-compatible server, on this machine or another one."""

from __future__ import annotations

import json
import threading
import time
from urllib.parse import urlsplit

from amem_cli.errors import ModelError, SettingsError
from amem_cli.language.safe_text import BLOTTED, redacted
from amem_cli.models.http import BoundedHttp, FailureBreaker, HttpFault, Reply, is_loopback
from amem_cli.models.ports import ModelAnswer, ModelRequest
from amem_cli.models.server_dialects import (
    ChatDialect,
    OllamaDialect,
    ReplyUnusable,
    asks_by_schema,
    server_message,
)

RETRIES = 2
RETRY_DELAY = 0.5
FAILURES_IN_A_ROW = 3
REST_SECONDS = 60.0
BUSY_STATUSES = frozenset({429, 500, 502, 503, 504, 529})
DIALECT_STATUSES = frozenset({400, 404, 422})


class OpenAIServerModel:
    """Asks `{base_url}/chat/completions`, or Ollama in its own way.

    How the server wants to be asked for JSON is found out with the first request and remembered.
    After three failures in a row nothing is asked for a minute, or until `reset`.
    """

    def __init__(
        self,
        base_url: str,
        model: str,
        *,
        api_key: str | None = None,
        ollama_window: int = 0,
        allow_http: bool = False,
        retry_delay: float = RETRY_DELAY,
        rest_seconds: float = REST_SECONDS,
    ) -> None:
        """Name the server; nothing is sent yet.

        Args:
            base_url: such as `https://api.openai.com/v1`.
            model: the server's name for the model.
            api_key: sent as a bearer token, and shown nowhere.
            ollama_window: the server is an Ollama, to be asked with a window of so many tokens;
                one that turns out not to be is asked as any other.
            allow_http: let texts and key travel unencrypted to another machine.
            retry_delay: seconds before the first of two retries, doubled for the second.
            rest_seconds: how long nothing is asked after three failures in a row.

        Raises:
            SettingsError: the address or the key cannot be used.
        """
        self._host, self._base = _endpoint(base_url, allow_http)
        self._model = model
        self._key = _usable_key(api_key)
        self._retry_delay = retry_delay
        self._http = BoundedHttp(use_proxies=not is_loopback(self._host))
        self._breaker = FailureBreaker(FAILURES_IN_A_ROW, rest_seconds)
        self._dialect: ChatDialect | OllamaDialect = (
            OllamaDialect(ollama_window) if ollama_window else ChatDialect()
        )
        self._lock = threading.Lock()

    @property
    def name(self) -> str:
        """The model's name and the server's host."""
        return f"{self._model} at {self._host}"

    @property
    def is_remote(self) -> bool:
        """True where the server is not this machine, or only passes the texts on."""
        return not is_loopback(self._host) or runs_elsewhere(self._model)

    def answer(self, request: ModelRequest) -> ModelAnswer:
        """Ask the model once, within the request's deadline in all.

        Raises:
            ModelError: the server could not be reached, refused, or sent no answer.
            ValueError: the schema is not of the subset.
        """
        with self._lock:
            if self._breaker.is_open:
                raise ModelError(
                    f"{self._host} failed {FAILURES_IN_A_ROW} times in a row and is not asked",
                    hint="It is tried again in a minute. amem model test shows what is wrong.",
                )
            try:
                answer = self._ask(request)
            except ModelError:
                self._breaker.failed()
                raise
            self._breaker.reset()
            return answer

    def reset(self) -> None:
        """Forget earlier failures, so that the next request is sent at once."""
        self._breaker.reset()

    def close(self) -> None:
        """Close the connections."""
        self._http.close()

    def _ask(self, request: ModelRequest) -> ModelAnswer:
        started = time.monotonic()
        until = started + request.deadline
        dialect: ChatDialect | OllamaDialect | None = self._dialect
        while dialect is not None:
            body = json.dumps(dialect.body(self._model, request)).encode("ascii")
            reply = self._sent(dialect.url(self._base), body, until)
            if reply.status == 200:
                self._dialect = dialect
                answer = self._read(dialect, reply, time.monotonic() - started, request)
                if _knows_no_schema(dialect, answer):
                    dialect = self._dialect = dialect.without_schema()
                    continue
                return answer
            complaint = server_message(reply.body)
            refused = reply.status in DIALECT_STATUSES or _refuses_format(reply)
            dialect = dialect.after(complaint, reply.status) if refused else None
        raise self._refused(reply)

    def _sent(self, url: str, body: bytes, until: float) -> Reply:
        """Post with retries where the server is busy or not there."""
        for retry in range(RETRIES + 1):
            reply, fault = self._posted(url, body, until)
            busy = fault.again if fault else reply is not None and _is_busy(reply)
            wait = max(self._retry_delay * 2**retry, _seconds_asked(reply))
            if not busy or retry == RETRIES or time.monotonic() + wait >= until:
                break
            time.sleep(wait)
        if reply is None:
            raise ModelError(f"{self._host}: {fault}", hint="Is the server running, and online?")
        return reply

    def _posted(self, url: str, body: bytes, until: float) -> tuple[Reply | None, HttpFault | None]:
        left = max(until - time.monotonic(), 0.001)
        try:
            return self._http.post(url, body, self._headers(), left), None
        except HttpFault as fault:
            return None, fault

    def _headers(self) -> dict[str, str]:
        headers = {"content-type": "application/json", "user-agent": "amem"}
        return headers | ({"authorization": f"Bearer {self._key}"} if self._key else {})

    def _read(
        self,
        dialect: ChatDialect | OllamaDialect,
        reply: Reply,
        seconds: float,
        request: ModelRequest,
    ) -> ModelAnswer:
        try:
            return dialect.read(reply.body, seconds, request)
        except ReplyUnusable as error:
            raise ModelError(
                f"{self._host} sent no usable answer: {error}",
                hint="Is llm.base_url the address of a chat server?",
            ) from None

    def _refused(self, reply: Reply) -> ModelError:
        said = ""
        if reply.status in DIALECT_STATUSES:
            message = server_message(reply.body)
            message = message.replace(self._key, BLOTTED) if self._key else message
            said = f": {redacted(message, {})}"
        return ModelError(
            f"{self._host} refused the request with status {reply.status}{said[:160]}",
            hint=_hint_of(reply.status, self._host),
        )


def _is_busy(reply: Reply) -> bool:
    return reply.status in BUSY_STATUSES and not _refuses_format(reply)


def _refuses_format(reply: Reply) -> bool:
    """True where a server calls a format that it does not know an error of its own."""
    if reply.status not in (500, 501):
        return False
    message = server_message(reply.body)
    return "response_format" in message or "json_schema" in message


def _knows_no_schema(dialect: ChatDialect | OllamaDialect, answer: ModelAnswer) -> bool:
    """True where a whole answer is prose, though the server was given a schema for it."""
    said = answer.text.strip()
    prose = bool(said) and not said.startswith("{")
    return asks_by_schema(dialect.json_request) and answer.complete and prose


def runs_elsewhere(model: str) -> bool:
    """Whether a model of a server on this machine is computed on another one, as Ollama's are
    whose tag is `cloud` or ends with `-cloud`."""
    tag = model.rpartition(":")[2].lower()
    return tag == "cloud" or tag.endswith("-cloud")


def check_address(base_url: str) -> None:
    """Make sure that a server may be asked at an address.

    Raises:
        SettingsError: it cannot be read, holds more than a host and a path, or is not encrypted.
    """
    _endpoint(base_url, allow_http=False)


def _endpoint(base_url: str, allow_http: bool) -> tuple[str, str]:
    hint = "Set llm.base_url to something like http://127.0.0.1:11434/v1"
    try:
        parts = urlsplit(base_url.strip())
        host, _ = parts.hostname or "", parts.port
    except ValueError:
        raise SettingsError("the server's address cannot be read", hint=hint) from None
    if parts.scheme not in ("http", "https") or not host:
        raise SettingsError("the server's address is no http or https address", hint=hint)
    if parts.username is not None or parts.password is not None or parts.query or parts.fragment:
        raise SettingsError(
            f"the address of {host} holds more than a host and a path",
            hint="Keys come from the environment: AMEM_API_KEY.",
        )
    if parts.scheme == "http" and not is_loopback(host) and not allow_http:
        raise SettingsError(
            f"notes would travel unencrypted to {host}", hint="Use an https address."
        )
    return host, f"{parts.scheme}://{parts.netloc}{parts.path.rstrip('/')}"


def _usable_key(api_key: str | None) -> str:
    key = (api_key or "").strip()
    if not all("!" <= character <= "~" and character not in "\"'`" for character in key):
        raise SettingsError(
            "the API key holds characters that no key has",
            hint="Was it copied with a line break, a blank or quotes?",
        )
    return key


def _seconds_asked(reply: Reply | None) -> float:
    asked = reply.retry_after.strip() if reply is not None else ""
    return float(asked) if asked.isascii() and asked.isdigit() and len(asked) < 8 else 0.0


def _hint_of(status: int, host: str) -> str:
    if status in (401, 403):
        return f"Check the API key: AMEM_API_KEY, or `keyring set amem {host}`."
    if status == 429:
        return "The server's limit is reached; try again later."
    if 300 <= status < 400:
        return "The address leads elsewhere; set llm.base_url to the final one."
    if status >= 500:
        return "The server has a problem of its own; try again later."
    return "Check llm.base_url and llm.model."
