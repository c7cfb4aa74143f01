"""`amem open` hands a note to Obsidian or the editor."""

from __future__ import annotations

import sys
from pathlib import Path
from urllib.parse import parse_qs, urlsplit

import pytest

from tests.conftest import Program
from tests.vaults import write_note

NAME = "Zoë's [tea] \N{TEACUP WITHOUT HANDLE} 100%"


@pytest.fixture
def vault(amem: Program) -> Path:
    write_note(amem.folder, f"notes/{NAME.replace('[', '(').replace(']', ')')}.md", "Tea.\n")
    write_note(amem.folder, "b.md", '---\nlinks:\n  - "[[c]]"\n---\nNo tea.\n')
    write_note(amem.folder, "c.md", "Water for tea.\n")
    assert amem("init", ".", "--adopt").code == 0
    amem.environment |= {"DISPLAY": ":9", "SSH_CONNECTION": "", "PATH": str(amem.folder / "bin")}
    del amem.environment["SSH_CONNECTION"]
    return amem.folder


def program(folder: Path, name: str, code: int = 0) -> Path:
    """A program that keeps its arguments in a file of its own; returns that file."""
    (folder / "bin").mkdir(exist_ok=True)
    path = folder / "bin" / name
    kept = folder / f"{name}.txt"
    path.write_text(f'#!/bin/sh\nprintf "%s\\n" "$@" > "{kept}"\nexit {code}\n')
    path.chmod(0o700)
    return kept


@pytest.mark.skipif(sys.platform != "linux", reason="another system opens addresses otherwise")
def test_obsidian_gets_the_path_of_the_note(amem: Program, vault: Path) -> None:
    kept = program(vault, "xdg-open")
    (note,) = (vault / "notes").glob("*.md")
    opened = amem("open", note.stem, "--obsidian", "--json").json
    address = kept.read_text().strip()
    assert opened == {"path": f"notes/{note.name}", "address": address}
    assert (urlsplit(address).scheme, urlsplit(address).netloc) == ("obsidian", "open")
    assert parse_qs(urlsplit(address).query) == {"path": [str(note)]}
    assert address.isascii() and not {" ", "'", "("} & set(address)

    program(vault, "xdg-open", code=3)
    failed = amem("open", "b", "--obsidian")
    assert failed.code == 3 and "--editor" in failed.err
    (vault / "bin/xdg-open").unlink()
    assert amem("open", "b", "--obsidian").code == 3


@pytest.mark.skipif(sys.platform != "linux", reason="another system opens addresses otherwise")
def test_the_vault_and_the_desktop_decide_where(amem: Program, vault: Path) -> None:
    opener, editor = program(vault, "xdg-open"), program(vault, "myeditor")
    amem.environment["EDITOR"] = str(vault / "bin/myeditor")
    assert amem("open", "b", "--no-wait").code == 0
    assert editor.read_text() == f"{vault / 'b.md'}\n" and not opener.exists()
    (vault / ".obsidian").mkdir()
    assert amem("open", "b").code == 0 and opener.exists()
    opener.unlink()
    editor.unlink()
    amem.environment["SSH_CONNECTION"] = "10.0.0.1 1 10.0.0.2 22"
    assert amem("open", "b", "--no-wait").code == 0
    assert editor.exists() and not opener.exists()
