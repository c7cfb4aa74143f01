"""Runs the real memory process over a gold vault, note by note as time went by."""

from __future__ import annotations

import time
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from datetime import datetime
from pathlib import Path
from typing import Any

from memory_gold import GoldNote, GoldVault
from memory_requests import Exchange, ObservedModel

from amem_cli.editing.add import NewNote, add
from amem_cli.index.sync import embed_missing, synchronise
from amem_cli.memory.outcome import Outcome
from amem_cli.models.ports import Encoder, LanguageModel
from amem_cli.search.search import search
from amem_cli.vault.file_state import SystemClock
from amem_cli.vault.template import adopt_vault
from amem_cli.workspace.workspace import Workspace

LABELS = ("keywords", "tags", "context")


@dataclass(frozen=True)
class Design:
    """A way to run the process: settings as a user would make them.

    Attributes:
        model: used in place of the settings' own, as by a scripted model.
    """

    name: str
    overrides: Mapping[str, Any] = field(default_factory=dict)
    model: LanguageModel | None = None


class GoldClock(SystemClock):
    """The clock as it stood when a note was added; file times stay real."""

    def __init__(self) -> None:
        super().__init__()
        self.present = datetime(2000, 1, 1).astimezone()

    def now(self) -> datetime:
        return self.present

    def moment(self, after: int) -> int:
        self._last = max(int(self.present.timestamp() * 1e6), after + 1, self._last + 1)
        return self._last


@dataclass(frozen=True)
class Step:
    """What the process did because of one note.

    Attributes:
        exchanges: with the language model, in order.
        changed: by id of an older note, the fields before and after.
        contexts: of the targets of the gold cases of this trigger, before and after.
        seconds: wall time of the whole step, without the addition.
    """

    note: str
    outcome: Outcome
    exchanges: tuple[Exchange, ...]
    changed: Mapping[str, Mapping[str, tuple[Any, Any]]]
    contexts: Mapping[str, tuple[str, str]]
    seconds: float


@dataclass(frozen=True)
class MadeVault:
    """A vault after its last note.

    Attributes:
        links: relation by source and target, as they stand at the end.
        suggested: source and target of what each note's own step suggested.
        described: what the notes hold at the end.
    """

    steps: tuple[Step, ...]
    links: Mapping[tuple[str, str], str]
    suggested: frozenset[tuple[str, str]]
    described: Mapping[str, GoldNote]


class OpenVault:
    """A fresh vault with the product's services over it.

    Args:
        encoder: None for that of the settings.
    """

    def __init__(self, root: Path, design: Design, encoder: Encoder | None = None) -> None:
        if not root.exists():
            root.mkdir(parents=True)
            adopt_vault(root)
        usual = {"git_commit": "off", "evolution_mode": "auto", "llm_judge": "off"}
        overrides = {**usual, **design.overrides}
        self.clock = GoldClock()
        self.workspace = Workspace(root, overrides=overrides, clock=self.clock)
        if encoder is not None:
            self.workspace.models.encoder = encoder
        synchronise(self.workspace.ports)
        self.observed: ObservedModel | None = None
        if (model := design.model or self.workspace.models.model) is not None:
            self.observed = self.workspace.models.model = ObservedModel(model)
        self.path_of: dict[str, str] = {}
        self.id_of: dict[str, str] = {}

    def add(self, note_id: str, new: NewNote) -> str:
        """Add a note at the time when it was created, and embed it."""
        if new.created is not None:
            self.clock.present = new.created.astimezone()
        path = add(self.workspace.ports, new)
        embed_missing(self.workspace.ports, self.workspace.encoder)
        self.path_of[note_id], self.id_of[path] = path, note_id
        return path

    def known(self) -> dict[str, tuple[str, str]]:
        """Title and day of every note by id."""
        return {
            self.id_of[each.path]: (each.title, each.created[:10])
            for each in self.workspace.index.notes.summaries()
            if each.path in self.id_of
        }

    def links(self) -> dict[tuple[str, str], str]:
        """Relation of each link of the machine by source and target."""
        return {
            (self.id_of[source], self.id_of[record.path]): record.relation
            for (source, _), record in self.workspace.index.link_history.records().items()
            if record.by == "machine" and record.path in self.id_of
        }

    def found(self, query: str, limit: int, *, neighbors: bool) -> list[str]:
        """Ids of the notes that a hybrid search finds."""
        index, encoder = self.workspace.index, self.workspace.encoder
        hits = search(index, query, encoder=encoder, limit=limit, neighbors=neighbors)
        return [self.id_of[hit.note.path] for hit in hits]

    def close(self) -> None:
        """Close what was opened; the model may be used by other vaults."""
        if self.workspace.models.judge is not None:
            self.workspace.models.judge.close()
        self.workspace.index.close()


def process(vault: OpenVault, note_id: str) -> Step:
    """Let the process think about a note that was added."""
    if vault.observed is not None:
        vault.observed.begin(note_id, vault.known())
    started = time.perf_counter()
    outcome = vault.workspace.process.run(vault.path_of[note_id], asked=True)
    seconds = time.perf_counter() - started
    changed = {
        vault.id_of[each.path]: {
            change.field: (change.before, change.after)
            for change in each.changes
            if change.field in LABELS
        }
        for each in outcome.evolved
    }
    exchanges = tuple(vault.observed.exchanges) if vault.observed else ()
    changed = {each: fields for each, fields in changed.items() if fields}
    return Step(note_id, outcome, exchanges, changed, {}, seconds)


def process_gold(vault: OpenVault, gold: GoldVault, *, adopted: bool = False) -> MadeVault:
    """Add every note at its time and let the process think about it.

    Args:
        adopted: all notes are there before the first is processed.
    """
    steps = []
    for note in gold.notes.values() if adopted else ():
        vault.add(note.id, note.new)
    for note in gold.notes.values():
        if not adopted:
            vault.add(note.id, note.new)
        due = [case for case in gold.cases if case.trigger == note.id and not case.no_change]
        before = {case.target: _context(vault, case.target) for case in due}
        step = process(vault, note.id)
        contexts = {each: (text, _context(vault, each)) for each, text in before.items()}
        steps.append(replace(step, contexts=contexts))
    made = {vault.id_of[each.path]: each for each in vault.workspace.index.notes.summaries()}
    described = {
        each: replace(note, **{label: getattr(made[each], label) for label in LABELS})
        for each, note in gold.notes.items()
    }
    suggested = {
        (step.note, vault.id_of[link.path]) for step in steps for link in step.outcome.suggested
    }
    # What the notes' author linked in a text counts as it would if amem had to find it.
    links = {
        (step.note, vault.id_of[link.path]): link.relation
        for step in steps
        for link in step.outcome.confirmed
    }
    links |= vault.links()
    return MadeVault(tuple(steps), links, frozenset(suggested), described)


def _context(vault: OpenVault, note_id: str) -> str:
    summary = vault.workspace.index.notes.summary(vault.path_of[note_id])
    return summary.context if summary is not None else ""


def describe(
    vault: OpenVault, notes: Sequence[GoldNote], pairs: Sequence[tuple[str, str]] = ()
) -> None:
    """Fill a vault with notes that have their metadata and links already; no process runs."""
    targets: dict[str, list[str]] = {}
    for source, target in pairs:
        targets.setdefault(source, []).append(target)
    for note in notes:
        linked = [vault.path_of[each].removesuffix(".md") for each in targets.get(note.id, ())]
        labels = {name: getattr(note, name) for name in LABELS}
        links = [f"[[{each}]]" for each in linked]
        vault.add(note.id, replace(note.new, links=links, **labels))
