"""In a git repository, the diff holds only what the journal explains."""

from __future__ import annotations

import json
import subprocess
from pathlib import Path
from typing import Any

from tests.conftest import Program

GOLD = Path(__file__).parents[1] / "data" / "gold" / "cafe" / "notes.jsonl"


def git(folder: Path, *words: str) -> bytes:
    options = ("-c", "user.name=t", "-c", "user.email=t@example.org", "-c", "core.quotepath=off")
    done = subprocess.run(["git", *options, *words], cwd=folder, capture_output=True, check=True)
    return done.stdout


def journal_of(vault: Path) -> list[dict[str, Any]]:
    lines: list[dict[str, Any]] = []
    for path in sorted((vault / ".amem/journal").glob("*.jsonl")):
        lines += [json.loads(line) for line in path.read_text("utf-8").splitlines()]
    return sorted(lines, key=lambda event: str(event["id"]))


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
    git(vault, "init", "-q")
    git(vault, "add", "-A")
    git(vault, "commit", "-qm", "a vault")
    notes = [json.loads(line) for line in GOLD.read_text("utf-8").splitlines()[:20]]
    lines = [{key: note[key] for key in ("content", "title", "created")} for note in notes]
    text = "".join(json.dumps(line) + "\n" for line in lines)
    imported = amem("--vault", "v", "import", "-", "--json", stdin=text)
    assert imported.code == 0, imported.err
    paths = imported.json["imported"]
    assert len(paths) == 20
    events = journal_of(vault)
    explained = {event["path"] for event in events if "splice" in event or event["kind"] == "add"}
    changed = git(vault, "diff", "--name-only", "HEAD", "-z").decode().split("\0")[:-1]
    new = git(vault, "ls-files", "-o", "--exclude-standard", "-z").decode().split("\0")[:-1]
    outside = {path for path in (*changed, *new) if not path.startswith(".amem/journal/")}
    assert outside <= explained
    assert set(paths) <= set(new)
    for path in outside:
        own = [event for event in events if event.get("path") == path and "splice" in event]
        before = taken_back((vault / path).read_bytes(), own)
        if path in changed:
            assert before == git(vault, "show", f"HEAD:{path}"), path
        else:
            assert before.split(b"---\n", 2)[2].decode().strip()
    assert any(note["links"] for note in imported.json["notes"])
    assert git(vault, "status", "--porcelain", "--ignored").decode().count("!! .amem/index.db") >= 1
