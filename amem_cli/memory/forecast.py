"""What a run of the memory process over many notes will take: tokens and time."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

from amem_cli.memory.describe import METADATA_PROMPT, SUMMARY_PROMPT, TEXT_BYTES
from amem_cli.memory.link import JOINT_PROMPT, LINKING_PROMPT

if TYPE_CHECKING:
    from amem_cli.index.memory_index import MemoryIndex
    from amem_cli.models.ports import LanguageModel

# Fewer say little: the first notes of a vault have no older ones to be asked about.
LEAST_MEASURED = 5
MOST_MEASURED = 200
# Tokens of a note's requests without its text, and of the answers: those of a trusted model, which
# is shown older notes too, and of any other.
_USUAL_TOKENS = {True: (1250, 220), False: (490, 40)}
_BYTES_PER_TOKEN = 4
# As the journal names the prompts of a note's requests.
_PROMPTS = {
    True: (JOINT_PROMPT, METADATA_PROMPT, LINKING_PROMPT),
    False: (SUMMARY_PROMPT,),
}


@dataclass(frozen=True, slots=True)
class Forecast:
    """What a run will take, about.

    Attributes:
        notes: those that the model is asked about.
        seconds: wall time; None if the model was not asked about enough notes yet.
        measured: how many earlier notes of the vault the figures are from; 0: they are the usual
            ones, by the length of the texts.
        remote: the model is on another machine.
        left_today: tokens that may still be spent today; None if there is no limit.
    """

    notes: int
    model: str
    prompt_tokens: int
    answer_tokens: int
    seconds: float | None
    measured: int
    remote: bool
    left_today: int | None = None

    @property
    def tokens(self) -> int:
        """Tokens in and out."""
        return self.prompt_tokens + self.answer_tokens

    @property
    def exceeds_today(self) -> bool:
        """Whether the run needs more tokens than are left today."""
        return self.left_today is not None and self.tokens > self.left_today


def estimate(
    index: MemoryIndex, paths: Sequence[str], model: LanguageModel, *, trusted: bool
) -> Forecast:
    """What the process of these notes will take.

    From what the last notes took that this model was asked about with these prompts, if they are at
    least 5; else from the usual figures.
    """
    # A private note is not shown to a model of another machine.
    sizes = index.notes.sizes(paths, public=model.is_remote)
    known = index.events.last_use(model.name, _PROMPTS[trusted], MOST_MEASURED)
    count, seconds = len(sizes), None
    if known.notes >= LEAST_MEASURED:
        measured, share = known.notes, count / known.notes
        prompt, answer = known.prompt_tokens * share, known.answer_tokens * share
        seconds = known.seconds * share
    else:
        measured, (each, answered) = 0, _USUAL_TOKENS[trusted]
        texts = sum(min(size, TEXT_BYTES) for size in sizes) / _BYTES_PER_TOKEN
        prompt, answer = each * count + texts, answered * count
    return Forecast(
        count, model.name, round(prompt), round(answer), seconds, measured, model.is_remote
    )
