"""What a request of the memory process shows and what an answer to it says, read from outside.

A shown note is known by the line that begins with its label. If the prompts take another form, this
is the place to follow them.
"""

from __future__ import annotations

import json
import re
from collections.abc import Mapping
from dataclasses import dataclass, field
from types import MappingProxyType
from typing import Any

from amem_cli.models.ports import AnswerRejected, LanguageModel, ModelAnswer, ModelRequest
from amem_cli.models.prompt_text import estimated_tokens, quote_line
from amem_cli.models.reply_schema import read_parts

_LABELLED = re.compile(r"^(n\d+) (.*)$", re.M)
_LONGEST_TITLE = 160


def shown_notes(text: str, known: Mapping[str, tuple[str, str]]) -> dict[str, str]:
    """Ids of the notes in a text by their labels.

    Args:
        known: title and day of creation by id.
    """
    shown: dict[str, str] = {}
    titles = {note_id: quote_line(title, _LONGEST_TITLE) for note_id, (title, _) in known.items()}
    for label, line in _LABELLED.findall(text):
        named = [each for each, title in titles.items() if _begins_with(line, title)]
        # Of notes that begin alike the longest title; of namesakes the one of that day.
        named.sort(key=lambda each: (f"({known[each][1]})" in line, len(titles[each])))
        if named:
            shown.setdefault(label, named[-1])
    return shown


def _begins_with(line: str, title: str) -> bool:
    rest = line[len(title) :]
    return line.startswith(title) and (not rest or rest.startswith((" (", ":", " |")))


@dataclass(frozen=True)
class Exchange:
    """One request with its answer.

    Attributes:
        shown: ids of the older notes that were shown, by label.
        said: the answer where it has the asked shape, else None.
    """

    shown: Mapping[str, str]
    said: Mapping[str, Any] | None
    tokens: int


@dataclass
class ObservedModel:
    """A model that remembers what it was asked and what it said.

    Attributes:
        model: it answers.
        known: title and day by id, of the vault in hand.
        exchanges: since `begin`.
    """

    model: LanguageModel
    known: Mapping[str, tuple[str, str]] = field(default_factory=dict)
    exchanges: list[Exchange] = field(default_factory=list)

    def begin(self, note_id: str, known: Mapping[str, tuple[str, str]]) -> None:
        """The next requests are about this note of a vault with those notes."""
        self.known, self.exchanges = known, []
        if (begin := getattr(self.model, "begin", None)) is not None:
            begin(note_id, known)

    @property
    def name(self) -> str:
        return self.model.name

    @property
    def is_remote(self) -> bool:
        return self.model.is_remote

    def __getattr__(self, name: str) -> Any:
        # Whatever else a kind of model can do (a fit of its own, a count of tokens).
        return getattr(self.model, name)

    def answer(self, request: ModelRequest) -> ModelAnswer:
        answer = self.model.answer(request)
        try:
            said = read_parts(answer.text, request.schema)[0] if answer.complete else None
        except AnswerRejected:
            said = None
        tokens = answer.prompt_tokens + answer.answer_tokens
        self.exchanges.append(Exchange(shown_notes(request.text, self.known), said, tokens))
        return answer

    def close(self) -> None:
        """The model outlives the vault that it was lent to."""


class ScriptedModel:
    """A trusted model that knows of which note it is asked; its tokens are estimated."""

    name = "scripted"
    is_remote = False
    note_id = ""
    known: Mapping[str, tuple[str, str]] = MappingProxyType({})

    def begin(self, note_id: str, known: Mapping[str, tuple[str, str]]) -> None:
        """The next requests are about this note of a vault with those notes."""
        self.note_id, self.known = note_id, known

    def answer(self, request: ModelRequest) -> ModelAnswer:
        shown = shown_notes(request.text, self.known)
        parts = request.schema["properties"].items()
        text = json.dumps({n: self.part(n, each, shown) for n, each in parts}, ensure_ascii=False)
        asked = estimated_tokens(request.instructions) + estimated_tokens(request.text)
        return ModelAnswer(text, True, asked, estimated_tokens(text), 0.0)

    def part(self, name: str, schema: Mapping[str, Any], shown: Mapping[str, str]) -> Any:
        """What it says in one part of an answer.

        Args:
            shown: ids of the notes that it was shown, by label.
        """
        raise NotImplementedError

    def close(self) -> None:
        pass
