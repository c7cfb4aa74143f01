"""Fits anew what `amem ask` takes for near enough, each vault judged by the others."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from amem_cli.ask.extract import Nearness
from amem_cli.search.evidence import chance

# So many of the questions of others may be answered.
ANSWERED = 0.05


def fitted(
    near: Sequence[Nearness],
    held: Sequence[bool],
    vaults: Sequence[str],
    people: Sequence[str],
    sets: Sequence[str],
) -> tuple[Any, Any]:
    """The weights fitted on all questions, and for each question by how much it is near enough by
    weights that know neither this vault nor its person: arrays of shape (features + 1,) and
    (questions,)."""
    table = np.array([features(each) for each in near])
    is_held, vault, person = np.array(held), np.array(vaults), np.array(people)
    data_set = np.array(sets)
    score = np.zeros(len(near))
    for name in dict.fromkeys(vault):
        known = (vault != name) & (person != name)
        weights = weights_of(table[known], is_held[known], data_set[known])
        score[vault == name] = values(table[vault == name], weights)
    return weights_of(table, is_held, data_set), score


def weights_of(table: Any, is_held: Any, data_set: Any) -> Any:
    """Weights and the offset by which so many of the questions that are not held are answered."""
    weights = logistic(table, is_held, data_set)
    weights[-1] -= np.quantile(values(table[~is_held], weights), 1 - ANSWERED)
    return weights


def values(table: Any, weights: Any) -> Any:
    """How near enough questions are: at least 0 is answered."""
    return np.c_[table, np.ones(len(table))] @ weights


def features(near: Nearness) -> list[float]:
    """What `Nearness.score` weighs."""
    if near.note_cosine is None:
        return [near.coverage, near.words]
    return [near.note_cosine - chance(near.notes), near.sentence, near.words]


def logistic(table: Any, is_held: Any, data_set: Any) -> Any:
    """Logistic regression with a little shrinkage; sets and both kinds of question weigh alike."""
    middle, spread = table.mean(axis=0), table.std(axis=0) + 1e-9
    scaled = np.c_[(table - middle) / spread, np.ones(len(table))]
    weight = np.zeros(len(table))
    for name in dict.fromkeys(data_set):
        for kind in (True, False):
            part = (data_set == name) & (is_held == kind)
            weight[part] = 1 / max(1, part.sum())
    weight /= weight.sum()
    slope = np.zeros(scaled.shape[1])
    for _ in range(5_000):
        error = 1 / (1 + np.exp(-scaled @ slope)) - is_held
        slope -= 0.5 * (scaled.T @ (error * weight) + 1e-3 * np.r_[slope[:-1], 0])
    inner = slope[:-1] / spread
    return np.r_[inner, slope[-1] - (inner * middle).sum()]
