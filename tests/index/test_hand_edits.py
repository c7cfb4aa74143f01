"""What a person changed of the machine's own is theirs from then on; what the machine wrote stays
its own, also where a note comes before its journal lines.
"""

from __future__ import annotations

import shutil
from collections.abc import Callable, Mapping
from dataclasses import replace
from pathlib import Path

from amem_cli.editing.add import NewNote, add
from amem_cli.errors import Problem
from amem_cli.index.draft import NoteDraft, new_event
from amem_cli.index.memory_index import VaultPorts
from amem_cli.index.sync import refresh, synchronise
from amem_cli.journal.events import Change, Event, LinkRecord
from amem_cli.journal.files import JournalFolder, JournalNews
from amem_cli.journal.provenance import Provenance, provenance
from tests.vaults import SteppingClock, memory_process, open_vault


def machine_writes(ports: VaultPorts, path: str, **fields: str | list[str]) -> str:
    """The machine changes a note; returns the note's id."""
    draft = NoteDraft(ports, ports.vault.read(path))
    links = fields.get("links", [])
    records = tuple(
        LinkRecord(text.strip("[]"), f"{text.strip('[]')}.md", text, "related", 0.5, "alike")
        for text in links
    )
    draft.change(fields, new_event(ports, "evolve", links=records))
    ports.changes.apply(draft.write(), draft.events)
    refresh(ports, [path])
    return draft.note.id or ""


def owned(ports: VaultPorts, note: str) -> Provenance:
    return provenance(ports.index.events.read(note))


def releases(ports: VaultPorts) -> list[Event]:
    return [event for event in ports.index.events.read() if event.kind == "release"]


def edit(root: Path, path: str, old: str, new: str) -> None:
    text = (root / path).read_text(encoding="utf-8")
    assert old in text
    (root / path).write_text(text.replace(old, new), encoding="utf-8")


def test_a_deleted_keyword_that_comes_back_is_the_persons(tmp_path: Path) -> None:
    ports = open_vault(tmp_path)
    path = add(ports, NewNote("Croissant dough.", title="Dough"))
    note = machine_writes(ports, path, keywords=["dough", "butter"])
    assert owned(ports, note).keywords == {"dough", "butter"}
    edit(tmp_path, path, "  - dough\n", "")
    synchronise(ports)
    edit(tmp_path, path, "  - butter\n", "  - butter\n  - dough\n")
    synchronise(ports)
    assert owned(ports, note).keywords == {"butter"}
    assert [event.changes for event in releases(ports)] == [(Change("keywords", ["dough"], []),)]


def test_a_rewritten_context_is_the_persons_even_when_it_is_put_back(tmp_path: Path) -> None:
    ports = open_vault(tmp_path)
    path = add(ports, NewNote("Croissant dough.", title="Dough"))
    note = machine_writes(ports, path, context="How dough is laminated.")
    edit(tmp_path, path, "How dough is laminated.", "Mine.")
    synchronise(ports)
    edit(tmp_path, path, "Mine.", "How dough is laminated.")
    synchronise(ports)
    assert not owned(ports, note).may_replace_context("How dough is laminated.")


def test_a_link_that_follows_a_rename_stays_the_machines(tmp_path: Path, ports: VaultPorts) -> None:
    path = add(ports, NewNote("Croissant dough.", title="Dough"))
    target = add(ports, NewNote("Butter.", title="Butter"))
    summary = ports.index.notes.summary(target)
    assert summary is not None and summary.id is not None
    draft = NoteDraft(ports, ports.vault.read(path))
    record = LinkRecord(summary.id, target, "[[Butter]]", "related", 0.5, "alike")
    draft.change({"links": ["[[Butter]]"]}, new_event(ports, "link", links=(record,)))
    ports.changes.apply(draft.write(), draft.events)
    refresh(ports, [path])
    (tmp_path / target).rename(tmp_path / "notes/Cultured butter.md")
    edit(tmp_path, path, "[[Butter]]", "[[Cultured butter]]")
    synchronise(ports)
    assert releases(ports) == []
    assert set(owned(ports, draft.note.id or "").links) == {summary.id}


def test_a_note_in_the_middle_of_a_merge_releases_nothing(tmp_path: Path) -> None:
    ports = open_vault(tmp_path)
    path = add(ports, NewNote("Croissant dough.", title="Dough"))
    note = machine_writes(ports, path, keywords=["dough"])
    whole = (tmp_path / path).read_bytes()
    (tmp_path / path).write_bytes(b"---\n<<<<<<< ours\n" + whole.removeprefix(b"---\n"))
    synchronise(ports)
    (tmp_path / path).write_bytes(b"")
    synchronise(ports)
    (tmp_path / path).write_bytes(whole)
    synchronise(ports)
    assert owned(ports, note).keywords == {"dough"}


