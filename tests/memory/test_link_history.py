"""Whatever is added, rewritten, evolved and taken back in turn, undo restores every byte.

Beside the bytes it restores what the journal says of each link.
"""

from __future__ import annotations

import tempfile
from collections.abc import Mapping
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from amem_cli.editing.add import NewNote, add
from amem_cli.editing.undo import undo, undo_since
from amem_cli.errors import SettingsError
from amem_cli.index.memory_index import VaultPorts
from amem_cli.index.sync import synchronise
from amem_cli.journal.events import LinkRecord
from amem_cli.journal.link_decisions import LinkUpdate
from amem_cli.memory.outcome import Description, Linking, NoteAnalysis, Step
from amem_cli.notes.note import RELATIONS, MemoryLink
from tests.index_dump import canonical_dump
from tests.vaults import carry_out, memory_process, open_vault

pytestmark = pytest.mark.slow

TEXTS = (
    "Croissant dough tears in lamination where the butter is cold.",
    "This replaces what “Butter for lamination” says; 14 degrees tore the dough.",
    "The signal box at the junction was rewired by night.",
    "Butter for lamination comes at 14 degrees.",
)
TITLES = ("Butter for lamination", "Torn dough", "Signal box", "Morning batch", "Junction")

numbers = st.integers(0, 20)
actions = st.one_of(
    st.tuples(st.just("add"), numbers, numbers),
    st.tuples(st.just("rewrite"), numbers, numbers),
    st.tuples(st.just("evolve"), numbers, numbers),
    st.tuples(st.just("link"), numbers, numbers),
    st.tuples(st.just("change"), numbers, numbers),
    st.tuples(st.just("undo"), numbers, numbers),
)


class Run:
    """A vault, and the bytes that its notes would have without the machine."""

    def __init__(self, root: Path) -> None:
        self.root = root
        self.ports: VaultPorts = open_vault(root)
        self.persons: dict[str, bytes] = {}
        for number in range(2):
            self.add(number, number)

    def pick(self, number: int) -> str:
        return sorted(self.persons)[number % len(self.persons)]

    def add(self, one: int, other: int) -> None:
        path = add(self.ports, NewNote(TEXTS[one % 4], title=TITLES[other % 5]))
        self.persons[path] = (self.root / path).read_bytes()

    def rewrite(self, one: int, other: int) -> None:
        path = self.pick(one)
        text = f"{TEXTS[other % 4]}\n".encode()
        for raw in (self.persons[path], (self.root / path).read_bytes()):
            head = raw[: raw.rindex(b"---\n") + 4]
            new = head + text
            if raw is self.persons[path]:
                self.persons[path] = new
            else:
                (self.root / path).write_bytes(new)
        synchronise(self.ports)

    def evolve(self, one: int, other: int) -> None:
        memory_process(self.ports).run(self.pick(one), asked=True)

    def link(self, one: int, other: int) -> None:
        if self.pick(one) != self.pick(other):
            made = MemoryLink(self.pick(other), RELATIONS[other % 7], f"reason {other}", 0.5)
            self.think(one, Linking((made,), step=Step("scripted")))

    def change(self, one: int, other: int) -> None:
        changes = [
            LinkUpdate(
                source,
                target,
                strength=(one + at) % 11 / 10,
                relation=RELATIONS[(other + at) % 7],
                removed=(one + other + at) % 4 == 0,
                reason=f"change {one} {other}",
            )
            for source in self.persons
            for at, target in enumerate(sorted(self.persons))
        ]
        self.think(one, Linking(link_changes=tuple(changes), step=Step("scripted")))

    def think(self, one: int, linking: Linking) -> None:
        ports = self.ports
        synchronise(ports)
        carry_out(ports, self.pick(one), NoteAnalysis(Description(), linking, "scripted"))

    def undo(self, one: int, other: int) -> None:
        """Take back one thing, and bring it back: nothing has changed then."""
        events = [
            each for each in self.ports.index.events.read() if each.kind in ("link", "evolve")
        ]
        if not events:
            return
        before, said = self.bytes(), self.records()
        event = events[one % len(events)]
        try:
            undo(self.ports, event.id, cascade=bool(other % 2))
        except SettingsError:
            assert (self.bytes(), self.records()) == (before, said)
            return
        taken_back = [each for each in self.ports.index.events.read() if each.kind == "undo"][-1]
        undo(self.ports, taken_back.id, cascade=True)
        if not other % 2:
            assert self.records() == said

    def bytes(self) -> dict[str, bytes]:
        return {path: (self.root / path).read_bytes() for path in self.persons}

    def records(self) -> Mapping[tuple[str, str], LinkRecord]:
        return dict(self.ports.index.link_history.records())


@settings(max_examples=25, deadline=None)
@given(st.lists(actions, max_size=12))
def test_taking_back_all_that_the_machine_did_restores_every_byte(
    steps: list[tuple[str, int, int]],
) -> None:
    with tempfile.TemporaryDirectory(ignore_cleanup_errors=True) as folder:
        run = Run(Path(folder))
        first = run.ports.index.events.read()[0].id
        for name, one, other in steps:
            getattr(run, name)(one, other)
        fresh = open_vault(run.root, index="fresh.db")
        synchronise(fresh)
        live, rebuilt = canonical_dump(run.ports.index), canonical_dump(fresh.index)
        assert set(live["superseded"]) == set(rebuilt["superseded"])
        try:
            undo_since(run.ports, first)
        except SettingsError as error:
            assert "changed nothing" in error.message
        assert run.bytes() == run.persons
        assert run.records() == {}
        assert run.ports.index.link_history.superseded() == []
        fresh.index.close()
        run.ports.index.close()
