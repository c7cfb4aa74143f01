"""Commands for one note: `add`, `show`, `edit`, `open`, `update`, `rm`, `mv`, `link`, `unlink`."""

from __future__ import annotations

import sys
from collections.abc import Sequence
from dataclasses import asdict
from datetime import datetime
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer
from typer import Argument, Option

from amem_cli.cli.session import (
    LlmOption,
    NoteArgument,
    Session,
    WaitOption,
    named_or_picked,
    refuse_if_missing,
    session_of,
)
from amem_cli.errors import NotFoundError, UsageError
from amem_cli.language.safe_text import on_one_line
from amem_cli.notes.note import Relation
from amem_cli.system.command_lines import joined
from amem_cli.terminal.output import obsidian_address

if TYPE_CHECKING:
    from amem_cli.duplicates.compare import Duplicate
    from amem_cli.index.records import NoteSummary
    from amem_cli.memory.outcome import Outcome
    from amem_cli.workspace.workspace import Workspace

SourceArgument = Annotated[
    str | None,
    Argument(help="The note that holds the link.", show_default=False, callback=refuse_if_missing),
]
TargetArgument = Annotated[
    str | None,
    Argument(help="The note it links to.", show_default=False, callback=refuse_if_missing),
]


def add(
    context: typer.Context,
    words: Annotated[
        list[str] | None,
        Argument(
            help="The note's text, quoted or not. - reads stdin; none opens $EDITOR.",
            metavar="[TEXT]...",
        ),
    ] = None,
    file: Annotated[Path | None, Option(help="Read the text from a file.")] = None,
    title: Annotated[str, Option(help="Title. By default, taken from the text.")] = "",
    keyword: Annotated[list[str] | None, Option(help="A keyword. Repeatable.")] = None,
    tag: Annotated[list[str] | None, Option(help="A tag. Repeatable.")] = None,
    context_sentence: Annotated[
        str, Option("--context", help="One sentence that says what the note is about.")
    ] = "",
    created: Annotated[
        str | None, Option(help="When it was written: 2026-03-02, 2026-03-02T15:00, yesterday.")
    ] = None,
    llm: LlmOption = True,
    wait: WaitOption = True,
    unless_known: Annotated[
        bool,
        Option("--unless-known", help="If a note already has this text, show it and add nothing."),
    ] = False,
) -> None:
    """Add a note; amem writes its metadata and links it to what you know.

    If another note has the same or nearly the same text, amem says so and adds this one anyway.

    Examples:

        amem add "VACUUM cannot remove dead tuples while a replica holds a snapshot."
        amem add "- [ ] call Huber" --tag todo
        pbpaste | amem add - --tag databases/postgres
        amem add --file draft.md --no-wait
    """
    from amem_cli.editing.add import NewNote
    from amem_cli.language.dates import given_moment

    session = session_of(context)
    text = " ".join(words) if words else None
    content = _content(text, file)
    when = given_moment(created, "--created", datetime.now().date())
    with session.workspace(llm=llm) as workspace:
        new = NewNote(
            content=content,
            title=title,
            name=file.stem if file is not None and str(file) != "-" else "",
            keywords=keyword or (),
            tags=tag or (),
            context=context_sentence,
            created=when,
        )
        added = workspace.add(new, unless_known=unless_known, wait=wait)
    _show_outcome(session, added.outcome, added.duplicates, known=added.known)
    if text and _is_file(text):
        line = f"amem add --file {joined([text])}"
        session.output.notice(f"! the note is this name alone; for what is in the file: {line}")


def _is_file(text: str) -> bool:
    try:
        return Path(text).is_file()
    except (OSError, ValueError):
        # It is too long for a name, or no name at all.
        return False


def _content(text: str | None, file: Path | None) -> str:
    from amem_cli.cli.files import read_input, write_in_editor

    if text is not None and file is not None:
        raise UsageError("give a text or --file, not both")
    if file is not None or text == "-":
        try:
            return read_input(file or Path("-")).decode("utf-8")
        except UnicodeDecodeError:
            raise UsageError("the text is not UTF-8") from None
    if text is not None:
        return text
    if not sys.stdin.isatty():
        raise UsageError("no text given", hint='amem add "…", or amem add - to read stdin.')
    return write_in_editor("")


