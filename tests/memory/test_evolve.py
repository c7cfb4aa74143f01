"""The memory process with models that are good, bad, hostile, slow or gone."""

from __future__ import annotations

import errno
import json
import os
import sys
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path

import pytest

from amem_cli.editing.add import NewNote, add
from amem_cli.editing.edit import unlink
from amem_cli.errors import ModelError
from amem_cli.index.draft import provenance_of
from amem_cli.index.memory_index import VaultPorts
from amem_cli.index.sync import synchronise
from amem_cli.journal.provenance import provenance
from amem_cli.memory.batch import EvolveBatch
from amem_cli.memory.process import MemoryProcess
from amem_cli.models.ports import LanguageModel, ModelAnswer, ModelRequest
from amem_cli.notes.note import parse_note
from amem_cli.search.read import note_named
from tests.fakes.language_model import ScriptedModel
from tests.vaults import memory_process, open_vault, tree_hashes, write_note

OLD = "Lamination of croissant dough needs butter at 14 degrees, else it tears."
NEW = "The croissant dough tore in lamination: the butter came from the fridge at 4 degrees."


def process_of(
    ports: VaultPorts, model: LanguageModel | None, *, trusted: bool = True
) -> MemoryProcess:
    return memory_process(ports, model, trusted=trusted, minimum_strength=0.3)


def add_old(ports: VaultPorts, **given: object) -> str:
    path = add(ports, NewNote(OLD, title="Lamination", **given))  # type: ignore[arg-type]
    for number in range(4):
        add(
            ports,
            NewNote(f"Number {number}: trains and weather.", title=f"N{number}"),
        )
    return path


def metadata(request: ModelRequest) -> str:
    properties = request.schema["properties"]
    answer: dict[str, object] = {}
    if "context" in properties:
        answer["context"] = "Croissant dough tears in lamination where the butter is too cold."
    if "keywords" in properties:
        answer["keywords"] = ["lamination", "dough", "butter"]
    if "tags" in properties:
        answer["tags"] = ["dough"]
    return json.dumps({name: answer.get(name, []) for name in properties})


def number_of(request: ModelRequest, title: str) -> str:
    line = next(line for line in request.text.splitlines() if f" {title}" in line)
    return line.split(" ", 1)[0]


def linking(*, change: dict[str, object] | None = None) -> Callable[[ModelRequest], str]:
    def answer(request: ModelRequest) -> str:
        note = number_of(request, "Lamination")
        link = {
            "note": note,
            "reason": "Both are about butter and tearing dough in lamination.",
            "relation": "supports",
            "strength": 0.9,
        }
        changes = [{"note": note, **change}] if change else []
        said = {**json.loads(metadata(request)), "links": [link], "changes": changes}
        return json.dumps({name: said[name] for name in request.schema["properties"]})

    return answer


CHANGE: dict[str, object] = {
    "why": "The torn dough shows that butter from the fridge is too cold for lamination.",
    "context": "Lamination needs butter at 14 degrees; from the fridge it tore the dough.",
    "keywords": ["fridge"],
    "tags": ["dough"],
    "drop": ["warm butter", "mine"],
}


