"""What goes into the memory process for one note (settings, trust) and what comes out of it.

A `NoteAnalysis` is what the steps propose; an `Outcome` is what the process did to the vault.
"""

from __future__ import annotations

from collections.abc import Collection, Mapping
from dataclasses import astuple, dataclass, field, replace
from operator import add
from typing import TYPE_CHECKING, Literal, TypeVar

from amem_cli.journal.link_decisions import MINIMUM_STRENGTHS, Evolution, LinkUpdate
from amem_cli.notes.note import MemoryLink, Metadata, Note, Relation

if TYPE_CHECKING:
    from amem_cli.journal.events import Change, LinkRecord
    from amem_cli.journal.link_decisions import Proposal


Described = TypeVar("Described", Note, Metadata)

# Least strength by the evidence at which a model is asked about an older note at all.
PLAUSIBLE = 0.005
AskedFor = Literal["all", "context", "nothing"]


@dataclass(frozen=True, slots=True)
class ModelTrust:
    """How far a model is trusted: what it is asked for (`all` is metadata, links and changes at
    once), the least strength by the evidence, 0..1, at which its yes to a link counts, and whether
    its keywords are asked for with all."""

    asked_for: AskedFor
    plausible: float = PLAUSIBLE
    keywords: bool = True


@dataclass(frozen=True, slots=True)
class JudgeLimits:
    """How much the judge of links is asked about one note: of how many older notes, the likeliest
    first, how many tokens of a text it reads, and how many seconds it has; and whether the note
    waits for it if these did not suffice."""

    candidates: int = 8
    tokens: int = 160
    seconds: float = 60.0
    waits: bool = False


# Of a note for which somebody waits. Only what is judged in a hurry is judged again.
IN_A_MOMENT = JudgeLimits(seconds=3.0, waits=True)


@dataclass(frozen=True, slots=True)
class ProcessSettings:
    """How far the machine goes.

    Attributes:
        evolve: older notes may change.
        review: changes of older notes wait for a person's agreement.
        settle_seconds: how long a note that a person edited is left alone.
        attempts: how often the model is asked about one note; the second time for what was refused.
        trusted: the model is good enough to overrule the analyzer.
        plausible: least strength by the evidence, 0..1, at which the model is asked about a link.
        keywords: a trusted model is asked for keywords, too.
        minimum_strength: least strength, 0..1, of a link that the analyzer writes; weaker ones are
            suggested.
    """

    evolve: bool = True
    review: bool = False
    settle_seconds: float = 60.0
    max_links: int = 5
    candidates: int = 14
    deadline: float = 90.0
    attempts: int = 2
    trusted: bool = False
    plausible: float = PLAUSIBLE
    keywords: bool = True
    minimum_strength: float = MINIMUM_STRENGTHS["usual"]
    judging: JudgeLimits = JudgeLimits()


@dataclass(frozen=True, slots=True)
class NewLink:
    """A link from the note, new or suggested; its target is the older note's id, or its path if it
    has none."""

    target: str
    path: str
    title: str
    relation: Relation
    reason: str
    strength: float


@dataclass(frozen=True, slots=True)
class EvolvedNote:
    """An older note whose metadata changed."""

    id: str | None
    path: str
    title: str
    changes: tuple[Change, ...]
    reason: str

    @property
    def fields(self) -> tuple[str, ...]:
        """Names of the changed fields, without the id that a note gets with its first change."""
        return tuple(each.field for each in self.changes if each.field not in ("id", "created"))


@dataclass(frozen=True, slots=True)
class ChangedLink:
    """A link of the machine's between two notes (by path) that was updated, or removed.

    Attributes:
        title: of the target.
        after: None if the link is gone.
    """

    source: str
    target: str
    title: str
    before: LinkRecord
    after: LinkRecord | None
    reason: str


@dataclass(frozen=True, slots=True)
class ModelUse:
    """What the model cost; `reused_tokens` are those of the prompts that were read before."""

    calls: int = 0
    prompt_tokens: int = 0
    answer_tokens: int = 0
    seconds: float = 0.0
    reused_tokens: int = 0

    def __add__(self, other: ModelUse) -> ModelUse:
        return ModelUse(*map(add, astuple(self), astuple(other)))


