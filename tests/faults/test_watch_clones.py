"""Two machines watch clones of one vault that git carries between them."""

from __future__ import annotations

import time
from pathlib import Path
from typing import Any

import pytest

from tests.conftest import Program
from tests.repositories import TestRepository, new_repository, person
from tests.vaults import write_note
from tests.watching import journal_events, times_processed, watching

pytestmark = pytest.mark.slow


def exchange(repository: TestRepository) -> None:
    """Commit what is new, and take and give commits, as a plugin for git does."""
    repository.git("add", "-A")
    if repository.status():
        repository.git("commit", "-qm", "sync")
    repository.git("pull", "-q", "--rebase")
    repository.git("push", "-q")


def test_the_machine_that_is_named_thinks_about_the_notes_of_both(
    amem: Program, tmp_path: Path
) -> None:
    user = person(tmp_path / "home")
    (tmp_path / "hub").mkdir()
    hub = new_repository(tmp_path / "hub", user, "--bare")
    desk = new_repository(tmp_path / "desk", user)
    assert amem("init", "desk", "--adopt").code == 0
    assert amem("--vault", "desk", "config", "set", "evolution.device", "laptop").code == 0
    desk.git("add", "-A")
    desk.git("commit", "-qm", "a vault")
    desk.git("remote", "add", "origin", str(hub.top))
    desk.git("push", "-q", "-u", "origin", "main")
    hub.git("clone", "-q", str(hub.top), str(tmp_path / "laptop"))
    laptop = desk.at(tmp_path / "laptop")
    state = tmp_path / "state of the laptop"
    state.mkdir()
    (state / "machine").write_text("laptop")
    variables: dict[str, Any] = {"AMEM_STATE_DIR": str(state)}

    with (
        watching(amem, desk.top) as at_desk,
        watching(amem, laptop.top, **variables) as at_laptop,
    ):
        write_note(desk.top, "walrus.md", "The walrus sleeps on the ice.\n")
        at_desk.until_told("noticed", added=1)
        exchange(desk)
        exchange(laptop)
        at_laptop.until_told("learned", path="walrus.md")
        write_note(laptop.top, "penguin.md", "The penguin swims below the ice.\n")
        at_laptop.until_told("learned", path="penguin.md")
        exchange(laptop)
        exchange(desk)
        at_desk.until(lambda: sum(told["changed"] for told in at_desk.lines("noticed")) == 1)
        (desk.top / "walrus.md").rename(desk.top / "sleeper.md")
        at_desk.until_told("noticed", moved=1)
        exchange(desk)
        exchange(laptop)
        at_laptop.until_told("noticed", moved=1)
        for _ in range(3):
            exchange(desk)
            exchange(laptop)
            time.sleep(0.5)
        assert at_desk.lines("learned") == [] == at_desk.lines("trouble")
        assert at_laptop.lines("trouble") == []
        assert (at_desk.end(), at_laptop.end()) == (0, 0)
    exchange(laptop)
    exchange(desk)
    assert desk.head() == laptop.head()
    assert desk.status() == [] == laptop.status()
    assert set(times_processed(desk.top).values()) == {1}
    assert len(journal_events(laptop.top, "process")) == 2
    for top in (desk.top, laptop.top):
        assert amem("--vault", str(top), "stats", "--json").json["pending"] == 0
        assert amem("--vault", str(top), "index", "--check").code == 0
