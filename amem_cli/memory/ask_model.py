"""Asks a language model once, and reads its answer strictly."""

from __future__ import annotations

from typing import Any, NamedTuple

from amem_cli.memory.outcome import ModelUse
from amem_cli.models.ports import AnswerRejected, LanguageModel, ModelRequest
from amem_cli.models.reply_schema import read_answer

# A model gets a second chance: a small one often fails by the form alone.
ATTEMPTS = 2
SHOWN_IN_PART = "the model's window held only a part of what it was to read"


class ModelReply(NamedTuple):
    """One reply of a model.

    Attributes:
        answer: of the requested schema; None if it was rejected.
        fault: why it was rejected; of a valid answer, a remark on it.
        use: what it cost.
    """

    answer: dict[str, Any] | None
    fault: str
    use: ModelUse


def ask_once(model: LanguageModel, request: ModelRequest) -> ModelReply:
    """Ask one question.

    Raises:
        ModelError: the model gave no answer.
    """
    answer = model.answer(request)
    use = ModelUse(1, answer.prompt_tokens, answer.answer_tokens, answer.seconds)
    if answer.refused:
        return ModelReply(None, "the model declined to answer", use)
    if not answer.complete:
        return ModelReply(None, "the answer was cut off", use)
    try:
        remark = SHOWN_IN_PART if answer.truncated else ""
        return ModelReply(read_answer(answer.text, request.schema), remark, use)
    except AnswerRejected as rejected:
        return ModelReply(None, f"the answer was rejected: {rejected}", use)
