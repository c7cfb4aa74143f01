"""Language models behind OpenAI-compatible servers, and Ollama."""

from __future__ import annotations

import json
import re
import threading
import time
from dataclasses import replace

from amem_cli.errors import ModelClosed, ModelError, SettingsError, UsageError
from amem_cli.language.safe_text import BLOTTED, redacted
from amem_cli.models.http import (
    HttpFault,
    Reply,
    check_fetchable,
    fetch,
    is_loopback,
    seconds_to_wait,
)
from amem_cli.models.ports import ModelAnswer, ModelRequest
from amem_cli.models.server_dialects import Dialect, ReplyUnusable, server_message

RETRIES = 2
RETRY_DELAY = 0.5
BUSY_STATUSES = frozenset({429, 500, 502, 503, 504, 529})
DIALECT_STATUSES = frozenset({400, 404, 422})
# A thinking model that cannot have it in its window is not asked on.
LEAST_ROOM = 2
WINDOW_COMPLAINTS = (
    "context length",
    "context size",
    "context window",
    "max_tokens is too large",
    "completion tokens",
)
# Servers say in many words that the bound is too large; one that does not know it has no number.
_BOUND_COMPLAINT = re.compile(r"max_(?:completion_)?tokens.*[0-9]")


class OpenAIServerModel:
    """Asks `{base_url}/chat/completions`, or Ollama's own API.

    The first request finds out how the server wants to be asked for JSON; later ones reuse that.
    Requests of several threads are sent one after the other.
    """

    def __init__(
        self,
        base_url: str,
        model: str,
        *,
        api_key: str | None = None,
        ollama_window: int = 0,
        retry_delay: float = RETRY_DELAY,
    ) -> None:
        """Name the server; nothing is sent yet. Raises `SettingsError` for an odd address or key.

        Args:
            base_url: such as `https://api.openai.com/v1`.
            api_key: sent as a bearer token, and shown nowhere.
            ollama_window: tokens of the context window to ask an Ollama for; a server that turns
                out to be none is asked as any other.
            retry_delay: seconds before the first of two retries, doubled for the second.
        """
        self._host, self._base = check_address(base_url)
        self._model = model
        self.name = f"{model} at {self._host}"
        self.is_remote = not is_loopback(self._host) or runs_elsewhere(model)
        self._key = _usable_key(api_key)
        self._retry_delay = retry_delay
        self._dialect = Dialect(ollama_window)
        self._asking = threading.Lock()
        # Set by `close` for the requests of until then; later ones have another.
        self._closed = threading.Event()

    def answer(self, request: ModelRequest) -> ModelAnswer:
        """Ask the model once; retries included, within the request's deadline.

        A model that thinks until the answer is cut is asked again with more room, and a deadline
        anew; later requests begin with that room.
        """
        closed = self._closed
        with self._asking:
            return self._ask(request, closed)

    def close(self) -> None:
        """Close the connections, also in the middle of an answer; a later request opens others."""
        closed, self._closed = self._closed, threading.Event()
        closed.set()

    def _ask(self, request: ModelRequest, closed: threading.Event) -> ModelAnswer:
        started = time.monotonic()
        until = started + request.deadline
        prompt_tokens = answer_tokens = 0
        dialect: Dialect | None = self._dialect
        while dialect is not None:
            body = json.dumps(dialect.body(self._model, request)).encode("ascii")
            reply = self._send(dialect.url(self._base), body, until, closed)
            if reply.status == 200:
                self._dialect = dialect
                try:
                    answer = dialect.read(reply.body, time.monotonic() - started, request)
                except ReplyUnusable as error:
                    why = self._complaint(reply) or error
                    raise ModelError(
                        f"{self._host} sent no usable answer: {why}"[:200],
                        hint="Is llm.base_url the address of a chat server?",
                    ) from None
                prompt_tokens += answer.prompt_tokens
                answer_tokens += answer.answer_tokens
                answer = replace(answer, prompt_tokens=prompt_tokens, answer_tokens=answer_tokens)
                if answer.starved:
                    dialect = dialect.with_room()
                    if dialect is None:
                        raise ModelError(
                            f"{self.name} thought until its answer was cut off",
                            hint="Choose a model that thinks less, or not at all.",
                        )
                    self._dialect = dialect
                    until = time.monotonic() + request.deadline
                    continue
                text = answer.text.strip()
                prose = answer.complete and text and not text.startswith("{")
                if not (prose and dialect.by_schema):
                    return answer
                # Such a server takes a schema and ignores it.
                dialect = replace(dialect, form="object")
                self._dialect = dialect
            elif reply.status in DIALECT_STATUSES or _refuses_format(reply):
                complaint = server_message(reply.body)
                too_long = any(limit in complaint for limit in WINDOW_COMPLAINTS)
                if dialect.room > LEAST_ROOM and (too_long or _BOUND_COMPLAINT.search(complaint)):
                    dialect = replace(dialect, room=dialect.room // 2)
                else:
                    dialect = None if too_long else dialect.after(complaint, reply.status)
            else:
                break
        raise self._refusal(reply)

    def _send(self, url: str, body: bytes, until: float, closed: threading.Event) -> Reply:
        """Post, and retry if the server is busy or not there."""
        headers = {"content-type": "application/json"}
        if self._key:
            headers["authorization"] = f"Bearer {self._key}"
        for retry in range(RETRIES + 1):
            wait = self._retry_delay * 2**retry
            outcome: Reply | HttpFault
            try:
                left = max(until - time.monotonic(), 0.001)
                outcome = fetch("POST", url, headers, left, body, stop=closed)
                try_again = outcome.status in BUSY_STATUSES and not _refuses_format(outcome)
                wait = max(wait, seconds_to_wait(outcome.retry_after))
            except HttpFault as fault:
                outcome, try_again = fault, fault.again
            in_time = time.monotonic() + wait < until
            if not (try_again and retry < RETRIES and in_time) or closed.wait(wait):
                break
        if closed.is_set():
            raise ModelClosed(f"{self.name} was closed in the middle of an answer")
        if isinstance(outcome, HttpFault):
            raise ModelError(f"{self._host}: {outcome}", hint="Is the server running, and online?")
        return outcome

    def _refusal(self, reply: Reply) -> ModelError:
        reason = f": {self._complaint(reply)}" if reply.status in DIALECT_STATUSES else ""
        return ModelError(
            f"{self._host} refused the request with status {reply.status}{reason[:160]}",
            hint=_hint_of(reply.status, self._host),
        )

    def _complaint(self, reply: Reply) -> str:
        """The reason that a server gave, without the key, which some quote."""
        message = server_message(reply.body)
        return redacted(message.replace(self._key, BLOTTED) if self._key else message, {})


def _refuses_format(reply: Reply) -> bool:
    """Whether a server reports a format that it does not know as an error of its own."""
    if reply.status not in (500, 501):
        return False
    message = server_message(reply.body)
    return "response_format" in message or "json_schema" in message


def runs_elsewhere(model: str) -> bool:
    """Whether an Ollama on this machine only passes the texts on: the tag `cloud` or `*-cloud`."""
    tag = model.rpartition(":")[2].lower()
    return tag == "cloud" or tag.endswith("-cloud")


def check_address(base_url: str) -> tuple[str, str]:
    """The host of a server that may be asked, and its address; else raises `SettingsError`."""
    hint = (
        "llm.base_url, else OPENAI_BASE_URL or OLLAMA_HOST, is such as http://127.0.0.1:11434/v1;"
        " keys come from AMEM_API_KEY."
    )
    try:
        parts = check_fetchable(base_url)
    except UsageError as error:
        raise SettingsError(error.message, hint=hint) from None
    host = parts.hostname or ""
    if parts.query or parts.fragment:
        raise SettingsError(f"the address of {host} holds more than a host and a path", hint=hint)
    return host, f"{parts.scheme}://{parts.netloc}{parts.path.rstrip('/')}"


def _usable_key(api_key: str | None) -> str:
    key = (api_key or "").strip()
    if not all("!" <= character <= "~" and character not in "\"'`" for character in key):
        raise SettingsError(
            "the API key holds characters that no key has",
            hint="Was it copied with a line break, a blank or quotes?",
        )
    return key


def _hint_of(status: int, host: str) -> str:
    if status in (401, 403):
        return f"Check the API key: AMEM_API_KEY, or `keyring set amem {host}`."
    if status == 429 or status >= 500:
        return "Try again later."
    return "Check llm.base_url and llm.model."
