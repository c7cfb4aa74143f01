"""With `git.commit = batch`, each command that let the machine work is one commit of the user's."""

from __future__ import annotations

import json
import logging
import os
import sys
from collections.abc import Sequence
from pathlib import Path

import pytest

from amem_cli import AgenticMemorySystem
from amem_cli.errors import EXIT_FIXABLE
from amem_cli.journal.change_store import ChangeStore
from amem_cli.journal.events import Event, NoteWrite
from amem_cli.journal.files import JournalFolder
from amem_cli.vault.folder import VaultFolder
from tests.conftest import Program
from tests.editing.test_review import propose
from tests.memory.test_evolve import add_old
from tests.repositories import TestRepository, new_repository, person
from tests.vaults import open_vault, write_note

pytestmark = pytest.mark.slow

DOUGH = "Croissant dough tears in lamination when the butter is colder than the dough."
YEAST = "Croissant dough needs butter at 14 degrees, or it tears in lamination."
ADD_DOUGH = f"'{sys.executable}' -m amem_cli add '{DOUGH}' --title Dough"


@pytest.fixture
def repo(amem: Program) -> TestRepository:
    """A vault without notes, in git, with the setting on."""
    amem.environment.update(person(amem.folder / "home"))
    amem.environment.update(AMEM_LLM_BACKEND="none", AMEM_VAULT=str(amem.folder / "v"))
    (amem.folder / "v").mkdir()
    assert amem("init", "v", "--adopt").code == 0
    assert amem("config", "set", "git.commit", "batch").code == 0
    made = new_repository(amem.folder / "v", amem.environment)
    made.save(".")
    return made


def subjects(repo: TestRepository) -> list[str]:
    return repo.git("log", "--format=%s").splitlines()


def journal_of(repo: TestRepository) -> str:
    (path,) = repo.git("ls-files", ".amem/journal").splitlines()
    return path


def test_adding_a_note_is_one_commit(amem: Program, repo: TestRepository) -> None:
    first = amem("add", DOUGH, "--title", "Dough", "--no-llm")
    assert (first.code, first.err) == (0, "")
    assert repo.changed() == {"notes/Dough.md": "A", journal_of(repo): "M"}
    write_note(repo.top, "notes/mine.md", "half a thought\n")
    write_note(repo.top, "plan.txt", "staged\n")
    repo.git("add", "plan.txt")
    second = amem("add", YEAST, "--title", "Yeast", "--json", "--no-llm")
    assert (second.code, second.err) == (0, "")
    assert second.json["links"]
    assert subjects(repo) == [
        "amem: “Yeast” processed, 1 link made", "amem: “Dough” processed", "by hand",
    ]  # fmt: skip
    assert set(repo.changed()) >= {"notes/Yeast.md", journal_of(repo)}
    assert "- “Yeast” → “Dough” (related): " in repo.message()
    assert repo.status() == ["A  plan.txt", "?? notes/mine.md"]
    events = [json.loads(line) for line in repo.content(journal_of(repo)).splitlines()]
    roots = [event["id"] for event in events if event["kind"] == "process"]
    assert repo.message().endswith(f"Amem-Event: {roots[-1]}")
    repo.git("fsck", "--strict")


def test_a_link_that_follows_a_rename_is_not_told_as_a_link_of_the_new_note(
    amem: Program, repo: TestRepository
) -> None:
    amem.environment["AMEM_EVOLUTION_LINKS"] = "eager"
    assert amem("add", DOUGH, "--title", "Dough", "--no-llm").code == 0
    assert amem("add", YEAST, "--title", "Yeast", "--no-llm").code == 0
    (repo.top / "notes/Dough.md").rename(repo.top / "notes/Paste.md")
    added = amem("add", "The neighbour has a parrot.", "--title", "Parrot", "--json", "--no-llm")
    assert added.json["links"] == []
    assert subjects(repo)[0] == "amem: “Parrot” processed, 1 note following a rename"


def test_an_import_is_one_commit(amem: Program, repo: TestRepository) -> None:
    lines = [json.dumps({"content": text, "title": text[:9]}) for text in (DOUGH, YEAST)]
    done = amem("import", "-", "--json", stdin="\n".join(lines))
    assert done.code == 0
    assert subjects(repo)[0].startswith("amem: 2 notes processed")
    assert len(subjects(repo)) == 2
    assert repo.status() == []


