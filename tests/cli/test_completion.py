"""What the shells complete: real shells, a real vault, and what its index names."""

from __future__ import annotations

import os
import select
import shutil
import subprocess
import sys
import time
from pathlib import Path

import pytest

from tests.completion_files import FOLDER
from tests.conftest import Program
from tests.fork_server import TOP

QUOTED = 'Ten "quoted" $words: one'

DETECTS_NOTHING = {"_TYPER_COMPLETE_TEST_DISABLE_SHELL_DETECTION": "1"}


@pytest.fixture
def vault(amem: Program) -> Path:
    """A vault with an index; `amem` is a program in a folder `bin`."""
    (amem.folder / "notes").mkdir()
    for title in ("Weekly review", "Wärme", "Obsidian: a start", "It's raining"):
        text = f"---\ntags:\n  - topic/{title.split()[0].lower().strip(':')}\n---\nText.\n"
        (amem.folder / "notes" / f"{title}.md").write_text(text, encoding="utf-8")
    (amem.folder / "notes/quoted.md").write_text(f"---\ntitle: '{QUOTED}'\n---\nText.\n")
    assert amem("init", ".", "--adopt").code == 0
    assert amem("index").code == 0
    (amem.folder / "bin").mkdir()
    program = amem.folder / "bin/amem"
    program.write_text(f'#!/bin/sh\nexec "{sys.executable}" -m amem_cli "$@"\n')
    program.chmod(0o700)
    return amem.folder


def completed(amem: Program, line: str, shell: str = "zsh") -> list[str]:
    answer = amem(_AMEM_COMPLETE=f"complete_{shell}", COMP_WORDS=line, COMP_WORDBREAKS=":=@")
    assert (answer.code, answer.err) == (0, "")
    return [row.partition("\t")[0] for row in answer.out.splitlines()]


@pytest.mark.parametrize(
    ("line", "expected"),
    [
        ("amem show wee", ["Weekly review"]),
        ("amem show WÄ", ["Wärme"]),
        ("amem show war", ["Wärme"]),
        ("amem list --tag topic/war", ["topic/wärme"]),
        ("amem link 'Weekly review' it", ["It's raining"]),
        ("amem list --tag topic/w", ["topic/weekly", "topic/wärme"]),
        ("amem list --tag=topic/o", ["--tag=topic/obsidian"]),
        ("amem search --mode key", ["keyword"]),
        ("amem config get evolution.mo", ["evolution.mode"]),
        ("amem config set evolution.mode ", ["auto", "review", "off"]),
        ("amem links Wärme --relation sup", ["supports", "supersedes"]),
        ("amem mv Wärme no", ["notes/"]),
        ("amem list --js", ["--json"]),
        ("amem se", ["setup", "search"]),
        ("amem model u", ["use"]),
        ("amem search --mo", ["--mode"]),
        ("amem --vau", ["--vault"]),
        ("amem show nothing-like-it", []),
    ],
)
def test_what_the_vault_and_the_settings_name_is_completed(
    amem: Program, vault: Path, line: str, expected: list[str]
) -> None:
    assert completed(amem, line) == expected


@pytest.mark.parametrize(
    ("line", "expected"),
    [
        ("amem show wee", r"Weekly\ review"),
        ('amem show "Weekly r', "Weekly review"),
        ("amem show 'It", r"It'\''s raining"),
        ("amem show obsidian:", r"\ a\ start"),
        ("amem show ten", r"Ten\ \"quoted\"\ \$words:\ one"),
        ('amem show "ten', r"Ten \"quoted\" \$words: one"),
    ],
)
def test_bash_gets_what_replaces_the_word_as_it_is_quoted(
    amem: Program, vault: Path, line: str, expected: str
) -> None:
    assert completed(amem, line, "bash") == [expected]


def test_a_note_is_completed_by_its_path(amem: Program, vault: Path) -> None:
    assert completed(amem, "amem show notes/W") == ["notes/Weekly review.md", "notes/Wärme.md"]


def test_the_script_that_is_shown_is_the_one_that_is_installed(amem_process: Program) -> None:
    script = (FOLDER / "zsh/_amem").read_text(encoding="utf-8")
    assert amem_process("--show-completion", "zsh", **DETECTS_NOTHING).out == script


