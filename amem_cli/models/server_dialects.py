"""How servers are asked for JSON of a schema, and how their replies are read.

Ollama is asked in its own API if the settings say so: only there the size of its context window
can be chosen. Its OpenAI-compatible API takes none, and cuts a longer prompt without a word.
"""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import dataclass, replace
from enum import Enum
from typing import Any, TypeAlias

from amem_cli.models.ports import ModelAnswer, ModelRequest
from amem_cli.models.prompt_text import without_control_strings
from amem_cli.models.reply_schema import to_json_schema

COMPLETE_REASONS = frozenset({"stop", "eos_token"})
CUT_REASONS = frozenset({"length", "content_filter"})
MAX_MESSAGE_CHARACTERS = 10_000
# More than any context window; a count beyond it is made up and would not fit into a database.
MAX_TOKENS_COUNTED = 100_000_000
# No window is so small that so few words would be cut.
LEAST_WORDS = 250
WINDOW_COMPLAINTS = ("context length", "context size", "context window")


class ReplyUnusable(Exception):
    """A reply holds no answer; raised by `read`."""


class JsonRequest(Enum):
    """How the shape of the answer is asked for, the strictest first."""

    BOUNDED_SCHEMA = 0
    SCHEMA = 1
    OBJECT_OF_SCHEMA = 2
    OBJECT = 3
    WORDS = 4

    @property
    def by_schema(self) -> bool:
        """Whether only the server gets the schema, and the model's instructions do not have it."""
        return self in (JsonRequest.BOUNDED_SCHEMA, JsonRequest.SCHEMA)


@dataclass(frozen=True, slots=True)
class ChatDialect:
    """The chat completions of an OpenAI-compatible server, with the parameters that it knows."""

    json_request: JsonRequest = JsonRequest.BOUNDED_SCHEMA
    length_key: str = "max_tokens"
    temperature: bool = True

    def url(self, base: str) -> str:
        """Where requests go."""
        return f"{base}/chat/completions"

    def body(self, model: str, request: ModelRequest) -> dict[str, Any]:
        """The request as the server takes it; control strings in the text are broken up."""
        body, schema = _chat(model, request, self.json_request)
        body[self.length_key] = request.max_tokens
        if self.temperature:
            body["temperature"] = 0
        if self.json_request.by_schema:
            answer = {"name": "answer", "strict": True, "schema": schema}
            body["response_format"] = {"type": "json_schema", "json_schema": answer}
        elif self.json_request is not JsonRequest.WORDS:
            body["response_format"] = {"type": "json_object"}
            if self.json_request is JsonRequest.OBJECT_OF_SCHEMA:
                # For llama-cpp-python's server and a few others; the rest may ignore it.
                body["response_format"]["schema"] = schema
        return body

    def read(self, reply: bytes, seconds: float, request: ModelRequest) -> ModelAnswer:
        """The answer in a reply; if the model declined, it is empty and says so."""
        completion = json_object(reply)
        if completion is None:
            raise ReplyUnusable("the reply is not a JSON object")
        choices = completion.get("choices")
        if not isinstance(choices, list) or not choices or not isinstance(choices[0], dict):
            raise ReplyUnusable("the reply holds no choices")
        message, reason = choices[0].get("message"), choices[0].get("finish_reason")
        if not isinstance(message, dict):
            raise ReplyUnusable("the reply holds no message")
        refused = bool(message.get("refusal"))
        content = message.get("content")
        if refused or (content is None and reason in CUT_REASONS):
            content = ""
        usage = completion.get("usage")
        return ModelAnswer(
            text=bare_json(content),
            complete=reason in COMPLETE_REASONS and not refused,
            prompt_tokens=_count(usage, "prompt_tokens"),
            answer_tokens=_count(usage, "completion_tokens"),
            seconds=seconds,
            refused=refused,
            reused_tokens=_reused(usage),
        )

    def after(self, complaint: str, status: int) -> ChatDialect | None:
        """The next dialect to try after a refusal with that text, or None if none would help."""
        if self.length_key == "max_tokens" and "max_completion_tokens" in complaint:
            return replace(self, length_key="max_completion_tokens")
        if self.temperature and "temperature" in complaint:
            return replace(self, temperature=False)
        if self.json_request is JsonRequest.WORDS:
            return None
        return replace(self, json_request=JsonRequest(self.json_request.value + 1))


