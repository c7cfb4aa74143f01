"""The ways to answer that are compared: each row is a memory, a search over it, and a reader.

The harness of A-MEM asks for a short phrase in words of the memories, for the shortest answer with
a date where the category is 2, and offers two answers to choose from where it is 5: the trap, and
that it is not mentioned. So do the prompts of the row `paper-prompt`, in words of their own.
"""

from __future__ import annotations

import random
import re
from collections.abc import Collection, Sequence
from dataclasses import dataclass, field, replace
from typing import Any

import numpy as np
from locomo_data import Conversation, Question
from locomo_scores import refuses
from memory_requests import as_answer
from memory_vault import OpenVault
from watched_model import WatchedModel

from amem_cli.ask.ask import ATTEMPTS, HITS, ask, budget_of
from amem_cli.ask.prompt import (
    LONGEST_ANSWER,
    MOST_CITED,
    OVERHEAD_TOKENS,
    CheckedAnswer,
    answer_request,
    check_answer,
)
from amem_cli.ask.sources import QuotedNote, find_sources, labelled
from amem_cli.errors import ModelError
from amem_cli.index.memory_index import MemoryIndex, VaultPorts
from amem_cli.index.records import NoteOutline, NoteSummary
from amem_cli.language.words import words
from amem_cli.markdown.plain_text import plain_text
from amem_cli.memory.ask_model import ask_once
from amem_cli.memory.outcome import ModelUse
from amem_cli.models.ports import LanguageModel, ModelAnswer, ModelRequest
from amem_cli.models.prompt_text import estimated_tokens, quote_as_data, quote_line
from amem_cli.search.search import Filters
from amem_cli.workspace.workspace import Workspace


@dataclass(frozen=True)
class Reply:
    """What one row said to one question.

    Attributes:
        said: the answer itself; empty where it was refused.
        how: as `amem ask` tells it: `model`, `extract` or `nothing`.
        shown: ids of the turns that it was made from.
        whole: share of the conversation's turns that fitted, where all were to be shown.
        failed: the model gave no answer, for this `problem`.
        unread: no answer could be read from what it gave, or it was not asked at all.
    """

    row: str
    question: str
    said: str
    held: bool
    how: str = "nothing"
    shown: tuple[str, ...] = ()
    calls: int = 0
    prompt_tokens: int = 0
    answer_tokens: int = 0
    seconds: float = 0.0
    whole: float = 1.0
    failed: bool = False
    problem: str = ""
    unread: bool = False

    @property
    def refused(self) -> bool:
        """Whether it was said that there is no answer."""
        return not (self.held or self.failed or self.unread)


@dataclass(frozen=True)
class Row:
    """A way to answer.

    Attributes:
        links: links are followed and shown.
        dense: only the k turns nearest by cosine of the bare text may be found.
        whole: the conversation itself is shown, and nothing is searched.
        paper: the prompt of A-MEM's harness.
        as_user: nothing of the benchmark's: the limits and the trust that `amem ask` has.
    """

    name: str
    memory: str
    about: str
    links: bool = False
    dense: bool = False
    whole: bool = False
    paper: bool = False
    as_user: bool = False

    @property
    def needs_model(self) -> bool:
        """Whether there is nothing to show without a language model."""
        return self.whole or self.paper


ROWS = (
    Row("amem", "full", "memories with links and evolution", links=True),
    Row("no-links", "full", "the same memories, links neither followed nor shown"),
    Row("no-evolution", "no-evolution", "links, and no older note changed", links=True),
    Row("no-links-no-evolution", "no-evolution", "keywords, tags and context alone"),
    Row("plain-rag", "raw", "the bare turns, the k nearest by cosine", dense=True),
    Row("full-context", "raw", "the conversation, as much as the window holds", whole=True),
    Row("paper-prompt", "full", "as `amem`, asked as A-MEM's harness asks", links=True, paper=True),
    Row("ask", "full", "`amem ask` with its own defaults", links=True, as_user=True),
)


class _NoLinks:
    def written(self, path: str) -> list[Any]:
        return []

    outgoing = incoming = linked = written

    def all(self) -> Any:
        return iter(())


class _NoLinkHistory:
    def records(self, path: str | None = None) -> dict[Any, Any]:
        return {}

    def superseded(self, paths: Any = None) -> list[Any]:
        return []

    suggested = superseded