def _show_outcome(
    session: Session,
    outcome: Outcome,
    duplicates: Sequence[Duplicate] | None = None,
    *,
    known: bool | None = None,
) -> None:
    """Print what happened to one note; None is said of what the command did not look for."""
    from amem_cli.terminal.notes import show_outcome

    def document() -> dict[str, object]:
        from amem_cli.workspace.documents import duplicate_document, outcome_document

        of_duplicates = None if duplicates is None else list(map(duplicate_document, duplicates))
        rest = {"duplicates": of_duplicates, "known": known}
        given = {name: value for name, value in rest.items() if value is not None}
        return {**outcome_document(outcome), **given}

    if known:
        line = f"nothing added: the same text is in {on_one_line(outcome.path)}"
        session.output.result(document, line)
        return
    for each in duplicates or ():
        similarity = (
            "the same text" if each.kind == "exact" else f"nearly the same ({each.similarity:.2f})"
        )
        session.output.notice(
            f"! {similarity} is in {on_one_line(each.note.path)}; `amem dedupe --merge` merges them"
        )
    session.output.result(
        document,
        lambda console: show_outcome(
            console,
            outcome,
            headed=session.saved != outcome.path,
            details=session.output.verbose,
        ),
    )


def show(
    context: typer.Context,
    note: NoteArgument = None,
    raw: Annotated[bool, Option("--raw", help="Print the file byte for byte.")] = False,
) -> None:
    """Read a note with its links in both directions.

    Examples:

        amem show "Atomic notes"
        amem show 20260302150004 --json
    """
    from amem_cli.terminal.notes import show_note
    from amem_cli.workspace.documents import note_document

    session = session_of(context)
    with session.workspace() as workspace:
        view = workspace.show(named_or_picked(session, workspace, note), counts=not raw)
        # A note's control characters must not reach a terminal; a pipe gets the exact bytes.
        if raw and sys.stdout.isatty():
            session.output.plain(view.raw.decode("utf-8", "replace").removesuffix("\n"))
        elif raw:
            sys.stdout.buffer.write(view.raw)
        else:
            session.output.result(note_document(view), lambda console: show_note(console, view))


def edit(context: typer.Context, note: NoteArgument = None, wait: WaitOption = True) -> None:
    """Open a note in $EDITOR, then update its links.

    Examples:

        amem edit "Weekly review"
    """
    session = session_of(context)
    with session.workspace() as workspace:
        _edit(session, workspace, named_or_picked(session, workspace, note), wait=wait)


def _edit(session: Session, workspace: Workspace, note: NoteSummary, *, wait: bool) -> None:
    from amem_cli.cli.files import open_in_editor

    open_in_editor(workspace.vault.locate(note.path))
    _show_outcome(session, workspace.note_edited(note, wait=wait))


def open_(
    context: typer.Context,
    note: NoteArgument = None,
    obsidian: Annotated[
        bool | None,
        Option(
            "--obsidian/--editor",
            help="Where. By default in Obsidian if the vault has its settings and this is a"
            " desktop, else in $EDITOR.",
            show_default=False,
        ),
    ] = None,
    wait: WaitOption = True,
) -> None:
    """Open a note in Obsidian or in $EDITOR.

    Obsidian finds a note whose vault it has opened before. Once $EDITOR is closed, the note's links
    are updated, as by `amem edit`.

    Examples:

        amem open "Weekly review"
        amem open "Weekly review" --editor
    """
    from amem_cli.cli.files import on_desktop, open_address

    session = session_of(context)
    with session.workspace() as workspace:
        chosen = named_or_picked(session, workspace, note)
        if obsidian is None:
            obsidian = (workspace.root / ".obsidian").is_dir() and on_desktop()
        if not obsidian:
            _edit(session, workspace, chosen, wait=wait)
            return
        address = obsidian_address(workspace.vault.locate(chosen.path))
    open_address(address, hint="Is Obsidian installed? `amem open --editor` uses $EDITOR.")
    session.output.result({"path": chosen.path, "address": address}, f"opened {chosen.path}")


