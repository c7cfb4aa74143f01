"""Reads what an OpenAI-compatible server sent back.

The ways in which OpenAI-compatible servers are asked for JSON of a schema.
How Ollama is asked in its own way, in which alone the size of its window can be chosen. Its
OpenAI-compatible way takes no window size, and a longer prompt is cut without a word.
"""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import dataclass, replace
from enum import Enum
from typing import Any

from amem_cli.models.ports import ModelAnswer, ModelRequest
from amem_cli.models.reply_schema import to_json_schema

COMPLETE_REASONS = frozenset({"stop", "eos_token"})
CUT_REASONS = frozenset({"length", "content_filter"})
MAX_MESSAGE_CHARACTERS = 10_000
# More than any context window; a count beyond it is made up and would not fit into a database.
MAX_TOKENS_COUNTED = 100_000_000


class ReplyUnusable(Exception):
    """A reply holds no answer."""


def answer_from(body: bytes, seconds: float) -> ModelAnswer:
    """Find the answer in a reply; where the model declines, the answer is empty and says so.

    Raises:
        ReplyUnusable: the reply is no chat completion.
    """
    completion = json_object(body)
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
    if not isinstance(content, str):
        raise ReplyUnusable("the reply holds no text")
    usage = completion.get("usage")
    return ModelAnswer(
        text=bare_json(content),
        complete=reason in COMPLETE_REASONS and not refused,
        prompt_tokens=count_of(usage, "prompt_tokens"),
        answer_tokens=count_of(usage, "completion_tokens"),
        seconds=seconds,
        refused=refused,
    )


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
    """The object that a reply is, or None where it is none."""
    try:
        value = json.loads(body.decode("utf-8"))
    except (ValueError, RecursionError):
        return None
    return value if isinstance(value, dict) else None


def bare_json(content: str) -> str:
    """Take off thoughts before the answer and a code fence around it."""
    text = content.strip()
    if text.startswith("<think>"):
        text = text.partition("</think>")[2].strip()
    if text.startswith("```") and text.endswith("```") and "\n" in text:
        text = text.partition("\n")[2][:-3].strip()
    return text


def count_of(usage: object, key: str) -> int:
    """A count of tokens, 0 where there is none or it cannot be."""
    count = usage.get(key) if isinstance(usage, dict) else None
    return count if type(count) is int and 0 <= count <= MAX_TOKENS_COUNTED else 0


# Strings that chat templates read as the end of a turn. A server may turn them into control tokens
# wherever they stand, so they are broken up in text that is only data.
_CONTROL_STRINGS = (
    ("<|", "< |"),
    ("|>", "| >"),
    ("<｜", "< ｜"),
    ("[INST]", "[ INST]"),
    ("[/INST]", "[ /INST]"),
    ("<<SYS>>", "< <SYS>>"),
    ("<</SYS>>", "< </SYS>>"),
    ("<start_of_turn>", "< start_of_turn>"),
    ("<end_of_turn>", "< end_of_turn>"),
    ("<s>", "< s>"),
    ("</s>", "< /s>"),
    ("<bos>", "< bos>"),
    ("<eos>", "< eos>"),
)
WINDOW_COMPLAINTS = ("context length", "context size", "context window")


class JsonRequest(Enum):
    """How the shape of the answer is asked for, the strictest first."""

    BOUNDED_SCHEMA = 0
    SCHEMA = 1
    OBJECT_OF_SCHEMA = 2
    OBJECT = 3
    WORDS = 4


@dataclass(frozen=True, slots=True)
class ChatDialect:
    """What a server understands.

    Attributes:
        length_key: name of the bound on the answer's length.
        temperature: the server lets the temperature be chosen.
    """

    json_request: JsonRequest = JsonRequest.BOUNDED_SCHEMA
    length_key: str = "max_tokens"
    temperature: bool = True

    def url(self, base: str) -> str:
        """Where the request goes."""
        return f"{base}/chat/completions"

    def read(self, reply: bytes, seconds: float, request: ModelRequest) -> ModelAnswer:
        """Find the answer in a reply.

        Raises:
            ReplyUnusable: the reply holds no answer.
        """
        return answer_from(reply, seconds)

    def body(self, model: str, request: ModelRequest) -> dict[str, Any]:
        """The request as the server wants it; control strings in the text are broken up."""
        bounds = self.json_request is not JsonRequest.SCHEMA
        schema = to_json_schema(request.schema, bounds=bounds)
        instructions = request.instructions + self._schema_in_words(schema)
        body: dict[str, Any] = {
            "model": model,
            "messages": [
                {"role": "system", "content": instructions},
                {"role": "user", "content": without_control_strings(request.text)},
            ],
            self.length_key: request.max_tokens,
            "stream": False,
        }
        if self.temperature:
            body["temperature"] = 0
        return body | self._response_format(schema)

    def after(self, complaint: str, status: int) -> ChatDialect | None:
        """The next dialect to try after a server refused this one, or None where none would help.

        Args:
            complaint: what the server said, where it said something.
        """
        if any(limit in complaint for limit in WINDOW_COMPLAINTS):
            return None
        if self.length_key == "max_tokens" and "max_completion_tokens" in complaint:
            return replace(self, length_key="max_completion_tokens")
        if self.temperature and "temperature" in complaint:
            return replace(self, temperature=False)
        if self.json_request is JsonRequest.WORDS:
            return None
        return replace(self, json_request=JsonRequest(self.json_request.value + 1))

    def without_schema(self) -> ChatDialect:
        """The dialect for a server that takes a schema and answers as if there were none."""
        return replace(self, json_request=JsonRequest.OBJECT_OF_SCHEMA)

    def _schema_in_words(self, schema: Mapping[str, Any]) -> str:
        return "" if asks_by_schema(self.json_request) else schema_in_words(schema)

    def _response_format(self, schema: Mapping[str, Any]) -> dict[str, Any]:
        if self.json_request is JsonRequest.WORDS:
            return {}
        if self.json_request is JsonRequest.OBJECT_OF_SCHEMA:
            # As llama-cpp-python's server and a few others take it; the rest may ignore it, so the
            # model is told in words as well.
            return {"response_format": {"type": "json_object", "schema": schema}}
        if self.json_request is JsonRequest.OBJECT:
            return {"response_format": {"type": "json_object"}}
        wanted = {"name": "answer", "strict": True, "schema": schema}
        return {"response_format": {"type": "json_schema", "json_schema": wanted}}