def test_a_good_model_writes_links_and_evolves_in_one_call_and_each_event_names_its_cause(
    tmp_path: Path, ports: VaultPorts
) -> None:
    old = add_old(ports)
    model = ScriptedModel([linking(change=CHANGE)])
    path = add(ports, NewNote(NEW, title="Torn dough"))
    outcome = process_of(ports, model).run(path, asked=True)
    assert (outcome.use.calls, outcome.pending) == (1, False)
    assert outcome.metadata.context.startswith("Croissant dough tears")
    assert set(outcome.metadata.keywords) == {"lamination", "dough", "butter"}
    assert outcome.metadata.tags == ("dough",)
    assert [(link.path, link.relation) for link in outcome.links] == [(old, "supports")]
    assert outcome.evolved[0].path == old
    note = parse_note(old, (tmp_path / old).read_bytes(), ports.names)
    assert note.context == CHANGE["context"]
    assert "fridge" in note.keywords
    assert parse_note(path, (tmp_path / path).read_bytes(), ports.names).links == (
        "[[Lamination]]",
    )
    summary = note_named(ports.index, path)
    events = {event.kind: event for event in ports.index.events.read(summary.key)}
    process = events["process"]
    assert process.cause == events["add"].id
    assert (process.calls, process.model) == (1, "scripted")
    assert events["construct"].cause == events["link"].cause == process.id
    assert events["link"].links[0].reason.startswith("Both are about butter")
    older = note_named(ports.index, old)
    evolve = ports.index.events.read(older.key)[-1]
    assert (evolve.kind, evolve.cause, evolve.trigger) == ("evolve", process.id, summary.key)
    assert evolve.splice is not None and evolve.prompt and evolve.reason
    assert ports.index.events.model_totals().calls == 1


@pytest.mark.skipif(sys.platform != "linux", reason="asks for a lease")
def test_a_note_that_another_program_is_writing_waits_and_costs_no_second_call(
    tmp_path: Path, ports: VaultPorts
) -> None:
    old = add_old(ports)
    path = add(ports, NewNote(NEW, title="Torn dough"))
    model = ScriptedModel([linking(change=CHANGE)] * 3)
    before = tree_hashes(tmp_path / "notes")
    with (tmp_path / old).open("ab"):
        outcome = process_of(ports, model).run(path, asked=True)
    assert outcome.pending
    assert len(model.requests) == 1
    assert outcome.problems[0] == "Lamination.md is being written by another program"
    assert tree_hashes(tmp_path / "notes") == before
    assert not process_of(ports, model).run(path, asked=True).pending


def test_a_note_that_another_program_holds_open_waits_and_nothing_of_the_change_is_written(
    tmp_path: Path, ports: VaultPorts, monkeypatch: pytest.MonkeyPatch
) -> None:
    old = add_old(ports)
    path = add(ports, NewNote(NEW, title="Torn dough"))
    before = tree_hashes(tmp_path / "notes")
    move = os.replace

    def refuse(source: str, target: str, **handles: int) -> None:
        if str(target).endswith(old.rpartition("/")[2]):
            error = PermissionError(errno.EACCES, "Access is denied")
            error.winerror = 5  # type: ignore[attr-defined,unused-ignore]
            raise error
        move(source, target, **handles)

    # As on Windows, which replaces no file that is open elsewhere.
    with monkeypatch.context() as held:
        held.setattr("amem_cli.vault.dir_handle._renameat2", lambda: None)
        held.setattr("amem_cli.system.files.HELD_SECONDS", 0.0)
        held.setattr(os, "replace", refuse)
        outcome = process_of(ports, ScriptedModel([linking(change=CHANGE)] * 3)).run(
            path, asked=True
        )
    assert outcome.pending
    assert outcome.problems[0] == "Lamination.md is held open by another program"
    assert tree_hashes(tmp_path / "notes") == before
    process = process_of(ports, ScriptedModel([linking(change=CHANGE)] * 3))
    assert not process.run(path, asked=True).pending


def test_what_a_person_wrote_is_never_rewritten(tmp_path: Path, ports: VaultPorts) -> None:
    old = add_old(ports, context="My own sentence.", keywords=["mine"], tags=["kitchen"])
    path = add(ports, NewNote(NEW, title="Torn dough", keywords=["own word"]))
    process_of(ports, ScriptedModel([linking(change=CHANGE)])).run(path, asked=True)
    older = parse_note(old, (tmp_path / old).read_bytes(), ports.names)
    assert older.context == "My own sentence."
    assert older.keywords[0] == "mine" and older.tags[0] == "kitchen"
    new = parse_note(path, (tmp_path / path).read_bytes(), ports.names)
    assert new.keywords == ("own word",)


