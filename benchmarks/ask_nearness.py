"""Fits anew what `amem ask` takes for near enough, each vault judged by the others."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from amem_cli.ask.extract import Nearness


def fitted(
    near: Sequence[Nearness], held: Sequence[bool], vaults: Sequence[str], sets: Sequence[str]
) -> tuple[Any, Any]:
    """The weights fitted on all questions, and for each question whether it would be answered by
    weights fitted on the other vaults: arrays of shape (features + 1,) and (questions,)."""
    table = np.array([features(each) for each in near])
    is_held, vault, data_set = np.array(held), np.array(vaults), np.array(sets)
    verdict = np.zeros(len(near), bool)
    for name in dict.fromkeys(vault):
        others = vault != name
        weights = logistic(table[others], is_held[others], data_set[others])
        verdict[~others] = np.c_[table[~others], np.ones((~others).sum())] @ weights >= 0
    return logistic(table, is_held, data_set), verdict


def features(near: Nearness) -> list[float]:
    """What `Nearness.score` weighs."""
    if near.note_cosine is None:
        return [near.coverage]
    return [near.note_cosine - near.chance, near.sentence_cosine - near.chance, near.coverage]


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
