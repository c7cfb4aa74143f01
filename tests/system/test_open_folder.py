"""What a folder promises, whether the system has handles of folders and exchanges names or not."""

from __future__ import annotations

import errno
import os
import stat
import sys
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest

from amem_cli.errors import NoteInUse
from amem_cli.system.files import is_link
from amem_cli.vault import dir_handle
from amem_cli.vault.dir_handle import OpenFolder
from amem_cli.vault.folder import VaultFolder
from amem_cli.vault.safe_write import sha256

WAYS = ["names alone"] if sys.platform == "win32" else ["handles", "no renameat2", "names alone"]


@pytest.fixture(params=WAYS, autouse=True)
def way(request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch) -> None:
    """Linux has everything; macOS exchanges no names here, Windows has no handles either."""
    if request.param != "handles":
        monkeypatch.setattr(dir_handle, "_renameat2", lambda: None)
    if request.param == "names alone":
        monkeypatch.setattr(dir_handle, "_BY_HANDLE", False)


@pytest.fixture
def folder(tmp_path: Path) -> Iterator[OpenFolder]:
    (tmp_path / "mine.md").write_bytes(b"mine")
    (tmp_path / "new").write_bytes(b"new")
    with OpenFolder(tmp_path) as opened:
        yield opened


def test_what_is_missing_is_told_from_what_is_no_folder(tmp_path: Path, folder: OpenFolder) -> None:
    for place in (lambda: OpenFolder(tmp_path / "none"), lambda: folder.enter("none")):
        with pytest.raises(FileNotFoundError):
            place()
    for place in (lambda: OpenFolder(tmp_path / "new"), lambda: folder.enter("new")):
        with pytest.raises(NotADirectoryError):
            place()


def test_a_free_name_is_given_and_a_taken_one_is_not(tmp_path: Path, folder: OpenFolder) -> None:
    ways: list[Callable[[str, str], None]] = [
        folder.name_own,
        lambda source, target: folder.move(source, folder, target),
    ]
    for number, give in enumerate(ways):
        with pytest.raises(FileExistsError):
            give("new", "mine.md")
        assert (tmp_path / "mine.md").read_bytes() == b"mine"
        give("new", f"{number}.md")
        assert (tmp_path / f"{number}.md").read_bytes() == b"new"
        assert not (tmp_path / "new").exists()
        (tmp_path / "new").write_bytes(b"new")


def test_a_disk_without_hard_links_names_a_new_file_too(
    tmp_path: Path, folder: OpenFolder, monkeypatch: pytest.MonkeyPatch
) -> None:
    def refuse(*_: object, **__: object) -> None:
        raise OSError(errno.EINVAL, "Invalid argument")

    monkeypatch.setattr(os, "link", refuse)
    folder.name_own("new", "n.md")
    assert (tmp_path / "n.md").read_bytes() == b"new"
    assert not (tmp_path / "new").exists()


def test_a_junction_of_windows_is_a_link() -> None:
    class Status:
        st_mode = stat.S_IFDIR | 0o777
        st_reparse_tag = 0xA0000003

    status: Any = Status()
    assert is_link(status)
    # The folders that OneDrive fills when they are opened have another tag.
    Status.st_reparse_tag = 0x9000001A
    assert not is_link(status)


class Holder:
    """Another program that has a file open, as the system tells those who replace or delete it."""

    def __init__(self, call: Callable[..., None], refusals: int, code: int) -> None:
        self.refusals, self._call, self._code = refusals, call, code

    def __call__(self, *given: object, **named: object) -> None:
        if self.refusals:
            self.refusals -= 1
            error = PermissionError(errno.EACCES, "Access is denied")
            error.winerror = self._code  # type: ignore[attr-defined,unused-ignore]
            raise error
        self._call(*given, **named)


@pytest.fixture
def hold(monkeypatch: pytest.MonkeyPatch) -> Callable[..., Holder]:
    monkeypatch.setattr(dir_handle, "_renameat2", lambda: None)

    def make(name: str, refusals: int, code: int = 5) -> Holder:
        holder = Holder(getattr(os, name), refusals, code)
        monkeypatch.setattr(os, name, holder)
        return holder

    return make


@pytest.mark.parametrize("code", [5, 32, 33, 1224])
def test_a_note_that_is_held_for_a_moment_is_written_then(
    tmp_path: Path, hold: Callable[..., Holder], code: int
) -> None:
    (tmp_path / "n.md").write_bytes(b"one")
    holder = hold("replace", 3, code)
    VaultFolder(tmp_path).write("n.md", b"two", expected=sha256(b"one"))
    assert (tmp_path / "n.md").read_bytes() == b"two"
    assert [path.name for path in tmp_path.iterdir()] == ["n.md"]
    assert holder.refusals == 0


def test_a_note_that_stays_held_is_left_as_it_is_and_said_to_be_in_use(
    tmp_path: Path, hold: Callable[..., Holder], monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "n.md").write_bytes(b"one")
    hold("replace", 1_000_000)
    waited: list[float] = []
    monkeypatch.setattr("amem_cli.system.files.time.sleep", waited.append)
    moments = iter(range(1000))
    monkeypatch.setattr("amem_cli.system.files.time.monotonic", lambda: next(moments) / 10)
    with pytest.raises(NoteInUse, match=r"^n\.md is held open by another program$"):
        VaultFolder(tmp_path).write("n.md", b"two", expected=sha256(b"one"))
    assert (tmp_path / "n.md").read_bytes() == b"one"
    assert [path.name for path in tmp_path.iterdir()] == ["n.md"]
    # Again and again, ever more seldom, and not for ever.
    assert waited == sorted(waited)
    assert 5 < len(waited) < 50


def test_another_refusal_is_told_at_once(
    tmp_path: Path, hold: Callable[..., Holder], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("amem_cli.system.files.time.sleep", lambda _: pytest.fail("it waited"))
    hold("unlink", 1, 3)
    (tmp_path / "x").write_bytes(b"x")
    with OpenFolder(tmp_path) as folder, pytest.raises(PermissionError):
        folder.unlink("x")
