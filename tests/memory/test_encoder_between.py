"""The index goes over to another encoder while a note is being processed."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING

import pytest

from amem_cli.errors import EncoderError
from amem_cli.index.sync import embed_missing, synchronise
from amem_cli.memory.process import MemoryProcess
from amem_cli.search.read import note_named
from tests.fakes.encoder import FakeEncoder
from tests.vaults import open_vault, write_note

if TYPE_CHECKING:
    from amem_cli.models.ports import Vectors


class OvertakenEncoder(FakeEncoder):
    """When it has encoded a text of the note, another command goes over to a new encoder."""

    def __init__(self, root: Path, new: FakeEncoder) -> None:
        super().__init__(name="old")
        self._root, self._new = root, new
        self.is_overtaken = False

    def encode(self, texts: Sequence[str], *, query: bool = False) -> Vectors:
        vectors = super().encode(texts, query=query)
        if not self.is_overtaken and any("seals" in text for text in texts):
            self.is_overtaken = True
            embed_missing(open_vault(self._root), self._new)
        return vectors


@pytest.mark.parametrize("dimension", [FakeEncoder().dimension, 32])
def test_nothing_is_written_of_a_comparison_with_vectors_of_two_encoders(
    tmp_path: Path, dimension: int
) -> None:
    write_note(tmp_path, "walrus.md", "Walruses haul out on ice in the late winter.\n")
    write_note(tmp_path, "bread.md", "Sourdough needs a long and slow fermentation.\n")
    ports, new = open_vault(tmp_path), FakeEncoder(name="new", dimension=dimension)
    synchronise(ports)
    embed_missing(ports, FakeEncoder(name="old"))
    write_note(tmp_path, "seals.md", "Seals haul out on ice, as seals do in late winter.\n")
    synchronise(ports)
    embed_missing(ports, FakeEncoder(name="old"))
    old = OvertakenEncoder(tmp_path, new)
    process = MemoryProcess(ports, old, None)
    with pytest.raises(EncoderError):
        process.run("seals.md", asked=True)
    assert old.is_overtaken
    assert ports.index.vectors.encoder() == new.model_id
    summary = note_named(ports.index, "seals.md")
    assert all(each.kind != "process" for each in ports.index.events.read(summary.key))
    outcome = MemoryProcess(ports, new, None).run("seals.md", asked=True)
    assert (outcome.pending, outcome.problems) == (False, ())
