"""What a language model is asked for, and how much evidence its word on a link needs.

A model that says yes to notes that only look alike is believed where the analyzer's evidence agrees
more. Both follow from a trial with pairs of notes whose answer is known.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

from amem_cli.core.link_choice import USUAL_MINIMUM

AskedFor = Literal["all", "context", "nothing"]

# Least strength by the evidence at which a model is asked about an older note at all.
PLAUSIBLE = 0.06
# A trial has few pairs, so it begins with what is held of a model that was never tried: one related
# pair found, and of so many others the share wrongly linked at which `PLAUSIBLE` is right.
_USUAL_MISTAKES = PLAUSIBLE / (1 - PLAUSIBLE)
_OTHERS_BEFORE = 4


@dataclass(frozen=True, slots=True)
class ModelTrust:
    """How far a model is trusted.

    Attributes:
        asked_for: metadata, links and changes at once, the context alone, or nothing.
        plausible: strength by the evidence, 0..1, from which on its word on a link counts.
    """

    asked_for: AskedFor
    plausible: float = PLAUSIBLE


def reliability(found: int, related: int, mistaken: int, others: int) -> float:
    """How often a model's yes to a pair is right, where as many pairs are related as are not.

    Args:
        found: related pairs that it linked, of `related` ones.
        mistaken: pairs that do not belong together that it linked, of `others`.

    Returns:
        0..1; where nothing was asked, what is held of a model that was never tried.
    """
    hits = (found + 1) / (related + 1)
    mistakes = (mistaken + _USUAL_MISTAKES * _OTHERS_BEFORE) / (others + _OTHERS_BEFORE)
    return hits / (hits + mistakes)


def least_plausible(reliability: float) -> float:
    """The strength by the evidence from which on a model's yes makes a link likelier than not.

    The evidence's strength is a probability; a yes multiplies its odds by how much oftener the
    model says so of related pairs than of others. It is never below `PLAUSIBLE`, for such notes are
    not shown, nor above `USUAL_MINIMUM`, where the evidence carries a link by itself.
    """
    return min(USUAL_MINIMUM, max(PLAUSIBLE, 1 - reliability))
