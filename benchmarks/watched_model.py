"""A model that answers as another does, while a benchmark looks on."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from amem_cli.models.ports import LanguageModel, ModelAnswer, ModelRequest


@dataclass
class WatchedModel:
    """Passes everything on to a model; what is to be learnt of it, a kind of its own adds.

    Attributes:
        model: it answers, and closes with this one.
    """

    model: LanguageModel

    def tell(self, name: str, *about: Any) -> None:
        """Call this method of the model, where it is a scripted one that has it."""
        told = getattr(self.model, name, None)
        if told is not None:
            told(*about)

    @property
    def name(self) -> str:
        return self.model.name

    @property
    def is_remote(self) -> bool:
        return self.model.is_remote

    def answer(self, request: ModelRequest) -> ModelAnswer:
        return self.model.answer(request)

    def close(self) -> None:
        self.model.close()

    def __getattr__(self, name: str) -> Any:
        # Whatever else a kind of model can do (a fit of its own, a count of tokens).
        return getattr(self.model, name)
