"""From which score on is a hit close? Fits the scales of scores, each person judged by the others.

    python benchmarks/search_floor.py DATA_FOLDER
    python benchmarks/search_floor.py DATA_FOLDER --links made

Each vault of `gold/` (see `benchmarks/retrieval_data.py`) is asked its own questions, those that
its notes do not answer (kind `none`), the questions of the other persons, and queries that no
notebook answers. The tables say which share of each is refused ("nothing close"): for each person
by a scale and a floor that know neither this person's notes nor questions, and for all by the
scales in use, those of `amem_cli/search/evidence.py`. The last lines are scales fitted on all.
"""

from __future__ import annotations

import argparse
import math
import os
import tempfile
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
from memory_gold import rows
from remembered_vectors import RememberingEncoder
from retrieval import Searches
from retrieval_data import gold_vault

from amem_cli.search.evidence import Evidence, Scale, scale_for
from amem_cli.search.scoring import QueryScorer
from amem_cli.search.search import CANDIDATES, JUDGED
from amem_cli.workspace.workspace import Workspace

MODES = ("hybrid", "semantic", "keyword")
RIGHT, OWN, NONE, OTHERS, NONSENSE = (
    "answer in top 5", "answerable", "none", "of others", "nonsense"
)  # fmt: skip
# Each of an own question's hits counts one; the many questions of others together about as much.
WEIGHTS = {OWN: 1.0, NONE: 1.0, OTHERS: 0.15, NONSENSE: 0.5}
# Of the answerable questions with a right hit in the top 5, so many may be refused.
REFUSED = 0.025
# Each line is a query that has nothing to do with any of the vaults.
NONSENSE_QUERIES = Path(__file__).with_name("nonsense_queries.txt")


@dataclass(frozen=True)
class Search:
    """One search: who asked in whose vault, and the evidence of its best notes, the best first."""

    vault: str
    person: str
    kind: str
    found: tuple[Evidence, ...]
    wanted: tuple[bool, ...]

    @property
    def is_right(self) -> bool:
        """Whether one of the first five notes is wanted."""
        return any(self.wanted[:5])


def searches(folder: Path, encoder: RememberingEncoder, links: str) -> dict[str, list[Search]]:
    """All searches by mode."""
    questions = {each.parent.name: rows(each) for each in sorted(folder.glob("*/questions.jsonl"))}
    nonsense = [line for line in NONSENSE_QUERIES.read_text("utf-8").split("\n") if line]
    made: dict[str, list[Search]] = {mode: [] for mode in MODES}
    for vault in questions:
        asked = [
            (person, row["query"], row["gold"]) for person in questions for row in questions[person]
        ]
        with tempfile.TemporaryDirectory() as root:
            group = Searches(Path(root), gold_vault(folder / vault), encoder, links)
            for person, query, gold in [*asked, *(("", query, []) for query in nonsense)]:
                own = {group.path_of[each] for each in gold} if person == vault else set()
                kind = OTHERS if person else NONSENSE
                if person == vault:
                    kind = OWN if own else NONE
                for mode in MODES:
                    found = judged(group, query, mode)
                    wanted = tuple(path in own for path in found)
                    made[mode].append(Search(vault, person, kind, tuple(found.values()), wanted))
            group.workspace.close()
        encoder.save()
    return made


def judged(group: Searches, query: str, mode: str) -> dict[str, Evidence]:
    """The evidence of the notes that a search looks at, the best first."""
    scorer = QueryScorer(group.workspace.index, query, CANDIDATES, None)
    vector = None if mode == "keyword" else group.encoder.encode([query], query=True)[0]
    if vector is None:
        scores = scorer.by_words()
    elif mode == "semantic":
        scores = scorer.by_meaning(vector)
    else:
        scores = scorer.by_both(
            vector, group.encoder.readable(query), is_spread=group.encoder.is_spread
        )
    return scorer.evidence(list(scores)[:JUDGED], vector)


def row(evidence: Evidence) -> list[float]:
    """What a scale weighs: with an encoder the first two, else the last two."""
    if evidence.nearness is None:
        return [evidence.coverage, evidence.rare_words]
    return [evidence.nearness, evidence.coverage]


def fitted(known: Sequence[Search]) -> Scale:
    """The scale and its floor by these searches."""
    examples = [
        (row(evidence), is_wanted, WEIGHTS[each.kind])
        for each in known
        for evidence, is_wanted in list(zip(each.found, each.wanted, strict=True))[:10]
    ]
    table, wanted, weight = (np.array(column, float) for column in zip(*examples, strict=True))
    slope = logistic(np.c_[table, np.ones(len(table))], wanted, weight)
    by_words = all(e.nearness is None for each in known for e in each.found)
    weights = (0.0, *slope[:2]) if by_words else (*slope[:2], 0.0)
    scale = Scale(*map(float, weights), float(slope[2]), 0.0)
    right = [best(each, scale) for each in known if each.kind == OWN and each.is_right]
    return scale._replace(floor=float(np.quantile(right, REFUSED)))