@dataclass(frozen=True, slots=True)
class OllamaDialect:
    """Ollama's own API, with a window of so many tokens; `think`: it knows that switch."""

    window: int
    json_request: JsonRequest = JsonRequest.BOUNDED_SCHEMA
    think: bool = True

    def url(self, base: str) -> str:
        """Where requests go, for an address with or without `/v1`."""
        return f"{base.removesuffix('/v1')}/api/chat"

    def body(self, model: str, request: ModelRequest) -> dict[str, Any]:
        """The request as the server takes it; control strings in the text are broken up."""
        body, schema = _chat(model, request, self.json_request)
        body["options"] = {
            "num_ctx": self.window,
            "num_predict": request.max_tokens,
            "temperature": 0,
        }
        if self.think:
            body["think"] = False
        if self.json_request is not JsonRequest.WORDS:
            body["format"] = schema if self.json_request.by_schema else "json"
        return body

    def read(self, reply: bytes, seconds: float, request: ModelRequest) -> ModelAnswer:
        """The answer in a reply, and whether the prompt was cut."""
        completion = json_object(reply) or {}
        message = completion.get("message")
        if not isinstance(message, dict):
            raise ReplyUnusable("the reply holds no message")
        prompt_tokens = _count(completion, "prompt_eval_count")
        # A word has at least one token; half of that leaves room for scripts and servers that
        # count otherwise. A prompt that fills the window to its end was cut to it.
        words = len(request.instructions.split()) + len(request.text.split())
        too_few = words >= LEAST_WORDS and 0 < prompt_tokens < words // 2
        return ModelAnswer(
            text=bare_json(message.get("content")),
            complete=completion.get("done_reason", "stop") in COMPLETE_REASONS,
            prompt_tokens=prompt_tokens,
            answer_tokens=_count(completion, "eval_count"),
            seconds=seconds,
            truncated=too_few or prompt_tokens >= self.window,
        )

    def after(self, complaint: str, status: int) -> OllamaDialect | ChatDialect | None:
        """The next dialect to try after a refusal, or None if none would help."""
        if status == 404:
            # With a reason: Ollama has no such model. Without one: this is no Ollama.
            return None if complaint else ChatDialect()
        if self.think and "think" in complaint:
            return replace(self, think=False)
        if self.json_request is JsonRequest.WORDS:
            return ChatDialect()
        # Here an object is an object, whether its schema is told or not.
        step = 2 if self.json_request is JsonRequest.OBJECT_OF_SCHEMA else 1
        return replace(self, json_request=JsonRequest(self.json_request.value + step))


Dialect: TypeAlias = ChatDialect | OllamaDialect


def _chat(
    model: str, request: ModelRequest, json_request: JsonRequest
) -> tuple[dict[str, Any], Mapping[str, Any]]:
    """What both APIs share of a request, and the schema as the server takes it.

    The instructions come first and alone, so that a server that keeps what it has read of a prompt
    reads them once; the schema differs from note to note.
    """
    schema = to_json_schema(request.schema, bounds=json_request is not JsonRequest.SCHEMA)
    instructions, text = prompt_parts(request, None if json_request.by_schema else schema)
    messages = [
        {"role": "system", "content": instructions},
        {"role": "user", "content": text},
    ]
    return {"model": model, "messages": messages, "stream": False}, schema


def prompt_parts(request: ModelRequest, schema: Mapping[str, Any] | None) -> tuple[str, str]:
    """Instructions and text of a request, with the schema in words where it has no other way."""
    # Lone surrogates have no UTF-8, which the server would refuse.
    text = without_control_strings(request.text.encode("utf-8", "replace").decode("utf-8"))
    if schema is not None:
        in_words = json.dumps(schema, ensure_ascii=False)
        text += f"\n\nAnswer with one JSON object and nothing else. Its JSON schema:\n{in_words}"
    return request.instructions, text


def server_message(body: bytes) -> str:
    """The reason that a server gave for a refusal, on one line, or an empty text."""
    reply = json_object(body) or {}
    error = reply.get("error", reply.get("detail", ""))
    message = error.get("message", "") if isinstance(error, dict) else error
    text = message if isinstance(message, str) else json.dumps(message)
    start = text[:MAX_MESSAGE_CHARACTERS]
    printable = "".join(letter if letter.isprintable() else " " for letter in start)
    return " ".join(printable.split())


def json_object(body: bytes) -> dict[str, Any] | None:
    """The JSON object that a reply is, or None if it is none."""
    try:
        value = json.loads(body.decode("utf-8"))
    except (ValueError, RecursionError):
        return None
    return value if isinstance(value, dict) else None


def bare_json(content: object) -> str:
    """An answer without the thoughts before it and the code fence around it."""
    if not isinstance(content, str):
        raise ReplyUnusable("the reply holds no text")
    text = content.strip()
    if text.startswith("<think>"):
        text = text.partition("</think>")[2].strip()
    if text.startswith("```") and text.endswith("```") and "\n" in text:
        text = text.partition("\n")[2][:-3].strip()
    return text


def _reused(usage: object) -> int:
    """Tokens of the prompt that the server had in its cache, 0 if it does not say."""
    details = usage.get("prompt_tokens_details") if isinstance(usage, dict) else None
    return min(_count(details, "cached_tokens"), _count(usage, "prompt_tokens"))


def _count(usage: object, key: str) -> int:
    """A count of tokens, 0 if there is none or it is impossible."""
    count = usage.get(key) if isinstance(usage, dict) else None
    return count if type(count) is int and 0 <= count <= MAX_TOKENS_COUNTED else 0
