"""Whatever a person, a hostile model and two machines do in turn, a person's words stay.

A state machine: edits by commands and by editors, machine changes by a model that answers
anything, undo, renames, deletions, restarts, loss of the index, and a second machine whose notes
and journal are merged. After every step the notes still hold all that the person wrote, and at the
end the index equals one that is built from nothing.
"""

from __future__ import annotations

import itertools
import shutil
import tempfile
from dataclasses import dataclass, field
from pathlib import Path

import pytest
from hypothesis import HealthCheck, settings
from hypothesis import strategies as st
from hypothesis.stateful import (
    RuleBasedStateMachine,
    initialize,
    invariant,
    precondition,
    rule,
)

from amem_cli.duplicates.merge import merge
from amem_cli.editing.add import NewNote, add
from amem_cli.editing.edit import FieldEdits, link, remove, unlink, update
from amem_cli.editing.review import accept, reject, review_items
from amem_cli.editing.undo import undo, undo_since
from amem_cli.errors import AmemError
from amem_cli.index.memory_index import VaultPorts
from amem_cli.index.sync import embed_missing, synchronise
from amem_cli.journal.link_decisions import Evolution, LinkUpdate
from amem_cli.memory.outcome import Description, Linking, NoteAnalysis, ProcessSettings
from amem_cli.memory.process import MemoryProcess
from amem_cli.notes.front_matter_edit import edit_header
from amem_cli.notes.note import (
    RELATIONS,
    MemoryLink,
    Metadata,
    Note,
    PropertyNames,
    body_bytes,
    parse_note,
)
from tests.fakes.encoder import FakeEncoder
from tests.fakes.language_model import EchoSchemaModel
from tests.index_dump import canonical_dump
from tests.vaults import carry_out, open_vault

pytestmark = pytest.mark.slow

NAMES = PropertyNames()
STYLES = (
    "---\n# mine {n}\ncustom:   {n}   # keep\n{header}---\n{body}",
    "---\ncustom: [ {n}, 'x' ]\n{header}\n---\n\n{body}",
    "---\r\ncustom: |\r\n  two {n}\r\n  lines\r\n{header_crlf}---\r\n{body}",
    "{body}",
)
HEADERS = (
    "",
    "keywords: []\ntags: [pt{n}]\n",
    "tags:\n- pt{n}   # first\n\n- 'pt{n}b'\nkeywords:\n    - pk{n}\n",
    'context: "pc{n}"\nlinks:\n',
)
LISTS = ("keywords", "tags")


@dataclass
class Written:
    """What a person wrote in one note.

    Attributes:
        machines_own_removed: what the person deleted of the machine's, and the program has seen
            to be gone; typed again, it is the person's.
    """

    body: bytes
    kept_lines: tuple[bytes, ...] = ()
    keywords: set[str] = field(default_factory=set)
    tags: set[str] = field(default_factory=set)
    links: set[str] = field(default_factory=set)
    context: str | None = None
    machines_own_removed: list[tuple[str, str]] = field(default_factory=list)


