"""`amem graph`.

The network of notes, and the map of them, written for other programs.
"""

from __future__ import annotations

import io
import sys
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from amem_cli.cli.session import session_of
from amem_cli.errors import NotFoundError, UsageError
from amem_cli.graph.formats import FORMATS, MAP_FORMATS, SUFFIXES, format_of

if TYPE_CHECKING:
    from amem_cli.cli.session import Session
    from amem_cli.graph.clusters import Cluster
    from amem_cli.graph.graph import Graph
    from amem_cli.terminal.output import Console
    from amem_cli.workspace.workspace import Workspace


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
    from amem_cli.terminal.graph import show_neighbourhood, show_overview

    everything = session.output.verbose

    def show(console: Console) -> None:
        if note is None:
            if not private:
                tell_left_out(session, len(workspace.index.notes.private_paths()))
            found = workspace.overview(private=private)
            show_overview(console, found, everything=everything)
        else:
            from amem_cli.graph.graph import neighbourhood

            network, root = shown_network(session, workspace, note, private=private)
            assert root is not None
            branch = neighbourhood(network, root, depth)
            show_neighbourhood(console, network, branch, 0 if everything else limit)

    if output is None:
        show(session.output.console())
    else:
        from amem_cli.cli.session import write_export
        from amem_cli.terminal.output import PlainConsole

        page = io.StringIO()
        show(PlainConsole(page, color=False))
        write_export(output, page.getvalue())
        session.output.notice(f"wrote {output}")


if TYPE_CHECKING:
    Positions = Mapping[str, tuple[float, float]]

_COLOURS = ("cluster", "tag")
_THEMES = ("light", "dark")
# From this many notes on a map takes long enough to be told.
_LONG_FROM = 1000


@dataclass(frozen=True)
class MapOptions:
    """How a map looks.

    Attributes:
        colour: `cluster` or `tag`.
        theme: `light` or `dark`.
    """

    colour: str
    theme: str
    dpi: int

    @classmethod
    def checked(cls, colour: str, theme: str, dpi: int) -> MapOptions:
        """The options as given.

        Raises:
            UsageError: one has a value that there is not.
        """
        for name, value, known in (("--colour", colour, _COLOURS), ("--theme", theme, _THEMES)):
            if value not in known:
                raise UsageError(f"no {name} {value!r}", hint=f"One of: {', '.join(known)}.")
        return cls(colour, theme, dpi)


def wanted_form(session: Session, form: str | None, output: Path | None, *, as_map: bool) -> str:
    """The form to write: as given, else by the file's suffix, else the usual one.

    Raises:
        UsageError: there is no such form, or it cannot be told.
    """
    known = MAP_FORMATS if as_map else FORMATS
    if form is None and output is not None:
        form = format_of(output)
        if form is None:
            suffixes = " ".join(each for each, meant in SUFFIXES.items() if meant in known)
            raise UsageError(
                f"no format goes with the file name {output.name!r}",
                hint=f"Give --format, or a suffix out of {suffixes}.",
            )
    if form is None:
        form = "json" if session.output.as_json else "png" if as_map else "text"
    if form not in known:
        where = "a map" if as_map else "the graph"
        raise UsageError(f"no format {form!r} of {where}", hint=f"One of: {', '.join(known)}.")
    if output is None and session.output.as_json and form not in ("json", "text"):
        raise UsageError(
            f"--json and --format {form} cannot both be printed", hint="Give --output FILE."
        )
    if output is not None and output.suffix.lower() == ".md":
        raise UsageError("a graph is not written into a note", hint="Give another suffix.")
    # A picture on a terminal is of no use to anybody.
    if form in ("png", "html") and output is None and sys.stdout.isatty():
        raise UsageError(f"{form} needs a file", hint=f"Give --output graph.{form}.")
    return "json" if form == "text" and session.output.as_json and output is None else form


def export_network(
    session: Session,
    workspace: Workspace,
    form: str,
    note: str | None,
    depth: int,
    *,
    private: bool,
    output: Path | None,
) -> None:
    """Write the whole network, or a note's neighbourhood."""
    from amem_cli.graph.graph import distances, part

    network, root = shown_network(session, workspace, note, private=private)
    if form == "html":
        found = _clusters(network)
        page = _page(workspace, network, found, positions=None, root=root)
        _deliver(session, output, page, form, network)
        return
    away = None if root is None else distances(network, root, depth)
    network = network if away is None else part(network, away)
    if form == "json":
        text = _json(_document(network, root, away))
    else:
        from amem_cli.graph.formats import written_as

        # Around one note its links say more than clusters would.
        found = _clusters(network) if root is None else []
        written = written_as(form, network, found, workspace.root.name, root)
        if written.notice:
            session.output.notice(written.notice)
        text = written.text
    _deliver(session, output, text, form, network)


