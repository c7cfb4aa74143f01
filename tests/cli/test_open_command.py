"""`amem open` hands a note to Obsidian or the editor; terminals get links to notes."""

from __future__ import annotations

import sys
from io import StringIO
from pathlib import Path
from urllib.parse import parse_qs, urlsplit

import pytest

from amem_cli.terminal.output import has_hyperlinks
from tests.conftest import Program
from tests.terminal import at_terminal
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


@pytest.mark.parametrize(
    "command", [("list",), ("search", "tea"), ("show", "b"), ("links",)], ids=lambda words: words[0]
)
def test_a_terminal_with_links_gets_them(
    amem: Program, vault: Path, command: tuple[str, ...]
) -> None:
    if command == ("links",):
        assert amem("evolve", "--all").code == 0
    where = {"AMEM_VAULT": str(vault), "AMEM_LLM_BACKEND": "none", "HOME": str(vault)}
    link = f"{(vault / 'c.md').as_uri()}\x1b\\"
    _, shown = at_terminal(vault, command, [("[q]uit", "q")], FORCE_HYPERLINK="1", **where)
    if command != ("links",) or "c" in shown:
        assert link in shown
    _, shown = at_terminal(vault, command, [("[q]uit", "q")], FORCE_HYPERLINK="0", **where)
    assert "\x1b]8;" not in shown
    assert "\x1b]8;" not in amem(*command).out


class Terminal(StringIO):
    def isatty(self) -> bool:
        return True


@pytest.mark.parametrize(
    ("environment", "expected"),
    [
        ({"TERM": "xterm-256color"}, True),
        ({"TERM": "xterm-kitty"}, True),
        ({"TERM": "tmux-256color"}, False),
        ({"TERM": "tmux-256color", "FORCE_HYPERLINK": "1"}, True),
        ({"TERM": "linux"}, False),
        ({"TERM": "dumb"}, False),
        ({"WT_SESSION": "x"}, True),
        ({}, False),
    ],
)
def test_which_terminals_have_links(environment: dict[str, str], expected: bool) -> None:
    assert has_hyperlinks(Terminal(), environment) is expected
    assert not has_hyperlinks(StringIO(), {**environment, "FORCE_HYPERLINK": ""})
