"""Going over to another encoder: searches go on meanwhile, and nothing is done twice."""

from __future__ import annotations

import signal
import subprocess
import sys
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING

import pytest

from amem_cli.errors import EncoderError
from amem_cli.index.memory_index import MemoryIndex, VaultPorts
from amem_cli.index.sync import embed_missing, synchronise
from amem_cli.search.search import search
from tests.fakes.encoder import FakeEncoder
from tests.index_dump import canonical_dump
from tests.vaults import open_vault, write_note

if TYPE_CHECKING:
    from amem_cli.models.ports import Vectors

COUNT = 300


class StoppedEncoder(FakeEncoder):
    """Is interrupted after some texts."""

    def __init__(self, *, after: int, name: str) -> None:
        super().__init__(name=name)
        self._after = after

    def encode(self, texts: Sequence[str], *, query: bool = False) -> Vectors:
        if len(self.encoded) >= self._after:
            raise KeyboardInterrupt
        return super().encode(texts, query=query)


@pytest.fixture
def ports(tmp_path: Path) -> VaultPorts:
    for number in range(COUNT):
        write_note(tmp_path, f"{number}.md", f"walrus {number} dives\n")
    opened = open_vault(tmp_path)
    synchronise(opened)
    assert embed_missing(opened, FakeEncoder(name="old")) == COUNT
    return opened


def best(ports: VaultPorts, encoder: FakeEncoder) -> str:
    hits = search(ports.index, "walrus 7 dives", encoder=encoder, mode="semantic", limit=1)
    return hits[0].note.path


def test_an_interrupted_change_goes_on_where_it_stopped(ports: VaultPorts, tmp_path: Path) -> None:
    old, stopped = FakeEncoder(name="old"), StoppedEncoder(after=100, name="new")
    with pytest.raises(KeyboardInterrupt):
        embed_missing(ports, stopped)
    done = len(stopped.encoded)
    assert 100 <= done < COUNT
    assert ports.index.vectors.encoder() == old.model_id
    assert best(ports, old) == "7.md"
    ports.index.close()
    opened, new = open_vault(tmp_path), FakeEncoder(name="new")
    assert embed_missing(opened, new) == COUNT - done
    assert len(new.encoded) == COUNT - done
    assert opened.index.vectors.encoder() == new.model_id
    assert best(opened, new) == "7.md"


SLOW_PROCESS = """
import signal, sys, time
from pathlib import Path
from amem_cli.index.sync import embed_missing
from tests.fakes.encoder import FakeEncoder
from tests.vaults import open_vault

class Slow(FakeEncoder):
    def encode(self, texts, *, query=False):
        vectors = super().encode(texts, query=query)
        if len(self.encoded) > 200:
            print(len(self.encoded) - len(texts), flush=True)
            time.sleep(600)
        return vectors

# Started in the background, a process ignores this signal.
signal.signal(signal.SIGINT, signal.default_int_handler)
embed_missing(open_vault(Path(sys.argv[1])), Slow(name="new"))
"""


@pytest.mark.parametrize("number", [signal.SIGKILL, signal.SIGINT])
def test_a_process_that_is_ended_leaves_what_it_had_done(
    ports: VaultPorts, tmp_path: Path, number: signal.Signals
) -> None:
    ports.index.close()
    process = subprocess.Popen(
        [sys.executable, "-c", SLOW_PROCESS, str(tmp_path)],
        cwd=Path(__file__).parents[2],
        stdout=subprocess.PIPE,
        stderr=subprocess.DEVNULL,
        text=True,
    )
    assert process.stdout is not None
    done = int(process.stdout.readline())
    process.send_signal(number)
    process.wait(60)
    process.stdout.close()
    opened, new = open_vault(tmp_path), FakeEncoder(name="new")
    assert best(opened, FakeEncoder(name="old")) == "7.md"
    assert 0 < embed_missing(opened, new) == COUNT - done < COUNT
    assert best(opened, new) == "7.md"


def test_the_way_back_embeds_only_what_was_written_meanwhile(
    ports: VaultPorts, tmp_path: Path
) -> None:
    old, new = FakeEncoder(name="old"), FakeEncoder(name="new")
    assert embed_missing(ports, new) == COUNT
    write_note(tmp_path, "7.md", "penguin\n")
    (tmp_path / "8.md").unlink()
    synchronise(ports)
    assert embed_missing(ports, new) == 1
    assert embed_missing(ports, old) == 1
    assert old.encoded == ["7\npenguin"]
    assert ports.index.vectors.encoder() == old.model_id
    assert isinstance(ports.index, MemoryIndex)
    anew = open_vault(tmp_path, index="anew.db")
    synchronise(anew)
    embed_missing(anew, old)
    assert isinstance(anew.index, MemoryIndex)
    assert canonical_dump(ports.index) == canonical_dump(anew.index)


def test_notes_written_during_the_change_are_found_before_and_after(
    ports: VaultPorts, tmp_path: Path
) -> None:
    old, new = FakeEncoder(name="old"), FakeEncoder(name="new")
    other = open_vault(tmp_path)

    def write_and_find(done: int, total: int) -> None:
        if not (tmp_path / "later.md").exists():
            write_note(tmp_path, "later.md", "zebra crossing\n")
            synchronise(other)
            assert embed_missing(other, old) == 1
            (hit, *_) = search(other.index, "zebra", encoder=old, mode="semantic")
            assert hit.note.path == "later.md"

    assert embed_missing(ports, new, progress=write_and_find) == COUNT + 1
    assert ports.index.vectors.encoder() == other.index.vectors.encoder() == new.model_id
    (hit, *_) = search(other.index, "zebra", encoder=new, mode="semantic")
    assert hit.note.path == "later.md"


def test_a_third_encoder_takes_the_place_of_the_unfinished_one(ports: VaultPorts) -> None:
    with pytest.raises(KeyboardInterrupt):
        embed_missing(ports, StoppedEncoder(after=100, name="second"))
    third = FakeEncoder(name="third", dimension=32)
    assert ports.index.vectors.count_to_embed(third.model_id) == COUNT
    assert embed_missing(ports, third) == COUNT
    assert best(ports, third) == "7.md"
    assert ports.index.vectors.count_to_embed(FakeEncoder(name="second").model_id) == COUNT


def test_of_two_runs_with_different_encoders_the_earlier_gives_way(
    ports: VaultPorts, tmp_path: Path
) -> None:
    later, asked = open_vault(tmp_path), 0
    third = FakeEncoder(name="third", dimension=32)

    def take_the_place(done: int, total: int) -> None:
        nonlocal asked
        asked += 1
        assert asked < 5
        later.index.vectors.use_encoder(third.model_id, third.dimension)

    with pytest.raises(EncoderError, match="another encoder"):
        embed_missing(ports, FakeEncoder(name="second"), progress=take_the_place)
    assert best(ports, FakeEncoder(name="old")) == "7.md"
    assert embed_missing(later, third) == COUNT
    assert best(ports, third) == "7.md"


def test_progress_counts_up_to_all(ports: VaultPorts) -> None:
    seen: list[tuple[int, int]] = []
    embed_missing(
        ports, FakeEncoder(name="new"), progress=lambda done, total: seen.append((done, total))
    )
    assert len(seen) > 1
    assert seen == sorted(seen)
    assert seen[-1] == (COUNT, COUNT)


def test_an_unchanged_vault_needs_no_encoder(ports: VaultPorts) -> None:
    encoder = FakeEncoder(name="old")
    assert embed_missing(ports, encoder) == 0
    assert encoder.encoded == []