def export_map(
    session: Session,
    workspace: Workspace,
    form: str,
    options: MapOptions,
    *,
    private: bool,
    output: Path | None,
) -> None:
    """Write the notes as they lie by their meaning."""
    from amem_cli.graph.map import map_clusters, map_tags, note_positions

    workspace.embed_missing()
    network, _ = shown_network(session, workspace, None, private=private)
    if len(network.nodes) >= _LONG_FROM:
        session.output.notice(f"laying out {len(network.nodes)} notes; this takes a while")
    positions = note_positions(workspace.index, network.nodes)
    if options.colour == "tag":
        found = map_tags(network)
        if not found:
            session.output.notice("no tag is on more than one note: the map has a single colour")
    else:
        found, by_meaning = map_clusters(workspace.index, network)
        if by_meaning:
            session.output.notice("few notes are linked: the colours are of like meaning")
    if form == "html":
        content: str | bytes = _page(workspace, network, found, positions=positions, root=None)
    elif form == "json":
        content = _json(_map_document(network, positions, found))
    else:
        content = _picture(session, workspace, network, positions, found, options)
    _deliver(session, output, content, form, network)


def _picture(
    session: Session,
    workspace: Workspace,
    network: Graph,
    positions: Positions,
    found: Sequence[Cluster],
    options: MapOptions,
) -> bytes:
    from amem_cli.graph.map_picture import map_picture, unwritable

    missing = unwritable([cluster.name for cluster in found])
    if missing:
        session.output.notice(
            f"! no font on this machine can write {missing[0]!r}; Noto Sans CJK writes Chinese,"
            " Japanese and Korean"
        )
    return map_picture(
        network,
        positions,
        found,
        workspace.root.name,
        theme=options.theme,
        dpi=options.dpi,
    )


def shown_network(
    session: Session, workspace: Workspace, note: str | None, *, private: bool
) -> tuple[Graph, str | None]:
    """The network, with word of notes that are left out as private, and the path of `note`.

    Raises:
        NotFoundError: there is no such note, or it is left out.
    """
    root = workspace.note(note).path if note is not None else None
    network = workspace.network(private=private)
    if not private:
        if root is not None and root not in network.nodes:
            raise NotFoundError(f"{root} is private", hint="--private shows it.")
        tell_left_out(session, len(workspace.index.notes.private_paths()))
    return network, root


def tell_left_out(session: Session, count: int) -> None:
    """Say how many private notes are not shown, where there are any."""
    if count:
        session.output.notice(
            f"{count} private note{'s were' if count != 1 else ' was'} left out;"
            " --private takes them along"
        )


def _clusters(network: Graph) -> list[Cluster]:
    from amem_cli.graph.clusters import clusters

    return clusters(network)


def _page(
    workspace: Workspace,
    network: Graph,
    found: Sequence[Cluster],
    *,
    positions: Positions | None,
    root: str | None,
) -> str:
    """The one place that calls the html page."""
    from amem_cli.graph.page import graph_page

    page: str = graph_page(
        network,
        vault_name=workspace.root.name,
        clusters=found,
        positions=positions,
        passages=workspace.index.text.passages,
        focus=root,
    )
    return page


def _document(
    network: Graph, root: str | None, away: Mapping[str, int] | None
) -> dict[str, object]:
    from amem_cli.graph.formats import neighbourhood_document
    from amem_cli.workspace.documents import graph_document

    document = graph_document(network)
    if root is None or away is None:
        return document
    return neighbourhood_document(document, root, away)


def _map_document(
    network: Graph, positions: Positions, found: Sequence[Cluster]
) -> dict[str, object]:
    from amem_cli.graph.formats import map_document
    from amem_cli.workspace.documents import graph_document

    group = {path: cluster.name for cluster in found for path in cluster.paths}
    return map_document(graph_document(network), positions, group)


def _json(document: dict[str, object]) -> str:
    from amem_cli.language.safe_text import json_text

    return json_text(document, indent=2) + "\n"


def _deliver(
    session: Session, output: Path | None, content: str | bytes, form: str, network: Graph
) -> None:
    """To the file, with word of it, or to stdout."""
    if output is not None:
        from amem_cli.cli.session import write_export

        write_export(output, content)
        session.output.notice(f"wrote {output}")
        if session.output.as_json:
            told = {"path": str(output), "format": form, "notes": len(network.nodes)}
            session.output.json_line(told, indent=2)
    elif sys.stdout.isatty() and isinstance(content, str):
        session.output.plain(content.rstrip("\n"))
    else:
        sys.stdout.flush()
        sys.stdout.buffer.write(content if isinstance(content, bytes) else content.encode("utf-8"))
