"""`amem graph`."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from amem_cli.cli.session import session_of
from amem_cli.core.errors import UsageError

if TYPE_CHECKING:
    from amem_cli.core.graph import Graph
    from amem_cli.wiring import Workspace

FORMATS = ("text", "json", "html")


def register(app: typer.Typer) -> None:
    """Add the commands of this module."""
    app.command("graph")(graph)


def graph(
    context: typer.Context,
    note: Annotated[str | None, typer.Argument(help="Show the neighbourhood of this note.")] = None,
    depth: Annotated[int, typer.Option(help="How many links away.", min=1, max=10)] = 2,
    form: Annotated[str, typer.Option("--format", help="text, json or html.")] = "text",
    output: Annotated[Path | None, typer.Option(help="Write to this file.")] = None,
    private: Annotated[bool, typer.Option(help="Show private notes in the html page, too.")] = True,
) -> None:
    """The network of notes: hubs, clusters, orphans, broken links, or a note's neighbourhood.

    Examples:

        amem graph

        amem graph "Weekly review" --depth 3

        amem graph --format json --output graph.json

        amem graph --format html --output graph.html
    """
    import json

    from amem_cli.core.graph import neighbourhood
    from amem_cli.rendering.documents import graph_document
    from amem_cli.rendering.text import branch_document, show_graph, show_neighbourhood
    from amem_cli.services.lookup import note_named
    from amem_cli.services.stats import vault_graph

    if form not in FORMATS:
        raise UsageError(f"no format {form!r}", hint=f"One of: {', '.join(FORMATS)}.")
    session = session_of(context)
    with session.workspace() as workspace:
        network = vault_graph(workspace.index)
        root = note_named(workspace.index, note).path if note is not None else None
        page = html_page(workspace, network, root, private) if form == "html" else None
    if page is not None:
        if output is None:
            raise UsageError("a page needs a file", hint="Give one with --output graph.html.")
        from amem_cli.cli.export_file import write_export

        write_export(output, page)
        session.output.notice(f"wrote {output}")
        return
    branch = neighbourhood(network, root, depth) if root is not None else None
    document = graph_document(network) if branch is None else branch_document(branch, network)
    if output is not None:
        from amem_cli.cli.export_file import write_export

        write_export(output, json.dumps(document, ensure_ascii=False, indent=2) + "\n")
        session.output.notice(f"wrote {output}")
    elif form == "json" and not session.output.as_json:
        session.output.json_line(document, indent=2)
    elif branch is None:
        session.output.result(document, lambda console: show_graph(console, network))
    else:
        session.output.result(
            document, lambda console: show_neighbourhood(console, network, branch)
        )


def html_page(workspace: Workspace, network: Graph, root: str | None, private: bool) -> str:
    """The whole network as a page that shows the note at `root` first."""
    from amem_cli.core.graph import clusters
    from amem_cli.rendering.graph_page import graph_page, without_private

    # Before the clusters, which may bear a note's title.
    network = network if private else without_private(network)
    return graph_page(
        network,
        vault_name=workspace.root.name,
        clusters=clusters(network),
        passages=workspace.index.passages,
        focus=root,
    )
