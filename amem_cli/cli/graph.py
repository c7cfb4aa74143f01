"""`amem graph` and `amem obsidian`: the network of notes for people and for other programs."""

from __future__ import annotations

import io
import sys
from collections.abc import Mapping, Sequence
from dataclasses import asdict, replace
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer
from typer import Argument, Option

from amem_cli.cli.files import write_export
from amem_cli.cli.session import PrivateOption, Session, report_left_out, session_of
from amem_cli.errors import NotFoundError, UsageError
from amem_cli.graph.clusters import Cluster, clusters
from amem_cli.graph.formats import FORMATS, MAP_FORMATS, export, suffixes
from amem_cli.graph.graph import Graph, distances, neighbourhood, part, shown_graph
from amem_cli.language.safe_text import json_text
from amem_cli.terminal.output import Console

if TYPE_CHECKING:
    from amem_cli.workspace.workspace import Workspace

# The layout of a map takes noticeable time from this many notes.
_LARGE_MAP = 1000


def graph(
    context: typer.Context,
    note: Annotated[
        str | None, Argument(help="Show what surrounds this note.", show_default=False)
    ] = None,
    depth: Annotated[int, Option(help="How many links away.", min=1, max=10)] = 2,
    form: Annotated[
        str | None,
        Option(
            "--format",
            help="text, json, dot, mermaid, graphml, canvas or html; with --map html or json."
            " By default, the suffix of --output decides.",
        ),
    ] = None,
    output: Annotated[Path | None, Option(help="Write to this file.")] = None,
    as_map: Annotated[
        bool, Option("--map", help="Place notes with similar meaning near each other.")
    ] = False,
    suggested: Annotated[
        bool,
        Option("--suggested", help="Also draw, dotted, the links that amem suggests."),
    ] = False,
    private: PrivateOption = None,
    force: Annotated[bool, Option("--force", help="Replace an existing canvas.")] = False,
) -> None:
    """Show hubs, clusters, orphans and unwritten notes, or what surrounds a note.

    Examples:

        amem graph
        amem graph "Weekly review" --depth 3
        amem graph --output vault.canvas
        amem graph "Weekly review" --format dot | dot -Tsvg > review.svg
        amem graph --map --output map.html
    """
    from amem_cli.graph.map import check_map_package
    from amem_cli.terminal.graph import show_neighbourhood, show_overview

    session = session_of(context)
    form = _form(session, form, output, as_map=as_map)
    if form == "canvas" and output is not None and output.exists() and not force:
        # The user may have rearranged it by hand.
        hint = "--force replaces it and loses what was rearranged by hand."
        raise UsageError(f"{output} exists already", hint=hint)
    if as_map and note is not None:
        raise UsageError("a map shows all notes", hint="Around one note: amem graph NOTE.")
    # The other formats are made to be shown to others (docs/graph.md).
    with_private = form in ("text", "json") if private is None else private
    with session.workspace() as workspace:
        root = workspace.note(note).path if note is not None else None
        if as_map:
            check_map_package()
            workspace.embed_missing()
        # Programs tell suggestions apart, and in a page a switch shows them.
        drawn = suggested or form in ("json", "html")
        network = shown_graph(workspace.index, private=with_private, suggested=drawn)
        if root is not None and root not in network.nodes:
            raise NotFoundError(f"{root} is private", hint="--private includes it.")
        if not with_private:
            report_left_out(session, len(workspace.index.notes.private_paths()))
        away: Mapping[str, int] | None = None
        if form == "text":
            page = io.StringIO()
            console = session.output.console() if output is None else Console(page)
            whole = session.output.verbose
            if root is None:
                show_overview(console, network, everything=whole)
            else:
                branch = neighbourhood(network, root, depth)
                show_neighbourhood(console, network, branch, everything=whole)
            content = page.getvalue()
        elif as_map:
            content = _map(session, workspace, network, form)
        elif form == "html":
            content = _page(workspace, network, clusters(network), focus=root)
        else:
            reached = network if suggested else replace(network, suggested=())
            away = None if root is None else distances(reached, root, depth)
            content = _network(session, workspace, network, form, root, away)
    if output is not None or form != "text":
        _deliver(session, content, form, output, len(network.nodes if away is None else away))


