"""The journal's files are read on from where they are known, whoever writes to them."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

from amem_cli.errors import Problem, SettingsError
from amem_cli.journal.events import Event
from amem_cli.journal.files import JournalFolder

NAME = "2026-01-test.jsonl"


def an_event(number: int, text: str = "") -> Event:
    time = "2026-01-01T00:00:00+00:00"
    return Event(id=f"e{number:05}", time=time, kind="evolve", reason=text)


def news(journal: JournalFolder, positions: dict[str, str]) -> list[str]:
    """Ids of the events that are new, and the positions moved on."""
    found = journal.read_new(positions, [])
    if found.restarted:
        positions.clear()
    positions.update({file.name: file.position for file in found.files})
    return [event.id for file in found.files for event in file.events]


def read_so_far() -> int:
    try:
        told = Path("/proc/self/io").read_text(encoding="ascii")
    except OSError:
        pytest.skip("this system does not count what a process reads")
    found = re.search(r"rchar: (\d+)", told)
    assert found is not None
    return int(found[1])


def test_positions_are_the_same_whoever_reads(tmp_path: Path) -> None:
    journal, positions = JournalFolder(tmp_path, "test"), dict[str, str]()
    for number in range(5):
        journal.append([an_event(number)])
        assert news(journal, positions) == [f"e{number:05}"]
        fresh = dict[str, str]()
        assert len(news(JournalFolder(tmp_path, "test"), fresh)) == number + 1
        assert fresh == positions


def test_what_another_process_adds_or_changes_is_found(tmp_path: Path) -> None:
    journal, positions = JournalFolder(tmp_path, "test"), dict[str, str]()
    journal.append([an_event(1)])
    assert news(journal, positions) == ["e00001"]
    JournalFolder(tmp_path, "test").append([an_event(2)])
    journal.append([an_event(3)])
    assert news(journal, positions) == ["e00002", "e00003"]
    journal.append([an_event(4)])
    path = tmp_path / NAME
    path.write_bytes(path.read_bytes().replace(b"e00001", b"e00000"))
    assert news(journal, positions) == ["e00000", "e00002", "e00003", "e00004"]
    # Another reader's position is no beginning for what this one has added.
    journal.append([an_event(5)])
    assert news(journal, {}) == ["e00000", "e00002", "e00003", "e00004", "e00005"]
    assert news(journal, positions) == ["e00005"]


def test_a_damaged_line_of_its_own_is_told_with_its_number(tmp_path: Path) -> None:
    journal, positions = JournalFolder(tmp_path, "test"), dict[str, str]()
    journal.append([an_event(1), an_event(2)])
    news(journal, positions)
    with (tmp_path / NAME).open("ab") as stream:
        stream.write(b"{}\n{torn")
    problems: list[Problem] = []
    journal.read_new(positions, problems)
    assert [problem.line for problem in problems] == [3, 4]
    journal.append([an_event(3)])
    assert news(journal, positions) == ["e00003"]


def test_events_for_which_the_disk_has_no_room_are_told_of_and_none_is_half_there(
    tmp_path: Path,
) -> None:
    resource = pytest.importorskip("resource")
    journal, positions = JournalFolder(tmp_path, "test"), dict[str, str]()
    journal.append([an_event(1)])
    assert news(journal, positions) == ["e00001"]
    before = (tmp_path / NAME).read_bytes()
    soft, hard = resource.getrlimit(resource.RLIMIT_FSIZE)
    resource.setrlimit(resource.RLIMIT_FSIZE, (2 * len(before) + 50, hard))
    try:
        with pytest.raises(SettingsError):
            journal.append([an_event(2), an_event(3, "why " * 50)])
    finally:
        resource.setrlimit(resource.RLIMIT_FSIZE, (soft, hard))
    assert (tmp_path / NAME).read_bytes() == before
    journal.append([an_event(4)])
    assert news(journal, positions) == ["e00004"]


def test_one_more_event_costs_no_reading_of_the_others(tmp_path: Path) -> None:
    journal, positions = JournalFolder(tmp_path, "test"), dict[str, str]()
    journal.append([an_event(number, "why " * 500) for number in range(500)])
    assert len(news(journal, positions)) == 500
    assert (tmp_path / NAME).stat().st_size > 1_000_000
    for number in range(500, 503):
        before = read_so_far()
        journal.append([an_event(number)])
        assert news(journal, positions) == [f"e{number:05}"]
        assert read_so_far() - before < 100_000
