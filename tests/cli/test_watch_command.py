"""`amem watch` as a person meets it: real processes on a real vault, without a language model."""

from __future__ import annotations

import json
import os
import shutil
import signal
import threading
import time
from collections import Counter
from pathlib import Path
from typing import Any

import pytest

from tests.conftest import Program
from tests.repositories import TestRepository, new_repository, person
from tests.terminal import at_terminal, plain
from tests.vaults import write_note
from tests.watching import PATIENCE, journal_events, times_processed, watching

pytestmark = pytest.mark.slow

HOSTILE = "red \x1b[31m\x1b]52;c;YmFk\x07 \x9b2J \u202egnp"
HOSTILE_NOTE = f"---\ntitle: {json.dumps(HOSTILE)}\n---\nThe penguin swims.\n"


def statuses() -> list[str]:
    """What watchers left in the user's state folder."""
    folder = Path(os.environ["AMEM_STATE_DIR"]) / "watchers"
    return [path.name for path in folder.glob("*")]


def test_a_watcher_tells_its_status_and_is_stopped(amem: Program, vault: Path) -> None:
    write_note(vault, "walrus.md", "The walrus sleeps.\n")
    with watching(amem, vault) as watcher:
        watcher.until_told("learned", path="walrus.md")
        watcher.until(lambda: amem("watch", "--status", "--json").json["learned"] == 1)
        status = amem("watch", "--status", "--json").json
        assert (status["running"], status["pid"]) == (True, watcher.process.pid)
        assert (status["state"], status["notes"], status["pending"]) == ("watching", 1, 0)
        text = amem("watch", "--status")
        assert (text.code, text.err) == (0, "")
        assert text.out.startswith("watching\n1 note, 0 pending\nlearned 1 (0 links, 0 evolved)\n")
        assert f"process {watcher.process.pid} on " in text.out
        assert amem("stats", "--json").json["watcher"] == "watching"
        assert "watcher   watching\n" in amem("stats").out
        stopped = amem("watch", "--stop")
        assert (stopped.code, stopped.out) == (0, "the watcher has stopped\n")
        assert watcher.ended() == 0
        assert watcher.told[-1]["event"] == "stopped"
    assert amem("stats", "--json").json["watcher"] is None
    again = amem("watch", "--stop", "--json")
    assert (again.code, again.json) == (1, {"stopped": False})
    status = amem("watch", "--status", "--json")
    assert (status.code, status.json["running"]) == (1, False)


def test_a_second_watcher_is_refused_and_told_who_holds_the_vault(
    amem: Program, vault: Path
) -> None:
    with watching(amem, vault) as watcher:
        for options in ((), ("--once",)):
            second = amem("watch", *options)
            assert second.code == 3, second
            assert f"watched already, by process {watcher.process.pid} on " in second.err
            assert "amem watch --stop" in second.err
        assert watcher.process.poll() is None
        assert watcher.end() == 0
    assert amem("watch", "--once").code == 0


def test_only_amem_index_lets_go_of_notes_that_a_watcher_asks_about(
    amem: Program, vault: Path
) -> None:
    for number in range(40):
        write_note(vault, f"herd/n{number}.md", f"Walrus {number} dives for clams.\n")
    with watching(amem, vault, "--no-llm") as watcher:
        known = amem("stats", "--json").json["notes"]
        shutil.rmtree(vault / "herd")
        watcher.until_told("asking")
        watcher.until(lambda: amem("watch", "--status", "--json").json["state"] == "asking")
        stats = amem("stats", "--json")
        assert stats.json["notes"] == known
        assert "40 of" in stats.err and "amem index" in stats.err
        assert amem("search", "walrus", "--mode", "keyword", "--json").json["hits"]
        assert amem("index").code == 0
        assert amem("stats", "--json").json["notes"] == known - 40
        assert watcher.end() == 0


@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM, signal.SIGHUP])
def test_a_signal_ends_it_cleanly_and_leaves_nothing(
    amem: Program, vault: Path, number: signal.Signals
) -> None:
    with watching(amem, vault) as watcher:
        assert len(statuses()) == 1
        assert watcher.end(number) == 0
        assert watcher.told[-1]["event"] == "stopped"
        assert watcher.complaints == []
    assert statuses() == []
    assert amem("watch", "--status", "--json").json == {"running": False}


