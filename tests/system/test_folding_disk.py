"""On a disk that takes `Note.md` and `note.md` for one, no note is overwritten or doubled."""

from __future__ import annotations

import sys
import unicodedata
from pathlib import Path

import pytest

from amem_cli.editing.add import NewNote, add
from amem_cli.editing.edit import FieldEdits, remove, update
from amem_cli.editing.move import move
from amem_cli.editing.undo import undo
from amem_cli.errors import AmemError, WriteConflict
from amem_cli.exchange.import_notes import import_notes
from amem_cli.exchange.open_source import open_source
from amem_cli.index.memory_index import VaultPorts
from amem_cli.index.records import NoteSummary
from amem_cli.index.sync import check_index, synchronise
from amem_cli.vault.folder import VaultFolder
from amem_cli.vault.safe_write import sha256
from tests.faults.test_names import TITLES
from tests.system.folding_disk import FoldingDisk
from tests.vaults import open_vault, summary_of, write_note

# The disks of Windows and macOS do so by themselves.
# Windows tells the forms of accents apart.
TWINS = ("ÉTÉ.md", "été.md") if sys.platform == "win32" else ("été.md", "e\u0301TE\u0301.md")
DISKS = ["real"] if sys.platform in ("win32", "darwin") else ["as given", "decomposed"]