class WithoutLinks:
    """An index in which no note is linked to another."""

    def __init__(self, index: Any) -> None:
        self._index = index
        self.links = _NoLinks()
        self.link_history = _NoLinkHistory()

    def __getattr__(self, name: str) -> Any:
        return getattr(self._index, name)


class OnlyThese(Filters):
    """Lets only these notes be found."""

    __slots__ = ("paths",)

    def __init__(self, paths: Collection[str]) -> None:
        super().__init__()
        object.__setattr__(self, "paths", frozenset(paths))

    def __bool__(self) -> bool:
        return True

    def admit(self, note: NoteOutline | NoteSummary) -> bool:
        return note.path in self.paths


@dataclass(frozen=True)
class Reader:
    """Puts questions about one conversation to one row.

    Attributes:
        model: None where there is none; answers are quotations then.
        reading: gives the settings that questions are answered with; the vault may have been
            written with others.
        seed: of the order in which A-MEM's harness offers two answers.
    """

    row: Row
    conversation: Conversation
    vault: OpenVault
    model: MeteredModel | None
    reading: Workspace
    k: int
    seed: int

    def reply(self, question: Question) -> Reply:
        """What the row says, and what that cost."""
        if self.model is None:
            return self._made(question)
        self.model.begin(question, self.conversation)
        reply, use = self._made(question), self.model.use
        return replace(
            reply,
            calls=use.calls,
            prompt_tokens=use.prompt_tokens,
            answer_tokens=use.answer_tokens,
            seconds=round(use.seconds, 3),
            failed=bool(self.model.error),
            problem=reply.problem or self.model.error,
        )

    def _made(self, question: Question) -> Reply:
        if self.row.whole:
            return self._whole(question)
        return self._as_paper(question) if self.row.paper else self._asked(question)

    @property
    def _ports(self) -> VaultPorts:
        ports = self.vault.workspace.ports
        index: Any = ports.index if self.row.links else WithoutLinks(ports.index)
        return replace(ports, index=index)

    def _filters(self, question: Question) -> Filters:
        if not self.row.dense:
            return Filters()
        encoder = self.vault.workspace.encoder
        turns = self.conversation.turns
        near = encoder.encode([turn.text for turn in turns])
        cosines = near @ encoder.encode([question.text], query=True)[0]
        best = np.argsort(-cosines, kind="stable")[: self.k]
        return OnlyThese([self.vault.path_of[turns[at].id] for at in best])

    def _asked(self, question: Question) -> Reply:
        trusted = not self.row.as_user or self.reading.model_trust.asked_for == "all"
        answer = ask(
            self._ports,
            question.text,
            encoder=self.vault.workspace.encoder,
            model=self.model if trusted else None,
            budget=budget_of(self.reading.settings),
            deadline=self.reading.settings.llm_deadline_seconds,
            limit=HITS if self.row.as_user else self.k,
            filters=self._filters(question),
        )
        quotes = " ".join(each.quote for each in answer.citations)
        said = answer.text if answer.how == "model" else quotes
        return Reply(
            self.row.name,
            question.id,
            said if answer.held else "",
            held=answer.held,
            how=answer.how,
            shown=self._ids(each.path for each in answer.shown),
            problem="; ".join(answer.problems),
        )

    def _as_paper(self, question: Question) -> Reply:
        assert self.model is not None
        found = find_sources(
            self._ports.index,
            question.text,
            encoder=self.vault.workspace.encoder,
            limit=self.k,
            budget=budget_of(self.reading.settings),
            filters=self._filters(question),
        )
        lines = memory_lines(found.notes, self._ports.index)
        deadline = self.reading.settings.llm_deadline_seconds
        request = paper_request(question, lines, deadline=deadline, seed=self.seed)
        answer, problem = None, ""
        try:
            answer, problem, _ = ask_once(self.model, request)
        except ModelError as error:
            problem = error.message
        said = " ".join(str((answer or {}).get("answer") or "").split())
        return Reply(
            self.row.name,
            question.id,
            said,
            held=not refuses(said),
            how="model" if said else "nothing",
            shown=self._ids(source.path for source in found.notes),
            problem=problem,
            unread=answer is None,
        )

    def _whole(self, question: Question) -> Reply:
        assert self.model is not None
        window = self.reading.settings.llm_context_tokens
        sources = whole_conversation(self.conversation, self.vault.path_of, window)
        share = len(sources) / max(1, len(self.conversation.turns))
        checked, problem = None, "the window holds not one turn"
        if sources:
            deadline = self.reading.settings.llm_deadline_seconds
            checked, problem = read_whole(self.model, question.text, sources, deadline)
        held = checked is not None and checked.held
        return Reply(
            self.row.name,
            question.id,
            checked.text if checked is not None and held else "",
            held=held,
            how="model" if held else "nothing",
            shown=self._ids(source.path for source in sources),
            whole=share,
            problem=problem,
            unread=checked is None,
        )

    def _ids(self, paths: Any) -> tuple[str, ...]:
        return tuple(self.vault.id_of[path] for path in paths if path in self.vault.id_of)