def test_a_signal_while_it_works_ends_it_after_the_note_at_hand(amem: Program, vault: Path) -> None:
    for number in range(60):
        write_note(vault, f"n{number}.md", f"Walrus {number} dives for clams.\n")
    with watching(amem, vault) as watcher:
        watcher.until_told("learned")
        assert watcher.end(signal.SIGINT) == 0
        assert watcher.complaints == []
    done = times_processed(vault)
    assert 0 < len(done) < 60
    assert set(done.values()) == {1}
    assert amem("stats", "--json").json["pending"] == 60 - len(done)


def test_once_handles_what_is_pending_and_exits(amem: Program, vault: Path) -> None:
    for name in ("a", "b"):
        write_note(vault, f"{name}.md", f"About {name}.\n")
    done = amem("watch", "--once", "--settle", "0", "--json")
    assert done.code == 0, done.err
    assert {note["path"] for note in done.json["notes"]} == {"a.md", "b.md"}
    assert done.json["pending"] == 0
    again = amem("watch", "--once", "--settle", "0")
    assert (again.code, again.out) == (0, "0 notes processed, 0 pending\n")
    assert times_processed(vault) == Counter({"a.md": 1, "b.md": 1})
    assert statuses() == []


def test_once_leaves_a_note_that_is_being_edited_for_later(amem: Program, vault: Path) -> None:
    write_note(vault, "a.md", "About a.\n")
    done = amem("watch", "--once", "--json")
    assert (done.code, done.json["pending"]) == (0, 1)
    assert times_processed(vault) == Counter()


def test_once_says_nothing_to_cron_where_it_did_nothing(amem: Program, vault: Path) -> None:
    done = amem("--quiet", "watch", "--once")
    assert (done.code, done.out, done.err) == (0, "", "")
    write_note(vault, "a.md", "About a.\n")
    done = amem("--quiet", "watch", "--once", "--settle", "0")
    assert (done.code, done.out.splitlines()[-1]) == (0, "1 note processed, 0 pending")


def test_a_rest_is_a_number_of_seconds(amem: Program, vault: Path) -> None:
    for text in ("nan", "-1", "soon"):
        assert amem("watch", "--once", "--settle", text).code == 2


def test_once_rests_while_git_is_in_the_middle_of_something(
    amem: Program, vault: Path, tmp_path: Path
) -> None:
    (tmp_path / "home").mkdir(exist_ok=True)
    repository = new_repository(vault, person(tmp_path / "home"))
    write_note(vault, "a.md", "About a.\n")
    repository.git("add", "-A")
    repository.git("commit", "-qm", "a vault")
    merging = vault / ".git/MERGE_HEAD"
    merging.write_text(repository.head() + "\n")
    done = amem("watch", "--once", "--settle", "0")
    assert (done.code, done.out) == (0, "0 notes processed, 1 pending\n")
    assert done.err.startswith("paused: ") and "pending notes wait" in done.err
    asked = amem("watch", "--once", "--settle", "0", "--json").json
    assert asked["reason"] == done.err.strip()
    merging.unlink()
    done = amem("watch", "--once", "--settle", "0", "--json")
    assert (done.code, done.json["pending"], done.json["reason"]) == (0, 0, "")


def test_a_killed_watcher_has_done_and_forgotten_nothing_twice(amem: Program, vault: Path) -> None:
    paths = [f"n{number:02}.md" for number in range(40)]
    for number, path in enumerate(paths):
        write_note(vault, path, f"Walrus {number} dives for clams.\n")
    for learned in (1, 7, 4):
        with watching(amem, vault) as watcher:
            watcher.until(lambda n=learned: len(watcher.lines("learned")) >= n)  # type: ignore[misc]
            watcher.process.kill()
            watcher.ended()
        assert amem("watch", "--status", "--json").json == {"running": False}
        done = len(times_processed(vault))
        assert amem("stats", "--json").json["pending"] == 40 - done
    with watching(amem, vault) as watcher:
        watcher.until(lambda: len(times_processed(vault)) == 40)
        assert watcher.end() == 0
    assert times_processed(vault) == Counter(dict.fromkeys(paths, 1))
    assert amem("index", "--check").code == 0


def test_what_others_write_is_picked_up_and_done_once(amem: Program, vault: Path) -> None:
    with watching(amem, vault) as watcher:
        write_note(vault, "deep/er/by editor.md", "The penguin swims.\n")
        watcher.until_told("learned", path="deep/er/by editor.md")
        added = amem("add", "The walrus sleeps.", "--title", "Walrus", "--no-wait", "--json")
        watcher.until_told("learned", path=added.json["path"])
        watcher.until(lambda: amem("watch", "--status", "--json").json["notes"] == 2)
        found = amem("search", "penguin", "--mode", "keyword", "--json").json["hits"]
        assert [hit["path"] for hit in found] == ["deep/er/by editor.md"]
        assert watcher.end() == 0
    assert set(times_processed(vault).values()) == {1}
    assert len(times_processed(vault)) == 2


