"""Reads folders of markdown: plain ones, Obsidian vaults, zk notebooks, basic-memory projects."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterator
from dataclasses import replace

from amem_cli.errors import Problem
from amem_cli.exchange.source import (
    SourceNote,
    SourceRelation,
    created_in_header,
    created_in_name,
    valid_tags,
)
from amem_cli.exchange.source_folder import SourceFolder
from amem_cli.markdown.regions import blank_out, find_regions
from amem_cli.notes.note import RELATIONS

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
    texts = [text for match in _COLON_TAGS.finditer(visible) for text in match[1].split(":")]
    texts += [match[1] for match in _WORDS_IN_HASHES.finditer(visible) if " " in match[1]]
    return valid_tags(text for text in texts if _LETTER.search(text))


def file_id(path: str) -> str:
    """The id with which a file's name begins, as `2k8x` of `2k8x-a-thought.md`; or empty."""
    stem = path.rsplit("/", 1)[-1].rsplit(".", 1)[0]
    match = _FILE_ID.match(stem)
    return match[1] if match and any(letter.isdigit() for letter in match[1]) else ""


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
_SYNONYMS = {
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
    match = _PERMALINK.search(head) if fence else None
    return match[1].decode("utf-8", "replace").strip() if match else ""


def relations_in(text: str) -> Iterator[SourceRelation]:
    """The relations in a note's lists, such as `- part_of [[Other note]] (why)`."""
    if "[[" not in text:
        return
    spans = [(region.start, region.end) for region in find_regions(text)]
    for match in _RELATION.finditer(blank_out(text, spans)):
        relation = match["relation"].strip(" :\t")
        if relation:
            yield SourceRelation(match["target"].strip(), relation, (match["reason"] or "").strip())


def known_relation(word: str) -> str:
    """The relation of amem for another program's word; `related` if there is none."""
    plain = " ".join(word.casefold().replace("_", " ").replace("-", " ").split())
    if plain.replace(" ", "_") in RELATIONS:
        return plain.replace(" ", "_")
    return _SYNONYMS.get(plain, "related")


def markdown_notes(folder: SourceFolder, problems: list[Problem]) -> Iterator[SourceNote]:
    """Every note of a folder as it is."""
    for path, raw, modified in folder.files(problems):
        created = created_in_header(raw) or created_in_name(path) or modified
        note_path = f"{path.rpartition('.')[0]}.md"
        yield SourceNote(key=path, place=path, raw=raw, path=note_path, created=created)


def zk_notes(folder: SourceFolder, problems: list[Problem]) -> Iterator[SourceNote]:
    """The notes of a zk notebook, also named by the id with which their file's name begins."""
    uses = Counter(map(file_id, folder.note_paths))
    for note in markdown_notes(folder, problems):
        prefix = file_id(note.key)
        names = (prefix,) if prefix and uses[prefix] == 1 else ()
        yield replace(note, names=names, tags=zk_tags(note.raw.decode("utf-8", "replace")))


def basic_memory_notes(folder: SourceFolder, problems: list[Problem]) -> Iterator[SourceNote]:
    """The notes of a basic-memory project, also named by their permalink, with their relations."""
    for note in markdown_notes(folder, problems):
        link = permalink(note.raw)
        relations = tuple(relations_in(note.raw.decode("utf-8", "replace")))
        yield replace(note, names=(link,) if link else (), relations=relations)
