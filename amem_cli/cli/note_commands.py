"""`amem add`, `show`, `edit`, `update`, `rm`."""

from __future__ import annotations

import contextlib
import sys
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from amem_cli.cli.note_argument import NoteArgument, named_or_picked, require_named
from amem_cli.cli.session import Session, moment, session_of
from amem_cli.core.errors import SettingsError, UsageError

if TYPE_CHECKING:
    from amem_cli.services.outcome import Outcome


def register(app: typer.Typer) -> None:
    """Add the commands of this module."""
    app.command("add")(add)
    app.command("show")(show)
    app.command("edit")(edit)
    app.command("update")(update)
    app.command("rm")(remove)


def add(
    context: typer.Context,
    text: Annotated[
        str | None, typer.Argument(help="The note; - reads stdin; none opens $EDITOR.")
    ] = None,
    file: Annotated[Path | None, typer.Option(help="Read the note from a file.")] = None,
    title: Annotated[str, typer.Option(help="Title; made from the text where missing.")] = "",
    keyword: Annotated[list[str] | None, typer.Option(help="A keyword; repeatable.")] = None,
    tag: Annotated[list[str] | None, typer.Option(help="A tag; repeatable.")] = None,
    context_sentence: Annotated[
        str, typer.Option("--context", help="One sentence that says what the note is about.")
    ] = "",
    created: Annotated[str | None, typer.Option(help="When it was written (ISO 8601).")] = None,
    llm: Annotated[
        bool, typer.Option("--llm/--no-llm", help="Let the language model work, or not.")
    ] = True,
    wait: Annotated[
        bool, typer.Option("--wait/--no-wait", help="Wait for metadata and links, or leave them.")
    ] = True,
    unless_known: Annotated[
        bool,
        typer.Option(
            "--unless-known", help="Add nothing where a note with this text is there; show that."
        ),
    ] = False,
) -> None:
    """Add a note; amem writes its metadata and links it to what you already know.

    Where the same text is there already, or nearly, it says so; the note is added all the same.

    Examples:

        amem add "VACUUM cannot remove dead tuples while a replica holds a snapshot."

        pbpaste | amem add - --tag databases/postgres

        amem add --file draft.md --no-wait
    """
    from amem_cli.cli.known_notes import show_known, told_duplicates
    from amem_cli.cli.remembering import remember
    from amem_cli.services.add import NewNote
    from amem_cli.services.add import add as add_note
    from amem_cli.services.known_text import known_text

    session = session_of(context)
    content = _content(text, file)
    when = moment(created, "--created")
    backend = None if llm else "none"
    with session.workspace(llm_backend=backend) as workspace:
        new = NewNote(
            content=content,
            title=title or (file.stem if file is not None else ""),
            keywords=keyword or (),
            tags=tag or (),
            context=context_sentence,
            created=when,
            folder=workspace.settings.notes_dir,
        )
        # A watcher leaves the note to whoever waits for it.
        with workspace.ports.changes.working(0.0) if wait else contextlib.nullcontext():
            known = None
            with workspace.ports.changes.locked():
                if unless_known:
                    known = known_text(workspace.ports, content, title=new.title)
                path = known.path if known else add_note(workspace.ports, new)
            if known:
                show_known(session, workspace, path)
                return
            outcome = remember(session, workspace, path, wait=wait, new_text=True)
        found = told_duplicates(session, workspace, path)
        show_outcomes(session, outcome, duplicates=found, known=False)


def show_outcomes(session: Session, outcome: Outcome, **beside: object) -> None:
    """Print what became of one note.

    Args:
        beside: further fields of the JSON document.
    """
    from amem_cli.rendering.documents import outcome_document
    from amem_cli.rendering.text import show_outcome

    session.output.result(
        {**outcome_document(outcome), **beside},
        lambda console: show_outcome(console, outcome, verbose=session.output.verbose),
    )


def _content(text: str | None, file: Path | None) -> str:
    if text is not None and file is not None:
        raise UsageError("give a text or --file, not both")
    try:
        if file is not None:
            return file.read_bytes().decode("utf-8")
        if text == "-":
            return sys.stdin.buffer.read().decode("utf-8")
    except UnicodeDecodeError:
        raise UsageError("the text is not UTF-8") from None
    except OSError as error:
        raise SettingsError(f"cannot read {file}: {error.strerror}") from None
    if text is not None:
        return text
    if not sys.stdin.isatty():
        raise UsageError("no text given", hint='amem add "…", or amem add - to read stdin.')
    from amem_cli.cli.editor import write_in_editor

    return write_in_editor("")


