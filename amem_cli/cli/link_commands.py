"""`amem link` and `amem unlink`: links of a person's own."""

from __future__ import annotations

from typing import Annotated

import typer

from amem_cli.cli.session import session_of
from amem_cli.core.errors import NotFoundError


def register(app: typer.Typer) -> None:
    """Add the commands of this module."""
    app.command("link")(link)
    app.command("unlink")(unlink)


def link(
    context: typer.Context,
    source: Annotated[str, typer.Argument(help="The note that gets the link.")],
    target: Annotated[str, typer.Argument(help="The note it links to.")],
    relation: Annotated[
        str,
        typer.Option(
            help="related, supports, contradicts, supersedes, example_of, part_of or causes."
        ),
    ] = "related",
    reason: Annotated[str, typer.Option(help="Why, for you to read later.")] = "",
) -> None:
    """Link a note to another; the link is yours, amem never removes it.

    A link that amem made becomes yours, too.

    Examples:

        amem link "Weekly review" "Atomic notes" --relation part_of --reason "one of its steps"
    """
    from amem_cli.services.edit import link as make_link
    from amem_cli.services.lookup import note_named

    session = session_of(context)
    with session.workspace() as workspace:
        one = note_named(workspace.index, source)
        other = note_named(workspace.index, target)
        made = make_link(
            workspace.ports,
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
    source: Annotated[str, typer.Argument(help="The note that has the link.")],
    target: Annotated[str, typer.Argument(help="The note it links to.")],
) -> None:
    """Remove a link from a note's properties; amem does not make it again.

    Examples:

        amem unlink "Weekly review" "Atomic notes"
    """
    from amem_cli.services.edit import unlink as remove_link
    from amem_cli.services.lookup import note_named

    session = session_of(context)
    with session.workspace() as workspace:
        one = note_named(workspace.index, source)
        other = note_named(workspace.index, target)
        if not remove_link(workspace.ports, one, other):
            raise NotFoundError(
                f"{one.path} has no property link to {other.path}",
                hint="A link in the text is yours to delete there.",
            )
    document = {"source": one.path, "target": other.path, "removed": True}
    session.output.result(document, lambda _: session.output.plain(f"{one.title} ↛ {other.title}"))