@dataclass(frozen=True, slots=True)
class Outcome:
    """The result for one note.

    Attributes:
        metadata: as it is in the note now.
        written: names of the fields that the machine filled.
        confirmed: links that would be written, had a person not linked the notes already.
        suggested: links that are too weak to be written, the strongest first.
        proposed: changes of older notes that wait for a person.
        pending: the model's part, or a part of the judge's, is still to be done.
        failed: the model gave no answer; the analyzer stood in for it.
        unsettled: a person may still be editing the note, so it waits.
    """

    path: str
    id: str | None
    title: str
    metadata: Metadata = field(default_factory=Metadata)
    written: tuple[str, ...] = ()
    links: tuple[NewLink, ...] = ()
    confirmed: tuple[NewLink, ...] = ()
    suggested: tuple[NewLink, ...] = ()
    changed_links: tuple[ChangedLink, ...] = ()
    evolved: tuple[EvolvedNote, ...] = ()
    proposed: tuple[Proposal, ...] = ()
    pending: bool = False
    failed: bool = False
    unsettled: bool = False
    problems: tuple[str, ...] = ()
    model: str = ""
    use: ModelUse = ModelUse()


ANALYZER = "amem analyzer"
# What a note waits for (`waits_for`) about which the judge had too little time.
JUDGE = "judge of links"


@dataclass(frozen=True, slots=True)
class Step:
    """Who did one step of the process, and at what cost."""

    model: str = ANALYZER
    prompt: str = ""
    use: ModelUse = ModelUse()


@dataclass(frozen=True, slots=True)
class Description:
    """Metadata for the note.

    Attributes:
        replaces: names of fields whose present value goes, also if the new one is empty; the others
            are only filled.
        refused: all of the model's answers that was not kept, and why, also where something else
            in the field was; one line each.
    """

    metadata: Metadata = field(default_factory=Metadata)
    step: Step = Step()
    reason: str = ""
    problems: tuple[str, ...] = ()
    replaces: Collection[str] = ()
    refused: tuple[str, ...] = ()


def filled(present: Described, values: Metadata) -> Described:
    """A note, or its metadata, with values for the fields that are empty."""
    return replace(
        present,
        keywords=present.keywords or values.keywords,
        tags=present.tags or values.tags,
        context=present.context or values.context,
    )


@dataclass(frozen=True, slots=True)
class Linking:
    """Links from the note, and changes of the older notes that they lead to.

    Attributes:
        link_changes: changes of links that the machine made earlier, from this note or from one
            that it is linked with.
        provisional_changes: of links of this note that were made before the judge had the time.
        judged: paths of the older notes of which the judge of links said something.
        waits_for: `JUDGE` if it had too little time for the others.
        believed: False if a model was asked and gave no usable answer.
        suggested: links that are too weak to be written, the strongest first; any number of them.
        refused: by path of an older note, why the new context that a model gave it was refused, if
            the model can mend it.
    """

    links: tuple[MemoryLink, ...] = ()
    evolutions: tuple[Evolution, ...] = ()
    step: Step = Step()
    problems: tuple[str, ...] = ()
    link_changes: tuple[LinkUpdate, ...] = ()
    provisional_changes: tuple[LinkUpdate, ...] = ()
    judged: frozenset[str] = frozenset()
    waits_for: str = ""
    believed: bool = True
    suggested: tuple[MemoryLink, ...] = ()
    refused: Mapping[str, str] = field(default_factory=dict)


@dataclass(frozen=True, slots=True)
class NoteAnalysis:
    """What the steps propose for one version of a note.

    Attributes:
        waits_for: the model that the analyzer stands in for, or `JUDGE`; empty if the note is done
            with this.
        updates_by_text: updates of its own links that its new text calls for, by the analyzer.
    """

    description: Description
    linking: Linking
    model: str
    updates_by_text: tuple[LinkUpdate, ...] = ()
    waits_for: str = ""

    @property
    def use(self) -> ModelUse:
        return self.description.step.use + self.linking.step.use

    @property
    def prompt(self) -> str:
        """Names of the prompts of all steps, with a blank between them."""
        steps = (self.description.step, self.linking.step)
        names = (step.prompt for step in steps if step.model != ANALYZER)
        return " ".join(filter(None, dict.fromkeys(names)))

    @property
    def problems(self) -> tuple[str, ...]:
        """What went wrong or was replaced, one line each."""
        return self.description.problems + self.linking.problems

    @property
    def refused(self) -> tuple[str, ...]:
        """What of the model's answers was not kept, and why, one line each."""
        return self.description.refused + self.linking.problems