@pytest.fixture(params=DISKS, autouse=True)
def disk(request: pytest.FixtureRequest, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    if request.param != "real":
        FoldingDisk(tmp_path, decomposes=request.param == "decomposed").install(monkeypatch)
    else:
        (tmp_path / "probe").touch()
        (tmp_path / "probe").rename(tmp_path / "PROBE")
        renamed = [path.name for path in tmp_path.iterdir()] == ["PROBE"]
        (tmp_path / "PROBE").unlink(missing_ok=True)
        # Wine leaves a name as it is, and some disks tell case apart.
        if not renamed or not tmp_path.with_name(tmp_path.name.swapcase()).exists():
            pytest.skip("no disk that folds names and renames them in case")


def listed(folder: Path) -> list[str]:
    """The names of a folder's notes as they are stored, in composed form."""
    names = (unicodedata.normalize("NFC", each.name) for each in folder.iterdir())
    return sorted(name for name in names if name.endswith(".md"))


def note_at(ports: VaultPorts, path: str) -> NoteSummary:
    summary = summary_of(ports, path)
    return summary


def test_the_disk_folds_names(tmp_path: Path) -> None:
    (tmp_path / "Été.md").write_text("x")
    for twin in TWINS:
        assert (tmp_path / twin).read_text() == "x"
    with pytest.raises(FileExistsError):
        (tmp_path / "été.md").open("x")
    assert listed(tmp_path) == ["Été.md"]


def test_titles_that_differ_only_in_case_or_accents_get_a_file_each(tmp_path: Path) -> None:
    ports = open_vault(tmp_path / "v")
    texts = {add(ports, NewNote(f"text {n}", title=title)): n for n, title in enumerate(TITLES)}
    assert len(listed(tmp_path / "v/notes")) == len(texts) == len(TITLES)
    for path, number in texts.items():
        assert ports.vault.read(path).raw.endswith(f"text {number}\n".encode())
    synchronise(ports)
    assert check_index(ports) == []
    assert ports.index.notes.count() == len(TITLES)


def test_a_new_note_can_be_changed_at_once(ports: VaultPorts) -> None:
    path = add(ports, NewNote("text", title="Été"))
    update(ports, note_at(ports, path), FieldEdits(add_tags=["mine"]))
    synchronise(ports)
    (now,) = (state.path for state in ports.vault.scan())
    assert note_at(ports, now).tags == ("mine",)
    assert (ports.index.notes.count(), check_index(ports)) == (1, [])


def test_a_new_note_replaces_no_twin(tmp_path: Path) -> None:
    vault = VaultFolder(tmp_path)
    vault.write("Été.md", b"mine", expected=None)
    for twin in TWINS:
        with pytest.raises(FileExistsError):
            vault.write(twin, b"theirs", expected=None)
    vault.write("Other.md", b"other", expected=None)
    with pytest.raises(FileExistsError):
        vault.move("Other.md", "ÉTÉ.md")
    assert vault.read("Other.md").raw == b"other"
    assert vault.read("Été.md").raw == b"mine"


def test_a_note_is_renamed_in_case_alone_and_back(tmp_path: Path, ports: VaultPorts) -> None:
    write_note(tmp_path, "Walrus.md", "Of tusks.\n")
    write_note(tmp_path, "Seal.md", "See [[Walrus]].\n")
    synchronise(ports)
    done = move(ports, note_at(ports, "Walrus.md"), "WALRUS")
    assert done.path == "WALRUS.md"
    assert listed(tmp_path) == ["Seal.md", "WALRUS.md"]
    assert (ports.index.notes.count(), check_index(ports)) == (2, [])
    undo(ports, done.event)
    assert listed(tmp_path) == ["Seal.md", "Walrus.md"]
    assert ports.vault.read("Walrus.md").raw.endswith(b"Of tusks.\n")
    assert (ports.index.notes.count(), check_index(ports)) == (2, [])


def test_a_note_is_not_renamed_over_a_twin(tmp_path: Path, ports: VaultPorts) -> None:
    write_note(tmp_path, "a.md", "one\n")
    write_note(tmp_path, "b.md", "two\n")
    synchronise(ports)
    with pytest.raises(AmemError):
        move(ports, note_at(ports, "a.md"), "B")
    assert (tmp_path / "a.md").read_text() == "one\n"
    assert (tmp_path / "b.md").read_text() == "two\n"


def test_a_rename_in_case_by_another_program_is_followed(tmp_path: Path, ports: VaultPorts) -> None:
    path = add(ports, NewNote("text", title="Note", folder="Notes"))
    (tmp_path / "Notes/Note.md").rename(tmp_path / "Notes/NOTE.md")
    # What a watcher hints at: both names, or only one of them.
    for hints in ({path}, {path, "Notes/NOTE.md"}, None):
        synchronise(ports, within=hints)
    assert ports.index.notes.summary(path) is None
    assert note_at(ports, "Notes/NOTE.md").title == "NOTE"
    assert check_index(ports) == []


def test_a_folder_renamed_in_case_doubles_no_note(tmp_path: Path, ports: VaultPorts) -> None:
    path = add(ports, NewNote("text", title="Note", folder="Notes"))
    (tmp_path / "Notes").rename(tmp_path / "NOTES")
    for hints in ({path}, {"Notes", "NOTES"}, {path, "NOTES/Note.md"}):
        synchronise(ports, within=hints)
    assert (ports.index.notes.count(), check_index(ports)) == (1, [])
    assert note_at(ports, "NOTES/Note.md").title == "Note"


def test_a_note_that_got_another_case_meanwhile_is_not_given_its_old_name(tmp_path: Path) -> None:
    vault = VaultFolder(tmp_path)
    vault.write("Note.md", b"one", expected=None)
    (tmp_path / "Note.md").rename(tmp_path / "NOTE.md")
    with pytest.raises(WriteConflict):
        vault.write("Note.md", b"two", expected=sha256(b"one"))
    assert listed(tmp_path) == ["NOTE.md"]
    assert vault.read("NOTE.md").raw == b"one"


def test_an_undone_removal_replaces_no_twin(tmp_path: Path, ports: VaultPorts) -> None:
    path = add(ports, NewNote("the old text", title="Note"))
    remove(ports, note_at(ports, path))
    event = _last_event(ports)
    write_note(tmp_path, "notes/NOTE.md", "the new text\n")
    synchronise(ports)
    with pytest.raises(AmemError):
        undo(ports, event)
    assert (tmp_path / "notes/NOTE.md").read_text() == "the new text\n"
    (tmp_path / "notes/NOTE.md").unlink()
    synchronise(ports)
    undo(ports, event)
    assert ports.vault.read(path).raw.endswith(b"the old text\n")
    assert check_index(ports) == []


def _last_event(ports: VaultPorts) -> str:
    problems: list[object] = []
    files = ports.journal.read_new({}, problems).files  # type: ignore[arg-type]
    return files[-1].events[-1].id


def test_a_folder_left_out_is_left_out_in_any_case(tmp_path: Path) -> None:
    write_note(tmp_path, "Privé/secret.md", "x")
    write_note(tmp_path, "open.md", "x")
    vault = VaultFolder(tmp_path, excluded=["prive\u0301"])
    assert {state.path for state in vault.scan()} == {"open.md"}
    assert {state.path for state in vault.look(["Privé/secret.md", "open.md"])} == {"open.md"}


def test_an_import_keeps_twins_of_another_disk_apart(tmp_path: Path) -> None:
    ports = open_vault(tmp_path / "v")
    lines = [
        '{"id": "1", "title": "Plan", "content": "one, see [[plan]]"}',
        '{"id": "2", "title": "PLAN", "content": "two"}',
        '{"id": "3", "title": "Pla\\u0301n", "content": "three"}',
        '{"id": "4", "title": "Plán", "content": "four"}',
    ]
    (tmp_path / "in.jsonl").write_text("\n".join(lines) + "\n", encoding="utf-8")
    report = import_notes(ports, open_source(tmp_path / "in.jsonl", None, ports.vault.root))
    assert len(report.made) == 4
    bodies = {ports.vault.read(note.path).raw.splitlines()[-1][:3] for note in report.made}
    assert bodies == {b"one", b"two", b"thr", b"fou"}
    synchronise(ports)
    assert check_index(ports) == []


def test_an_edit_goes_to_the_note_that_is_there(tmp_path: Path, ports: VaultPorts) -> None:
    write_note(tmp_path, "Über.md", "text\n")
    synchronise(ports)
    (path,) = (state.path for state in ports.vault.scan())
    update(ports, note_at(ports, path), FieldEdits(add_tags=["mine"]))
    assert listed(tmp_path) == ["Über.md"]
    assert (tmp_path / "über.md").read_text(encoding="utf-8").endswith("text\n")
    assert check_index(ports) == []
