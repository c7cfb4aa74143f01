"""How far a language model is trusted, by how it did in the small cases of the trial.

The verdict decides what a model is asked for. How often its yes to a link was right decides how
much evidence such a link needs: a model that says yes to look-alikes needs more.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import Literal

from amem_cli.journal.link_decisions import USUAL_MINIMUM
from amem_cli.memory.outcome import PLAUSIBLE, AskedFor

VerdictKind = Literal["fit", "usable", "unfit"]

# A trial has few pairs, so a prior stands in for a model that was never tried: one related pair
# linked, and of so many others the share wrongly linked at which `PLAUSIBLE` is right.
_USUAL_MISTAKES = PLAUSIBLE / (1 - PLAUSIBLE)
_OTHERS_BEFORE = 4


def reliability(found: int, related: int, mistaken: int, others: int) -> float:
    """How often a model's yes to a pair is right if as many pairs are related as not, 0..1; `found`
    and `mistaken` are those of the `related` and the `others` that it linked."""
    hits = (found + 1) / (related + 1)
    mistakes = (mistaken + _USUAL_MISTAKES * _OTHERS_BEFORE) / (others + _OTHERS_BEFORE)
    return hits / (hits + mistakes)


def least_plausible(reliability: float) -> float:
    """The least strength by the evidence at which a model's yes makes a link likelier than not.

    The strength is a probability; a yes multiplies its odds by how much oftener the model says so
    of related pairs than of others. Never below `PLAUSIBLE`, for such notes are not shown, nor
    above `USUAL_MINIMUM`, where the evidence supports a link by itself.
    """
    return min(USUAL_MINIMUM, max(PLAUSIBLE, 1 - reliability))


Grade = Literal["good", "fair", "poor"]

# Of contexts, for a model that is asked for them alone; of the others the analyzer's are no worse.
_LEAST_CONTEXTS = 0.75
# Of notes with a right keyword; below it the analyzer's are taken, whatever else the model can do.
_LEAST_KEYWORDS = 0.75
# A model is asked for all at once only if it reaches all of these shares. Its links need evidence
# besides, so one look-alike in five may slip through.
_REQUIRED = (
    ("right contexts", "contexts", _LEAST_CONTEXTS),
    ("related notes linked", "found", 0.75),
    ("look-alikes left alone", "refused", 0.8),
    ("changes noticed", "changes_found", 0.5),
    ("notes left alone where nothing changed", "kept", 0.9),
    ("answers in the asked form", "valid", 0.85),
)
# A share is fair if it reaches so much of what is required.
_FAIR = 2 / 3
# Below this the analyzer would do nearly all of the work anyway.
LEAST_VALID_OF_ALL = 0.5
# After so many in a row without any answer no more is asked.
FAILURES_IN_A_ROW = 3
# What to grant a model that needed more than its time, in seconds.
_MORE_SECONDS = 300
_MOST_SECONDS = 3600


@dataclass(frozen=True, slots=True)
class CaseResult:
    """How a model did in one case; None if the case does not ask for it, or no answer was valid.

    Attributes:
        alone: it was asked for all at once, as a trusted model is; else for the context alone.
        fault: why an answer was not valid, or could not be had.
        context, keywords: it wrote some that passed the checks and are about the note's matter.
        found, refused: how many of the `related` notes it linked, and of the `others` it did not.
        change_found: it said what the new note changes in the older one.
        kept: it changed nothing in a case that calls for no change.
        seconds: of the answer, without loading the model.
    """

    title: str
    valid: bool
    alone: bool = True
    fault: str = ""
    context: bool | None = None
    keywords: bool | None = None
    found: int = 0
    related: int = 0
    refused: int = 0
    others: int = 0
    change_found: bool | None = None
    kept: bool | None = None
    prompt_tokens: int = 0
    answer_tokens: int = 0
    seconds: float = 0.0

    @property
    def was_answered(self) -> bool:
        """False if the model could not be asked at all."""
        return self.valid or self.prompt_tokens > 0


@dataclass(frozen=True, slots=True)
class Share:
    """Hits among all that were asked."""

    hits: int
    asked: int

    @property
    def value(self) -> float:
        """The share, 0..1; 0 if nothing was asked."""
        return self.hits / self.asked if self.asked else 0.0

    def __str__(self) -> str:
        return f"{self.hits} of {self.asked}"


@dataclass(frozen=True, slots=True)
class Figures:
    """What the cases that are counted add up to.

    Attributes:
        contexts, keywords: notes with a right context, and with right keywords.
        reliability, plausible: see the functions `reliability` and `least_plausible`.
        tokens_per_second: of the answers, reading the prompts included in the time.
        prompt_tokens_per_note, answer_tokens_per_note: means of the cases that it could be asked.
    """

    asked: int
    valid: Share
    contexts: Share
    keywords: Share
    found: Share
    refused: Share
    changes_found: Share
    kept: Share
    reliability: float
    plausible: float
    tokens_per_second: float
    seconds_per_note: float
    prompt_tokens_per_note: float
    answer_tokens_per_note: float

    @property
    def tokens_per_note(self) -> float:
        return self.prompt_tokens_per_note + self.answer_tokens_per_note

    @property
    def grades(self) -> dict[str, Grade]:
        """How good the shares are that the verdict depends on, by name; `good` is good enough to
        ask for it. Without those that were never asked."""
        return {
            name: _grade(share.value, least)
            for _, name, least in (*_REQUIRED, ("", "keywords", _LEAST_KEYWORDS))
            for share in (getattr(self, name),)
            if share.asked
        }


def _grade(value: float, least: float) -> Grade:
    return "good" if value >= least else "fair" if value >= _FAIR * least else "poor"


@dataclass(frozen=True, slots=True)
class Verdict:
    """What a model is fit for, in a line, and what to do; `keywords` tells whether a model that is
    asked for all is asked for these as well."""

    kind: VerdictKind
    line: str
    advice: str
    keywords: bool = False

    @property
    def asked_for(self) -> AskedFor:
        """The way of asking that it is fit for."""
        return asked_for(self.kind)


def asked_for(kind: str) -> AskedFor:
    """What a model of a verdict is asked for."""
    return "all" if kind == "fit" else "nothing" if kind == "unfit" else "context"


def is_lost(results: Sequence[CaseResult]) -> bool:
    """Whether the model could not be asked the last few times."""
    last = results[-FAILURES_IN_A_ROW:]
    return len(last) == FAILURES_IN_A_ROW and not any(one.was_answered for one in last)


def is_hopeless(results: Sequence[CaseResult]) -> bool:
    """Whether no answer was mostly right, so that asking for all at once is useless."""
    return not any(
        one.valid and one.context and 2 * one.found >= one.related and 2 * one.refused >= one.others
        for one in results
    )


def figures_of(results: Sequence[CaseResult]) -> Figures:
    """Add up the cases; only those asked as of a weak model, if there are any."""
    weak = [one for one in results if not one.alone]
    results = weak or results
    asked = [one for one in results if one.was_answered]
    seconds = sum(one.seconds for one in asked)
    answered = sum(one.answer_tokens for one in asked)
    found = Share(sum(one.found for one in results), sum(one.related for one in results))
    refused = Share(sum(one.refused for one in results), sum(one.others for one in results))
    reliable = reliability(found.hits, found.asked, refused.asked - refused.hits, refused.asked)
    return Figures(
        asked=len(results),
        valid=Share(sum(one.valid for one in results), len(results)),
        contexts=_share(one.context for one in results),
        keywords=_share(one.keywords for one in results),
        found=found,
        refused=refused,
        changes_found=_share(one.change_found for one in results),
        kept=_share(one.kept for one in results),
        reliability=round(reliable, 3),
        plausible=round(least_plausible(reliable), 3),
        tokens_per_second=answered / seconds if seconds > 0 else 0.0,
        seconds_per_note=_mean(asked, "seconds"),
        prompt_tokens_per_note=_mean(asked, "prompt_tokens"),
        answer_tokens_per_note=_mean(asked, "answer_tokens"),
    )


def verdict_on(results: Sequence[CaseResult]) -> Verdict:
    """Judge a model by its answers to all cases of a trial."""
    figures = figures_of(results)
    useless = _uselessness(results, figures)
    if useless:
        return Verdict(
            "unfit",
            f"unfit: good for nothing here, so amem will not ask it ({useless})",
            "Choose another model (amem model list), or none: the analyzer does the work alone.",
        )
    short = _shortcomings(figures, alone=all(one.alone for one in results))
    if not short:
        keywords = figures.keywords.value >= _LEAST_KEYWORDS
        line = "fit: amem will ask it for contexts, keywords, tags, links and changes"
        if not keywords:
            line = (
                "fit: amem will ask it for contexts, tags, links and changes; keywords are made"
                f" without it, only {figures.keywords} are right"
            )
        advice = f"Its links count if the evidence gives them {figures.plausible:.3g} or more."
        return Verdict("fit", line, advice, keywords)
    return Verdict(
        "usable",
        f"usable: amem will ask it for contexts alone, {figures.contexts} are right"
        f" ({'; '.join(short)})",
        "All else is done without it. A larger model may do more: amem model list.",
    )


def reason_for_none(results: Sequence[CaseResult], cases: int) -> tuple[str, str]:
    """Why there is no verdict on a model that did not answer all cases, and what to do."""
    if is_lost(results) or (results and not any(one.was_answered for one in results)):
        asked = len([one for one in results if one.was_answered])
        then = f" after {asked} of {cases} notes" if asked else ""
        return f"it could not be asked{then}: {results[-1].fault}", (
            "Try again when it can be asked: amem model test"
        )
    seconds = cases * _mean(results, "seconds")
    # In steps that a person would choose, with room for loading the model.
    needed = max(_MORE_SECONDS, 60 * (1 + int(1.5 * seconds / 60)))
    return f"the time was over after {len(results)} of {cases} notes", (
        f"Give it more time: amem model test --seconds {min(needed, _MOST_SECONDS)}"
    )


def _uselessness(results: Sequence[CaseResult], figures: Figures) -> str:
    faults = [one.fault for one in results if one.fault]
    if figures.valid.value < LEAST_VALID_OF_ALL:
        return f"only {figures.valid} answers had the asked form: {faults[-1]}"
    if figures.contexts.value < _LEAST_CONTEXTS:
        return f"{figures.contexts} contexts are right"
    return ""


def _shortcomings(figures: Figures, *, alone: bool) -> list[str]:
    if not alone:
        return ["asked for all at once, it got nothing right"]
    shares = ((name, getattr(figures, share), least) for name, share, least in _REQUIRED)
    return [f"only {share} {name}" for name, share, least in shares if share.value < least]


def _share(values: Iterable[bool | None]) -> Share:
    asked = [value for value in values if value is not None]
    return Share(sum(asked), len(asked))


def _mean(results: Sequence[CaseResult], name: str) -> float:
    return sum(getattr(one, name) for one in results) / len(results) if results else 0.0
