"""What a language model's tokens cost, by the prices that the user set."""

from __future__ import annotations

from contextlib import suppress
from dataclasses import dataclass

from amem_cli.models.ports import PROGRAM_MARK
from amem_cli.settings import Settings

# How the journal names a model of a server: `NAME at HOST`.
_AT_HOST = " at "


@dataclass(frozen=True, slots=True)
class Price:
    """The price of a million tokens of the model that the settings name; 0 if it is not set.

    Attributes:
        model: a server's name for it; of a program, what the journal calls it.
    """

    model: str = ""
    input: float = 0.0
    output: float = 0.0

    def of(self, model: str, prompt_tokens: float, answer_tokens: float) -> float | None:
        """Cost of what a model read and wrote; 0 for a model on this machine, None if unknown.

        What a server had in its cache counts in full, so the true cost may be lower.

        Args:
            model: as the journal names it.
        """
        name, at, _ = model.rpartition(_AT_HOST)
        is_program = model.endswith(PROGRAM_MARK)
        if not (at or is_program):
            return 0.0
        own = model if is_program else name
        if own != self.model or not (self.input or self.output):
            return None
        return (prompt_tokens * self.input + answer_tokens * self.output) / 1e6


def price_in(settings: Settings) -> Price:
    """The price that the settings name."""
    model = settings.llm_model
    if settings.llm_backend == "command":
        from amem_cli.models.command import program_name, split_line

        with suppress(ValueError):
            model = program_name(split_line(model))
    return Price(model, settings.llm_price_input, settings.llm_price_output)


def money(amount: float, currency: str) -> str:
    """An amount for a person to read; a small one keeps two digits that count."""
    return f"{currency}{amount:,.2f}" if amount >= 0.1 else f"{currency}{amount:.2g}"
