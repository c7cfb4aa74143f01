"""What a vault can be asked: every verb that changes no note."""

from __future__ import annotations

import contextlib
from collections import deque
from collections.abc import Collection, Sequence
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, TypeVar

from amem_cli.errors import NotFoundError
from amem_cli.workspace.shared_vault import SharedVault

if TYPE_CHECKING:
    from amem_cli.ask.ask import Answer
    from amem_cli.editing.history import HistoryEntry
    from amem_cli.editing.review import ReviewItem
    from amem_cli.errors import Problem
    from amem_cli.graph.graph import Graph
    from amem_cli.graph.overview import Overview
    from amem_cli.graph.stats import Span, Stats
    from amem_cli.index.records import NoteSummary
    from amem_cli.memory.forecast import Forecast
    from amem_cli.models.ports import Encoder
    from amem_cli.notes.note import Metadata
    from amem_cli.search.read import LinkView, NoteView, Wanted
    from amem_cli.search.search import Filters, Hit, Mode, Supersession
    from amem_cli.search.suggestions import OpenLink

_Superseded = TypeVar("_Superseded", "Hit", "Supersession")


@dataclass(frozen=True, slots=True)
class SearchResult:
    """What a search found; `mode` is `keyword` if the encoder cannot be had."""

    query: str
    mode: Mode
    hits: tuple[Hit, ...]

    @property
    def problem(self) -> str:
        """Why there is no hit that is close to the query; empty if there is one."""
        if not self.hits:
            return "nothing close"
        return "" if self.hits[0].close else "nothing close: these notes come nearest"


@dataclass(frozen=True, slots=True)
class ListedNote:
    """A note of a list; `usage` says how often amem showed or found it, and when last."""

    note: NoteSummary
    supersession: Supersession
    usage: tuple[int, str]


@dataclass(frozen=True, slots=True)
class Related:
    """A note near another: `link`, in the note at `source`, leads to it; `distance` links away."""

    link: LinkView
    note: NoteSummary
    distance: int
    source: str


def _shown(links: Sequence[OpenLink], hidden: Collection[str]) -> tuple[OpenLink, ...]:
    return tuple(link for link in links if link.pair.isdisjoint(hidden))


