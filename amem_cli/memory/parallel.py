"""Asks a model about the next notes while it answers for the first of them.

The memory process stays serial: each note has its turn in the order of time, when all earlier ones
are written, and what it is to ask is worked out then. Only the first request of each of the next
notes is sent ahead. In its turn the note takes the answer if it would ask about the same text and
the same older notes, whose metadata may have changed meanwhile; else it is asked again. The answer
is checked against the vault as it is then, and all that touches the vault runs in one thread.
"""

from __future__ import annotations

import contextlib
from collections.abc import Sequence
from concurrent.futures import Future, ThreadPoolExecutor
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING

from amem_cli.errors import AmemError
from amem_cli.memory.outcome import Outcome
from amem_cli.models.ports import ModelAnswer

if TYPE_CHECKING:
    from amem_cli.memory.ask_model import Answering
    from amem_cli.memory.process import MemoryProcess
    from amem_cli.models.ports import LanguageModel, ModelRequest


@dataclass(frozen=True, slots=True)
class SentAhead:
    """A request, and its answer as soon as it is there.

    Attributes:
        text_hash: of the note that it is about.
    """

    request: ModelRequest
    answer: Future[ModelAnswer]
    text_hash: str

    def answers(self, request: ModelRequest, text_hash: str) -> bool:
        """Whether the answer is one to this request about a text as well: the same is asked, and
        each label stands for the same older note."""
        one, other = self.request, request
        return (one.instructions, one.schema, one.shows, self.text_hash) == (
            other.instructions,
            other.schema,
            other.shows,
            text_hash,
        )


def _with_cost(answer: ModelAnswer, unused: Future[ModelAnswer]) -> ModelAnswer:
    """An answer that tells the cost of an unused one as well, if that is known by now."""
    if not unused.done() or unused.cancelled() or unused.exception() is not None:
        return answer
    other = unused.result()
    return replace(
        answer,
        prompt_tokens=answer.prompt_tokens + other.prompt_tokens,
        answer_tokens=answer.answer_tokens + other.answer_tokens,
        reused_tokens=answer.reused_tokens + other.reused_tokens,
        seconds=answer.seconds + other.seconds,
    )


@dataclass(slots=True)
class RequestsAhead:
    """The requests of the next notes that are under way to a model, at most `most` at once.

    Args:
        asked, only_pending: as for `MemoryProcess.run`.
    """

    process: MemoryProcess
    model: LanguageModel
    most: int
    asked: bool
    only_pending: bool
    _threads: ThreadPoolExecutor = field(init=False)
    _sent: dict[str, SentAhead] = field(default_factory=dict, init=False)
    # By path, the earlier notes that have to be done before it is known what to ask.
    _waits_for: dict[str, set[str]] = field(default_factory=dict, init=False)

    def __post_init__(self) -> None:
        self._threads = ThreadPoolExecutor(self.most, thread_name_prefix="amem-ask")

    def send(self, paths: Sequence[str]) -> None:
        """Ask about the notes whose turns come next, as far as it is known what to ask.

        Args:
            paths: at most `most`, in order; the first is the one whose turn it is.
        """
        for place, path in enumerate(paths):
            earlier = paths[:place]
            if path in self._sent or not self._waits_for.get(path, set()).isdisjoint(earlier):
                continue
            request = self._first_request(path)
            # Without a request it waits for the turn before its own, which may give it one.
            self._waits_for[path] = set(earlier[-1:])
            if request is None:
                continue
            # What will be said of a note that is not described yet cannot be shown.
            self._waits_for[path] = {each for each in earlier if self._shows(request, each)}
            if not self._waits_for[path]:
                answer = self._threads.submit(self.model.answer, request)
                self._sent[path] = SentAhead(request, answer, self._text_hash(path))

    def _shows(self, request: ModelRequest, path: str) -> bool:
        """Whether a note's title stands in a request, as it does if the note is a candidate.

        A model that is not trusted is shown no other note.
        """
        if not self.process.settings.trusted:
            return False
        from amem_cli.memory.link import LINE_TITLE_BYTES
        from amem_cli.models.prompt_text import quote_line

        note = self.process.ports.index.notes.summary(path)
        return note is not None and quote_line(note.title, LINE_TITLE_BYTES) in request.text

    def _first_request(self, path: str) -> ModelRequest | None:
        """What the model would be asked first about a note now; None if only its turn can tell."""
        try:
            found = self.process.steps(path, asked=self.asked, only_pending=self.only_pending)
            return None if isinstance(found, Outcome) else next(found[1], None)
        except AmemError:
            return None

    def answer_for(self, path: str) -> Answering:
        """What answers in the turn of a note: to what was sent ahead, if that is asked first."""
        self._waits_for.pop(path, None)
        waiting = [self._sent.pop(path, None)]
        text_hash = self._text_hash(path)

        def answer(request: ModelRequest) -> ModelAnswer:
            sent = waiting.pop() if waiting else None
            if sent is None:
                return self.model.answer(request)
            if sent.answers(request, text_hash):
                return sent.answer.result()
            sent.answer.cancel()
            return _with_cost(self.model.answer(request), sent.answer)

        return answer

    def _text_hash(self, path: str) -> str:
        note = self.process.ports.index.notes.summary(path)
        return note.text_hash if note is not None else ""

    def close(self) -> None:
        """Give up what was not answered yet; the model is closed if it is still at work."""
        self._threads.shutdown(wait=False, cancel_futures=True)
        if any(not each.answer.done() for each in self._sent.values()):
            with contextlib.suppress(Exception):
                self.model.close()
        self._sent.clear()
