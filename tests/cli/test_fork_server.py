"""A command in a fork does what it does in a process of its own; other tests rely on it."""

from __future__ import annotations

import os
import re
import shutil
import threading
from pathlib import Path

import pytest

from tests.conftest import Answer, Program
from tests.fork_server import AVAILABLE, fork_server

pytestmark = pytest.mark.skipif(not AVAILABLE, reason="forks are used on Linux alone")

LINES: tuple[list[str], ...] = (
    ["--version"],
    ["init", "other"],
    ["--help"],
    ["index", "--check"],
    ["index", "--rebuild", "--json"],
    ["add", "Walrus.", "--title", "Walrus", "--no-wait", "--json"],
    ["add", "-", "--no-wait"],
    ["show", "Home"],
    ["show", "No such note", "--json"],
    ["list", "--json"],
    ["stats", "--json"],
    ["edit", "Home"],
    ["update", "Home", "--add-tag", "start", "--no-wait"],
    ["link", "Home", "Walrus"],
    ["unlink", "Home", "Walrus"],
    ["search", "walrus", "--mode", "keyword", "--json"],
    ["ask", "What is it?", "--limit", "0"],
    ["evolve", "--all", "--dry-run", "--limit", "0"],
    ["history"],
    ["undo", "no-such-event"],
    ["watch", "--status", "--json"],
    ["review", "--json"],
    ["graph", "--format", "dot"],
    ["dedupe", "--exact", "--json"],
    ["import", "-", "--dry-run", "--no-llm"],
    ["export", "--format", "jsonl"],
    ["rm", "Home", "--json"],
    ["model", "list"],
    ["config", "get", "search.limit"],
    ["config", "list", "--json"],
    ["--json", "nonsense"],
    [],
)
CHANGING = re.compile(
    r"\d{4}-\d\d-\d\d[\d:.T+]*Z?|\b[0-9a-f]{11,}\b|\b\d{14}\b|is-forked-\d|(?<=seconds\": )[\d.]+"
)


@pytest.fixture
def both(vault: Path, amem: Program) -> tuple[Program, Program]:
    """The program in two folders that differ in nothing but the name: forked, and started anew."""
    (vault / "Home.md").write_text("# Home\n\nA [[Nowhere]] of notes.\n", encoding="utf-8")
    pair = []
    for forked in (True, False):
        folder = amem.folder / f"is-forked-{forked:d}"
        shutil.copytree(vault, folder / "v")
        variables = {"AMEM_VAULT": str(folder / "v"), "EDITOR": "true"}
        for name in ("CONFIG", "STATE", "DATA"):
            variables[f"AMEM_{name}_DIR"] = str(folder / name)
        pair.append(Program(folder, {**amem.environment, **variables}, forked))
    return pair[0], pair[1]


@pytest.mark.parametrize("line", LINES, ids=" ".join)
def test_every_command_says_the_same(both: tuple[Program, Program], line: list[str]) -> None:
    said = [_unchanging(each(*line, stdin="A text from\r\nöutside.\n")) for each in both]
    assert said[0] == said[1]


def test_a_fork_is_used_and_leaves_nothing_behind(amem: Program, vault: Path) -> None:
    assert fork_server().runs({**os.environ, **amem.environment})
    before = dict(os.environ), Path.cwd()
    asked = ("config", "get", "llm.deadline_seconds")
    usual = amem(*asked).out
    assert amem(*asked, AMEM_LLM_DEADLINE_SECONDS="3").out == "3.0\n" != usual
    assert amem(*asked).out == usual
    assert (dict(os.environ), Path.cwd()) == before


@pytest.mark.parametrize("name", ["PYTHONPATH", "PYTHONIOENCODING", "LC_ALL", "LD_PRELOAD"])
def test_what_a_start_heeds_needs_a_process_of_its_own(amem: Program, name: str) -> None:
    assert not fork_server().runs({**os.environ, **amem.environment, name: "changed"})


@pytest.mark.parametrize("forked", [True, False])
def test_a_zone_of_time_is_heeded(amem: Program, vault: Path, forked: bool) -> None:
    amem.forked = forked
    here, there = (
        amem("add", "Here.", "--no-wait", "--json", TZ=zone).json["id"]
        for zone in ("Pacific/Niue", "Pacific/Kiritimati")
    )
    # The one is a day behind the other, and ids begin with the local day.
    assert here[:8] < there[:8]


def test_several_commands_run_at_once(amem: Program, vault: Path) -> None:
    answers: list[Answer] = []
    threads = [threading.Thread(target=lambda: answers.append(amem("list"))) for _ in "abc"]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert [answer.code for answer in answers] == [0, 0, 0]
    assert len({answer.out for answer in answers}) == 1


def _unchanging(answer: Answer) -> Answer:
    """Without times, ids and folders, which are others with every command."""
    return Answer(answer.code, *(CHANGING.sub("…", text) for text in (answer.out, answer.err)))
