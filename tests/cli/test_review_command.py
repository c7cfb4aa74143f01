"""`amem review`, `history` and `undo` as a person at a terminal and as a script use them."""

from __future__ import annotations

import json
import sys
from pathlib import Path
from typing import Any

import pytest

from amem_cli.index.memory_index import VaultPorts
from amem_cli.models.ports import ModelRequest
from amem_cli.notes.note import Note, parse_note
from tests.conftest import Program
from tests.editing.test_review import propose
from tests.fakes.chat_server import ChatServer
from tests.memory.test_evolve import CHANGE, NEW, OLD, add_old, linking, metadata
from tests.terminal import at_terminal, plain
from tests.vaults import open_vault, write_note

KEYS = "[q]uit"


@pytest.fixture
def ports(tmp_path: Path) -> VaultPorts:
    """A vault in which three changes of one older note wait."""
    ports = open_vault(tmp_path)
    add_old(ports)
    propose(ports)
    return ports


def old_note(root: Path) -> Note:
    path = "notes/Lamination.md"
    return parse_note(path, (root / path).read_bytes(), open_vault(root).names)


def test_without_a_terminal_it_lists_what_waits(amem: Program, ports: VaultPorts) -> None:
    shown = amem("review")
    assert shown.code == 0
    assert "because of “Torn dough”" in shown.out
    assert f"+ {CHANGE['context']}" in shown.out
    document = amem("review", "--json").json
    assert {each["field"] for each in document["waiting"]} == {"keywords", "tags", "context"}
    assert document["waiting"][0]["because"]["title"] == "Torn dough"
    assert len(amem("review", "Torn dough", "--json").json["waiting"]) == 3
    assert amem("review", "N1", "--json").json["waiting"] == []
    assert amem("stats", "--json").json["proposed"] == 3


def test_options_accept_and_turn_down(amem: Program, tmp_path: Path, ports: VaultPorts) -> None:
    named = {each["field"]: each["proposal"] for each in amem("review", "--json").json["waiting"]}
    done = amem("review", "--accept", named["context"], "--reject", named["tags"], "--json")
    assert done.code == 0
    assert [each["field"] for each in done.json["accepted"]] == ["context"]
    assert [each["field"] for each in done.json["rejected"]] == ["tags"]
    assert [each["field"] for each in done.json["waiting"]] == ["keywords"]
    note = old_note(tmp_path)
    assert (note.context, note.tags, note.keywords) == (CHANGE["context"], (), ())
    assert amem("review", "--accept", "nothing").code == 1
    assert amem("review", "--accept-all", "--reject-all").code == 2
    both = amem("review", "--accept", named["keywords"], "--reject", named["keywords"])
    assert both.code == 2
    assert amem("review", "--accept-all").out.startswith("accepted: 1")
    assert "no proposals to review" in amem("review").out


@pytest.mark.skipif(sys.platform == "win32", reason="needs a pseudo-terminal")
def test_keys_step_through_the_proposals(tmp_path: Path, ports: VaultPorts) -> None:
    before = (tmp_path / "notes/Lamination.md").read_bytes()
    code, shown = at_terminal(tmp_path, ["review"], [(KEYS, "sr"), (KEYS, "\x1b[A"), (KEYS, "q")])
    assert code == 0
    assert "press one of" in plain(shown)
    assert (tmp_path / "notes/Lamination.md").read_bytes() == before
    code, shown = at_terminal(tmp_path, ["review"], [(KEYS, "r"), (KEYS, "A")])
    assert code == 0
    assert "\x1b[32m" in shown
    assert "rejected: 1" in plain(shown)
    assert "accepted: 2" in plain(shown)
    assert "no proposals to review" in plain(at_terminal(tmp_path, ["review"], [])[1])


@pytest.mark.skipif(sys.platform == "win32", reason="needs a pseudo-terminal")
def test_in_quiet_no_key_is_waited_for(tmp_path: Path, ports: VaultPorts) -> None:
    code, shown = at_terminal(tmp_path, ["--quiet", "review"], [])
    assert code == 0
    assert "because of “Torn dough”" in plain(shown)
    assert KEYS not in plain(shown)


def test_history_is_a_story_with_reasons_costs_and_diffs(amem: Program, ports: VaultPorts) -> None:
    amem("review", "--accept-all")
    story = amem("history", "Lamination").out
    assert "you added it" in story
    assert "because of “Torn dough”, amem changed its context" in story
    assert f"+ {CHANGE['context']}" in story
    assert str(CHANGE["why"]) in story
    assert "accepted by you" in story
    new = amem("history", "Torn dough").out
    assert "amem wrote its keywords, tags and context" in new
    assert "1 call, " in new and "tokens" in new
    assert "because of it, amem changed context of “Lamination”" in new
    events = amem("history", "Lamination", "--json").json
    assert [event["kind"] for event in events] == ["add", "evolve", "evolve", "evolve"]
    assert events[-1]["because"] == "Torn dough"


