"""What becomes of the machine's links, as `history`, `undo` and `review` show it."""

from __future__ import annotations

from pathlib import Path

import pytest

from amem_cli.index.memory_index import VaultPorts
from tests.conftest import Program
from tests.memory.test_link_changes import carry_out, chained, change
from tests.vaults import open_vault


@pytest.fixture
def ports(tmp_path: Path) -> VaultPorts:
    """First links to Second, and Third knows more."""
    ports = open_vault(tmp_path)
    chained(ports)
    return ports


def test_history_tells_a_link_before_and_after_and_why(amem: Program, ports: VaultPorts) -> None:
    carry_out(ports, "Third", [change(relation="supersedes", strength=0.8)])
    carry_out(ports, "Third", [change(removed=True)])
    told = amem("history", "First").out
    lines = [line.strip() for line in told.splitlines()]
    assert "because of “Third”, amem changed its links" in told
    assert "links    - [[Second]]  related 0.5: as one" in lines
    assert "links    + [[Second]]  supersedes 0.8: the news say so" in lines
    assert "links    - [[Second]]  supersedes 0.8: the news say so" in lines
    event = amem("history", "First", "--json").json[-1]
    assert event["links_before"][0]["relation"] == "supersedes"
    undone = amem("undo", event["id"])
    assert undone.code == 0 and "notes/First.md" in undone.out
    (shown,) = [each for each in amem("show", "First", "--json").json["links"]
                if each["direction"] == "out"]  # fmt: skip
    assert (shown["relation"], shown["strength"]) == ("supersedes", 0.8)


def test_undo_tells_of_a_note_of_which_no_byte_changed(amem: Program, ports: VaultPorts) -> None:
    carry_out(ports, "Third", [change(strength=0.9)])
    event = amem("history", "First", "--json").json[-1]
    undone = amem("undo", event["id"])
    assert undone.code == 0 and "notes/First.md" in undone.out


def test_review_shows_what_would_become_of_a_link(amem: Program, ports: VaultPorts) -> None:
    carry_out(ports, "Third", [change(relation="contradicts", strength=0.7)], review=True)
    shown = [line.strip() for line in amem("review").out.splitlines()]
    assert "links    - [[Second]]  related 0.5: as one" in shown
    assert "links    + [[Second]]  contradicts 0.7: the news say so" in shown
    (document,) = amem("review", "--json").json["waiting"]
    assert document["link"] == {
        "path": "notes/Second.md",
        "before": {"relation": "related", "strength": 0.5},
        "after": {"relation": "contradicts", "strength": 0.7},
    }
    assert amem("review", "--accept-all").code == 0
    # Of the two the later one holds, though the other has the link.
    assert "contradicted" not in amem("show", "Second").out.partition("\n\n")[0]
    assert amem("show", "First").out.splitlines()[2].startswith("contradicted by “Second” since ")
