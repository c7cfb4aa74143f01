"""Random sentence-transformers models of a few kilobytes, with every kind of module."""

from __future__ import annotations

from importlib import import_module
from pathlib import Path
from typing import TYPE_CHECKING, Any

from amem_cli.models.common_part import COMMON_FILE, MEAN_FILE, CommonPart

if TYPE_CHECKING:
    from amem_cli.models.ports import Vectors

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


_SENTENCES = [
    "warm bread in the kitchen",
    "query: passage: what is it",
    "Wir backen Brot in der Küche.",
    "我们在厨房里做面包",
    "台所でパンを焼く",
    "부엌에서 빵을 굽는다",
]
_SPECIAL = ("<s>", "<pad>", "</s>", "<unk>", "<mask>")
_ARCHITECTURES = {
    "xlm-roberta": "XLMRoberta",
    "bert": "Bert",
    "distilbert": "DistilBert",
    "mpnet": "MPNet",
}


def save_tiny_multilingual(
    folder: Path,
    architecture: str,
    *,
    pooling: str = "mean",
    prompts: dict[str, str] | None = None,
    positions: int = 66,
    max_tokens: int = 24,
) -> Path:
    """Save a model of another architecture with a tokenizer that knows no spaces; needs torch."""
    import torch

    library: Any = import_module("sentence_transformers")
    models: Any = import_module("sentence_transformers.sentence_transformer.modules")
    transformers: Any = import_module("transformers")
    torch.manual_seed(3)
    words = folder / "words"
    words.mkdir(parents=True)
    bos, pad, eos, unknown, mask = _SPECIAL
    tokenizer = transformers.PreTrainedTokenizerFast(
        tokenizer_object=_trained_tokenizer(),
        bos_token=bos,
        cls_token=bos,
        eos_token=eos,
        sep_token=eos,
        pad_token=pad,
        unk_token=unknown,
        mask_token=mask,
        model_max_length=positions - 2,
    )
    tokenizer.save_pretrained(str(words))
    sizes = {"hidden_size": 32, "num_hidden_layers": 2, "num_attention_heads": 2}
    sizes["intermediate_size"] = 64
    if architecture == "distilbert":
        sizes = {"dim": 32, "n_layers": 2, "n_heads": 2, "hidden_dim": 64}
    name = _ARCHITECTURES[architecture]
    config = getattr(transformers, f"{name}Config")(
        vocab_size=len(tokenizer),
        max_position_embeddings=positions,
        initializer_range=0.5,
        pad_token_id=1,
        bos_token_id=0,
        eos_token_id=2,
        **sizes,
    )
    getattr(transformers, f"{name}Model")(config).save_pretrained(str(words))
    parts = [
        models.Transformer(str(words), max_seq_length=max_tokens),
        models.Pooling(32, pooling_mode=pooling),
        models.Normalize(),
    ]
    library.SentenceTransformer(modules=parts, device="cpu", prompts=prompts).save(
        str(folder / "model")
    )
    return folder / "model"


def as_prepared(folder: Path, vectors: Vectors, *, query: bool = False) -> Vectors:
    """A library's vectors without the common part that the encoder in `folder` takes away.

    Models with random weights find all texts alike, or not, by chance.
    """
    name = COMMON_FILE if (folder / COMMON_FILE).exists() else MEAN_FILE
    return CommonPart.read(folder / name, vectors.shape[1]).taken_from(vectors, query=query)


def _trained_tokenizer() -> Any:
    from tokenizers import Tokenizer, normalizers, pre_tokenizers, processors, trainers
    from tokenizers.models import Unigram

    tokenizer = Tokenizer(Unigram())
    tokenizer.normalizer = normalizers.NFKC()
    tokenizer.pre_tokenizer = pre_tokenizers.Metaspace()
    trainer = trainers.UnigramTrainer(
        vocab_size=150, special_tokens=list(_SPECIAL), unk_token="<unk>", show_progress=False
    )
    tokenizer.train_from_iterator(_SENTENCES * 20, trainer)
    tokenizer.post_processor = processors.TemplateProcessing(
        single="<s> $A </s>", special_tokens=[("<s>", 0), ("</s>", 2)]
    )
    return tokenizer
