"""Reads what basic-memory's notes say of each other."""

from __future__ import annotations

import re
from collections.abc import Iterator

from amem_cli.core.import_port import SourceRelation
from amem_cli.core.markdown_regions import blank_out, find_regions
from amem_cli.core.note import RELATIONS

_RELATION = re.compile(
    r"^[ \t]{0,40}[-*][ \t](?P<relation>[^\[\]\r\n]{1,100})"
    r"\[\[(?P<target>[^\[\]\r\n|#]{1,300})(?:[|#][^\[\]\r\n]{0,300})?\]\]"
    r"[ \t]{0,20}(?:\((?P<reason>[^\r\n]{1,500})\))?[ \t]{0,20}\r?$",
    re.MULTILINE,
)
_PERMALINK = re.compile(
    rb"^permalink[ \t]*:[ \t]*[\"']?([^\"'\r\n]{1,300}?)[\"']?[ \t]*\r?$", re.MULTILINE
)
_BEGINNING = 8 * 1024
_WORDS = {
    "supports": "supports",
    "confirms": "supports",
    "contradicts": "contradicts",
    "contradicted by": "contradicts",
    "supersedes": "supersedes",
    "replaces": "supersedes",
    "example of": "example_of",
    "instance of": "example_of",
    "part of": "part_of",
    "belongs to": "part_of",
    "causes": "causes",
    "leads to": "causes",
}


def permalink(raw: bytes) -> str:
    """The `permalink` of a note's header, or empty."""
    if not raw.startswith((b"---", b"\xef\xbb\xbf---")):
        return ""
    head, fence, _ = raw[3:_BEGINNING].partition(b"\n---")
    found = _PERMALINK.search(head) if fence else None
    return found[1].decode("utf-8", "replace").strip() if found else ""


def relations_in(text: str) -> Iterator[SourceRelation]:
    """The relations that stand in a note's lists, `- part_of [[Other note]] (why)`."""
    if "[[" not in text:
        return
    spans = [(region.start, region.end) for region in find_regions(text)]
    for match in _RELATION.finditer(blank_out(text, spans)):
        relation = match["relation"].strip(" :\t")
        if relation:
            yield SourceRelation(match["target"].strip(), relation, (match["reason"] or "").strip())


def known_relation(word: str) -> str:
    """The relation of amem that another program's word means; `related` where none does."""
    plain = " ".join(word.casefold().replace("_", " ").replace("-", " ").split())
    if plain.replace(" ", "_") in RELATIONS:
        return plain.replace(" ", "_")
    return _WORDS.get(plain, "related")