def test_an_unchanged_note_costs_no_call_and_one_event_one_round(ports: VaultPorts) -> None:
    old = add_old(ports)
    path = add(ports, NewNote(NEW, title="Torn dough"))
    model = ScriptedModel([linking(change=CHANGE)])
    process = process_of(ports, model)
    process.run(path, asked=True)
    synchronise(ports)
    pending = [note.path for note in ports.index.queue.pending()]
    assert path not in pending
    # The evolved note's text is unchanged, so nothing follows from its evolution.
    assert "Lamination" in old
    done = next(event for event in ports.index.events.read() if event.kind == "evolve")
    hashes = {note.path: note.text_hash for note in ports.index.notes.summaries()}
    synchronise(ports)
    assert {note.path: note.text_hash for note in ports.index.notes.summaries()} == hashes
    assert done.path == old
    assert len(model.requests) == 1


def test_the_analyzer_stands_in_for_a_dead_model_and_the_note_stays_pending(tmp_path: Path) -> None:
    ports = open_vault(tmp_path)
    path = add(ports, NewNote(NEW, title="Torn dough"))
    outcome = process_of(ports, ScriptedModel([ModelError("gone", hint="start it")])).run(
        path, asked=True
    )
    assert outcome.pending and outcome.failed
    said = "gone; amem analyzer stands in"
    assert outcome.problems == (said, "start it")
    assert outcome.written == ("keywords",)
    assert list(ports.index.text.keyword_scores(["croissant"], 5)) == [path]
    assert [(note.path, note.error) for note in ports.index.queue.pending()] == [(path, "gone")]
    again = process_of(ports, ScriptedModel([metadata])).run(path, asked=True)
    assert not again.pending
    assert ports.index.queue.pending() == []


def test_a_person_who_saves_while_the_model_thinks_wins(tmp_path: Path, ports: VaultPorts) -> None:
    path = add(ports, NewNote(NEW, title="Torn dough"))
    note = tmp_path / path

    def saving(request: ModelRequest) -> str:
        note.write_bytes(note.read_bytes() + b"A line that the person just typed.\n")
        return metadata(request)

    outcome = process_of(ports, ScriptedModel([saving, metadata])).run(path, asked=True)
    assert not outcome.pending
    text = note.read_text()
    assert text.endswith("A line that the person just typed.\n")
    assert "Croissant dough tears" in text


def test_a_neighbour_in_an_open_editor_is_not_touched(tmp_path: Path) -> None:
    from amem_cli.vault.file_state import SystemClock

    ports = replace(open_vault(tmp_path), clock=SystemClock())
    old = add_old(ports)
    note = write_note(tmp_path, old, (tmp_path / old).read_text() + "typing\n")
    path = add(ports, NewNote(NEW, title="Torn dough"))
    model = ScriptedModel([linking(change=CHANGE)])
    outcome = process_of(ports, model).run(path, asked=True)
    assert [link.path for link in outcome.links] == [old]
    assert outcome.evolved == ()
    assert note.read_text().endswith("typing\n")
    assert "fridge" not in note.read_text().split("---")[1]


def test_a_declined_link_is_not_made_again(ports: VaultPorts) -> None:
    old = add_old(ports)
    path = add(ports, NewNote(NEW, title="Torn dough"))
    process_of(ports, ScriptedModel([linking()])).run(path, asked=True)
    assert unlink(ports, note_named(ports.index, path), note_named(ports.index, old))
    summary = note_named(ports.index, path)
    assert provenance(ports.index.events.read(summary.key)).declined
    outcome = process_of(ports, ScriptedModel([metadata])).run(path, asked=True)
    assert old not in [link.path for link in outcome.links]


