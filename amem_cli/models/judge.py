"""The judge of links: a small model with an adapter that tells how two notes are related.

The model is the bundled one, the adapter comes with amem (training/README.md). llama.cpp runs both
in a child process; nothing is generated, the answer is read from the logits of a few first tokens.
"""

from __future__ import annotations

import math
import time
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

from amem_cli.data import file_path, table
from amem_cli.errors import ModelClosed, ModelError
from amem_cli.models.gguf import sha256_of
from amem_cli.models.llama_cpp import LlamaCppFile, bundled_model, check_library
from amem_cli.settings import Settings, user_cache_folder

if TYPE_CHECKING:
    from amem_cli.models.ports import NoteText

# The words of the questions, as the adapter was trained with them, and the files' digests.
WORDS: Mapping[str, Any] = table("judge.toml")
ANSWERS: Mapping[str, str] = WORDS["answers"]
FAILURES_IN_A_ROW = 3
REST_SECONDS = 60.0
# No tokenizer makes fewer tokens of ordinary text; of longer ones only both ends are sent.
_LETTERS_PER_TOKEN = 16


def note_head(note: NoteText) -> str:
    """What stands between "New note" or "Old note" and the text."""
    return str(WORDS["head"]).format(day=note.day, title=note.title)


class LlamaCppJudge(LlamaCppFile):
    """The judge, run by llama.cpp. After three failures in a row it says nothing for a minute."""

    def __init__(
        self, model_path: Path, adapter_path: Path, *, cache: Path, **settings: Any
    ) -> None:
        """Name the files, and the folder for a faster copy of the model; nothing is started yet."""
        copy = cache / f"{model_path.stem}-{WORDS['model_sha256'][:8]}.Q8_0.gguf"
        settings = {"adapter_path": str(adapter_path), "copy_path": str(copy), **settings}
        super().__init__(model_path, **settings)
        self.name = f"{adapter_path.stem}-{WORDS['version']}"
        self._adapter_path = adapter_path
        self._failures, self._last_failure = 0, -math.inf

    def relations(
        self, newer: NoteText, olders: Sequence[NoteText], *, most_tokens: int, seconds: float
    ) -> list[dict[str, float]]:
        if not olders or self._is_resting:
            return []
        longest = most_tokens * _LETTERS_PER_TOKEN
        message = {
            "newer": (note_head(newer), _ends(newer.text, longest)),
            "olders": [(note_head(each), _ends(each.text, longest)) for each in olders],
            "most_tokens": most_tokens,
        }
        try:
            reply, _ = self._asked(message, seconds)
            found = [_shares(each) for each in reply["judged"]]
        except (KeyError, TypeError, ValueError):
            raise ModelError(f"the process of {self.name} sent an odd answer") from None
        except ModelClosed:
            raise
        except ModelError:
            self._failures, self._last_failure = self._failures + 1, time.monotonic()
            raise
        self._failures = 0
        return found

    def start(self) -> None:
        """Load it, unless it is left alone; see `ports.Judge`."""
        if not self._is_resting:
            super().start()

    @property
    def _is_resting(self) -> bool:
        lately = time.monotonic() - self._last_failure < REST_SECONDS
        return self._failures >= FAILURES_IN_A_ROW and lately

    def _check_files(self) -> None:
        for path, digest in (
            (self._path, WORDS["model_sha256"]),
            (self._adapter_path, WORDS["adapter_sha256"]),
        ):
            try:
                fits = sha256_of(path, lambda done, size: None) == digest
            except OSError as error:
                raise ModelError(f"{path} cannot be read: {error.strerror}") from None
            if not fits:
                raise ModelError(
                    f"{path.name} is not the file that the judge of links was trained with",
                    hint="Links are decided without it. An update of amem may know this file.",
                )


def _ends(text: str, longest: int) -> str:
    return text if len(text) <= 2 * longest else text[:longest] + text[-longest:]


def _shares(logits: Sequence[float]) -> dict[str, float]:
    """Probabilities of the answers, by relation; raises `ValueError` if it is no such list."""
    highest = max(logits)
    weights = [math.exp(each - highest) for each in logits]
    shares = [each / sum(weights) for each in weights]
    return dict(zip(ANSWERS, shares, strict=True))


def open_judge(settings: Settings, environment: Mapping[str, str]) -> LlamaCppJudge | None:
    """The judge, if the settings want it and what it needs is installed; nothing is started."""
    try:
        return None if settings.llm_judge == "off" else installed_judge(settings, environment)
    except ModelError:
        return None


def installed_judge(settings: Settings, environment: Mapping[str, str]) -> LlamaCppJudge:
    """The judge, whether the settings want it or not; raises `ModelError` if it cannot run here."""
    check_library()
    return LlamaCppJudge(
        bundled_model(),
        file_path(WORDS["adapter"]),
        cache=user_cache_folder(environment) / "judge",
        threads=settings.llm_threads,
        memory_limit_mb=settings.llm_memory_mb,
    )
