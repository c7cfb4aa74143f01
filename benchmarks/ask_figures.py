"""What is measured of an answer of `amem ask`, and how the benchmarks of answers print it."""

from __future__ import annotations

import random
from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from typing import Any

import numpy as np
from retrieval_data import Asked

from amem_cli.ask.ask import Answer
from amem_cli.language.words import subject_stems

SAMPLES = 2000


def sample(asked: Sequence[Asked], most: int) -> list[Asked]:
    """At most so many of each vault and category, the same ones each time; all if 0."""
    if not most:
        return list(asked)
    parts: dict[tuple[str, str], list[Asked]] = {}
    for each in asked:
        parts.setdefault((each.group, each.category), []).append(each)
    chance = random.Random(0)
    return [one for part in parts.values() for one in chance.sample(part, min(most, len(part)))]


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
    """The measures of one answer, 0 to 1; of the evidence only where there is some."""
    quoted, gold = {each.path for each in answer.citations}, set(asked.gold)
    cited = quoted if answer.held else set()
    figures = {"held": float(answer.held), "in its words": float(answer.how == "model")}
    figures["quoted"] = float(bool(quoted))
    if gold:
        figures["quoted right"] = float(bool(quoted & gold))
        figures["right"] = float(bool(cited & gold))
        figures["cited recall"] = len(cited & gold) / len(gold)
        if cited:
            figures["cited precision"] = len(cited & gold) / len(cited)
        if asked.answer:
            quotes = " ".join(each.quote for each in answer.citations if answer.held)
            said = answer.text if answer.how == "model" else ""
            figures["answer recall"] = overlap(f"{said} {quotes}", asked.answer)[0]
            figures["answer F1"] = overlap(said or quotes, asked.answer)[1]
    return figures


def report(title: str, results: Sequence[tuple[Asked, Answer]], set_of: Mapping[str, str]) -> None:
    """Print a table of each data set, the answerable questions first, then those of each kind."""
    for data_set in dict.fromkeys(set_of.values()):
        own = [each for each in results if set_of[each[0].group] == data_set]
        slices = {"answerable": [each for each in own if each[0].gold]}
        for kind in dict.fromkeys(asked.category for asked, _ in own):
            slices[kind] = [each for each in own if each[0].category == kind]
        table: dict[str, dict[str, Any]] = {}
        for name, part in slices.items():
            rows = [measured(asked, answer) for asked, answer in part]
            table[f"{name}, {len(part)}"] = {
                key: interval(row[key] for row in rows if key in row)
                for key in dict.fromkeys(key for row in rows for key in row)
            }
        print_tables({f"{title}, {data_set}": table})
    uses = [answer.use for _, answer in results if answer.use.calls]
    if uses:
        calls, seconds = (sum(getattr(use, n) for use in uses) for n in ("calls", "seconds"))
        tokens = sum(use.prompt_tokens + use.answer_tokens for use in uses)
        means = (each / len(uses) for each in (calls, tokens, seconds))
        print("{:.2f} calls, {:.0f} tokens, {:.1f} s an asked question".format(*means))


def print_tables(document: Mapping[str, Mapping[str, Mapping[str, Any]]]) -> None:
    """A table of each part, a row of it a line; a list is a value with its interval."""
    for title, rows in document.items():
        metrics = dict.fromkeys(metric for own in rows.values() for metric in own)
        print(f"\n{title:30}" + "".join(f"{metric:>23}" for metric in metrics))
        for name, own in rows.items():
            cells = (_cell(own.get(metric, "")) for metric in metrics)
            print(f"{name:30}" + "".join(f"{cell:>23}" for cell in cells))


def _cell(value: Any) -> str:
    if isinstance(value, list):
        return "{:.1f} ({:.1f} to {:.1f})".format(*value)
    return f"{value:g}" if isinstance(value, float) else str(value)
