"""`amem evolve` over many notes: it tells how far it is, can be ended at any time, and goes on."""

from __future__ import annotations

import json
import os
import re
import signal
import time
from pathlib import Path
from typing import Any

import pytest

from tests.conftest import Program
from tests.fakes.chat_server import ChatServer
from tests.fakes.prepared_encoder import with_quick_encoder
from tests.screen import Screen
from tests.terminal import at_terminal, plain
from tests.vaults import write_note
from tests.watching import times_processed

COUNT = 120


@pytest.fixture
def vault(amem: Program, tmp_path: Path) -> Path:
    """An adopted vault of many notes, with an encoder that takes no time."""
    for number in range(COUNT):
        note = write_note(tmp_path / "v", f"n{number:03}.md", f"Walrus {number} dives for clams.\n")
        os.utime(note, (1_000_000 + number, 1_000_000 + number))
    amem.environment |= with_quick_encoder(tmp_path / "cache")
    vault = amem.vault("v", "--adopt")
    assert amem("index").code == 0
    return vault


@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM])
def test_a_run_that_is_interrupted_tells_how_far_it_came_and_goes_on(
    amem: Program, vault: Path, number: signal.Signals
) -> None:
    process = amem.start("evolve", "--all", "--json")
    deadline = time.monotonic() + 60
    while sum(times_processed(vault).values()) < 5 and time.monotonic() < deadline:
        time.sleep(0.02)
    process.send_signal(number)
    out, err = process.communicate(timeout=60)
    document = json.loads(out)
    assert process.returncode == 130
    done = len(document["notes"])
    assert (document["stopped"], document["left"]) == ("interrupted", COUNT - done)
    assert f"{done} of {COUNT} notes done; run the same command to continue\n" in err
    assert err.endswith("interrupted\n")
    assert 0 < done < COUNT
    rest = amem("evolve", "--all")
    assert rest.code == 0
    assert rest.out.startswith((f"{COUNT - done} notes processed", f"{COUNT - done - 1} notes"))
    assert len(times_processed(vault)) == COUNT and set(times_processed(vault).values()) == {1}
    assert amem("evolve", "--all").out == "nothing is pending\n"
    assert amem("index", "--check").code == 0


def test_a_terminal_of_80_columns_shows_what_is_done_now(amem: Program, vault: Path) -> None:
    terminal = {"COLUMNS": "80", "LINES": "24"}
    code, shown = at_terminal(amem.folder, ["evolve", "--all"], [], **amem.environment, **terminal)
    assert code == 0
    lines = [line.rstrip() for line in plain(shown).replace("\r", "\n").split("\n")]
    counts = [(re.search(r": (\d+) of 120", line), line) for line in lines]
    told = [(int(found[1]), line) for found, line in counts if found and ".md" in line]
    assert told
    assert all(f"n{n:03}.md" in line for n, line in told)
    assert max(map(len, lines)) <= 80
    assert any(line.startswith(f"{COUNT} notes processed: {COUNT} described") for line in lines)


def test_a_server_that_dies_in_the_middle_ends_the_run_with_what_to_do(
    amem: Program, vault: Path
) -> None:
    with ChatServer() as server:
        server.faults = [""] * 8 + ["400"]
        stopped = amem("evolve", "--all", "--json", **server.variables())
        asked = len(server.requests)
    assert stopped.code == 3
    assert stopped.err.count("stopped: 3 notes in a row failed: ") == 1
    # How long it still takes is told by the clock, from time to time.
    said = [line for line in stopped.err.splitlines() if not line.startswith("processing: ")]
    assert len(said) == 1
    assert asked < 40
    done = COUNT - stopped.json["pending"]
    assert 0 < done < 10
    assert amem("evolve", "--all", "--no-llm", "--quiet").code == 0
    # The analyzer stood in for the model, and was then asked for by name.
    assert len(times_processed(vault)) == COUNT and set(times_processed(vault).values()) == {1, 2}


def test_a_model_that_thinks_its_answers_away_stops_the_run(amem: Program, vault: Path) -> None:
    with ChatServer() as server:
        server.finish_reason, server.content = "length", "<think>\nOkay, the user wants"
        stopped = amem("evolve", "--all", "--json", **server.variables())
        asked = len(server.requests)
    assert (stopped.code, asked) == (3, 4)
    assert "stopped: 3 notes in a row failed: " in stopped.err
    assert "thought until its answer was cut off" in stopped.err
    assert stopped.json["pending"] == COUNT


