"""Waiting proposals and decisions, as text and as JSON."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

from amem_cli.rendering.console import Styled
from amem_cli.rendering.text import change_lines, link_words
from amem_cli.services.review import Decisions, Waiting

if TYPE_CHECKING:
    from amem_cli.core.journal import LinkRecord
    from amem_cli.rendering.console import Console


def waiting_document(waiting: Waiting) -> dict[str, Any]:
    """One proposal; `before` and `after` are what accepting it would do today."""
    proposal = waiting.proposal
    change = waiting.change or proposal.change
    return {
        "proposal": proposal.id,
        "time": proposal.time,
        "id": proposal.note or None,
        "path": waiting.path,
        "title": waiting.title,
        "field": change.field,
        "before": change.before,
        "after": change.after,
        **_link(waiting.link_before, waiting.link_after),
        "reason": proposal.reason,
        "because": {"note": proposal.trigger, "title": waiting.because},
        "model": proposal.model,
        "outdated": waiting.outdated or None,
        "blocked": waiting.blocked or None,
    }


def _link(before: LinkRecord | None, after: LinkRecord | None) -> dict[str, Any]:
    """What a proposal about a link would do to it."""
    if before is None:
        return {}
    was = {"relation": before.relation, "strength": before.strength}
    new = None if after is None else {"relation": after.relation, "strength": after.strength}
    return {"link": {"path": before.path, "before": was, "after": new}}


def review_document(left: Sequence[Waiting], decisions: Decisions) -> dict[str, Any]:
    """What waits, and what has just been decided."""
    return {
        "waiting": [waiting_document(each) for each in left],
        "accepted": [waiting_document(each) for each in decisions.accepted],
        "rejected": [waiting_document(each) for each in decisions.rejected],
        "outdated": [waiting_document(each) for each in decisions.outdated],
        "problems": [f"{problem.path}: {problem.message}" for problem in decisions.problems],
    }


def show_waiting(console: Console, waiting: Waiting) -> None:
    """One proposal with its reason and a diff."""
    proposal = waiting.proposal
    console.print(
        Styled(
            (waiting.title, "bold"),
            (f"  {waiting.path}", "dim"),
            (f"  {proposal.id}", "dim"),
        )
    )
    console.print(Styled("  because of ", (f"“{waiting.because}”", "cyan")))
    if proposal.reason:
        console.print(Styled("  ", (proposal.reason, "italic")))
    if waiting.change is None:
        why = "cannot be done now: " if waiting.blocked else "no longer fits: "
        console.print(Styled((f"  {why}", "yellow"), waiting.blocked or waiting.outdated))
        return
    if waiting.link_before is not None:
        _show_link(console, waiting.link_before, waiting.link_after)
        return
    for text, style in change_lines(waiting.change):
        console.print(Styled(f"  {waiting.change.field:<9}", (text, style)))


def _show_link(console: Console, before: LinkRecord, after: LinkRecord | None) -> None:
    gone = f"- {before.text}{link_words(before)}"
    console.print(Styled(f"  {'links':<9}", (gone, "red")))
    if after is not None:
        new = f"+ {after.text}{link_words(after)}"
        console.print(Styled(f"  {'links':<9}", (new, "green")))


def show_all_waiting(console: Console, waiting: Sequence[Waiting]) -> None:
    """Every proposal, by note."""
    if not waiting:
        console.print("nothing waits for review")
    for each in waiting:
        show_waiting(console, each)


def show_decisions(console: Console, decisions: Decisions) -> None:
    """What became of the proposals, in one line a kind."""
    for name, group in (
        ("accepted", decisions.accepted),
        ("turned down", decisions.rejected),
        ("dropped, no longer fitting", decisions.outdated),
    ):
        if group:
            titles = ", ".join(dict.fromkeys(each.title for each in group))
            console.print(Styled(f"{name}: {len(group)}", (f"  ({titles})", "dim")))
    for problem in decisions.problems:
        console.print(Styled(("! ", "yellow"), f"{problem.path}: {problem.message}"))
