"""`AgenticMemorySystem`: A-MEM's calls, each translated to a verb of the workspace."""

from __future__ import annotations

import os
import warnings
import weakref
from collections.abc import Mapping, Sequence
from contextlib import AbstractContextManager, suppress
from dataclasses import replace
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any

from amem_cli.editing.add import NewNote, text_bytes
from amem_cli.editing.edit import FieldEdits, set_category, with_category
from amem_cli.errors import AmemError, NotFoundError
from amem_cli.journal.provenance import Provenance
from amem_cli.language.dates import parse_moment
from amem_cli.language.safe_text import redacted
from amem_cli.library.notes import (
    Memories,
    MemoryNote,
    found_note,
    link_targets,
    read_memory,
    set_links,
    timestamp,
    wikilink,
)
from amem_cli.library.open import call_of, close, log, open_workspace
from amem_cli.memory.ask_model import answered
from amem_cli.memory.steps import MemorySteps
from amem_cli.notes.note import parse_note

if TYPE_CHECKING:
    from typing_extensions import Self

    from amem_cli.index.records import NoteSummary
    from amem_cli.memory.outcome import Outcome
    from amem_cli.notes.note import Metadata
    from amem_cli.search.search import Hit
    from amem_cli.workspace.workspace import Workspace


def prompt_line(memory: MemoryNote) -> str:
    """One memory on one line, its parts set apart by tabs."""
    names = ("content", "context", "keywords", "tags")
    parts = [f"memory {name}: {getattr(memory, name)}" for name in names]
    return "\t".join([f"talk start time:{memory.timestamp}", *parts]) + "\n"


_LISTS = ("keywords", "tags", "links")
_FIELDS = ("content", "keywords", "tags", "context")
# What A-MEM keeps in a memory's fields and amem in its journal and index.
_KEPT_BY_AMEM = ("retrieval_count", "last_accessed", "evolution_history")


