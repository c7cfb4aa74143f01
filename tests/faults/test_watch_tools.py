"""Real tools at work on a watched vault: nothing is missed, nothing is taken for something else."""

from __future__ import annotations

import random
import shutil
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.conftest import Program
from tests.repositories import TestRepository, new_repository, person
from tests.vaults import write_note
from tests.watching import PATIENCE, RunningWatcher, watching

pytestmark = pytest.mark.slow

# Notes rest for a day, so that the watcher alone is what is looked at.
RESTING = ("--settle", "86400")


class Bench:
    """A vault under watch and the person who works in it."""

    def __init__(self, amem: Program, root: Path, user: dict[str, str]) -> None:
        self.amem, self.root, self.user = amem, root, user
        self.watcher: RunningWatcher | None = None

    def write(self, number: int, text: str, folder: str = "notes") -> Path:
        return write_note(self.root, f"{folder}/n{number}.md", _note(number, text))

    def found(self, word: str) -> list[str]:
        hits = self.amem("search", word, "--mode", "keyword", "--limit", "50", "--json").json
        return sorted(hit["path"] for hit in hits["hits"])

    def paths_by_id(self) -> dict[str, str]:
        listed = self.amem("list", "--limit", "5000", "--json").json
        return {note["id"]: note["path"] for note in listed}

    def in_step(self) -> bool:
        """Whether the index, as the watcher left it, is one made from nothing."""
        return self.amem("index", "--check").code == 0

    def until_in_step(self) -> None:
        assert self.watcher is not None
        self.watcher.until(self.in_step)

    def run(self, *words: str) -> None:
        done = subprocess.run(
            words, cwd=self.root, env=self.user, stdin=subprocess.DEVNULL, capture_output=True
        )
        assert done.returncode == 0, (words, done.stderr)

    def repository(self) -> TestRepository:
        repository = new_repository(self.root, self.user)
        repository.git("add", "-A")
        repository.git("commit", "-qm", "all notes")
        return repository


def _note(number: int, text: str) -> str:
    return f'---\nid: "2026010112{number:04}"\n---\n{text}\n'


@pytest.fixture
def bench(amem: Program, tmp_path: Path) -> Iterator[Bench]:
    root = amem.empty_vault()
    yield Bench(amem, root, person(tmp_path / "home"))


def watched(bench: Bench, notes: int, text: str = "walrus") -> dict[str, str]:
    """Notes that are known before anybody touches them; their paths by id."""
    for number in range(notes):
        bench.write(number, f"{text} {number}")
    assert bench.amem("index").code == 0
    known = bench.paths_by_id()
    assert len(known) == notes
    return known


@pytest.mark.skipif(shutil.which("vim") is None, reason="needs vim")
@pytest.mark.parametrize("backup", ["auto", "yes", "no"])
def test_vim_saves_are_edits_of_the_same_note(bench: Bench, backup: str) -> None:
    known = watched(bench, 3)
    with watching(bench.amem, bench.root, *RESTING) as bench.watcher:
        for word in ("penguin", "puffin"):
            commands = (
                "set bsk=",
                f"set backupcopy={backup}",
                f"%s/walrus\\|penguin/{word}/",
                "wq",
            )
            options = [part for command in commands for part in ("-c", command)]
            bench.run("vim", "-u", "NONE", "-es", *options, "notes/n1.md")
            bench.watcher.until(lambda w=word: bench.found(w) == ["notes/n1.md"])  # type: ignore[misc]
        bench.until_in_step()
        assert not [each for each in bench.watcher.lines("noticed") if each["removed"]]
    assert bench.paths_by_id() == known


