"""`amem graph`."""

from __future__ import annotations

import io
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from amem_cli.cli.session import session_of
from amem_cli.core.errors import UsageError

if TYPE_CHECKING:
    from amem_cli.cli.session import Session
    from amem_cli.rendering.console import Console
    from amem_cli.wiring import Workspace


def register(app: typer.Typer) -> None:
    """Add the commands of this module."""
    app.command("graph")(graph)


def graph(
    context: typer.Context,
    note: Annotated[str | None, typer.Argument(help="Show the neighbourhood of this note.")] = None,
    depth: Annotated[int, typer.Option(help="How many links away.", min=1, max=10)] = 2,
    limit: Annotated[
        int, typer.Option(help="Most links of one note in the tree; 0 for all.", min=0)
    ] = 12,
    form: Annotated[
        str | None,
        typer.Option(
            "--format",
            help="text, json, dot, mermaid, graphml, canvas, html; with --map png, html, json."
            " Where not given, by the suffix of --output.",
        ),
    ] = None,
    output: Annotated[Path | None, typer.Option(help="Write to this file, not to stdout.")] = None,
    as_map: Annotated[
        bool, typer.Option("--map", help="Lay notes of like meaning near one another.")
    ] = False,
    colour: Annotated[
        str, typer.Option("--colour", "--color", help="Colours of a map: cluster or tag.")
    ] = "cluster",
    theme: Annotated[str, typer.Option(help="A png map: light or dark.")] = "light",
    dpi: Annotated[int, typer.Option(help="Dots an inch of a png map.", min=40, max=600)] = 150,
    private: Annotated[
        bool | None,
        typer.Option(
            "--private/--no-private",
            help="With or without notes that say `private: true`; text and json have them,"
            " what is made to be shown to others not.",
        ),
    ] = None,
    force: Annotated[
        bool, typer.Option("--force", help="Replace a canvas that is there already.")
    ] = False,
) -> None:
    """The network of notes: hubs, clusters, orphans, broken links, or a note's neighbourhood.

    Examples:

        amem graph

        amem graph "Weekly review" --depth 3

        amem graph --output vault.canvas

        amem graph "Weekly review" --format dot | dot -Tsvg > review.svg

        amem graph --map --output map.png --theme dark
    """
    from amem_cli.cli.graph_export import MapOptions, export_map, export_network, wanted_form

    session = session_of(context)
    wanted = wanted_form(session, form, output, as_map=as_map)
    options = MapOptions.checked(colour, theme, dpi)
    if wanted == "canvas" and output is not None and output.exists() and not force:
        # Somebody may have arranged it by hand since.
        raise UsageError(
            f"{output} is there already",
            hint="--force replaces it, with what was arranged in it by hand.",
        )
    if as_map and note is not None:
        raise UsageError("a map shows all notes", hint="amem graph NOTE shows what is around one.")
    shown = wanted in ("text", "json") if private is None else private
    with session.workspace() as workspace:
        if as_map:
            export_map(session, workspace, wanted, options, private=shown, output=output)
        elif wanted == "text":
            _tell(session, workspace, note, depth, limit, private=shown, output=output)
        else:
            export_network(session, workspace, wanted, note, depth, private=shown, output=output)


def _tell(
    session: Session,
    workspace: Workspace,
    note: str | None,
    depth: int,
    limit: int,
    *,
    private: bool,
    output: Path | None,
) -> None:
    """The summary, or the tree around a note, on the terminal or in a file."""
    from amem_cli.rendering.graph_text import show_neighbourhood, show_overview

    everything = session.output.verbose

    def show(console: Console) -> None:
        if note is None:
            from amem_cli.cli.graph_export import tell_left_out
            from amem_cli.services.graph_overview import vault_overview

            if not private:
                tell_left_out(session, len(workspace.index.notes.private_paths()))
            found = vault_overview(workspace.ports, private=private)
            show_overview(console, found, everything=everything)
        else:
            from amem_cli.cli.graph_export import shown_network
            from amem_cli.core.graph import neighbourhood

            network, root = shown_network(session, workspace, note, private=private)
            assert root is not None
            branch = neighbourhood(network, root, depth)
            show_neighbourhood(console, network, branch, 0 if everything else limit)

    if output is None:
        show(session.output.console())
    else:
        from amem_cli.cli.export_file import write_export
        from amem_cli.rendering.console import PlainConsole

        page = io.StringIO()
        show(PlainConsole(page, color=False))
        write_export(output, page.getvalue())
        session.output.notice(f"wrote {output}")
