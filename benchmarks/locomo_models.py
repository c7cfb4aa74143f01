"""The models of the benchmark: one that is measured, and one that knows the answers."""

from __future__ import annotations

import re
from dataclasses import dataclass, field
from typing import Any

from locomo_data import Conversation, Question
from memory_requests import as_answer
from watched_model import WatchedModel

from amem_cli.ask.prompt import LONGEST_ANSWER, MOST_CITED
from amem_cli.errors import ModelError
from amem_cli.language.words import words
from amem_cli.markdown.plain_text import plain_text
from amem_cli.memory.outcome import ModelUse
from amem_cli.models.ports import ModelAnswer, ModelRequest

NOT_MENTIONED = "Not mentioned in the conversation"
_BLOCK = re.compile(r"^(n\d+) ", re.M)
_TELLING_WORDS = 8


@dataclass
class MeteredModel(WatchedModel):
    """A model whose cost is counted.

    Attributes:
        use: since `begin`.
        error: of the last request, empty where it was answered.
    """

    use: ModelUse = field(default_factory=ModelUse)
    error: str = ""

    def begin(self, question: Question, conversation: Conversation) -> None:
        """The next requests are about this question."""
        self.use, self.error = ModelUse(), ""
        self.tell("expect", question, conversation)

    def answer(self, request: ModelRequest) -> ModelAnswer:
        try:
            answer = super().answer(request)
        except ModelError as error:
            self.error = error.message
            raise
        self.error = ""
        self.use += ModelUse(1, answer.prompt_tokens, answer.answer_tokens, answer.seconds)
        return answer


class PerfectReader:
    """Gives the right answer where evidence is shown, else says that there is none.

    Args:
        writer: answers the requests of the memory process; None where nothing asks for that.
    """

    name = "perfect"
    is_remote = False

    def __init__(self, writer: Any = None) -> None:
        self._writer = writer
        self._question: Question | None = None
        self._evidence: list[str] = []

    def expect(self, question: Question, conversation: Conversation) -> None:
        """The next request is about this question."""
        self._question = question
        texts = {turn.id: turn.text for turn in conversation.turns}
        self._evidence = [_beginning(texts[each]) for each in question.evidence if each in texts]

    def begin(self, note_id: str, known: Any) -> None:
        """The next requests are about this note."""
        if self._writer is not None:
            self._writer.begin(note_id, known)

    def answer(self, request: ModelRequest) -> ModelAnswer:
        names = set(request.schema["properties"])
        if names == {"sources", "held", "answer"}:
            return as_answer(self._asked(request.text), request)
        if names == {"answer"}:
            return as_answer({"answer": self._paper(request.text)}, request)
        if self._writer is None:
            raise ModelError("nobody knows what this conversation should be remembered as")
        written: ModelAnswer = self._writer.answer(request)
        return written

    def close(self) -> None:
        pass

    def _asked(self, text: str) -> dict[str, Any]:
        parts = _BLOCK.split(text)
        blocks = zip(parts[1::2], parts[2::2], strict=True)
        labels = [label for label, block in blocks if self._holds_evidence(block)][:MOST_CITED]
        held = bool(labels) and self._is_answerable()
        return {
            "sources": labels if held else [],
            "held": held,
            "answer": self._answer()[:LONGEST_ANSWER] if held else "",
        }

    def _paper(self, text: str) -> str:
        shown = self._is_answerable() and self._holds_evidence(text)
        return self._answer() if shown else NOT_MENTIONED

    def _is_answerable(self) -> bool:
        return self._question is not None and self._question.is_answerable

    def _answer(self) -> str:
        return self._question.answer if self._question is not None else ""

    def _holds_evidence(self, text: str) -> bool:
        shown = " ".join(words(text))
        return any(each in shown for each in self._evidence)


def _beginning(text: str) -> str:
    return " ".join(words(plain_text(text))[:_TELLING_WORDS])
