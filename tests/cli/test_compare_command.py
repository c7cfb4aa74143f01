"""Two models on a user's own notes, side by side: what each would do, and nothing written."""

from __future__ import annotations

import json
import re
import signal
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from amem_cli.memory.trial import trial_cases
from amem_cli.workspace.workspace import Workspace
from tests.conftest import Program
from tests.fakes.chat_server import ChatServer
from tests.fakes.good_model import good_answer_to
from tests.index_dump import canonical_dump
from tests.vaults import write_note

pytestmark = pytest.mark.slow

FERRY, JUDO = trial_cases()[:2]


@pytest.fixture
def notes(vault: Path, amem: Program) -> Path:
    """Two notes beside older ones of the trial, never processed."""
    day = 1
    for case in (FERRY, JUDO):
        for older in case.older:
            words = ", ".join(older.keywords)
            header = f"created: 2026-01-{day:02}\nkeywords: [{words}]\ncontext: {older.context}"
            write_note(vault, f"{older.title}.md", f"---\n{header}\n---\n{older.text}\n")
            day += 1
    for case in (FERRY, JUDO):
        write_note(vault, f"{case.title}.md", f"---\ncreated: 2026-03-{day:02}\n---\n{case.text}\n")
        day += 1
    assert amem("search", "ferry").code == 0
    return vault


def good(body: dict[str, Any]) -> str:
    schema = body["response_format"]["json_schema"]["schema"]
    return good_answer_to(body["messages"][-1]["content"], schema)


def describer(body: dict[str, Any]) -> str:
    """As the good one, but without links and changes."""
    answer = json.loads(good(body))
    return json.dumps({key: [] if key in ("links", "changes") else answer[key] for key in answer})


@pytest.fixture
def servers() -> Iterator[tuple[ChatServer, ChatServer]]:
    with ChatServer() as one, ChatServer() as other:
        one.content, other.content = good, describer
        one.usage = {"prompt_tokens": 400, "completion_tokens": 100}
        yield one, other


def named(server: ChatServer) -> str:
    return f"openai:test-model@{server.url}"


def all_bytes(vault: Path) -> dict[str, bytes]:
    """Every file but the index, which is compared by what is in it, and locks."""
    files = (each for each in sorted(vault.rglob("*")) if each.is_file())
    return {
        str(each.relative_to(vault)): each.read_bytes()
        for each in files
        if not each.name.startswith("index.db") and each.suffix != ".lock"
    }


def dump(vault: Path) -> object:
    workspace = Workspace(vault)
    try:
        return canonical_dump(workspace.index)
    finally:
        workspace.close()


def test_what_two_models_would_do_is_shown_and_nothing_is_written(
    notes: Path, amem: Program, servers: tuple[ChatServer, ChatServer]
) -> None:
    one, other = servers
    before, index = all_bytes(notes), dump(notes)
    done = amem("compare", named(one), named(other), "--notes", "2", FERRY.title, "--json")
    assert done.code == 0, done.err
    [note] = done.json["notes"]
    first, second = note["results"]
    assert note["title"] == FERRY.title
    assert first["context"] == second["context"] != ""
    assert [link["path"] for link in first["links"]] == ["Bring coins for the Gozo ferry.md"]
    assert {link["path"] for link in second["links"]} <= {first["links"][0]["path"]}
    [changed] = first["proposed"] + first["evolved"] or [None]
    # The older note's context is its owner's, so no model may change it.
    assert changed is None
    sides = done.json["sides"]
    assert [side["name"] for side in sides] == [named(one), named(other)]
    assert [side["asked_for"] for side in sides] == ["all", "all"]
    assert (sides[0]["described"], sides[0]["contexts"]) == (1, 1)
    assert (sides[0]["tokens_per_note"], sides[1]["tokens_per_note"]) == (500, 10)
    shown = amem("compare", named(one), named(other), FERRY.title)
    assert shown.code == 0
    assert "Bring coins for the Gozo ferry" in shown.out and "tokens a note" in shown.out
    assert (all_bytes(notes), dump(notes)) == (before, index)
    assert amem("stats", "--json").json["pending"] == 10


