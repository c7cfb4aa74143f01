"""Random sentence-transformers models of a few kilobytes, with every kind of module."""

from __future__ import annotations

from importlib import import_module
from pathlib import Path
from typing import Any

_LETTERS = "abcdefghijklmnopqrstuvwxyz"
_WORDS = [
    *("[PAD]", "[UNK]", "[CLS]", "[SEP]", "[MASK]", "bread", "warm", "kitchen", "query", "passage"),
    *_LETTERS,
    *(f"##{letter}" for letter in _LETTERS),
    *".,:-?!0123456789",
]


def save_tiny_model(
    folder: Path,
    *,
    pooling: str = "mean",
    dense: bool = False,
    prompts: dict[str, str] | None = None,
    include_prompt: bool = True,
) -> Path:
    """Save a model with 16 tokens at most and 32 dimensions (12 with `dense`); needs torch."""
    import torch

    # What these modules offer at their top is made when they are imported and has no types.
    library: Any = import_module("sentence_transformers")
    models: Any = import_module("sentence_transformers.sentence_transformer.modules")
    transformers: Any = import_module("transformers")
    torch.manual_seed(7)
    words = folder / "words"
    words.mkdir(parents=True)
    (words / "vocab.txt").write_text("\n".join(_WORDS), encoding="utf-8")
    tokenizer = transformers.BertTokenizerFast.from_pretrained(str(words))
    config = transformers.BertConfig(
        vocab_size=len(_WORDS),
        hidden_size=32,
        num_hidden_layers=2,
        num_attention_heads=2,
        intermediate_size=64,
        max_position_embeddings=64,
        # The usual small range makes all vectors of a random model the same.
        initializer_range=0.5,
    )
    tokenizer.save_pretrained(str(words))
    transformers.BertModel(config).save_pretrained(str(words))
    parts: list[Any] = [
        models.Transformer(str(words), max_seq_length=16),
        models.Pooling(32, pooling_mode=pooling, include_prompt=include_prompt),
    ]
    if dense:
        parts.append(models.Dense(32, 12))
    library.SentenceTransformer(modules=parts, device="cpu", prompts=prompts).save(
        str(folder / "model")
    )
    return folder / "model"
