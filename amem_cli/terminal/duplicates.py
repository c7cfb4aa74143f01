"""Duplicates and merges, as text and as JSON."""

from __future__ import annotations

import difflib
from collections.abc import Iterator, Sequence
from typing import TYPE_CHECKING, Any

from amem_cli.terminal.output import Styled

if TYPE_CHECKING:
    from amem_cli.duplicates.find import ConflictFile, Duplicate, Duplicates, Group
    from amem_cli.duplicates.merge import Merged
    from amem_cli.index.records import NoteSummary
    from amem_cli.terminal.output import Console

_MOST_LINES = 4
_MOST_IN_DIFF = 60
_LINE_LENGTH = 120


def duplicates_document(found: Duplicates) -> dict[str, Any]:
    """What `dedupe` found."""
    return {
        "groups": [
            {
                "kind": group.kind,
                "keep": note_reference(group.kept),
                "duplicates": [
                    {**duplicate_document(each), "beyond": each.beyond} for each in group.others
                ],
            }
            for group in found.groups
        ],
        "conflict_copies": [
            {"path": each.path, "note": each.original or None, "same_text": each.same_text}
            for each in found.conflicts
        ],
        "compared": found.compared,
        "by_meaning": found.by_meaning,
    }


def note_reference(note: NoteSummary) -> dict[str, Any]:
    """A note by its names."""
    return {"id": note.id, "path": note.path, "title": note.title, "created": note.created}


def duplicate_document(found: Duplicate) -> dict[str, Any]:
    """One note that says what another says."""
    return {
        **note_reference(found.note),
        "kind": found.kind,
        "similarity": round(found.similarity, 3),
    }


def merged_document(merged: Merged) -> dict[str, Any]:
    """What one merge did."""
    return {
        "kept": merged.kept,
        "removed": merged.removed,
        "event": merged.event or None,
        "appended": merged.appended,
        "fields": list(merged.fields),
        "redirected": list(merged.redirected),
        "left": list(merged.left),
    }


def show_duplicates(console: Console, found: Duplicates) -> None:
    """Groups with why, which note would be kept, and what the others have beyond it."""
    for group in found.groups:
        _show_group(console, group)
    for conflict in found.conflicts:
        console.print(Styled(("conflict copy", "bold"), f"  {conflict.path}"))
        console.print(Styled(f"  {_advice(conflict)}"))
    count = len(found.groups)
    among = f"among {found.compared} note{'' if found.compared == 1 else 's'}"
    if not (count or found.conflicts):
        console.print(f"no duplicates {among}")
        return
    groups = "1 group" if count == 1 else f"{count} groups"
    console.print(Styled((f"{groups} {among}", "dim")))
    if count:
        console.print(Styled(("merge two: amem dedupe --merge KEEP OTHER", "dim")))


def _advice(conflict: ConflictFile) -> str:
    if not conflict.original:
        return "of a note that is not there; rename it to make it one"
    if conflict.same_text:
        return f"holds the text of {conflict.original}; delete it"
    return f"differs from {conflict.original}; merge it into that by hand and delete it"


def _show_group(console: Console, group: Group) -> None:
    why = "exact" if group.kind == "exact" else "near"
    console.print(
        Styled(
            (f"{why:<6}", "bold cyan"), (f"keep  {group.kept.title}", "bold"), _place(group.kept)
        )
    )
    for each in group.others:
        score = "same" if each.kind == "exact" else f"{each.similarity:.2f}"
        console.print(Styled(f"      {score:<6}", (each.note.title, "bold"), _place(each.note)))
        for line in _first_lines(each.beyond):
            console.print(Styled("            ", (f"+ {line}", "green")))
        if each.kind == "near" and not each.beyond:
            console.print(Styled("            ", ("nothing that the kept note lacks", "dim")))


def _place(note: NoteSummary) -> tuple[str, str]:
    day = f"  {note.created[:10]}" if note.created else ""
    private = "  private" if note.private else ""
    return f"  {note.path}{day}{private}", "dim"


def _first_lines(text: str) -> Iterator[str]:
    lines = [line for line in text.splitlines() if line.strip()]
    for line in lines[:_MOST_LINES]:
        yield line if len(line) <= _LINE_LENGTH else f"{line[:_LINE_LENGTH]}…"
    if len(lines) > _MOST_LINES:
        yield f"… and {len(lines) - _MOST_LINES} more lines"


def show_difference(console: Console, kept: str, other: str) -> None:
    """A diff of two notes' texts, the kept one first."""
    lines = list(difflib.unified_diff(kept.splitlines(), other.splitlines(), lineterm="", n=2))
    styles = {"+": "green", "-": "red", "@": "cyan"}
    for line in lines[2 : 2 + _MOST_IN_DIFF]:
        cut = line if len(line) <= _LINE_LENGTH else f"{line[:_LINE_LENGTH]}…"
        console.print(Styled("  ", (cut, styles.get(line[:1], "dim"))))
    if len(lines) > _MOST_IN_DIFF + 2:
        console.print(f"  … and {len(lines) - _MOST_IN_DIFF - 2} more lines")
    if not lines:
        console.print("  the texts are the same")


def show_merges(console: Console, merges: Sequence[Merged], problems: Sequence[str]) -> None:
    """What was merged, and how to take it back."""
    for merged in merges:
        would = "" if merged.event else "would be "
        console.print(Styled((merged.removed, "bold"), f" → {would}in {merged.kept}"))
        for line in _first_lines(merged.appended.replace("---", "", 1)):
            console.print(Styled("  ", (f"+ {line}", "green")))
        if merged.fields:
            console.print(f"  changed: {', '.join(merged.fields)}")
        for path in merged.redirected:
            console.print(Styled(f"  links redirected in {path}"))
        for line in merged.left:
            console.print(Styled(("  ! ", "yellow"), line))
        if merged.event:
            console.print(Styled((f"  amem undo {merged.event} takes it back", "dim")))
    for problem in problems:
        console.print(Styled(("! ", "yellow"), problem))
    if not (merges or problems):
        console.print("nothing to merge")