class AgenticMemorySystem:
    """A memory for agents that lives in a vault and survives the process.

    Calls of several threads run side by side; other processes may work on the vault meanwhile.
    A call that takes an id raises NotFoundError if several notes have it.

    Args:
        model_name: the encoder, any sentence-transformers name or folder; None and the usual name
            take the vault's setting.
        llm_backend: `llama.cpp`, `openai` (any server that speaks its protocol; `vllm`, `sglang`
            and `lmstudio` mean the same), `ollama`, `command` or `none`; None takes the vault's
            setting.
        llm_model: a GGUF file, a server's model name, or a command line; None takes the vault's
            setting.
        evo_threshold: has no effect, as nothing has to be consolidated here.
        api_key: the server's key; kept only in memory. Without it the environment's
            (`AMEM_API_KEY`, `OPENAI_API_KEY`), then the keyring's.
        vault: the vault's folder; it is made (from nothing, without sample notes) if there is
            none. Without it `$AMEM_VAULT`, else `amem-vault` in the working directory.
        base_url: the server, for `openai` and `ollama`.

    Attributes:
        memories: all memories by id, to read.

    Raises:
        UsageError, SettingsError: the folder cannot be made a vault, or the settings do not fit.
        ModelError: the named language model is missing.
    """

    def __init__(
        self,
        model_name: str | None = "all-MiniLM-L6-v2",
        llm_backend: str | None = None,
        llm_model: str | None = None,
        evo_threshold: int = 100,
        api_key: str | None = None,
        *,
        vault: str | Path | None = None,
        base_url: str | None = None,
    ) -> None:
        self._workspace = open_workspace(
            vault, model_name, llm_backend, llm_model, api_key, base_url
        )
        self.model_name = model_name
        self.evo_threshold = evo_threshold
        # Also if nobody closes it: at the end of the program, or when it is collected.
        self._finalizer = weakref.finalize(self, close, self._workspace, os.getpid())
        self.memories: Mapping[str, MemoryNote] = Memories(partial(call_of, self._workspace))
        # The first call synchronises, so what is wrong with the vault is raised here.
        try:
            with self._call():
                pass
        except BaseException:
            self._finalizer()
            raise

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *raised: object) -> None:
        self.close()

    def __repr__(self) -> str:
        closed = ", closed" if self._workspace.is_closed else ""
        return f"<{type(self).__name__} vault={str(self._workspace.root)!r}{closed}>"

    def close(self) -> None:
        """Close the vault and end the model's process; a second time does nothing."""
        self._finalizer()

    def _call(self) -> AbstractContextManager[Workspace]:
        return call_of(self._workspace)

    def add_note(
        self,
        content: str,
        time: str | None = None,
        *,
        id: str | None = None,
        keywords: Sequence[str] | None = None,
        tags: Sequence[str] | None = None,
        context: str | None = None,
        links: Sequence[str] | None = None,
        timestamp: str | None = None,
        category: str | None = None,
        title: str = "",
        **kept_by_amem: object,
    ) -> str:
        """Add a memory; metadata that is not given is written, links are made, older notes evolve.

        Args:
            time, timestamp: when it was made, `YYYYMMDDHHmm` or ISO 8601.
            id: an id to keep, for example of a memory from another system.
            links: ids or names of notes to link to, as your own.
            category: kept in the note's `category` property.
            kept_by_amem: `retrieval_count`, `last_accessed` and `evolution_history` are accepted
                and left out with a warning.

        Returns:
            The new note's id.

        Raises:
            UsageError: the content is empty, a tag is not valid, or the id is taken.
            ValueError: the time cannot be read.
        """
        _check_lists(keywords=keywords, tags=tags, links=links)
        _leave_out(kept_by_amem, "add_note")
        moment = time if time is not None else timestamp
        with self._call() as workspace:
            new = NewNote(
                content=with_category(content, category) if category else content,
                title=title,
                keywords=keywords or (),
                tags=tags or (),
                context=context or "",
                links=[wikilink(workspace, each) for each in links or ()],
                created=parse_moment(moment) if moment else None,
                id=id or "",
            )
            added = workspace.add(new)
            for duplicate in added.duplicates:
                if duplicate.kind == "exact":
                    path = added.outcome.path
                    log.warning("%s holds the same text as %s", path, duplicate.note.path)
            _warn_of_failure(workspace, added.outcome)
        return added.outcome.id or added.outcome.path

    def read(self, memory_id: str) -> MemoryNote | None:
        """A memory by its id, or None.

        Raises:
            AmemError: its file cannot be read.
        """
        with self._call() as workspace:
            summary = found_note(workspace.index, memory_id)
            if summary is None:
                return None
            workspace.count_use([summary.key])
            with suppress(NotFoundError):
                return read_memory(workspace, summary)
        return None

    def update(self, memory_id: str, **fields: Any) -> bool:
        """Change a memory's content, keywords, tags, context, links or category.

        The note is linked anew if its content changed. Of its links, those in the text stay.

        Returns:
            False if there is no such memory.

        Raises:
            TypeError: a field cannot be changed.
            UsageError: a value is not valid.
            HeaderRefused, WriteConflict: the note cannot be edited, or is being edited elsewhere.
        """
        _leave_out({name: fields.pop(name) for name in _KEPT_BY_AMEM if name in fields}, "update")
        unknown = set(fields) - {*_FIELDS, "links", "category"}
        if unknown:
            raise TypeError(f"cannot update {', '.join(sorted(unknown))}")
        _check_lists(**{name: fields.get(name) for name in _LISTS})
        edits = FieldEdits(**{name: fields[name] for name in _FIELDS if name in fields})
        with self._call() as workspace:
            summary = found_note(workspace.index, memory_id)
            if summary is None:
                return False
            links = None
            if fields.get("links") is not None:
                links = link_targets(workspace, summary, fields["links"])
            try:
                changed = workspace.update(summary, edits, wait=False).changed
                if fields.get("category") is not None:
                    set_category(workspace.ports, summary, fields["category"])
                if links is not None:
                    set_links(workspace, summary, links)
            except NotFoundError:
                return False
            outcome = workspace.process_note(summary.path, new_text="content" in changed)
            _warn_of_failure(workspace, outcome)
        return True

    def delete(self, memory_id: str) -> bool:
        """Move a memory to the vault's trash; False if there is none."""
        with self._call() as workspace:
            summary = found_note(workspace.index, memory_id)
            with suppress(NotFoundError):
                if summary is not None:
                    workspace.remove(summary)
                    return True
        return False

    def search(self, query: str, k: int = 5) -> list[dict[str, Any]]:
        """The k best memories, without their neighbours; a higher score is better.

        If the encoder is not available, words alone decide, and the log says why.
        """
        with self._call() as workspace:
            return [_document(hit, memory) for hit, memory in _search(workspace, query, k)]

    def search_agentic(self, query: str, k: int = 5) -> list[dict[str, Any]]:
        """The k best memories and, beyond them, the notes linked to them (`is_neighbor`)."""
        with self._call() as workspace:
            return [
                {**_document(hit, memory), "category": memory.category}
                for hit, memory in _search(workspace, query, k, neighbors=True)
            ]

    def find_related_memories(self, query: str, k: int = 5) -> tuple[str, list[int]]:
        """The k nearest memories as text for a prompt, a line each, and their numbers from 0."""
        with self._call() as workspace:
            memories = [memory for _, memory in _search(workspace, query, k)]
        lines = [f"memory index:{at}\t{prompt_line(memory)}" for at, memory in enumerate(memories)]
        return "".join(lines), list(range(len(lines)))

    def find_related_memories_raw(self, query: str, k: int = 5) -> str:
        """Memories for a query as text, each followed by those that it links to."""
        with self._call() as workspace:
            lines = []
            for _, memory in _search(workspace, query, k):
                linked: list[NoteSummary] = []
                for key in memory.links:
                    # Several notes may have one id.
                    with suppress(NotFoundError):
                        linked += filter(None, [found_note(workspace.index, key)])
                near = [_readable(workspace, note) for note in linked[:k]]
                lines += [prompt_line(each) for each in (memory, *near) if each is not None]
        return "".join(lines)

    def analyze_content(self, content: str) -> dict[str, Any]:
        """Keywords, tags and context that amem would write for a text; nothing is written.

        Raises:
            ModelError: the language model gave no answer.
        """
        with self._call() as workspace:
            metadata = _analysed(workspace, content)
        keywords, tags = list(metadata.keywords), list(metadata.tags)
        return {"keywords": keywords, "context": metadata.context, "tags": tags}

    def process_memory(self, note: MemoryNote) -> tuple[bool, MemoryNote]:
        """Send a memory through the memory process again.

        Returns:
            Whether it got links or older notes changed, and the memory as it is now.

        Raises:
            NotFoundError: there is no such memory.
        """
        with self._call() as workspace:
            summary = found_note(workspace.index, note.id)
            if summary is None:
                raise NotFoundError(f"no memory {note.id!r}")
            outcome = workspace.process_note(summary.path, new_text=False)
            _warn_of_failure(workspace, outcome)
            evolved = bool(outcome.links or outcome.evolved)
            now = workspace.index.notes.summary(summary.path) or summary
            return evolved, read_memory(workspace, now)

    def consolidate_memories(self) -> None:
        """Bring the index in step with the folder; every call does, so this is seldom needed."""
        with self._call() as workspace:
            workspace.embed_missing()


