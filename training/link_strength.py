"""Fits the weights of `analyzer/link_choice` on people's gold links, also without each person.

    python training/link_strength.py DATA_FOLDER --output strengths.json
    python training/link_strength.py DATA_FOLDER --judge --people kofi,solene --output judged.json

Reads the vaults of DATA_FOLDER/gold and those people of this folder who have links. Every note is
added and processed at its time, every second one with its owner's tags, and each candidate that the
program weighs is one row. The file has, by person, the weights fitted on all others:
`benchmarks/memory.py --strengths` measures with them. Nothing is drawn by chance.

With `--judge`, the judge of links is asked as well (two to ten seconds a note), and the weights are
those of the evidence's score and of the judge's log odds, over the pairs that it was asked about.
Name people from whom neither learned.
"""

from __future__ import annotations

import argparse
import json
import sys
import tempfile
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any

import numpy as np
from sklearn.linear_model import LogisticRegression
from sklearn.preprocessing import StandardScaler

TOP = Path(__file__).parent
sys.path.insert(0, str(TOP.parent / "benchmarks"))

from common import by_commas, usual_encoder  # noqa: E402
from memory_gold import GoldVault, gold_vaults  # noqa: E402
from memory_vault import Design, OpenVault, process  # noqa: E402
from remembered_vectors import RememberingEncoder  # noqa: E402

from amem_cli.analyzer import link_choice  # noqa: E402
from amem_cli.analyzer.link_evidence import gather_evidence  # noqa: E402
from amem_cli.memory import steps  # noqa: E402

# Inverse of the penalty on the scaled weights.
FREEDOM = 0.5
LEAST = (0.12, 0.2, 0.3, 0.4, 0.5, 0.6, 0.7, 0.75, 0.8, 0.85)


@dataclass
class Pairs:
    """What the program weighed, a row a pair: features, whether the gold has the link, whether the
    two merely look alike, the person, the later note."""

    features: list[list[float]] = field(default_factory=list)
    linked: list[bool] = field(default_factory=list)
    alike: list[bool] = field(default_factory=list)
    person: list[str] = field(default_factory=list)
    note: list[str] = field(default_factory=list)
    names: list[str] = field(default_factory=list)


def collect(gold: GoldVault, encoder: RememberingEncoder, pairs: Pairs, *, judge: bool) -> None:
    """Process one person's notes as the program does, and keep what it weighs."""
    linked = {frozenset((link.source, link.target)) for link in gold.links}
    alike = set(map(frozenset, gold.negatives))
    score_links = steps.score_links

    def observed(note: Any, candidates: Any, **options: Any) -> Any:
        known = {name: options[name] for name in ("document_frequency", "total")}
        evidence = gather_evidence(note, candidates, **known)
        order: list[int] = []

        def ask(likeliest: Any) -> Any:
            order.extend(candidates.index(each) for each in likeliest)
            answers.extend(options["judge"](likeliest))
            return answers

        answers: list[Any] = []
        found_links = score_links(note, candidates, **{**options, "judge": ask})
        judged = dict(zip(order, answers, strict=False))
        for at, (each, entry) in enumerate(zip(candidates, evidence, strict=True)):
            # A whole title in the text has a bonus of its own.
            if not entry.mentioned and (at in judged or not judge):
                found = dict(entry.features)
                if judge:
                    likely = link_choice.strength(entry)
                    found = {
                        "evidence": float(np.log(likely / (1 - likely))),
                        "judge": link_choice.judged_log_odds(judged[at]),
                    }
                pair = frozenset((vault.id_of[note.path], vault.id_of[each.path]))
                pairs.names = list(found)
                pairs.features.append(list(found.values()))
                pairs.linked.append(pair in linked)
                pairs.alike.append(pair in alike)
                pairs.person.append(gold.name)
                pairs.note.append(note.path)
        return found_links

    settings = {"llm_backend": "none", "llm_judge": "on" if judge else "off"}
    with tempfile.TemporaryDirectory() as folder:
        vault = OpenVault(Path(folder) / "vault", Design("none", settings), encoder)
        steps.score_links = observed
        for number, note in enumerate(gold.notes.values()):
            vault.add(note.id, replace(note.new, tags=note.tags if number % 2 == 0 else ()))
            process(vault, note.id)
        steps.score_links = score_links
        vault.close()
    encoder.save()


