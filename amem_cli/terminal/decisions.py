"""Links and proposed changes that wait for a person's decision, and what was decided."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any

from amem_cli.language.safe_text import on_one_line
from amem_cli.terminal.history import link_change_lines
from amem_cli.terminal.notes import change_lines
from amem_cli.terminal.output import Styled, plural

if TYPE_CHECKING:
    from amem_cli.editing.review import Decisions, ReviewItem
    from amem_cli.journal.events import LinkRecord
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


def waiting_document(waiting: ReviewItem) -> dict[str, Any]:
    """A proposal; `before` and `after` are what accepting it would do now."""
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
    """What a proposal would change in a link."""
    if before is None:
        return {}
    was = {"relation": before.relation, "strength": before.strength}
    new = None if after is None else {"relation": after.relation, "strength": after.strength}
    return {"link": {"path": before.path, "before": was, "after": new}}


def review_document(left: Sequence[ReviewItem], decisions: Decisions) -> dict[str, Any]:
    """The proposals left, and the decisions just made."""
    groups = {
        "waiting": left,
        "accepted": decisions.accepted,
        "rejected": decisions.rejected,
        "outdated": decisions.outdated,
    }
    problems = [f"{problem.path}: {problem.message}" for problem in decisions.problems]
    return {name: list(map(waiting_document, group)) for name, group in groups.items()} | {
        "problems": problems
    }


def show_waiting(console: Console, waiting: ReviewItem) -> None:
    """A proposal with its reason and a diff."""
    proposal = waiting.proposal
    place = (f"  {waiting.path}  {proposal.id}", "dim")
    console.print(Styled((waiting.title, "bold"), place))
    console.print(Styled("  because of ", (f"“{waiting.because}”", "cyan")))
    if proposal.reason:
        console.print(Styled("  ", (proposal.reason, "italic")))
    if waiting.change is None:
        why = "not possible now: " if waiting.blocked else "no longer applies: "
        console.print(Styled((f"  {why}", "yellow"), waiting.blocked or waiting.outdated))
        return
    lines = change_lines(waiting.change)
    if waiting.link_before is not None:
        # A link's text is the same before and after if only its relation or strength changes.
        lines = link_change_lines(waiting.link_before, waiting.link_after)
    for text, style in lines:
        console.print(Styled(f"  {waiting.change.field:<9}", (text, style)))


def show_all_waiting(console: Console, waiting: Sequence[ReviewItem]) -> None:
    """Every proposal, by note."""
    if not waiting:
        console.print("no proposals to review")
    for each in waiting:
        show_waiting(console, each)


def show_decisions(console: Console, decisions: Decisions) -> None:
    """The decisions, a line for each kind."""
    for name, group in (
        ("accepted", decisions.accepted),
        ("rejected", decisions.rejected),
        ("dropped, no longer applicable", decisions.outdated),
    ):
        if group:
            titles = ", ".join(dict.fromkeys(each.title for each in group))
            console.print(Styled(f"{name}: {len(group)}", (f"  ({titles})", "dim")))
    for problem in decisions.problems:
        console.print(Styled(("! ", "yellow"), f"{problem.path}: {problem.message}"))