def test_words_of_private_notes_do_not_spread(tmp_path: Path, ports: VaultPorts) -> None:
    text = f"---\nprivate: true\ntags: [merger-secret]\ncreated: 2001-01-01\n---\n{OLD}\n"
    write_note(tmp_path, "secret.md", text)
    write_note(tmp_path, "public.md", f"---\ncreated: 2000-01-01\n---\n{OLD} And more.\n")
    for name in ("secret.md", "public.md"):
        os.utime(tmp_path / name, (1, 1))
    process = process_of(ports, None)
    process.run("public.md", asked=True)
    before = (tmp_path / "public.md").read_text()
    process.run("secret.md", asked=True)
    assert "merger" not in before
    assert (tmp_path / "public.md").read_text() == before


def test_a_note_without_an_id_gets_one_with_its_first_change(tmp_path: Path) -> None:
    ports = open_vault(tmp_path)
    note = write_note(tmp_path, "old.md", f"---\n# mine\nsource: x\n---\n{OLD}\r\n")
    os.utime(note, (1_600_000_000, 1_600_000_000))
    outcome = process_of(ports, ScriptedModel([metadata, metadata])).run("old.md")
    assert outcome.id is not None and outcome.id.startswith("20200913")
    text = note.read_bytes().decode()
    assert text.startswith("---\n# mine\nsource: x\nid: ")
    assert text.endswith(f"---\n{OLD}\r\n")


def test_no_model_is_asked_of_a_note_whose_properties_cannot_take_the_answer(
    tmp_path: Path, ports: VaultPorts
) -> None:
    text = f"---\nkeywords:\n  mine: x\n---\n{OLD}\n"
    note = write_note(tmp_path, "odd.md", text)
    model = ScriptedModel([metadata])
    outcome = process_of(ports, model).run("odd.md", asked=True)
    assert "odd.md" in outcome.problems[0]
    assert model.requests == []
    assert note.read_text() == text


@pytest.mark.parametrize("asked", [False, True])
def test_a_text_with_a_merge_conflict_waits_until_it_is_resolved(
    tmp_path: Path, ports: VaultPorts, asked: bool
) -> None:
    sides = "<<<<<<< HEAD\nThe gate opens at nine.\n=======\nAt ten.\n>>>>>>> other\n"
    note = write_note(tmp_path, "gate.md", f"{OLD}\n{sides}")
    os.utime(note, (1_600_000_000, 1_600_000_000))
    model = ScriptedModel([metadata, metadata])
    outcome = process_of(ports, model).run("gate.md", asked=asked)
    assert outcome.pending
    assert outcome.problems[0] == "a merge conflict in line 2 of the text"
    assert model.requests == []
    assert note.read_text() == f"{OLD}\n{sides}"
    note.write_text(f"{OLD}\nThe gate opens at ten.\n")
    os.utime(note, (1_600_000_000, 1_600_000_000))
    assert not process_of(ports, model).run("gate.md", asked=asked).pending
    assert model.requests


def test_what_a_copy_with_the_same_id_holds_is_not_the_machines(tmp_path: Path) -> None:
    ports = open_vault(tmp_path)
    old = add_old(ports)
    path = add(ports, NewNote(NEW, title="Torn dough"))
    process_of(ports, ScriptedModel([linking(change=CHANGE)])).run(path, asked=True)
    note = parse_note(old, (tmp_path / old).read_bytes(), ports.names)
    assert note.id is not None
    assert provenance_of(ports.index, note.id).may_replace_context(note.context)
    write_note(tmp_path, "Copy.md", (tmp_path / old).read_text(encoding="utf-8"))
    synchronise(ports)
    owned = provenance_of(ports.index, note.id)
    assert (owned.keywords, owned.tags, dict(owned.links)) == (frozenset(), frozenset(), {})
    assert not owned.may_replace_context(note.context)


