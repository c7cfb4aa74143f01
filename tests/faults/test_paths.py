"""Nothing outside the vault is read or written, whatever a path, a link or a note says."""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

from amem_cli.errors import AmemError, Problem, UnsafePath
from amem_cli.index.sync import synchronise
from amem_cli.vault.folder import VaultFolder
from amem_cli.vault.safe_write import sha256
from tests.conftest import Program
from tests.faults.injection import TOP, environment
from tests.vaults import open_vault, tree_hashes, write_note

OUTSIDE = (
    *("../outside.md", "/etc/passwd", "..%2foutside.md", "~/x.md", "C:\\x.md", ".git/hooks/x"),
    *(".obsidian/app.json", ".amem/config.toml", "a/../../outside.md", "file:///etc/passwd"),
)


def test_commands_reach_no_file_outside(amem: Program) -> None:
    (amem.folder / "outside.md").write_text("secret walrus\n")
    amem.vault()
    before = tree_hashes(amem.folder)
    for name in OUTSIDE:
        for line in (["show", name], ["rm", name]):
            answer = amem(*line)
            assert answer.code in (1, 3), answer.err
            assert "secret" not in answer.out + answer.err and "root:" not in answer.out
    assert tree_hashes(amem.folder) == before


def test_links_lead_nowhere_and_scanning_ends(tmp_path: Path) -> None:
    (tmp_path / "elsewhere").mkdir()
    (tmp_path / "elsewhere/secret.md").write_text("secret\n")
    root = tmp_path / "vault"
    write_note(root, "good.md", "walrus\n")
    (root / "file.md").symlink_to(tmp_path / "elsewhere/secret.md")
    (root / "dangling.md").symlink_to("nowhere.md")
    (root / "loop.md").symlink_to("loop.md")
    (root / "folder").symlink_to(tmp_path / "elsewhere")
    (root / "up").symlink_to(root)
    (root / "slash").symlink_to("/")
    os.mkfifo(root / "pipe.md")
    problems: list[Problem] = []
    vault = VaultFolder(root)
    assert [state.path for state in vault.scan(problems)] == ["good.md"]
    assert {problem.path for problem in problems} == {
        *("file.md", "dangling.md", "loop.md", "pipe.md"),
    }
    for path in ("file.md", "folder/secret.md", "up/good.md", "loop.md", "pipe.md"):
        with pytest.raises(AmemError):
            vault.read(path)
        with pytest.raises(AmemError):
            vault.write(path, b"x", expected=sha256(b"secret\n"))
        with pytest.raises(AmemError):
            vault.write(f"{path}/new.md", b"x", expected=None)
    with pytest.raises(UnsafePath):
        vault.write("folder/new.md", b"x", expected=None)
    assert tree_hashes(tmp_path / "elsewhere") == {"secret.md": sha256(b"secret\n")}


SWAP = """
import os, select, shutil, sys, time
os.chdir(sys.argv[1])
swaps = 0
while not select.select([sys.stdin], [], [], 0.0005)[0]:
    os.rename("notes", "aside")
    # The vault may make the folder anew in an instant without one.
    try:
        os.symlink(sys.argv[2], "notes")
        time.sleep(0.0005)
        os.unlink("notes")
        swaps += 1
        if swaps == 50:
            open(sys.argv[3], "x").close()
    except OSError:
        pass
    while os.path.exists("aside"):
        shutil.rmtree("notes", ignore_errors=True)
        try:
            os.rename("aside", "notes")
        except OSError:
            pass
"""


def test_a_link_put_in_the_way_at_any_moment_leads_nowhere(tmp_path: Path) -> None:
    root, outside, enough = tmp_path / "vault", tmp_path / "outside", tmp_path / "enough"
    write_note(root, "notes/n.md", "mine\n")
    outside.mkdir()
    (outside / "n.md").write_bytes(b"mine\n")
    (outside / "secret.md").write_bytes(b"secret\n")
    command = [sys.executable, "-c", SWAP, *map(str, (root, outside, enough))]
    swapper = subprocess.Popen(command, stdin=subprocess.PIPE)
    vault = VaultFolder(root)
    text = b"mine\n"
    written = number = 0
    read = []
    try:
        while number < 800 or not (enough.exists() and written > 10):
            number += 1
            for name in ("n.md", "secret.md"):
                try:
                    read.append(vault.read(f"notes/{name}").raw)
                except AmemError:
                    continue
            read += [state.path.encode() for state in vault.scan() if "secret" in state.path]
            new = f"mine {number}\n".encode()
            try:
                vault.write("notes/n.md", new, expected=sha256(text))
                text, written = new, written + 1
                vault.write(f"notes/new {number}.md", new, expected=None)
            except AmemError:
                continue
    finally:
        swapper.communicate()
    assert sorted(path.name for path in outside.iterdir()) == ["n.md", "secret.md"]
    assert (outside / "n.md").read_bytes() == b"mine\n"
    assert b"secret\n" not in read and b"notes/secret.md" not in read
    assert (root / "notes/n.md").read_bytes() == text


def test_what_notes_link_to_is_never_opened(tmp_path: Path) -> None:
    if shutil.which("strace") is None:
        pytest.skip("strace is not installed")
    targets = ["../../outside", "/etc/hostname", "file:///etc/hostname", "javascript:alert(1)"]
    links = "\n".join(f'  - "[[{target}]]"' for target in [*targets, "http://127.0.0.1:9/x"])
    body = "".join(f"[[{target}]] [a]({target}) ![[{target}]]\n" for target in targets)
    root = tmp_path / "a/vault"
    write_note(root, "n.md", f"---\nlinks:\n{links}\n---\n{body}![x](http://127.0.0.1:9/x.png)\n")
    (tmp_path / "outside.md").write_text("secret\n")
    command = [sys.executable, "-m", "tests.faults.driver", str(root), "evolve"]
    trace = tmp_path / "trace"
    calls = "trace=%file,connect,sendto"
    done = subprocess.run(
        ["strace", "-f", "-e", calls, "-o", str(trace), *command],
        cwd=TOP,
        env=environment(),
        capture_output=True,
        text=True,
        check=False,
    )
    if not trace.exists() or "ptrace" in done.stderr:
        pytest.skip("strace may not follow processes here")
    assert done.returncode == 0, done.stderr
    called = trace.read_text()
    assert "n.md" in called
    for target in ("outside.md", "/etc/hostname", "connect(", "x.png"):
        assert target not in called


def test_a_folder_that_cannot_be_listed_is_told_and_the_rest_is_found(tmp_path: Path) -> None:
    write_note(tmp_path, "good.md", "walrus\n")
    (tmp_path / "state").mkdir()
    vault = VaultFolder(tmp_path)
    shutil.rmtree(tmp_path / "state")
    problems: list[Problem] = []
    found = vault.scan(problems)
    (tmp_path / "later").mkdir()
    states = []
    for state in found:
        states.append(state.path)
        (tmp_path / "later").rmdir()
    assert states == ["good.md"]
    assert [(problem.path, problem.message) for problem in problems] == [
        ("later", "cannot be read: No such file or directory")
    ]


def test_the_vault_itself_may_be_reached_through_a_link(tmp_path: Path) -> None:
    write_note(tmp_path / "real", "n.md", "walrus\n")
    (tmp_path / "link").symlink_to("real")
    ports = open_vault(tmp_path / "link")
    assert synchronise(ports).added == ("n.md",)
