"""What notes say never steers a terminal, and streams that fail end a command with its code."""

from __future__ import annotations

import sys
from pathlib import Path

import pytest

from tests.conftest import Program
from tests.terminal import at_terminal
from tests.vaults import write_note

pytestmark = pytest.mark.slow

STEERING = ("\x1b", "\x9b", "\x07", "\x08", "\x00", "\x7f", "\x85", "\u202e", "\u2066", "\u061c")
NASTY = "red \x1b[31m\x1b]52;c;YmFk\x07 \x9b2J back\x08\x08 \u202egnp \u2066x \u061c \x7f \x85 end"


@pytest.fixture
def nasty(amem: Program) -> Program:
    """A vault whose notes carry everything that steers a terminal, wherever it can stand."""
    root = amem.vault()
    escaped = NASTY.encode("unicode_escape").decode().replace('"', "")
    header = "".join(f'{name}: "{escaped}"\n' for name in ("title", "context", "aliases"))
    lists = "".join(f'{name}:\n  - "{escaped}"\n' for name in ("keywords", "tags"))
    write_note(root, "nasty.md", f'---\n{header}{lists}links: ["[[{escaped}]]"]\n---\n{NASTY}\n')
    write_note(root, "\u202egnp.md", f"links to [[nasty]] and {NASTY}\n")
    write_note(root, "broken.md", f'---\na: 1\n"{escaped}": 1\n"{escaped}": 2\n---\n{NASTY}\n')
    (root / "\x1b[31mname.md").write_text("x")
    return amem


@pytest.mark.parametrize(
    "line",
    [
        ["list"],
        ["--verbose", "list"],
        ["search", "red", "--mode", "keyword"],
        ["show", "nasty.md"],
        ["graph"],
        ["graph", "nasty.md"],
        ["history"],
        ["stats"],
        ["list", "--json"],
        ["show", "nasty.md", "--json"],
        ["export"],
        ["show", "--raw", "nasty.md"],
        ["update", "broken.md", "--add-tag", "x"],
        ["show", NASTY.replace("\0", "")],
        [NASTY.replace("\0", "")],
        ["list", "--tag", NASTY.replace("\0", "")],
    ],
)
def test_no_command_lets_a_note_steer_the_terminal(nasty: Program, line: list[str]) -> None:
    variables = {**nasty.environment, "NO_COLOR": "1", "TERM": "dumb"}
    _, shown = at_terminal(nasty.folder, line, [], **variables)
    assert "Traceback" not in shown
    assert shown
    assert [mark for mark in STEERING if mark in shown] == []


def test_a_full_or_closed_output_is_told_with_its_code(amem: Program) -> None:
    amem("init", "v")
    program = f"{sys.executable} -m amem_cli --vault v"
    cases = [
        ("list > /dev/full", 3),
        ("--json list > /dev/full", 3),
        ("export > /dev/full", 3),
        ("list >&-", 0),
        ("show nothing 2>&-", 1),
        ("show nothing 2>/dev/full", 1),
        ("list >&- 2>&- <&-", 0),
        ("add <&-", 2),
        ("--version > /dev/full", 3),
    ]
    for line, code in cases:
        if "/dev/full" in line and not Path("/dev/full").exists():
            continue
        done = amem.beside("bash", "-c", f"{program} {line}")
        assert (done.code, line) == (code, line), done.err
        assert "Traceback" not in done.err and "bug" not in done.err


def test_a_reader_that_leaves_early_ends_the_command_quietly(amem: Program) -> None:
    amem("init", "v")
    for number in range(200):
        write_note(amem.folder / "v", f"{number}.md", f"{number} " + "text " * 500 + "\n")
    for line in ("list", "export", "list --json", "search text --mode keyword -k 200"):
        program = f"{sys.executable} -m amem_cli --vault v {line}"
        done = amem.beside("bash", "-c", f"{program} | head -c 1")
        assert (len(done.out), done.err) == (1, ""), line