def test_a_checkout_of_hundreds_of_notes_is_followed(bench: Bench) -> None:
    known = watched(bench, 250)
    repository = bench.repository()
    repository.git("checkout", "-q", "-b", "other")
    for number in range(250):
        bench.write(number, f"penguin {number}")
    (bench.root / "notes/n7.md").unlink()
    bench.write(900, "puffin alone")
    repository.git("add", "-A")
    repository.git("commit", "-qm", "other words")
    bench.amem("index")
    with watching(bench.amem, bench.root, *RESTING) as bench.watcher:
        repository.git("checkout", "-q", "main")
        bench.until_in_step()
        assert (bench.found("puffin"), bench.found("penguin")) == ([], [])
        repository.git("checkout", "-q", "other")
        bench.until_in_step()
        assert (bench.found("puffin"), bench.found("walrus")) == (["notes/n900.md"], [])
        repository.git("checkout", "-q", "main")
        bench.until_in_step()
        assert bench.watcher.lines("asking") == [] == bench.watcher.lines("trouble")
    assert bench.paths_by_id() == known


def test_the_memory_process_rests_while_a_rebase_is_under_way(bench: Bench) -> None:
    watched(bench, 5)
    with watching(bench.amem, bench.root) as bench.watcher:
        bench.watcher.until(lambda: bench.amem("stats", "--json").json["pending"] == 0)
        bench.watcher.end()
    repository = bench.repository()
    repository.git("checkout", "-q", "-b", "side")
    repository.write("notes/n1.md", _note(1, "puffin of the side"))
    repository.save("notes/n1.md")
    repository.git("checkout", "-q", "main")
    repository.write("notes/n1.md", _note(1, "penguin of main"))
    repository.save("notes/n1.md")
    repository.git("checkout", "-q", "side")
    with watching(bench.amem, bench.root) as bench.watcher:
        bench.watcher.until_told("learned", path="notes/n1.md")
        repository.git("commit", "-qa", "--amend", "-m", "what was learned")
        repository.fails("rebase", "main")
        bench.write(50, "a new note while git waits")
        bench.watcher.until_told("waiting", reason="git is in the middle of a rebase")
        assert bench.watcher.lines("learned", path="notes/n50.md") == []
        repository.write("notes/n1.md", _note(1, "penguin and puffin"))
        repository.git("add", "notes/n1.md")
        repository.git("-c", "core.editor=true", "rebase", "--continue")
        bench.watcher.until_told("learned", path="notes/n50.md")
        bench.watcher.until(lambda: bench.found("puffin") == ["notes/n1.md"])
        bench.until_in_step()


def test_a_watch_that_ends_by_itself_goes_on_without_a_word_on_the_terminal(
    bench: Bench, tmp_path: Path
) -> None:
    """watchdog 7.1 loses its reading thread where one folder takes another one's place."""
    watched(bench, 3)
    deep = bench.root / "notes/deep"
    deep.mkdir()
    with watching(bench.amem, bench.root, *RESTING) as bench.watcher:
        for number in range(3):
            deep.rename(tmp_path / "outside")
            deep.mkdir()
            bench.write(100, f"zqa{number}x")
            bench.watcher.until(lambda n=number: bench.found(f"zqa{n}x"))  # type: ignore[misc]
            shutil.rmtree(deep)
            shutil.rmtree(tmp_path / "outside")
            bench.write(200, f"zqb{number}x", "notes/deep")
            bench.watcher.until(lambda n=number: bench.found(f"zqb{n}x"))  # type: ignore[misc]
        assert bench.watcher.end() == 0
        assert bench.watcher.complaints == []


@pytest.mark.skipif(shutil.which("rsync") is None, reason="rsync is not installed here")
@pytest.mark.parametrize("option", ["--whole-file", "--inplace"])
def test_rsync_brings_notes(bench: Bench, tmp_path: Path, option: str) -> None:
    known = watched(bench, 30)
    for number in range(35):
        write_note(tmp_path, f"from/notes/n{number}.md", _note(number, f"penguin {number}"))
    with watching(bench.amem, bench.root, *RESTING) as bench.watcher:
        bench.run("rsync", "-a", option, f"{tmp_path}/from/notes/", "notes/")
        bench.watcher.until(lambda: len(bench.found("penguin")) == 35)
        bench.until_in_step()
    assert known.items() <= bench.paths_by_id().items()


