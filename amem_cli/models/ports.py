"""Ports: what the rest of amem needs of an encoder and a language model."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, NamedTuple, Protocol

from amem_cli.errors import AmemError, ModelError

if TYPE_CHECKING:
    import numpy as np
    import numpy.typing as npt

    Vectors = npt.NDArray[np.float32]

# At the end of what the journal calls a program that is asked as a model.
PROGRAM_MARK = "(command)"


class Encoder(Protocol):
    """Turns texts into unit vectors."""

    @property
    def model_id(self) -> str:
        """Name and content hash of the model; vectors of two ids are never mixed."""

    @property
    def dimension(self) -> int:
        """Length of a vector."""

    @property
    def max_tokens(self) -> int:
        """Tokens of a text that the model reads; the rest is cut."""

    @property
    def is_spread(self) -> bool:
        """Whether the model finds all texts alike, so that its vectors' common part was taken away.

        Its cosines then have another scale than those of other models.
        """

    def readable(self, text: str) -> float:
        """Share of a text's tokens that the model knows, 0..1; 1 if that is unknown."""

    def encode(self, texts: Sequence[str], *, query: bool = False) -> Vectors:
        """Encode texts; `query` if they are questions, before which some models want other words.

        Returns:
            float32 of shape (len(texts), dimension), in the order of the texts, each row of unit
            length (a zero row is impossible; an empty text has a vector too).

        Raises:
            EncoderError: the model cannot be loaded or gave vectors that are not finite.
        """

    def encode_passages(self, texts: Sequence[str]) -> tuple[Vectors, list[bytes]]:
        """Encode texts, and tell of the vector of each of their tokens which numbers are positive.

        Returns:
            what `encode` does, and for each text a bit a number, in whole bytes a token; nothing
            for any text if the model does not tell its tokens' vectors.
        """

    def encode_question(self, text: str, *, plain: bool = False) -> tuple[Vectors, Vectors]:
        """The vector of a query, of shape (dimension,), and the unit vectors of its tokens, of
        shape (count, dimension); raises as `encode` does.

        An encoder that learned to read questions reads them in its own way, unless `plain`: then
        the vector is that of `encode` with `query`, as suits a sentence of a note.
        """

    def relevance(self, question: str, texts: Sequence[str]) -> Vectors:
        """Log odds that each text, title before, answers a question, of shape (len(texts),), by
        reading both together; of shape (0,) if the encoder did not learn that. Raises as `encode`
        does."""


@dataclass(frozen=True, slots=True)
class ModelRequest:
    """One question to a language model.

    Attributes:
        instructions: the fixed part, the same for every request of a step, so that a model can
            reuse its computation.
        text: the variable part; untrusted data.
        schema: JSON schema of the answer, in the subset of `reply_schema`.
        max_tokens: bound of the answer's length.
        deadline: seconds in all.
        examples: other texts with the answers to them, as fixed as the instructions.
        shows: keys of the notes, by path and text, and links that the text numbers, in order; no
            model is sent them.
    """

    instructions: str
    text: str
    schema: Mapping[str, Any]
    max_tokens: int
    deadline: float
    examples: tuple[tuple[str, str], ...] = ()
    shows: tuple[str, ...] = field(default=(), compare=False)


@dataclass(frozen=True, slots=True)
class ModelAnswer:
    """A language model's answer.

    Attributes:
        text: the raw answer, meant to be JSON; not yet checked.
        complete: False if length, deadline or a filter cut the answer.
        prompt_tokens, answer_tokens: as counted by the model, 0 if it does not report them.
        truncated: the model was shown only a part of the text.
        reused_tokens: those of the prompt that were not computed again, 0 if that is unknown.
        starved: the model's thinking took the room of the answer.
    """

    text: str
    complete: bool
    prompt_tokens: int
    answer_tokens: int
    seconds: float
    truncated: bool = False
    refused: bool = False
    reused_tokens: int = 0
    starved: bool = False


class AnswerRejected(ValueError):
    """An answer is not of the schema's shape; the text says why, and does not quote it."""


@dataclass(frozen=True)
class UnavailableModel:
    """In place of a language model that cannot be had: every question fails with `error`.

    Attributes:
        is_given_up: it failed with other notes, so that this is no attempt with a note.
    """

    error: AmemError
    name: str
    is_given_up: bool = False
    is_remote: bool = False

    def answer(self, request: ModelRequest) -> ModelAnswer:
        raise ModelError(self.error.message, hint=self.error.hint)

    def close(self) -> None:
        """There is nothing to free."""


class NoteText(NamedTuple):
    """A note as the judge of links reads it; the day is `2026-03-04`, or empty if unknown."""

    day: str
    title: str
    text: str


class Judge(Protocol):
    """Tells how a note is related to older ones."""

    @property
    def name(self) -> str:
        """Name for the journal."""

    def relations(
        self, newer: NoteText, olders: Sequence[NoteText], *, most_tokens: int, seconds: float
    ) -> list[dict[str, float]]:
        """Probabilities of `none` and of each relation, by name, for the older notes in order.

        Args:
            most_tokens: longest text of a note; the middle of a longer one is left out.
            seconds: when they are over, the rest of the older notes has no answer.

        Raises:
            ModelError: no answer can be had (crash, files that do not fit, no memory).
        """

    def start(self) -> None:
        """Load it, so that the first answer need not wait; raises `ModelError`."""

    def close(self) -> None:
        """Free it; may be called twice."""


class LanguageModel(Protocol):
    """Answers a request with JSON of its schema."""

    @property
    def name(self) -> str:
        """Name for the journal, such as `SmolLM2-135M-Instruct.Q4_1.gguf`."""

    @property
    def is_remote(self) -> bool:
        """Whether the text leaves this machine."""

    def answer(self, request: ModelRequest) -> ModelAnswer:
        """Ask once; raises `ModelError` if no answer can be had (crash, deadline, network)."""

    def close(self) -> None:
        """Free the model; may be called twice."""