def test_notes_that_break_the_model_keep_no_other_note_waiting(ports: VaultPorts) -> None:
    for number in range(6):
        add(ports, NewNote(f"Note {number} of trains.", title=f"N{number}"))

    class Breaks:
        name, is_remote = "breaks", False

        def answer(self, request: ModelRequest) -> ModelAnswer:
            if "links" in request.schema["properties"]:
                return ScriptedModel(['{"links": [], "changes": []}']).answer(request)
            if any(f"Note {number} of" in request.text for number in range(3)):
                raise ModelError("crashed")
            return ScriptedModel([metadata]).answer(request)

        def close(self) -> None:
            pass

    for _ in range(2):
        process = process_of(ports, Breaks())
        EvolveBatch(
            process, [note.path for note in ports.index.queue.pending()], asked=True
        ).all_outcomes()
    assert [note.path for note in ports.index.queue.pending()] == [
        f"notes/N{n}.md" for n in range(3)
    ]


def test_where_nothing_is_missing_only_links_are_asked_for(ports: VaultPorts) -> None:
    old = add_old(ports)
    given = NewNote(NEW, title="Torn dough", keywords=["dough"], tags=["mine"], context="Torn.")
    model = ScriptedModel([linking()])
    outcome = process_of(ports, model).run(add(ports, given), asked=True)
    assert set(model.requests[0].schema["properties"]) == {"links", "changes"}
    assert [link.path for link in outcome.links] == [old]
    assert outcome.use.calls == 1


def test_a_model_that_is_not_trusted_is_asked_for_nothing_but_the_context(tmp_path: Path) -> None:
    ports = open_vault(tmp_path)
    add_old(ports)
    path = add(ports, NewNote(f"{NEW} It was a cold morning.", title="Torn dough"))
    model = ScriptedModel([metadata])
    outcome = process_of(ports, model, trusted=False).run(path, asked=True)
    assert [set(each.schema["properties"]) for each in model.requests] == [{"context"}]
    assert outcome.metadata.keywords
    assert not outcome.pending


def test_a_model_that_is_not_trusted_is_not_asked_about_one_sentence(ports: VaultPorts) -> None:
    path = add(ports, NewNote(NEW, title="Torn dough"))
    model = ScriptedModel([])
    outcome = process_of(ports, model, trusted=False).run(path, asked=True)
    assert (model.requests, outcome.problems, outcome.pending) == ([], (), False)


def test_without_a_model_a_good_context_of_an_unchanged_text_stays(ports: VaultPorts) -> None:
    path = add(ports, NewNote(NEW, title="Torn dough"))
    written = process_of(ports, ScriptedModel([metadata])).run(path, asked=True).metadata
    assert written.context
    again = replace(process_of(ports, None), again=True).run(path, asked=True)
    assert again.metadata.context == written.context
    assert "context" not in again.written


@pytest.mark.parametrize("said", ["no JSON", linking()])
def test_a_link_is_recorded_as_made_by_who_chose_it(ports: VaultPorts, said: object) -> None:
    add_old(ports)
    path = add(ports, NewNote(NEW, title="Torn dough"))
    model = ScriptedModel([said] * 4)  # type: ignore[list-item]
    outcome = process_of(ports, model).run(path, asked=True)
    assert [link.title for link in outcome.links] == ["Lamination"]
    events = ports.index.events.read(note_named(ports.index, path).key)
    (made,) = (event for event in events if event.kind == "link")
    assert made.model == ("amem analyzer" if said == "no JSON" else "scripted")
    totals = ports.index.events.model_totals()
    assert totals.calls == len(model.requests) and totals.notes == 1


@pytest.mark.parametrize(
    "text", ["The walrus sleeps.", "Der Kahn liegt im Schilf.", "海象在睡觉。"]
)
def test_a_note_gets_no_tag_that_the_vault_does_not_have(tmp_path: Path, text: str) -> None:
    ports = open_vault(tmp_path)
    write_note(tmp_path, "Frost.md", "---\ntags:\n  - recipe\n---\nNothing alike at all.\n")
    assert process_of(ports, None).run(add(ports, NewNote(text)), asked=True).metadata.tags == ()