_INSTRUCTIONS = "You answer questions from memories of a conversation, in JSON."
_PHRASE = "Answer with a short phrase. Take the exact words of the memories wherever you can."
_DATE = (
    "Work out the approximate date from the time of the conversation. Give the shortest possible"
    " answer in words of the conversation, without a subject."
)
_MOST_BYTES = 100_000
_ANSWER_TOKENS = 400
_LONGEST_ANSWER = 600
_HEADING_TOKENS = 24


def paper_request(question: Question, memories: str, *, deadline: float, seed: int) -> ModelRequest:
    """A question with the memories that were found.

    Args:
        memories: as `memory_lines` gives them.
        seed: decides which of two answers is offered first.
    """
    task = _DATE if question.category in ("2", "temporal") else _PHRASE
    if question.category == "5" and question.trap:
        offered = [NOT_MENTIONED, question.trap]
        if random.Random(f"{seed}/{question.id}").random() < 0.5:
            offered.reverse()
        task = f"Choose the right one of two answers: {offered[0]} or {offered[1]}"
    text = f"Memories:\n{memories}\n\n{task}\nQuestion: {quote_line(question.text, 2_000)}"
    answer = {"type": "string", "minLength": 0, "maxLength": _LONGEST_ANSWER}
    schema = {"type": "object", "properties": {"answer": answer}}
    return ModelRequest(_INSTRUCTIONS, text, schema, _ANSWER_TOKENS, deadline)


def memory_lines(sources: Sequence[QuotedNote], index: MemoryIndex) -> str:
    """The memories with all that A-MEM shows of one: time, content, context, keywords, tags."""
    lines = []
    for source in sources:
        note = index.notes.summary(source.path)
        parts = [
            f"time: {source.created[:16]}",
            f"content: {' '.join(quote_as_data(source.text, _MOST_BYTES).split())}",
        ]
        if note is not None and (note.context or note.keywords or note.tags):
            parts += [
                f"context: {note.context}",
                f"keywords: {', '.join(note.keywords)}",
                f"tags: {', '.join(note.tags)}",
            ]
        lines.append(" | ".join(parts))
    return "\n".join(lines)


def whole_conversation(
    conversation: Conversation, paths: dict[str, str], window: int
) -> list[QuotedNote]:
    """As many of the latest turns as a model's window holds, in time order.

    Args:
        paths: of the turns' notes by id.
        window: tokens, of which the prompt and the answer take their part.
    """
    left = window - OVERHEAD_TOKENS
    chosen: list[QuotedNote] = []
    for turn in reversed(conversation.turns):
        left -= estimated_tokens(turn.text) + _HEADING_TOKENS
        if left < 0:
            break
        title = turn.title or turn.id
        created = turn.created.isoformat(timespec="seconds")
        path = paths[turn.id]
        chosen.append(QuotedNote("", path, turn.id, title, created, None, False, (turn.text,)))
    return labelled(chosen[::-1])


def read_whole(
    model: LanguageModel, question: str, sources: Sequence[QuotedNote], deadline: float
) -> tuple[CheckedAnswer | None, str]:
    """Ask as `amem ask` does, with these sources, and believe the same of the answer.

    Returns:
        The answer, None where nothing could be believed, and what went wrong at last.
    """
    fault = ""
    for _ in range(ATTEMPTS):
        request = answer_request(question, sources, deadline=deadline, remark=fault)
        try:
            said, fault, _ = ask_once(model, request)
        except ModelError as error:
            return None, error.message
        checked = None if said is None else check_answer(said, question, sources)
        if checked is not None and not checked.fault:
            return checked, fault
        fault = fault if checked is None else checked.fault
    return None, fault


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
        known = [words(plain_text(texts[each])) for each in question.evidence if each in texts]
        self._evidence = [" ".join(each[:_TELLING_WORDS]) for each in known]

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
