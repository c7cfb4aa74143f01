"""Command lines as people of both kinds of systems write them."""

from __future__ import annotations

from pathlib import Path

import pytest

from amem_cli.errors import UnsafePath
from amem_cli.system import command_lines, names
from amem_cli.system.command_lines import find_program, split
from amem_cli.vault.folder import VaultFolder


@pytest.fixture
def windows(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(command_lines, "_IS_WINDOWS", True)
    monkeypatch.setattr(names, "_IS_WINDOWS", True)
    monkeypatch.setenv("PATHEXT", ".EXE;.CMD")


@pytest.mark.parametrize(
    ("line", "words"),
    [
        ("llm -m x", ["llm", "-m", "x"]),
        (r'"C:\Program Files\llm.exe" -m "a b"', [r"C:\Program Files\llm.exe", "-m", "a b"]),
        (r"C:\tools\llm.exe C:\notes\ #1", ["C:\\tools\\llm.exe", "C:\\notes\\", "#1"]),
    ],
)
@pytest.mark.usefixtures("windows")
def test_a_backslash_belongs_to_the_path(line: str, words: list[str]) -> None:
    assert split(line) == words


@pytest.mark.usefixtures("windows")
def test_a_quotation_that_does_not_end_is_refused() -> None:
    with pytest.raises(ValueError, match="quotation"):
        split('"C:\\x')


@pytest.mark.usefixtures("windows")
def test_a_program_of_the_current_folder_is_not_found(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    for place in ("here", "tools"):
        (tmp_path / place).mkdir()
        (tmp_path / place / "git.EXE").touch(0o755)
    monkeypatch.chdir(tmp_path / "here")
    assert find_program("git", "") is None
    tools = str(tmp_path / "tools")
    assert find_program("git", tools) == str(tmp_path / "tools/git.EXE")
    assert find_program("git.exe", tools) in (None, str(tmp_path / "tools/git.exe"))
    assert find_program(str(tmp_path / "tools/git.EXE"), "") == str(tmp_path / "tools/git.EXE")


@pytest.mark.parametrize(
    "path",
    [
        *("CON.md", "notes/nul.md", "com1.x.md", "LPT9/n.md", "a?.md", "n.md:stream", "C:x.md"),
        *("dir./n.md", "dir /n.md", "a*b.md", 'say "x".md', "a|b.md", "tab\t.md", "conin$.md"),
    ],
)
@pytest.mark.usefixtures("windows")
def test_windows_is_given_no_name_that_means_something_else_there(
    tmp_path: Path, path: str
) -> None:
    with pytest.raises(UnsafePath):
        VaultFolder(tmp_path).write(path, b"x", expected=None)
    assert list(tmp_path.iterdir()) == []


@pytest.mark.parametrize("path", ["Console.md", "a.b.md", "communications/n.md", "é – ü.md"])
@pytest.mark.usefixtures("windows")
def test_usual_names_are_given(tmp_path: Path, path: str) -> None:
    VaultFolder(tmp_path).write(path, b"x", expected=None)
    assert (tmp_path / path).read_bytes() == b"x"
