"""Language models without a model: one that says what it is told, one that makes answers up."""

from __future__ import annotations

import json
import random
from collections.abc import Callable, Mapping, Sequence
from typing import Any

from amem_cli.errors import ModelError
from amem_cli.models.ports import ModelAnswer, ModelRequest

Scripted = str | ModelAnswer | Exception | Callable[[ModelRequest], str]

_LETTERS = "abcdefghijklmnopqrstuvwxyzäéøßждλ中文🙂"
_ODD = " .,;:!?'()[]{}#<>|-_/*`~@$%^&+="


class ScriptedModel:
    """Gives the scripted answers one after the other and records what it was asked.

    An answer may be a text, a `ModelAnswer` (for one that was cut), an exception to raise, or a
    function of the request. When the script is at its end it raises `ModelError`.
    """

    def __init__(
        self, answers: Sequence[Scripted] = (), *, name: str = "scripted", is_remote: bool = False
    ) -> None:
        self._answers = list(answers)
        self._name = name
        self._is_remote = is_remote
        self.requests: list[ModelRequest] = []
        self.closed = 0

    @property
    def name(self) -> str:
        return self._name

    @property
    def is_remote(self) -> bool:
        return self._is_remote

    def answer(self, request: ModelRequest) -> ModelAnswer:
        self.requests.append(request)
        if not self._answers:
            raise ModelError("the script has no answer left")
        said = self._answers.pop(0)
        if isinstance(said, Exception):
            raise said
        if isinstance(said, ModelAnswer):
            return said
        return _answer_of(said if isinstance(said, str) else said(request), request)

    def close(self) -> None:
        self.closed += 1


class EchoSchemaModel:
    """Gives random answers of the asked shape, the same ones for the same seed and order."""

    def __init__(self, seed: int = 0) -> None:
        self._chance = random.Random(seed)
        self.requests: list[ModelRequest] = []

    @property
    def name(self) -> str:
        return "echo-schema"

    @property
    def is_remote(self) -> bool:
        return False

    def answer(self, request: ModelRequest) -> ModelAnswer:
        self.requests.append(request)
        value = random_value(request.schema, self._chance)
        return _answer_of(json.dumps(value, ensure_ascii=False), request)

    def close(self) -> None:
        pass


def random_value(schema: Mapping[str, Any], chance: random.Random) -> Any:
    """Make up a value that a schema of the subset allows and its grammar could have written."""
    match schema["type"]:
        case "object":
            return {name: random_value(of, chance) for name, of in schema["properties"].items()}
        case "array":
            count = chance.randint(schema.get("minItems", 0), schema["maxItems"])
            return [random_value(schema["items"], chance) for _ in range(count)]
        case "string" if "enum" in schema:
            return chance.choice(list(schema["enum"]))
        case "string":
            return _random_text(schema, chance)
        case "number":
            return chance.randint(0, 10) / 10
        case _:
            return chance.random() < 0.5


def _random_text(schema: Mapping[str, Any], chance: random.Random) -> str:
    length = chance.randint(schema.get("minLength", 0), schema["maxLength"])
    if length == 0:
        return ""
    letters = [chance.choice(_LETTERS + _ODD) for _ in range(length)]
    letters[0] = chance.choice(_LETTERS)
    letters[-1] = chance.choice(_LETTERS)
    return "".join(letters)


def _answer_of(text: str, request: ModelRequest) -> ModelAnswer:
    words = len(request.instructions.split()) + len(request.text.split())
    return ModelAnswer(
        text=text,
        complete=True,
        prompt_tokens=words,
        answer_tokens=len(text.split()),
        seconds=0.0,
    )
