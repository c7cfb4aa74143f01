"""Notes on a plane: alike ones together, the same map every time, also of very few notes."""

from __future__ import annotations

import math
from pathlib import Path

import pytest

from amem_cli.graph.graph import vault_graph
from amem_cli.graph.map import note_positions
from amem_cli.index.memory_index import VaultPorts
from tests.vaults import indexed, open_vault, write_note

TEA = "tea kettle leaf cup pot steam"
SHIP = "ship harbour sail mast anchor tide"


def a_vault(root: Path, texts: dict[str, str]) -> VaultPorts:
    for path, text in texts.items():
        write_note(root, path, text)
    return indexed(open_vault(root))


def two_subjects(each: int) -> dict[str, str]:
    made = {}
    for name, text in (("tea", TEA), ("ship", SHIP)):
        for number in range(each):
            made[f"{name} {number}.md"] = f"---\ntags: [{name}/x]\n---\n{text} number{number}\n"
    return made


def test_notes_of_like_meaning_lie_together(tmp_path: Path) -> None:
    ports = a_vault(tmp_path, two_subjects(12))
    graph = vault_graph(ports.index)
    places = note_positions(ports.index, graph.nodes)
    assert set(places) == set(graph.nodes)
    assert note_positions(ports.index, graph.nodes) == places
    assert max(abs(value) for place in places.values() for value in place) == pytest.approx(1)
    for path, place in places.items():
        near = sorted(places, key=lambda other: math.dist(place, places[other]))[1:5]
        assert sum(other.split()[0] == path.split()[0] for other in near) >= 3


@pytest.mark.parametrize("count", [0, 1, 2, 3, 4, 5, 6])
def test_a_map_of_few_notes_can_be_drawn(tmp_path: Path, count: int) -> None:
    texts = {f"{number}.md": f"word{number} tea\n" for number in range(count)}
    ports = a_vault(tmp_path, texts)
    graph = vault_graph(ports.index)
    places = note_positions(ports.index, graph.nodes)
    assert len(set(places.values())) == count
    assert all(math.isfinite(value) for place in places.values() for value in place)


def test_notes_that_say_the_same_have_places(tmp_path: Path) -> None:
    ports = a_vault(tmp_path, {f"{number}.md": "---\ntitle: x\n---\nsame\n" for number in range(8)})
    places = note_positions(ports.index, vault_graph(ports.index).nodes)
    assert len(places) == 8
