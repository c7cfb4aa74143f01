"""The calls of A-MEM's own library (github.com/agiresearch/A-mem) over a vault."""

from __future__ import annotations

import logging
from collections.abc import Iterator, Sequence
from contextlib import contextmanager, suppress
from dataclasses import dataclass, replace
from pathlib import Path
from types import TracebackType
from typing import Any

from amem_cli.core.errors import AmemError, IndexFault, NotFoundError
from amem_cli.core.identity import parse_moment
from amem_cli.core.journal import to_record
from amem_cli.core.note_file import parse_note
from amem_cli.services.add import NewNote, add
from amem_cli.services.edit import FieldEdits, remove, update
from amem_cli.services.lookup import note_named
from amem_cli.services.query import linked_paths, search
from amem_cli.services.sync import embed_missing, synchronise
from amem_cli.wiring import Workspace


@dataclass(frozen=True, slots=True)
class MemoryNote:
    """One memory, as A-MEM's library names its parts.

    Attributes:
        links: ids (paths, where a note has none) of the notes it is linked with.
        timestamp: creation time as `YYYYMMDDHHmm`.
        evolution_history: journal records of the changes that later notes caused.
    """

    id: str
    content: str
    keywords: list[str]
    tags: list[str]
    context: str
    links: list[str]
    timestamp: str
    retrieval_count: int
    last_accessed: str
    evolution_history: list[dict[str, Any]]
    category: str = "Uncategorized"


