"""A vault may come from somebody else, and with it what looks like an interrupted change."""

from __future__ import annotations

import base64
import hashlib
import json
import os
from contextlib import suppress
from pathlib import Path
from typing import Any

import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from amem_cli.errors import AmemError, Problem
from amem_cli.journal.change_store import ChangeStore
from amem_cli.journal.events import Change, Event, NoteWrite
from amem_cli.journal.files import JournalFolder
from amem_cli.journal.link_decisions import Proposal
from amem_cli.vault.folder import VaultFolder
from tests.fuzz import strategies
from tests.fuzz.folders import folder
from tests.hypothesis_profiles import examples

A_NOTE = b'---\nid: "20260101000000"\n---\nA note.\n'
PATHS = (
    "a.md",
    "new.md",
    "notes/new.md",
    "../outside.md",
    "/etc/amem.md",
    ".git/hooks/post-merge",
    ".obsidian/app.json",
    ".amem/config.toml",
    "link/x.md",
    "C:\\x.md",
    "..\\x.md",
    "a.md/b.md",
    "a\0.md",
    "",
    ".",
)
LONG = ("x" * 300 + ".md", "x/" * 2000 + "x.md")
NO_NOTES = ("NUL", "run.sh")
NO_UNICODE = "\ud800.md"  # fmt: skip


def everything(top: Path) -> dict[str, str]:
    """Hashes of all files below, links not followed."""
    found = {}
    for here, folders, files in os.walk(top):
        for name in (*folders, *files):
            path = Path(here) / name
            if path.is_file() and not path.is_symlink():
                digest = hashlib.sha256(path.read_bytes()).hexdigest()
                found[path.relative_to(top).as_posix()] = digest
    return found


def settle(intents: list[bytes]) -> tuple[dict[str, str], dict[str, str], list[Problem]]:
    """What lay on disk before and after the program met the intents, and what it told."""
    with folder() as top:
        root = top / "vault"
        for name in ("vault/.amem/intents", "vault/.git/hooks", "vault/.obsidian", "elsewhere"):
            (top / name).mkdir(parents=True)
        (root / "a.md").write_bytes(A_NOTE)
        (root / ".git/hooks/post-merge").write_bytes(b"#!/bin/sh\n")
        (root / ".obsidian/app.json").write_bytes(b"{}")
        (root / ".amem/config.toml").write_bytes(b"")
        (root / "link").symlink_to(top / "elsewhere")
        for number, content in enumerate(intents):
            (root / f".amem/intents/{number}.json").write_bytes(content)
        before = everything(top)
        vault = VaultFolder(root)
        store = ChangeStore(vault, JournalFolder(root / ".amem/journal", "test"))
        problems = store.recover()
        assert not list((root / ".amem/intents").glob("*.json"))
        assert store.recover() == []
        return before, everything(top), problems


def only_notes_were_touched(before: dict[str, str], after: dict[str, str]) -> None:
    """Nothing changed but notes of the vault, its trash and the program's own files."""
    changed = {path for path in before | after if before.get(path) != after.get(path)}
    for path in changed:
        assert path.startswith("vault/"), path
        inside = path.removeprefix("vault/")
        own = inside.startswith((".amem/intents/", ".amem/journal/", ".amem/review/", ".trash/"))
        is_note = inside.endswith(".md") and not any(
            part.startswith(".") for part in inside.split("/")
        )
        assert own or inside == ".amem/write.lock" or is_note, path


def packed(content: bytes) -> str:
    return base64.b64encode(content).decode()


def an_intent(path: str, before: bytes | None, after: bytes | None, **event: Any) -> bytes:
    record = {"id": "forged", "time": "2026-01-01T00:00:00+00:00", "kind": "evolve", **event}
    write = {
        "path": path,
        "before": None if before is None else packed(before),
        "after": None if after is None else packed(after),
    }
    return json.dumps({"writes": [write], "events": [record]}).encode()


@pytest.mark.parametrize("path", [*PATHS, LONG[0], LONG[1], *NO_NOTES, NO_UNICODE])
def test_a_forged_new_note_stays_among_the_notes(path: str) -> None:
    only_notes_were_touched(*settle([an_intent(path, None, b"forged")])[:2])


@pytest.mark.parametrize("path", [*PATHS, *LONG, *NO_NOTES, NO_UNICODE])
@pytest.mark.parametrize("after", [b"forged", None], ids=["change", "removal"])
def test_a_forged_change_stays_among_the_notes(path: str, after: bytes | None) -> None:
    only_notes_were_touched(*settle([an_intent(path, A_NOTE, after)])[:2])