def test_a_note_whose_model_thinks_its_answer_away_is_saved_and_waits(
    amem: Program, vault: Path
) -> None:
    with ChatServer() as server:
        server.finish_reason, server.usage = "length", {}
        server.content = "Okay, the user wants me to find out what this is about. " * 200
        line = ("add", "Rye wants warm water.", "--title", "Rye")
        added = amem(*line, **server.variables())
    assert added.code == 0
    assert "thought until its answer was cut off; amem analyzer stands in" in added.out
    assert "pending  `amem evolve` asks the model again" in added.out
    assert [
        note["title"] for note in amem("list", "--pending", "--json").json if note["title"] == "Rye"
    ]


def test_a_few_notes_are_shown_in_full_and_many_as_a_sum(amem: Program, vault: Path) -> None:
    few = amem("evolve", "--all", "--limit", "2").out
    assert few.count("keywords") == 2 and "processed" not in few
    planned = amem("evolve", "--all", "--dry-run")
    assert planned.out.startswith(f"{COUNT - 2} notes would be processed: ")
    assert planned.out.count(", about ") >= 2 and ": about " in planned.out
    assert "a few more or fewer" in planned.err
    assert len(times_processed(vault)) == 2


def test_a_dry_run_of_a_note_whose_turn_it_is_counts_what_the_run_makes(
    amem: Program, tmp_path: Path
) -> None:
    root = amem.empty_vault()
    for day, text in enumerate(
        (
            "Lamination of croissant dough needs butter at 14 degrees, else it tears.",
            "Rye croissant dough needs warm butter and a long rest.",
            "Croissant dough: butter at 16 degrees now, not 14, then lamination tears less.",
            "The croissant dough tore in lamination, the butter was at 4 degrees.",
        ),
        1,
    ):
        title = f"Bake {day}"
        write_note(root, f"{title}.md", f"---\ncreated: 2026-03-0{day}\n---\n{text}\n")
        told = []
        for how in (("--dry-run",), ()):
            (note,) = amem("evolve", title, *how, "--json").json["notes"]
            told.append({name: note[name] for name in ("links", "suggested", "proposed")})
        planned, made = ({name: len(of[name]) for name in of} for of in told)
        assert planned == made
    both = amem("evolve", "Bake 3", "Bake 4", "--dry-run")
    assert (
        "a few more or fewer" in both.err
        and "more or fewer" not in amem("evolve", "Bake 4", "--dry-run").err
    )


def test_a_command_processes_what_was_saved_a_moment_ago_and_a_watcher_says_that_it_waits(
    amem: Program, vault: Path
) -> None:
    for number in range(2):
        write_note(vault, f"new{number}.md", f"Walrus {number} naps on ice.\n")
    waits = amem("watch", "--once", "--no-llm")
    assert waits.err == (
        "2 notes edited in the last 60 s left for later; `amem evolve` processes them now\n"
    )
    assert waits.out == "0 notes processed, 2 pending\n"
    done = amem("evolve")
    assert (done.code, done.err) == (0, "")
    assert "being edited" not in done.out and done.out.count("keywords") == 2
    assert times_processed(vault) == {"new0.md": 1, "new1.md": 1}


def test_a_terminal_shows_each_note_and_no_progress_stays(amem: Program, vault: Path) -> None:
    for number in range(5):
        write_note(vault, f"same{number}.md", "Puffins nest in burrows on cliffs above the sea.\n")
    names = [f"same{number}" for number in range(5)]
    environment: dict[str, Any] = {**amem.environment}
    with Screen(amem.folder, ["evolve", *names], rows=60, **environment) as screen:
        assert screen.finish() == 0
        lines = [line for line in screen.lines if line]
    assert sum(not line.startswith("  ") for line in lines) == 5, lines
    blocks = "\n".join(lines).replace("\n  ", "\t").split("\n")
    assert [block.split("  ")[0] for block in blocks] == names
    assert "processing" not in "\n".join(lines)
    assert not any("written by amem" in line for line in lines)


def test_what_was_refused_of_a_models_answers_is_told_on_request_only(
    amem: Program, vault: Path
) -> None:
    with ChatServer() as server:
        server.content = "no JSON at all"
        amem.environment |= server.variables()
        few = amem("evolve", "--all", "-k", "1")
        many = amem("evolve", "--all", "-k", "21")
        told = amem("evolve", "--all", "-k", "1", "--verbose")
    assert (few.code, many.code, told.code) == (0, 0, 0)
    assert "rejected" not in few.out + few.err + many.out + many.err
    assert "rejected" in told.out
    assert "rejected" in amem("history", "-k", "5").out
