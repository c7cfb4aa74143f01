"""What a vault knows that helps somebody who is writing a note, quick enough for each key."""

from __future__ import annotations

import os
import threading
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

from amem_cli.errors import AmemError
from amem_cli.markdown.outline import Heading, TypedLink, all_links, headings, paragraph_at
from amem_cli.markdown.plain_text import plain_text
from amem_cli.notes.names import resolve
from amem_cli.notes.note import body_place
from amem_cli.search.completion import NameList, NoteName, matching_tags
from amem_cli.search.search import supersessions

if TYPE_CHECKING:
    from amem_cli.index.records import NoteSummary
    from amem_cli.journal.events import LinkRecord
    from amem_cli.markdown.links import WikiLink
    from amem_cli.models.ports import Encoder
    from amem_cli.search.read import NoteView
    from amem_cli.search.search import Hit, Supersession
    from amem_cli.workspace.workspace import Workspace

OFFERED = 30
# Notes whose meaning is compared with the paragraph; those further away are all alike.
_NEAR = 200
_SHORTEST_PARAGRAPH = 12
# With fewer names that match, notes are offered whose meaning matches what was typed.
_FEW_NAMES = 8
_SHORTEST_QUERY = 4
# What the paragraph counts beside the meaning of what was typed.
_PARAGRAPH_SHARE = 0.3
_REMEMBERED = 64
_FIRST_LINES = 600
_SENTENCE_CHARACTERS = 240
# Embedding more notes than these is left to `amem index` and the watcher.
_MOST_TO_EMBED = 2_000


@dataclass(frozen=True, slots=True)
class NoteCard:
    """What to show of a note that a link leads to.

    Attributes:
        beginning: its first lines.
        record: why amem, or a command, made the link from the note where it stands.
    """

    view: NoteView
    beginning: str
    record: LinkRecord | None


@dataclass(frozen=True, slots=True)
class Backlink:
    """A link to a note, in the text of the note at `source`, with the sentence that it is in."""

    source: str
    text: str
    link: WikiLink
    sentence: str


