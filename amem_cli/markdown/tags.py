"""Writes and compares tags by Obsidian's rules."""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Iterable

MAX_TAG_LENGTH = 60

_BLANKS = re.compile(r"\s+")
_HYPHENS = re.compile(r"-{2,}")


def normalise_tag(text: str) -> str | None:
    """Make a tag of a text, or None if nothing is left that Obsidian would take for a tag.

    Blanks become `-`; punctuation, quotes, brackets, control and invisible characters go; nesting
    by `/` stays, without empty parts. At most 60 characters. Case is kept.
    """
    joined = _BLANKS.sub("-", unicodedata.normalize("NFC", text))
    kept = "".join(letter for letter in joined if is_tag_character(letter))
    # Composed again: a dropped character may have parted a letter from its mark.
    parts = map(_clean_part, unicodedata.normalize("NFC", kept).split("/"))
    tag = _shorten("/".join(part for part in parts if part))
    has_word = any(letter not in "-_/" for letter in tag)
    return tag if has_word and is_valid_tag(tag) else None


def is_valid_tag(text: str) -> bool:
    """Whether Obsidian takes the text, without a leading `#`, for one whole tag."""
    return (
        bool(text)
        and all(map(is_tag_character, text))
        and "//" not in text
        and text[0] != "/"
        and text[-1] != "/"
        # Obsidian takes `#2024` for text.
        and not all(letter.isdecimal() for letter in text)
    )


def same_tag(first: str, second: str) -> bool:
    """Whether two tags are one: compared without case, without a leading `#`."""
    return tag_key(first) == tag_key(second)


def tag_key(tag: str) -> str:
    """The form in which equal tags are equal texts."""
    plain = unicodedata.normalize("NFC", tag.strip().lstrip("#"))
    return unicodedata.normalize("NFC", plain.casefold())


def merge_tags(existing: Iterable[str], added: Iterable[str]) -> list[str]:
    """The existing tags as they are written, then those added that are new, normalised."""
    merged = list(existing)
    known = {tag_key(tag) for tag in merged}
    for text in added:
        tag = normalise_tag(text)
        if tag is not None and tag_key(tag) not in known:
            known.add(tag_key(tag))
            merged.append(tag)
    return merged


def leading_tag(text: str) -> str | None:
    """The tag with which the text begins (a hashtag without its `#`), or None."""
    end = 0
    while end < len(text) and is_tag_character(text[end]):
        end += 1
    tag = text[:end].strip("/")
    return tag if is_valid_tag(tag) else None


def is_tag_character(letter: str) -> bool:
    """Letters, marks, digits, symbols and emoji of any script, and `-`, `_`, `/`."""
    if letter.isascii():
        return letter.isalnum() or letter in "-_/"
    return unicodedata.category(letter)[0] in "LMNS" or "\U0001f300" <= letter <= "\U0001faff"


def _clean_part(part: str) -> str:
    """One level of a nested tag, without a hyphen or a stray combining mark at its start."""
    part = _HYPHENS.sub("-", part).strip("-")
    start = 0
    while start < len(part) and (part[start] == "-" or _is_mark(part[start])):
        start += 1
    return part[start:]


def _shorten(tag: str) -> str:
    """Cut to the longest allowed tag, between words if that keeps at least half of it."""
    if len(tag) <= MAX_TAG_LENGTH:
        return tag
    end = MAX_TAG_LENGTH
    while end and _is_mark(tag[end]):
        end -= 1
    boundary = max(tag.rfind("-", 0, end + 1), tag.rfind("/", 0, end + 1))
    if boundary >= MAX_TAG_LENGTH // 2:
        end = boundary
    return tag[:end].rstrip("-_/")


def _is_mark(letter: str) -> bool:
    return unicodedata.category(letter).startswith("M")
