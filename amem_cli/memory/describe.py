"""The first step of the memory process: asks a model for a note's keywords, tags and context.

A trusted model is asked for links in the same question (`link`); here are its part about the note
alone, and the question for a model that can only sum up. Only what the note bears out is kept
(`grounding`).
"""

from __future__ import annotations

import json
import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from amem_cli.data import table
from amem_cli.language.words import is_unspaced
from amem_cli.memory.ask_model import fenced, list_schema, prompt, text_schema
from amem_cli.memory.grounding import (
    LONGEST_CONTEXT,
    NoteText,
    Similarity,
    checked_context,
    checked_keywords,
    checked_tags,
)
from amem_cli.models.ports import ModelRequest
from amem_cli.models.prompt_text import FENCE, quote_line, texts_of
from amem_cli.notes.note import Metadata

# The journal says which prompt made a value.
METADATA_PROMPT = "construct-3"
SUMMARY_PROMPT = "summary-1"
MOST_VOCABULARY = 16
TEXT_BYTES = 4_000
TITLE_BYTES = 160
ANSWER_TOKENS = 280
_TAG_BYTES = 40
_FAULT_BYTES = 600
_WORD = re.compile(r"[€£$¥]?[^\W_]+(?:[-'’.,:/–_&][^\W_]+)*[%€]?|[€£$¥%]")
# The stop behind an initial does not end what is said.
_INITIAL = re.compile(r"(?<!\w)[^\W\d_]\.")


@dataclass(frozen=True, slots=True)
class MetadataQuestion:
    """What a model is asked about one note.

    Attributes:
        missing: of `keywords`, `tags`, `context`; at least one.
        vocabulary: tags of the vault, those that may fit first.
        beside: what the model is shown of other notes.
    """

    title: str
    text: str
    missing: tuple[str, ...]
    vocabulary: tuple[str, ...] = ()
    beside: str = ""


@dataclass(frozen=True, slots=True)
class CheckedMetadata:
    """What of an answer is kept, and by each field that was asked for what was refused and why."""

    metadata: Metadata
    faults: Mapping[str, Sequence[str]]

    @property
    def unfilled(self) -> tuple[str, ...]:
        """Fields that were asked for and have no value."""
        return tuple(name for name in self.faults if not getattr(self.metadata, name))

    @property
    def problems(self) -> tuple[str, ...]:
        """What was refused and why, one line each, led by the field's name."""
        return tuple(f"{name}: {fault}" for name in self.faults for fault in self.faults[name])

    @property
    def failures(self) -> dict[str, str]:
        """Why each unfilled field is, by its name."""
        return {name: next(iter(self.faults[name]), "nothing was said") for name in self.unfilled}


def metadata_request(
    question: MetadataQuestion, deadline: float, *, refused: Sequence[str] = ()
) -> ModelRequest:
    """Ask a model that is able to judge for the missing metadata of a note."""
    lines = [
        *offered_tags(question),
        *_shown(question.title, question.text),
        *closing_lines("note", refused),
    ]
    return ModelRequest(
        instructions=f"{prompt('task', 'note')}\n{prompt('rules', 'metadata')}",
        text="\n".join(lines),
        schema={"type": "object", "properties": metadata_properties(question)},
        max_tokens=ANSWER_TOKENS,
        deadline=deadline,
    )


def summary_request(title: str, text: str, deadline: float) -> ModelRequest:
    """Ask any other model what a note is about, in words of the note, shown by examples.

    The stable part comes first: llama.cpp and servers keep what they have read of it.
    """
    words = table("prompts.toml")["summary"]

    def asked(title: str, text: str) -> str:
        return "\n".join([*_shown(title, text), words["question"]])

    context = text_schema(20, 2 * LONGEST_CONTEXT)
    shown, joining = (
        f"{title}\n{fenced(text, TEXT_BYTES)}",
        f"{words['joining']} {words['stating']}".split(),
    )
    own = _WORD.findall(shown) + _INITIAL.findall(shown)
    if not any(map(is_unspaced, own)):
        written = (*own, *(word[:1].lower() + word[1:] for word in own))
        context["x-words"] = sorted({*written, *joining, *map(str.capitalize, joining)})
    return ModelRequest(
        instructions=words["task"],
        examples=tuple(
            (
                asked(each["title"], each["text"]),
                json.dumps({"context": each["context"]}, ensure_ascii=False),
            )
            for each in words["examples"]
        ),
        text=asked(title, text),
        schema={"type": "object", "properties": {"context": context}},
        max_tokens=ANSWER_TOKENS,
        deadline=deadline,
    )


def _shown(title: str, text: str) -> list[str]:
    return [f"Title: {quote_line(title, TITLE_BYTES)}", f"Note:\n{fenced(text, TEXT_BYTES)}"]


def closing_lines(question: str, refused: Sequence[str]) -> list[str]:
    """The question of this name, or what was wrong with an earlier answer to it.

    The model's own words stand between fences too: a hostile note may have dictated them.
    """
    if not refused:
        return [prompt("question", question)]
    faults = (f"- {quote_line(line, _FAULT_BYTES)}" for line in refused)
    return [prompt("question", "again"), FENCE, *faults, FENCE]


def offered_tags(question: MetadataQuestion) -> list[str]:
    """The line that shows the tags of the vault, if tags are missing."""
    if "tags" not in question.missing or not question.vocabulary:
        return []
    tags = (quote_line(tag, _TAG_BYTES) for tag in question.vocabulary[:MOST_VOCABULARY])
    return [f"Tags: {', '.join(tags)}"]


def metadata_properties(question: MetadataQuestion) -> dict[str, Any]:
    """The part of an answer's schema for the missing metadata."""
    properties = {
        "context": text_schema(20, LONGEST_CONTEXT),
        "keywords": list_schema(text_schema(2, 40), 7, 2),
        "tags": list_schema(text_schema(2, 30), 4, 1),
    }
    return {name: each for name, each in properties.items() if name in question.missing}


def check_metadata(
    answer: Mapping[str, Any],
    question: MetadataQuestion,
    *,
    similarity: Similarity,
    trusted: bool = False,
) -> CheckedMetadata:
    """Keep of an answer, whose shape need not be right, what the note bears out.

    Args:
        similarity: cosine of two texts.
        trusted: the model is able to judge, so it may name what the note only means.
    """
    source = NoteText(question.title, question.text, beside=question.beside)
    context, labels = "", dict[str, tuple[str, ...]]()
    faults: dict[str, Sequence[str]] = dict.fromkeys(question.missing, ())
    if "context" in question.missing:
        said = answer.get("context")
        context, fault = checked_context(said, source, similarity, trusted=trusted)
        faults["context"] = [fault] if fault else []
    if "keywords" in question.missing:
        said = texts_of(answer.get("keywords"))
        labels["keywords"], faults["keywords"] = checked_keywords(said, source, similarity)
    if "tags" in question.missing:
        said = texts_of(answer.get("tags"))
        labels["tags"], faults["tags"] = checked_tags(said, question.vocabulary)
    metadata = Metadata(labels.get("keywords", ()), labels.get("tags", ()), context)
    return CheckedMetadata(metadata, faults)
