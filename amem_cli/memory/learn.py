"""What the decisions of a vault's owner mean for the links that the machine makes next."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

from amem_cli.journal.link_decisions import USUAL_MINIMUM, minimum_strength
from amem_cli.memory.link import LinkExample

if TYPE_CHECKING:
    from amem_cli.index.memory_index import MemoryIndex
    from amem_cli.index.records import DecidedLink, NoteSummary
    from amem_cli.models.ports import Vectors
    from amem_cli.notes.note import Note

# Of so many links that were decided on the latest count: people and their vaults change, too.
_LATEST = 300


@dataclass(frozen=True, slots=True)
class LinkFeedback:
    """What one model's links, or the analyzer's, came to, and what follows.

    Attributes:
        judge: name of the model, or of the analyzer.
        kept, removed: links on which the person decided.
        minimum: least strength of the links that it makes next.
    """

    judge: str
    kept: int
    removed: int
    minimum: float


@dataclass(frozen=True, slots=True)
class Decisions:
    """The decisions about links in one vault, and what they say of other links.

    Attributes:
        learn: it counts.
    """

    links: tuple[DecidedLink, ...] = ()
    learn: bool = True

    def minimum(self, judge: str) -> float:
        """Least strength of the links that a model, or the analyzer, makes."""
        return minimum_strength(self._of(judge)) if self.learn else USUAL_MINIMUM

    def by_judge(self) -> list[LinkFeedback]:
        """What is known of each model and of the analyzer, by name."""
        judges = sorted({each.decision.judge for each in self.links} - {""})
        found = []
        for judge in judges:
            kept = [kept for _, kept in self._of(judge)]
            minimum = self.minimum(judge)
            found.append(LinkFeedback(judge, sum(kept), len(kept) - sum(kept), minimum))
        return found

    def _of(self, judge: str) -> list[tuple[float, bool]]:
        said = (each.decision for each in self.links if each.decision.judge == judge)
        return [(each.strength, each.kept) for each in said]

    def examples(
        self,
        index: MemoryIndex,
        note: Note,
        vector: Vectors,
        may_be_shown: Callable[[NoteSummary], bool],
    ) -> list[LinkExample]:
        """A link that the person wants and a pair that they took apart, those nearest in meaning.

        Args:
            vector: the note's enhanced embedding, shape (dimension,).
        """
        if not (self.learn and self.links):
            return []
        paths = {path for each in self.links for path in (each.source, each.target)}
        near = index.vectors.scores(vector, len(paths), sorted(paths - {note.path}))
        told = []
        for kept in (True, False):
            fitting = [
                each
                for each in self.links
                if each.decision.kept is kept
                # A link whose reason nobody knows teaches nothing.
                and (each.decision.reason or not kept)
                and {each.source, each.target} <= near.keys()
            ]
            fitting.sort(key=lambda each: (-near[each.source] - near[each.target], each[:2]))
            shown = (self._example(index, each, may_be_shown) for each in fitting)
            told += [next(filter(None, shown), None)]
        return [each for each in told if each is not None]

    @staticmethod
    def _example(
        index: MemoryIndex, link: DecidedLink, may_be_shown: Callable[[NoteSummary], bool]
    ) -> LinkExample | None:
        newer, older = index.notes.summary(link.source), index.notes.summary(link.target)
        if newer is None or older is None or not (may_be_shown(newer) and may_be_shown(older)):
            return None
        said = link.decision
        return LinkExample(newer.title, older.title, said.kept, said.relation, said.reason)


def decisions(index: MemoryIndex, *, learn: bool = True) -> Decisions:
    """What the owner decided about the latest links.

    A removed link that a person has written into the note with words of their own is wanted.
    """
    return Decisions(tuple(_as_they_stand(index, index.link_history.decided(_LATEST))), learn)


def _as_they_stand(index: MemoryIndex, links: Iterable[DecidedLink]) -> Sequence[DecidedLink]:
    found = []
    leading: dict[str, set[str]] = {}
    for each in links:
        if not each.decision.kept:
            if each.source not in leading:
                leading[each.source] = {target for target, _ in index.links.outgoing(each.source)}
            if each.target in leading[each.source]:
                each = each._replace(decision=replace(each.decision, kept=True))
        found.append(each)
    return found
