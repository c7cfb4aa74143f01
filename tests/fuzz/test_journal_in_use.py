"""A journal line that came from elsewhere is left out or harmless: no command ends over it."""

from __future__ import annotations

import json
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from amem_cli.index.sync import synchronise
from tests.fuzz import strategies
from tests.fuzz.folders import folder
from tests.hypothesis_profiles import examples
from tests.vaults import open_vault, write_note

pytestmark = pytest.mark.slow

GOOD = {"id": "a-good", "time": "2026-01-01T00:00:00", "kind": "process", "note": "n", "calls": 2}


def line(**fields: Any) -> bytes:
    """A journal line with these fields instead."""
    record = {"id": "b-odd", "time": "2026-01-01T00:00:00", "kind": "evolve", "note": "n"}
    return json.dumps({**record, **fields}).encode()


def the_vault_is_usable_with(lines: list[bytes]) -> None:
    """All that commands ask the journal for can be had, and the good event is among it."""
    with folder() as root:
        write_note(root, "n.md", "---\nid: n\n---\nA note.\n")
        ports = open_vault(root)
        (root / ".amem/journal").mkdir()
        content = b"\n".join([json.dumps(GOOD).encode(), *lines, b""])
        (root / ".amem/journal/2026-01-other.jsonl").write_bytes(content)
        synchronise(ports)
        assert ports.index.events.find("a-good")
        events = ports.index.events.read()
        assert "a-good" in [event.id for event in events]
        for event in events:
            ports.index.events.caused_by(event.id)
            ports.index.events.triggered_by(event.note)
        assert ports.index.events.model_totals().calls >= 2
        ports.index.link_history.records()
        ports.index.queue.pending()
        synchronise(ports)


@pytest.mark.parametrize(
    "odd",
    [
        pytest.param(line(reason="\ud800"), id="lone surrogate"),
        pytest.param(line(seconds=float("nan")), id="not a number"),
        pytest.param(line(seconds=float("inf")), id="infinite"),
        pytest.param(line(calls=10**400), id="long number"),
        pytest.param(line(calls=2**63), id="number of 64 bits"),
        pytest.param(line(calls=-1), id="negative"),
        pytest.param(line(colour=float("nan")), id="unknown field"),
        pytest.param(line(note="\0"), id="NUL"),
        pytest.param(line(reason="x" * 3_000_000), id="long text"),
        pytest.param(line(id="a-good"), id="an id twice"),
        pytest.param(line(kind="process", calls=0, known=["\0", "x"]), id="known"),
        pytest.param(
            line()[:-1] + b', "deep": ' + b"[" * 900 + b"]" * 900 + b"}",
            id="deep",
        ),
    ],
)
def test_an_odd_journal_line_ends_no_command(odd: bytes) -> None:
    the_vault_is_usable_with([odd])


@examples(0.5)
@given(st.lists(strategies.journal_lines, max_size=4))
def test_no_journal_ends_a_command(lines: list[bytes]) -> None:
    the_vault_is_usable_with(lines)
