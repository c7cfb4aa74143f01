"""Fits the weights of `analyzer/revisions` on people's gold changes.

    python training/revision_strength.py DATA_FOLDER --people aoife,beth,…,engineer,cafe

Reads the vaults of DATA_FOLDER/gold and the people of this folder. Every note is added and
processed at its time, and each older note that it may revise is one row. A row is right if the gold
has a change of the two notes, or a link that supersedes or contradicts. What a threshold would
propose is measured on each person by the weights of the others; nothing is drawn by chance. The
last lines are of the weights that the program has, for people by whom they were not fitted.
"""

from __future__ import annotations

import argparse
import sys
import tempfile
from collections.abc import Iterator
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import numpy as np

# Its import makes the modules of the benchmarks known.
from link_strength import TOP, by_commas, fitted, usual_encoder
from memory_gold import GoldVault, gold_vaults
from memory_vault import Design, OpenVault, process
from remembered_vectors import RememberingEncoder

from amem_cli.analyzer import cues
from amem_cli.notes.note import SUPERSEDING

LEAST = (0.3, 0.4, 0.45, 0.5, 0.55, 0.6, 0.7)


@dataclass
class Rows:
    """A row for each older note that a note may revise: features, whether it does, whether the gold
    has that as a change, and the person."""

    features: list[list[float]] = field(default_factory=list)
    right: list[bool] = field(default_factory=list)
    changed: list[bool] = field(default_factory=list)
    person: list[str] = field(default_factory=list)
    names: list[str] = field(default_factory=list)


def collect(gold: GoldVault, encoder: RememberingEncoder, rows: Rows) -> None:
    """Process one person's notes as the program does, and keep what it weighs."""
    changes = {(case.trigger, case.target) for case in gold.cases if not case.no_change}
    links = {(link.source, link.target) for link in gold.links if link.relation in SUPERSEDING}
    possible_revisions = cues.possible_revisions

    def observed(
        note: Any, own: Any, signed: Any, candidates: Any, *rest: Any, **known: Any
    ) -> Iterator[Any]:
        for each in possible_revisions(note, own, signed, candidates, *rest, **known):
            pair = vault.id_of[note.path], vault.id_of[candidates[each.older].path]
            rows.names = list(each.features)
            rows.features.append(list(each.features.values()))
            rows.right.append(pair in changes | links)
            rows.changed.append(pair in changes)
            rows.person.append(gold.name)
            yield each

    with tempfile.TemporaryDirectory() as folder:
        design = Design("none", {"llm_backend": "none", "llm_judge": "off"})
        vault = OpenVault(Path(folder) / "vault", design, encoder)
        cues.possible_revisions = observed
        for note in gold.notes.values():
            vault.add(note.id, note.new)
            process(vault, note.id)
        cues.possible_revisions = possible_revisions
        vault.close()
    encoder.save()


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.split("\n\n")[0])
    parser.add_argument("data", type=Path)
    parser.add_argument("--vectors", type=Path, help="file that keeps the vectors (.npz)")
    parser.add_argument("--people", default="", help="of these alone, with commas between")
    options = parser.parse_args()
    encoder, wanted = usual_encoder(options.vectors), by_commas(options.people)
    own = sorted(file.parent.name for file in (TOP / "people").glob("*/evolution.jsonl"))
    people = [*gold_vaults(options.data / "gold", []), *gold_vaults(TOP / "people", own)]
    people = [gold for gold in people if gold.name in wanted or not wanted]
    rows = Rows()
    for gold in people:
        collect(gold, encoder, rows)
        print(f"{gold.name}: {rows.person.count(gold.name)} rows", file=sys.stderr)
    features, right = np.array(rows.features), np.array(rows.right)
    changed, person = np.array(rows.changed), np.array(rows.person)
    chances = np.zeros(len(right))
    for name in dict.fromkeys(rows.person):
        intercept, weights = fitted(features[person != name], right[person != name])
        chances[person == name] = 1 / (1 + np.exp(-intercept - features[person == name] @ weights))
    intercept, weights = fitted(features, right)
    print("intercept", round(intercept, 2))
    for name, weight in zip(rows.names, weights, strict=True):
        print(f"{name:14}{weight:6.2f}")
    total = sum(not case.no_change for gold in people for case in gold.cases)
    print("least  right  of the changes  a person")
    for least in LEAST:
        made = chances >= least
        shares = right[made].mean(), changed[made].sum() / total, made.sum() / len(people)
        print(f"{least:5.2f}  {shares[0]:5.2f}  {shares[1]:14.2f}  {shares[2]:8.1f}")
    named = (dict(zip(rows.names, row, strict=True)) for row in rows.features)
    proposed = (
        np.array([cues.revision_probability(each) for each in named]) >= cues.LEAST_PROBABILITY
    )
    print(f"the program's own weights: {right[proposed].sum()} of {proposed.sum()} right,")
    print(f"{changed[proposed].sum()} of {total} changes found, before its limit of two a note")


if __name__ == "__main__":
    main()