def test_history_names_both_notes_of_a_revision_that_a_person_linked(amem: Program) -> None:
    root = amem.folder
    write_note(root, "Club.md", "---\ncreated: 2026-01-05\n---\nThe chess club meets on Monday.\n")
    news = "The chess club ([[Club]]) meets on Friday now, not on Monday."
    write_note(root, "New day.md", f"---\ncreated: 2026-03-05\n---\n{news}\n")
    for day in range(1, 9):
        text = f"Bread number {day} rises slowly in the cold kitchen."
        write_note(root, f"b{day}.md", f"---\ncreated: 2026-02-0{day}\n---\n{text}\n")
    assert amem("init", ".", "--adopt").code == 0
    assert "proposed Club.md (context)" in amem("evolve", "--all", "--no-llm").out
    assert "“Club” says: The chess club meets on Monday." in amem("review").out
    before = (root / "Club.md").read_bytes()
    assert amem("review", "--accept-all").code == 0
    story = amem("history", "Club").out
    assert "because of “New day”, amem changed its context" in story
    story = " ".join(amem("history", "New day").out.split())
    assert "links - Club.md related 1" in story and "links + Club.md supersedes" in story
    closing = "Since 2026-03-05: The chess club (Club) meets on Friday now"
    assert closing in amem("ask", "When does the chess club meet?", "--no-llm").out
    # One acceptance is one change to undo.
    undone = amem("undo", "-y")
    assert "context of Club.md" in undone.out and "links of New day.md" in undone.out
    assert (root / "Club.md").read_bytes() == before
    assert closing not in amem("ask", "When does the chess club meet?", "--no-llm").out
    assert amem("undo", "-y", undone.out.split("amem undo ")[-1].strip()).code == 0
    assert "did again: Seems to revise" in amem("history", "Club").out


def test_undo_of_all_since_and_its_trace_in_the_history(
    amem: Program, tmp_path: Path, ports: VaultPorts
) -> None:
    before = (tmp_path / "notes/Lamination.md").read_bytes()
    amem("review", "--accept-all")
    first = amem("history", "Lamination", "--json").json[1]["id"]
    assert amem("undo").code == 2
    assert amem("undo", first, "--since", first).code == 2
    undone = amem("undo", "--since", first, "--json").json
    assert undone["paths"] == ["notes/Lamination.md"]
    assert (tmp_path / "notes/Lamination.md").read_bytes() == before
    story = amem("history", "Lamination").out
    assert story.count("taken back by") == 3
    events = amem("history", "Lamination", "--json").json
    assert {event["id"] for event in events if event.get("undone_by")} == set(undone["events"])


def test_a_proposal_is_a_file_that_a_person_can_read(tmp_path: Path, ports: VaultPorts) -> None:
    records = [json.loads(path.read_text()) for path in (tmp_path / ".amem/review").glob("*.json")]
    assert {record["change"]["field"] for record in records} == {"keywords", "tags", "context"}
    assert {record["reason"] for record in records} == {CHANGE["why"]}


def test_from_the_setting_to_the_decision_with_a_server_as_the_model(
    amem: Program, tmp_path: Path
) -> None:
    root = tmp_path / "vault"
    root.mkdir()
    here = Program(root, amem.environment)
    assert here("init", "--adopt").code == 0
    for title, text in (("Lamination", OLD), ("N1", "Trains."), ("N2", "Weather.")):
        given = ("--title", title, "--no-wait", "--created", "2026-01-02T10:00")
        assert here("add", text, *given).code == 0
    with ChatServer() as server:
        server.content = _answer
        model = {**server.variables(), "AMEM_EVOLUTION_SETTLE_SECONDS": "0"}
        assert here("config", "set", "evolution.mode", "review").code == 0
        before = (root / "notes/Lamination.md").read_bytes()
        added = here("add", NEW, "--title", "Torn dough", "--json", **model).json
        assert (added["pending"], added["evolved"]) == (False, [])
        assert {each["field"] for each in added["proposed"]} == {"keywords", "tags", "context"}
        assert (root / "notes/Lamination.md").read_bytes() == before
        assert here("review", "Lamination", "--accept-all").code == 0
        assert old_note(root).context == CHANGE["context"]
        assert here("config", "set", "evolution.mode", "off").code == 0
        added = here("add", NEW, "--title", "Torn again", "--json", **model).json
        assert (added["proposed"], added["evolved"]) == ([], [])


def _answer(body: dict[str, Any]) -> str:
    schema = body["response_format"]["json_schema"]["schema"]
    text = "\n".join(message["content"] for message in body["messages"])
    request = ModelRequest("", text, schema, 0, 0.0)
    links = "links" in schema["properties"]
    return linking(change=CHANGE)(request) if links else metadata(request)