def test_a_command_that_waits_and_a_watcher_share_the_work(amem: Program, vault: Path) -> None:
    with watching(amem, vault) as watcher:
        for number in range(4):
            text = f"Seal {number} barks. Harbour seals eat herring; herring comes in spring."
            added = amem("add", text, "--title", f"Seal {number}", "--json")
            assert added.code == 0, added.err
            assert added.json["pending"] is False
            assert added.json["keywords"]
        watcher.until(lambda: amem("stats", "--json").json["pending"] == 0)
        assert watcher.end() == 0
    expected = {f"notes/Seal {number}.md": 1 for number in range(4)}
    assert times_processed(vault) == Counter(expected)


def test_another_machine_leaves_the_memory_process_to_the_first(
    amem: Program, vault: Path, tmp_path: Path
) -> None:
    with watching(amem, vault) as watcher:
        assert watcher.end() == 0
    (first,) = (vault / ".amem/devices").glob("*.json")
    # Of two that begin in the same second the name would decide.
    record = json.loads(first.read_text()) | {"since": "2026-01-01T00:00:00Z"}
    first.write_text(json.dumps(record))
    other: dict[str, Any] = {"AMEM_STATE_DIR": str(tmp_path / "other")}
    write_note(vault, "a.md", "The penguin swims.\n")
    once = amem("watch", "--once", "--settle", "0", **other)
    assert (once.code, once.out) == (0, "0 notes processed, 1 pending\n")
    assert f"runs on another machine ({first.stem})" in once.err
    assert "amem config set evolution.device any" in once.err
    with watching(amem, vault, **other) as watcher:
        assert any(first.stem in line for line in watcher.complaints)
        write_note(vault, "b.md", "The auk flies.\n")
        watcher.until_told("noticed", added=1)
        watcher.until_told("searchable", passages=1)
        assert watcher.lines("learned") == []
        assert amem("config", "set", "evolution.device", "any").code == 0
        watcher.until_told("settings")
        assert watcher.lines("settings")[0]["restart"] == ["evolution.device"]
        assert watcher.end() == 0
    assert times_processed(vault) == Counter()
    with watching(amem, vault, **other) as watcher:
        watcher.until(lambda: len(watcher.lines("learned")) == 2)
        assert watcher.end() == 0


def test_a_watcher_that_others_cannot_see_says_so(
    amem: Program, vault: Path, tmp_path: Path
) -> None:
    state = tmp_path / "state"
    state.mkdir()
    (state / "watchers").write_text("no folder")
    with watching(amem, vault, AMEM_STATE_DIR=str(state)) as watcher:
        (trouble,) = watcher.lines("trouble")
        assert trouble["text"].startswith("--status and --stop cannot see this watcher: ")
        assert str(state / "watchers") in trouble["text"]
        status = amem("watch", "--status", AMEM_STATE_DIR=str(state))
        assert (status.code, status.out.startswith("a watcher of another user")) == (0, True)
        write_note(vault, "a.md", "The penguin swims.\n")
        watcher.until_told("learned", path="a.md")
        assert len(watcher.lines("trouble")) == 1
        assert watcher.end() == 0


@pytest.mark.parametrize("edits", [True, False])
def test_watching_ends_where_the_vault_is_no_vault_any_more(
    amem: Program, vault: Path, edits: bool
) -> None:
    """Without its journal every note would seem new, and the machine would write in all."""
    write_note(vault, "old.md", "The walrus sleeps.\n")
    with watching(amem, vault) as watcher:
        watcher.until_told("learned")
        kept = (vault / "old.md").read_bytes()
        shutil.rmtree(vault / ".amem")
        if edits:
            write_note(vault, "a.md", "The penguin swims.\n")
        assert watcher.ended() == 3
        assert watcher.told[-1]["exit_code"] == 3
        (line,) = [line for line in watcher.complaints if line.startswith("error: ")]
        assert ".amem is gone" in line
        assert "Traceback" not in "".join(watcher.complaints)
    assert (vault / "old.md").read_bytes() == kept
    assert not (vault / ".amem").exists()
    assert statuses() == []