def test_an_edit_of_the_text_releases_nothing(tmp_path: Path, ports: VaultPorts) -> None:
    path = add(ports, NewNote("Croissant dough.", title="Dough"))
    machine_writes(ports, path, keywords=["dough"], context="How dough is laminated.")
    edit(tmp_path, path, "Croissant dough.", "Croissant dough tears.")
    synchronise(ports)
    assert releases(ports) == []


def test_events_keep_their_order_when_the_clock_is_set_back(tmp_path: Path) -> None:
    ports = open_vault(tmp_path)
    path = add(ports, NewNote("Croissant dough.", title="Dough"))
    note = machine_writes(ports, path, keywords=["dough"])
    clock = ports.clock
    assert isinstance(clock, SteppingClock)
    clock.set_back(days=1)
    edit(tmp_path, path, "  - dough\n", "")
    synchronise(ports)
    again = open_vault(tmp_path)
    assert isinstance(again.clock, SteppingClock)
    again.clock.set_back(days=2)
    edit(tmp_path, path, "keywords:\n", "keywords:\n  - dough\n")
    synchronise(again)
    assert [event.kind for event in again.index.events.read(note)] == ["add", "evolve", "release"]
    assert owned(again, note).keywords == set()


def test_a_link_to_which_a_person_gave_words_is_theirs(tmp_path: Path, ports: VaultPorts) -> None:
    path = add(ports, NewNote("Croissant dough.", title="Dough"))
    add(ports, NewNote("Butter at 14 degrees.", title="Butter"))
    synchronise(ports)
    note = machine_writes(ports, path, links=["[[Butter]]"])
    edit(tmp_path, path, "[[Butter]]", "[[Butter|my butter]]")
    synchronise(ports)
    assert len(releases(ports)) == 1
    assert not owned(ports, note).links


class JournalReadTooEarly:
    """A journal folder to which another process adds just after it was read."""

    def __init__(self, folder: JournalFolder, then: Callable[[], object]) -> None:
        self._folder = folder
        self._then = [then]

    def read_new(self, positions: Mapping[str, str], problems: list[Problem]) -> JournalNews:
        news = self._folder.read_new(positions, problems)
        if self._then:
            self._then.pop()()
        return news


def test_what_another_process_writes_meanwhile_is_no_edit_of_a_persons(tmp_path: Path) -> None:
    ports = open_vault(tmp_path)
    path = add(ports, NewNote("Croissant dough.", title="Dough"))
    synchronise(ports)
    note = machine_writes(ports, path, context="First.")
    other = open_vault(tmp_path, index="other.db", machine="other")
    synchronise(other)
    late = JournalReadTooEarly(
        ports.journal, lambda: machine_writes(other, path, context="Second.")
    )
    synchronise(replace(ports, journal=late))  # type: ignore[arg-type]
    synchronise(ports)
    assert releases(ports) == []
    assert owned(ports, note).may_replace_context("Second.")


TEXT = "Lamination of croissant dough needs butter at 14 degrees, else it tears.\n"
BETTER = "Why dough tears in lamination."


def think(ports: VaultPorts, path: str) -> None:
    memory_process(ports).run(path, asked=True)


def evolve(ports: VaultPorts, path: str, context: str) -> None:
    """A newer note gave the machine a better context for this one."""
    with ports.changes.locked():
        draft = NoteDraft(ports, ports.vault.read(path))
        assert draft.change({"context": context}, new_event(ports, "evolve"))
        ports.changes.apply(draft.write(), draft.events)
        refresh(ports, [path])


def owned_at(ports: VaultPorts, path: str) -> Provenance:
    summary = ports.index.notes.summary(path)
    assert summary is not None and summary.id is not None
    return owned(ports, summary.id)


def send(name: str, source: Path, target: Path) -> None:
    for path in source.glob(name):
        shutil.copy2(path, target / path.relative_to(source))


def test_what_the_machine_wrote_stays_its_own_where_the_journal_comes_later(
    tmp_path: Path,
) -> None:
    here, there = tmp_path / "here", tmp_path / "there"
    first = open_vault(here, machine="first")
    path = add(first, NewNote(TEXT, title="Dough"))
    think(first, path)
    evolve(first, path, "Butter tears dough.")
    shutil.copytree(here, there, ignore=shutil.ignore_patterns("index.db*", "*.lock"))
    second = open_vault(there, machine="second")
    synchronise(second)
    assert owned_at(second, path) == owned_at(first, path)

    evolve(first, path, BETTER)
    before = owned_at(first, path)
    assert before.context == BETTER

    for _ in range(100):
        # It is later than anything that the first machine has recorded.
        second.clock.now()
    send("notes/*.md", here, there)
    synchronise(second)
    assert second.index.events.read()[-1].kind == "release"
    send(".amem/journal/*first.jsonl", here, there)
    synchronise(second)
    assert owned_at(second, path) == before
    send(".amem/journal/*second.jsonl", there, here)
    synchronise(first)
    assert owned_at(first, path) == before