def test_a_note_is_taken_as_if_it_were_new_also_if_amem_has_processed_it(
    notes: Path, amem: Program, servers: tuple[ChatServer, ChatServer]
) -> None:
    one, _ = servers
    for older in FERRY.older:
        # A context of nobody's may be changed.
        path = notes / f"{older.title}.md"
        path.write_text(path.read_text().replace(f"\ncontext: {older.context}", ""))
    del amem.environment["AMEM_LLM_BACKEND"]
    assert amem("model", "use", named(one)).code == 0
    assert amem("config", "set", "evolution.settle_seconds", "0").code == 0
    dry = ("compare", "current", "none", FERRY.title, "--json")
    fresh = amem(*dry).json["notes"][0]["results"][0]
    assert [each["title"] for each in fresh["evolved"]] == ["Bring coins for the Gozo ferry"]
    evolved = amem("evolve", FERRY.title, "--json")
    assert evolved.code == 0, evolved.err
    before = all_bytes(notes)
    again = amem(*dry).json["notes"][0]["results"][0]
    assert all_bytes(notes) == before
    for name in ("context", "keywords", "tags"):
        assert again[name] == fresh[name]
    assert [each["path"] for each in again["links"]] == [each["path"] for each in fresh["links"]]
    # Later notes do not count: the ferry is the older one.
    assert JUDO.title not in json.dumps(again["links"])


def test_without_models_both_sides_are_alike(notes: Path, amem: Program) -> None:
    done = amem("compare", "none", "none", "--json")
    assert done.code == 0
    assert len(done.json["notes"]) == 10
    assert [each["path"] for each in done.json["notes"]][-2:] == [
        f"{case.title}.md" for case in (FERRY, JUDO)
    ]
    for note in done.json["notes"]:
        assert note["results"][0] == note["results"][1]
    assert done.json["links_by_both"] == done.json["sides"][0]["links"]
    few = amem("compare", "none", "none", "-n", "3", "--json").json["notes"]
    assert [note["path"] for note in few][-1] == f"{JUDO.title}.md"
    assert few == amem("compare", "none", "none", "-n", "3", "--json").json["notes"]
    shown = amem("compare", "none", "none").out
    assert "A  none  no model is asked" in shown
    assert "=  " in shown and "seconds a note" in shown


def test_a_model_that_fails_is_not_asked_to_the_end_and_the_other_one_is(
    notes: Path, amem: Program, servers: tuple[ChatServer, ChatServer]
) -> None:
    one, other = servers
    one.faults = ["401"]
    other.content = None
    done = amem("compare", named(one), named(other), "-n", "6", "--json")
    assert done.code == 3
    failed, answered = done.json["sides"]
    assert (failed["failed"], answered["failed"]) == (6, 0)
    assert len(other.requests) > 0
    assert all(note["results"][0]["failure"] for note in done.json["notes"])
    assert len(one.requests) <= 6
    assert "no answer: " in amem("compare", named(one), "none", JUDO.title).out


def test_a_note_that_cannot_be_processed_is_no_failure_of_the_model(
    notes: Path, amem: Program, servers: tuple[ChatServer, ChatServer]
) -> None:
    one, _ = servers
    names = [f"Conflict {number}" for number in range(3)]
    for name in names:
        write_note(notes, f"{name}.md", "<<<<<<< ours\none\n=======\ntwo\n>>>>>>> theirs\n")
    done = amem("compare", named(one), "none", *names, FERRY.title, "--json")
    assert done.code == 0
    assert [side["failed"] for side in done.json["sides"]] == [3, 3]
    assert "merge conflict" in done.json["notes"][0]["results"][0]["failure"]
    assert done.json["notes"][3]["results"][0]["context"]


def test_notes_that_go_away_meanwhile_are_no_failure_of_the_model(
    notes: Path, amem: Program, servers: tuple[ChatServer, ChatServer]
) -> None:
    one, _ = servers
    gone = [each.title for each in JUDO.older[:3]]
    [replaced, *deleted] = [notes / f"{title}.md" for title in gone]

    def interfering(body: dict[str, Any]) -> str:
        if replaced.exists():
            replaced.rename(notes / "Renamed.md")
            for path in deleted:
                path.unlink()
        return good(body)

    one.content = interfering
    done = amem("compare", named(one), "none", FERRY.title, *gone, JUDO.title, "--json")
    assert done.code == 0, done.err
    assert [side["failed"] for side in done.json["sides"]] == [3, 3]
    results = [note["results"][0] for note in done.json["notes"]]
    assert f"cannot read {gone[0]}.md" in results[1]["failure"]
    assert results[0]["context"] and results[-1]["context"]


