"""The chat formats that amem knows, told apart by the control tokens of a model's vocabulary.

The template inside a model file is a program of its supplier's and is never run.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class ChatFormat:
    """What stands around the instructions and the text of a request.

    Attributes:
        markers: control tokens that a vocabulary must have for this format.
        opening: before the instructions.
        middle: between the instructions and the text.
        closing: after the text, where the answer begins.
    """

    name: str
    markers: tuple[str, ...]
    opening: str
    middle: str
    closing: str


CHAT_FORMATS = (
    ChatFormat(
        "phi-4",
        ("<|im_start|>", "<|im_sep|>", "<|im_end|>"),
        "<|im_start|>system<|im_sep|>",
        "<|im_end|><|im_start|>user<|im_sep|>",
        "<|im_end|><|im_start|>assistant<|im_sep|>",
    ),
    ChatFormat(
        "chatml",
        ("<|im_start|>", "<|im_end|>"),
        "<|im_start|>system\n",
        "<|im_end|>\n<|im_start|>user\n",
        "<|im_end|>\n<|im_start|>assistant\n",
    ),
    ChatFormat(
        "llama-3",
        ("<|start_header_id|>", "<|end_header_id|>", "<|eot_id|>"),
        "<|start_header_id|>system<|end_header_id|>\n\n",
        "<|eot_id|><|start_header_id|>user<|end_header_id|>\n\n",
        "<|eot_id|><|start_header_id|>assistant<|end_header_id|>\n\n",
    ),
    ChatFormat(
        "gemma",
        ("<start_of_turn>", "<end_of_turn>"),
        "<start_of_turn>user\n",
        "\n\n",
        "<end_of_turn>\n<start_of_turn>model\n",
    ),
    ChatFormat(
        "granite",
        ("<|start_of_role|>", "<|end_of_role|>", "<|end_of_text|>"),
        "<|start_of_role|>system<|end_of_role|>",
        "<|end_of_text|>\n<|start_of_role|>user<|end_of_role|>",
        "<|end_of_text|>\n<|start_of_role|>assistant<|end_of_role|>",
    ),
    ChatFormat(
        "phi-3",
        ("<|system|>", "<|user|>", "<|assistant|>", "<|end|>"),
        "<|system|>\n",
        "<|end|>\n<|user|>\n",
        "<|end|>\n<|assistant|>\n",
    ),
    ChatFormat("mistral", ("[INST]", "[/INST]"), "[INST] ", "\n\n", "[/INST]"),
    ChatFormat("deepseek", ("<｜User｜>", "<｜Assistant｜>"), "", "<｜User｜>", "<｜Assistant｜>"),
)
PLAIN_FORMAT = ChatFormat(
    "plain", (), "### Instruction:\n", "\n\n### Input:\n", "\n\n### Response:\n"
)


def chat_format_of(is_one_token: Callable[[str], bool]) -> ChatFormat:
    """Choose the first format whose markers are all single tokens of the vocabulary.

    Args:
        is_one_token: True where a text is one token when control tokens are read.
    """
    for candidate in CHAT_FORMATS:
        if all(is_one_token(marker) for marker in candidate.markers):
            return candidate
    return PLAIN_FORMAT
