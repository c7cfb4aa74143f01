"""A note is written whole and kept as it is where writing it fails, at whichever system call."""

from __future__ import annotations

import os
import shutil
import stat
import subprocess
import sys
import tempfile
from collections.abc import Sequence
from pathlib import Path

import pytest

from amem_cli.errors import SettingsError, WriteConflict
from amem_cli.notes.note import body_bytes
from amem_cli.vault.folder import VaultFolder
from amem_cli.vault.safe_write import sha256
from tests.faults.driver import TEXT
from tests.faults.injection import (
    OLD,
    TOP,
    FaultyRuns,
    check_recovered,
    check_recovered_from_a_kill,
    environment,
    faulty,
    make_vault,
)
from tests.vaults import tree_hashes

__all__ = ["faulty"]

FAILURES = {
    "write": ("ENOSPC",),
    "fsync": ("EIO",),
    "renameat2": ("EACCES", "EXDEV"),
    "fchmod": ("EPERM",),
    "mkdirat": ("EACCES",),
    "unlinkat": ("EIO",),
}
CASES = [(call, error) for call, errors in FAILURES.items() for error in errors]


def check_notes(root: Path, action: str, *, done: bool) -> None:
    """Every note is the old one or the new one, whole."""
    trains = root / "notes/Trains.md"
    old = root / "notes/Lamination.md"
    if action == "evolve":
        assert body_bytes(trains.read_bytes()) == b"Trains are late in winter.\r\n"
        assert body_bytes(old.read_bytes()) == b"Lamination of dough.\n"
        assert b'  - butter # mine\nmood: "fine"\n' in old.read_bytes()
        return
    assert trains.read_bytes() == b"Trains are late in winter.\r\n"
    new = root / "notes/Torn dough.md"
    if action == "add":
        assert old.read_bytes() == OLD.encode()
        assert new.exists() or not done
        assert not new.exists() or new.read_bytes().endswith(b"---\n" + TEXT.encode())
    elif action == "update":
        changed = OLD.replace("# mine\n", "# mine\n  - dough\n").replace(
            "Lamination of dough.\n", TEXT
        )
        assert old.read_bytes() in (
            (changed.encode(),) if done else (OLD.encode(), changed.encode())
        )
    else:
        trashed = root / ".trash/Lamination.md"
        # Where the removal was taken back, the trash may keep a copy.
        assert {each.read_bytes() for each in (old, trashed) if each.exists()} == {OLD.encode()}
        assert not (done and old.exists())


@pytest.mark.parametrize("action", ["add", "update", "remove", "evolve"])
@pytest.mark.parametrize(("call", "error"), CASES)
@pytest.mark.slow
def test_a_failing_system_call_loses_nothing(
    tmp_path: Path, faulty: FaultyRuns, action: str, call: str, error: str
) -> None:
    make_vault(tmp_path / "vault")
    for number in range(1, 200):
        root = tmp_path / f"v{number}"
        shutil.copytree(tmp_path / "vault", root)
        fault = faulty.run(root, action, f"{call}:error={error}:when={number}")
        assert fault.code in (0, 3), f"{call} {number}: {fault.told}"
        check_notes(root, action, done=fault.code == 0)
        check_recovered(root)
        check_notes(root, action, done=fault.code == 0)
        shutil.rmtree(root)
        if not fault.happened:
            return
    raise AssertionError("the action never ended without the fault")


@pytest.mark.parametrize("action", ["add", "update", "remove"])
def test_a_note_that_cannot_be_opened_is_told(
    tmp_path: Path, faulty: FaultyRuns, action: str
) -> None:
    make_vault(tmp_path / "vault")
    shutil.copytree(tmp_path / "vault", tmp_path / "plain")
    calls = faulty.run(tmp_path / "plain", action, "openat:delay_exit=1").calls
    ours = (".amem-", '.md"', '"notes"', '".trash"')
    numbers = [at for at, call in enumerate(calls, 1) if any(name in call for name in ours)]
    assert len(numbers) > 5
    for number in numbers:
        root = tmp_path / f"v{number}"
        shutil.copytree(tmp_path / "vault", root)
        fault = faulty.run(root, action, f"openat:error=EMFILE:when={number}")
        assert fault.code in (0, 1, 3), f"{calls[number - 1]}: {fault.told}"
        check_recovered(root)
        check_notes(root, action, done=fault.code == 0)


@pytest.mark.slow
def test_a_killed_write_leaves_every_note_whole(tmp_path: Path, faulty: FaultyRuns) -> None:
    make_vault(tmp_path / "vault")
    for action in ("add", "update", "remove", "evolve"):
        for call in ("write", "fsync", "renameat2", "unlinkat"):
            for number in range(1, 100):
                root = tmp_path / f"{action}-{call}-{number}"
                shutil.copytree(tmp_path / "vault", root)
                fault = faulty.run(root, action, f"{call}:signal=SIGKILL:when={number}")
                assert fault.code in (0, -9), fault.told
                check_recovered_from_a_kill(root)
                check_notes(root, action, done=fault.code == 0)
                shutil.rmtree(root)
                if not fault.happened:
                    break


