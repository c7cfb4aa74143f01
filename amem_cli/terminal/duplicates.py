"""Duplicates and merges, as text and as JSON."""

from __future__ import annotations

import difflib
from collections.abc import Iterator, Sequence
from typing import TYPE_CHECKING, Any

from amem_cli.terminal.output import Styled, first_lines, plural

if TYPE_CHECKING:
    from amem_cli.duplicates.compare import Duplicate
    from amem_cli.duplicates.find import ConflictFile, Duplicates, Group
    from amem_cli.duplicates.merge import Merged
    from amem_cli.index.records import NoteSummary
    from amem_cli.terminal.output import Console

_MAX_LINES = 4
_MAX_DIFF_LINES = 60


def duplicates_document(found: Duplicates) -> dict[str, Any]:
    """The result of `dedupe`."""
    return {
        "groups": [
            {
                "kind": group.kind,
                "keep": _reference(group.kept),
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


def _reference(note: NoteSummary) -> dict[str, Any]:
    return {"id": note.id, "path": note.path, "title": note.title, "created": note.created}


def duplicate_document(found: Duplicate) -> dict[str, Any]:
    """A note with the text of another."""
    return {
        **_reference(found.note),
        "kind": found.kind,
        "similarity": round(found.similarity, 3),
    }


def merged_document(merged: Merged) -> dict[str, Any]:
    """A merge."""
    names = "kept", "removed", "appended", "fields", "redirected", "left"
    return {**{name: getattr(merged, name) for name in names}, "event": merged.event or None}


def show_duplicates(console: Console, found: Duplicates) -> None:
    """Groups of duplicates: the note to keep, and what the others add to it."""
    for group in found.groups:
        _show_group(console, group)
    for conflict in found.conflicts:
        console.print(Styled(("conflict copy", "bold"), f"  {conflict.path}"))
        console.print(Styled(f"  {_advice(conflict)}"))
    among = f"among {plural(found.compared, 'note')}"
    if not (found.groups or found.conflicts):
        console.print(f"no duplicates {among}")
        return
    console.print(Styled((f"{plural(len(found.groups), 'group')} {among}", "dim")))
    if found.groups:
        console.print(Styled(("merge two: amem dedupe --merge KEEP OTHER", "dim")))


def _advice(conflict: ConflictFile) -> str:
    if not conflict.original:
        return "of a missing note; to make it a note, rename it"
    if conflict.same_text:
        return f"has the text of {conflict.original}; delete it"
    return f"differs from {conflict.original}; merge it by hand, then delete it"


def _show_group(console: Console, group: Group) -> None:
    why = "exact" if group.kind == "exact" else "near"
    title = (f"keep  {group.kept.title}", "bold")
    console.print(Styled((f"{why:<6}", "bold cyan"), title, _place(group.kept)))
    for each in group.others:
        score = "same" if each.kind == "exact" else f"{each.similarity:.2f}"
        console.print(Styled(f"      {score:<6}", (each.note.title, "bold"), _place(each.note)))
        for line in _shown(each.beyond):
            console.print(Styled("            ", (f"+ {line}", "green")))
        if each.kind == "near" and not each.beyond:
            console.print(Styled("            ", ("adds nothing to the note to keep", "dim")))


def _place(note: NoteSummary) -> tuple[str, str]:
    day = f"  {note.created[:10]}" if note.created else ""
    private = "  private" if note.private else ""
    return f"  {note.path}{day}{private}", "dim"


def _shown(text: str) -> Iterator[str]:
    return first_lines([line for line in text.splitlines() if line.strip()], _MAX_LINES)


def show_difference(console: Console, kept: str, other: str) -> None:
    """A diff of two notes' texts, the one to keep first."""
    lines = list(difflib.unified_diff(kept.splitlines(), other.splitlines(), lineterm="", n=2))
    styles = {"+": "green", "-": "red", "@": "cyan"}
    # The first two lines are the header, for names of files that these texts do not have.
    for line in first_lines(lines[2:], _MAX_DIFF_LINES):
        console.print(Styled("  ", (line, styles.get(line[:1], "dim"))))
    if not lines:
        console.print("  the texts are the same")


def show_merges(console: Console, merges: Sequence[Merged], problems: Sequence[str]) -> None:
    """What was merged, and how to undo it."""
    for merged in merges:
        # Only a merge that was made has an event; a dry run must not claim one.
        would = "" if merged.event else "would be "
        console.print(Styled((merged.removed, "bold"), f" → {would}merged into {merged.kept}"))
        # The appended text begins with a rule, which would take one of the few lines.
        for line in _shown(merged.appended.replace("---", "", 1)):
            console.print(Styled("  ", (f"+ {line}", "green")))
        if merged.fields:
            console.print(f"  changed: {', '.join(merged.fields)}")
        for path in merged.redirected:
            console.print(Styled(f"  redirected links in {path}"))
        for line in merged.left:
            console.print(Styled(("  ! ", "yellow"), line))
        if merged.event:
            console.print(Styled((f"  to revert: amem undo {merged.event}", "dim")))
    for problem in problems:
        console.print(Styled(("! ", "yellow"), problem))
    if not (merges or problems):
        console.print("nothing to merge")