def fitted(features: Any, linked: Any) -> tuple[float, Any]:
    """Intercept and weights of the unscaled features."""
    scaler = StandardScaler().fit(features)
    model = LogisticRegression(C=FREEDOM, max_iter=1000).fit(scaler.transform(features), linked)
    weights = model.coef_[0] / scaler.scale_
    return float(model.intercept_[0] - weights @ scaler.mean_), weights


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.split("\n\n")[0])
    parser.add_argument("data", type=Path)
    parser.add_argument("--vectors", type=Path, help="file that keeps the vectors (.npz)")
    parser.add_argument("--output", type=Path, required=True)
    parser.add_argument("--judge", action="store_true", help="ask the judge of links as well")
    parser.add_argument("--people", default="", help="of these alone, with commas between")
    options = parser.parse_args()
    encoder, wanted = usual_encoder(options.vectors), by_commas(options.people)
    own = sorted(file.parent.name for file in (TOP / "people").glob("*/links.jsonl"))
    people = [*gold_vaults(options.data / "gold", []), *gold_vaults(TOP / "people", own)]
    people = [gold for gold in people if gold.name in wanted or not wanted]
    pairs = Pairs()
    for gold in people:
        collect(gold, encoder, pairs, judge=options.judge)
        print(f"{gold.name}: {pairs.person.count(gold.name)} pairs", file=sys.stderr)
    features, linked = np.array(pairs.features), np.array(pairs.linked)
    alike, person = np.array(pairs.alike), np.array(pairs.person)
    strengths = np.zeros(len(linked))
    told: dict[str, Any] = {}
    for name in [gold.name for gold in people]:
        intercept, weights = fitted(features[person != name], linked[person != name])
        score = intercept + features[person == name] @ weights
        strengths[person == name] = 1 / (1 + np.exp(-score))
        told[name] = named(pairs, intercept, weights)
    told["all"] = named(pairs, *fitted(features, linked))
    options.output.write_text(json.dumps(told, indent=2) + "\n", encoding="utf-8")
    print(json.dumps(told["all"], indent=2))
    print(
        "least  precision  recall  look-alikes  links a note   (each person by the others' weights)"
    )
    count = sum(len(gold.notes) for gold in people)
    wanted = sum(len(gold.links) for gold in people)
    traps = sum(len(gold.negatives) for gold in people)
    for least in LEAST:
        made = strengths >= least
        shares = linked[made].mean(), linked[made].sum() / wanted, alike[made].sum() / traps
        print(
            f"{least:5.2f}", *(f"{share:10.3f}" for share in shares), f"{made.sum() / count:10.2f}"
        )
    print("person  best F1  precision and recall at 0.70")
    for gold in people:
        own = np.sort(strengths[person == gold.name])
        right = linked[person == gold.name][np.argsort(strengths[person == gold.name])]
        found = right[::-1].cumsum()
        best = (2 * found / (np.arange(len(own)) + 1 + len(gold.links))).max()
        made = own >= 0.7
        shares = best, right[made].mean(), right[made].sum() / len(gold.links)
        print(f"{gold.name:10}", *(f"{share:7.3f}" for share in shares))
    print("strength  said  is  pairs")
    for low in np.arange(0, 1, 0.1):
        bin_ = (strengths >= low) & (strengths < low + 0.1)
        said, is_ = strengths[bin_].mean(), linked[bin_].mean()
        print(f"{low:.1f} to {low + 0.1:.1f}  {said:.2f}  {is_:.2f}  {bin_.sum()}")


def named(pairs: Pairs, intercept: float, weights: Any) -> dict[str, Any]:
    """As the benchmark reads it."""
    rounded = dict(zip(pairs.names, (round(float(each), 2) for each in weights), strict=True))
    return {"intercept": round(intercept, 2), "weights": rounded}


if __name__ == "__main__":
    main()