def test_a_note_is_durable_before_it_takes_its_place(tmp_path: Path, faulty: FaultyRuns) -> None:
    root = tmp_path / "vault"
    make_vault(root)
    harmless = "fsync:delay_exit=1"
    calls = [f"{call}:delay_exit=1" for call in ("renameat2", "unlink", "unlinkat")]
    fault = faulty.run(root, "update", harmless, *calls)
    assert fault.code == 0
    order = [call.split(" ", 1)[1].strip() for call in fault.calls]
    exchanged = next(index for index, call in enumerate(order) if "RENAME_EXCHANGE" in call)
    kept = next(index for index, call in enumerate(order) if "RENAME_NOREPLACE" in call)
    dropped = max(index for index, call in enumerate(order) if "unlink" in call and ".json" in call)
    # The intent and its folder, the new note, the exchange, its folder, the journal.
    assert order[kept - 1].startswith("fsync") and order[kept + 1].startswith("fsync")
    assert order[exchanged - 1].startswith("fsync")
    assert kept + 1 < exchanged - 1
    after = [call.split("(")[0] for call in order[exchanged + 1 : dropped]]
    assert after.count("fsync") >= 2


@pytest.mark.parametrize("links", [[], ["linkat:error=EPERM"]])
def test_a_file_system_without_exchanges_is_written_by_replacing(
    tmp_path: Path, faulty: FaultyRuns, links: list[str]
) -> None:
    for action in ("add", "update", "remove"):
        root = tmp_path / action
        make_vault(root)
        fault = faulty.run(root, action, "renameat2:error=EINVAL", *links)
        assert (fault.happened, fault.code) == (True, 0), fault.told
        check_notes(root, action, done=True)
        check_recovered(root)


IN_A_SMALL_DISK = """
set -e
mount -t tmpfs -o size=1m none "$1"
cp -r "$2/." "$1"
dd if=/dev/zero of="$1/filler" bs=1k count=2000 2>/dev/null || true
for action in add update evolve; do
    code=0; "$3" -m tests.faults.driver "$1" $action || code=$?
    echo "$action $code"
done
cp "$1"/notes/*.md "$4"
rm "$1/filler"
"$3" -m tests.faults.driver "$1" add
"$3" -m tests.faults.driver "$1" update
cp "$1"/notes/*.md "$5"
find "$1" -name '.amem-*'
ls "$1/.amem/intents"
"""


def needs_mounts() -> Sequence[str]:
    command = ["unshare", "--map-root-user", "--mount"] if os.geteuid() else ["unshare", "--mount"]
    if shutil.which("unshare") is None:
        pytest.skip("unshare is not installed")
    if subprocess.run([*command, "true"], capture_output=True, check=False).returncode:
        pytest.skip("this user may not mount a small disk")
    return command


@pytest.mark.slow
def test_a_full_disk_leaves_every_note_as_it_was(tmp_path: Path) -> None:
    unshare = needs_mounts()
    vault, disk, full, freed = (tmp_path / name for name in ("vault", "disk", "full", "freed"))
    make_vault(vault)
    for folder in (disk, full, freed):
        folder.mkdir()
    done = subprocess.run(
        [*unshare, "bash", "-c", IN_A_SMALL_DISK, "-", disk, vault, sys.executable, full, freed],
        cwd=TOP,
        env=environment(),
        capture_output=True,
        text=True,
        check=True,
    )
    assert done.stdout.split() == ["add", "3", "update", "3", "evolve", "0"], done.stderr
    # A batch goes on with the next note, and tells what became of each.
    assert done.stderr.count("No space left on device") == 4
    assert "Traceback" not in done.stderr
    notes = tree_hashes(vault / "notes")
    assert tree_hashes(full) == notes
    assert set(tree_hashes(freed)) == {*notes, "Torn dough.md"}
    assert (freed / "Lamination.md").read_bytes().endswith(TEXT.encode())


def test_a_limit_on_file_sizes_or_open_files_is_told(tmp_path: Path) -> None:
    script = """
import resource, sys
from pathlib import Path
from amem_cli.vault.folder import VaultFolder
from amem_cli.errors import SettingsError
limit = getattr(resource, sys.argv[2])
vault = VaultFolder(Path(sys.argv[1]))
resource.setrlimit(limit, (4, resource.getrlimit(limit)[1]))
try:
    vault.write("n.md", b"text of a note", expected=None)
except SettingsError as error:
    print(error.message, "|", error.hint)
"""
    for limit, told in (("RLIMIT_FSIZE", "ulimit -f"), ("RLIMIT_NOFILE", "permissions")):
        done = subprocess.run(
            [sys.executable, "-c", script, str(tmp_path), limit],
            env=environment(),
            capture_output=True,
            text=True,
            check=True,
        )
        assert "cannot" in done.stdout and (told in done.stdout or "ulimit -n" in done.stdout)
        assert list(tmp_path.iterdir()) == []


