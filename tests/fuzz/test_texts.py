"""Whatever stands in a note: its readers never raise, keep to their promises, and take their time
in proportion to its length."""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping
from typing import Any

import pytest
import yaml
from hypothesis import example, given, settings
from hypothesis import strategies as st

from amem_cli.duplicates.compare import same_name, same_series, text_key
from amem_cli.duplicates.merge_text import text_beyond
from amem_cli.errors import HeaderRefused
from amem_cli.exchange.source import SourceNote, texts_in
from amem_cli.exchange.source_markdown import converted_page, permalink, relations_in, zk_tags
from amem_cli.index.text import indexable_text, search_terms
from amem_cli.language.safe_text import printable, redacted
from amem_cli.language.words import sentences, words
from amem_cli.markdown.links import (
    MAX_TAG_LENGTH,
    find_hashtags,
    find_links,
    is_valid_tag,
    leading_tag,
    merge_tags,
    normalise_tag,
    parse_link,
    redirected,
    retarget_links,
    tag_key,
    visible_tag,
)
from amem_cli.markdown.plain_text import plain_text
from amem_cli.markdown.regions import blank_out, find_regions
from amem_cli.models.prompt_text import quote_as_data
from amem_cli.notes.creation_date import date_in_name, date_in_text
from amem_cli.notes.front_matter import Value, find_fences, read_header, read_tree
from amem_cli.notes.front_matter_edit import compose_note, edit_header
from amem_cli.notes.names import file_name, title_of
from amem_cli.notes.note import OWNED_FIELDS, body_bytes, parse_note
from amem_cli.notes.passages import split_passages
from amem_cli.search.snippet import snippet
from tests.fuzz import strategies
from tests.fuzz.growth import grows_in_proportion
from tests.hypothesis_profiles import examples

Changes = Mapping[str, "str | list[str]"]
PAGE = SourceNote(key="p", place="p", raw=b"")


def an_edit_says_what_was_meant(raw: bytes, changes: Changes) -> None:
    """`loaded == before ∪ changes`, and every byte outside the changed properties is the same."""
    try:
        edited = edit_header(raw, changes)
    except HeaderRefused as refused:
        assert refused.line > 0
        assert refused.hint
        return
    assert parse_note("n.md", edited).refused is None
    assert body_bytes(edited) == body_bytes(raw)
    assert edit_header(edited, changes) is edited
    before, after = header_text(raw), header_text(edited)
    assert loaded(after) == {**loaded(before), **changes}
    says_strings(after, changes)
    position = 0
    for kept in untouched(raw, changes):
        place = edited.find(kept, position)
        assert place >= 0, kept
        position = place + len(kept)


def header_text(raw: bytes) -> str:
    fences = find_fences(raw)
    return raw[fences.text_start : fences.text_end].decode() if fences else ""


def loaded(header: str) -> dict[str, Any]:
    # Every scalar as its text: what the values mean is compared by `says_strings`. The loader in
    # Python refuses tabs within a text, which YAML allows.
    return yaml.load(header, Loader=yaml.CBaseLoader) or {}


def says_strings(header: str, changes: Changes) -> None:
    try:
        loaded = yaml.load(header, Loader=yaml.CSafeLoader)
    except (yaml.YAMLError, ValueError):
        return  # a value of somebody else's, such as the date 2024-13-45
    assert {name: loaded[name] for name in changes} == dict(changes)


def untouched(raw: bytes, changes: Changes) -> list[bytes]:
    """The bytes of every other property with the lines below it, in order."""
    fences = find_fences(raw)
    if fences is None:
        return [body_bytes(raw)]
    header = read_header(raw, fences)
    starts = [header.text.rfind("\n", 0, entry.start) + 1 for entry in header.entries]
    ends = [*starts[1:], len(header.text)][: len(starts)]
    kept = [
        header.text[start:end].encode()
        for entry, start, end in zip(header.entries, starts, ends, strict=True)
        if entry.name not in changes
    ]
    return [raw[: fences.text_start], *kept, raw[fences.text_end :]]


@examples(3)
@given(strategies.note_bytes)
@example(b"---\na: " + b"[" * 40_000 + b"\n---\n")
@example(b"---\n" + b"- " * 30_000 + b"\n---\n")
@example(b"---\na: &a [x, x]\nb: &b [*a, *a]\nc: {<<: *b}\n---\n")
@example(b"---\n" + b"".join(b"k%d: v\n" % number for number in range(12_000)) + b"---\n")
@example(b"---\nt: !!python/object/apply:os.system [true]\n---\n")
@example(b"---\nn: " + b"9" * 60_000 + b"\n---\n")
def test_any_bytes_are_a_note(raw: bytes) -> None:
    """Reading never raises; an edit keeps the body and every property that was not asked for."""
    note = parse_note("folder/n.md", raw)
    assert note.title
    assert note.path == "folder/n.md"
    assert raw.endswith(body_bytes(raw))
    assert (note.refused is None) or (note.refused.line > 0 and note.refused.hint)
    an_edit_says_what_was_meant(raw, {"context": "new: [x]", "tags": ["a", "b c"]})


@examples(2)
@given(strategies.note_bytes, strategies.property_changes)
def test_an_edit_says_what_was_meant(raw: bytes, changes: Changes) -> None:
    an_edit_says_what_was_meant(raw, changes)


