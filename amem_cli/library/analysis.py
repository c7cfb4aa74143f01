"""The metadata that amem would write for a text that is no note of the vault."""

from __future__ import annotations

from typing import TYPE_CHECKING

from amem_cli.core.note import Metadata
from amem_cli.core.note_file import parse_note
from amem_cli.core.ownership import Ownership
from amem_cli.services.add import text_bytes
from amem_cli.services.thinking import Thinker

if TYPE_CHECKING:
    from amem_cli.wiring import Workspace


def analysis_of(workspace: Workspace, content: str) -> Metadata:
    """Keywords, tags and context by the vault's model, or its analyzer where there is none.

    Raises:
        UsageError: the text is empty.
        ModelError: the language model gave no answer.
    """
    process = workspace.process
    settings = process.settings
    thinker = Thinker(
        workspace.index,
        process.encoder,
        process.model,
        max_links=settings.max_links,
        candidates=settings.candidates,
        deadline=settings.deadline,
        evolve=False,
        trusted=settings.trusted,
        plausible=settings.plausible,
    )
    note = parse_note("", text_bytes(content), workspace.ports.names)
    return thinker.think(note, Ownership()).construction.metadata