def test_a_persons_own_commands_make_no_commit(amem: Program, repo: TestRepository) -> None:
    assert amem("add", DOUGH, "--title", "Dough", "--no-wait").code == 0
    assert amem("add", YEAST, "--title", "Yeast", "--no-wait").code == 0
    assert amem("link", "Dough", "Yeast").code == 0
    assert amem("update", "Dough", "--add-tag", "mine", "--no-wait").code == 0
    assert amem("list").code == 0
    assert subjects(repo) == ["by hand"]
    assert amem("evolve", "--no-llm").code == 0
    assert len(subjects(repo)) == 2
    assert repo.status() == []


def test_without_the_setting_git_is_left_to_the_user(amem: Program, repo: TestRepository) -> None:
    assert amem("add", DOUGH, AMEM_GIT_COMMIT="off").code == 0
    assert subjects(repo) == ["by hand"]


def test_undo_and_rm_are_commits(amem: Program, repo: TestRepository) -> None:
    amem.environment["AMEM_EVOLUTION_LINKS"] = "eager"
    for title, text in (("Dough", DOUGH), ("Yeast", YEAST)):
        assert amem("add", text, "--title", title).code == 0
    assert amem("rm", "Dough").code == 0
    assert subjects(repo)[0] == "amem: “Dough” removed, 1 note unlinked"
    assert repo.changed() == {
        "notes/Dough.md": "D", "notes/Yeast.md": "M", journal_of(repo): "M",
    }  # fmt: skip
    assert repo.status() == []
    history = amem("history", "Yeast", "--json").json
    event = next(each["id"] for each in history if each["kind"] == "construct")
    before = repo.content("notes/Yeast.md")
    assert amem("undo", event).code == 0
    assert subjects(repo)[0] == "amem: “Yeast” changed back"
    assert b"keywords" in before and b"keywords" not in repo.content("notes/Yeast.md")


def test_proposals_and_verdicts_are_committed(amem: Program, tmp_path: Path) -> None:
    root = tmp_path / "r"
    ports = open_vault(root)
    add_old(ports)
    propose(ports)
    repo = new_repository(root, person(tmp_path / "home"))
    repo.write(".gitignore", ".amem/index.db*\n.amem/*.lock\n.amem/intents/\n")
    repo.save(".")
    amem.environment.update(repo.environment, AMEM_VAULT=str(root), AMEM_GIT_COMMIT="batch")
    assert len(list((root / ".amem/review").iterdir())) == 3
    assert amem("review", "--accept-all").code == 0
    assert sorted(repo.changed().values()) == ["A", "D", "D", "D", "M"]
    assert subjects(repo)[0] == "amem: “Lamination” evolved"
    assert repo.status() == []


def test_a_command_that_fails_commits_what_it_did(amem: Program, repo: TestRepository) -> None:
    done = amem.beside("sh", "-c", f"{ADD_DOUGH} >/dev/full")
    assert done.code == EXIT_FIXABLE
    assert done.err.splitlines()[0] == "error: cannot write the output: No space left on device"
    assert subjects(repo)[0] == "amem: “Dough” processed"
    assert repo.status() == []


def test_a_reader_that_has_left_keeps_no_note_from_being_described(
    amem: Program, repo: TestRepository
) -> None:
    done = amem.beside("bash", "-c", f"set -o pipefail; {ADD_DOUGH} | true")
    assert (done.code, done.err) == (0, "")
    assert subjects(repo)[0] == "amem: “Dough” processed"
    assert repo.status() == []


def test_during_a_merge_a_notice_says_why_there_is_no_commit(
    amem: Program, repo: TestRepository
) -> None:
    repo.git("checkout", "-q", "-b", "side")
    repo.write("x.txt", "theirs\n")
    repo.save("x.txt")
    repo.git("checkout", "-q", "main")
    repo.write("x.txt", "ours\n")
    before = repo.save("x.txt")
    repo.fails("merge", "side")
    done = amem("add", DOUGH, "--title", "Dough", "--json")
    assert done.code == 0
    assert done.json["title"] == "Dough"
    assert done.err == "git: the changes were not committed: a merge is in progress\n"
    assert repo.head() == before
    assert amem("add", YEAST, "--title", "Yeast", "--quiet").err == ""


def test_without_a_repository_nothing_is_said(amem: Program, repo: TestRepository) -> None:
    (repo.top / ".git").rename(amem.folder / "elsewhere")
    done = amem("add", DOUGH, PATH="")
    assert (done.code, done.err) == (0, "")


def test_without_git_the_note_is_safe(amem: Program, repo: TestRepository) -> None:
    done = amem("add", DOUGH, "--title", "Dough", PATH="")
    assert done.code == 0
    assert done.err == "git: the changes were not committed: git is not installed\n"
    assert (repo.top / "notes/Dough.md").exists()


