"""One note as a person reads it on a terminal."""

from __future__ import annotations

from typing import TYPE_CHECKING

from amem_cli.rendering.console import Styled
from amem_cli.rendering.text import show_standing

if TYPE_CHECKING:
    from amem_cli.rendering.console import Console
    from amem_cli.services.show import NoteView


def show_note(console: Console, view: NoteView) -> None:
    """Metadata, text, and links in both directions with their reasons."""
    summary = view.summary
    console.print(Styled((summary.title, "bold")))
    place = "  ".join(part for part in (summary.id or "", summary.created, summary.path) if part)
    console.print(Styled((place, "dim")))
    show_standing(console, view.standing.superseded_by, view.standing.contradicted_by)
    if summary.context:
        console.print(Styled((summary.context, "italic")))
    if summary.keywords:
        console.print(Styled(("keywords  ", "cyan"), ", ".join(summary.keywords)))
    if summary.tags:
        console.print(Styled(("tags      ", "cyan"), " ".join(f"#{tag}" for tag in summary.tags)))
    if summary.refused:
        console.print(Styled(("problem   ", "yellow"), summary.refused))
    console.print()
    console.print(Styled(view.note.body.strip("\n")))
    if view.links:
        console.print()
    for link in view.links:
        arrow = "→" if link.outgoing else "←"
        parts: list[str | tuple[str, str]] = [(f"{arrow} ", "cyan"), (link.title, "bold")]
        if link.record is not None:
            by = " by amem" if link.record.by == "machine" else ""
            parts.append((f"  {link.record.relation.replace('_', ' ')}{by}", "magenta"))
            if link.record.reason:
                parts.append(f"  {link.record.reason}")
        console.print(Styled(*parts))