def _analysed(workspace: Workspace, content: str) -> Metadata:
    """What the model or the analyzer makes of a text that is not a note."""
    workspace.embed_missing()
    with workspace.model_at_work():
        process = workspace.process
        settings = replace(process.settings, evolve=False)
        steps = MemorySteps(workspace.index, process.encoder, process.model, settings)
        note = parse_note("", text_bytes(content), workspace.ports.names)
        analysing = steps.analyse(note, Provenance())
        return answered(analysing, process.model).description.metadata


def _search(
    workspace: Workspace, query: str, k: int, *, neighbors: bool = False
) -> list[tuple[Hit, MemoryNote]]:
    if k < 1 or not workspace.index.notes.count():
        return []
    hits = workspace.search(query, limit=k, neighbors=neighbors).hits
    read = ((hit, _readable(workspace, hit.note)) for hit in hits)
    found = [(hit, memory) for hit, memory in read if memory is not None]
    # A search gives more than k if a note that supersedes a hit comes in beside it.
    return found if neighbors else found[:k]


def _warn_of_failure(workspace: Workspace, outcome: Outcome) -> None:
    if outcome.pending or outcome.failed:
        # A server's answer may quote the API key.
        problems = redacted("; ".join(outcome.problems), workspace.environment)
        state = "is pending" if outcome.pending else "is as it was"
        log.warning("%s %s: %s", outcome.path, state, problems)


def _check_lists(**values: object) -> None:
    for name, value in values.items():
        # A text is a sequence too, and each of its letters would become a tag.
        if isinstance(value, str):
            raise TypeError(f"{name} must be a list of texts, not one text")
        if isinstance(value, Sequence) and not all(isinstance(each, str) for each in value):
            raise TypeError(f"{name} must be a list of texts")


def _leave_out(values: Mapping[str, object], call: str) -> None:
    unknown = sorted(set(values) - set(_KEPT_BY_AMEM))
    if unknown:
        raise TypeError(f"{call}() got an unexpected keyword argument {unknown[0]!r}")
    for name in values:
        warnings.warn(f"{name} is kept by amem itself and cannot be given", stacklevel=3)


def _readable(workspace: Workspace, summary: NoteSummary | None) -> MemoryNote | None:
    """A memory as it is now; None for one that is gone or cannot be read any more."""
    with suppress(AmemError):
        return None if summary is None else read_memory(workspace, summary)
    return None


def _document(hit: Hit, memory: MemoryNote) -> dict[str, Any]:
    return {
        "id": memory.id,
        "content": memory.content,
        "context": memory.context,
        "keywords": memory.keywords,
        "tags": list(hit.note.tags),
        "timestamp": timestamp(hit.note.made),
        "score": hit.score,
        "is_neighbor": hit.via is not None,
    }
