"""Which notes does `amem dedupe` take for duplicates, and how long does it look for them?

    python benchmarks/dedupe.py DATA_FOLDER
    python benchmarks/dedupe.py DATA_FOLDER --vectors vectors.npz
    python benchmarks/dedupe.py DATA_FOLDER --sizes 1000,10000

DATA_FOLDER holds `gold/` and `links/`; `benchmarks/dedupe_pairs.py` tells what is made of them.
With --vectors the vectors are kept for the next run. The time is measured in a vault of real texts
cut and mixed anew, with the vectors of the pairs, disturbed, so that as many notes are near each
other; in seconds of the processor, so that what else a computer does is of no account.
"""

from __future__ import annotations

import argparse
import random
import tempfile
import time
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np
from dedupe_pairs import EDITS, Pair, Text, made_pairs, read_notes
from remembered_vectors import RememberingEncoder

from amem_cli.duplicates.compare import THRESHOLD, Wording, duplicates_of, likeness, wording
from amem_cli.duplicates.find import LEAST_COSINE, LEAST_SHARED, find_duplicates
from amem_cli.index.sync import embed_missing, synchronise
from amem_cli.markdown.plain_text import plain_text
from amem_cli.notes.passages import split_passages
from amem_cli.vault.template import adopt_vault
from amem_cli.workspace.workspace import Workspace

if TYPE_CHECKING:
    from amem_cli.models.ports import Encoder, Vectors

THRESHOLDS = (0.6, 0.65, 0.7, 0.75, 0.8, 0.85, 0.9, 0.95)
NEAREST = 2


@dataclass(frozen=True)
class Scored:
    """A pair with what each measure says of it."""

    pair: Pair
    cosine: float
    words: float
    both: float


def passages(note: Text) -> list[str]:
    texts = [f"{note.title}\n{plain_text(each.text)}" for each in split_passages(note.text)]
    return texts or [note.title]


def vector_of(encoder: Encoder, note: Text) -> Vectors:
    mean = encoder.encode(passages(note)).mean(axis=0)
    unit: Vectors = mean / np.linalg.norm(mean)
    return unit


def nearest_pairs(notes: Sequence[Text], encoder: Encoder) -> list[Pair]:
    """Each note with those that are nearest to it; whoever wrote them did not mean one note."""
    vectors = np.array([vector_of(encoder, note) for note in notes])
    near = vectors @ vectors.T
    np.fill_diagonal(near, -1)
    pairs = []
    for at, row in enumerate(near):
        for other in np.argsort(-row)[:NEAREST].tolist():
            pairs.append(Pair("nearest notes", False, notes[at], notes[other]))
    return pairs


def scored(pair: Pair, encoder: Encoder) -> Scored:
    one = wording(pair.one.title, pair.one.text)
    other = wording(pair.other.title, pair.other.text)
    cosine = float(vector_of(encoder, pair.one) @ vector_of(encoder, pair.other))
    shared = len(one.words & other.words) / max(1, min(len(one.words), len(other.words)))
    compared = is_worth_comparing(one, other, cosine)
    both = likeness(one, other, cosine) if compared else 0.0
    return Scored(pair, cosine, shared, both)


def is_worth_comparing(one: Wording, other: Wording, cosine: float) -> bool:
    """Whether `find_duplicates` would look at a pair whose runs of words no third note has."""
    shared = len(one.shingles & other.shingles)
    least = min(len(one.shingles), len(other.shingles), LEAST_SHARED)
    return cosine >= LEAST_COSINE or shared >= least


def show_table(found: Sequence[Scored]) -> None:
    duplicates = [each for each in found if each.pair.is_duplicate]
    others = [each for each in found if not each.pair.is_duplicate]
    print(f"{len(duplicates)} pairs of duplicates, {len(others)} of others\n")
    print("| threshold | cosine: found, wrong | shared words: found, wrong | amem: found, wrong |")
    print("|---|---|---|---|")
    for threshold in THRESHOLDS:
        cells = []
        for name in ("cosine", "words", "both"):
            right = sum(getattr(each, name) >= threshold for each in duplicates)
            wrong = sum(getattr(each, name) >= threshold for each in others)
            cells.append(f"{100 * right / len(duplicates):.1f} %, {wrong}")
        mark = " (default)" if threshold == THRESHOLD else ""
        print(f"| {threshold:.2f}{mark} | {' | '.join(cells)} |")


