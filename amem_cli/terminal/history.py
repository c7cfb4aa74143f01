"""What the journal tells, and what waits for a decision, as text and as JSON."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import TYPE_CHECKING, Any

from amem_cli.journal.events import Event, to_record
from amem_cli.journal.provenance import gives_identity
from amem_cli.language.safe_text import flowed, on_one_line
from amem_cli.markdown.plain_text import plain_text
from amem_cli.search.snippet import window
from amem_cli.terminal.notes import change_lines, link_words
from amem_cli.terminal.output import first_lines, plural, titled

if TYPE_CHECKING:
    from amem_cli.editing.history import HistoryEntry
    from amem_cli.editing.review import Decisions, ReviewItem
    from amem_cli.journal.events import LinkRecord
    from amem_cli.search.suggestions import OpenLink
    from amem_cli.terminal.output import Console

_MAX_DIFF_LINES = 6
_LONGEST_BEGINNING = 160
# Letters of a note with its markup, of which the beginning is shown.
_SHOWN_OF_BODY = 2_000
_UNDONE_SHOWN = 20


def entry_document(entry: HistoryEntry) -> dict[str, Any]:
    """An event as in the journal, with titles for a reader."""
    document = {**to_record(entry.event), "title": entry.title}
    if entry.because:
        document["because"] = entry.because
    if entry.undone_by:
        document["undone_by"] = entry.undone_by
    return document


def show_history(
    console: Console, entries: Sequence[HistoryEntry], *, one_note: bool, verbose: bool = False
) -> None:
    """Events, newest first, each with who, why, at what cost, before and after."""
    shown = [
        entry
        for entry in entries
        if verbose or entry.event.kind != "process" or entry.event.problems
    ]
    if not shown:
        console.print("nothing recorded")
    for entry in reversed(shown):
        event = entry.event
        moment = (event.time[:16].replace("T", " "), "dim")
        sentence = (_sentence(entry, one_note), "bold dim" if entry.undone_by else "bold")
        undone = f"  (taken back by {entry.undone_by})" if entry.undone_by else ""
        number = (f"  {event.id}", "dim")
        console.print(moment, "  ", sentence, (undone, "yellow"), number)
        for text, style in _details(event):
            console.print("    ", (text, style))


def _sentence(entry: HistoryEntry, one_note: bool) -> str:
    event = entry.event
    note = "it" if one_note and not entry.elsewhere else f"“{entry.title}”"
    who = _author(event)
    sentence = f"{who} {_deed(event, note)}"
    if event.kind == "merge" and entry.because:
        return f"{sentence} into “{entry.because}”"
    if entry.elsewhere:
        return f"because of it, {sentence}"
    return f"because of “{entry.because}”, {sentence}" if entry.because else sentence


def _author(event: Event) -> str:
    if event.by != "person":
        return "amem"
    client = event.extra.get("client")
    # A foreign journal may name a client with a line break, which would fake another event.
    return f"the agent {on_one_line(client)}" if isinstance(client, str) and client else "you"


def _deed(event: Event, note: str) -> str:
    what = _what(event)
    of_note, links = (
        (f"its {what}", "its links") if note == "it" else (f"{what} of {note}", f"links of {note}")
    )
    deeds = {
        "add": f"added {note}",
        "process": f"read {note}",
        "construct": f"wrote {of_note}",
        "link": f"linked {note}" if event.links and not event.links_before else f"changed {links}",
        "evolve": f"changed {of_note}",
        "edit": f"changed {of_note}",
        "move": f"moved {note}",
        "remove": f"removed {note}",
        "merge": f"merged {note}",
        "undo": f"took back a change of {of_note}",
        "reject": f"rejected a {what if event.suggested else 'change'} of {note}",
        "release": f"edited {of_note} by hand",
        "baseline": f"created a vault of {plural(len(event.known), 'note')}",
    }
    # A newer version may have written other kinds.
    return deeds.get(event.kind, f"{event.kind} {note}")


def _fields(event: Event) -> list[str]:
    return [each.field for each in event.changes if not gives_identity(each)]


def _what(event: Event) -> str:
    fields = _fields(event)
    if event.kind in ("reject", "undo") and event.suggested:
        return "suggestion"
    if event.stated:
        return "relations"
    return _listing(fields) or ("links" if event.links_before else "text")


def undone_lines(events: Sequence[Event], *, verbose: bool) -> list[str]:
    shown = events if verbose else events[:_UNDONE_SHOWN]
    more = len(events) - len(shown)
    rest = [f"… and {plural(more, 'more change')} (--verbose names them)"] if more else []
    return [*map(_undone_line, shown), *rest]


def _undone_line(event: Event) -> str:
    whole = {
        "move": "move",
        "remove": "removal",
        "merge": "merge",
        "process": "whole change",
        "undo": "undo",
        "reject": "rejection",
    }
    written = _what(event) if event.kind in ("construct", "link") else f"change of {_what(event)}"
    return f"took back the {whole.get(event.kind, written)} of {event.path}  {event.id}"


def _details(event: Event) -> Iterator[tuple[str, str]]:
    if event.reason:
        yield event.reason, "italic"
    cost = _cost(event)
    if cost:
        yield cost, "dim"
    for change in event.changes:
        if change.field != "links" and not gives_identity(change):
            for text, style in change_lines(change):
                yield f"{change.field:<9}{text}", style
    yield from _links(event)
    for link in event.suggested:
        yield f"suggested {_named(link)}{link_words(link)}", "dim"
    for link in event.stated:
        yield f"says of {_named(link)}{link_words(link)}", "dim"
    if not event.changes and event.splice is not None:
        texts = ((event.splice.removed, "-", "red"), (event.splice.inserted, "+", "green"))
        for text, mark, style in texts:
            for line in first_lines(text.splitlines(), _MAX_DIFF_LINES, 160):
                yield f"{mark} {line}", style
    for change in event.proposed:
        for text, _ in change_lines(change):
            yield f"{change.field:<9}{text}", "dim"
    for problem in event.problems:
        yield f"! {problem}", "yellow"


def _links(event: Event) -> Iterator[tuple[str, str]]:
    reasons = {link.text: link for link in (*event.links_before, *event.links)}
    for change in event.changes:
        for text, style in change_lines(change) if change.field == "links" else []:
            link = reasons.get(text[2:])
            yield f"{'links':<9}{text}{link_words(link) if link else ''}", style
    if not event.changes and event.kind != "reject":
        after = {link.target: link for link in event.links}
        for link in event.links_before:
            for text, style in link_change_lines(link, after.get(link.target)):
                yield f"{'links':<9}{text}", style


def link_change_lines(before: LinkRecord, after: LinkRecord | None) -> list[tuple[str, str]]:
    """A link that was changed, or removed, as the lines of a diff; one that was kept as it is."""
    if (
        after is not None
        and (before.text, before.relation) == (after.text, after.relation)
        and (before.by, after.by) == ("machine", "person")
    ):
        return [(f"kept {_named(after)}{link_words(after)}", "green")]
    removed = [(f"- {_named(before)}{link_words(before)}", "red")]
    return removed + ([(f"+ {_named(after)}{link_words(after)}", "green")] if after else [])


def _named(link: LinkRecord) -> str:
    """The link as its property has it; of a link in a person's text, the note that it leads to."""
    return link.text or link.path


