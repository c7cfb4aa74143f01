"""What is measured of an answer of `amem ask`, and how it is told."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from amem_cli.ask.ask import Answer
from amem_cli.language.words import subject_stems

SAMPLES = 2000


@dataclass(frozen=True)
class Asked:
    """A question put to a vault; `gold` are paths of the evidence, none where it has none."""

    vault: str
    data_set: str
    kind: str
    question: str
    gold: frozenset[str]
    wanted: str = ""


def overlap(said: str, wanted: str) -> tuple[float, float]:
    """Recall of the wanted answer's subject words and numbers, and F1."""
    own, gold = Counter(subject_stems(said)), Counter(subject_stems(wanted))
    shared = sum((own & gold).values())
    recall = shared / max(1, sum(gold.values()))
    precision = shared / max(1, sum(own.values()))
    return recall, 2 * precision * recall / (precision + recall) if shared else 0.0


def interval(values: Iterable[float]) -> list[float]:
    """Mean and the bounds of its 95 % interval, in percent, of 2,000 bootstrap samples."""
    table = np.array(list(values), float)
    means = np.random.default_rng(0).choice(table, (SAMPLES, len(table))).mean(axis=1)
    # Nothing is -0.0.
    bounds = (table.mean(), *np.percentile(means, (2.5, 97.5)))
    return [round(100 * float(each), 1) + 0.0 for each in bounds]


def measured(asked: Asked, answer: Answer) -> dict[str, float]:
    cited = {each.path for each in answer.citations}
    figures = {"held": float(answer.held)}
    if not asked.gold:
        return figures
    figures["right"] = float(bool(cited & asked.gold))
    figures["cited recall"] = len(cited & asked.gold) / len(asked.gold)
    if cited:
        figures["cited precision"] = len(cited & asked.gold) / len(cited)
    if asked.wanted:
        quotes = " ".join(each.quote for each in answer.citations)
        said = answer.text if answer.how == "model" else ""
        figures["answer recall"] = overlap(f"{said} {quotes}", asked.wanted)[0]
        figures["answer F1"] = overlap(said or quotes, asked.wanted)[1]
    return figures


def report(title: str, results: Sequence[tuple[Asked, Answer]]) -> dict[str, Any]:
    document: dict[str, Any] = {}
    for data_set in dict.fromkeys(asked.data_set for asked, _ in results):
        own = [each for each in results if each[0].data_set == data_set]
        slices = {"answerable": [each for each in own if each[0].gold]}
        for kind in dict.fromkeys(asked.kind for asked, _ in own):
            slices[kind] = [each for each in own if each[0].kind == kind]
        for name, part in slices.items():
            if not part:
                continue
            rows_of = [measured(asked, answer) for asked, answer in part]
            figures = {
                key: interval([row[key] for row in rows_of if key in row])
                for key in dict.fromkeys(key for row in rows_of for key in row)
            }
            if any(answer.model for _, answer in part):
                by_model = [float(answer.how == "model") for _, answer in part]
                figures["in its words"] = interval(by_model)
            document[f"{data_set}: {name}"] = {"questions": len(part), **figures}
            shown = "  ".join(
                f"{key} {values[0]} ({values[1]} to {values[2]})" for key, values in figures.items()
            )
            print(f"{title}, {data_set}, {name}, {len(part)} questions: {shown}")
    calls = [answer.use for _, answer in results if answer.use.calls]
    if calls:
        tokens = sum(use.prompt_tokens + use.answer_tokens for use in calls) / len(calls)
        seconds = sum(use.seconds for use in calls) / len(calls)
        each = sum(use.calls for use in calls) / len(calls)
        print(f"{title}: {each:.2f} calls, {tokens:.0f} tokens, {seconds:.1f} s an asked question")
    faults = Counter(problem for _, answer in results for problem in answer.problems)
    for problem, count in faults.most_common(5):
        print(f"  {count} x {problem}")
    return document
