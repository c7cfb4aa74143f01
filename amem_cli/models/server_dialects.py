"""How servers are asked for JSON of a schema, and how their replies are read.

Ollama is asked in its own API if the settings say so: only there the size of its context window
can be chosen. Its OpenAI-compatible API takes none, and cuts a longer prompt without a word.
"""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import Any

from amem_cli.models.find_json import find_answer
from amem_cli.models.ports import ModelAnswer, ModelRequest
from amem_cli.models.prompt_text import without_control_strings
from amem_cli.models.reply_schema import to_json_schema

# How the shape of the answer is asked for, the strictest first: by a schema with bounds, by one
# without, as a JSON object, or in words. The last two have the schema in the text as well.
FORMS = ("bounded schema", "schema", "object", "words")
COMPLETE_REASONS = frozenset({"stop", "eos_token"})
CUT_REASONS = frozenset({"length", "content_filter"})
MAX_MESSAGE_CHARACTERS = 10_000
# More than any context window; a count beyond it is made up and would not fit into a database.
MAX_TOKENS_COUNTED = 100_000_000
# No window is so small that so few words would be cut.
LEAST_WORDS = 250
# A model that thinks gets so many times the bound of its answer; it is a bound, and not spent.
THINKING_ROOM = 8
LEAST_THINKING = 4096
# How servers are told to think less: OpenAI's, and llama-server, vLLM and SGLang.
_LESS_THINKING: dict[str, Any] = {
    "reasoning_effort": "low",
    "chat_template_kwargs": {"enable_thinking": False},
}
# Parameters that some servers do not know, by the word in which they complain.
_OPTIONAL = {
    "max_completion_tokens": "max_tokens",
    "temperature": "temperature",
    **dict(zip(_LESS_THINKING, _LESS_THINKING, strict=True)),
}
_OPTIONAL_OLLAMA = {"think": "think"}
# Where servers put what a model thought.
_THOUGHTS = ("reasoning_content", "reasoning", "thinking")


class ReplyUnusable(Exception):
    """A reply holds no answer; raised by `read`."""