def test_nothing_is_said_or_written_without_a_vault_or_an_index(
    amem: Program, tmp_path: Path
) -> None:
    assert completed(amem, "amem show a") == []
    (tmp_path / ".amem").mkdir()
    (tmp_path / ".amem/index.db").write_bytes(b"not an index")
    assert completed(amem, "amem show a") == []
    assert [path.name for path in (tmp_path / ".amem").iterdir()] == ["index.db"]


def test_completing_writes_nothing(amem: Program, vault: Path) -> None:
    def state() -> dict[str, tuple[int, int]]:
        files = (vault / ".amem").rglob("*")
        return {str(each): (each.stat().st_size, each.stat().st_mtime_ns) for each in files}

    before = state()
    assert completed(amem, "amem show wee") == ["Weekly review"]
    assert state() == before


def typed(shell: list[str], lines: list[str], keys: str, expected: str, folder: Path) -> str:
    """What a shell on a terminal shows once it was told some lines, then keys were pressed."""
    import pty

    leader, follower = pty.openpty()
    path = f"{folder / 'bin'}:{os.environ['PATH']}"
    environment = {**os.environ, "PATH": path, "PYTHONPATH": str(TOP), "TERM": "xterm"}
    environment |= {"LC_ALL": "C.UTF-8", "PS1": "> ", "AMEM_LLM_BACKEND": "none"}
    environment["FOLDER"] = str(FOLDER)
    process = subprocess.Popen(
        shell, cwd=folder, env=environment, stdin=follower, stdout=follower, stderr=follower
    )
    os.close(follower)
    shown = b""
    ready = "rea''dy"
    waiting = [("", "".join(f"{line}\n" for line in [*lines, f"echo {ready}"])), ("ready", keys)]
    end = time.monotonic() + 60
    try:
        while time.monotonic() < end and not (not waiting and expected in shown.decode("utf-8")):
            if waiting and waiting[0][0].encode() in shown:
                shown = b""
                os.write(leader, waiting.pop(0)[1].encode())
            if select.select([leader], [], [], 0.2)[0]:
                shown += os.read(leader, 65536)
    finally:
        process.kill()
        process.wait()
        os.close(leader)
    return shown.decode("utf-8", "replace")


@pytest.mark.slow
@pytest.mark.skipif(shutil.which("bash") is None, reason="needs bash")
@pytest.mark.parametrize(
    ("keys", "expected"),
    [
        ("amem model u\t", "amem model use"),
        ("amem show wee\t", r"Weekly\ review"),
        ('amem show "Weekly r\t', '"Weekly review"'),
        ("amem show Obsidian:\t", r"Obsidian:\ a\ start"),
    ],
)
def test_bash_completes_on_a_terminal(vault: Path, keys: str, expected: str) -> None:
    shown = typed(["bash", "--norc", "-i"], ['source "$FOLDER/bash/amem"'], keys, expected, vault)
    assert expected in shown


@pytest.mark.slow
@pytest.mark.skipif(shutil.which("zsh") is None, reason="needs zsh")
@pytest.mark.parametrize(
    ("keys", "expected"),
    [
        ("amem model us\t", "amem model use"),
        ("amem show Wee\t", r"\ review"),
    ],
)
def test_zsh_completes_on_a_terminal(vault: Path, keys: str, expected: str) -> None:
    lines = ['fpath=("$FOLDER/zsh" $fpath)', "autoload -Uz compinit; compinit -u -D"]
    assert expected in typed(["zsh", "-f", "-i"], lines, keys, expected, vault)


@pytest.mark.slow
@pytest.mark.skipif(shutil.which("fish") is None, reason="needs fish")
@pytest.mark.parametrize(
    ("line", "expected"),
    [("amem model u", "use"), ("amem show wee", "Weekly review"), ('amem show "It', "It's")],
)
def test_fish_completes(vault: Path, line: str, expected: str) -> None:
    path = f"{vault / 'bin'}:{os.environ['PATH']}"
    done = subprocess.run(
        ["fish", "--no-config", "-c", f"source {FOLDER}/fish/amem.fish; complete -C '{line}'"],
        cwd=vault,
        env={**os.environ, "PATH": path, "PYTHONPATH": str(TOP), "LC_ALL": "C.UTF-8"},
        capture_output=True,
        text=True,
    )
    assert done.stdout.startswith(expected), done.stderr
