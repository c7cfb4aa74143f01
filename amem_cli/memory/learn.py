"""What the owner's decisions about links teach: the least strength of a link, and examples.

A decision counts for the model, or the analyzer, that made the link: their strengths differ.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

from amem_cli.journal.link_decisions import MINIMUM_STRENGTHS, USUAL_MINIMUM, minimum_strength
from amem_cli.memory.outcome import ANALYZER
from amem_cli.models.prompt_text import FENCE, estimated_tokens, quote_line

if TYPE_CHECKING:
    from amem_cli.index.events import DecidedLink
    from amem_cli.index.memory_index import MemoryIndex
    from amem_cli.index.records import NoteSummary
    from amem_cli.models.ports import Vectors
    from amem_cli.notes.note import Note

# Of so many links that were decided on the latest count: people and their vaults change, too.
_LATEST = 300
_TITLE_BYTES = 80
_RELATION_BYTES = 20
_REASON_BYTES = 120
# Tokens of a question beside which there is room for examples.
_LONGEST_QUESTION = 1_600


@dataclass(frozen=True, slots=True)
class LinkExample:
    """Titles of a note that has or had a link, and of the other, and what a person decided."""

    newer: str
    older: str
    kept: bool
    relation: str = "related"
    reason: str = ""


def with_examples(examples: Sequence[LinkExample], question: str) -> str:
    """A question with the examples before it, as data in a fence of their own.

    A long question gets none, so that nothing of it is cut for them.
    """
    if not examples or estimated_tokens(question) > _LONGEST_QUESTION:
        return question
    lines = [f"The owner's decisions on other notes:\n{FENCE}", *map(_line, examples), FENCE]
    return "\n".join([*lines, question])


def _line(example: LinkExample) -> str:
    newer, older = (quote_line(title, _TITLE_BYTES) for title in (example.newer, example.older))
    if not example.kept:
        return f"not linked: {newer} | {older}"
    relation = quote_line(example.relation, _RELATION_BYTES)
    reason = quote_line(example.reason, _REASON_BYTES)
    return f"linked: {newer} | {older} | {relation}{reason and f': {reason}'}"


@dataclass(frozen=True, slots=True)
class LinkFeedback:
    """What a person decided on the links of a model, or of the analyzer, and the least strength of
    those that it makes next."""

    judge: str
    kept: int
    removed: int
    minimum: float


@dataclass(frozen=True, slots=True)
class LearnedThresholds:
    """The decisions about links in one vault, and what they mean for others if they count.

    `minimum_strength` is the least strength of the analyzer's links before any decision.
    """

    links: tuple[DecidedLink, ...] = ()
    learn: bool = True
    minimum_strength: float = MINIMUM_STRENGTHS["usual"]

    def minimum(self, judge: str) -> float:
        """Least strength of the links that a model, or the analyzer, makes."""
        usual = self.minimum_strength if judge == ANALYZER else USUAL_MINIMUM
        return minimum_strength(self._of(judge), usual) if self.learn else usual

    def by_judge(self) -> list[LinkFeedback]:
        """What became of the links of each model and of the analyzer, by name."""
        feedback = []
        for judge in sorted({link.decision.judge for link in self.links} - {""}):
            kept = [kept for _, kept in self._of(judge)]
            minimum = self.minimum(judge)
            feedback.append(LinkFeedback(judge, sum(kept), len(kept) - sum(kept), minimum))
        return feedback

    def _of(self, judge: str) -> list[tuple[float, bool]]:
        decisions = (link.decision for link in self.links)
        return [(each.strength, each.kept) for each in decisions if each.judge == judge]

    def examples(
        self,
        index: MemoryIndex,
        note: Note,
        vector: Vectors,
        may_be_shown: Callable[[NoteSummary], bool],
    ) -> list[LinkExample]:
        """A link that the person wants and a pair that they took apart, the nearest in meaning to
        the note, whose enhanced embedding is `vector`, shape (dimension,)."""
        if not (self.learn and self.links):
            return []
        paths = {path for each in self.links for path in (each.source, each.target)}
        near = index.vectors.scores(vector, len(paths), sorted(paths - {note.path}))
        examples = []
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
            for source, target, decision in fitting:
                newer, older = index.notes.summary(source), index.notes.summary(target)
                if newer and older and may_be_shown(newer) and may_be_shown(older):
                    said = (decision.relation, decision.reason)
                    examples.append(LinkExample(newer.title, older.title, kept, *said))
                    break
        return examples


def learned_thresholds(
    index: MemoryIndex, learn: bool = True, minimum_strength: float = MINIMUM_STRENGTHS["usual"]
) -> LearnedThresholds:
    """What the owner decided about the latest links.

    A removed link that a person wrote into the note in words of their own is wanted.
    """
    links = []
    for link in index.link_history.decided(_LATEST):
        # It left as the machine's link and came back as a person's.
        if not link.decision.kept and any(
            target == link.target for target, _ in index.links.outgoing(link.source)
        ):
            link = link._replace(decision=replace(link.decision, kept=True))
        links.append(link)
    return LearnedThresholds(tuple(links), learn, minimum_strength)
