"""A judge that says of each older note what the test told it."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from amem_cli.errors import ModelError
from amem_cli.models.judge import ANSWERS
from amem_cli.models.ports import NoteText


class FakeJudge:
    """Knows the shares of relations by the older note's title; all others are not related.

    Attributes:
        asked: for each question the newer title and the older ones.
        answers: how many older notes it has the time for.
        failure: raised in place of an answer.
    """

    name = "fake judge"

    def __init__(self, related: Mapping[str, Mapping[str, float]] | None = None) -> None:
        self.related = dict(related or {})
        self.asked: list[tuple[str, list[str]]] = []
        self.answers = 1_000
        self.failure: ModelError | None = None

    def relations(
        self, newer: NoteText, olders: Sequence[NoteText], *, most_tokens: int, seconds: float
    ) -> list[dict[str, float]]:
        self.asked.append((newer.title, [older.title for older in olders]))
        if self.failure is not None:
            raise self.failure
        return [self._shares(older.title) for older in olders[: self.answers]]

    def start(self) -> None:
        """It needs no time to load."""

    def close(self) -> None:
        """There is nothing to free."""

    def _shares(self, title: str) -> dict[str, float]:
        known = self.related.get(title, {})
        shares = {name: known.get(name, 0.0) for name in ANSWERS}
        return shares | {"none": max(0.001, 1 - sum(known.values()))}
