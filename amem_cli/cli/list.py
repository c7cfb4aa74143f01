"""`amem list`."""

from __future__ import annotations

from typing import Annotated

import typer

from amem_cli.cli.session import (
    PathOption,
    SinceOption,
    UntilOption,
    first_day,
    last_day,
    session_of,
)
from amem_cli.errors import UsageError


def register(app: typer.Typer) -> None:
    """Add the command of this module."""
    app.command("list")(list_notes)


def list_notes(
    context: typer.Context,
    tag: Annotated[list[str] | None, typer.Option(help="Only notes with this tag.")] = None,
    since: SinceOption = None,
    until: UntilOption = None,
    path: PathOption = "",
    orphans: Annotated[bool, typer.Option("--orphans", help="Only notes without links.")] = False,
    pending: Annotated[
        bool, typer.Option("--pending", help="Only notes that wait for the model.")
    ] = False,
    stale: Annotated[
        bool,
        typer.Option(
            "--stale",
            help="Only notes that nobody edited or read for a year (setting list.stale_days);"
            " what amem itself wrote into a note is no edit.",
        ),
    ] = False,
    stale_days: Annotated[
        int | None, typer.Option(min=1, max=36_500, help="The same with so many days.")
    ] = None,
    never_read: Annotated[
        bool,
        typer.Option(
            "--never-read",
            help="Only notes that amem never showed: not by a search, not by `show`. It does not"
            " see what you open in an editor.",
        ),
    ] = False,
    sort: Annotated[str, typer.Option(help="created, modified, read, title or path.")] = "created",
    reverse: Annotated[bool, typer.Option("--reverse", help="The other way round.")] = False,
    limit: Annotated[
        int | None, typer.Option("-n", "--limit", min=1, help="At most so many; otherwise all.")
    ] = None,
) -> None:
    """List notes, the newest first.

    Of several conditions a note must meet all.

    Examples:

        amem list --tag zettelkasten -n 20

        amem list --orphans --never-read --sort title

        amem list --stale-days 90 --sort modified --reverse

        amem list --since "last week" --path 'daily/2026-*'
    """
    from amem_cli.search.read import SORTS, Wanted
    from amem_cli.search.search import Filters, day_of

    if sort not in SORTS:
        raise UsageError(f"cannot sort by {sort!r}", hint=f"One of: {', '.join(SORTS)}.")
    days = first_day(since, "--since"), last_day(until, "--until")
    filters = Filters(tuple(tag or ()), *days, path)
    session = session_of(context)
    with session.workspace() as workspace:
        untouched = stale_days or (workspace.settings.list_stale_days if stale else 0)
        notes = workspace.list_notes(
            filters=filters,
            wanted=Wanted(orphans, pending, never_read, _days_ago(untouched)),
            sort=sort,
            reverse=reverse,
            limit=limit,
        )
    if session.output.as_json:
        from amem_cli.workspace.documents import listed_document

        rows = [listed_document(note) for note in notes]
        session.output.json_line(rows, indent=2)
        return
    for each in notes:
        note = each.note
        tags = "".join(f"  #{tag}" for tag in note.tags[:4])
        mark = "  (superseded)" if each.standing.superseded_by else ""
        row = f"{note.id or '-':<16}  {day_of(note)}  {note.title}{mark}{tags}"
        session.output.plain(row.replace("\n", " "))


def _days_ago(days: int) -> str:
    """The day so many days ago, ISO 8601; empty for 0."""
    from datetime import date, timedelta

    return (date.today() - timedelta(days=days)).isoformat() if days else ""
