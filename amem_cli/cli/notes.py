"""`amem add`, `show`, `edit`, `update`, `rm`."""

from __future__ import annotations

import sys
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from amem_cli.cli.session import (
    NoteArgument,
    Session,
    moment,
    named_or_picked,
    require_named,
    session_of,
)
from amem_cli.errors import SettingsError, UsageError

if TYPE_CHECKING:
    from amem_cli.duplicates.find import Duplicate
    from amem_cli.memory.outcome import Outcome


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
    from amem_cli.editing.add import NewNote

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
        added = workspace.add(new, unless_known=unless_known, wait=wait)
    if added.known:
        _show_known(session, added.outcome)
    else:
        _tell_duplicates(session, added.duplicates)
        show_outcomes(session, added.outcome, duplicates=added.duplicates, known=False)


def _tell_duplicates(session: Session, duplicates: Sequence[Duplicate]) -> None:
    """Say on stderr which notes hold the text of a note, or nearly."""
    from amem_cli.language.safe_text import on_one_line

    for each in duplicates:
        what = (
            "the same text" if each.kind == "exact" else f"nearly the same ({each.similarity:.2f})"
        )
        session.output.notice(
            f"! {what} is in {on_one_line(each.note.path)}; `amem dedupe --merge` makes one of them"
        )


def _show_known(session: Session, outcome: Outcome) -> None:
    """Print the note that holds the text already, in place of one that would have been added."""
    from amem_cli.language.safe_text import on_one_line
    from amem_cli.workspace.documents import outcome_document

    document = {**outcome_document(outcome), "duplicates": [], "known": True}
    line = f"nothing added: the same text is in {on_one_line(outcome.path)}"
    session.output.result(document, lambda _: session.output.plain(line))


def show_outcomes(
    session: Session,
    outcome: Outcome,
    *,
    duplicates: Sequence[Duplicate] | None = None,
    **beside: object,
) -> None:
    """Print what became of one note.

    Args:
        duplicates: other notes with its text; None if they were not looked for.
        beside: further fields of the JSON document.
    """
    from amem_cli.terminal.duplicates import duplicate_document
    from amem_cli.terminal.notes import show_outcome
    from amem_cli.workspace.documents import outcome_document

    if duplicates is not None:
        beside = {"duplicates": [duplicate_document(each) for each in duplicates], **beside}
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
    from amem_cli.cli.session import write_in_editor

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
    from amem_cli.terminal.notes import show_note
    from amem_cli.workspace.documents import note_document

    session = session_of(context)
    require_named(context, session, {"note": note})
    with session.workspace() as workspace:
        view = workspace.show(named_or_picked(session, workspace, note), counts=not raw)
        if raw and sys.stdout.isatty():
            session.output.plain(view.raw.decode("utf-8", "replace").removesuffix("\n"))
            return
        if raw:
            sys.stdout.buffer.write(view.raw)
            return
        session.output.result(note_document(view), lambda console: show_note(console, view))


def edit(
    context: typer.Context,
    note: NoteArgument = None,
    wait: Annotated[bool, typer.Option("--wait/--no-wait", help="Link it again at once.")] = True,
) -> None:
    """Open a note in $EDITOR, then bring its links up to date.

    Examples:

        amem edit "Weekly review"
    """
    from amem_cli.cli.session import open_in_editor

    session = session_of(context)
    require_named(context, session, {"note": note})
    with session.workspace() as workspace:
        found = named_or_picked(session, workspace, note)
        open_in_editor(workspace.vault.locate(found.path))
        show_outcomes(session, workspace.note_edited(found, wait=wait))


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
    from amem_cli.editing.edit import FieldEdits

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
        updated = workspace.update(found, edits, wait=wait)
    _tell_duplicates(session, updated.duplicates)
    show_outcomes(session, updated.outcome, duplicates=updated.duplicates)


def remove(
    context: typer.Context,
    note: NoteArgument = None,
) -> None:
    """Move a note to the vault's .trash folder.

    Links to it that amem made are removed; your own are left and reported.

    Examples:

        amem rm "Draft of a draft"
    """
    session = session_of(context)
    require_named(context, session, {"note": note})
    with session.workspace() as workspace:
        removal = workspace.remove(named_or_picked(session, workspace, note))
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
