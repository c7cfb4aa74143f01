"""What must hold wherever an intent comes from: recovery touches notes and nothing else."""

from __future__ import annotations

import hashlib
import os
from pathlib import Path

from amem_cli.errors import Problem
from amem_cli.journal.change_store import ChangeStore
from amem_cli.journal.files import JournalFolder
from amem_cli.vault.folder import VaultFolder
from tests.fuzz.folders import folder

A_NOTE = b'---\nid: "20260101000000"\n---\nA note.\n'


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