class Ownership(RuleBasedStateMachine):
    """One person, one hostile machine, one vault and now and then a clone of it."""

    def __init__(self) -> None:
        super().__init__()
        self.folder = Path(tempfile.mkdtemp(prefix="amem-ownership-"))
        self.root = self.folder / "a"
        self.root.mkdir()
        self.encoder = FakeEncoder()
        self.notes: dict[str, Written] = {}
        self.deleted: dict[str, tuple[bytes, Written]] = {}
        self.counter = 0
        self.merged = False
        self.ports = self._open()

    def _open(self) -> VaultPorts:
        ports = open_vault(self.root)
        synchronise(ports)
        return ports

    def teardown(self) -> None:
        synchronise(self.ports)
        embed_missing(self.ports, self.encoder)
        live = canonical_dump(self.ports.index)
        fresh = open_vault(self.root, index="fresh.db")
        synchronise(fresh)
        embed_missing(fresh, self.encoder)
        rebuilt = canonical_dump(fresh.index)
        for table, rows in live.items():
            assert set(rows) ^ set(rebuilt[table]) == set(), table
        fresh.index.close()
        self.ports.index.close()
        assert not list(self.root.rglob(".amem-*"))
        shutil.rmtree(self.folder)

    def _number(self) -> int:
        self.counter += 1
        return self.counter

    def _pick(self, choice: int) -> str:
        return sorted(self.notes)[choice % len(self.notes)]

    def _read(self, path: str, root: Path | None = None) -> Note:
        return parse_note(path, ((root or self.root) / path).read_bytes(), NAMES)

    # What the person does.

    @initialize()
    def starts_with_two_notes(self) -> None:
        for _ in range(2):
            self.adds_a_note_by_command(True)

    @rule(tagged=st.booleans())
    def adds_a_note_by_command(self, tagged: bool) -> None:
        n = self._number()
        new = NewNote(
            f"Text {n} of dough and butter.",
            title=f"Note {n}",
            keywords=[f"pk{n}"] if tagged else [],
            tags=[f"pt{n}"] if tagged else [],
            context=f"pc{n}" if n % 3 == 0 else "",
        )
        path = add(self.ports, new)
        note = self._read(path)
        self.notes[path] = Written(
            body_bytes((self.root / path).read_bytes()),
            (),
            set(note.keywords),
            set(note.tags),
            set(),
            note.context or None,
        )

    @rule(style=st.sampled_from(STYLES), header=st.sampled_from(HEADERS))
    def writes_a_file(self, style: str, header: str) -> None:
        n = self._number()
        filled = header.format(n=n)
        body = f"Text {n}, by hand.\n  indented\t\n"
        text = style.format(n=n, header=filled, header_crlf=filled.replace("\n", "\r\n"), body=body)
        path = f"By hand {n}.md"
        (self.root / path).write_bytes(text.encode())
        note = self._read(path)
        assert note.refused is None
        kept = tuple(
            line for line in text.encode().split(b"\n") if b"custom" in line or b"#" in line
        )
        self.notes[path] = Written(
            body_bytes(text.encode()),
            kept,
            set(note.keywords),
            set(note.tags),
            set(note.links),
            note.context or None,
        )

    @rule(choice=st.integers(0, 50), atomic=st.booleans(), seen=st.booleans())
    def types_an_item(self, choice: int, atomic: bool, seen: bool) -> None:
        path, n = self._pick(choice), self._number()
        name = LISTS[choice % 2]
        note, written = self._read(path), self.notes[path]
        value = f"p{name[0]}{n}"
        again = [item for where, item in written.machines_own_removed if where == name]
        if again and choice % 3 == 0 and again[-1] not in getattr(note, name):
            value = again[-1]
        self._save(path, {name: [*getattr(note, name), value]}, atomic=atomic)
        getattr(written, name).add(value)
        self._maybe_seen(seen)

    @rule(choice=st.integers(0, 50), item=st.integers(0, 50), atomic=st.booleans())
    def deletes_an_item(self, choice: int, item: int, atomic: bool) -> None:
        path = self._pick(choice)
        name = ("keywords", "tags", "links")[item % 3]
        note, written = self._read(path), self.notes[path]
        present = list(getattr(note, name))
        if not present:
            return
        gone = present.pop(item % len(present))
        self._save(path, {name: present}, atomic=atomic)
        own = getattr(written, name)
        # A comment on the line of an item goes with it.
        written.kept_lines = tuple(line for line in written.kept_lines if gone.encode() not in line)
        if gone not in own and name in LISTS:
            written.machines_own_removed.append((name, gone))
        own.discard(gone)
        synchronise(self.ports)

    @rule(choice=st.integers(0, 50), empty=st.booleans(), atomic=st.booleans(), seen=st.booleans())
    def types_a_context(self, choice: int, empty: bool, atomic: bool, seen: bool) -> None:
        path = self._pick(choice)
        context = "" if empty else f"pc{self._number()}"
        self._save(path, {"context": context}, atomic=atomic)
        self.notes[path].context = context or None
        self._maybe_seen(seen)

    @rule(choice=st.integers(0, 50), atomic=st.booleans(), seen=st.booleans())
    def types_text(self, choice: int, atomic: bool, seen: bool) -> None:
        path = self._pick(choice)
        raw = (self.root / path).read_bytes()
        self._write(path, raw + f"More {self._number()}.\n".encode(), atomic=atomic)
        self.notes[path].body = body_bytes(raw + f"More {self.counter}.\n".encode())
        self._maybe_seen(seen)

    @rule(choice=st.integers(0, 50), other=st.integers(0, 50))
    def links_and_unlinks_by_command(self, choice: int, other: int) -> None:
        source, target = self._pick(choice), self._pick(other)
        synchronise(self.ports)
        first, second = (
            self.ports.index.notes.summary(source),
            self.ports.index.notes.summary(target),
        )
        if source == target or first is None or second is None:
            return
        if other % 3 == 0:
            before = set(self._read(source).links)
            unlink(self.ports, first, second)
            self.notes[source].links -= before - set(self._read(source).links)
        elif link(self.ports, first, second):
            self.notes[source].links.add(self._read(source).links[-1])

    @rule(choice=st.integers(0, 50), drop=st.booleans())
    def updates_by_command(self, choice: int, drop: bool) -> None:
        path, n = self._pick(choice), self._number()
        synchronise(self.ports)
        summary = self.ports.index.notes.summary(path)
        assert summary is not None
        gone = list(self._read(path).keywords)[:1] if drop else []
        edits = FieldEdits(add_tags=[f"pt{n}"], remove_keywords=gone)
        update(self.ports, summary, edits)
        self.notes[path].tags.add(f"pt{n}")
        self.notes[path].keywords -= {
            each for each in self.notes[path].keywords if each.casefold() in map(str.casefold, gone)
        }

    @rule(choice=st.integers(0, 50), seen=st.booleans())
    def renames_a_note(self, choice: int, seen: bool) -> None:
        path = self._pick(choice)
        new = f"Renamed {self._number()}.md"
        (self.root / path).rename(self.root / new)
        self.notes[new] = self.notes.pop(path)
        self._maybe_seen(seen)

    @precondition(lambda self: len(self.notes) > 2)
    @rule(choice=st.integers(0, 50))
    def deletes_a_file(self, choice: int) -> None:
        path = self._pick(choice)
        self.deleted[path] = ((self.root / path).read_bytes(), self.notes.pop(path))
        (self.root / path).unlink()
        synchronise(self.ports)

    @precondition(lambda self: self.deleted)
    @rule()
    def brings_a_file_back(self) -> None:
        path, (raw, written) = self.deleted.popitem()
        self._write(path, raw, atomic=True)
        self.notes[path] = written

    @precondition(lambda self: len(self.notes) > 2)
    @rule(choice=st.integers(0, 50))
    def removes_by_command_and_takes_it_back(self, choice: int) -> None:
        path = self._pick(choice)
        synchronise(self.ports)
        summary = self.ports.index.notes.summary(path)
        assert summary is not None
        remove(self.ports, summary)
        assert not (self.root / path).exists()
        event = [each for each in self.ports.index.events.read() if each.kind == "remove"][-1]
        undo(self.ports, event.id)

    @precondition(lambda self: len(self.notes) > 2 and not self.merged)
    @rule(choice=st.integers(0, 50), other=st.integers(0, 50))
    def merges_two_notes_and_takes_it_back(self, choice: int, other: int) -> None:
        first, second = self._pick(choice), self._pick(other)
        if first == second:
            return
        synchronise(self.ports)
        kept, gone = self.ports.index.notes.summary(first), self.ports.index.notes.summary(second)
        assert kept is not None
        assert gone is not None
        before = {path: (self.root / path).read_bytes() for path in self.notes}
        done = merge(self.ports, kept, gone)
        raw, both = (self.root / first).read_bytes(), [self.notes[first], self.notes[second]]
        assert body_bytes(raw).startswith(both[0].body)
        beyond = [line for line in both[1].body.split(b"\n") if line.strip()]
        assert all(line.rstrip() in body_bytes(raw) for line in beyond)
        assert all(line in raw for written in both for line in written.kept_lines[:1])
        note = self._read(first)
        for name in LISTS:
            assert set.union(*(getattr(each, name) for each in both)) <= set(getattr(note, name))
        undo(self.ports, done.event)
        assert {path: (self.root / path).read_bytes() for path in self.notes} == before

    @rule(choice=st.integers(0, 500), cascade=st.booleans(), keep_edits=st.booleans())
    def takes_back_a_change_of_the_machine(
        self, choice: int, cascade: bool, keep_edits: bool
    ) -> None:
        kinds = ("process", "construct", "link", "evolve")
        synchronise(self.ports)
        recorded = self.ports.index.events.read()
        machines = {each.id for each in recorded if each.by == "machine" and each.kind in kinds}
        events = [each for each in recorded if {each.id, each.cause} & machines]
        events = [each for each in events if each.id in machines or each.kind == "undo"]
        if not events:
            return
        event = events[choice % len(events)]
        try:
            if choice % 5 == 0:
                undo_since(self.ports, event.id, keep_edits=keep_edits)
            else:
                undo(self.ports, event.id, cascade=cascade, keep_edits=keep_edits)
        except AmemError:
            return

    @precondition(lambda self: self.ports.changes.waiting())
    @rule(choice=st.integers(0, 50))
    def decides_on_proposals(self, choice: int) -> None:
        found = review_items(self.ports)
        (accept if choice % 3 else reject)(self.ports, found[: choice % 3 + 1])

    # What the machine does.

    @rule(
        choice=st.integers(0, 50),
        numbers=st.lists(st.integers(0, 9), max_size=4),
        review=st.booleans(),
        stale=st.booleans(),
    )
    def machine_changes_anything(
        self, choice: int, numbers: list[int], review: bool, stale: bool
    ) -> None:
        if not stale:
            synchronise(self.ports)
        self._machine_acts(self.ports, self._pick(choice), numbers, review=review)

    @rule(choice=st.integers(0, 50), seed=st.integers(0, 1000), alone=st.booleans())
    def machine_runs_the_process(self, choice: int, seed: int, alone: bool) -> None:
        synchronise(self.ports)
        embed_missing(self.ports, self.encoder)
        model = None if alone else EchoSchemaModel(seed)
        process = MemoryProcess(
            self.ports, self.encoder, model, ProcessSettings(trusted=True, settle_seconds=0)
        )
        process.run(self._pick(choice), asked=True)

    def _machine_acts(
        self, ports: VaultPorts, path: str, numbers: list[int], *, review: bool = False
    ) -> None:
        """Carry out what no check has looked at: drop all there is, add and rewrite at will."""
        if ports.index.notes.summary(path) is None:
            return
        others = [
            each.path
            for each in ports.index.notes.summaries()
            if each.path != path and each.path in self.notes
        ]
        evolutions = []
        for other in others[:3]:
            try:
                note = parse_note(other, ports.vault.read(other).raw, NAMES)
            except AmemError:
                continue
            evolutions.append(
                Evolution(
                    path=other,
                    context=f"mc{self._number()}",
                    keywords_add=tuple(f"mk{n}" for n in numbers),
                    keywords_drop=note.keywords,
                    tags_add=tuple(f"mt{n}" for n in numbers),
                    tags_drop=note.tags,
                    reason="because I can",
                )
            )
        links = tuple(MemoryLink(other, "related", "alike", 0.5) for other in others[:3])
        metadata = Metadata(("mk0", "mk1"), ("mt0",), f"mc{self._number()}")
        changes = tuple(
            LinkUpdate(source, target, len(numbers) / 4, relation, len(numbers) % 3 == 2, "because")
            for source in (path, *others)
            for target, relation in zip(others, itertools.cycle(RELATIONS))
        )
        linking = Linking(links, tuple(evolutions), link_changes=changes)
        thought = NoteAnalysis(Description(metadata), linking, "hostile")
        carry_out(ports, path, thought, review=review)

    # What happens to the vault.

    @rule()
    def the_program_starts_again(self) -> None:
        self.ports.index.close()
        self.ports = self._open()

    @rule()
    def the_index_is_deleted(self) -> None:
        self.ports.index.close()
        for part in (self.root / ".amem").glob("index.db*"):
            part.unlink()
        self.ports = self._open()

    @rule(choice=st.integers(0, 50), numbers=st.lists(st.integers(0, 9), max_size=3))
    def another_machine_changes_its_clone_and_both_are_merged(
        self, choice: int, numbers: list[int]
    ) -> None:
        synchronise(self.ports)
        self.merged = True
        clone = self.folder / "b"
        shutil.copytree(self.root, clone, ignore=shutil.ignore_patterns("index.db*", "*.lock"))
        base = {path: (self.root / path).read_bytes() for path in self.notes}
        theirs = open_vault(clone, machine="other")
        synchronise(theirs)
        self._machine_acts(theirs, self._pick(choice), numbers)
        theirs.index.close()
        self._machine_acts(self.ports, self._pick(choice + 1), numbers[:1])
        for path, before in base.items():
            ours, other = (self.root / path).read_bytes(), (clone / path).read_bytes()
            if ours == before and other != before:
                (self.root / path).write_bytes(other)
        for journal in (clone / ".amem/journal").glob("*.jsonl"):
            _merge_by_union(self.root / ".amem/journal" / journal.name, journal)
        shutil.rmtree(clone)
        synchronise(self.ports)

    # What must hold.

    @invariant()
    def all_that_the_person_wrote_is_there(self) -> None:
        for path, written in self.notes.items():
            raw = (self.root / path).read_bytes()
            note = self._read(path)
            assert note.refused is None, (path, note.refused, raw)
            assert body_bytes(raw) == written.body, path
            assert all(line in raw for line in written.kept_lines), path
            assert written.keywords <= set(note.keywords), path
            assert written.tags <= set(note.tags), path
            assert written.links <= set(note.links), path
            if written.context is not None:
                assert note.context == written.context, path

    @invariant()
    def every_id_is_one_notes_own(self) -> None:
        if self.merged:
            # Two machines may give one id at once; then nothing in either note is the machine's.
            return
        ids = [note.id for note in map(self._read, self.notes) if note.id]
        assert len(ids) == len(set(ids))

    def _save(self, path: str, fields: dict[str, str | list[str]], *, atomic: bool) -> None:
        raw = (self.root / path).read_bytes()
        self._write(path, edit_header(raw, fields, NAMES), atomic=atomic)

    def _write(self, path: str, raw: bytes, *, atomic: bool) -> None:
        full = self.root / path
        full.parent.mkdir(parents=True, exist_ok=True)
        if atomic:
            temporary = full.with_name(full.name + "~")
            temporary.write_bytes(raw)
            temporary.replace(full)
        else:
            full.write_bytes(raw)

    def _maybe_seen(self, seen: bool) -> None:
        if seen:
            synchronise(self.ports)


def _merge_by_union(ours: Path, theirs: Path) -> None:
    """What `merge=union` in git makes of two versions of a journal file."""
    lines = ours.read_bytes().splitlines(keepends=True) if ours.exists() else []
    for line in theirs.read_bytes().splitlines(keepends=True):
        if line not in lines:
            lines.append(line)
    ours.write_bytes(b"".join(lines))


TestOwnership = Ownership.TestCase
TestOwnership.settings = settings(
    settings.default,
    stateful_step_count=30,
    suppress_health_check=[HealthCheck.too_slow, HealthCheck.filter_too_much],
)