class AgenticMemorySystem:
    """A memory for agents that lives in a vault and survives the process.

    Args:
        vault: the vault's folder; it is made (from nothing, without sample notes) where there is
            none.
        model_name: the encoder, any sentence-transformers name or folder.
        llm_backend: `llama.cpp`, `openai`, `ollama` or `none`; None takes the vault's setting.
        llm_model: a GGUF file or a server's model name; None takes the vault's setting.
        base_url: the server, for `openai` and `ollama`.

    Raises:
        SettingsError: the folder cannot be made a vault, or the settings do not fit.
    """

    def __init__(
        self,
        vault: str | Path = "amem-vault",
        model_name: str = "all-MiniLM-L6-v2",
        llm_backend: str | None = None,
        llm_model: str | None = None,
        base_url: str | None = None,
    ) -> None:
        root = Path(vault).expanduser().resolve()
        if not (root / ".amem").is_dir():
            from amem_cli.adapters.vault_template import adopt_vault
            from amem_cli.services.init import take_stock

            root.mkdir(parents=True, exist_ok=True)
            adopt_vault(root)
            fresh = Workspace(root)
            try:
                take_stock(fresh.ports)
            finally:
                fresh.close()
        chosen = {
            "encoder_model": model_name,
            "llm_backend": llm_backend,
            "llm_model": llm_model,
            "llm_base_url": base_url,
        }
        given = {name: value for name, value in chosen.items() if value is not None}
        self._workspace = Workspace(root, overrides=given)
        self._synchronise()

    def __enter__(self) -> AgenticMemorySystem:
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        self.close()

    def close(self) -> None:
        """Close the vault and end the model's process."""
        try:
            self._commit()
        finally:
            self._workspace.close()

    def add_note(
        self,
        content: str,
        time: str | None = None,
        *,
        keywords: Sequence[str] | None = None,
        tags: Sequence[str] | None = None,
        context: str | None = None,
        timestamp: str | None = None,
        title: str = "",
    ) -> str:
        """Add a memory; metadata that is not given is written, links are made, older notes evolve.

        Args:
            time, timestamp: when it was made, `YYYYMMDDHHmm` or ISO 8601.

        Returns:
            The new note's id.

        Raises:
            UsageError: the content is empty or a tag is impossible.
        """
        moment = timestamp or time
        new = NewNote(
            content=content,
            title=title,
            keywords=keywords or (),
            tags=tags or (),
            context=context or "",
            created=parse_moment(moment) if moment else None,
            folder=self._workspace.settings.notes_dir,
        )
        with self._committing():
            path = add(self._workspace.ports, new)
            self._remember(path, new_text=True)
        summary = self._workspace.index.summary(path)
        assert summary is not None
        return summary.key

    def read(self, memory_id: str) -> MemoryNote | None:
        """A memory by its id, or None."""
        self._synchronise()
        ports, index = self._workspace.ports, self._workspace.index
        try:
            summary = note_named(index, memory_id)
        except NotFoundError:
            return None
        note = parse_note(summary.path, ports.vault.read(summary.path).raw, ports.names)
        with suppress(IndexFault), index.changing():
            now = ports.clock.now().isoformat(timespec="seconds")
            index.count_use([summary.key], now)
        count, last = index.usage(summary.key)
        linked = (index.summary(path) for path in linked_paths(index, summary.path))
        return MemoryNote(
            id=summary.key,
            content=note.body.strip("\n"),
            keywords=list(note.keywords),
            tags=list(note.tags),
            context=note.context,
            links=[each.key for each in linked if each is not None],
            timestamp=_timestamp(summary.created or summary.modified),
            retrieval_count=count,
            last_accessed=_timestamp(last),
            evolution_history=[
                to_record(event) for event in index.events(summary.key) if event.kind == "evolve"
            ],
        )

    def search(self, query: str, k: int = 5) -> list[dict[str, Any]]:
        """The k best memories, without their neighbours."""
        return self._search(query, k, neighbors=False)

    def search_agentic(self, query: str, k: int = 5) -> list[dict[str, Any]]:
        """The k best memories and, beyond them, the notes linked to them (`is_neighbor`)."""
        return self._search(query, k, neighbors=True)

    def update(self, memory_id: str, **fields: Any) -> bool:
        """Change a memory's content, keywords, tags or context; False where there is none.

        Raises:
            TypeError: a field cannot be changed.
        """
        unknown = set(fields) - {"content", "keywords", "tags", "context"}
        if unknown:
            raise TypeError(f"cannot update {', '.join(sorted(unknown))}")
        self._synchronise()
        try:
            summary = note_named(self._workspace.index, memory_id)
        except NotFoundError:
            return False
        with self._committing():
            update(self._workspace.ports, summary, replace(FieldEdits(), **fields))
            self._remember(summary.path, new_text="content" in fields)
        return True

    def delete(self, memory_id: str) -> bool:
        """Move a memory to the vault's trash; False where there is none."""
        self._synchronise()
        try:
            with self._committing():
                remove(self._workspace.ports, note_named(self._workspace.index, memory_id))
        except NotFoundError:
            return False
        return True

    def _search(self, query: str, k: int, *, neighbors: bool) -> list[dict[str, Any]]:
        self._synchronise()
        embed_missing(self._workspace.ports, self._workspace.encoder)
        index = self._workspace.index
        hits = search(index, query, encoder=self._workspace.encoder, limit=k, neighbors=neighbors)
        if not neighbors:
            # A note that supersedes a hit comes in beside the k.
            hits = hits[:k]
        with suppress(IndexFault), index.changing():
            now = self._workspace.ports.clock.now().isoformat(timespec="seconds")
            index.count_use([hit.note.key for hit in hits], now)
        return [
            {
                "id": hit.note.key,
                "content": "\n\n".join(index.passages(hit.note.path)),
                "context": hit.note.context,
                "keywords": list(hit.note.keywords),
                "tags": list(hit.note.tags),
                "timestamp": _timestamp(hit.note.created or hit.note.modified),
                "score": hit.score,
                "is_neighbor": hit.via is not None,
            }
            for hit in hits
        ]

    def _synchronise(self) -> None:
        synchronise(self._workspace.ports)

    @contextmanager
    def _committing(self) -> Iterator[None]:
        """Commit what a call changed, where the vault's settings say so, also where it fails."""
        try:
            yield
        finally:
            self._commit()

    def _commit(self) -> None:
        for notice in self._workspace.commit_changes():
            logging.getLogger("amem_cli").warning("%s", notice)

    def _remember(self, path: str, *, new_text: bool) -> None:
        """Run the memory process; the note is safe whatever happens to it."""
        try:
            embed_missing(self._workspace.ports, self._workspace.encoder)
            self._workspace.process.run(path, asked=True, only_pending=new_text)
        except AmemError as error:
            with self._workspace.index.changing():
                self._workspace.index.postpone(path, error.message)


def _timestamp(iso: str) -> str:
    return "".join(char for char in iso[:16] if char.isdigit())
