"""Runs the memory process for a command: now, or later where that was asked or must be."""

from __future__ import annotations

from typing import TYPE_CHECKING

from amem_cli.core.errors import AmemError

if TYPE_CHECKING:
    from amem_cli.cli.session import Session
    from amem_cli.services.outcome import Outcome
    from amem_cli.wiring import Workspace


def remember(
    session: Session, workspace: Workspace, path: str, *, wait: bool, new_text: bool
) -> Outcome:
    """Construct, link and evolve for one note that is already safe on disk.

    Whatever fails here is told; the note stays, searchable by its words, and pending.

    Args:
        wait: False leaves the note pending.
        new_text: the text is new, so that a watcher may have been through it already.
    """
    from amem_cli.services.evolve import waiting_outcome

    if not wait:
        return waiting_outcome(workspace.ports, path, ())
    try:
        session.embed(workspace)
        return workspace.process.run(path, asked=True, only_pending=new_text)
    except AmemError as error:
        return waiting_outcome(workspace.ports, path, (error.message, error.hint))