def _form(session: Session, form: str | None, output: Path | None, *, as_map: bool) -> str:
    """The format to write: as given, by the file's suffix, or the default."""
    known = MAP_FORMATS if as_map else FORMATS
    if form is None and output is not None:
        form = suffixes().get(output.suffix.lower())
        if form is None:
            fitting = " ".join(suffix for suffix, name in suffixes().items() if name in known)
            raise UsageError(
                f"the suffix of {output.name!r} is no known format",
                hint=f"Give --format, or use one of {fitting}.",
            )
    if form is None:
        form = "json" if session.output.as_json else "html" if as_map else "text"
    if form not in known:
        what = "a map" if as_map else "the graph"
        raise UsageError(f"no format {form!r} of {what}", hint=f"One of: {', '.join(known)}.")
    if output is None and session.output.as_json and form not in ("json", "text"):
        raise UsageError(
            f"--json and --format {form} cannot both be printed", hint="Give --output FILE."
        )
    if output is not None and output.suffix.lower() == ".md":
        raise UsageError("cannot write a graph into a note", hint="Use another suffix.")
    if form == "html" and output is None and sys.stdout.isatty():
        raise UsageError("html needs a file", hint="Give --output graph.html.")
    return "json" if form == "text" and session.output.as_json and output is None else form


def _network(
    session: Session,
    workspace: Workspace,
    network: Graph,
    form: str,
    root: str | None,
    away: Mapping[str, int] | None,
) -> str:
    from amem_cli.workspace.documents import graph_document

    network = network if away is None else part(network, away)
    if form == "json":
        document = graph_document(network)
        if away is not None:
            nodes = [{**node, "distance": away[node["path"]]} for node in document["nodes"]]
            document = {"root": root, **document, "nodes": nodes}
        return _json(document)
    # Around one note, its links say more than clusters would.
    groups = clusters(network) if root is None else []
    text, notice = export(form, network, groups, workspace.root.name, root)
    if notice:
        session.output.notice(notice)
    return text


def _map(session: Session, workspace: Workspace, network: Graph, form: str) -> str:
    from amem_cli.graph.map import note_positions
    from amem_cli.workspace.documents import graph_document

    if len(network.nodes) >= _LARGE_MAP:
        session.output.notice(f"laying out {len(network.nodes)} notes; this takes a while")
    positions = note_positions(workspace.index, network.nodes)
    groups = clusters(network)
    if form == "html":
        return _page(workspace, network, groups, positions=positions)
    names = {path: cluster.name for cluster in groups for path in cluster.paths}
    document = graph_document(network)
    for node in document["nodes"]:
        # Null without a vector, or without a group.
        node["x"], node["y"] = positions.get(node["path"], (None, None))
        node["group"] = names.get(node["path"])
    return _json(document)


def _page(workspace: Workspace, network: Graph, groups: Sequence[Cluster], **shown: Any) -> str:
    from amem_cli.graph.page import graph_page

    index = workspace.index
    return graph_page(
        network,
        vault_name=workspace.root.name,
        clusters=groups,
        passages=index.text.passages,
        made=index.link_history.first_made(),
        **shown,
    )


def _deliver(session: Session, content: str, form: str, path: Path | None, notes: int) -> None:
    """Write to the file, and say so; or print to stdout."""
    output = session.output
    if path is not None:
        write_export(path, content)
        output.notice(f"wrote {path}")
        if output.as_json:
            output.json_line({"path": str(path), "format": form, "notes": notes}, indent=2)
    elif sys.stdout.isatty():
        # Control characters in a title must not reach the terminal.
        output.plain(content.rstrip("\n"))
    else:
        # Text printed before must not come after what bypasses its buffer.
        sys.stdout.flush()
        sys.stdout.buffer.write(content.encode("utf-8"))


def _json(document: dict[str, Any]) -> str:
    return json_text(document, indent=2) + "\n"


def obsidian(
    context: typer.Context,
    remove: Annotated[bool, Option("--remove", help="Remove all that it wrote.")] = False,
) -> None:
    """Show in Obsidian what amem knows: views of notes and marks.

    Writes amem.base (notes linked lately, waiting, without links, superseded) and a CSS snippet
    that strikes superseded notes through. They show the vault as it is now; call it again for later
    changes. Nothing else is changed.

    Examples:

        amem obsidian
        amem obsidian --remove
    """
    from amem_cli.obsidian import show_in_obsidian

    session = session_of(context)
    with session.workspace() as workspace:
        done = show_in_obsidian(workspace.root, None if remove else workspace.ports)
    lines = [f"wrote {path}" for path in done.written]
    lines += [f"removed {path}" for path in done.removed]
    session.output.result(asdict(done), "\n".join(lines or ["nothing to change"]))
    if done.written or done.removed:
        session.output.notice("if Obsidian is open, reload it: Ctrl+P, Reload app without saving")