def test_a_write_keeps_owner_mode_and_labels(tmp_path: Path) -> None:
    note = tmp_path / "n.md"
    note.write_bytes(b"one")
    note.chmod(0o640)
    try:
        os.setxattr(note, "user.colour", b"red")
    except OSError:
        pytest.skip("this file system knows no labels")
    if os.geteuid() == 0:
        os.chown(note, 65534, 65533)
    before = note.stat()
    VaultFolder(tmp_path).write("n.md", b"two", expected=sha256(b"one"))
    after = note.stat()
    assert note.read_bytes() == b"two"
    assert (after.st_mode, after.st_uid, after.st_gid) == (
        before.st_mode,
        before.st_uid,
        before.st_gid,
    )
    assert os.getxattr(note, "user.colour") == b"red"


def test_a_new_note_follows_the_folders_group_and_the_umask(tmp_path: Path) -> None:
    shared = tmp_path / "notes"
    shared.mkdir()
    if os.geteuid() == 0:
        os.chown(shared, 0, 65533)
    shared.chmod(0o2775)
    before = os.umask(0o027)
    try:
        VaultFolder(tmp_path).write("notes/n.md", b"one", expected=None)
    finally:
        os.umask(before)
    status = (shared / "n.md").stat()
    assert stat.S_IMODE(status.st_mode) == 0o640
    assert status.st_gid == shared.stat().st_gid


def as_nobody(script: str, *arguments: object) -> str:
    """Run Python without root's rights; returns what it printed."""
    if os.geteuid() == 0:
        script = "import os; os.setgroups([]); os.setegid(65534); os.seteuid(65534)\n" + script
    # Modules are loaded first: nobody may not be allowed to read them.
    loading = (
        "import ctypes, hashlib, secrets, shutil, sys, tempfile\nfrom pathlib import Path\n"
        "from amem_cli.errors import AmemError\n"
        "from amem_cli.vault.folder import VaultFolder\n"
        "from amem_cli.vault.safe_write import sha256\n"
    )
    done = subprocess.run(
        [sys.executable, "-c", loading + script, *map(str, arguments)],
        env=environment(),
        capture_output=True,
        text=True,
        check=True,
    )
    return done.stdout


READ_ONLY = """
vault = VaultFolder(Path(sys.argv[1]))
problems = []
print([state.path for state in vault.scan(problems)], len(problems))
for work in (
    lambda: vault.write("new.md", b"x", expected=None),
    lambda: vault.write("more/new.md", b"x", expected=None),
    lambda: vault.write("n.md", b"two", expected=sha256(b"one")),
    lambda: vault.move_to_trash("n.md"),
    lambda: vault.read("secret.md"),
):
    try:
        work()
        print("done")
    except AmemError as error:
        print(type(error).__name__)
"""


def test_a_read_only_vault_is_read_and_told() -> None:
    # Not in the folder of the tests, which nobody else may enter.
    with tempfile.TemporaryDirectory() as folder:
        Path(folder).chmod(0o755)
        root = Path(folder) / "vault"
        root.mkdir()
        for name, mode in (("n.md", 0o666), ("secret.md", 0o000)):
            (root / name).write_bytes(b"one")
            (root / name).chmod(mode)
        root.chmod(0o555)
        printed = as_nobody(READ_ONLY, root).splitlines()
        assert printed[0] in ("['n.md', 'secret.md'] 0", "['secret.md', 'n.md'] 0")
        assert printed[1:] == ["SettingsError"] * 4 + ["NotFoundError"]
        assert sorted(path.name for path in root.iterdir()) == ["n.md", "secret.md"]
        assert (root / "n.md").read_bytes() == b"one"
        root.chmod(0o755)


def test_a_note_that_went_away_is_a_conflict(tmp_path: Path) -> None:
    vault = VaultFolder(tmp_path)
    (tmp_path / "folder.md").mkdir()
    for path in ("gone.md", "no folder/gone.md", "gone.md/x.md"):
        with pytest.raises(WriteConflict):
            vault.write(path, b"two", expected=sha256(b"one"))
        with pytest.raises(WriteConflict):
            vault.move_to_trash(path)
    with pytest.raises(SettingsError, match="regular file"):
        vault.write("folder.md", b"two", expected=sha256(b""))
    assert [path.name for path in tmp_path.iterdir()] == ["folder.md", ".trash"]


def test_a_trash_that_cannot_be_used_is_told(tmp_path: Path) -> None:
    (tmp_path / "n.md").write_bytes(b"one")
    (tmp_path / ".trash").write_bytes(b"a file")
    with pytest.raises(SettingsError):
        VaultFolder(tmp_path).move_to_trash("n.md")
    assert (tmp_path / "n.md").read_bytes() == b"one"
