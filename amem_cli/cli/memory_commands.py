"""`amem evolve`, `amem history` and `amem undo`."""

from __future__ import annotations

from typing import TYPE_CHECKING, Annotated

import typer

from amem_cli.cli.session import Session, session_of

if TYPE_CHECKING:
    from rich.console import Console

    from amem_cli.services.outcome import Outcome
    from amem_cli.wiring import Workspace


def register(app: typer.Typer) -> None:
    """Add the commands of this module."""
    app.command("evolve")(evolve)
    app.command("history")(history)
    app.command("undo")(undo)


def evolve(
    context: typer.Context,
    notes: Annotated[list[str] | None, typer.Argument(help="Only these notes.")] = None,
    everything: Annotated[
        bool, typer.Option("--all", help="All notes that amem has never processed.")
    ] = False,
    dry_run: Annotated[
        bool, typer.Option("--dry-run", help="Show what would change, write nothing.")
    ] = False,
    limit: Annotated[int | None, typer.Option(help="At most so many notes.")] = None,
    llm: Annotated[bool, typer.Option("--llm/--no-llm", help="Let the model work.")] = True,
) -> None:
    """Write metadata and links for notes that wait, and evolve older notes.

    Examples:

        amem evolve

        amem evolve "Weekly review" --dry-run

        amem evolve --all --limit 100
    """
    from amem_cli.rendering.documents import outcome_document
    from amem_cli.services.evolve import evolve_many

    session = session_of(context)
    with session.workspace(llm_backend=None if llm else "none") as workspace:
        paths = _chosen(workspace, notes or [], everything)[: limit if limit else None]
        session.embed(workspace)
        process = workspace.process
        with session.output.progress("remembering") as progress:
            outcomes = evolve_many(
                process, paths, dry_run=dry_run, asked=bool(notes), progress=progress
            )
    document = {
        "dry_run": dry_run,
        "notes": [outcome_document(outcome) for outcome in outcomes],
        "pending": sum(outcome.pending for outcome in outcomes),
    }
    session.output.result(document, lambda console: _show(session, console, outcomes))
    if any(outcome.pending for outcome in outcomes) and not dry_run:
        raise typer.Exit(1)


def _chosen(workspace: Workspace, names: list[str], everything: bool) -> list[str]:
    from amem_cli.services.lookup import note_named

    if names:
        return [note_named(workspace.index, name).path for name in names]
    if everything:
        return workspace.index.unprocessed()
    return [note.path for note in workspace.index.pending()]


def _show(session: Session, console: Console, outcomes: list[Outcome]) -> None:
    from amem_cli.rendering.text import show_outcome

    if not outcomes:
        session.output.plain("nothing is pending")
    for outcome in outcomes:
        show_outcome(console, outcome, verbose=session.output.verbose)


def history(
    context: typer.Context,
    note: Annotated[str | None, typer.Argument(help="Only this note.")] = None,
    limit: Annotated[int, typer.Option("-n", "--limit", help="The newest so many.")] = 50,
) -> None:
    """What the machine changed, when, why and because of which note.

    Examples:

        amem history

        amem history "Weekly review" --json
    """
    from amem_cli.rendering.documents import event_document
    from amem_cli.rendering.text import show_history
    from amem_cli.services.lookup import note_named

    session = session_of(context)
    with session.workspace() as workspace:
        index = workspace.index
        if note is None:
            events = index.events(limit=limit)
        else:
            found = note_named(index, note)
            events = index.events(found.key, limit=limit)
        titles = {summary.key: summary.title for summary in index.summaries()}
    document = [event_document(event) for event in events]
    session.output.result(document, lambda console: show_history(console, events, titles))


def undo(
    context: typer.Context,
    event: Annotated[str, typer.Argument(help="The event's id or its beginning.")],
) -> None:
    """Take back a change; taking back a `process` event takes back all that it did.

    Refused where a field was edited since.

    Examples:

        amem undo 000641a2c3f
    """
    from amem_cli.services.undo import undo as take_back

    session = session_of(context)
    with session.workspace() as workspace:
        undone = take_back(workspace.ports, event)
    document = {"events": [each.id for each in undone.events], "paths": list(undone.paths)}
    lines = [f"took back {each.kind} {each.id} in {each.path}" for each in undone.events]
    session.output.result(document, lambda _: session.output.plain("\n".join(lines)))
