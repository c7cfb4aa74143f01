"""Whether search finds as much as before: each question of a fixed part of the data, held against
the figures in `retrieval_guard.json`."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import numpy as np
from retrieval_data import Group, data_sets

FIGURES = Path(__file__).with_suffix(".json")
METRICS = ("recall@5", "recall@10", "mrr")
# The groups of each set that are asked, by their places; all of those that are not named.
PARTS = {"locomo": (0, 4), "qmsum": (1, 2, 3), "beam100k": (0, 1)}
# Of the languages that the bundled encoder does not know, the other encoder is asked, too.
MULTILINGUAL = {"gold": ("photographer",), "madial_zh": ("zh",)}
SAMPLES = 10_000
# Of the intervals of a few dozen figures none should lie below nothing by chance alone.
CONFIDENCE = 99.5


def parts(folder: Path) -> Iterator[tuple[str, bool, list[Group]]]:
    """Names of the figures, whether the multilingual encoder is meant, and the groups."""
    for name, groups in data_sets(folder, []):
        places = PARTS.get(name, range(len(groups)))
        yield name, False, [groups[place] for place in places]
        if named := [each for each in groups if each.name in MULTILINGUAL.get(name, ())]:
            yield f"{name}, multilingual", True, named


def guard(
    folder: Path, values_of: Callable[[list[Group], bool], tuple[list[str], Any]], update: bool
) -> bool:
    """Print a table of each set before and now; False if one lost beyond chance.

    Args:
        values_of: searches groups: names of the questions, and `METRICS` of each, in 0..1.
        update: make these the figures to be held against, in the sets that are there.
    """
    figures = json.loads(FIGURES.read_text("utf-8")) if FIGURES.exists() else {}
    print(f"{'':26}questions" + "".join(f"{name:>38}" for name in METRICS))
    kept = True
    for name, is_multilingual, groups in parts(folder):
        asked, values = values_of(groups, is_multilingual)
        # The questions themselves belong to their authors.
        digest = hashlib.sha256("\n".join(asked).encode()).hexdigest()[:16]
        known = figures.get(name, {})
        before = (
            np.array([known[each] for each in METRICS]).T if known.get("of") == digest else None
        )
        cells, is_lost = compared(before, values)
        kept &= not is_lost
        print(f"{name:26}{len(asked):9}" + "".join(f"{cell:>38}" for cell in cells), flush=True)
        if update:
            columns = zip(METRICS, np.round(values, 4).T.tolist(), strict=True)
            figures[name] = {"of": digest, **dict(columns)}
    if update:
        rows = (f"{json.dumps(name)}: {json.dumps(each)}" for name, each in figures.items())
        FIGURES.write_text("{\n" + ",\n".join(rows) + "\n}\n", encoding="utf-8")
    return kept or update


def compared(before: Any, now: Any) -> tuple[list[str], bool]:
    """For each metric before, now and the difference with its interval; whether one is a loss.

    Args:
        before, now: a row for each question; None if there are no figures of these questions.
    """
    if before is None:
        return [f"{100 * mean:.1f}, not known before" for mean in now.mean(axis=0)], False
    gains = 100 * (now - before)
    drawn = np.random.default_rng(0).integers(0, len(gains), (SAMPLES, len(gains)))
    bounds = (100 - CONFIDENCE) / 2, (100 + CONFIDENCE) / 2
    lows, highs = np.percentile(gains[drawn].mean(axis=1), bounds, axis=0)
    cells = [
        f"{was:.1f} → {found:.1f} ({low:+.1f} to {high:+.1f})" + " LOST" * (high < 0)
        for was, found, low, high in zip(
            100 * before.mean(axis=0), 100 * now.mean(axis=0), lows, highs, strict=True
        )
    ]
    return cells, bool((highs < 0).any())
