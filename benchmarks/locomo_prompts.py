"""Questions as A-MEM's harness puts them, and a whole conversation as `amem ask` would show it.

The harness asks for a short phrase in words of the memories, for the shortest answer with a date
where the category is 2, and offers two answers to choose from where it is 5: the trap, and that it
is not mentioned. So do these prompts, in words of their own.
"""

from __future__ import annotations

import random
from collections.abc import Sequence
from typing import Any

from locomo_data import Conversation, Question
from locomo_models import NOT_MENTIONED

from amem_cli.ask.ask import ATTEMPTS
from amem_cli.ask.prompt import OVERHEAD_TOKENS, CheckedAnswer, answer_request, check_answer
from amem_cli.ask.sources import QuotedNote, labelled
from amem_cli.errors import ModelError
from amem_cli.index.memory_index import MemoryIndex
from amem_cli.memory.ask_model import ask_once
from amem_cli.models.ports import LanguageModel, ModelRequest
from amem_cli.models.prompt_text import estimated_tokens, quote_as_data, quote_line

_INSTRUCTIONS = "You answer questions from memories of a conversation, in JSON."
_PHRASE = (
    "Answer with a short phrase. Take the exact words of the memories wherever you can."
)  # fmt: skip
_DATE = (
    "Work out the approximate date from the time of the conversation. Give the shortest possible"
    " answer in words of the conversation, without a subject."
)
_MOST_BYTES = 100_000
_ANSWER_TOKENS = 400
_LONGEST_ANSWER = 600
_HEADING_TOKENS = 24


def paper_request(question: Question, memories: str, *, deadline: float, seed: int) -> ModelRequest:
    """A question with the memories that were found.

    Args:
        memories: as `memory_lines` gives them.
        seed: decides which of two answers is offered first.
    """
    task = _DATE if question.category in ("2", "temporal") else _PHRASE
    if question.category == "5" and question.trap:
        offered = [NOT_MENTIONED, question.trap]
        if random.Random(f"{seed}/{question.id}").random() < 0.5:
            offered.reverse()
        task = f"Choose the right one of two answers: {offered[0]} or {offered[1]}"
    text = f"Memories:\n{memories}\n\n{task}\nQuestion: {quote_line(question.text, 2_000)}"
    answer = {"type": "string", "minLength": 0, "maxLength": _LONGEST_ANSWER}
    schema = {"type": "object", "properties": {"answer": answer}}
    return ModelRequest(_INSTRUCTIONS, text, schema, _ANSWER_TOKENS, deadline)


def memory_lines(sources: Sequence[QuotedNote], index: MemoryIndex) -> str:
    """The memories with all that A-MEM shows of one: time, content, context, keywords, tags."""
    lines = []
    for source in sources:
        note = index.notes.summary(source.path)
        parts = [
            f"time: {source.created[:16]}",
            f"content: {' '.join(quote_as_data(source.text, _MOST_BYTES).split())}",
        ]
        if note is not None and (note.context or note.keywords or note.tags):
            parts += [
                f"context: {note.context}",
                f"keywords: {', '.join(note.keywords)}",
                f"tags: {', '.join(note.tags)}",
            ]
        lines.append(" | ".join(parts))
    return "\n".join(lines)


def whole_conversation(
    conversation: Conversation, paths: dict[str, str], window: int
) -> list[QuotedNote]:
    """As many of the latest turns as a model's window holds, in time order.

    Args:
        paths: of the turns' notes by id.
        window: tokens, of which the prompt and the answer take their part.
    """
    left = window - OVERHEAD_TOKENS
    chosen: list[QuotedNote] = []
    for turn in reversed(conversation.turns):
        left -= estimated_tokens(turn.text) + _HEADING_TOKENS
        if left < 0:
            break
        title = turn.title or turn.id
        created = turn.created.isoformat(timespec="seconds")
        path = paths[turn.id]
        chosen.append(QuotedNote("", path, turn.id, title, created, None, False, (turn.text,)))
    return labelled(chosen[::-1])


def read_whole(
    model: LanguageModel, question: str, sources: Sequence[QuotedNote], deadline: float
) -> tuple[CheckedAnswer | None, list[str]]:
    """Ask as `amem ask` does, with these sources, and believe the same of the answer.

    Returns:
        The answer, None where nothing could be believed, and what went wrong.
    """
    problems: list[str] = []
    fault = ""
    for _ in range(ATTEMPTS):
        request = answer_request(question, sources, deadline=deadline, remark=fault)
        try:
            said, fault, _ = ask_once(model, request)
        except ModelError as error:
            return None, [*problems, error.message]
        if said is None:
            problems.append(fault)
            continue
        checked = check_answer(said, question, sources)
        if not checked.fault:
            return checked, problems
        fault = checked.fault
        problems.append(fault)
    return None, problems


def said_of(answer: dict[str, Any] | None) -> str:
    """The text of an answer to `paper_request`."""
    return " ".join(str((answer or {}).get("answer") or "").split())
