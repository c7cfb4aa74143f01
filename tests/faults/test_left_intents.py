"""A change is made although the system does not let the file that announced it be deleted."""

from __future__ import annotations

import os
import shutil
from pathlib import Path

import pytest

from tests.conftest import Answer, Program
from tests.mcp.clients import with_quick_encoder
from tests.vaults import write_note

# In every Python process of the program: what announces a change cannot be deleted.
FAULT = """
import errno, os, sys

def refuse(event, arguments):
    if event in ({events}) and "/.amem/intents/" in os.fspath(arguments[0]):
        raise OSError(errno.{error}, os.strerror(errno.{error}), arguments[0])

sys.addaudithook(refuse)
"""
OLD = "Lamination of dough needs cold butter.\n"


@pytest.fixture
def vault(amem: Program) -> Path:
    with_quick_encoder(amem)
    folder = amem.empty_vault()
    amem.environment |= {"AMEM_EVOLUTION_SETTLE_SECONDS": "0"}
    write_note(folder, "Dough.md", OLD)
    write_note(folder, "Butter.md", "Butter is best at 14 degrees.\n")
    write_note(folder, "Copy.md", OLD)
    assert amem("index").code == 0
    return folder


def faulty(amem: Program, *line: str, error: str = "EACCES", emptied: bool = True) -> Answer:
    """Run a command that cannot delete an intent, nor empty it unless `emptied`."""
    folder = amem.folder / "fault"
    shutil.rmtree(folder, ignore_errors=True)
    folder.mkdir()
    events = ("os.remove",) if emptied else ("os.remove", "os.truncate")
    text = FAULT.format(error=error, events="".join(f"{name!r}," for name in events))
    (folder / "sitecustomize.py").write_text(text)
    path = f"{amem.environment['PYTHONPATH']}{os.pathsep}{folder}"
    return amem(*line, PYTHONPATH=path)


def intents(vault: Path) -> list[str]:
    return sorted(path.name for path in (vault / ".amem/intents").iterdir())


def notes(vault: Path) -> dict[str, bytes]:
    files = [*vault.rglob("*.md"), *(vault / ".amem/journal").iterdir()]
    return {path.relative_to(vault).as_posix(): path.read_bytes() for path in files}


def updates(history: Answer) -> list[str]:
    """The ids of the changes that a person asked for."""
    return [event["id"] for event in history.json if event["kind"] == "edit"]


@pytest.mark.parametrize(
    ("error", "line"),
    [
        ("EACCES", ("add", "Croissant dough tears.", "--title", "Torn")),
        ("EIO", ("update", "Dough", "--add-tag", "baking")),
        ("EACCES", ("evolve", "--all")),
        ("EIO", ("dedupe", "--merge", "Dough", "Copy")),
        ("EACCES", ("undo", "EVENT")),
        ("EIO", ("rm", "Copy")),
        ("EACCES", ("import", "more", "--no-llm")),
        ("EIO", ("link", "Dough", "Butter")),
    ],
    ids=lambda given: given if isinstance(given, str) else given[0],
)
def test_a_change_counts_though_its_intent_cannot_be_deleted(
    amem: Program, vault: Path, error: str, line: tuple[str, ...]
) -> None:
    write_note(amem.folder / "more", "One.md", "Yeast is alive.\n")
    write_note(amem.folder / "more", "Two.md", "Flour is milled.\n")
    if line[0] == "undo":
        assert amem("update", "Dough", "--add-tag", "mine").code == 0
        line = ("undo", *updates(amem("history", "Dough", "--json")))
    before = notes(vault)
    done = faulty(amem, *line, "--json", error=error)
    assert done.code == 0, done.err
    assert done.json
    assert done.err.count("cannot be deleted") == 1
    after = notes(vault)
    assert after != before
    assert intents(vault)
    # Nothing is done twice or taken back, and the next command that can sweeps up silently.
    swept = amem("list", "--json")
    assert (swept.code, swept.err) == (0, "")
    assert intents(vault) == []
    assert notes(vault) == after


@pytest.mark.parametrize("emptied", [True, False])
def test_what_was_left_of_a_change_never_does_it_again(
    amem: Program, vault: Path, emptied: bool
) -> None:
    assert faulty(amem, "update", "Dough", "--add-tag", "mine", emptied=emptied).code == 0
    listed = faulty(amem, "history", "Dough", "--json", emptied=emptied)
    undone = faulty(amem, "undo", *updates(listed), emptied=emptied)
    assert undone.code == 0, undone.err
    assert b"mine" not in (vault / "Dough.md").read_bytes()
    # Nor is it taken back where somebody edited one of its notes.
    (vault / "Dough.md").write_text("Mine now.\n")
    assert amem("list").code == 0
    assert (vault / "Dough.md").read_text() == "Mine now.\n"
    assert intents(vault) == []


def test_doctor_names_what_is_left_and_deletes_it(amem: Program, vault: Path) -> None:
    assert faulty(amem, "link", "Dough", "Butter").code == 0
    (left,) = intents(vault)
    found = amem("doctor", "--json")
    assert left in found.out
    assert "complete" in found.out
    assert amem("doctor", "--fix").code in (0, 1)
    assert intents(vault) == []
