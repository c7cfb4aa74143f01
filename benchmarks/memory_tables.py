"""The figures of the benchmark of the memory process, and how they are printed."""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping, Sequence
from typing import Any

from memory_scores import column_share, estimate, f1, precision, recall, recovered, share

Rows = Sequence[Sequence[float]]
Measure = Callable[[Any], Any]
# By part: title of a figure, the rows it is of, the measure. Means are sums over a column of ones,
# which is put behind every row.
ONES = -1


def mean(column: int) -> Measure:
    """The mean of a column."""
    return column_share(column, ONES)


def _strong_recall(sums: Any) -> Any:
    return share(sums[3], sums[4])


def _means(rows: str, columns: Mapping[str, int]) -> list[tuple[str, str, Measure]]:
    return [(title, rows, mean(column)) for title, column in columns.items()]


FOUND_PAIRS: list[tuple[str, str, Measure]] = [
    ("precision", "pairs", precision),
    ("recall", "pairs", recall),
]
FIGURES: dict[str, list[tuple[str, str, Measure]]] = {
    "links": [
        *FOUND_PAIRS,
        ("F1", "pairs", f1),
        ("strong recall", "pairs", _strong_recall),
        ("relation", "pairs", column_share(5, 0)),
        ("look-alikes", "negatives", mean(0)),
        ("orphans", "orphans", mean(0)),
        ("a note", "pairs", mean(1)),
        ("or suggested", "pairs", column_share(6, 2)),
        ("suggested", "pairs", mean(7)),
    ],
    "metadata": [
        *_means(
            "labels",
            {"keyword F1": 0, "kw. soft": 1, "tag F1": 2, "tag soft": 3, "context": 4, "title": 5},
        ),
        ("kw. precise", "labels", column_share(6, 7)),
        ("tags precise", "labels", column_share(8, 9)),
    ],
    "evolution": [
        *FOUND_PAIRS,
        ("kept", "kept", mean(0)),
        ("tags add", "fields", column_share(0, 1)),
        ("tags drop", "fields", column_share(2, 3)),
        ("kw. add", "fields", column_share(4, 5)),
        ("kw. soft", "fields", column_share(6, 5)),
        *_means("fields", {"before": 7, "after": 8, "rewritten": 9}),
    ],
    "questions": [
        *_means("asked", {"text@5": 0, "text@10": 1, "meta@5": 3, "meta@10": 4}),
        *_means("asked", {"links@5": 6, "links@10": 7, "links@5+n": 8, "gold@5": 9, "gold@10": 10}),
        *_means("asked", {"goldl.@5": 12, "goldl.@10": 13, "goldl.@5+n": 14}),
        ("gain@5", "asked", recovered(0, 3, 9)),
        ("gain@10", "asked", recovered(1, 4, 10)),
        ("all gain@5", "asked", recovered(0, 6, 9)),
    ],
    "cost": [
        ("calls", "notes", mean(0)),
        ("tokens", "notes", lambda sums: share(sums[1] + sums[2], sums[ONES])),
        *_means("notes", {"written": 2, "model s": 3, "all s": 4, "replaced": 5}),
        ("valid", "notes", column_share(6, 0)),
        ("asked again", "notes", mean(7)),
    ],
}
COUNTS = {
    *("calls", "tokens", "written", "model s", "all s", "replaced", "asked again"),
    *("a note", "suggested"),
}


def figures(part: str, units: Mapping[str, Rows]) -> dict[str, list[float]]:
    """Value and 95% interval of each figure of a part; shares in 0..1."""
    return {
        title: estimate([[*row, 1.0] for row in units.get(name, [])], measure)
        for title, name, measure in FIGURES[part]
    }


def differences(
    part: str, units: Mapping[str, Rows], base: Mapping[str, Rows]
) -> dict[str, list[float]]:
    """Each figure less that of another design, unit by unit: value and 95% interval."""
    found = {}
    for title, name, measure in FIGURES[part]:
        pairs = list(zip(units.get(name, []), base.get(name, []), strict=True))
        # A row of the one and a row of the other are drawn together.
        rows = [[*one, 1.0, *other, 1.0] for one, other in pairs]
        found[title] = estimate(rows, _less(measure, len(rows[0]) // 2 if rows else 0))
    return found


def _less(measure: Measure, width: int) -> Measure:
    return lambda sums: measure(sums[:width]) - measure(sums[width:])


def joined(units: Sequence[Mapping[str, Rows]]) -> dict[str, list[Sequence[float]]]:
    """The rows of several vaults together."""
    names = dict.fromkeys(name for each in units for name in each)
    return {name: [row for each in units for row in each.get(name, [])] for name in names}


def print_part(part: str, table: Mapping[tuple[str, str], Mapping[str, Sequence[float]]]) -> None:
    """Print a table of one part.

    Args:
        table: figures by design and vault; under `all` those of all vaults together, of which the
            intervals are printed too.
    """
    if not table:
        return
    titles = [title for title, _, _ in FIGURES[part]]
    print(f"\n{part}\n{'':34}" + "".join(f"{title:>14}" for title in titles))
    for (design, vault), own in table.items():
        cells = "".join(f"{_cell(title, own[title][0]):>14}" for title in titles)
        print(f"{f'{design}, {vault}':34}{cells}")
        if vault == "all" or " less " in design:
            print(f"{'':34}" + "".join(f"{_span(title, own[title]):>14}" for title in titles))


def _cell(title: str, value: float) -> str:
    if math.isnan(value):
        return "-"
    if title in ("tokens", "written"):
        return f"{value:.0f}"
    return f"{value:.2f}" if title in COUNTS else f"{100 * value:.1f}"


def _span(title: str, value: Sequence[float]) -> str:
    return "" if math.isnan(value[1]) else f"{_cell(title, value[1])}..{_cell(title, value[2])}"