@pytest.mark.parametrize(
    "time",
    [
        "{top}",
        "../../x",
        "../x",
        "a\0b",
        "\ud800",
        "a/../..",
        "2026/01",
        "2026-01",
        "",
    ],
)
def test_a_forged_time_does_not_lead_the_journal_elsewhere(time: str, tmp_path: Path) -> None:
    # Seven characters of a time name the journal's file, and `/tmp/ab` is as long.
    short = Path("/tmp") / hashlib.sha256(str(tmp_path).encode()).hexdigest()[:2]
    forged = an_intent("a.md", A_NOTE, b"forged", time=time.format(top=short))
    place = Path(f"{short}-test.jsonl")
    try:
        only_notes_were_touched(*settle([forged])[:2])
        assert not place.exists()
    finally:
        place.unlink(missing_ok=True)


def test_two_forged_removals_of_one_note_are_no_crash() -> None:
    writes = [
        {"path": "gone.md", "before": packed(b"1"), "after": None},
        {"path": "gone.md", "before": packed(b"2"), "after": None},
        {"path": "a.md", "before": packed(b"3"), "after": packed(b"4")},
    ]
    forged = json.dumps({"writes": writes, "events": []}).encode()
    only_notes_were_touched(*settle([forged])[:2])


@pytest.mark.parametrize(
    "content",
    [
        b"",
        b"null",
        b"[]",
        b"{}",
        b"[" * 100_000,
        b'{"writes": [], "events": [' + b"9" * 5_000 + b"]}",
        b'{"writes": {}, "events": {}, "decided": ["../../a"], "proposed": []}',
        b'{"writes": [], "events": [], "decided": ["../../a", "x"], "proposed": [{"id": "../x"}]}',
        b"\xff\xfe",
        b"\0",
    ],
)
def test_what_is_no_change_is_set_aside(content: bytes) -> None:
    before, after, _ = settle([content])
    only_notes_were_touched(before, after)
    assert after["vault/a.md"] == before["vault/a.md"]


writes: st.SearchStrategy[list[dict[str, Any]]] = st.lists(
    st.fixed_dictionaries(
        {
            "path": st.one_of(st.sampled_from((*PATHS, *LONG, *NO_NOTES)), strategies.json_scalars),
            "before": st.sampled_from((None, packed(A_NOTE), packed(b"x"), "!", 5)),
            "after": st.sampled_from((None, packed(A_NOTE), packed(b"forged"), "é", [])),
        }
    ),
    max_size=3,
)
intents = st.one_of(
    st.binary(max_size=50),
    strategies.json_values(("writes", "events", "path", "before", "after")).map(json.dumps),
    st.fixed_dictionaries(
        {"writes": writes, "events": st.lists(strategies.event_records, max_size=2)},
        optional={
            "proposed": strategies.json_values(("id", "change")),
            "decided": st.lists(st.sampled_from(("x", "../../a", "/etc/x")), max_size=2),
        },
    ).map(json.dumps),
).map(lambda content: content if isinstance(content, bytes) else content.encode())


@examples(2)
@given(st.lists(intents, min_size=1, max_size=3))
@example([b'{"writes": [{"path": null, "before": null, "after": ""}], "events": []}'])
def test_whatever_lies_among_the_intents_is_settled(contents: list[bytes]) -> None:
    only_notes_were_touched(*settle(contents)[:2])


@pytest.mark.parametrize("name", ["intents", "journal", "review"])
def test_a_linked_folder_of_the_programs_own_leads_nowhere(name: str, tmp_path: Path) -> None:
    root, elsewhere = tmp_path / "vault", tmp_path / "elsewhere"
    (root / ".amem").mkdir(parents=True)
    elsewhere.mkdir()
    (elsewhere / "package.json").write_bytes(b"{}")
    (root / "a.md").write_bytes(A_NOTE)
    (root / ".amem" / name).symlink_to(elsewhere)
    before = everything(elsewhere)
    vault = VaultFolder(root)
    store = ChangeStore(vault, JournalFolder(root / ".amem/journal", "test"))
    with suppress(AmemError):
        store.recover()
        event = Event(id="1", time="2026-01-01T00:00:00", kind="evolve")
        waiting = Proposal(
            "p1", event.time, "", "a.md", "", "", Change("context", "", "A sentence.")
        )
        store.apply([NoteWrite("a.md", A_NOTE, A_NOTE + b"more")], [event], proposed=[waiting])
    assert everything(elsewhere) == before


def test_a_link_at_the_place_of_the_lock_is_not_followed(tmp_path: Path) -> None:
    root, precious = tmp_path / "vault", tmp_path / "precious.txt"
    (root / ".amem").mkdir(parents=True)
    precious.write_bytes(b"precious")
    (root / ".amem/write.lock").symlink_to(precious)
    store = ChangeStore(VaultFolder(root), JournalFolder(root / ".amem/journal", "test"))
    with suppress(AmemError), store.locked():
        pass
    assert precious.read_bytes() == b"precious"
