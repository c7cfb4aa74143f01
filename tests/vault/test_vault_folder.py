"""The folder of notes: what is found, read, refused and written."""

from __future__ import annotations

import os
import stat
import subprocess
import sys
import threading
import time
from pathlib import Path

import pytest

from amem_cli.errors import NotFoundError, SettingsError, UnsafePath, WriteConflict
from amem_cli.index.connection import Database
from amem_cli.system.leases import devices_of_servers
from amem_cli.vault.dir_handle import OpenFolder, make_own_folder
from amem_cli.vault.folder import MAX_NOTE_BYTES, VaultFolder
from amem_cli.vault.safe_write import replace_in, sha256


def scanned(vault: VaultFolder) -> set[str]:
    return {state.path for state in vault.scan()}


def test_notes_anywhere_but_in_dot_folders_are_found(tmp_path: Path) -> None:
    for name in ("a.md", "notes/b.md", "x/y/ü.md", ".obsidian/c.md", ".trash/d.md", "e.txt"):
        path = tmp_path / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text("x")
    (tmp_path / "templates").mkdir()
    (tmp_path / "templates" / "t.md").write_text("x")
    assert scanned(VaultFolder(tmp_path)) == {"a.md", "notes/b.md", "x/y/ü.md", "templates/t.md"}
    excluded = VaultFolder(tmp_path, excluded=["templates"])
    assert "templates/t.md" not in scanned(excluded)


@pytest.mark.parametrize(
    "path",
    [
        "../x.md",
        "/etc/passwd",
        "a/../../x.md",
        ".obsidian/x.md",
        ".git/hooks/x",
        "a\0b.md",
        "a\\b.md",
        "",
        "notes/../.amem/x.md",
    ],
)
def test_paths_out_of_the_vault_are_refused(tmp_path: Path, path: str) -> None:
    vault = VaultFolder(tmp_path)
    with pytest.raises(UnsafePath):
        vault.locate(path)
    with pytest.raises(UnsafePath):
        vault.write(path, b"x", expected=None)


def test_a_name_that_is_a_drive_elsewhere_is_read_and_never_made(tmp_path: Path) -> None:
    vault = VaultFolder(tmp_path)
    with pytest.raises(UnsafePath):
        vault.write("C:x.md", b"x", expected=None)
    (tmp_path / "A: introduction.md").write_bytes(b"one")
    assert scanned(vault) == {"A: introduction.md"}
    vault.write("A: introduction.md", b"two", expected=sha256(b"one"))
    assert vault.read("A: introduction.md").raw == b"two"


def test_a_large_note_is_read_in_part_and_never_written(tmp_path: Path) -> None:
    with (tmp_path / "big.md").open("wb") as stream:
        stream.truncate(MAX_NOTE_BYTES * 3)
    vault = VaultFolder(tmp_path)
    content = vault.read("big.md")
    assert content.cut
    assert len(content.raw) == MAX_NOTE_BYTES
    with pytest.raises(SettingsError):
        vault.write("big.md", b"x", expected=content.sha)


def test_a_write_keeps_the_mode_and_leaves_nothing_behind(tmp_path: Path) -> None:
    note = tmp_path / "a.md"
    note.write_bytes(b"one")
    note.chmod(0o640)
    VaultFolder(tmp_path).write("a.md", b"two", expected=sha256(b"one"))
    assert note.read_bytes() == b"two"
    assert stat.S_IMODE(note.stat().st_mode) == 0o640
    assert [path.name for path in tmp_path.iterdir()] == ["a.md"]


def test_a_write_on_another_version_is_refused(tmp_path: Path) -> None:
    note = tmp_path / "a.md"
    note.write_bytes(b"the person's")
    with pytest.raises(WriteConflict):
        VaultFolder(tmp_path).write("a.md", b"the machine's", expected=sha256(b"older"))
    assert note.read_bytes() == b"the person's"


