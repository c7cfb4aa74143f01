"""`amem link` and `amem unlink`: links of a person's own."""

from __future__ import annotations

from typing import Annotated

import typer

from amem_cli.cli.session import named_or_picked, require_named, session_of
from amem_cli.errors import NotFoundError


def register(app: typer.Typer) -> None:
    """Add the commands of this module."""
    app.command("link")(link)
    app.command("unlink")(unlink)


def link(
    context: typer.Context,
    source: Annotated[
        str | None, typer.Argument(help="The note that gets the link.", show_default=False)
    ] = None,
    target: Annotated[
        str | None, typer.Argument(help="The note it links to.", show_default=False)
    ] = None,
    relation: Annotated[
        str,
        typer.Option(
            help="related, supports, contradicts, supersedes, example_of, part_of or causes."
        ),
    ] = "related",
    reason: Annotated[str, typer.Option(help="Why, for you to read later.")] = "",
) -> None:
    """Link a note to another; the link is yours, amem never removes it.

    A link that amem made becomes yours, too. What you do not name you choose from a list.

    Examples:

        amem link "Weekly review" "Atomic notes" --relation part_of --reason "one of its steps"
    """
    session = session_of(context)
    require_named(context, session, {"source": source, "target": target})
    with session.workspace() as workspace:
        one = named_or_picked(session, workspace, source, prompt="link from")
        other = named_or_picked(
            session, workspace, target, prompt="link to", admit=lambda note: note.path != one.path
        )
        made = workspace.link(
            one,
            other,
            relation=relation,  # type: ignore[arg-type]
            reason=reason,
        )
    document = {"source": one.path, "target": other.path, "relation": relation, "made": made}
    text = f"{one.title} → {other.title}" if made else "the link is there already"
    session.output.result(document, lambda _: session.output.plain(text))


def unlink(
    context: typer.Context,
    source: Annotated[
        str | None, typer.Argument(help="The note that has the link.", show_default=False)
    ] = None,
    target: Annotated[
        str | None, typer.Argument(help="The note it links to.", show_default=False)
    ] = None,
) -> None:
    """Remove a link from a note's properties; amem does not make it again.

    What you do not name you choose from a list.

    Examples:

        amem unlink "Weekly review" "Atomic notes"
    """
    session = session_of(context)
    require_named(context, session, {"source": source, "target": target})
    with session.workspace() as workspace:
        index = workspace.index
        having = {path for path, link in index.links.all() if link.kind == "property"}
        one = named_or_picked(
            session, workspace, source, prompt="unlink from", admit=lambda note: note.path in having
        )
        linked = {path for path, link in index.links.outgoing(one.path) if link.kind == "property"}
        other = named_or_picked(
            session, workspace, target, prompt="unlink", admit=lambda note: note.path in linked
        )
        if not workspace.unlink(one, other):
            raise NotFoundError(
                f"{one.path} has no property link to {other.path}",
                hint="A link in the text is yours to delete there.",
            )
    document = {"source": one.path, "target": other.path, "removed": True}
    session.output.result(document, lambda _: session.output.plain(f"{one.title} ↛ {other.title}"))