def _cost(event: Event) -> str:
    parts = [event.model, event.prompt]
    if event.calls:
        tokens = f"{event.prompt_tokens} + {event.answer_tokens} tokens"
        parts += [plural(event.calls, "call"), tokens, f"{event.seconds:.1f} s"]
    if event.review:
        parts.append(f"{event.review} by you")
    return ", ".join(part for part in parts if part)


def _listing(names: Sequence[str]) -> str:
    if len(names) < 2:
        return "".join(names)
    return f"{', '.join(names[:-1])} and {names[-1]}"


def show_link(console: Console, link: OpenLink, *, beginnings: Mapping[str, str]) -> None:
    """One link, with what its two notes say."""
    _show_ends(console, link)
    for note in (link.source, link.target):
        about = flowed(note.context or beginnings.get(note.path, "")).strip()[:_LONGEST_BEGINNING]
        if about:
            console.print((f"  {on_one_line(note.title)}: ", "dim"), about)
    console.print("  ", (flowed(link.reason), "italic"))


def _show_ends(console: Console, link: OpenLink) -> None:
    source, target = titled(link.source), titled(link.target)
    arrow = " ⇢ " if link.suggested else " → "
    relation = on_one_line(link.relation).replace("_", " ")
    what = f"  {relation}, {link.strength:.2f}"
    console.print(source, (arrow, "cyan"), target, (what, "magenta"))