def test_a_note_that_cannot_be_read_any_more_is_not_changed(
    notes: Path, amem: Program, servers: tuple[ChatServer, ChatServer]
) -> None:
    one, _ = servers
    path = notes / "Bring coins for the Gozo ferry.md"
    path.write_text(re.sub(r"\ncontext: .*", "", path.read_text()))
    words = ("compare", named(one), "none", FERRY.title, "--json")
    changed = amem(*words).json["notes"][0]["results"][0]
    assert [each["path"] for each in changed["evolved"] + changed["proposed"]] == [path.name]

    def interfering(body: dict[str, Any]) -> str:
        path.unlink(missing_ok=True)
        return good(body)

    one.content = interfering
    done = amem(*words)
    assert done.code == 0, done.err
    result = done.json["notes"][0]["results"][0]
    assert (result["failure"], result["evolved"], result["proposed"]) == ("", [], [])
    assert result["context"]


def test_a_model_elsewhere_needs_consent_and_gets_no_private_note(
    notes: Path, amem: Program
) -> None:
    refused = amem("compare", "openai:m@https://models.example/v1", "none")
    assert refused.code == 3
    assert "would send notes to m at models.example" in refused.err
    with ChatServer() as server:
        server.is_ollama, server.models = True, ["big:cloud"]
        name = f"ollama:big:cloud@{server.url}"
        assert amem("compare", name, "none").code == 3
        assert server.requests == []
        assert amem("model", "use", name).code == 0
        path = notes / f"{JUDO.title}.md"
        path.write_text(path.read_text().replace("---\n", "---\nprivate: true\n", 1))
        sample = amem("compare", name, "none", "-n", "2", "--json").json["notes"]
        assert [note["title"] for note in sample][-1] == FERRY.title
        shown = amem("compare", name, "none", JUDO.title)
        assert shown.code == 0
        assert "private: not sent to A" in shown.out
        assert server.requests
        assert not any("Yilmaz" in json.dumps(each.body) for each in server.requests)


def test_the_days_tokens_hold(
    notes: Path, amem: Program, servers: tuple[ChatServer, ChatServer]
) -> None:
    one, _ = servers
    limit = {"AMEM_LLM_DAILY_TOKENS": "400"}
    spent = amem("compare", named(one), "none", FERRY.title, JUDO.title, **limit)
    assert spent.code == 3
    reason = "today's 400 tokens for the language model are spent"
    assert f"stopped: {reason}. Compare again tomorrow, or raise llm.daily_tokens." in spent.err
    assert "midnight" not in spent.err
    assert len(one.requests) == 1
    assert "1 of 2" in spent.out and "not asked" in spent.out


def test_ctrl_c_shows_what_was_answered(
    notes: Path, amem: Program, servers: tuple[ChatServer, ChatServer]
) -> None:
    one, _ = servers
    one.faults = ["", "silence"]
    words = ("compare", named(one), "none", FERRY.title, JUDO.title, "--json")
    process = amem.start(*words)
    end = time.monotonic() + 60
    while len(one.requests) < 2 and time.monotonic() < end:
        time.sleep(0.05)
    process.send_signal(signal.SIGINT)
    out, _ = process.communicate(timeout=60)
    assert process.returncode == 130
    document = json.loads(out)
    assert [side["notes"] for side in document["sides"]] == [1, 0]
    assert document["notes"][0]["results"][0]["context"]
    assert document["notes"][0]["results"][1] is None


def test_what_cannot_be_compared_is_told(notes: Path, amem: Program) -> None:
    unknown = amem("compare", "nothing-of-this-name", "none")
    assert (unknown.code, "amem model list" in unknown.err) == (2, True)
    assert amem("compare", "none", "none", "No such note").code == 1
    assert amem("compare", "none").code == 2
    for each in notes.glob("*.md"):
        each.unlink()
    empty = amem("compare", "none", "none")
    assert (empty.code, "no note" in empty.err) == (1, True)
