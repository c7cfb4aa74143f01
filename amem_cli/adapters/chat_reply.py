"""Reads what an OpenAI-compatible server sent back."""

from __future__ import annotations

import json
from typing import Any

from amem_cli.core.ports import ModelAnswer

COMPLETE_REASONS = frozenset({"stop", "eos_token"})
CUT_REASONS = frozenset({"length", "content_filter"})
MAX_MESSAGE_CHARACTERS = 10_000
# More than any context window; a count beyond it is made up and would not fit into a database.
MAX_TOKENS_COUNTED = 100_000_000


class ReplyUnusable(Exception):
    """A reply holds no answer."""


def answer_from(body: bytes, seconds: float) -> ModelAnswer:
    """Find the answer in a reply; where the model declines, the answer is empty and says so.

    Raises:
        ReplyUnusable: the reply is no chat completion.
    """
    completion = json_object(body)
    if completion is None:
        raise ReplyUnusable("the reply is not a JSON object")
    choices = completion.get("choices")
    if not isinstance(choices, list) or not choices or not isinstance(choices[0], dict):
        raise ReplyUnusable("the reply holds no choices")
    message, reason = choices[0].get("message"), choices[0].get("finish_reason")
    if not isinstance(message, dict):
        raise ReplyUnusable("the reply holds no message")
    refused = bool(message.get("refusal"))
    content = message.get("content")
    if refused or (content is None and reason in CUT_REASONS):
        content = ""
    if not isinstance(content, str):
        raise ReplyUnusable("the reply holds no text")
    usage = completion.get("usage")
    return ModelAnswer(
        text=bare_json(content),
        complete=reason in COMPLETE_REASONS and not refused,
        prompt_tokens=count_of(usage, "prompt_tokens"),
        answer_tokens=count_of(usage, "completion_tokens"),
        seconds=seconds,
        refused=refused,
    )


def server_message(body: bytes) -> str:
    """The reason that a server gave for a refusal, on one line, or an empty text."""
    reply = json_object(body) or {}
    error = reply.get("error", reply.get("detail", ""))
    message = error.get("message", "") if isinstance(error, dict) else error
    text = message if isinstance(message, str) else json.dumps(message)
    start = text[:MAX_MESSAGE_CHARACTERS]
    printable = "".join(letter if letter.isprintable() else " " for letter in start)
    return " ".join(printable.split())


def json_object(body: bytes) -> dict[str, Any] | None:
    """The object that a reply is, or None where it is none."""
    try:
        value = json.loads(body.decode("utf-8"))
    except (ValueError, RecursionError):
        return None
    return value if isinstance(value, dict) else None


def bare_json(content: str) -> str:
    """Take off thoughts before the answer and a code fence around it."""
    text = content.strip()
    if text.startswith("<think>"):
        text = text.partition("</think>")[2].strip()
    if text.startswith("```") and text.endswith("```") and "\n" in text:
        text = text.partition("\n")[2][:-3].strip()
    return text


def count_of(usage: object, key: str) -> int:
    """A count of tokens, 0 where there is none or it cannot be."""
    count = usage.get(key) if isinstance(usage, dict) else None
    return count if type(count) is int and 0 <= count <= MAX_TOKENS_COUNTED else 0
