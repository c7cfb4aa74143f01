"""How well trained judges rank all pairs of people whom they never saw.

    python training/judge_score.py FOLDER TRAINED.npz […]

FOLDER is what `judge_pairs.py` wrote; trainings that scored different people are read together. For
each person: area under the curve of links against all other pairs, best F1, recall at a precision
of .8, recall at five pairs a note, share of look-alikes above the threshold of best F1, and best F1
by cosine alone; then how often the relation of a link is named right, and how many of the likeliest
revisions (`supersedes`, `contradicts`) are some.
"""

from __future__ import annotations

import argparse
from pathlib import Path
from typing import Any

import numpy as np

from amem_cli.models.judge import ANSWERS

COLUMNS = ("auc", "best F1", "P", "R", "R at P.8", "R at 5", "alike", "cosine F1")
REVISIONS = ("supersedes", "contradicts")


def auc(score: Any, linked: Any) -> float:
    """Share of pairs of a link and another pair that are in the right order."""
    rank = np.empty(len(score))
    rank[np.argsort(score)] = np.arange(1, len(score) + 1)
    count = linked.sum()
    return float((rank[linked].sum() - count * (count + 1) / 2) / (count * (len(score) - count)))


def curve(score: Any, linked: Any, alike: Any) -> tuple[float, float, float, float, float]:
    """Best F1, its precision and recall, recall at a precision of .8, look-alikes at best F1."""
    order = np.argsort(-score)
    right = np.cumsum(linked[order])
    precision, recall = right / np.arange(1, len(order) + 1), right / linked.sum()
    f1 = 2 * precision * recall / (precision + recall + 1e-9)
    best = int(f1.argmax())
    # The first pairs say little of precision.
    enough = np.flatnonzero(precision[5:] >= 0.8)
    at_80 = float(recall[enough[-1] + 5]) if len(enough) else 0.0
    traps = float(alike[order[: best + 1]].sum() / max(1, alike.sum()))
    return float(f1[best]), float(precision[best]), float(recall[best]), at_80, traps


def recall_at(score: Any, linked: Any, newer: Any, most: int) -> float:
    """Share of links among the `most` best pairs of each newer note."""
    found = 0
    for note in np.unique(newer):
        rows = np.flatnonzero(newer == note)
        found += int(linked[rows[np.argsort(-score[rows])[:most]]].sum())
    return found / int(linked.sum())


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.split("\n\n")[0])
    parser.add_argument("folder", type=Path)
    parser.add_argument("trained", type=Path, nargs="+")
    options = parser.parse_args()
    with np.load(options.folder / "pairs.npz") as file:
        data = {name: file[name] for name in file.files}
    pairs, scores = [], []
    for path in options.trained:
        with np.load(path) as file:
            pairs.append(file["pairs"])
            scores.append(file["scores"])
    rows, logs = np.concatenate(pairs), np.concatenate(scores)
    names = list(ANSWERS)
    person = data["person"][data["newer_of"][rows]]
    answer, alike = data["answer"][rows], data["alike"][rows]
    linked = answer > 0
    strength = 1 - np.exp(logs[:, 0])
    print(f"{'':14}", *(f"{name:>9}" for name in COLUMNS))
    table = []
    for name in np.unique(person):
        own = person == name
        newer, cosine = data["newer_of"][rows][own], data["cosine"][rows][own]
        f1, precision, recall, at_80, traps = curve(strength[own], linked[own], alike[own])
        at_5 = recall_at(strength[own], linked[own], newer, 5)
        plain = curve(cosine, linked[own], alike[own])[0]
        area = auc(strength[own], linked[own])
        table.append((area, f1, precision, recall, at_80, at_5, traps, plain))
        print(f"{name:14}", *(f"{value:9.3f}" for value in table[-1]))
    print(f"{'mean':14}", *(f"{value:9.3f}" for value in np.mean(table, 0)))
    named = 1 + logs[linked][:, 1:].argmax(1)
    print(f"relation of a link named right: {(named == answer[linked]).mean():.3f}")
    loss = -logs[np.arange(len(rows)), answer].mean()
    print(f"loss {loss:.4f} a pair, of {len(rows)}")
    likely = np.exp(logs[:, [names.index(each) for each in REVISIONS]]).sum(1)
    revised = np.isin(answer, [names.index(each) for each in REVISIONS])
    for a_person in (10, 20, 40):
        count = a_person * len(table)
        right = revised[np.argsort(-likely)[:count]].sum()
        print(
            f"supersedes or contradicts, {a_person} pairs a person: precision"
            f" {right / count:.2f}, recall {right / revised.sum():.2f}"
        )


if __name__ == "__main__":
    main()
