"""What the files beside an encoder's weights say of it, as its own library reads them."""

from __future__ import annotations

import json
import re
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from amem_cli.models.encoder_files import MULTILINGUAL

# Attention over a text needs memory by the square of its length: 50 MB here, 3 GB for the 8,192
# tokens of some models. Notes are embedded in shorter passages anyway.
MOST_TOKENS = 1024

_E5 = re.compile(r"(?:multilingual-)?e5-(?:small|base|large)(?:-v2)?")
_E5_PROMPTS = {"query": "query: ", "passage": "passage: "}
_POOLINGS = {"pooling_mode_mean_tokens": "mean", "pooling_mode_cls_token": "cls"}
# What a tokenizer's settings may say of the normalizer that its own file also describes.
_NORMALIZING = {
    "do_lower_case": "lowercase",
    "strip_accents": "strip_accents",
    "tokenize_chinese_chars": "handle_chinese_chars",
}


class NotReadable(Exception):
    """The files ask for something that only the model's own library can do."""


@dataclass(frozen=True, slots=True)
class EncoderConfig:
    """What is needed to run an encoder beside its graph.

    Attributes:
        transformer: folder of the transformer's files.
        model: its `config.json`.
        facts: of the encoder's `Manifest`: pooling, tokens, prompts.
    """

    transformer: Path
    model: Mapping[str, Any]
    facts: Mapping[str, Any]


def chosen_prompts(model: str, prompts: Mapping[str, str], default_name: str) -> tuple[str, str]:
    """The prompts of documents and of questions, from those of a model by name."""
    named = {name: prompt for name, prompt in prompts.items() if prompt}
    if not named and (model == MULTILINGUAL or _E5.fullmatch(Path(model).name)):
        # These were trained with prompts that only their documentation names.
        named = _E5_PROMPTS
    default = named.get(default_name, "")
    kinds = ("document", "passage", "corpus")
    document = next((named[name] for name in kinds if name in named), default)
    return document, named.get("query") or default


def read_encoder_config(model: str, folder: Path) -> EncoderConfig:
    """Read an encoder's folder.

    Raises:
        NotReadable: it has modules, a pooling or a tokenizer that amem does not compute itself,
            or its files contradict one another.
    """
    kinds = _modules(folder)
    transformer = folder / kinds.pop("Transformer")
    pooling = _pooling(folder / kinds.pop("Pooling")) if "Pooling" in kinds else "mean"
    kinds.pop("Normalize", None)
    if kinds:
        raise NotReadable(f"it has the module {', '.join(sorted(kinds))}")
    config = _json(transformer / "config.json")
    if not config or "auto_map" in config:
        raise NotReadable("its config.json names code of its own, or is missing")
    reading = _json(transformer / "sentence_bert_config.json")
    naming = _json(folder / "config_sentence_transformers.json")
    prompts = naming.get("prompts") or {}
    document, query = chosen_prompts(model, prompts, naming.get("default_prompt_name") or "")
    settings = _json(transformer / "tokenizer_config.json")
    _check_tokenizer(transformer, settings)
    limits = (reading.get("max_seq_length"), settings.get("model_max_length"))
    own = limits[0] or min(limits[1] or MOST_TOKENS, _positions(config))
    pad = config.get("pad_token_id")
    facts = {
        "pooling": pooling,
        "max_tokens": int(min(own, _positions(config), MOST_TOKENS)),
        "pad_id": pad if isinstance(pad, int) else 0,
        "lowercase": reading.get("do_lower_case") is True,
        "document_prompt": document,
        "query_prompt": query,
    }
    return EncoderConfig(transformer, config, facts)


def first_position(config: Mapping[str, Any]) -> int:
    """The row of the first token in a model's table of positions."""
    # RoBERTa and its descendants count on from the row of the token that pads.
    is_roberta = "roberta" in str(config.get("model_type"))
    return int(config.get("pad_token_id", 1)) + 1 if is_roberta else 0


def _positions(config: Mapping[str, Any]) -> int:
    known = config.get("max_position_embeddings")
    return known - first_position(config) if isinstance(known, int) else MOST_TOKENS


def _modules(folder: Path) -> dict[str, str]:
    """Paths of the modules by their kind; each kind once, in the one order that is computed."""
    path = folder / "modules.json"
    if not path.exists():
        return {"Transformer": ""}
    listed = json.loads(path.read_text(encoding="utf-8"))
    names = [str(one.get("type")).rpartition(".")[2] for one in listed]
    if names[:2] != ["Transformer", "Pooling"] or len(set(names)) < len(names):
        raise NotReadable(f"its modules are {', '.join(names) or 'not listed'}")
    return {name: str(one.get("path", "")) for name, one in zip(names, listed, strict=True)}


def _pooling(folder: Path) -> str:
    config = _json(folder / "config.json")
    if config.get("include_prompt") is False:
        raise NotReadable("its pooling leaves the prompt out")
    # Version 6 of the library names the mode instead of marking one of many.
    named = config.get("pooling_mode")
    marked = [name for name in config if name.startswith("pooling_mode_") and config[name] is True]
    modes = [named] if isinstance(named, str) else [_POOLINGS.get(name, name) for name in marked]
    if modes not in (["mean"], ["cls"]):
        raise NotReadable(f"its pooling is {modes}")
    return str(modes[0])


def _check_tokenizer(folder: Path, settings: Mapping[str, Any]) -> None:
    normalizer = _json(folder / "tokenizer.json").get("normalizer") or {}
    if not (folder / "tokenizer.json").exists():
        raise NotReadable("it has no tokenizer.json")
    if normalizer.get("type") == "BertNormalizer":
        for setting, name in _NORMALIZING.items():
            if setting in settings and settings[setting] != normalizer.get(name):
                raise NotReadable(f"its tokenizer's files disagree on {setting}")


def _json(path: Path) -> dict[str, Any]:
    """A file's object; empty if there is none."""
    try:
        read = json.loads(path.read_text(encoding="utf-8"))
    except FileNotFoundError:
        return {}
    if not isinstance(read, dict):
        raise NotReadable(f"{path.name} holds no object")
    return read