def test_a_lock_that_is_deleted_is_taken_again(amem: Program, vault: Path) -> None:
    with watching(amem, vault) as watcher:
        (vault / ".amem/watch.lock").unlink()
        write_note(vault, "a.md", "The penguin swims.\n")
        watcher.until_told("learned", path="a.md")
        assert "watched already" in amem("watch").err
        assert watcher.end() == 0


def test_without_a_terminal_it_speaks_in_plain_lines(amem: Program, vault: Path) -> None:
    write_note(vault, "a.md", HOSTILE_NOTE)
    process = amem.start("watch", "--settle", "0")
    impatient = threading.Timer(PATIENCE, process.kill)
    impatient.start()
    try:
        assert process.stdout is not None
        lines = [process.stdout.readline()]
        while "gnp" not in lines[-1] and lines[-1]:
            lines.append(process.stdout.readline())
        process.send_signal(signal.SIGTERM)
        out, err = process.communicate(timeout=PATIENCE)
    finally:
        impatient.cancel()
        process.kill()
        process.wait()
    text = "".join(lines) + out
    assert (process.returncode, err) == (0, "")
    assert "watching 1 notes" in text
    assert text.endswith("  stopped\n")
    assert not {"\x1b", "\x9b", "\x07", "\u202e"} & set(text)
    assert all(line[2] == line[5] == ":" for line in text.splitlines())


def test_a_terminal_shows_what_was_learned_and_is_not_steered(amem: Program, vault: Path) -> None:
    write_note(vault, "hostile.md", HOSTILE_NOTE)

    def stop_when_learned() -> None:
        end = time.monotonic() + PATIENCE
        while time.monotonic() < end:
            status = amem("watch", "--status", "--json")
            if status.code == 0 and status.json.get("learned", 0) >= 1:
                break
            time.sleep(0.2)
        amem("watch", "--stop")

    stopping = threading.Thread(target=stop_when_learned)
    stopping.start()
    code, shown = at_terminal(amem.folder, ["watch", "--settle", "0"], [], **amem.environment)
    stopping.join()
    assert code == 0
    text = plain(shown)
    assert "watching 1 notes" in text and "gnp" in text
    assert not {"\x9b", "\x07", "\u202e"} & set(shown)
    assert "\x1b]" not in shown


def test_two_clones_converge_and_do_not_answer_one_another(amem: Program, tmp_path: Path) -> None:
    """A note travels from either machine to the other; only the first machine thinks about it."""
    user = person(tmp_path / "home")
    (tmp_path / "hub").mkdir()
    hub = new_repository(tmp_path / "hub", user, "--bare")
    first = new_repository(tmp_path / "first", user)
    assert amem("init", "first", "--adopt").code == 0
    write_note(first.top, "walrus.md", "The walrus sleeps on the ice.\n")
    first.git("add", "-A")
    first.git("commit", "-qm", "a vault")
    first.git("remote", "add", "origin", str(hub.top))
    first.git("push", "-q", "-u", "origin", "main")
    with watching(amem, first.top) as one:
        one.until_told("learned", path="walrus.md")
        exchange(first)
        hub.git("clone", "-q", str(hub.top), str(tmp_path / "second"))
        second = first.at(tmp_path / "second")
        with watching(amem, second.top, AMEM_STATE_DIR=str(tmp_path / "state 2")) as two:
            write_note(second.top, "penguin.md", "The penguin swims below the ice.\n")
            two.until_told("noticed", added=1)
            exchange(second)
            exchange(first)
            one.until_told("learned", path="penguin.md")
            before = len(journal_events(first.top, "process"))
            for _ in range(3):
                exchange(first)
                exchange(second)
                time.sleep(1)
            assert two.lines("learned") == [] == two.lines("trouble")
            assert len(one.lines("learned")) == 2
            assert two.end() == 0
        assert one.end() == 0
    assert len(journal_events(first.top, "process")) == before == 2
    assert first.head() == second.head()
    assert first.status() == [] == second.status()
    for top in (first.top, second.top):
        assert amem("--vault", str(top), "stats", "--json").json["pending"] == 0
        assert amem("--vault", str(top), "index", "--check").code == 0


def exchange(repository: TestRepository) -> None:
    """Commit what is new, and take and give commits, as a plugin for git does."""
    repository.git("add", "-A")
    if repository.status():
        repository.git("commit", "-qm", "sync")
    repository.git("pull", "-q", "--rebase")
    repository.git("push", "-q")
