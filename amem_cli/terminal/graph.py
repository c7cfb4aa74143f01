"""The network of notes as text: its summary, and the tree around a note."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import TYPE_CHECKING

from amem_cli.graph.clusters import clusters, hubs, unwritten
from amem_cli.language.safe_text import flowed, on_one_line
from amem_cli.notes.note import SUPERSEDING
from amem_cli.terminal.output import named, plural

if TYPE_CHECKING:
    from amem_cli.graph.graph import Branch, Edge, Graph
    from amem_cli.terminal.output import Console, Row

SHOWN = 5
_SHOWN_CLUSTERS = 8
_MEMBERS_NAMED = 6
_PLACES_NAMED = 2
_LINKS_SHOWN = 12


def show_overview(console: Console, graph: Graph, *, everything: bool = False) -> None:
    """A summary of the network; `everything` is each list in full, not its first few entries."""
    makers = list(graph.makers().values())
    console.print(
        (plural(len(graph.nodes), "note"), "bold"),
        ", ",
        (plural(len(makers), "link"), "bold"),
        f" ({makers.count('machine')} by amem, {makers.count('person')} by you)",
    )
    if not graph.nodes:
        console.print('`amem add "…"` writes the first note')
        return
    titles = {path: on_one_line(note.title) for path, note in graph.nodes.items()}
    left_out = False

    def section(name: str, subtitle: str, rows: Sequence[Row], limit: int = SHOWN) -> None:
        nonlocal left_out
        if not rows:
            return
        console.print()
        console.print((name, "bold cyan"), (f"  {subtitle}", "dim"))
        shown = rows if everything else rows[:limit]
        for row in shown:
            console.print(*row)
        if len(shown) < len(rows):
            left_out = True
            console.print((f"  … and {len(rows) - len(shown)} more", "dim"))

    most = hubs(graph)[: None if everything else SHOWN]
    section("hubs", "linked with the most notes", _counted(most, titles), len(most))
    rows = [
        _cluster_row(cluster.name, cluster.paths, titles, everything=everything)
        for cluster in clusters(graph)
    ]
    section("clusters", "closely linked among themselves", rows, _SHOWN_CLUSTERS)
    disputes = [edge for edge in graph.edges if edge.relation in SUPERSEDING]
    said = "which note contradicts or supersedes which"
    section("disputes", said, _between(disputes, titles))
    strongest = sorted(graph.suggested, key=lambda edge: -(edge.strength or 0.0))
    section("suggested", "`amem links` decides", _between(strongest, titles))
    orphans = sorted(graph.orphans(), key=lambda path: graph.nodes[path].created, reverse=True)
    share = f"{len(orphans)} of {plural(len(graph.nodes), 'note')} without a link"
    newest: list[Row] = [
        (("  ", ""), titles[path], (f"  {on_one_line(path)}", "dim")) for path in orphans
    ]
    section("orphans", share, newest)
    missing = unwritten(graph)
    wanted = f"{plural(len(missing), 'note')}, wanted by {plural(len(graph.broken), 'link')}"
    section("not yet written", wanted, [_missing_row(*each) for each in missing])
    if not graph.edges and len(graph.nodes) > 1:
        console.print("\n`amem evolve --all` looks for links among all notes")
    elif left_out:
        console.print(("\n--verbose shows all of each list", "dim"))


def _counted(rows: Sequence[tuple[str, int]], titles: dict[str, str]) -> list[Row]:
    width = max((len(str(count)) for _, count in rows), default=1)
    return [((f"  {count:>{width}}  ", "green"), titles[path]) for path, count in rows]


def _cluster_row(
    name: str, paths: Sequence[str], titles: dict[str, str], *, everything: bool
) -> Row:
    named = [titles[path] for path in paths if titles[path] != name]
    limit = len(named) if everything else _MEMBERS_NAMED
    more = " …" if len(named) > limit else ""
    members = ", ".join(named[:limit])
    return (
        (f"  {len(paths):>3}  ", "green"),
        (on_one_line(name), "bold"),
        (f"  {members}{more}", "dim"),
    )


def _between(edges: Sequence[Edge], titles: dict[str, str]) -> list[Row]:
    return [
        (
            "  ",
            titles[edge.source],
            (f"  {on_one_line(edge.relation)}  ", "yellow"),
            titles[edge.target],
            (f"  {flowed(edge.reason)}", "dim"),
        )
        for edge in edges
    ]


def _missing_row(target: str, sources: Sequence[str]) -> Row:
    places = named([*map(on_one_line, sources)], _PLACES_NAMED)
    return (
        (f"  {len(sources):>3}  ", "green"),
        (f"[[{on_one_line(target)}]]", "red"),
        (f"  in {places}", "dim"),
    )


def show_neighbourhood(
    console: Console, graph: Graph, branch: Branch, *, everything: bool = False
) -> None:
    """A note's neighbourhood as a tree, with the reason of each link."""
    note = graph.nodes[branch.path]
    console.print((on_one_line(note.title), "bold"), (f"  {on_one_line(branch.path)}", "dim"))
    if not branch.children:
        console.print("no links to or from this note")
        return
    for row in _tree(graph, branch, len(graph.edges) if everything else _LINKS_SHOWN, ""):
        console.print(*row)
    legend = f"→ links to   ← is linked from   ↔ both   {_count_below(branch)}"
    console.print((legend, "dim"))


def _count_below(branch: Branch) -> str:
    levels: list[int] = []
    row = list(branch.children)
    while row:
        levels.append(len(row))
        row = [child for each in row for child in each.children]
    first, *further = levels
    direct = f"{plural(first, 'note')} one link away"
    return direct + "".join(f", {count} at {away}" for away, count in enumerate(further, 2))


def _tree(graph: Graph, branch: Branch, limit: int, guides: str) -> Iterator[Row]:
    shown = branch.children[:limit]
    left = len(branch.children) - len(shown)
    for place, child in enumerate(shown, 1):
        last = place == len(shown) and not left
        reason = flowed(child.edge.reason) if child.edge is not None else ""
        guide = (f"{guides}{'└── ' if last else '├── '}", "dim")
        yield guide, *_label(graph, child), f": {reason}" if reason else ""
        yield from _tree(graph, child, limit, f"{guides}{'    ' if last else '│   '}")
    if left:
        yield ((f"{guides}└── … {left} more (--verbose shows all)", "dim"),)


def _label(graph: Graph, child: Branch) -> Row:
    edge = child.edge
    assert edge is not None
    arrow = "↔" if child.mutual else "→" if edge.target == child.path else "←"
    if edge.suggested:
        arrow = "⇢" if edge.target == child.path else "⇠"
    return (
        (f"{arrow} ", "cyan"),
        (on_one_line(graph.nodes[child.path].title), "bold"),
        (f"  {_who(edge)}", "magenta" if edge.relation else "dim"),
    )


def _who(edge: Edge) -> str:
    relation = on_one_line(edge.relation).replace("_", " ")
    strength = "" if edge.strength is None else f"{edge.strength:.1f}"
    by = "amem" if edge.by == "machine" else "you"
    by = "suggested" if edge.suggested else by
    return ", ".join(part for part in (relation, strength, by) if part)
