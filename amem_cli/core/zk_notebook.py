"""Reads the forms of tags and ids that zk notebooks have beside the usual ones."""

from __future__ import annotations

import re

from amem_cli.core.markdown_regions import blank_out, find_regions
from amem_cli.core.tags import normalise_tag

_COLON_TAGS = re.compile(r"(?<![^\s]):((?:[^\s:#]{1,80}:){1,20})(?=\s|\Z)")
_WORDS_IN_HASHES = re.compile(r"(?<![^\s])#([^\s#][^#\r\n]{0,80}[^\s#\\])#(?=[\s.,;!?]|\Z)")
_FILE_ID = re.compile(r"([0-9]{8,14}|[0-9a-z]{4,12})(?=[-_ ]|\Z)")
_LETTER = re.compile(r"[^\W_]")


def zk_tags(text: str) -> tuple[str, ...]:
    """Tags written `:one:two:` and `#several words#`, outside code, as Obsidian can hold them."""
    if ":" not in text and "#" not in text:
        return ()
    spans = [(region.start, region.end) for region in find_regions(text)]
    visible = blank_out(text, spans)
    found: list[str] = []
    for match in _COLON_TAGS.finditer(visible):
        found += match[1].split(":")
    for match in _WORDS_IN_HASHES.finditer(visible):
        if " " in match[1]:
            found.append(match[1])
    tags = (normalise_tag(text) for text in found if _LETTER.search(text))
    return tuple(dict.fromkeys(tag for tag in tags if tag))


def file_id(path: str) -> str:
    """The id with which a file's name begins, as `2k8x` of `2k8x-a-thought.md`; or empty."""
    stem = path.rsplit("/", 1)[-1].rsplit(".", 1)[0]
    match = _FILE_ID.match(stem)
    return match[1] if match and any(letter.isdigit() for letter in match[1]) else ""
