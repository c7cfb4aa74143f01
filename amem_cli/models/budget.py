"""Counts the tokens that a vault's language model spends a day, and ends the asking at a limit."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Callable, Mapping
from datetime import date
from pathlib import Path

from amem_cli.errors import BudgetSpent, SettingsError
from amem_cli.locations import user_state_folder
from amem_cli.models.ports import LanguageModel, ModelAnswer, ModelRequest

FOLDER = "token-use"
LOCK_SECONDS = 5.0
# Where a server does not count; about what an English token has.
CHARACTERS_A_TOKEN = 4


class TokenLedger:
    """The tokens of today, by vault, in the user's state folder.

    Every question counts: of the memory process, of `ask` and of `model test`. The count survives
    the program and is shared by all that work on the vault from this machine.
    """

    def __init__(
        self,
        root: Path,
        environment: Mapping[str, str],
        today: Callable[[], date] = date.today,
    ) -> None:
        """Name the vault; nothing is read yet."""
        name = hashlib.sha256(str(root).encode("utf-8", "surrogateescape")).hexdigest()[:16]
        self._path = user_state_folder(environment) / FOLDER / f"{name}.json"
        self._today = today

    def used(self) -> int:
        """Tokens since midnight, local time."""
        try:
            found = json.loads(self._path.read_text(encoding="utf-8"))
        except (OSError, ValueError, RecursionError):
            return 0
        same = isinstance(found, dict) and found.get("day") == self._today().isoformat()
        tokens = found.get("tokens") if same else 0
        return tokens if type(tokens) is int and tokens >= 0 else 0

    def add(self, tokens: int) -> None:
        """Count tokens.

        Raises:
            SettingsError: the count cannot be kept.
        """
        from filelock import FileLock, Timeout

        try:
            self._path.parent.mkdir(parents=True, exist_ok=True, mode=0o700)
            with FileLock(self._path.with_suffix(".lock"), timeout=LOCK_SECONDS):
                count = {"day": self._today().isoformat(), "tokens": self.used() + tokens}
                temporary = self._path.with_suffix(".new")
                temporary.write_text(json.dumps(count), encoding="utf-8")
                temporary.replace(self._path)
        except (OSError, Timeout) as error:
            raise SettingsError(
                f"the day's tokens cannot be counted: {error}", hint=f"Look at {self._path.parent}."
            ) from None


class BudgetedModel:
    """A language model that is asked no more when the day's tokens are spent."""

    def __init__(self, model: LanguageModel, ledger: TokenLedger, limit: int) -> None:
        """Wrap a model.

        Args:
            limit: tokens a day, at least 1.
        """
        self._model = model
        self._ledger = ledger
        self._limit = limit

    @property
    def name(self) -> str:
        """The model's own."""
        return self._model.name

    @property
    def is_remote(self) -> bool:
        """The model's own."""
        return self._model.is_remote

    def answer(self, request: ModelRequest) -> ModelAnswer:
        """Ask the model once, while there are tokens left.

        Raises:
            BudgetSpent: the day's tokens are spent.
            ModelError: as the model's own.
            SettingsError: what it spent cannot be counted.
        """
        if self._ledger.used() >= self._limit:
            raise BudgetSpent(
                f"today's {self._limit} tokens for the language model are spent",
                hint="Notes wait until midnight. More: amem config set llm.daily_tokens N",
            )
        answer = self._model.answer(request)
        spent = answer.prompt_tokens + answer.answer_tokens or _estimated(request, answer)
        self._ledger.add(spent)
        return answer

    def close(self) -> None:
        """Free the model."""
        self._model.close()


def _estimated(request: ModelRequest, answer: ModelAnswer) -> int:
    return (len(request.instructions) + len(request.text) + len(answer.text)) // CHARACTERS_A_TOKEN
