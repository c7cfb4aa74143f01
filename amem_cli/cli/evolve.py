"""`amem evolve`, `amem history` and `amem undo`."""

from __future__ import annotations

from typing import TYPE_CHECKING, Annotated

import typer

from amem_cli.cli.session import Session, session_of
from amem_cli.errors import EXIT_FIXABLE, EXIT_INTERRUPTED, EXIT_NOT_FOUND

if TYPE_CHECKING:
    from amem_cli.workspace.workspace import Workspace

# What a run of hours has done is in git before its end, in commits that can be read.
NOTES_IN_A_COMMIT = 100


def register(app: typer.Typer) -> None:
    """Add the commands of this module."""
    app.command("evolve")(evolve)
    app.command("history")(history)
    app.command("undo")(undo)


def evolve(
    context: typer.Context,
    notes: Annotated[
        list[str] | None, typer.Argument(help="Only these notes; otherwise all that wait.")
    ] = None,
    everything: Annotated[
        bool, typer.Option("--all", help="All notes that amem has never processed.")
    ] = False,
    dry_run: Annotated[
        bool, typer.Option("--dry-run", help="Show what would change, write nothing.")
    ] = False,
    limit: Annotated[int | None, typer.Option(min=1, help="At most so many notes.")] = None,
    llm: Annotated[bool, typer.Option("--llm/--no-llm", help="Let the model work.")] = True,
) -> None:
    """Write metadata and links for notes that wait, and evolve older notes.

    Examples:

        amem evolve

        amem evolve "Weekly review" --dry-run

        amem evolve --all --limit 100
    """
    session = session_of(context)
    with session.workspace(llm_backend=None if llm else "none") as workspace:
        paths = _chosen(workspace, notes or [], everything)[:limit]
        if not paths and not everything:
            _tell_unprocessed(session, len(workspace.index.queue.unprocessed()))
        code = _evolve(session, workspace, paths, dry_run=dry_run, asked=bool(notes))
    if code:
        raise typer.Exit(code)


def _evolve(
    session: Session, workspace: Workspace, paths: list[str], *, dry_run: bool, asked: bool
) -> int:
    """Process notes and tell of each as it is done; gives the exit code."""
    from amem_cli.terminal.evolving import EvolveReport
    from amem_cli.terminal.progress import batch_progress

    report = EvolveReport(session.output, len(paths), dry_run)
    interrupted = False
    with workspace.evolving(paths, asked=asked, dry_run=dry_run) as batch:
        report.begin()
        try:
            with batch_progress(session.output, "remembering") as progress:
                batch.begin, batch.progress = progress.at, progress.reached
                for number, outcome in enumerate(batch.outcomes(), 1):
                    report.note(outcome)
                    if number % NOTES_IN_A_COMMIT == 0:
                        workspace.commit()
        except KeyboardInterrupt:
            interrupted = True
        finally:
            report.end(batch, interrupted=interrupted)
    if interrupted:
        return EXIT_INTERRUPTED
    if batch.stopped:
        return EXIT_FIXABLE
    return EXIT_NOT_FOUND if report.pending and not dry_run else 0


def _tell_unprocessed(session: Session, count: int) -> None:
    """Notes of an adopted folder wait for nothing, and get nothing unasked."""
    if count:
        have = "1 note has" if count == 1 else f"{count} notes have"
        session.output.notice(f"{have} never been processed: amem evolve --all")


def _chosen(workspace: Workspace, names: list[str], everything: bool) -> list[str]:
    if names:
        return [workspace.note(name).path for name in names]
    if everything:
        return workspace.index.queue.unprocessed()
    return [note.path for note in workspace.index.queue.pending()]


def history(
    context: typer.Context,
    note: Annotated[str | None, typer.Argument(help="Only this note.")] = None,
    limit: Annotated[int, typer.Option("-n", "--limit", min=1, help="The newest so many.")] = 50,
) -> None:
    """What the machine changed, when, why and because of which note.

    Examples:

        amem history

        amem history "Weekly review" --json
    """
    from amem_cli.terminal.history import entry_document, show_history

    session = session_of(context)
    with session.workspace() as workspace:
        entries = workspace.history(_key_of(workspace, note), limit=limit)
    document = [entry_document(entry) for entry in entries]
    session.output.result(
        document,
        lambda console: show_history(
            console, entries, one_note=note is not None, verbose=session.output.verbose
        ),
    )


def _key_of(workspace: Workspace, note: str | None) -> str:
    """The id or path of a note; the journal also knows notes that are gone."""
    from amem_cli.errors import NotFoundError

    if note is None:
        return ""
    try:
        return workspace.note(note).key
    except NotFoundError:
        if workspace.index.events.read(note, limit=1):
            return note
        raise


def undo(
    context: typer.Context,
    event: Annotated[
        str | None, typer.Argument(help="The event's id or its beginning.", show_default=False)
    ] = None,
    since: Annotated[
        str | None,
        typer.Option(help="All that amem did since this date, time or event.", show_default=False),
    ] = None,
    cascade: Annotated[
        bool, typer.Option("--cascade", help="Also take back later changes that built on it.")
    ] = False,
    keep_edits: Annotated[
        bool, typer.Option("--keep-edits", help="Leave fields that were edited since.")
    ] = False,
) -> None:
    """Take back a change, to the byte; a whole run, a removal or a merge with all that it did.

    Refused where a field was edited since. An undo can be undone.

    Examples:

        amem undo 000641a2c3f

        amem undo 000641a2c3f --cascade

        amem undo --since 2026-03-02T15:00

        amem undo --since yesterday
    """
    from amem_cli.errors import UsageError
    from amem_cli.terminal.history import taken_back

    if (event is None) == (since is None):
        raise UsageError("name an event, or a moment with --since", hint="amem undo --help")
    session = session_of(context)
    with session.workspace() as workspace:
        if since is not None:
            undone = workspace.undo_since(since, keep_edits=keep_edits)
        else:
            undone = workspace.undo(event or "", cascade=cascade, keep_edits=keep_edits)
    document = {
        "events": [each.id for each in undone.events],
        "paths": list(undone.paths),
        "kept": list(undone.kept),
    }
    lines = [taken_back(each) for each in undone.events]
    lines += [f"left: {line}" for line in undone.kept]
    session.output.result(document, lambda _: session.output.plain("\n".join(lines)))