def asks_by_schema(json_request: JsonRequest) -> bool:
    """True where the model itself is not told of the shape, but only the server."""
    return json_request in (JsonRequest.BOUNDED_SCHEMA, JsonRequest.SCHEMA)


def schema_in_words(schema: Mapping[str, Any]) -> str:
    """What the instructions end with where a server takes no schema."""
    text = json.dumps(schema, ensure_ascii=False)
    return f"\n\nAnswer with one JSON object and nothing else. Its JSON schema:\n{text}"


def without_control_strings(text: str) -> str:
    """Break up what a chat template could take for the end of a turn, and mend half characters."""
    text = text.encode("utf-8", "replace").decode("utf-8")
    for control, broken in _CONTROL_STRINGS:
        text = text.replace(control, broken)
    return text


# No window is so small that so few words would be cut.
LEAST_WORDS = 250


@dataclass(frozen=True, slots=True)
class OllamaDialect:
    """What an Ollama understands.

    Attributes:
        window: tokens of prompt and answer together, sent as `num_ctx`.
        think: the server knows how to be told not to think aloud.
    """

    window: int
    json_request: JsonRequest = JsonRequest.BOUNDED_SCHEMA
    think: bool = True

    def url(self, base: str) -> str:
        """Where the request goes, given the address with or without `/v1`."""
        return f"{base.removesuffix('/v1')}/api/chat"

    def body(self, model: str, request: ModelRequest) -> dict[str, Any]:
        """The request; control strings in the text are broken up."""
        bounded = self.json_request is not JsonRequest.SCHEMA
        schema = to_json_schema(request.schema, bounds=bounded)
        in_words = not asks_by_schema(self.json_request)
        instructions = request.instructions + (schema_in_words(schema) if in_words else "")
        body: dict[str, Any] = {
            "model": model,
            "messages": [
                {"role": "system", "content": instructions},
                {"role": "user", "content": without_control_strings(request.text)},
            ],
            "stream": False,
            "options": {
                "num_ctx": self.window,
                "num_predict": request.max_tokens,
                "temperature": 0,
            },
        }
        if self.think:
            body["think"] = False
        if self.json_request is JsonRequest.WORDS:
            return body
        return body | {"format": "json" if in_words else schema}

    def read(self, reply: bytes, seconds: float, request: ModelRequest) -> ModelAnswer:
        """Find the answer in a reply, and notice where the prompt was cut.

        Raises:
            ReplyUnusable: the reply holds no answer.
        """
        completion = json_object(reply)
        message = (completion or {}).get("message")
        if completion is None or not isinstance(message, dict):
            raise ReplyUnusable("the reply holds no message")
        content = message.get("content")
        if not isinstance(content, str):
            raise ReplyUnusable("the reply holds no text")
        prompt = count_of(completion, "prompt_eval_count")
        return ModelAnswer(
            text=bare_json(content),
            complete=completion.get("done_reason", "stop") in COMPLETE_REASONS,
            prompt_tokens=prompt,
            answer_tokens=count_of(completion, "eval_count"),
            seconds=seconds,
            truncated=is_cut(prompt, self.window, request),
        )

    def without_schema(self) -> OllamaDialect:
        """The dialect for a server that takes a schema and answers as if there were none."""
        return replace(self, json_request=JsonRequest.OBJECT)

    def after(self, complaint: str, status: int) -> OllamaDialect | ChatDialect | None:
        """The next way to try after a refusal, or None where none would help."""
        if any(limit in complaint for limit in WINDOW_COMPLAINTS):
            return None
        if status == 404:
            # Told of a model, Ollama has none of that name; told of nothing, this is no Ollama.
            return None if complaint else ChatDialect()
        if self.think and "think" in complaint:
            return replace(self, think=False)
        if self.json_request is JsonRequest.WORDS:
            return ChatDialect()
        if self.json_request is JsonRequest.BOUNDED_SCHEMA:
            return replace(self, json_request=JsonRequest.SCHEMA)
        in_words = self.json_request is JsonRequest.OBJECT
        return replace(self, json_request=JsonRequest.WORDS if in_words else JsonRequest.OBJECT)


def is_cut(prompt_tokens: int, window: int, request: ModelRequest) -> bool:
    """Whether a server read less than it was sent, by its own count of tokens.

    A word has a token at least; half of that leaves room for scripts and servers that count
    otherwise. A prompt that fills the window to its end was cut to it.
    """
    words = len(request.instructions.split()) + len(request.text.split())
    too_few = words >= LEAST_WORDS and 0 < prompt_tokens < words // 2
    return too_few or prompt_tokens >= window > 0
