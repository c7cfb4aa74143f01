"""In a git repository, the diff holds only what the journal explains."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

from tests.conftest import Program
from tests.repositories import new_repository, person
from tests.vaults import write_note
from tests.watching import journal_events

GOLD = Path(__file__).parents[1] / "data" / "gold" / "cafe" / "notes.jsonl"


def taken_back(raw: bytes, events: list[dict[str, Any]]) -> bytes:
    """A note's bytes before all these events, by their splices alone."""
    for event in reversed(events):
        splice = event["splice"]
        start, inserted = splice.get("offset", 0), splice.get("inserted", "").encode()
        assert raw[start : start + len(inserted)] == inserted
        raw = raw[:start] + splice.get("removed", "").encode() + raw[start + len(inserted) :]
    return raw


def test_the_diff_is_what_the_journal_explains(amem: Program) -> None:
    vault = amem.folder / "v"
    assert amem("init", "v").code == 0
    repo = new_repository(vault, person(amem.folder / "home"))
    repo.save(".")
    notes = [json.loads(line) for line in GOLD.read_text("utf-8").splitlines()[:20]]
    lines = [{key: note[key] for key in ("content", "title", "created")} for note in notes]
    text = "".join(json.dumps(line) + "\n" for line in lines)
    amem.environment["AMEM_EVOLUTION_LINKS"] = "eager"
    imported = amem("--vault", "v", "import", "-", "--json", stdin=text)
    assert imported.code == 0, imported.err
    paths = imported.json["imported"]
    assert len(paths) == 20
    events = sorted(journal_events(vault), key=lambda event: str(event["id"]))
    explained = {event["path"] for event in events if "splice" in event or event["kind"] == "add"}
    changed = repo.git("diff", "--name-only", "HEAD", "-z").split("\0")[:-1]
    new = repo.git("ls-files", "-o", "--exclude-standard", "-z").split("\0")[:-1]
    # What is only proposed explains itself.
    own_folders = (".amem/journal/", ".amem/review/")
    outside = {path for path in (*changed, *new) if not path.startswith(own_folders)}
    assert outside <= explained
    assert set(paths) <= set(new)
    for path in outside:
        own = [event for event in events if event.get("path") == path and "splice" in event]
        before = taken_back((vault / path).read_bytes(), own)
        if path in changed:
            assert before == repo.content(path), path
        else:
            assert before.split(b"---\n", 2)[2].decode().strip()
    assert any(note["links"] for note in imported.json["notes"])
    assert "!! .amem/index.db" in repo.git("status", "--porcelain", "--ignored")


def test_what_two_machines_recorded_is_joined(amem: Program) -> None:
    assert amem("init", "v").code == 0
    repo = new_repository(amem.folder / "v", person(amem.folder / "home"))
    repo.save(".")
    repo.git("branch", "other")
    amem.environment["AMEM_VAULT"] = str(repo.top)
    texts = {"main": "The oven needs an hour to be hot.", "other": "Chess openings need practice."}
    for branch, text in texts.items():
        repo.git("checkout", "-q", branch)
        assert amem("add", text, "--title", branch).code == 0
        repo.save(".")
    repo.git("merge", "-q", "-m", "joined", "main")
    events = journal_events(repo.top)
    assert len(events) == len({event["id"] for event in events})
    added = {event["path"] for event in events if event["kind"] == "add"}
    assert added == {"notes/main.md", "notes/other.md"}
    assert amem("index", "--json").json["problems"] == []
    assert repo.status() == []


def test_a_folder_that_is_adopted_in_a_repository_shows_only_what_is_to_be_kept(
    amem: Program,
) -> None:
    repo = new_repository(amem.folder / "project", person(amem.folder / "home"))
    repo.write("docs/.gitignore", b"build/\r\n*.log")
    repo.write("docs/guide.md", "# Guide\n")
    repo.write("code.py", "pass\n")
    repo.save(".")
    assert amem("init", "project/docs", "--adopt").code == 0
    assert amem("--vault", "project/docs", "add", "A note about guides.", "--title", "N").code == 0
    seen = {line[3:] for line in repo.git("status", "--porcelain", "-uall").splitlines()}
    assert {path for path in seen if not path.startswith("docs/.amem/journal/")} == {
        "docs/.amem/config.toml",
        "docs/.gitattributes",
        "docs/.gitignore",
        "docs/notes/N.md",
    }
    assert (repo.top / "docs/.gitignore").read_bytes().startswith(b"build/\r\n*.log\r\n.amem/")
    assert b"\n" not in (repo.top / "docs/.gitignore").read_bytes().replace(b"\r\n", b"")


def test_template_and_adoption_ignore_the_same(amem: Program) -> None:
    write_note(amem.folder, "adopted/note.md", "text\n")
    assert amem("init", "made").code == 0
    assert amem("init", "adopted", "--adopt").code == 0
    made = [".amem/index.db", ".amem/index.db-wal", ".amem/write.lock", ".amem/intents/1.json"]
    kept = [".amem/config.toml", ".amem/journal/x.jsonl", ".amem/review/1.json"]
    for vault in ("made", "adopted"):
        repo = new_repository(amem.folder / vault, person(amem.folder / "home"))
        ignored = repo.git("check-ignore", "--no-index", *made).splitlines()
        assert ignored == made
        for path in kept:
            repo.fails("check-ignore", "--no-index", path)
        (line,) = repo.git("check-attr", "merge", ".amem/journal/x.jsonl").splitlines()
        assert line.endswith("merge: union")


def test_adoption_writes_through_no_link(amem: Program) -> None:
    outside = write_note(amem.folder, "outside/ignore", "mine\n")
    write_note(amem.folder, "v/note.md", "text\n")
    (amem.folder / "v/.gitignore").symlink_to(outside)
    (amem.folder / "v/.gitattributes").symlink_to(amem.folder / "outside/none")
    assert amem("init", "v", "--adopt").code == 0
    assert outside.read_text() == "mine\n"
    assert sorted(path.name for path in (amem.folder / "outside").iterdir()) == ["ignore"]
