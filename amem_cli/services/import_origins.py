"""Knows which notes were imported, and from where, by the journal."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Mapping
from dataclasses import dataclass, field

from amem_cli.core.import_port import SourceNote
from amem_cli.core.index_port import MemoryIndex

ORIGIN = "origin"
_LONGEST_KEY = 300


@dataclass(frozen=True, slots=True)
class Origin:
    """Where a note came from.

    Attributes:
        source: identity of the place; `key`: what tells the note there from others.
        sha: digest of the note as the source had it.
        note: its id here, or empty; `path`: where it was put.
    """

    source: str
    key: str
    sha: str
    note: str = ""
    path: str = ""

    @property
    def record(self) -> dict[str, str]:
        """What the journal keeps of it beside the event's own note and path."""
        return {"source": self.source, "key": self.key, "sha": self.sha}


@dataclass(frozen=True, slots=True)
class Origins:
    """All origins that the journal knows."""

    by_key: dict[tuple[str, str], Origin] = field(default_factory=dict)
    by_sha: dict[str, list[Origin]] = field(default_factory=dict)


def known_origins(index: MemoryIndex) -> Origins:
    """Read them off the journal; the last import of a note counts."""
    origins = Origins()
    for event in index.events.read():
        said = event.extra.get(ORIGIN)
        if event.kind != "add" or not isinstance(said, Mapping):
            continue
        texts = [said.get(name) for name in ("source", "key", "sha")]
        if all(isinstance(text, str) and text for text in texts):
            source, key, sha = map(str, texts)
            origin = Origin(source, key, sha, event.note, event.path)
            origins.by_key[origin.source, origin.key] = origin
            origins.by_sha.setdefault(origin.sha, []).append(origin)
    return origins


def origin_of(note: SourceNote, source: str) -> Origin:
    """The origin of a note that a source gives now."""
    key = note.key
    if len(key) > _LONGEST_KEY:
        key = "sha256:" + hashlib.sha256(key.encode("utf-8", "replace")).hexdigest()
    return Origin(source, key, _sha(note))


def _sha(note: SourceNote) -> str:
    said = [
        note.title,
        note.id,
        list(note.keywords),
        list(note.tags),
        note.context,
        list(note.links),
        [[each.target, each.relation, each.reason] for each in note.relations],
        sorted((name, value) for name, value in note.properties.items()),
    ]
    fields = json.dumps(said, ensure_ascii=True, default=list).encode()
    return hashlib.sha256(note.raw + b"\0" + fields).hexdigest()