def show_kinds(found: Sequence[Scored]) -> None:
    print(f"\nat {THRESHOLD:.2f}\n\n| pairs | number | taken for duplicates |\n|---|---|---|")
    kinds = dict.fromkeys([*EDITS, *(each.pair.kind for each in found)])
    for kind in kinds:
        of_kind = [each for each in found if each.pair.kind == kind]
        taken = sum(each.both >= THRESHOLD for each in of_kind)
        print(f"| {kind} | {len(of_kind)} | {taken} ({100 * taken / len(of_kind):.1f} %) |")
    print("\ntaken for duplicates among the others:")
    wrong = {
        frozenset((each.pair.one.id, each.pair.other.id)): each
        for each in found
        if not each.pair.is_duplicate and each.both >= THRESHOLD
    }
    for each in wrong.values():
        pair = each.pair
        print(f"  {each.both:.2f}  {pair.one.source}: {pair.one.title!r} and {pair.other.title!r}")


class Disturbed:
    """An encoder that gives vectors of other texts, a little off, the same for the same text."""

    def __init__(self, vectors: Vectors) -> None:
        self._vectors = vectors
        self.model_id = "disturbed"
        self.dimension = int(vectors.shape[1])
        self.max_tokens = 256
        self.is_spread = False

    def readable(self, text: str) -> float:
        return 1.0

    def encode(self, texts: Sequence[str], *, query: bool = False) -> Vectors:
        rows = []
        for text in texts:
            seeded = np.random.default_rng(abs(hash(text)) % 2**32)
            base = self._vectors[seeded.integers(len(self._vectors))]
            rows.append(base + seeded.normal(0, 0.02, self.dimension))
        found = np.array(rows, dtype=np.float32)
        unit: Vectors = found / np.linalg.norm(found, axis=1, keepdims=True)
        return unit


def show_time(pairs: Sequence[Pair], encoder: Encoder, size: int) -> None:
    chance = random.Random(3)
    sentences = [line for pair in pairs for line in pair.one.text.splitlines() if line.strip()]
    vectors = np.array([vector_of(encoder, pair.one) for pair in pairs[:2000]])
    with tempfile.TemporaryDirectory() as folder:
        root = Path(folder)
        for number in range(size):
            lines = chance.sample(sentences, chance.randrange(2, 12))
            (root / f"Note {chance.random()} of {number}.md").write_text("\n\n".join(lines))
        adopt_vault(root)
        workspace = Workspace(root, overrides={"llm_backend": "none", "git_commit": "off"})
        synchronise(workspace.ports)
        embed_missing(workspace.ports, Disturbed(vectors))
        times = []
        for exact in (True, False):
            started = time.process_time()
            found = find_duplicates(workspace.ports, exact_only=exact)
            times.append(time.process_time() - started)
        started = time.process_time()
        path = next(iter(workspace.index.notes.summaries())).path
        duplicates_of(workspace.ports, path)
        one = time.process_time() - started
        workspace.close()
    print(f"| {size} | {times[0]:.1f} s | {times[1]:.1f} s | {one:.2f} s | {len(found.groups)} |")


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("data", type=Path)
    parser.add_argument("--vectors", type=Path)
    parser.add_argument("--sizes", default="1000,10000")
    arguments = parser.parse_args()
    notes = read_notes(arguments.data)
    pairs = made_pairs(notes, arguments.data)
    with tempfile.TemporaryDirectory() as folder:
        adopt_vault(Path(folder))
        workspace = Workspace(Path(folder), overrides={"llm_backend": "none"})
        encoder = RememberingEncoder(workspace.models.encoder, arguments.vectors)
        texts = [text for pair in pairs for text in (*passages(pair.one), *passages(pair.other))]
        encoder.encode([*texts, *(text for note in notes for text in passages(note))])
        encoder.save()
        pairs += nearest_pairs(notes, encoder)
        found = [scored(pair, encoder) for pair in pairs]
        show_table(found)
        show_kinds(found)
        print(
            "\n| notes | --exact | all | one note, as `add` asks | groups |\n|---|---|---|---|---|"
        )
        for size in map(int, arguments.sizes.split(",")):
            show_time(pairs, encoder, size)
        workspace.close()


if __name__ == "__main__":
    main()