@given(strategies.property_changes, strategies.valid_text)
def test_a_new_note_says_what_was_meant(header: Changes, body: str) -> None:
    """A composed note is read as what it was composed of."""
    raw = compose_note(header, body)
    note = parse_note("n.md", raw)
    assert note.refused is None
    assert note.body == body
    assert raw.endswith(f"---\n{body}".encode())
    assert edit_header(raw, header) is raw
    assert loaded(header_text(raw)) == dict(header)
    assert set(header) <= set(OWNED_FIELDS)


@examples(3)
@given(strategies.valid_text)
@example("[" * 40_000)
@example("{a: " * 20_000)
def test_a_yaml_tree_lies_in_its_text(text: str) -> None:
    """Reading ends with values that lie in the text, or with a refusal."""
    try:
        root = read_tree(text)
    except HeaderRefused as refused:
        assert 2 <= refused.line <= text.count("\n") + 3
        return
    if root is not None:
        values_lie_within(root, 0, len(text))


def values_lie_within(value: Value, start: int, end: int) -> None:
    assert start <= value.start <= value.end <= end
    for part in value.parts:
        values_lie_within(part, value.start, end)


@examples(5)
@given(strategies.marked_text)
def test_markdown_is_read(text: str) -> None:
    """Links, regions and hashtags lie in the text; none of their readers raises."""
    spans_are_apart(
        [(region.start, region.end) for region in find_regions(text)], len(text), disjoint=True
    )
    for region in find_regions(text):
        assert region.start <= region.inner_start <= region.inner_end <= region.end
    visible = blank_out(text, [(region.start, region.end) for region in find_regions(text)])
    assert len(visible) == len(text)
    assert visible.count("\n") == text.count("\n")
    links = find_links(text)
    spans_are_apart([(link.start, link.end) for link in links], len(text), disjoint=False)
    for link in links:
        assert link.target or link.fragment
        assert text[link.start] == ("!" if link.embed else "[")
        written = text[link.start : link.end]
        assert link.display in written or "\\|" in written
        is_definition = link.style == "markdown" and "]:" in written
        assert is_definition or written.endswith("]]" if link.style == "wikilink" else ")")
        if link.style == "wikilink":
            assert link.target in written
            assert "\n" not in link.target + link.fragment and "[[" not in link.target
    wikilinks = [(link.start, link.end) for link in links if link.style == "wikilink"]
    spans_are_apart(wikilinks, len(text), disjoint=True)
    parse_link(text)
    for tag in find_hashtags(text):
        assert is_valid_tag(tag)
        assert f"#{tag}" in text
    plain = plain_text(text)
    assert len(plain) <= len(text)
    assert "\n\n\n" not in plain
    assert plain == plain.strip("\n")


def spans_are_apart(spans: list[tuple[int, int]], length: int, *, disjoint: bool) -> None:
    assert spans == sorted(spans)
    position = 0
    for start, end in spans:
        assert (position if disjoint else 0) <= start < end <= length
        position = end


@examples(3)
@given(strategies.marked_text)
def test_words_are_read(text: str) -> None:
    """Words, terms and sentences are never blank; a sentence is part of the text."""
    assert all(word.strip() for word in words(text))
    assert all(term.strip() for term in search_terms(text))
    indexable_text(text)
    collapsed = " ".join(text.split())
    assert len(set(search_terms(text))) == len(search_terms(text))
    for sentence in sentences(text):
        assert sentence and sentence == sentence.strip()
        assert " ".join(sentence.split()) in collapsed


@examples(3)
@given(st.one_of(strategies.marked_text, st.text(max_size=90)))
def test_tags_are_normalised(text: str) -> None:
    """What is made of a text is a tag, or nothing; made again it stays as it is."""
    tag = normalise_tag(text)
    if tag is not None:
        assert is_valid_tag(tag)
        assert len(tag) <= MAX_TAG_LENGTH
        assert normalise_tag(tag) == tag
        assert (
            tag_key(tag) == tag_key(f"#{tag.upper()}") or tag.upper().casefold() != tag.casefold()
        )
        assert merge_tags([tag], [tag]) == [tag]
        assert find_hashtags(f"a #{tag} b") == [tag]
    leading = leading_tag(text)
    assert leading is None or is_valid_tag(visible_tag(leading))
    assert merge_tags([text], [])[0] == text


@examples(3)
@given(strategies.marked_text, st.integers(1, 60), st.integers(1, 90))
def test_passages_cover_the_text(text: str, target: int, maximum: int) -> None:
    """Passages hold every character that is no blank, once and in order."""
    position = 0
    for passage in split_passages(text, target_chars=target, max_chars=maximum):
        assert passage.strip() == passage != ""
        assert len(passage) <= max(4, maximum)
        start = text.index(passage, position)
        assert not text[position:start].strip()
        position = start + len(passage)
    assert not text[position:].strip()


@given(st.lists(strategies.marked_text, max_size=4), strategies.marked_text, st.integers(10, 60))
def test_a_snippet_is_one_short_line(passages: list[str], query: str, limit: int) -> None:
    """At most `limit` characters on one line."""
    found = snippet(passages, search_terms(query), limit)
    assert len(found) <= limit
    assert len(found.splitlines()) <= 1


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


def test_a_commonplace_expression_for_wikilinks_is_found_out() -> None:
    expression = re.compile(r"\[\[(.+?)\]\]")

    with pytest.raises(AssertionError, match="grows faster than the text"):
        grows_in_proportion(expression.findall, lambda size: "[[a" * (size // 3), 50_000)
