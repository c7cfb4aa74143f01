"""`amem tags`: list, rename and merge the tags of all notes."""

from __future__ import annotations

from dataclasses import asdict
from typing import TYPE_CHECKING, Annotated

import typer
from typer import Argument, Option

from amem_cli.cli.session import LIMIT, Session, session_of
from amem_cli.errors import EXIT_NOT_FOUND
from amem_cli.language.safe_text import on_one_line
from amem_cli.terminal.output import plural

if TYPE_CHECKING:
    from amem_cli.editing.tags import Retagged

tags = typer.Typer(
    name="tags",
    help="List the tags, rename one, or merge several.\n\nWithout a command, lists them with"
    " the number of notes that have each, those of the most notes first.\n\nExamples:\n\n"
    "    amem tags\n    amem tags rename db databases\n    amem tags merge recipe food/cooking"
    " recipes\n\n",
    invoke_without_command=True,
)


@tags.callback()
def list_tags(
    context: typer.Context,
    by_name: Annotated[bool, Option("--by-name", help="In the order of the alphabet.")] = False,
    limit: Annotated[int | None, Option(*LIMIT, min=1, help="Maximum number of tags.")] = None,
) -> None:
    """List the tags with the number of notes that have each."""
    if context.invoked_subcommand is not None:
        return
    session = session_of(context)
    with session.workspace() as workspace:
        counts = workspace.index.notes.tag_counts().items()
    rows = sorted(counts, key=lambda row: (0 if by_name else -row[1], row[0].casefold()))[:limit]
    if session.output.as_json:
        session.output.json_line([{"tag": tag, "notes": count} for tag, count in rows], indent=2)
        return
    console = session.output.console()
    for tag, count in rows:
        console.print(f"{count:>6}  ", f"#{tag}")


@tags.command()
def rename(
    context: typer.Context,
    tag: Annotated[str, Argument(help="A tag; those nested in it follow.")],
    new_tag: Annotated[str, Argument(help="Its new name.")],
) -> None:
    """Rename a tag in the properties and texts of all notes.

    It is one change, which `amem undo` takes back.

    Examples:

        amem tags rename db databases
        amem tags rename recipes food/recipes
    """
    from amem_cli.editing.tags import rename_tag

    session = session_of(context)
    with session.workspace() as workspace:
        changed = rename_tag(workspace.ports, tag, new_tag)
    _show(session, changed)


@tags.command()
def merge(
    context: typer.Context,
    tag: Annotated[
        list[str], Argument(help="The tags, the one that stays last.", metavar="TAG...")
    ],
) -> None:
    """Make several tags one; the last of them, new or not, is the one that stays.

    It is one change, which `amem undo` takes back.

    Examples:

        amem tags merge recipe cooking recipes
    """
    from amem_cli.editing.tags import merge_tags

    session = session_of(context)
    with session.workspace() as workspace:
        changed = merge_tags(workspace.ports, tag[:-1], tag[-1])
    _show(session, changed)


def _show(session: Session, changed: Retagged) -> None:
    lines = [f"#{changed.tag} in {plural(len(changed.paths), 'note')}"]
    lines += [f"  {on_one_line(path)}" for path in changed.paths]
    lines += [f"  ! {on_one_line(line)}" for line in changed.left]
    lines.append(f"  to revert: amem undo {changed.event}")
    session.output.result(asdict(changed), "\n".join(lines))
    if changed.left:
        raise typer.Exit(EXIT_NOT_FOUND)