def test_of_a_thousand_edits_by_two_programs_none_is_lost(bench: Bench) -> None:
    watched(bench, 40)
    script = (
        "import os, random, sys\n"
        "name, parity = sys.argv[1], int(sys.argv[2])\n"
        "chance = random.Random(parity)\n"
        "for number in range(500):\n"
        "    path = f'notes/n{2 * chance.randrange(20) + parity}.md'\n"
        "    with open(path) as note:\n"
        "        text = note.read()\n"
        "    target = path if number % 2 else path + '.tmp'\n"
        "    with open(target, 'w') as note:\n"
        "        note.write(text + f'\\n{name}{number}x\\n')\n"
        "    os.replace(target, path)\n"
    )
    with watching(bench.amem, bench.root, *RESTING) as bench.watcher:
        writers = [
            subprocess.Popen([sys.executable, "-c", script, name, str(parity)], cwd=bench.root)
            for parity, name in enumerate(("zqa", "zqb"))
        ]
        assert [writer.wait(PATIENCE) for writer in writers] == [0, 0]
        bench.until_in_step()
    texts = "".join(path.read_text() for path in (bench.root / "notes").glob("*.md"))
    words = [f"{name}{number}x" for name in ("zqa", "zqb") for number in range(500)]
    assert [word for word in words if word not in texts] == []
    for word in random.Random(3).sample(words, 10):
        assert len(bench.found(word)) == 1


def test_a_folder_of_two_hundred_notes_is_renamed(bench: Bench) -> None:
    known = watched(bench, 200)
    with watching(bench.amem, bench.root, *RESTING) as watcher:
        (bench.root / "notes").rename(bench.root / "archive")
        # No command before that: it would notice the notes itself.
        watcher.until(lambda: sum(each["moved"] for each in watcher.lines("noticed")) == 200)
        assert set(bench.found("walrus"))
        assert bench.in_step()
        assert watcher.lines("asking") == []
    assert bench.paths_by_id() == {
        key: path.replace("notes/", "archive/") for key, path in known.items()
    }


def test_sed_changes_many_notes_in_place(bench: Bench) -> None:
    known = watched(bench, 30)
    with watching(bench.amem, bench.root, *RESTING) as bench.watcher:
        bench.run("sh", "-c", "sed -i s/walrus/penguin/ notes/*.md")
        bench.watcher.until(lambda: len(bench.found("penguin")) == 30)
        bench.until_in_step()
        assert not [each for each in bench.watcher.lines("noticed") if each["removed"]]
    assert bench.paths_by_id() == known


def test_an_editor_that_saves_while_one_types_is_followed_to_the_last_word(bench: Bench) -> None:
    """Obsidian writes in place, again and again while one types, and renames as it likes."""
    known = watched(bench, 3)
    script = (
        "import sys, time\n"
        "for number in range(40):\n"
        "    with open('notes/n1.md', 'w') as note:\n"
        "        note.write(sys.argv[1] + f'typed {number} ' * 20 + 'zq%dx' % number)\n"
        "    time.sleep(0.05)\n"
    )
    with watching(bench.amem, bench.root, *RESTING) as bench.watcher:
        bench.run(sys.executable, "-c", script, _note(1, "").strip() + "\n")
        bench.watcher.until(lambda: bench.found("zq39x") == ["notes/n1.md"])
        (bench.root / "notes/n1.md").rename(bench.root / "notes/Typed.md")
        bench.watcher.until(lambda: bench.found("zq39x") == ["notes/Typed.md"])
        bench.until_in_step()
    renamed = {
        key: "notes/Typed.md" if path == "notes/n1.md" else path for key, path in known.items()
    }
    assert bench.paths_by_id() == renamed


def test_a_stash_and_its_return_are_followed(bench: Bench) -> None:
    watched(bench, 40)
    repository = bench.repository()
    with watching(bench.amem, bench.root, *RESTING) as bench.watcher:
        for number in range(40):
            bench.write(number, f"penguin {number}")
        bench.write(800, "penguin that git does not know")
        bench.watcher.until(lambda: len(bench.found("penguin")) == 41)
        repository.git("stash", "-q", "-u")
        bench.watcher.until(lambda: bench.found("penguin") == [])
        bench.until_in_step()
        repository.git("stash", "pop", "-q")
        bench.watcher.until(lambda: len(bench.found("penguin")) == 41)
        bench.until_in_step()
        assert bench.watcher.lines("asking") == []
