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
LOST = " LOST"


def parts(folder: Path) -> Iterator[tuple[str, bool, list[Group]]]:
    """Names of the sets, whether the multilingual encoder is meant, and the groups."""
    for name, groups in data_sets(folder, []):
        yield name, False, [groups[place] for place in PARTS.get(name, range(len(groups)))]
        if named := [each for each in groups if each.name in MULTILINGUAL.get(name, ())]:
            yield f"{name}, multilingual", True, named


def guard(folder: Path, values_of: Callable[[Group, bool], Any], update: bool) -> bool:
    """Print a table of each set before and now; False if one lost beyond chance.

    Args:
        values_of: searches a group; `METRICS` of each of its questions, in 0..1.
        update: make these the figures to be held against.
    """
    figures = json.loads(FIGURES.read_text("utf-8")) if FIGURES.exists() else {}
    print(f"{'':26}questions" + "".join(f"{name:>32}" for name in METRICS))
    kept = True
    for name, is_multilingual, groups in parts(folder):
        pairs: list[tuple[Any, Any]] = []
        for group in groups:
            # As the file holds them: unrounded ones would lie below by the last digit.
            values = np.round(values_of(group, is_multilingual), 4)
            # The questions themselves belong to their authors.
            asked = "\n".join(each.query for each in group.questions)
            key = f"{name}: {group.name}: {hashlib.sha256(asked.encode()).hexdigest()[:16]}"
            if key in figures:
                pairs.append((np.array(figures[key]).T, values))
            if update:
                figures[key] = values.T.tolist()
        before, now = (
            (np.vstack(column) for column in zip(*pairs, strict=True)) if pairs else (None, None)
        )
        cells = ["no figures yet"] * len(METRICS) if before is None else compared(before, now)
        kept &= not any(cell.endswith(LOST) for cell in cells)
        count = 0 if now is None else len(now)
        print(f"{name:26}{count:9}" + "".join(f"{cell:>32}" for cell in cells), flush=True)
    if update:
        rows = (f"{json.dumps(key)}: {json.dumps(each)}" for key, each in figures.items())
        FIGURES.write_text("{\n" + ",\n".join(rows) + "\n}\n", encoding="utf-8")
    return kept or update


def compared(before: Any, now: Any) -> list[str]:
    """For each metric before, now and the difference with its interval, and whether it is a loss.

    Args:
        before, now: `METRICS` of each question, a row each.
    """
    gains = 100 * (now - before)
    drawn = np.random.default_rng(0).integers(0, len(gains), (SAMPLES, len(gains)))
    bounds = (100 - CONFIDENCE) / 2, (100 + CONFIDENCE) / 2
    lows, highs = np.percentile(gains[drawn].mean(axis=1), bounds, axis=0)
    return [
        f"{was:.1f} → {found:.1f} ({low:+.1f} to {high:+.1f})" + LOST * bool(high < 0)
        for was, found, low, high in zip(
            100 * before.mean(axis=0), 100 * now.mean(axis=0), lows, highs, strict=True
        )
    ]
