"""What amem does to notes by itself, or would: `evolve`, `history`, `undo` and `compare`."""

from __future__ import annotations

from typing import TYPE_CHECKING, Annotated

import typer
from typer import Argument, Option

from amem_cli.cli.files import agreed, can_ask
from amem_cli.cli.session import LIMIT, LlmOption, Session, all_named, session_of
from amem_cli.errors import (
    EXIT_FIXABLE,
    EXIT_INTERRUPTED,
    EXIT_NOT_FOUND,
    NotFoundError,
    SettingsError,
    UsageError,
)
from amem_cli.language.safe_text import on_one_line
from amem_cli.system.command_lines import joined
from amem_cli.terminal.output import plural

if TYPE_CHECKING:
    from amem_cli.workspace.workspace import Workspace

# A run of hours is committed as it goes, in commits of a size that can be read.
NOTES_IN_A_COMMIT = 100
# A larger run with a model elsewhere, which may cost money, is asked about.
NOTES_UNASKED = 20


def evolve(
    context: typer.Context,
    notes: Annotated[
        list[str] | None, Argument(help="Only these notes. By default, all pending notes.")
    ] = None,
    everything: Annotated[
        bool, Option("--all", help="All notes that amem has never processed, pending or not.")
    ] = False,
    dry_run: Annotated[
        bool, Option("--dry-run", help="Show what would change; write nothing.")
    ] = False,
    again: Annotated[
        bool,
        Option("--again", help="Make anew what amem wrote in these notes, also if you undid it."),
    ] = False,
    limit: Annotated[int | None, Option(*LIMIT, min=1, help="Maximum number of notes.")] = None,
    yes: Annotated[
        bool, Option("--yes", "-y", help="Do not ask before a large run with a remote model.")
    ] = False,
    llm: LlmOption = True,
) -> None:
    """Write metadata and links for pending notes, and evolve older notes.

    On a terminal, amem asks before a large run with a model on another machine.

    Examples:

        amem evolve
        amem evolve "Weekly review" --dry-run
        amem evolve "Weekly review" --again
        amem evolve --all -k 100
    """
    if again and not notes:
        raise UsageError("name the notes to describe again", hint="amem evolve --again NOTE")
    session = session_of(context)
    with session.workspace(llm=llm) as workspace:
        queue = workspace.index.queue
        if notes:
            paths = [note.path for note in all_named(workspace, notes)]
        else:
            paths = queue.unprocessed() if everything else [note.path for note in queue.pending()]
        paths, rest = paths[:limit], paths[len(paths[:limit]) :]
        # What amem does not do unasked, such as the notes of an adopted folder.
        if not paths and (unprocessed := len(queue.unprocessed())):
            hint = f"{plural(unprocessed, 'note')} never processed: amem evolve --all"
            session.output.notice(hint)
        model = workspace.process.model if len(paths) > NOTES_UNASKED and not yes else None
        if model is not None and model.is_remote and can_ask(session.output):
            question = f"{len(paths)} notes are shown to {model.name}, which may cost money: go on?"
            if not agreed(session.output, question):
                raise typer.Exit(EXIT_NOT_FOUND)
        # A model that is trusted with links decides them itself.
        judges = workspace.models.judge is not None and workspace.model_trust.asked_for != "all"
        if len(paths) > NOTES_UNASKED and judges:
            session.output.notice(
                f"the judge of links reads {len(paths):,} notes, which takes seconds a note;"
                " --no-llm or llm.judge = off leaves it out"
            )
        how = {"dry_run": dry_run, "asked": bool(notes), "again": again}
        code = _evolve(session, workspace, paths, rest, **how)
    raise typer.Exit(code)


def _evolve(
    session: Session,
    workspace: Workspace,
    paths: list[str],
    rest: list[str],
    *,
    dry_run: bool,
    **how: bool,
) -> int:
    from amem_cli.terminal.progress import EvolveReport, batch_progress

    report = EvolveReport(session.output, len(paths), dry_run)
    interrupted = False
    with workspace.evolving(paths, rest=rest, dry_run=dry_run, **how) as batch:
        try:
            with batch_progress(session.output, batch):
                for number, outcome in enumerate(batch.outcomes(), 1):
                    report.note(outcome)
                    if number % NOTES_IN_A_COMMIT == 0:
                        workspace.commit()
        except KeyboardInterrupt:
            # Caught here, so that the summary can say how far the run came.
            interrupted = True
        finally:
            report.end(batch, interrupted=interrupted)
    if interrupted:
        return EXIT_INTERRUPTED
    if batch.stopped:
        return EXIT_FIXABLE
    # A dry run leaves all notes pending, which is not a failure.
    is_left = any(outcome.pending or outcome.failed for outcome in report.outcomes)
    return EXIT_NOT_FOUND if is_left and not dry_run else 0


