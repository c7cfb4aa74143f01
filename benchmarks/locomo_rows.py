"""The ways to answer that are compared: each row is a memory, a search over it, and a reader."""

from __future__ import annotations

import time
from collections.abc import Collection
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
from locomo_data import Conversation, Question
from locomo_memory import FULL, NO_EVOLUTION, RAW
from locomo_models import MeteredModel
from locomo_prompts import memory_lines, paper_request, read_whole, said_of, whole_conversation
from locomo_results import Reply
from locomo_scores import refuses
from memory_vault import OpenVault

from amem_cli.ask.ask import HITS, ask, budget_of
from amem_cli.ask.sources import QuotedNote, find_sources
from amem_cli.errors import ModelError
from amem_cli.index.memory_index import VaultPorts
from amem_cli.index.records import NoteOutline, NoteSummary
from amem_cli.memory.ask_model import ask_once
from amem_cli.search.search import Filters
from amem_cli.workspace.workspace import Workspace


@dataclass(frozen=True)
class Row:
    """A way to answer.

    Attributes:
        links: links are followed and shown.
        dense: only the k turns nearest by cosine of the bare text may be found.
        whole: the conversation itself is shown, and nothing is searched.
        paper: the prompt of A-MEM's harness, whatever `--prompt` says.
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

    def k_of(self, k: int) -> int:
        """How many notes its search finds where `--k` is k; 0 if that does not follow it."""
        return 0 if self.whole or self.as_user else k


ROWS = (
    Row("amem", FULL, "memories with links and evolution", links=True),
    Row("no-links", FULL, "the same memories, links neither followed nor shown"),
    Row("no-evolution", NO_EVOLUTION, "links, and no older note changed", links=True),
    Row("no-links-no-evolution", NO_EVOLUTION, "keywords, tags and context alone"),
    Row("plain-rag", RAW, "the bare turns, the k nearest by cosine", dense=True),
    Row("full-context", RAW, "the conversation, as much as the window holds", whole=True),
    Row("paper-prompt", FULL, "as `amem`, asked as A-MEM's harness asks", links=True, paper=True),
    Row("ask", FULL, "`amem ask` with its own defaults", links=True, as_user=True),
)


class _NoLinks:
    def written(self, path: str) -> list[Any]:
        return []

    def outgoing(self, path: str) -> list[Any]:
        return []

    def incoming(self, path: str) -> list[Any]:
        return []

    def linked(self, path: str) -> list[str]:
        return []

    def all(self) -> Any:
        return iter(())


class _NoLinkHistory:
    def records(self, path: str | None = None) -> dict[Any, Any]:
        return {}

    def superseded(self, paths: Any = None) -> list[Any]:
        return []

    def suggested(self, paths: Any = None) -> list[Any]:
        return []


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
        paper: questions are put as A-MEM's harness puts them.
        seed: of the order in which A-MEM's harness offers two answers.
    """

    row: Row
    conversation: Conversation
    vault: OpenVault
    model: MeteredModel | None
    reading: Workspace
    k: int
    paper: bool
    seed: int

    def reply(self, question: Question) -> Reply:
        """What the row says, and what that cost."""
        if self.model is not None:
            self.model.begin(question, self.conversation)
        started = time.perf_counter()
        reply = self._made(question)
        wall = round(time.perf_counter() - started, 3)
        reply = replace(reply, wall=wall, k=self.row.k_of(self.k))
        if self.model is None:
            return reply
        use = self.model.use
        return replace(
            reply,
            calls=use.calls,
            prompt_tokens=use.prompt_tokens,
            answer_tokens=use.answer_tokens,
            seconds=round(use.seconds, 3),
            failed=bool(self.model.error),
        )

    def _made(self, question: Question) -> Reply:
        if self.row.whole:
            return self._whole(question)
        if not self.row.paper and (self.row.as_user or self.model is None or not self.paper):
            return self._asked(question)
        found = find_sources(
            self._ports.index,
            question.text,
            encoder=self.vault.workspace.encoder,
            limit=self.k,
            budget=budget_of(self.reading.settings),
            filters=self._filters(question),
        )
        return self._as_paper(question, list(found.notes))

    @property
    def _ports(self) -> VaultPorts:
        ports = self.vault.workspace.ports
        index: Any = ports.index if self.row.links else WithoutLinks(ports.index)
        return replace(ports, index=index)

    @property
    def _trusted(self) -> bool:
        return not self.row.as_user or self.reading.model_trust.asked_for == "all"

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
        answer = ask(
            self._ports,
            question.text,
            encoder=self.vault.workspace.encoder,
            model=self.model if self._trusted else None,
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
            answer.held,
            answer.how,
            shown=self._ids(each.path for each in answer.shown),
            cited=self._ids(each.path for each in answer.citations),
            problems=answer.problems,
        )

    def _as_paper(self, question: Question, sources: list[QuotedNote], whole: float = 1.0) -> Reply:
        assert self.model is not None
        shown = self._ids(source.path for source in sources)
        lines = memory_lines(sources, self._ports.index)
        deadline = self.reading.settings.llm_deadline_seconds
        request = paper_request(question, lines, deadline=deadline, seed=self.seed)
        said, problems, answer = "", [], None
        try:
            answer, fault, _ = ask_once(self.model, request)
            said = said_of(answer)
            problems = [fault] if fault else []
        except ModelError as error:
            problems = [error.message]
        held = not refuses(said)
        return Reply(
            self.row.name,
            question.id,
            said,
            held,
            "model" if said else "nothing",
            shown=shown,
            whole=whole,
            problems=tuple(problems),
            unread=answer is None,
        )

    def _whole(self, question: Question) -> Reply:
        assert self.model is not None
        window = self.reading.settings.llm_context_tokens
        sources = whole_conversation(self.conversation, self.vault.path_of, window)
        share = len(sources) / max(1, len(self.conversation.turns))
        if not sources:
            why = "the window holds not one turn"
            return Reply(
                self.row.name,
                question.id,
                "",
                False,
                "nothing",
                whole=0.0,
                problems=(why,),
                unread=True,
            )
        if self.paper:
            return self._as_paper(question, sources, share)
        deadline = self.reading.settings.llm_deadline_seconds
        checked, problems = read_whole(self.model, question.text, sources, deadline)
        path_of = {source.label: source.path for source in sources}
        held = checked is not None and checked.held
        return Reply(
            self.row.name,
            question.id,
            checked.text if checked is not None and held else "",
            held,
            "model" if held else "nothing",
            shown=self._ids(source.path for source in sources),
            cited=self._ids(path_of[label] for label in checked.cited) if checked else (),
            whole=share,
            problems=tuple(problems),
            unread=checked is None,
        )

    def _ids(self, paths: Any) -> tuple[str, ...]:
        return tuple(self.vault.id_of[path] for path in paths if path in self.vault.id_of)