def show_links(console: Console, links: Sequence[OpenLink], *, left_out: int) -> None:
    """All that wait, those that amem made first."""
    for heading, suggested in (("made by amem", False), ("suggested", True)):
        chosen = [link for link in links if link.suggested is suggested]
        if chosen:
            console.print((heading, "bold cyan"))
        for link in chosen:
            _show_ends(console, link)
            if link.reason:
                console.print("    ", flowed(link.reason))
    if not links:
        console.print("no link waits for a decision")
    if left_out:
        console.print((f"… and {left_out} more: --limit {len(links) + left_out} lists all", "dim"))


def show_decided(console: Console, kept: Sequence[OpenLink], rejected: Sequence[OpenLink]) -> None:
    for mark, decided in (("→", kept), ("↛", rejected)):
        for link in decided:
            ends = (on_one_line(note.title) for note in (link.source, link.target))
            console.print(f" {mark} ".join(ends))
    console.print(f"{plural(len(kept), 'link')} kept, {len(rejected)} rejected")


def waiting_document(waiting: ReviewItem) -> dict[str, Any]:
    """A proposal; `before` and `after` are what accepting it would do now."""
    proposal = waiting.proposal
    change = waiting.change or proposal.change
    before, after = (
        link and {"relation": link.relation, "strength": link.strength}
        for link in (waiting.link_before, waiting.link_after)
    )
    path = waiting.link_before and waiting.link_before.path
    link = {"link": {"path": path, "before": before, "after": after}} if before else {}
    return {
        "proposal": proposal.id,
        "time": proposal.time,
        "id": proposal.note or None,
        "path": waiting.path,
        "title": waiting.title,
        "field": change.field,
        "before": change.before,
        "after": change.after,
        **link,
        "relation": proposal.relation or None,
        "reason": proposal.reason,
        "because": {"note": proposal.trigger, "title": waiting.because},
        "model": proposal.model,
        "outdated": waiting.outdated or None,
        "blocked": waiting.blocked or None,
    }


def review_document(left: Sequence[ReviewItem], decisions: Decisions) -> dict[str, Any]:
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


_MARKS = {"supersedes": "superseded", "contradicts": "contradicted"}


def show_waiting(console: Console, waiting: ReviewItem) -> None:
    proposal = waiting.proposal
    place = (f"  {waiting.path}  {proposal.id}", "dim")
    console.print((waiting.title, "bold"), place)
    console.print("  because of ", (f"“{waiting.because}”", "cyan"))
    if proposal.reason:
        console.print("  ", (proposal.reason, "italic"))
    if says := flowed(plain_text(waiting.body[:_SHOWN_OF_BODY])).strip():
        says = window(says, 0, _LONGEST_BEGINNING)
        console.print((f"  “{waiting.title}” says: ", "dim"), says)
    if waiting.change is None:
        why = "not possible now: " if waiting.blocked else "no longer applies: "
        console.print((f"  {why}", "yellow"), waiting.blocked or waiting.outdated)
        return
    lines = change_lines(waiting.change)
    if waiting.link_before is not None:
        # A link's text is the same before and after if only its relation or strength changes.
        lines = link_change_lines(waiting.link_before, waiting.link_after)
    for text, style in lines:
        console.print(f"  {waiting.change.field:<9}", (text, style))
    if mark := _MARKS.get(proposal.relation):
        console.print((f"  accepting it also marks the note as {mark} by that one", "dim"))


def show_all_waiting(console: Console, waiting: Sequence[ReviewItem]) -> None:
    if not waiting:
        console.print("no proposals to review")
    for each in waiting:
        show_waiting(console, each)


def show_decisions(console: Console, decisions: Decisions) -> None:
    for name, group in (
        ("accepted", decisions.accepted),
        ("rejected", decisions.rejected),
        ("dropped, no longer applicable", decisions.outdated),
    ):
        if group:
            titles = ", ".join(dict.fromkeys(each.title for each in group))
            console.print(f"{name}: {len(group)}", (f"  ({titles})", "dim"))
    for problem in decisions.problems:
        console.print(("! ", "yellow"), f"{problem.path}: {problem.message}")