@dataclass(frozen=True, slots=True)
class Dialect:
    """What a server is asked with.

    Attributes:
        window: tokens of the context window, for Ollama's own API; 0 for OpenAI's.
        left_out: parameters that the server does not know.
        room: how many times the bound of an answer is asked for, because the model thinks.
    """

    window: int = 0
    form: str = FORMS[0]
    left_out: frozenset[str] = frozenset()
    room: int = 1

    @property
    def by_schema(self) -> bool:
        """Whether only the server gets the schema, and the model's instructions do not have it."""
        return self.form in FORMS[:2]

    def url(self, base: str) -> str:
        """Where requests go, for an address with or without `/v1`."""
        return f"{base.removesuffix('/v1')}/api/chat" if self.window else f"{base}/chat/completions"

    def body(self, model: str, request: ModelRequest) -> dict[str, Any]:
        """The request as the server takes it; control strings in the text are broken up.

        The instructions come first and alone, so that a server that keeps what it has read of a
        prompt reads them once; the schema differs from note to note.
        """
        schema = to_json_schema(request.schema, bounds=self.form != "schema")
        text = _text(request, None if self.by_schema else schema)
        said = [request.instructions, *(part for each in request.examples for part in each), text]
        roles = ["system", *("user", "assistant") * len(request.examples), "user"]
        messages = [{"role": role, "content": part} for role, part in zip(roles, said, strict=True)]
        body: dict[str, Any] = {"model": model, "messages": messages, "stream": False}
        most = request.max_tokens
        if self.room > 1:
            # The thoughts of a short answer are no shorter.
            most = self.room * max(most, LEAST_THINKING // THINKING_ROOM)
        if self.window:
            limits = {"num_ctx": self.window, "num_predict": most, "temperature": 0}
            body |= {"options": limits, "think": False}
            if self.form != "words":
                body["format"] = schema if self.by_schema else "json"
        else:
            body |= {"max_tokens": most, "temperature": 0}
            if "max_tokens" in self.left_out:
                body["max_completion_tokens"] = most
            if self.room > 1:
                body |= _LESS_THINKING
            if self.by_schema:
                answer = {"name": "answer", "strict": True, "schema": schema}
                body["response_format"] = {"type": "json_schema", "json_schema": answer}
            elif self.form == "object":
                # The schema is for llama-cpp-python's server and a few others.
                body["response_format"] = {"type": "json_object", "schema": schema}
        return {name: value for name, value in body.items() if name not in self.left_out}

    def read(self, reply: bytes, seconds: float, request: ModelRequest) -> ModelAnswer:
        """The answer in a reply; if the model declined, it is empty and says so."""
        whole = json_object(reply) or {}
        choices = whole.get("choices")
        choice = choices[0] if isinstance(choices, list) and choices else None
        told, reason_key = (whole, "done_reason") if self.window else (choice, "finish_reason")
        message = told.get("message") if isinstance(told, dict) else None
        if not isinstance(told, dict) or not isinstance(message, dict):
            raise ReplyUnusable("the reply holds no message")
        # An old Ollama gives no reason.
        reason = told.get(reason_key, "stop" if self.window else None)
        refused = bool(message.get("refusal"))
        content = _said(message, request)
        if refused or (content is None and reason in CUT_REASONS):
            content = ""
        if content is None:
            raise ReplyUnusable("the reply holds no text")
        # Behind a whole answer only blanks can have been cut.
        complete = (reason in COMPLETE_REASONS or _is_whole(content, request)) and not refused
        # The object may stand among thoughts, fences and prose.
        found = find_answer(content, list(request.schema["properties"])) if complete else None
        answer = ModelAnswer(
            text=content if found is None else found,
            complete=complete,
            prompt_tokens=0,
            answer_tokens=0,
            seconds=seconds,
            refused=refused,
        )
        if reason == "length" and not (refused or complete):
            # With room for its thoughts a cut answer is a failure, however much it says.
            answer = replace(answer, starved=self.room > 1 or _thought(message, whole))
        if not self.window:
            return _counted(answer, whole.get("usage"))
        prompt_tokens = _count(whole, "prompt_eval_count")
        # A word has at least one token; half of that leaves room for scripts and servers that
        # count otherwise. A prompt that fills the window to its end was cut to it.
        words = len(request.instructions.split()) + len(request.text.split())
        too_few = words >= LEAST_WORDS and 0 < prompt_tokens < words // 2
        return replace(
            answer,
            prompt_tokens=prompt_tokens,
            answer_tokens=_count(whole, "eval_count"),
            truncated=too_few or prompt_tokens >= self.window,
        )

    def with_room(self) -> Dialect | None:
        """The dialect for a model that thinks; None if it is asked in that way already."""
        return None if self.room > 1 else replace(self, room=THINKING_ROOM)

    def after(self, complaint: str, status: int) -> Dialect | None:
        """The next dialect to try after a refusal with that text, or None if none would help."""
        if self.window and status == 404:
            # With a reason: Ollama has no such model. Without one: this is no Ollama.
            return None if complaint else Dialect()
        for word, parameter in (_OPTIONAL_OLLAMA if self.window else _OPTIONAL).items():
            if word in complaint and parameter not in self.left_out:
                return replace(self, left_out=self.left_out | {parameter})
        if self.room > 1 and not self.window and not self.left_out.issuperset(_LESS_THINKING):
            # Not every server says what it does not know.
            return replace(self, left_out=self.left_out.union(_LESS_THINKING))
        if self.form == FORMS[-1]:
            return Dialect() if self.window else None
        return replace(self, form=FORMS[FORMS.index(self.form) + 1])


def _thought(message: Mapping[str, Any], reply: Mapping[str, Any]) -> bool:
    """Whether a model thought, or said hardly anything, before its answer was cut."""
    content, usage = message.get("content"), reply.get("usage")
    said = content.strip() if isinstance(content, str) else ""
    tokens = _count(usage, "completion_tokens") or _count(reply, "eval_count")
    # An answer begins as the object that was asked for, and has more letters than tokens.
    if not (said.startswith("{") and any(map(str.isalnum, said))) or len(said) < tokens:
        return True
    details = usage.get("completion_tokens_details") if isinstance(usage, dict) else None
    return _count(details, "reasoning_tokens") > 0 or any(map(message.get, _THOUGHTS))


def _said(message: Mapping[str, Any], request: ModelRequest) -> str | None:
    """The text of a message, which may come in parts; None without one."""
    content = message.get("content")
    if isinstance(content, list):
        parts = (part.get("text") for part in content if isinstance(part, dict))
        content = "".join(part for part in parts if isinstance(part, str))
    if not content:
        # Told not to think, some servers take the answer for thoughts.
        thoughts = (text for text in map(message.get, _THOUGHTS) if isinstance(text, str))
        content = next((text for text in thoughts if _is_whole(text, request)), content)
    return content if isinstance(content, str) else None


def _is_whole(content: str, request: ModelRequest) -> bool:
    """Whether a text ends with an answer that has all properties."""
    names = request.schema["properties"]
    found = find_answer(content, list(names))
    ends_so = found is not None and content.rstrip(" \t\r\n`").endswith(found)
    return ends_so and all(name in json.loads(found or "") for name in names)


def _text(request: ModelRequest, schema: Mapping[str, Any] | None) -> str:
    """The text of a request, with the schema in words where it has no other way."""
    # Lone surrogates have no UTF-8, which the server would refuse.
    text = without_control_strings(request.text.encode("utf-8", "replace").decode("utf-8"))
    if schema is not None:
        in_words = json.dumps(schema, ensure_ascii=False)
        text += f"\n\nAnswer with one JSON object and nothing else. Its JSON schema:\n{in_words}"
    return text


def server_message(body: bytes) -> str:
    """The reason that a server gave for a refusal, on one line, or an empty text."""
    reply = json_object(body) or {}
    error = next((reply[key] for key in ("error", "detail", "message") if key in reply), "")
    message = error.get("message", "") if isinstance(error, dict) else error
    text = message if isinstance(message, str) else json.dumps(message) if message else ""
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


def _counted(answer: ModelAnswer, usage: object) -> ModelAnswer:
    """The answer with the tokens that a server of OpenAI's form counted."""
    details = usage.get("prompt_tokens_details") if isinstance(usage, dict) else None
    prompt_tokens = _count(usage, "prompt_tokens")
    return replace(
        answer,
        prompt_tokens=prompt_tokens,
        answer_tokens=_count(usage, "completion_tokens"),
        reused_tokens=min(_count(details, "cached_tokens"), prompt_tokens),
    )


def _count(usage: object, key: str) -> int:
    """A count of tokens, 0 if there is none or it is impossible."""
    count = usage.get(key) if isinstance(usage, dict) else None
    return count if type(count) is int and 0 <= count <= MAX_TOKENS_COUNTED else 0