def test_an_adopted_folder_of_a_repository(amem: Program, repo: TestRepository) -> None:
    amem.environment.pop("AMEM_VAULT")
    top = new_repository(amem.folder / "project", repo.environment)
    top.write("docs/guide.md", "# Guide\nHow to laminate croissant dough with butter.\n")
    top.write("src/code.py", "pass\n")
    top.save(".")
    docs = top.top / "docs"
    assert amem("init", str(docs), "--adopt").code == 0
    assert amem("--vault", str(docs), "config", "set", "git.commit", "batch").code == 0
    top.save("docs")
    top.write("src/code.py", "edited\n")
    assert amem("--vault", str(docs), "add", DOUGH, "--title", "Dough").err == ""
    assert {"docs/notes/Dough.md"} < set(top.changed())
    assert all(path.startswith("docs/") for path in top.changed())
    assert top.status() == [" M src/code.py"]


def hook_of(repo: TestRepository, name: str, amem: Program) -> Path:
    """A hook that adds a note to the vault; returns where it keeps what amem tells."""
    told = amem.folder / "told"
    script = repo.write(f".git/hooks/{name}", f"#!/bin/sh\nexec {ADD_DOUGH} 2>'{told}'\n")
    script.chmod(0o755)
    repo.environment.update({**os.environ, **amem.environment})
    return told


def test_a_hook_of_another_repository_adds_to_the_vault(
    amem: Program, repo: TestRepository
) -> None:
    other = new_repository(amem.folder / "other", dict(repo.environment))
    told = hook_of(other, "pre-commit", amem)
    other.write("x.txt", "x\n")
    other.save("x.txt")
    assert told.read_text() == ""
    assert subjects(repo)[0] == "amem: “Dough” processed"
    assert other.changed() == {"x.txt": "A"}


@pytest.mark.parametrize("name", ["pre-commit", "post-commit"])
def test_a_hook_of_the_vault_itself_does_not_disturb_the_users_commit(
    amem: Program, repo: TestRepository, name: str
) -> None:
    told = hook_of(repo, name, amem)
    repo.write("x.txt", "x\n")
    repo.save("x.txt")
    assert "amem was started by a git command in this repository" in told.read_text()
    assert subjects(repo) == ["by hand", "by hand"]
    assert repo.changed() == {"x.txt": "A"}
    assert "?? notes/" in repo.status()


def test_the_library_commits_after_each_call(
    amem: Program,
    repo: TestRepository,
    monkeypatch: pytest.MonkeyPatch,
    caplog: pytest.LogCaptureFixture,
) -> None:
    for name, value in amem.environment.items():
        monkeypatch.setenv(name, value)
    with AgenticMemorySystem(vault=repo.top, llm_backend="none") as memory:
        first = memory.add_note(DOUGH, tags=["baking"])
        second = memory.add_note(YEAST)
        assert len(subjects(repo)) == 3
        memory.search("butter")
        assert len(subjects(repo)) == 3
        assert memory.update(second, content="Butter for croissant dough has 14 degrees.")
        assert len(subjects(repo)) == 4
        assert memory.delete(first)
        assert len(subjects(repo)) in (4, 5)
        assert caplog.messages == []
        repo.write(".git/MERGE_HEAD", repo.head() + "\n")
        with caplog.at_level(logging.WARNING):
            memory.add_note("The oven needs an hour.")
    assert caplog.messages == ["git: the changes were not committed: a merge is in progress"]


def test_commands_that_change_nothing_load_nothing_of_it(
    amem: Program, repo: TestRepository
) -> None:
    code = (
        "import sys\nfrom amem_cli.cli.main import run\n"
        "try:\n    run(['list'])\n"
        "finally:\n    print([name for name in sys.modules if name.startswith('amem_cli.git')])"
    )
    assert amem.beside(sys.executable, "-c", code).out.splitlines()[-1] == "[]"


class DyingJournal(JournalFolder):
    """The process ends before the journal is written."""

    def append(self, events: Sequence[Event]) -> None:
        raise KeyboardInterrupt


def test_a_change_that_a_killed_process_began_is_committed_by_the_next(
    amem: Program, repo: TestRepository
) -> None:
    vault = VaultFolder(repo.top)
    changes = ChangeStore(vault, DyingJournal(vault.state_folder / "journal", "test"))
    event = Event("0001", "2026-03-02T15:00:00+00:00", "process", path="notes/half.md")
    with pytest.raises(KeyboardInterrupt):
        changes.apply([NoteWrite("notes/half.md", None, b"half made\n")], [event])
    assert amem("list").code == 0
    assert subjects(repo)[0] == "amem: “half” processed"
    assert repo.changed()["notes/half.md"] == "A"
    assert repo.status() == []