@dataclass
class WritingHelp:
    """Answers for somebody who writes in a vault, for any number of threads.

    Names, tags and distances are remembered from one key to the next. Until the encoder is loaded,
    words and names alone decide.
    """

    workspace: Workspace
    _lock: threading.Lock = field(default_factory=threading.Lock, init=False, repr=False)
    _version: object = field(default=None, init=False, repr=False)
    _names: NameList | None = field(default=None, init=False, repr=False)
    _tags: Mapping[str, int] = field(default_factory=dict, init=False, repr=False)
    _near: dict[str, Mapping[str, float]] = field(default_factory=dict, init=False, repr=False)
    _has_encoder: threading.Event = field(default_factory=threading.Event, init=False, repr=False)

    def load_encoder(self) -> None:
        """Load the encoder; from then on meaning counts.

        Raises:
            EncoderError, SettingsError: it cannot be had; words and names go on.
        """
        self.workspace.encoder.encode(["a first text"], query=True)
        self._has_encoder.set()

    def _encoder(self) -> Encoder | None:
        """The encoder once it is loaded, and if the index has no vectors of another one."""
        if not self._has_encoder.is_set():
            return None
        encoder = self.workspace.encoder
        fits = self.workspace.index.vectors.encoder() in (None, encoder.model_id)
        return encoder if fits else None

    def catch_up(self) -> bool:
        """Take in what changed in the vault since the last time; True if there was anything.

        Raises:
            AmemError: the vault cannot be read.
        """
        self.workspace.synchronise()
        if self._has_encoder.is_set():
            encoder = self.workspace.encoder
            count = self.workspace.index.vectors.count_to_embed(encoder.model_id)
            if 0 < count <= _MOST_TO_EMBED:
                self.workspace.embed_missing()
        return self._renew()

    def _renew(self) -> bool:
        version = self._index_version()
        if version == self._version:
            return False
        index = self.workspace.index
        newer = {path: each.newer for path, each in supersessions(index).items()}
        names, tags = NameList(index.notes.summaries(), newer), index.notes.tag_counts()
        with self._lock:
            self._version, self._names, self._tags = version, names, tags
            self._near.clear()
        return True

    def _index_version(self) -> object:
        """Differs if the index may have changed."""
        found = []
        for ending in ("", "-wal"):
            try:
                status = os.stat(f"{self.workspace.index_file}{ending}")  # noqa: PTH116
                found.append((status.st_mtime_ns, status.st_size))
            except OSError:
                found.append((0, 0))
        return tuple(found)

    def _all_names(self) -> NameList:
        if self._names is None:
            self._renew()
        assert self._names is not None
        return self._names

    def links(self, text: str, typed: TypedLink, path: str = "") -> list[NoteName]:
        """Notes that a link may be meant for, the likeliest first: by name, then by meaning.

        Args:
            text: of the note at `path`, as it is in the editor.
        """
        names = self._all_names()
        paragraph = paragraph_at(text, typed.start, typed.end, body_place(text))
        near = self._nearness(paragraph) if len(paragraph) >= _SHORTEST_PARAGRAPH else {}
        found = names.matching(typed.target, near, OFFERED, besides=path)
        if len(found) < _FEW_NAMES and len(typed.target.strip()) >= _SHORTEST_QUERY:
            # What was typed says it, the paragraph says in which sense.
            meant = {
                note: nearness + _PARAGRAPH_SHARE * near.get(note, 0.0)
                for note, nearness in self._nearness(typed.target.strip()).items()
            }
            known = {path, *(each.path for each in found)}
            found += names.by_meaning(meant, _FEW_NAMES, besides=known)
        return found

    def _nearness(self, paragraph: str) -> Mapping[str, float]:
        """How near the notes' meaning is to a paragraph, by path; empty without an encoder."""
        encoder = self._encoder()
        if encoder is None:
            return {}
        with self._lock:
            known = self._near.get(paragraph)
        if known is not None:
            return known
        try:
            vector = encoder.encode([paragraph], query=True)[0]
            near = self.workspace.index.vectors.scores(vector, _NEAR)
        except AmemError:
            return {}
        with self._lock:
            while len(self._near) >= _REMEMBERED:
                del self._near[next(iter(self._near))]
            self._near[paragraph] = near
        return near

    def tags(self, typed: str) -> list[tuple[str, int]]:
        """The vault's tags for what was typed, with the number of their notes."""
        self._all_names()
        return matching_tags(self._tags, typed, OFFERED)

    def headings(self, path: str, text: str | None = None) -> list[Heading]:
        """The headings of a note; `text` is that of the editor, if it is open there."""
        text = self.text(path) if text is None else text
        return headings(text, body_place(text))

    def text(self, path: str) -> str:
        """The text of a note's file, header included; what is not UTF-8 is replaced.

        Raises:
            NotFoundError, SettingsError: it cannot be read.
        """
        return self.workspace.vault.read(path).raw.decode("utf-8", "replace")

    def target(self, link: WikiLink, source: str) -> str | None:
        """The path of the note that a link of the note at `source` leads to, or None."""
        if not link.target:
            return source
        return resolve(link.target, source, self.workspace.index.names)

    def card(self, path: str, source: str = "") -> NoteCard | None:
        """What to show of a note at a link to it from another; None if it is gone."""
        summary = self.workspace.index.notes.summary(path)
        if summary is None:
            return None
        view = self.workspace.show(summary, counts=False)
        beginning = _beginning(view.note.body)
        near = (link for link in view.links if link.path == source and link.record)
        # The link where it stands before the one of the other note.
        links = sorted(near, key=lambda link: link.outgoing)
        return NoteCard(view, beginning, links[0].record if links else None)

    def beginning(self, path: str) -> tuple[NoteSummary, str] | None:
        """A note and its first lines; None if it is gone."""
        summary = self.workspace.index.notes.summary(path)
        if summary is None:
            return None
        text = self.text(path)
        return summary, _beginning(text[body_place(text) :])

    def supersession(self, path: str) -> Supersession | None:
        """Which notes supersede or contradict a note; None if none does."""
        return supersessions(self.workspace.index, [path]).get(path)

    def backlinks(self, path: str, open_texts: Mapping[str, str]) -> Iterator[Backlink]:
        """Links to a note in other notes, by path; each with its sentence.

        Args:
            open_texts: texts of notes as they are in the editor, by path.
        """
        linking = {source for source, _ in self.workspace.index.links.incoming(path)}
        for source in sorted(linking | ({*open_texts} - {path})):
            try:
                text = open_texts[source] if source in open_texts else self.text(source)
            except AmemError:
                continue
            for link in all_links(text, body_place(text)):
                if link.target and self.target(link, source) == path:
                    yield Backlink(source, text, link, sentence_of(text, link.start, link.end))

    def search(self, query: str, limit: int = OFFERED) -> list[Hit]:
        """Notes for a query, by meaning and by words, the best first."""
        from amem_cli.search.search import search

        encoder = self._encoder()
        return search(
            self.workspace.index,
            query,
            encoder=encoder,
            mode="keyword" if encoder is None else "hybrid",
            limit=limit,
            neighbors=False,
        )


def _beginning(body: str) -> str:
    """The first lines of a text, in whole lines."""
    text = body.strip()
    if len(text) <= _FIRST_LINES:
        return text
    cut = text[:_FIRST_LINES]
    line = cut.rfind("\n")
    return (cut[:line] if line > _FIRST_LINES // 2 else cut).rstrip() + "\n…"


def sentence_of(text: str, start: int, end: int) -> str:
    """The sentence of a text that a stretch lies in, as plain text on one line."""
    from amem_cli.language.words import sentences

    line_start, line_end = text.rfind("\n", 0, start) + 1, text.find("\n", end)
    line = text[line_start : line_end if line_end >= 0 else len(text)]
    held = text[start:end]
    found = next((each for each in sentences(line) if held in each), line)
    plain = " ".join(plain_text(found).split())
    return plain if len(plain) <= _SENTENCE_CHARACTERS else f"{plain[:_SENTENCE_CHARACTERS]}…"