def show(
    context: typer.Context,
    note: NoteArgument = None,
    raw: Annotated[bool, typer.Option("--raw", help="The file as it is, byte for byte.")] = False,
) -> None:
    """Read a note with its links in both directions.

    Examples:

        amem show "Atomic notes"

        amem show 20260302150004 --json
    """
    from amem_cli.cli.search_commands import count_hits
    from amem_cli.rendering.documents import note_document
    from amem_cli.rendering.note_text import show_note
    from amem_cli.services.show import read_note

    session = session_of(context)
    require_named(context, session, {"note": note})
    with session.workspace() as workspace:
        view = read_note(workspace.ports, note or named_or_picked(session, workspace, note).path)
        if raw and sys.stdout.isatty():
            session.output.plain(view.raw.decode("utf-8", "replace").removesuffix("\n"))
            return
        if raw:
            sys.stdout.buffer.write(view.raw)
            return
        count_hits(workspace, [view.summary.key])
        usage = workspace.index.usage.of(view.summary.key)
        document = note_document(view, usage)
        session.output.result(document, lambda console: show_note(console, view))


def edit(
    context: typer.Context,
    note: NoteArgument = None,
    wait: Annotated[bool, typer.Option("--wait/--no-wait", help="Link it again at once.")] = True,
) -> None:
    """Open a note in $EDITOR, then bring its links up to date.

    Examples:

        amem edit "Weekly review"
    """
    from amem_cli.cli.editor import open_in_editor
    from amem_cli.cli.remembering import remember
    from amem_cli.services.evolve import waiting_outcome

    session = session_of(context)
    require_named(context, session, {"note": note})
    with session.workspace() as workspace:
        found = named_or_picked(session, workspace, note)
        open_in_editor(workspace.vault.locate(found.path))
        session.synchronise(workspace)
        now = workspace.index.notes.summary(found.path)
        if now is not None and now.sha == found.sha:
            outcome = waiting_outcome(workspace.ports, found.path, (), pending=False)
        else:
            new_text = now is None or now.text_hash != found.text_hash
            outcome = remember(session, workspace, found.path, wait=wait, new_text=new_text)
        show_outcomes(session, outcome)


def update(
    context: typer.Context,
    note: NoteArgument = None,
    content: Annotated[str | None, typer.Option(help="New text; - reads stdin.")] = None,
    context_sentence: Annotated[
        str | None, typer.Option("--context", help="New context sentence.")
    ] = None,
    keyword: Annotated[
        list[str] | None, typer.Option(help="The whole new list; repeat it for each.")
    ] = None,
    tag: Annotated[
        list[str] | None, typer.Option(help="The whole new list; repeat it for each.")
    ] = None,
    add_keyword: Annotated[list[str] | None, typer.Option(help="Add one.")] = None,
    remove_keyword: Annotated[list[str] | None, typer.Option(help="Remove one.")] = None,
    add_tag: Annotated[list[str] | None, typer.Option(help="Add one.")] = None,
    remove_tag: Annotated[list[str] | None, typer.Option(help="Remove one.")] = None,
    llm: Annotated[bool, typer.Option("--llm/--no-llm", help="Let the model work.")] = True,
    wait: Annotated[bool, typer.Option("--wait/--no-wait", help="Link it again at once.")] = True,
) -> None:
    """Change fields of a note; what you set is yours, amem never rewrites it.

    Examples:

        amem update "Weekly review" --add-tag practice --remove-tag inbox

        amem update 20260302150004 --context "Why cleanup stalls."
    """
    from amem_cli.cli.known_notes import told_duplicates
    from amem_cli.cli.remembering import remember
    from amem_cli.services.edit import FieldEdits
    from amem_cli.services.edit import update as change

    session = session_of(context)
    edits = FieldEdits(
        content=None if content is None else _content(content, None),
        context=context_sentence,
        keywords=keyword,
        tags=tag,
        add_keywords=add_keyword or (),
        remove_keywords=remove_keyword or (),
        add_tags=add_tag or (),
        remove_tags=remove_tag or (),
    )
    if edits == FieldEdits():
        raise UsageError("nothing to change", hint="amem update NOTE --help shows what can be.")
    require_named(context, session, {"note": note})
    with session.workspace(llm_backend=None if llm else "none") as workspace:
        found = named_or_picked(session, workspace, note)
        change(workspace.ports, found, edits)
        new_text = content is not None
        outcome = remember(session, workspace, found.path, wait=wait, new_text=new_text)
        known = told_duplicates(session, workspace, found.path) if new_text else []
        show_outcomes(session, outcome, duplicates=known)


def remove(
    context: typer.Context,
    note: NoteArgument = None,
) -> None:
    """Move a note to the vault's .trash folder.

    Links to it that amem made are removed; your own are left and reported.

    Examples:

        amem rm "Draft of a draft"
    """
    from amem_cli.services.edit import remove as remove_note

    session = session_of(context)
    require_named(context, session, {"note": note})
    with session.workspace() as workspace:
        removal = remove_note(workspace.ports, named_or_picked(session, workspace, note))
    document = {
        "path": removal.path,
        "unlinked": list(removal.unlinked),
        "dangling": list(removal.dangling),
    }

    def lines() -> str:
        told = [f"moved {removal.path} to .trash/"]
        told += [f"  amem's link removed in {path}" for path in removal.unlinked]
        told += [f"  still linked from {path}" for path in removal.dangling]
        return "\n".join(told)

    session.output.result(document, lambda _: session.output.plain(lines()))
