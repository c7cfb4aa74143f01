"""Asks a language model, and reads of its answer what can be used.

Also what the questions of the memory process share: their prompts and the parts of their schemas.
"""

from __future__ import annotations

from collections.abc import Generator, Iterator, Mapping, Sequence
from functools import cache
from typing import Any, NamedTuple, TypeVar

from amem_cli.data import table
from amem_cli.errors import AmemError
from amem_cli.memory.outcome import ModelUse
from amem_cli.models.ports import AnswerRejected, LanguageModel, ModelAnswer, ModelRequest
from amem_cli.models.prompt_text import FENCE, MOST_READ, quote_as_data, quote_line
from amem_cli.models.reply_schema import read_answer, read_parts

Shown = TypeVar("Shown")
Result = TypeVar("Result")
# Steps that yield what they ask a model, are sent its answers, and return a result.
Asking = Generator[ModelRequest, ModelAnswer, Result]

MOST_REMARKS = 3
_QUOTED_BYTES = 400
SHOWN_IN_PART = "the model's window held only a part of what it was to read"


class ModelReply(NamedTuple):
    """What of a model's answer can be used, or None if nothing can; why it was rejected, or what is
    odd about it; and what it cost."""

    answer: dict[str, Any] | None
    fault: str
    use: ModelUse


def ask_once(model: LanguageModel, request: ModelRequest, *, whole: bool = False) -> ModelReply:
    """Ask one question; see `read_reply`.

    Raises:
        ModelError: the model gave no answer.
    """
    return read_reply(model.answer(request), request, whole=whole)


def asking(request: ModelRequest) -> Asking[ModelReply]:
    """Ask one question as a step of others."""
    return read_reply((yield request), request)


def answered(steps: Asking[Result], model: LanguageModel | None) -> Result:
    """Run steps to their end with a model's answers; without a model they ask nothing.

    An error instead of an answer is raised in the steps, which may go on without one.
    """
    try:
        request = next(steps)
        while True:
            assert model is not None
            try:
                given = model.answer(request)
            except AmemError as error:
                request = steps.throw(error)
            else:
                request = steps.send(given)
    except StopIteration as done:
        result: Result = done.value
        return result


def read_reply(answer: ModelAnswer, request: ModelRequest, *, whole: bool = False) -> ModelReply:
    """What can be used of an answer.

    Args:
        whole: an answer that is not of the requested schema in every part is rejected.
    """
    use = ModelUse(
        1, answer.prompt_tokens, answer.answer_tokens, answer.seconds, answer.reused_tokens
    )
    if answer.refused:
        return ModelReply(None, "the model declined to answer", use)
    if not answer.complete:
        return ModelReply(None, "the answer was cut off", use)
    remark = SHOWN_IN_PART if answer.truncated else ""
    try:
        if whole:
            return ModelReply(read_answer(answer.text, request.schema), remark, use)
        parts, faults = read_parts(answer.text, request.schema)
        remarks = filter(None, (remark, *faults[:MOST_REMARKS]))
        return ModelReply(parts, "; ".join(remarks), use)
    except AnswerRejected as rejected:
        return ModelReply(None, f"the answer was rejected: {rejected}", use)


def prompt(part: str, name: str) -> str:
    """A part of what the model is told: `task`, `rules` or `question`, by name."""
    text: str = table("prompts.toml")[part][name]
    return text


@cache
def all_instructions() -> str:
    """All tasks, rules and examples, which must not come back as an answer."""
    prompts = table("prompts.toml")
    summary = prompts["summary"]
    examples = (text for each in summary["examples"] for text in each.values())
    parts = (*prompts["task"].values(), *prompts["rules"].values(), summary["task"], *examples)
    return "\n".join(parts)


def fenced(text: str, most: int) -> str:
    """A text as data of at most so many bytes, between fences."""
    return f"{FENCE}\n{quote_as_data(text, most)}\n{FENCE}"


def quoted(text: str) -> str:
    """What a model wrote, to be shown to it again."""
    return f"“{quote_line(text, _QUOTED_BYTES)}”"


def text_schema(shortest: int, longest: int) -> dict[str, Any]:
    return {"type": "string", "minLength": shortest, "maxLength": longest}


def choice_schema(names: Sequence[str]) -> dict[str, Any]:
    return {"type": "string", "enum": list(names)}


def list_schema(item: Mapping[str, Any], most: int, fewest: int = 0) -> dict[str, Any]:
    """Some of these: of one schema, or of objects with these properties."""
    items = item if "type" in item else {"type": "object", "properties": item}
    return {"type": "array", "items": items, "minItems": fewest, "maxItems": most}


def numbered(letter: str, items: Sequence[Shown]) -> dict[str, Shown]:
    """The items by the names that the model calls them by, such as `k1`."""
    return {f"{letter}{at}": item for at, item in enumerate(items, 1)}


def named_entries(
    value: object, key: str, shown: Mapping[str, Shown], most: int = MOST_READ
) -> Iterator[tuple[Mapping[str, Any], Shown | None]]:
    """The entries of a list in an answer (of any shape), each with the shown item that it names;
    None if it names none, or one for the second time."""
    named = set()
    for entry in value[:most] if isinstance(value, list) else []:
        name = entry.get(key) if isinstance(entry, dict) else None
        is_new = isinstance(name, str) and name in shown and name not in named
        named.add(str(name))
        yield entry, shown[str(name)] if is_new else None
