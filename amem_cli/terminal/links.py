"""Links that wait for a person's decision, as text."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING

from amem_cli.language.safe_text import on_one_line
from amem_cli.terminal.output import Styled, plural

if TYPE_CHECKING:
    from amem_cli.search.suggestions import OpenLink
    from amem_cli.terminal.hyperlinks import Hyperlinks
    from amem_cli.terminal.output import Console

_LONGEST_BEGINNING = 160


def show_link(
    console: Console, link: OpenLink, hyperlinks: Hyperlinks, *, beginnings: Mapping[str, str]
) -> None:
    """One link, with what its two notes say.

    Args:
        beginnings: of the texts of notes without a context, by path.
    """
    _show_ends(console, link, hyperlinks)
    for note in (link.source, link.target):
        about = on_one_line(note.context or beginnings.get(note.path, ""))[:_LONGEST_BEGINNING]
        if about:
            console.print(Styled((f"  {on_one_line(note.title)}: ", "dim"), about))
    console.print(Styled("  ", (link.reason, "italic")))


def _show_ends(console: Console, link: OpenLink, hyperlinks: Hyperlinks) -> None:
    source, target = (
        (on_one_line(note.title), hyperlinks.to(note.path, "bold"))
        for note in (link.source, link.target)
    )
    arrow = " ⇢ " if link.suggested else " → "
    relation = on_one_line(link.relation).replace("_", " ")
    what = f"  {relation}, {link.strength:.2f}"
    console.print(Styled(source, (arrow, "cyan"), target, (what, "magenta")))


def show_links(
    console: Console, links: Sequence[OpenLink], hyperlinks: Hyperlinks, *, left_out: int
) -> None:
    """All that wait, those that amem made first."""
    for heading, suggested in (("made by amem", False), ("suggested", True)):
        chosen = [link for link in links if link.suggested is suggested]
        if chosen:
            console.print(Styled((heading, "bold cyan")))
        for link in chosen:
            _show_ends(console, link, hyperlinks)
            if link.reason:
                console.print(Styled("    ", link.reason))
    if not links:
        console.print("no link waits for a decision")
    if left_out:
        console.print(Styled((f"… and {left_out} more: --limit", "dim")))


def show_decided(console: Console, kept: Sequence[OpenLink], rejected: Sequence[OpenLink]) -> None:
    """What was just decided, and how much."""
    for mark, decided in (("→", kept), ("↛", rejected)):
        for link in decided:
            ends = (on_one_line(note.title) for note in (link.source, link.target))
            console.print(Styled(f" {mark} ".join(ends)))
    console.print(f"{plural(len(kept), 'link')} kept, {len(rejected)} rejected")
