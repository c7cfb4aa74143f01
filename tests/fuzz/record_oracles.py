"""What must hold for any answer of a model, journal record and line of an import."""

from __future__ import annotations

import json
import math
import re
from collections.abc import Iterable
from typing import Any

import pytest

from amem_cli.analyzer.link_evidence import LinkCandidate
from amem_cli.exchange.source_records import read_line
from amem_cli.journal.events import from_record, to_record
from amem_cli.journal.provenance import provenance
from amem_cli.markdown.links import is_valid_tag, parse_link
from amem_cli.memory.describe import MetadataQuestion, check_metadata, metadata_request
from amem_cli.memory.link import LinkQuestion, check_links
from amem_cli.models.ports import AnswerRejected
from amem_cli.models.prompt_text import clean_line, quote_as_data
from amem_cli.models.reply_schema import (
    read_answer,
    shape_of,
    to_gbnf,
    to_json_schema,
)
from amem_cli.notes.note import METADATA_FIELDS, RELATIONS, Note

NOTE = Note(
    path="notes/replica.md",
    id="20241111091724",
    title="It was our own replica",
    body="Oksana's notebook held a transaction open since Friday, so VACUUM left the dead tuples.",
    keywords=("dead tuples", "open transaction"),
    tags=("postgres/vacuum",),
    context="An open analyst transaction kept VACUUM from cleaning the jobs table.",
)
OLDER = (
    LinkCandidate(
        path="notes/Monday webhooks.md",
        title="Monday webhooks",
        text="Kestrel Outdoor gets its webhooks late every Monday. My guess is their firewall.",
        similarity=0.6,
        rank=0,
        keywords=("webhook delay", "firewall throttling"),
        tags=("webhooks",),
        context="Kestrel Outdoor's webhooks come late on Mondays; the guess is their firewall.",
    ),
    LinkCandidate(
        path="notes/Lunch.md",
        title="Lunch with Oksana",
        text="She never closes her notebook over the weekend.",
        similarity=0.5,
        rank=1,
    ),
)
jsonschema = pytest.importorskip("jsonschema")
_TAGS = ("postgres", "replica", "people/oksana")
_QUESTION = MetadataQuestion(NOTE.title, NOTE.body, METADATA_FIELDS, _TAGS)
_HARMFUL = ("\n", "\r", "\0", "\x1b", "\u202e", "\u200b", "[[", "]]", "{{", "---", "-->", "://")
# So a tag, a comment or a declaration begins in HTML.
_MARKUP_OPENS = re.compile("<[A-Za-z/!?]")


def text_for_a_model_is_bounded(text: str, limit: int) -> None:
    """Neither a fence nor a control token of a chat format gets through; lines are clean."""
    shown = quote_as_data(text, limit)
    assert len(shown.encode()) <= limit
    assert '"""' not in shown
    assert "<|" not in shown
    line = clean_line(text, limit)
    if line is not None:
        is_harmless(line, limit)


def is_harmless(line: str, longest: int) -> None:
    """One line without controls, invisible characters and markup."""
    assert 0 < len(line) <= longest
    assert line == line.strip()
    assert line.isprintable()
    assert not any(mark in line for mark in _HARMFUL)
    assert not line.startswith(">")
    assert not _MARKUP_OPENS.search(line)


def any_json_is_a_schema_or_none(schema: Any) -> None:
    """A schema is of the subset and can be written in both forms, or ValueError says why not."""
    try:
        shape_of(schema)
    except ValueError:
        return
    assert to_gbnf(schema).startswith("root ::= ")
    jsonschema.Draft202012Validator.check_schema(to_json_schema(schema))


def an_answer_is_of_the_shape_or_rejected(text: str) -> None:
    """What is read has exactly the asked shape; all else is rejected without being quoted."""
    request = metadata_request(_QUESTION, deadline=1.0)
    try:
        answer = read_answer(text, request.schema)
    except AnswerRejected as rejected:
        assert str(rejected).isprintable()
        return
    jsonschema.validate(answer, to_json_schema(request.schema))
    a_construction_keeps_its_promises(answer)


def a_construction_keeps_its_promises(answer: Any) -> None:
    """Any object of JSON gives bounded, harmless metadata."""
    if not isinstance(answer, dict):
        return
    checked = check_metadata(answer, _QUESTION, similarity=None)
    metadata = checked.metadata
    assert len(metadata.keywords) <= 7
    for keyword in metadata.keywords:
        is_harmless(keyword, 48)
    _are_tags(metadata.tags, 4)
    if metadata.context:
        is_harmless(metadata.context, 200)
    empty = {name for name in METADATA_FIELDS if not getattr(metadata, name)}
    assert set(checked.unfilled) == empty
    _are_lines(checked.problems)


def a_linking_keeps_its_promises(answer: Any) -> None:
    """Any object of JSON gives links to shown notes only, and changes of linked notes only."""
    if not isinstance(answer, dict):
        return
    question = LinkQuestion(OLDER, max_links=1)
    plan = check_links(answer, NOTE, question, similarity=None, vocabulary=_TAGS)
    assert len(plan.links) <= 1
    for link in plan.links:
        assert link.target in {one.path for one in OLDER}
        assert link.relation in RELATIONS
        assert math.isfinite(link.strength)
        assert 0 < link.strength <= 1
        if link.reason:
            is_harmless(link.reason, 160)
    assert len(plan.evolutions) <= 3
    for change in plan.evolutions:
        assert change.path in {link.target for link in plan.links}
        older = next(one for one in OLDER if one.path == change.path)
        if change.context is not None:
            is_harmless(change.context, 200)
        for keyword in change.keywords_add:
            is_harmless(keyword, 48)
        _are_tags(change.tags_add, 3)
        assert len(change.keywords_add) <= 3
        assert set(change.keywords_drop) <= set(older.keywords)
        assert set(change.tags_drop) <= set(older.tags)
    _are_lines(plan.problems)


def _are_tags(tags: Iterable[str], most: int) -> None:
    assert len(list(tags)) <= most
    assert all(is_valid_tag(tag) for tag in tags)


def _are_lines(problems: Iterable[str]) -> None:
    for problem in problems:
        assert len(problem) <= 400
        assert problem.isprintable()


def an_event_is_read_or_refused(record: Any) -> None:
    """An event written again says what its record said, and can always be folded."""
    if not isinstance(record, dict):
        return
    try:
        event = from_record(record)
    except ValueError:
        return
    written = to_record(event)
    assert from_record(json.loads(json.dumps(written))) == from_record(written)
    assert to_record(from_record(written)) == written
    for name, value in record.items():
        if name not in {"extra"} and value not in ("", [], {}, None, 0, 0.0, False):
            assert name in written, name
    provenance([event])


def an_import_line_is_read_or_refused(line: str) -> None:
    """A line of JSON gives a new note with a text, or ValueError says why not."""
    try:
        new = read_line(line)
    except ValueError as error:
        assert str(error)
        return
    assert new.raw.decode("utf-8").strip() or new.exact
    assert new.exact or all(parse_link(link) for link in new.links)
