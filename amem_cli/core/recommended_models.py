"""A short list of language models that are worth a try.

Sizes are those that the repositories tell of their files; none of them was measured by amem, and
no digest is known: the hub tells it when a model is fetched.
"""

from __future__ import annotations

from dataclasses import dataclass

NOT_MEASURED = "not measured here"
# docs/memory.md has the figures, with the command that prints them.
BUNDLED_BENCHMARK = "links and contexts no better than without a model"


@dataclass(frozen=True, slots=True)
class RecommendedModel:
    """A model by a short name.

    Attributes:
        size: bytes as the repository tells, rounded.
        note: for whom it is, in a few words.
        benchmark: what `benchmarks/memory.py` said of it.
        sha256: of the file, hexadecimal; empty where unknown.
    """

    name: str
    repository: str
    file: str
    size: int
    note: str
    benchmark: str = NOT_MEASURED
    sha256: str = ""

    @property
    def memory(self) -> int:
        """Bytes of memory to have free: the file, and room for the window and for computing."""
        return self.size + 2**30


RECOMMENDED = (
    RecommendedModel(
        "llama-3.2-1b",
        "bartowski/Llama-3.2-1B-Instruct-GGUF",
        "Llama-3.2-1B-Instruct-Q4_K_M.gguf",
        810_000_000,
        "small and fast",
    ),
    RecommendedModel(
        "qwen3-1.7b",
        "bartowski/Qwen_Qwen3-1.7B-GGUF",
        "Qwen_Qwen3-1.7B-Q5_K_M.gguf",
        1_470_000_000,
        "many languages",
    ),
    RecommendedModel(
        "qwen3-4b",
        "bartowski/Qwen_Qwen3-4B-GGUF",
        "Qwen_Qwen3-4B-Q4_K_M.gguf",
        2_500_000_000,
        "many languages; wants a fast machine",
    ),
)


def recommended(name: str) -> RecommendedModel | None:
    """The model of that short name, or None."""
    return next((one for one in RECOMMENDED if one.name == name.lower()), None)