def history(
    context: typer.Context,
    note: Annotated[str | None, Argument(help="Only this note.")] = None,
    limit: Annotated[int, Option(*LIMIT, min=1, help="Number of newest events.")] = 50,
) -> None:
    """Show what amem changed, when, why, and because of which note.

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
    """The id or path of a note, which may be gone: the journal still knows it."""
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
        str | None,
        Argument(
            help="The event's id, or the beginning of it. Without it, the last change, after"
            " asking.",
            show_default=False,
        ),
    ] = None,
    since: Annotated[
        str | None,
        Option(help="Undo everything amem did since this date, time or event.", show_default=False),
    ] = None,
    cascade: Annotated[
        bool, Option("--cascade", help="Also undo later changes that depend on it.")
    ] = False,
    keep_edits: Annotated[
        bool,
        Option("--keep-edits", help="Keep fields that were edited since, and undo the rest."),
    ] = False,
    yes: Annotated[bool, Option("--yes", "-y", help="Do not ask before the last change.")] = False,
) -> None:
    """Undo a change exactly, or a whole run, removal or merge.

    Without an event, the last change that counts still: repeated, it goes back step by step. amem
    refuses if a field was edited since. You can undo an undo.

    Examples:

        amem undo
        amem undo 000641a2c3f
        amem undo 000641a2c3f --cascade
        amem undo --since 2026-03-02T15:00
        amem undo --since yesterday
    """
    from amem_cli.editing.undo import undo_since
    from amem_cli.terminal.history import undone_lines

    if event is not None and since is not None:
        raise UsageError("name either an event or --since", hint="amem undo --help")
    session = session_of(context)
    with session.workspace() as workspace:
        if since is not None:
            undone = undo_since(workspace.ports, since, keep_edits=keep_edits)
        else:
            # An empty text is a name that a script lacks, and names no event.
            chosen = _last_change(session, workspace, yes=yes) if event is None else event
            undone = workspace.undo(chosen, cascade=cascade, keep_edits=keep_edits)
    events = [event.id for event in undone.events]
    document = {
        "events": events,
        "paths": undone.paths,
        "kept": undone.kept,
        "again": undone.again or None,
    }
    lines = undone_lines(undone.events, verbose=session.output.verbose)
    if undone.withdrawn:
        lines.append(f"{plural(undone.withdrawn, 'proposal')} no longer waiting")
    lines += [f"kept: {line}" for line in undone.kept]
    if undone.again:
        lines.append(f"to redo: amem undo {undone.again}")
    session.output.result(document, "\n".join(lines))


def _last_change(session: Session, workspace: Workspace, *, yes: bool) -> str:
    from amem_cli.editing.history import last_change
    from amem_cli.terminal.history import show_history

    output = session.output
    entries = last_change(workspace.index)
    if not entries:
        raise NotFoundError("there is no change to take back", hint="See `amem history`.")
    event = entries[0].event
    if event.kind == "add":
        name = joined([on_one_line(event.path)])
        raise SettingsError(
            f"the last change added {event.path}",
            hint=f"`amem rm {name}` removes it; `amem history` names earlier changes.",
        )
    if yes:
        return event.id
    if not can_ask(output):
        raise UsageError(
            "without a terminal, name the event",
            hint=f"amem undo {event.id}, or amem undo --yes, takes back the last change.",
        )
    show_history(output.console(), entries, one_note=False, verbose=True)
    if not agreed(output, "take this back?"):
        raise typer.Exit(EXIT_NOT_FOUND)
    return event.id


_MODEL = (
    "A model as for `model use`, 'current', or [BACKEND:]NAME[@ADDRESS]: ollama:qwen3:4b,"
    " openai:NAME@https://HOST/v1."
)


def compare(
    context: typer.Context,
    first: Annotated[str, Argument(metavar="A", help=_MODEL)],
    second: Annotated[str, Argument(metavar="B", help="The other one.")],
    notes: Annotated[
        list[str] | None,
        Argument(help="These notes. By default, some of the newer half, spread evenly."),
    ] = None,
    limit: Annotated[
        int, Option("--notes", *LIMIT, min=1, max=1000, help="How many notes, without names.")
    ] = 10,
) -> None:
    """Compare two models on your own notes; nothing is written.

    For each note: the metadata, links and changes to older notes that each model would write if
    the note were added at its place in time, without what amem wrote in it before. Then what that
    adds up to, in seconds and tokens a note. A model is trusted as far as it would be if you chose
    it. A model on another machine gets notes only if you chose it before (`amem model use`), and
    never private ones.

    Examples:

        amem compare current none
        amem compare ollama:qwen3:4b Qwen_Qwen3-4B-Q4_K_M -n 20
        amem compare bundled none "Weekly review" --json
    """
    from amem_cli.terminal.compare import comparison_document, show_comparison
    from amem_cli.terminal.progress import transfer_progress
    from amem_cli.workspace.comparison import compare as compared_by

    session = session_of(context)
    with session.workspace() as workspace:
        chosen = all_named(workspace, notes) if notes else []
        with transfer_progress(session.output) as transferred:
            compared = compared_by(
                workspace, (first, second), chosen, count=limit, transferred=transferred
            )
        if not compared.notes:
            raise NotFoundError("there is no note to compare with", hint="amem add adds one.")
        try:
            with session.output.progress("asking the models", at_once=False) as progress:
                compared.run(progress)
        finally:
            # What was answered until an interrupt is worth seeing, and was paid for.
            if any(compared.results):
                session.output.result(
                    lambda: comparison_document(compared),
                    lambda console: show_comparison(console, compared),
                )
    if compared.stopped:
        reason, hint = compared.stopped
        session.output.notice(f"stopped: {reason}. {hint}")
    if compared.stopped or compared.gave_up:
        raise typer.Exit(EXIT_FIXABLE)
