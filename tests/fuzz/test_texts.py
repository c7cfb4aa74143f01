"""Whatever stands in a note: its readers never raise, keep to their promises, and take their time
in proportion to its length."""

from __future__ import annotations

from collections.abc import Callable

import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st

from amem_cli.duplicates.compare import same_name, same_series, text_key
from amem_cli.duplicates.merge_text import text_beyond
from amem_cli.exchange.source import SourceNote, texts_in
from amem_cli.exchange.source_markdown import converted_page, permalink, relations_in, zk_tags
from amem_cli.index.text import indexable_text, search_terms
from amem_cli.language.safe_text import printable, redacted
from amem_cli.language.words import sentences, words
from amem_cli.markdown.links import (
    find_hashtags,
    find_links,
    normalise_tag,
    redirected,
    retarget_links,
)
from amem_cli.markdown.plain_text import plain_text
from amem_cli.models.prompt_text import quote_as_data
from amem_cli.notes.creation_date import date_in_name, date_in_text
from amem_cli.notes.names import file_name, title_of
from amem_cli.notes.note import parse_note
from amem_cli.notes.passages import split_passages
from amem_cli.search.snippet import snippet
from tests.fuzz import record_oracles, strategies, text_oracles
from tests.fuzz.growth import grows_in_proportion
from tests.hypothesis_profiles import examples

PAGE = SourceNote(key="p", place="p", raw=b"")


@examples(3)
@given(strategies.note_bytes)
@example(b"---\na: " + b"[" * 40_000 + b"\n---\n")
@example(b"---\n" + b"- " * 30_000 + b"\n---\n")
@example(b"---\na: &a [x, x]\nb: &b [*a, *a]\nc: {<<: *b}\n---\n")
@example(b"---\n" + b"".join(b"k%d: v\n" % number for number in range(12_000)) + b"---\n")
@example(b"---\nt: !!python/object/apply:os.system [true]\n---\n")
@example(b"---\nn: " + b"9" * 60_000 + b"\n---\n")
def test_any_bytes_are_a_note(raw: bytes) -> None:
    text_oracles.any_bytes_are_a_note(raw)


@examples(2)
@given(strategies.note_bytes, strategies.property_changes)
def test_an_edit_says_what_was_meant(raw: bytes, changes: dict[str, str | list[str]]) -> None:
    text_oracles.an_edit_says_what_was_meant(raw, changes)


@given(strategies.property_changes, strategies.valid_text)
def test_a_new_note_says_what_was_meant(header: dict[str, str | list[str]], body: str) -> None:
    text_oracles.a_new_note_says_what_was_meant(header, body)


@examples(3)
@given(strategies.valid_text)
@example("[" * 40_000)
@example("{a: " * 20_000)
def test_a_yaml_tree_lies_in_its_text(text: str) -> None:
    text_oracles.a_yaml_tree_lies_in_its_text(text)


@examples(5)
@given(strategies.marked_text)
def test_markdown_is_read(text: str) -> None:
    text_oracles.markdown_is_read(text)


@examples(3)
@given(strategies.marked_text)
def test_words_are_read(text: str) -> None:
    text_oracles.words_are_read(text)


@examples(3)
@given(st.one_of(strategies.marked_text, st.text(max_size=90)))
def test_tags_are_normalised(text: str) -> None:
    text_oracles.tags_are_normalised(text)


@examples(3)
@given(st.one_of(strategies.marked_text, st.text(max_size=300)))
def test_a_file_name_is_portable(title: str) -> None:
    text_oracles.a_file_name_is_portable(title)


@examples(3)
@given(strategies.marked_text, st.integers(1, 60), st.integers(1, 90))
def test_passages_cover_the_text(text: str, target: int, maximum: int) -> None:
    text_oracles.passages_cover(text, target, maximum)


@given(st.lists(strategies.marked_text, max_size=4), strategies.marked_text, st.integers(10, 60))
def test_a_snippet_is_one_short_line(passages: list[str], query: str, limit: int) -> None:
    text_oracles.a_snippet_is_one_short_line(passages, query, limit)


@examples(2)
@example("-->", 20)
@example("cold < warm > 3 -> £40", 40)
@given(strategies.marked_text, st.integers(20, 200))
def test_text_for_a_model_is_bounded(text: str, limit: int) -> None:
    record_oracles.text_for_a_model_is_bounded(text, limit)


# What grows too fast shows it on a short text already.
LONGEST = 25_000 if settings().max_examples < 1_000 else 50_000
FEW = settings(max_examples=min(100, settings().max_examples // 2))

READERS: dict[str, Callable[[str], object]] = {
    "links": find_links,
    "hashtags": find_hashtags,
    "plain text": plain_text,
    "passages": split_passages,
    "words": words,
    "sentences": sentences,
    "index text": indexable_text,
    "tag": normalise_tag,
    "file name": file_name,
    "title": title_of,
    "text for a model": lambda text: quote_as_data(text, 4_000),
    "snippet": lambda text: snippet([text], search_terms("a b [[")),
    "redaction": lambda text: redacted(text, {"SOME_KEY": "12345678"}),
    "terminal": printable,
    "note": lambda text: parse_note("n.md", text.encode("utf-8", "replace")),
    "Logseq page": lambda text: converted_page(PAGE, f"x:: 1\n{text}", lambda _: "Page"),
    "Logseq blocks": lambda text: converted_page(PAGE, f"- a\n{text}\nid::", lambda _: None),
    "Logseq list": lambda text: converted_page(PAGE, f"tags:: {text}", lambda _: None),
    "relations": lambda text: list(relations_in(f"[[{text}")),
    "permalink": lambda text: permalink(b"---\n" + text.encode("utf-8", "replace") + b"\n---\n"),
    "zk tags": zk_tags,
    "stored list": lambda text: texts_in(f"[{text}"),
    "other targets": lambda text: retarget_links(text, lambda _: "Other (one)"),
    "redirected links": lambda text: redirected(text, lambda _: "Other (one)"),
    "day in a name": date_in_name,
    "day in a property": date_in_text,
    "same text": lambda text: text_key(text, ("Name",)),
    "names alike": lambda text: (same_name(text, f"{text} 2"), same_series(text, f"{text} 3")),
    "merged text": lambda text: text_beyond(text, f"{text}\n\nmore"),
    "header": lambda text: parse_note("n.md", f"---\n{text}\n---\n".encode("utf-8", "replace")),
}


@pytest.mark.parametrize("reader", READERS)
@FEW
@given(strategies.repeated_text)
@pytest.mark.slow
def test_work_grows_in_proportion_to_the_text(reader: str, text: tuple[str, str]) -> None:
    unit, end = text
    grows_in_proportion(READERS[reader], lambda size: unit * (size // len(unit)) + end, LONGEST)


@pytest.mark.parametrize("reader", READERS)
@pytest.mark.slow
def test_a_long_note_of_nothing_but_marks_is_read_in_time(reader: str) -> None:
    def marks(size: int) -> str:
        each = size // len(strategies.MARKS)
        return "\n\n".join(mark * (each // len(mark)) for mark in strategies.MARKS)

    grows_in_proportion(READERS[reader], marks, 200_000)
