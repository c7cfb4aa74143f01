"""Going over to another encoder: nothing is done twice."""

from __future__ import annotations

import signal
import subprocess
import sys
from pathlib import Path
from typing import TYPE_CHECKING

import pytest

from amem_cli.errors import EncoderError
from amem_cli.index.memory_index import VaultPorts
from amem_cli.index.sync import embed_missing, synchronise
from amem_cli.search.search import search
from tests.fakes.encoder import FakeEncoder
from tests.vaults import open_vault, write_note

if TYPE_CHECKING:
    pass

COUNT = 300


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
            # The first text was a trial.
            print(len(self.encoded) - len(texts) - 1, flush=True)
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
    assert 0 < embed_missing(opened, new) == COUNT - done < COUNT
    assert best(opened, new) == "7.md"


def test_of_two_runs_with_different_encoders_the_earlier_gives_way(
    ports: VaultPorts, tmp_path: Path
) -> None:
    later, third = open_vault(tmp_path), FakeEncoder(name="third", dimension=32)

    def take_the_place(done: int, total: int) -> None:
        later.index.vectors.use_encoder(third.model_id, third.dimension)

    with pytest.raises(EncoderError, match="another encoder"):
        embed_missing(ports, FakeEncoder(name="second"), progress=take_the_place)
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
