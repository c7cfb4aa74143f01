"""What must hold for any input at all; shared by the property tests and the native fuzzer.

Every function takes an input, calls the program, and fails with AssertionError, or with whatever
the program should not have raised.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import yaml

from amem_cli.errors import HeaderRefused
from amem_cli.index.text import indexable_text, search_terms
from amem_cli.language.words import sentences, words
from amem_cli.markdown.links import (
    MAX_TAG_LENGTH,
    find_hashtags,
    find_links,
    format_link,
    is_valid_tag,
    leading_tag,
    merge_tags,
    normalise_tag,
    parse_link,
    tag_key,
)
from amem_cli.markdown.plain_text import plain_text
from amem_cli.markdown.regions import blank_out, find_regions
from amem_cli.notes.front_matter import Value, find_fences, read_header, read_tree
from amem_cli.notes.front_matter_edit import compose_note, edit_header
from amem_cli.notes.names import (
    MAX_NAME_BYTES,
    conflict_copy,
    file_name,
    title_of,
    with_suffix,
)
from amem_cli.notes.note import OWNED_FIELDS, body_bytes, parse_note
from amem_cli.notes.passages import split_passages
from amem_cli.search.snippet import snippet

Changes = Mapping[str, "str | list[str]"]
_FORBIDDEN_IN_NAMES = frozenset('/\\:*?"<>|#^[]`\0')


def any_bytes_are_a_note(raw: bytes) -> None:
    """Reading never raises; an edit keeps the body and every property that was not asked for."""
    note = parse_note("folder/n.md", raw)
    assert note.title
    assert note.path == "folder/n.md"
    assert raw.endswith(body_bytes(raw))
    assert (note.refused is None) or (note.refused.line > 0 and note.refused.hint)
    an_edit_says_what_was_meant(raw, {"context": "new: [x]", "tags": ["a", "b c"]})


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
    before, after = _header_text(raw), _header_text(edited)
    loaded = {**_loaded(before), **changes}
    assert _loaded(after) == loaded
    _says_strings(after, changes)
    position = 0
    for kept in _untouched(raw, changes):
        place = edited.find(kept, position)
        assert place >= 0, kept
        position = place + len(kept)


def a_new_note_says_what_was_meant(header: Changes, body: str) -> None:
    """A composed note is read as what it was composed of."""
    raw = compose_note(header, body)
    note = parse_note("n.md", raw)
    assert note.refused is None
    assert note.body == body
    assert _loaded(_header_text(raw)) == dict(header)
    assert set(header) <= set(OWNED_FIELDS)


def _header_text(raw: bytes) -> str:
    fences = find_fences(raw)
    return raw[fences.text_start : fences.text_end].decode() if fences else ""


def _loaded(header: str) -> dict[str, Any]:
    # Every scalar as its text: what the values mean is compared by `_says_strings`. The loader in
    # Python refuses tabs within a text, which YAML allows.
    return yaml.load(header, Loader=yaml.CBaseLoader) or {}


def _says_strings(header: str, changes: Changes) -> None:
    try:
        loaded = yaml.load(header, Loader=yaml.CSafeLoader)
    except (yaml.YAMLError, ValueError):
        return  # a value of somebody else's, such as the date 2024-13-45
    assert {name: loaded[name] for name in changes} == dict(changes)


def _untouched(raw: bytes, changes: Changes) -> list[bytes]:
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


def a_yaml_tree_lies_in_its_text(text: str) -> None:
    """Reading ends with a tree whose values lie in the text, or with a refusal."""
    try:
        tree = read_tree(text)
    except HeaderRefused as refused:
        assert 2 <= refused.line <= text.count("\n") + 3
        return
    if tree.root is not None:
        _values_lie_within(tree.root, 0, len(text))
    for start, end in tree.scalars:
        assert 0 <= start < end <= len(text)


def _values_lie_within(value: Value, start: int, end: int) -> None:
    assert start <= value.start <= value.end <= end
    for part in value.parts:
        _values_lie_within(part, value.start, end)


def markdown_is_read(text: str) -> None:
    """Links, regions and hashtags lie in the text; none of their readers raises."""
    _spans_are_apart(
        [(region.start, region.end) for region in find_regions(text)], len(text), disjoint=True
    )
    for region in find_regions(text):
        assert region.start <= region.inner_start <= region.inner_end <= region.end
    visible = blank_out(text, [(region.start, region.end) for region in find_regions(text)])
    assert len(visible) == len(text)
    assert visible.count("\n") == text.count("\n")
    links = find_links(text)
    _spans_are_apart([(link.start, link.end) for link in links], len(text), disjoint=False)
    for link in links:
        assert link.target or link.fragment
        assert text[link.start] == ("!" if link.embed else "[")
        assert "\n" not in link.target + link.fragment or link.style == "markdown"
    parse_link(text)
    for tag in find_hashtags(text):
        assert is_valid_tag(tag)
    plain = plain_text(text)
    assert len(plain) <= len(text)
    assert "\n\n\n" not in plain


def _spans_are_apart(spans: list[tuple[int, int]], length: int, *, disjoint: bool) -> None:
    assert spans == sorted(spans)
    position = 0
    for start, end in spans:
        assert (position if disjoint else 0) <= start < end <= length
        position = end


def words_are_read(text: str) -> None:
    """Words, terms and sentences are never blank; a sentence is part of the text."""
    assert all(word.strip() for word in words(text))
    assert all(term.strip() for term in search_terms(text))
    indexable_text(text)
    collapsed = " ".join(text.split())
    for sentence in sentences(text):
        assert sentence
        assert " ".join(sentence.split()) in collapsed


def tags_are_normalised(text: str) -> None:
    """What is made of a text is a tag, or nothing; made again it stays as it is."""
    tag = normalise_tag(text)
    if tag is not None:
        assert is_valid_tag(tag)
        assert len(tag) <= MAX_TAG_LENGTH
        assert normalise_tag(tag) == tag
        assert (
            tag_key(tag) == tag_key(f"#{tag.upper()}") or tag.upper().casefold() != tag.casefold()
        )
        assert merge_tags([tag], [text]) == [tag]
    leading = leading_tag(text)
    assert leading is None or is_valid_tag(leading)
    assert merge_tags([text], [])[0] == text


def a_file_name_is_portable(title: str) -> None:
    """Any title gives a name that every system, git and Obsidian can hold."""
    for name in (file_name(title), with_suffix(file_name(title), 2)):
        assert name.endswith(".md")
        assert len(name.encode("utf-8")) <= MAX_NAME_BYTES
        stem = name[:-3]
        assert stem == stem.strip(" .")
        assert _FORBIDDEN_IN_NAMES.isdisjoint(stem)
        assert all(letter.isprintable() for letter in stem)
        assert not name.startswith(".")
        assert not conflict_copy(name)
        assert file_name(stem) == name
        link = parse_link(format_link(stem, title))
        assert link is not None
        assert link.target == stem
    title = title_of(title)
    assert 0 < len(title) <= 60


def passages_cover(text: str, target: int, maximum: int) -> None:
    """Passages hold every character that is no blank, once and in order."""
    passages = split_passages(text, target_chars=target, max_chars=maximum)
    position = 0
    for passage in passages:
        assert passage.start >= position
        assert not text[position : passage.start].strip()
        assert passage.text == text[passage.start : passage.end]
        assert passage.text.strip() == passage.text != ""
        assert len(passage.text) <= max(4, maximum)
        position = passage.end
    assert not text[position:].strip()


def a_snippet_is_one_short_line(passages: list[str], query: str, limit: int) -> None:
    """At most `limit` characters on one line."""
    found = snippet(passages, search_terms(query), limit)
    assert len(found) <= limit
    assert len(found.splitlines()) <= 1
