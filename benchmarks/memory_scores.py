"""Exact scores of links, labels and changes, and their intervals; nothing here knows a vault."""

from __future__ import annotations

from collections.abc import Callable, Collection
from typing import Any

import numpy as np

from amem_cli.language.words import fold, stem, words

SAMPLES = 2000
# Two labels are the same to the softer match where they share so much of their stems.
SOFT = 0.5


def share(part: Any, whole: Any) -> Any:
    """A part of a whole, element by element; NaN where there is nothing to have a part of."""
    part, whole = np.asarray(part, float), np.asarray(whole, float)
    nothing = np.full(np.broadcast(part, whole).shape, np.nan)
    return np.divide(part, whole, out=nothing, where=whole != 0)


def estimate(rows: Any, measure: Callable[[Any], Any]) -> list[float]:
    """A measure of all rows, with the 95% percentile interval over rows drawn with replacement.

    Args:
        rows: one a unit that is drawn (a note, a pair, a question), all of one length.
        measure: of sums of rows, which it gets as shape (columns, samples).

    Returns:
        Value, lower and upper bound; NaN where they cannot be told.
    """
    if not len(rows):
        return [float("nan")] * 3
    table = np.array(rows, dtype=float)
    count = len(table)
    drawn = np.random.default_rng(0).multinomial(count, np.full(count, 1 / count), size=SAMPLES)
    values = np.asarray(measure(np.vstack([table.sum(axis=0), drawn @ table]).T), float)
    known = values[1:][~np.isnan(values[1:])]
    if not len(known):
        return [float(values[0]), float("nan"), float("nan")]
    low, high = np.percentile(known, (2.5, 97.5))
    return [float(values[0]), float(low), float(high)]


def paired(one: str, other: str) -> tuple[str, str]:
    """The same pair, whichever note names the other."""
    return (one, other) if one <= other else (other, one)


def key_of(label: str) -> str:
    """A label without regard to case, blanks at its ends and a leading `#`."""
    return fold(label).strip().lstrip("#")


def likeness(one: str, other: str) -> float:
    """Share of the stems of both labels that both have, 0..1; parts of a nested tag are words."""
    left, right = _stems(one), _stems(other)
    return len(left & right) / len(left | right) if left and right else float(one == other)


def _stems(label: str) -> frozenset[str]:
    plain = label.replace("/", " ").replace("-", " ").replace("_", " ")
    return frozenset(stem(word) for word in words(plain))


def matches(said: Collection[str], gold: Collection[str], *, soft: bool = False) -> int:
    """How many of the gold labels are found among those said, each used once.

    Args:
        soft: labels that share half of their stems are the same, the likest first.
    """
    own = list(dict.fromkeys(map(key_of, said)))
    wanted = list(dict.fromkeys(map(key_of, gold)))
    if not soft:
        return len(set(own) & set(wanted))
    alike = sorted(
        ((likeness(a, b), i, j) for i, a in enumerate(own) for j, b in enumerate(wanted)),
        key=lambda each: (-each[0], each[1], each[2]),
    )
    used: set[int] = set()
    found: set[int] = set()
    for degree, i, j in alike:
        if degree >= SOFT and i not in used and j not in found:
            used.add(i)
            found.add(j)
    return len(found)


def label_f1(said: Collection[str], gold: Collection[str], *, soft: bool = False) -> float:
    """F1 of labels; 1 where none were wanted and none were said."""
    count = len(set(map(key_of, said))) + len(set(map(key_of, gold)))
    return 2 * matches(said, gold, soft=soft) / count if count else 1.0


def column_share(part: int, whole: int) -> Callable[[Any], Any]:
    """The sum of one column over that of another."""
    return lambda sums: share(sums[part], sums[whole])


# Of rows that begin with hits, predicted, wanted.
precision, recall = column_share(0, 1), column_share(0, 2)


def f1(sums: Any) -> Any:
    """Of rows that begin with hits, predicted, wanted."""
    return share(2 * sums[0], sums[1] + sums[2])


def recovered(bare: int, made: int, perfect: int) -> Callable[[Any], Any]:
    """The share of the gain from bare to perfect that was made."""
    return lambda sums: share(sums[made] - sums[bare], sums[perfect] - sums[bare])