def test_a_note_to_create_must_not_exist(tmp_path: Path) -> None:
    vault = VaultFolder(tmp_path)
    vault.write("notes/a.md", b"one", expected=None)
    with pytest.raises(FileExistsError):
        vault.write("notes/a.md", b"two", expected=None)
    assert (tmp_path / "notes/a.md").read_bytes() == b"one"


def test_hard_linked_and_read_only_notes_are_not_written(tmp_path: Path) -> None:
    (tmp_path / "a.md").write_bytes(b"one")
    os.link(tmp_path / "a.md", tmp_path / "b.md")
    (tmp_path / "c.md").write_bytes(b"one")
    (tmp_path / "c.md").chmod(0o444)
    for name in ("a.md", "c.md"):
        with pytest.raises(SettingsError):
            VaultFolder(tmp_path).write(name, b"two", expected=sha256(b"one"))
        assert (tmp_path / name).read_bytes() == b"one"


EDITOR = """
import os, sys
path, mode, count = sys.argv[1], sys.argv[2], int(sys.argv[3])
for number in range(count):
    text = open(path).read()
    while not text.startswith("head"):
        text = open(path).read()
    text += f"line {number}\\n"
    if mode == "atomic":
        with open(path + ".editor", "w") as stream:
            stream.write(text)
        os.replace(path + ".editor", path)
    else:
        with open(path, "w") as stream:
            stream.write(text)
"""


@pytest.mark.parametrize("mode", ["atomic", "in place"])
def test_no_save_of_an_editor_is_lost(tmp_path: Path, mode: str) -> None:
    note = tmp_path / "n.md"
    note.write_bytes(b"head 0\n")
    vault = VaultFolder(tmp_path)
    stop = threading.Event()

    def machine() -> None:
        number = 0
        while not stop.is_set():
            try:
                raw = vault.read("n.md").raw
                if not raw.startswith(b"head") or b"\n" not in raw:
                    continue
                number += 1
                new = b"head %d\n" % number + raw.split(b"\n", 1)[1]
                vault.write("n.md", new, expected=sha256(raw))
            except (WriteConflict, NotFoundError):
                continue

    worker = threading.Thread(target=machine)
    worker.start()
    command = [sys.executable, "-c", EDITOR, str(note), mode, "800"]
    subprocess.run(command, check=True)
    stop.set()
    worker.join()
    # This editor may take over what the machine wrote between two of its own saves; the save that
    # is then missing in the note is kept beside it, and a scan moves it to the trash.
    kept = [note, *tmp_path.glob(".amem-*.tmp")]
    lines = {line for path in kept for line in path.read_text().splitlines()[1:]}
    assert lines == {f"line {number}" for number in range(800)}


class _SavingTwice(OpenFolder):
    """A folder in which an editor saves right before the first exchange and right after another.

    Args:
        after: the exchange, from 1, after which it saves again.
    """

    def __init__(self, path: Path, *, after: int) -> None:
        super().__init__(path)
        self._place_of = path
        self._exchanges = 0
        self._after = after

    def exchange(self, one: str, other: str) -> bool:
        self._exchanges += 1
        if self._exchanges == 1:
            self._save(other, b"first save")
        done = super().exchange(one, other)
        if self._exchanges == self._after:
            self._save(other, b"second save")
        return done

    def _save(self, name: str, text: bytes) -> None:
        (self._place_of / "editor").write_bytes(text)
        self.replace("editor", name)


@pytest.mark.skipif(sys.platform != "linux", reason="exchanges names in one step")
@pytest.mark.parametrize("after", [1, 2])
def test_the_last_of_two_saves_around_a_write_stands_and_the_other_is_kept(
    tmp_path: Path, after: int
) -> None:
    # An editor that read between the exchanges saves over the first save what the machine wrote.
    note = tmp_path / "n.md"
    note.write_bytes(b"as read")
    with _SavingTwice(tmp_path, after=after) as folder, pytest.raises(WriteConflict):
        replace_in(folder, "n.md", b"the machine's", expected=sha256(b"as read"))
    assert note.read_bytes() == b"second save"
    kept = {path.read_bytes() for path in tmp_path.glob(".amem-*")}
    assert b"first save" in kept <= {b"first save", b"second save"}


