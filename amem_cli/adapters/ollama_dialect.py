"""How Ollama is asked in its own way, in which alone the size of its window can be chosen.

Its OpenAI-compatible way takes no window size, and a longer prompt is cut without a word.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Any

from amem_cli.adapters.chat_dialect import (
    WINDOW_COMPLAINTS,
    ChatDialect,
    JsonRequest,
    asks_by_schema,
    schema_in_words,
    without_control_strings,
)
from amem_cli.adapters.chat_reply import (
    COMPLETE_REASONS,
    ReplyUnusable,
    bare_json,
    count_of,
    json_object,
)
from amem_cli.core.answer_schema import to_json_schema
from amem_cli.core.ports import ModelAnswer, ModelRequest

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