def logistic(table: Any, wanted: Any, weight: Any) -> Any:
    """Weights of a logistic regression by Newton's method, with a little shrinkage."""
    slope = np.zeros(table.shape[1])
    shrinkage = np.diag([1e-3 * weight.sum()] * (len(slope) - 1) + [0])
    for _ in range(30):
        likely = 1 / (1 + np.exp(-table @ slope))
        bend = (table.T * (weight * likely * (1 - likely))) @ table + shrinkage
        slope += np.linalg.solve(bend, table.T @ (weight * (wanted - likely)) - shrinkage @ slope)
    return slope


def best(each: Search, scale: Scale) -> float:
    """The score of the first hit; above 1 for words found exactly, which no floor refuses."""
    if any(evidence.exact for evidence in each.found):
        return 2.0
    return max((scale.score(evidence) for evidence in each.found), default=-1.0)


def report(mode: str, made: Sequence[Search], fit_on: Sequence[Search], shipped: Scale) -> None:
    """Print which share is refused, by person and in all."""
    kinds = (RIGHT, OWN, NONE, OTHERS, NONSENSE)
    print(f"\n{mode}: refused in percent{'':8}" + "".join(f"{kind:>17}" for kind in kinds))
    refused: dict[str, list[bool]] = {kind: [] for kind in kinds}
    with_shipped: dict[str, list[bool]] = {kind: [] for kind in kinds}
    for person in sorted({each.vault for each in made}):
        scale = fitted([each for each in fit_on if person not in (each.vault, each.person)])
        here: dict[str, list[bool]] = {kind: [] for kind in kinds}
        for each in (each for each in made if each.vault == person):
            for kind in (each.kind, *([RIGHT] if each.is_right else [])):
                here[kind].append(best(each, scale) < scale.floor)
                with_shipped[kind].append(best(each, shipped) < shipped.floor)
        print(f"  {person:36}" + "".join(map(cell, here.values())))
        for kind in kinds:
            refused[kind] += here[kind]
    print(f"  {'all, each person left out':36}" + "".join(map(cell, refused.values())))
    print(f"  {'all, by the scale in use':36}" + "".join(map(cell, with_shipped.values())))


def cell(refused: Sequence[bool]) -> str:
    return f"{100 * sum(refused) / max(1, len(refused)):7.1f} of {len(refused):<6}".rjust(17)


def reliability(made: Sequence[Search], scale: Scale) -> None:
    """Print how often hits of each score were wanted."""
    hits = [
        (scale.score(evidence), is_wanted, WEIGHTS[each.kind])
        for each in made
        for evidence, is_wanted in list(zip(each.found, each.wanted, strict=True))[:10]
    ]
    for low, high in ((0, 0.05), (0.05, 0.1), (0.1, 0.2), (0.2, 0.4), (0.4, 0.7), (0.7, 1.01)):
        part = [(wanted, weight) for score, wanted, weight in hits if low <= score < high]
        share = sum(wanted * weight for wanted, weight in part) / max(1e-9, sum(w for _, w in part))
        print(
            f"  score {low:.2f} to {min(high, 1):.2f}: {100 * share:5.1f} % wanted of {len(part)}"
        )


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.split("\n\n")[0])
    parser.add_argument("data", type=Path)
    parser.add_argument("--links", choices=("none", "given", "made"), default="none",
                        help="those of links.jsonl, or those amem makes")  # fmt: skip
    parser.add_argument("--encoder", default="", help="name or folder; the usual one if missing")
    parser.add_argument("--vectors", type=Path, help="file that keeps the vectors (.npz)")
    options = parser.parse_args()
    if options.encoder:
        os.environ["AMEM_ENCODER_MODEL"] = options.encoder
    with tempfile.TemporaryDirectory() as folder:
        encoder = RememberingEncoder(Workspace(Path(folder)).encoder, options.vectors)
    made = searches(options.data / "gold", encoder, options.links)
    for mode in MODES:
        fit_on = made["keyword" if mode == "keyword" else "hybrid"]
        readable = None if mode == "keyword" else 1.0
        shipped = scale_for(readable, is_spread=encoder.is_spread)
        report(mode, made[mode], fit_on, shipped)
        reliability(made[mode], shipped)
    for mode in ("hybrid", "keyword"):
        scale = fitted(made[mode])
        assert all(math.isfinite(each) for each in scale)
        print(f"\n{mode}, fitted on all: " + repr(Scale(*(round(each, 3) for each in scale))))


if __name__ == "__main__":
    main()