@pytest.mark.skipif(sys.platform != "linux", reason="asks for a lease")
def test_a_file_that_another_program_is_writing_is_left_to_it(tmp_path: Path) -> None:
    note = tmp_path / "n.md"
    note.write_bytes(b"as read\n")
    vault = VaultFolder(tmp_path)
    with note.open("ab") as log:
        with pytest.raises(WriteConflict, match="being written"):
            vault.write("n.md", b"the machine's", expected=sha256(b"as read\n"))
        log.write(b"one line more\n")
    assert note.read_bytes() == b"as read\none line more\n"
    assert [path.name for path in tmp_path.iterdir()] == ["n.md"]
    vault.write("n.md", b"the machine's", expected=sha256(b"as read\none line more\n"))
    assert note.read_bytes() == b"the machine's"


def test_a_refused_lease_tells_of_no_writer_where_a_server_decides_on_leases() -> None:
    mounts = (
        "23 28 254:0 / / rw,relatime shared:1 - ext4 /dev/vda rw\n"
        "90 23 0:51 / /a\\040b rw - nfs4 server:/export rw,vers=4.2\n"
        "91 23 0:52 / /c rw shared:9 master:2 - cifs //server/share rw\n"
        "92 23 0:53 / /d rw - nfs server:/nfs rw\n"
        "93 23 0:54 / /e rw - fuse.sshfs server:/ rw\n"
    )
    assert devices_of_servers(mounts) == {(0, 51), (0, 52), (0, 53)}


def test_trash_keeps_every_version(tmp_path: Path) -> None:
    vault = VaultFolder(tmp_path)
    places = []
    for text in (b"one", b"two"):
        vault.write("notes/a.md", text, expected=None)
        places.append(vault.move_to_trash("notes/a.md"))
    assert [(tmp_path / place).read_bytes() for place in places] == [b"one", b"two"]
    assert not vault.exists("notes/a.md")


def test_what_a_killed_write_left_goes_to_the_trash(tmp_path: Path) -> None:
    (tmp_path / "notes").mkdir()
    for name, age in ((".amem-0123.tmp", 7200), (".amem-4567.tmp", 0)):
        left = tmp_path / "notes" / name
        left.write_text("a save")
        moment = time.time() - age
        os.utime(left, (moment, moment))
    assert scanned(VaultFolder(tmp_path)) == set()
    assert [path.read_text() for path in (tmp_path / ".trash").iterdir()] == ["a save"]
    assert (tmp_path / "notes" / ".amem-4567.tmp").exists()


def test_what_a_killed_write_left_is_deleted_if_a_note_beside_it_holds_it(tmp_path: Path) -> None:
    (tmp_path / "Kept.md").write_text("Whole.\n")
    for name, text in (("01", "Whole.\n"), ("02", ""), ("03", "Mine, and lost else.\n")):
        left = tmp_path / f".amem-{name}.tmp"
        left.write_text(text)
        os.utime(left, (0, 0))
    assert scanned(VaultFolder(tmp_path)) == {"Kept.md"}
    kept = [path.read_text() for path in (tmp_path / ".trash").iterdir()]
    assert kept == ["Mine, and lost else.\n"]
    assert not list(tmp_path.glob(".amem-*"))


def test_a_link_beside_what_a_killed_write_left_keeps_nothing_from_the_trash(
    tmp_path: Path,
) -> None:
    (tmp_path / "Link.md").symlink_to("elsewhere")
    left = tmp_path / ".amem-01.tmp"
    left.write_text("just mine")
    os.utime(left, (0, 0))
    scanned(VaultFolder(tmp_path))
    assert [path.read_text() for path in (tmp_path / ".trash").iterdir()] == ["just mine"]


def test_a_vault_that_is_gone_is_not_begun_anew(tmp_path: Path) -> None:
    state = tmp_path / "gone/.amem"
    with pytest.raises(FileNotFoundError):
        make_own_folder(state / "journal")
    index = Database(state / "index.db")
    assert index.temporary
    index.close()
    assert not (tmp_path / "gone").exists()
