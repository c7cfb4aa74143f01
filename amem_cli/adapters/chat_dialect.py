"""The ways in which OpenAI-compatible servers are asked for JSON of a schema."""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import dataclass, replace
from enum import Enum
from typing import Any

from amem_cli.adapters.chat_reply import answer_from
from amem_cli.core.answer_schema import to_json_schema
from amem_cli.core.ports import ModelAnswer, ModelRequest

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
