"""Tells a person who adds a text that the vault holds it already."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from amem_cli.cli.session import Session
    from amem_cli.wiring import Workspace


def told_duplicates(session: Session, workspace: Workspace, path: str) -> list[dict[str, Any]]:
    """Say on stderr which notes hold the text of a note, or nearly; the same for JSON."""
    from amem_cli.rendering.duplicates import duplicate_document
    from amem_cli.rendering.output import on_one_line
    from amem_cli.services.known_text import duplicates_of

    found = duplicates_of(workspace.ports, path)
    for each in found:
        what = (
            "the same text" if each.kind == "exact" else f"nearly the same ({each.similarity:.2f})"
        )
        session.output.notice(
            f"! {what} is in {on_one_line(each.note.path)}; `amem dedupe --merge` makes one of them"
        )
    return [duplicate_document(each) for each in found]


def show_known(session: Session, workspace: Workspace, path: str) -> None:
    """Print the note that holds the text already, in place of one that would have been added."""
    from amem_cli.rendering.documents import outcome_document
    from amem_cli.rendering.output import on_one_line
    from amem_cli.services.evolve import waiting_outcome

    waits = any(note.path == path for note in workspace.index.queue.pending())
    outcome = waiting_outcome(workspace.ports, path, (), pending=waits)
    document = {**outcome_document(outcome), "duplicates": [], "known": True}
    line = f"nothing added: the same text is in {on_one_line(path)}"
    session.output.result(document, lambda _: session.output.plain(line))
