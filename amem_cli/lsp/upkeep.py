"""What the server remembers of the vault from one key to the next, kept in step with the folder."""

from __future__ import annotations

import os
import threading
import time
from collections.abc import Callable, Mapping
from contextlib import suppress
from functools import lru_cache
from typing import TYPE_CHECKING

from amem_cli.errors import AmemError
from amem_cli.markdown.outline import TypedLink, paragraph_at
from amem_cli.notes.note import body_place
from amem_cli.search.completion import NameList, NoteName, matching_tags
from amem_cli.search.search import supersessions

if TYPE_CHECKING:
    from amem_cli.models.ports import Encoder
    from amem_cli.workspace.workspace import Workspace

# While somebody types, the folder is read at most so often, and so small a part of the time.
_REST_SECONDS = 2.0
_REST_SHARE = 20
_OFFERED = 30
# Notes whose meaning is compared with the paragraph; those further away are all alike.
_NEAR = 200
_SHORTEST_PARAGRAPH = 12
# With fewer names that match, notes are offered whose meaning matches what was typed.
_FEW_NAMES = 8
_SHORTEST_QUERY = 4
# What the paragraph counts beside the meaning of what was typed.
_PARAGRAPH_SHARE = 0.3
_REMEMBERED = 64
# Embedding more notes than these is left to `amem index` and the watcher.
_MOST_TO_EMBED = 2_000


class Upkeep:
    """Names, tags and distances of notes, for any number of threads.

    One thread reads the folder when it is asked to, another loads the encoder; until that is there,
    words and names alone decide.
    """

    def __init__(
        self, vault: Workspace, log: Callable[[str], None], changed: Callable[[], None]
    ) -> None:
        self._vault, self._log, self._changed = vault, log, changed
        self._wanted, self._at_once = threading.Event(), threading.Event()
        self._is_ending = False
        # Set once the folder was read for the first time.
        self.has_begun = threading.Event()
        self._has_encoder = threading.Event()
        self._last_problem = ""
        self._lock = threading.Lock()
        self._version: object = None
        self._names: NameList | None = None
        self._tags: Mapping[str, int] = {}
        self._near = lru_cache(_REMEMBERED)(self._measured)

    def start(self) -> None:
        """Read the folder for the first time, and load the encoder."""
        self._wanted.set()
        for name, work in (("folder", self._keep_in_step), ("encoder", self._load_encoder)):
            threading.Thread(target=work, name=f"amem-lsp-{name}", daemon=True).start()

    def soon(self, *, at_once: bool = False) -> None:
        """Read the folder again: `at_once`, or when it has rested."""
        if at_once:
            self._at_once.set()
        self._wanted.set()

    def end(self) -> None:
        self._is_ending = True
        self.soon(at_once=True)

    def _keep_in_step(self) -> None:
        while self._wanted.wait() and not self._is_ending:
            self._wanted.clear()
            self._at_once.clear()
            began, is_changed = time.monotonic(), False
            try:
                with self._vault.call(in_step=False):
                    is_changed = self._catch_up()
                self._last_problem = ""
            except AmemError as error:
                self._tell(error)
            self.has_begun.set()
            if is_changed and not self._is_ending:
                self._changed()
            took = time.monotonic() - began
            self._at_once.wait(max(_REST_SECONDS, _REST_SHARE * took))

    def _catch_up(self) -> bool:
        """Take in what changed in the vault since the last time; True if there was anything."""
        self._vault.synchronise()
        if self._has_encoder.is_set():
            encoder = self._vault.encoder
            count = self._vault.index.vectors.count_to_embed(encoder.model_id)
            if 0 < count <= _MOST_TO_EMBED:
                self._vault.embed_missing()
        return self._renew()

    def _load_encoder(self) -> None:
        # Loading takes the processor from the first answers.
        self.has_begun.wait()
        try:
            with self._vault.call(in_step=False):
                self._vault.encoder.encode(["a first text"], query=True)
        except AmemError as error:
            self._tell(error)
        else:
            self._has_encoder.set()
            # Vectors of what was written since the last time can be made now.
            self.soon(at_once=True)

    def _tell(self, error: AmemError) -> None:
        # A vault that is away would be told of with every key.
        if error.message != self._last_problem:
            self._last_problem = error.message
            self._log(f"{error.message}. {error.hint}".strip())

    def _renew(self) -> bool:
        version = self._index_version()
        if version == self._version:
            return False
        index = self._vault.index
        newer = {path: each.newer for path, each in supersessions(index).items()}
        names, tags = NameList(index.notes.summaries(), newer), index.notes.tag_counts()
        with self._lock:
            self._version, self._names, self._tags = version, names, tags
            self._near.cache_clear()
        return True

    def _index_version(self) -> object:
        found = []
        for ending in ("", "-wal"):
            try:
                status = os.stat(f"{self._vault.index_file}{ending}")  # noqa: PTH116
                found.append((status.st_mtime_ns, status.st_size))
            except OSError:
                found.append((0, 0))
        return tuple(found)

    def _all_names(self) -> NameList:
        if self._names is None:
            self._renew()
        assert self._names is not None
        return self._names

    @property
    def encoder(self) -> Encoder | None:
        """The encoder once it is loaded, and if the index has no vectors of another one."""
        if not self._has_encoder.is_set():
            return None
        encoder = self._vault.encoder
        fits = self._vault.index.vectors.encoder() in (None, encoder.model_id)
        return encoder if fits else None

    def links(self, text: str, typed: TypedLink, path: str = "") -> list[NoteName]:
        """Notes that a link may be meant for, the likeliest first: by name, then by meaning."""
        names = self._all_names()
        paragraph = paragraph_at(text, typed.start, typed.end, body_place(text))
        near = self._nearness(paragraph) if len(paragraph) >= _SHORTEST_PARAGRAPH else {}
        found = names.matching(typed.target, near, _OFFERED, besides=path)
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
        with suppress(AmemError):
            if self.encoder is not None:
                return self._near(paragraph)
        return {}

    def _measured(self, paragraph: str) -> Mapping[str, float]:
        vector = self._vault.encoder.encode([paragraph], query=True)[0]
        return self._vault.index.vectors.scores(vector, _NEAR)

    def tags(self, typed: str) -> list[tuple[str, int]]:
        """The vault's tags for what was typed, with the number of their notes."""
        self._all_names()
        return matching_tags(self._tags, typed, _OFFERED)
