"""The note that a command works on: named as an argument, or chosen at the terminal."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING, Annotated

import typer

from amem_cli.cli.picker import Choice, can_pick, pick
from amem_cli.core.errors import NotFoundError, UsageError
from amem_cli.rendering.output import on_one_line

if TYPE_CHECKING:
    from amem_cli.cli.session import Session
    from amem_cli.core.index_records import NoteSummary
    from amem_cli.wiring import Workspace

NoteArgument = Annotated[
    str | None,
    typer.Argument(
        help="Id, path, file name, title or alias; without it you choose from a list.",
        show_default=False,
    ),
]


def require_named(context: typer.Context, session: Session, names: dict[str, str | None]) -> None:
    """Refuse to go on where a note is not named and nobody can choose one.

    Args:
        names: the arguments, by what the help calls them.

    Raises:
        UsageError: it is so.
    """
    missing = next((name for name, value in names.items() if value is None), None)
    if missing is not None and (session.output.as_json or not can_pick()):
        raise UsageError(f"missing argument '{missing}'.", hint=f"{context.command_path} --help")


def named_or_picked(
    session: Session,
    workspace: Workspace,
    name: str | None,
    *,
    prompt: str = "note",
    admit: Callable[[NoteSummary], bool] | None = None,
) -> NoteSummary:
    """The note that was named, else the one that the person chooses.

    Args:
        prompt: what is asked for, in a word or two.
        admit: which notes may be chosen; None is all.

    Raises:
        NotFoundError: no note has this name, or there is none to choose from.
        KeyboardInterrupt: the person left without a choice.
    """
    if name is not None:
        return workspace.note(name)
    notes = [each for each in workspace.index.notes.summaries() if admit is None or admit(each)]
    if not notes:
        raise NotFoundError("there is no note to choose", hint="`amem list` shows all.")
    notes.sort(key=lambda each: each.created or each.modified, reverse=True)
    chosen = pick(
        [_choice(each) for each in notes], prompt, color=session.output.color is not False
    )
    if chosen is None:
        raise KeyboardInterrupt
    return notes[chosen]


def _choice(note: NoteSummary) -> Choice:
    day = (note.created or note.modified)[:10]
    tags = " ".join(f"#{tag}" for tag in note.tags)
    known_by = " ".join((note.path, note.id or "", *note.aliases))
    return Choice(_line(note.title), _line(f"{day}  {tags}".rstrip()), known_by)


def _line(text: str) -> str:
    return on_one_line(text).replace("\t", " ")