class Queries(SharedVault):
    """Verbs that read. Notes that the caller does not see are left out of every result.

    A verb for one note takes its summary as `note` gives it. All raise `Stopped` when the caller
    does not wait any more.
    """

    def note(self, name: str) -> NoteSummary:
        """The note with this id (or its unique beginning), path, file name, title or alias.

        Raises:
            NotFoundError: no note that the caller sees has this name, or more than one.
        """
        from amem_cli.search.read import note_named

        return note_named(self.index, name, private=self.sees_private)

    def search(
        self,
        query: str,
        *,
        mode: Mode = "hybrid",
        limit: int = 5,
        neighbors: bool = True,
        filters: Filters | None = None,
        min_score: float | None = None,
    ) -> SearchResult:
        """The best notes for a query, then notes linked to them.

        Args:
            min_score: leave out hits with a lower score. None keeps those that are not `close` to
                the query as well.

        Raises:
            UsageError: the query is empty.
            EncoderError, SettingsError: a `semantic` search has no encoder.
        """
        from amem_cli.search.search import search

        encoder = None
        if mode == "semantic":
            encoder = self._encoder_with_all_embedded()
        elif mode == "hybrid":
            encoder = self._encoder_if_any()
            mode = mode if encoder is not None else "keyword"
        with self._connection.caller.progress("searching"):
            hits = search(
                self.index,
                query,
                encoder=encoder,
                mode=mode,
                limit=limit,
                neighbors=neighbors,
                filters=self._visible(filters),
                min_score=min_score,
            )
        self.count_use([hit.note.key for hit in hits])
        return SearchResult(query, mode, tuple(map(self._without_private, hits)))

    def _visible(self, filters: Filters | None) -> Filters:
        """The filters, narrowed to what the caller may see."""
        from amem_cli.search.search import Filters

        return replace(filters or Filters(), hidden=self.hidden())

    def _encoder_with_all_embedded(self) -> Encoder:
        self.embed_missing()
        return self.encoder

    def _encoder_if_any(self) -> Encoder | None:
        """The encoder to search with; None, and a notice, if it cannot be had."""
        from amem_cli.search.search import encoder_if_any

        return encoder_if_any(self._encoder_with_all_embedded, self.notice)

    def ask(
        self,
        question: str,
        *,
        limit: int = 6,
        budget: int | None = None,
        filters: Filters | None = None,
        use_model: bool = True,
    ) -> Answer:
        """Answer a question from the notes that a search finds, or say that they do not hold it.

        Args:
            budget: tokens of notes to answer from; None is half the model's window.
            use_model: False only quotes.

        Raises:
            UsageError: the question is empty.
        """
        from amem_cli.ask.ask import ask, budget_of

        trusted = use_model and self.model_trust.asked_for == "all"
        encoder = self._encoder_if_any()
        with self.model_at_work() if trusted else contextlib.nullcontext():
            # A model that is not asked is not loaded either.
            model = self.model if trusted else None
            label = "looking for an answer" if model is None else f"asking {model.name}"
            with self._connection.caller.progress(label, at_once=True):
                answer = ask(
                    self.ports,
                    question,
                    encoder=encoder,
                    model=model,
                    budget=budget_of(self.settings) if budget is None else budget,
                    deadline=self.settings.llm_deadline_seconds,
                    limit=limit,
                    filters=self._visible(filters),
                )
        self.count_use([each.id or each.path for each in answer.citations or answer.shown])
        return answer

    def show(self, note: NoteSummary, *, counts: bool = True) -> NoteView:
        """A note with its links in both directions; unless `counts`, nobody read it.

        Raises:
            NotFoundError: it is gone.
        """
        from amem_cli.journal.link_decisions import MOST_SUGGESTED
        from amem_cli.search.read import read_note

        view = read_note(self.ports, note.path)
        if counts:
            self.count_use([note.key])
        hidden = self.hidden()
        return replace(
            view,
            links=tuple(link for link in view.links if link.path not in hidden),
            suggested=_shown(view.suggested, hidden)[:MOST_SUGGESTED],
            supersession=self._without_private(view.supersession),
            usage=self.index.usage.of(note.key),
        )

    def list_notes(
        self,
        *,
        filters: Filters | None = None,
        wanted: Wanted,
        sort: str = "created",
        reverse: bool = False,
        limit: int | None = None,
    ) -> list[ListedNote]:
        """Notes that meet all conditions; dates sort newest first, names from A to Z."""
        from amem_cli.search.read import listed
        from amem_cli.search.search import Supersession, supersessions

        notes = listed(
            self.index,
            filters=self._visible(filters),
            wanted=wanted,
            sort=sort,
            reverse=reverse,
            limit=limit,
        )
        superseded, usages, current = (
            supersessions(self.index, filters=filters),
            self.index.usage.all(),
            Supersession(),
        )
        return [
            ListedNote(
                note,
                self._without_private(superseded.get(note.path, current)),
                usages.get(note.key, (0, "")),
            )
            for note in notes
        ]

    def history(self, note: str = "", *, limit: int) -> list[HistoryEntry]:
        """What happened, oldest first.

        Args:
            note: id or path: only this note, with what it brought about in others; empty: all.
            limit: the newest so many events.
        """
        from amem_cli.editing.history import history

        # By id and path: events from before the note's first change know only its path.
        summaries = [self.index.notes.summary(path) for path in self.hidden()]
        hidden = {key for note in summaries if note for key in (note.path, note.key)}
        looked_at = limit if not hidden else 2 * limit
        while True:
            entries = history(self.index, note, limit=looked_at)
            visible = [each for each in entries if not {each.event.note, each.event.path} & hidden]
            # Many of the newest events may be of hidden notes.
            if len(visible) >= limit or len(entries) < looked_at:
                return visible[-limit:]
            looked_at *= 4

    def _without_private(self, found: _Superseded) -> _Superseded:
        if self.sees_private:
            return found
        return replace(
            found,
            superseded_by=tuple(note for note in found.superseded_by if not note.private),
            contradicted_by=tuple(note for note in found.contradicted_by if not note.private),
        )

    def related(self, note: NoteSummary, *, depth: int = 1, limit: int) -> tuple[Related, ...]:
        """Notes up to `depth` links away in either direction, each once, the nearest first."""
        distance = {note.path: 0}
        queue = deque([note])
        related: list[Related] = []
        while queue and len(related) < limit:
            near = queue.popleft()
            if distance[near.path] >= depth:
                continue
            for link in self.show(near, counts=False).links:
                other = self.index.notes.summary(link.path)
                if other is None or link.path in distance:
                    continue
                distance[link.path] = distance[near.path] + 1
                queue.append(other)
                related.append(Related(link, other, distance[link.path], near.path))
        return tuple(related[:limit])

    def open_links(
        self, note: NoteSummary | None = None, *, suggested_only: bool = False
    ) -> list[OpenLink]:
        """Links that wait for a decision: those that amem made, then those that it suggests, of and
        to a note or of all, each the strongest first."""
        from amem_cli.search.suggestions import fresh_links, linked_pairs, suggestions

        path = None if note is None else note.path
        linked = linked_pairs(self.index) if note is None else None
        made = [] if suggested_only else fresh_links(self.index, path, linked)
        return [*_shown((*made, *suggestions(self.index, path, linked)), self.hidden())]

    def network(self, *, private: bool = True, suggested: bool = False) -> Graph:
        """Notes and their links; without `private`, private notes are left out for everybody.

        Args:
            suggested: also what amem suggests.
        """
        from amem_cli.graph.graph import public, vault_graph, with_suggestions
        from amem_cli.search.suggestions import suggestions

        graph = vault_graph(self.index)
        if suggested:
            linked = {(edge.source, edge.target) for edge in graph.edges}
            found = suggestions(self.index, linked=linked)
            graph = with_suggestions(graph, _shown(found, self.hidden()))
        return graph if private and self.sees_private else public(graph)

    def overview(self, *, private: bool = True, suggested: bool = False) -> Overview:
        """Hubs, clusters, orphans, broken links and growth; arguments as for `network`."""
        from amem_cli.graph.overview import growth, overview

        network = self.network(private=private, suggested=suggested)
        made, now = self.index.link_history.first_made(), self.ports.clock.now()
        return overview(network, growth(network, made, now))

    def stats(self, *, by: Span = "month") -> Stats:
        """Counts of notes, links and pending work, growth `by` time, and what the model cost."""
        from amem_cli.graph.stats import stats
        from amem_cli.journal.link_decisions import MINIMUM_STRENGTHS
        from amem_cli.models.price import price_in

        settings = self.settings
        return stats(
            self.ports,
            learn=settings.evolution_feedback == "on",
            minimum_strength=MINIMUM_STRENGTHS[settings.evolution_links],
            price=price_in(settings),
            by=by,
            private=self.sees_private,
        )

    def forecast(self, paths: Sequence[str]) -> Forecast | None:
        """What the memory process of these notes will take; None if no model is asked."""
        from amem_cli.memory.forecast import estimate
        from amem_cli.models.open import TokenLedger
        from amem_cli.models.ports import UnavailableModel
        from amem_cli.models.price import price_in

        process = self.process
        model, settings = process.model, self.settings
        if model is None or isinstance(model, UnavailableModel) or not paths:
            return None
        found = estimate(self.index, paths, model, trusted=process.settings.trusted)
        cost = price_in(settings).of(found.model, found.prompt_tokens, found.answer_tokens)
        left, limit = None, settings.llm_daily_tokens
        if limit:
            left = max(0, limit - TokenLedger(self.root, self.environment).used())
        return replace(found, cost=cost, left_today=left)

    def proposals(
        self, note: NoteSummary | None = None, *, problems: list[Problem] | None = None
    ) -> list[ReviewItem]:
        """Changes of older notes that wait for a decision, by note and time.

        Args:
            note: only those of this note, and those that it gave rise to.
            problems: gets the proposals that cannot be read.
        """
        from amem_cli.editing.review import review_items

        key = note.key if note is not None else ""
        return self._visible_proposals(review_items(self.ports, key, problems=problems))

    def proposals_named(self, prefixes: Sequence[str]) -> list[ReviewItem]:
        """The proposals with these ids, or ids that begin so.

        Raises:
            NotFoundError: no proposal that the caller sees, or more than one, begins so.
        """
        from amem_cli.editing.review import items_named

        named = items_named(self.ports, prefixes)
        # As if there were none: another refusal would reveal that the note exists.
        if len(self._visible_proposals(named)) < len(named):
            raise NotFoundError("no such proposal", hint="`amem review` shows their ids.")
        return named

    def _visible_proposals(self, proposals: Sequence[ReviewItem]) -> list[ReviewItem]:
        hidden = self.hidden()
        return [
            each
            for each in proposals
            if each.path not in hidden
            and not (each.proposal.link_change and each.proposal.link_change.target in hidden)
        ]

    def analyse(self, content: str) -> Metadata:
        """Keywords, tags and context for a text that is not a note, by the model or the analyzer.

        Raises:
            UsageError: the text is empty.
            ModelError: the language model gave no answer.
        """
        from amem_cli.editing.add import text_bytes
        from amem_cli.journal.provenance import Provenance
        from amem_cli.memory.ask_model import answered
        from amem_cli.memory.steps import MemorySteps
        from amem_cli.notes.note import parse_note

        self.embed_missing()
        with self.model_at_work():
            process = self.process
            settings = replace(process.settings, evolve=False)
            steps = MemorySteps(self.index, process.encoder, process.model, settings)
            note = parse_note("", text_bytes(content), self.ports.names)
            analysing = steps.analyse(note, Provenance())
            return answered(analysing, process.model).description.metadata

    def check_index(self) -> list[str]:
        """How the index differs from the folder, a line each; empty if it does not."""
        from amem_cli.index.sync import check_index

        return check_index(self.ports)
