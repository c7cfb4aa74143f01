"""All clones of a vault agree on the machine that evolves it, which has a name of its own."""

from __future__ import annotations

import json
import os
from datetime import datetime, timedelta, timezone
from pathlib import Path

import pytest

from amem_cli.errors import SettingsError
from amem_cli.settings import machine_name
from amem_cli.watch.watcher import evolving_machine, register

NOW = datetime(2026, 3, 1, 12, 0, tzinfo=timezone(timedelta(hours=2)))


@pytest.fixture
def state(tmp_path: Path) -> Path:
    (tmp_path / ".amem").mkdir()
    return tmp_path / ".amem"


def device(state: Path, name: str, content: object) -> Path:
    path = state / "devices" / f"{name}.json"
    path.parent.mkdir(exist_ok=True)
    path.write_bytes(content if isinstance(content, bytes) else json.dumps(content).encode())
    return path


def test_a_machine_alone_evolves_its_vault(state: Path) -> None:
    assert evolving_machine(state, "first", "desk") == "desk"
    register(state, "desk", NOW)
    assert evolving_machine(state, "first", "desk") == "desk"
    content = json.loads((state / "devices/desk.json").read_text())
    assert content == {"machine": "desk", "since": "2026-03-01T10:00:00Z"}


def test_the_first_one_evolves_and_stays_it(state: Path) -> None:
    for hours, name in enumerate(["lap", "desk", "attic"]):
        register(state, name, NOW + timedelta(hours=hours))
    register(state, "lap", NOW + timedelta(days=1))
    # One that joins in the same second is later.
    register(state, "aaa", NOW)

    assert {evolving_machine(state, "first", name) for name in ("lap", "desk", "attic")} == {"lap"}


def test_machines_that_began_in_the_same_second_are_told_by_their_names(state: Path) -> None:
    for name in ("b", "a", "c"):
        device(state, name, {"machine": name, "since": "2026-03-01T10:00:00Z"})

    assert evolving_machine(state, "first", "b") == "a"


def test_the_setting_may_name_a_machine_or_let_all(state: Path) -> None:
    register(state, "lap", NOW)

    assert evolving_machine(state, "any", "desk") == "desk"
    assert evolving_machine(state, "desk", "attic") == "desk"


@pytest.mark.parametrize(
    "content",
    [
        b"{",
        b"\xff\xfe",
        b" " * 5000 + b'{"machine": "aaa", "since": "2000-01-01T00:00:00Z"}',
        [],
        {"machine": "aaa"},
        {"machine": "bbb", "since": "2000-01-01T00:00:00Z"},
        {"machine": "aaa", "since": "2000-13-01T00:00:00Z"},
        {"machine": "aaa", "since": "2000-01-01T00:00:00+09:00"},
        {"machine": "aaa", "since": 0},
    ],
)
def test_a_garbled_file_counts_nowhere_and_is_mended_by_its_machine(
    state: Path, content: object
) -> None:
    device(state, "aaa", content)
    register(state, "desk", NOW)
    assert evolving_machine(state, "first", "lap") == "desk"

    register(state, "aaa", NOW - timedelta(days=1))
    assert evolving_machine(state, "first", "lap") == "aaa"


def test_links_and_pipes_are_neither_read_nor_written_through(state: Path, tmp_path: Path) -> None:
    elsewhere = tmp_path / "elsewhere.json"
    elsewhere.write_text(json.dumps({"machine": "aaa", "since": "2000-01-01T00:00:00Z"}))
    (state / "devices").mkdir()
    (state / "devices/aaa.json").symlink_to(elsewhere)
    os.mkfifo(state / "devices/bbb.json")
    register(state, "desk", NOW)
    assert evolving_machine(state, "first", "lap") == "desk"

    before = elsewhere.read_bytes()
    register(state, "aaa", NOW)
    assert elsewhere.read_bytes() == before
    assert not (state / "devices/aaa.json").is_symlink()


def test_a_folder_that_is_a_link_is_refused(state: Path, tmp_path: Path) -> None:
    (tmp_path / "elsewhere").mkdir()
    (state / "devices").symlink_to(tmp_path / "elsewhere")
    with pytest.raises(SettingsError, match=r"devices in \.amem is a link"):
        register(state, "desk", NOW)

    assert evolving_machine(state, "first", "desk") == "desk"
    assert list((tmp_path / "elsewhere").iterdir()) == []


def test_a_file_that_cannot_be_written_is_an_error(state: Path) -> None:
    (state / "devices").write_text("a file")
    with pytest.raises(SettingsError, match=r"cannot write devices/desk\.json"):
        register(state, "desk", NOW)
    assert evolving_machine(state, "first", "desk") == "desk"


def test_a_name_is_made_once(tmp_path: Path) -> None:
    here, there = ({"AMEM_STATE_DIR": str(tmp_path / name)} for name in ("a", "b"))
    assert machine_name(here) == machine_name(here) != machine_name(there)


@pytest.mark.parametrize("content", [b"\xff\xfe", b"", None])
def test_a_file_that_holds_no_name_is_no_obstacle(tmp_path: Path, content: bytes | None) -> None:
    path = tmp_path / "machine"
    if content is None:
        path.mkdir()
    else:
        path.write_bytes(content)
    assert machine_name({"AMEM_STATE_DIR": str(tmp_path)}) == "local"