def update(
    context: typer.Context,
    note: NoteArgument = None,
    content: Annotated[str | None, Option(help="New text. - reads stdin.")] = None,
    context_sentence: Annotated[
        str | None, Option("--context", help="New context sentence.")
    ] = None,
    keyword: Annotated[list[str] | None, Option(help="Replace all keywords. Repeatable.")] = None,
    tag: Annotated[list[str] | None, Option(help="Replace all tags. Repeatable.")] = None,
    add_keyword: Annotated[list[str] | None, Option(help="Add a keyword. Repeatable.")] = None,
    remove_keyword: Annotated[
        list[str] | None, Option(help="Remove a keyword. Repeatable.")
    ] = None,
    add_tag: Annotated[list[str] | None, Option(help="Add a tag. Repeatable.")] = None,
    remove_tag: Annotated[list[str] | None, Option(help="Remove a tag. Repeatable.")] = None,
    llm: LlmOption = True,
    wait: WaitOption = True,
) -> None:
    """Change fields of a note; amem never rewrites what you set.

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
        raise UsageError("nothing to change", hint="amem update --help lists the fields.")
    with session.workspace(llm=llm) as workspace:
        updated = workspace.update(named_or_picked(session, workspace, note), edits, wait=wait)
    _show_outcome(session, updated.outcome, updated.duplicates)


def rm(context: typer.Context, note: NoteArgument = None) -> None:
    """Move a note to the vault's .trash folder.

    Links to it that amem made are removed; your own stay and are listed, as are canvases that show
    it. `amem undo` brings the
    note back with its links.

    Examples:

        amem rm "Draft of a draft"
    """
    from amem_cli.notes.canvas import ENDING

    session = session_of(context)
    with session.workspace() as workspace:
        removal = workspace.remove(named_or_picked(session, workspace, note))
    document = asdict(removal)
    lines = [f"moved {removal.path} to .trash/"]
    lines += [f"  removed amem's link in {path}" for path in removal.unlinked]
    for path in removal.dangling:
        how = "shown on" if path.endswith(ENDING) else "linked from"
        lines.append(f"  still {how} {path}")
    lines.append(f"  to revert: amem undo {removal.event}")
    session.output.result(document, "\n".join(lines))


def mv(
    context: typer.Context,
    note: NoteArgument = None,
    name: Annotated[
        str | None,
        Argument(
            help="New title, or a path in the vault such as projects/Plan.",
            show_default=False,
            callback=refuse_if_missing,
        ),
    ] = None,
) -> None:
    """Rename or move a note; links to it follow.

    A name without a slash keeps the folder; projects/ keeps the name.

    Examples:

        amem mv "Weekly review" "Review of the week"
        amem mv "Weekly review" projects/
    """
    session = session_of(context)
    if name is None:
        raise UsageError("missing argument 'name'.", hint=f"{context.command_path} --help")
    with session.workspace() as workspace:
        moved = workspace.move(named_or_picked(session, workspace, note), name)
    lines = [f"moved {moved.source} to {moved.path}"]
    lines += [f"  links follow in {path}" for path in moved.followed]
    lines += [f"  ! {line}" for line in moved.left]
    lines.append(f"  to revert: amem undo {moved.event}")
    session.output.result(asdict(moved), "\n".join(lines))


def link(
    context: typer.Context,
    source: SourceArgument = None,
    target: TargetArgument = None,
    relation: Annotated[
        Relation | None, Option(help="The kind of the link. By default, related.")
    ] = None,
    reason: Annotated[str, Option(help="Why, for you to read later.")] = "",
) -> None:
    """Link two notes; the link is yours, and amem never removes it.

    Linking again what amem linked, or suggests, makes the link yours. Notes that you do not name
    you choose from a list.

    Examples:

        amem link "Weekly review" "Atomic notes" --relation part_of --reason "one of its steps"
    """
    from amem_cli.editing.edit import link as add_link

    session = session_of(context)
    with session.workspace() as workspace:
        one = named_or_picked(session, workspace, source, prompt="link from")
        other = named_or_picked(
            session, workspace, target, prompt="link to", admit=lambda note: note.path != one.path
        )
        made = add_link(workspace.ports, one, other, relation=relation, reason=reason)
        records = workspace.index.link_history.records(one.path)
    record = made or records.get((one.path, other.key)) or records.get((one.path, other.path))
    document = {"source": one.path, "target": other.path, "made": made is not None}
    document |= {"relation": record.relation if record else "related"}
    session.output.result(
        document, f"{one.title} → {other.title}" if made else "this link exists already"
    )


def unlink(
    context: typer.Context, source: SourceArgument = None, target: TargetArgument = None
) -> None:
    """Remove a link from a note's properties; amem will not add it again.

    A link that amem made the other way goes too. If amem only suggests the link, this rejects it.
    Notes that you do not name you choose from a list.

    Examples:

        amem unlink "Weekly review" "Atomic notes"
    """
    from amem_cli.editing.edit import unlink as remove_link

    session = session_of(context)
    with session.workspace() as workspace:
        links = workspace.index.links
        sources = {path for path, link in links.all() if link.listed}
        one = named_or_picked(
            session,
            workspace,
            source,
            prompt="unlink from",
            admit=lambda note: note.path in sources,
        )
        targets = {path for path, link in links.outgoing(one.path) if link.listed}
        other = named_or_picked(
            session, workspace, target, prompt="unlink", admit=lambda note: note.path in targets
        )
        if not remove_link(workspace.ports, one, other):
            raise NotFoundError(
                f"{one.path} has no property link to {other.path}",
                hint="Links in the text are yours: edit the note.",
            )
    document = {"source": one.path, "target": other.path, "removed": True}
    session.output.result(document, f"{one.title} ↛ {other.title}")
