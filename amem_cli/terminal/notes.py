"""Notes, search hits, what amem wrote for a note, and answers, as text."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

from amem_cli.language.safe_text import on_one_line
from amem_cli.system.command_lines import joined
from amem_cli.terminal.output import Console, Hyperlinks, Styled, plural
from amem_cli.workspace.documents import CITATION, document

if TYPE_CHECKING:
    from amem_cli.ask.ask import Answer
    from amem_cli.index.records import NoteSummary
    from amem_cli.journal.events import Change, LinkRecord
    from amem_cli.memory.outcome import ChangedLink, Outcome
    from amem_cli.search.read import LinkView, NoteView
    from amem_cli.search.search import Hit
    from amem_cli.workspace.workspace import SearchResult

# Of notes linked with the hits, and of the nearest if nothing is close, so many are shown.
_LINKED_SHOWN = 3
_NEAREST_SHOWN = 3


def show_hits(
    console: Console, result: SearchResult, hyperlinks: Hyperlinks, *, all_linked: bool = False
) -> None:
    """Hits, best first, then those that are not close and what links brought in, a line each.

    Args:
        all_linked: show all of those, not only the first few.
    """
    hits = result.hits
    if result.problem:
        console.print(Styled((result.problem, "yellow")))
        for hit in hits[:_NEAREST_SHOWN]:
            _show_nearest(console, hit, "", hyperlinks)
        return
    titles: dict[str | None, str] = {hit.note.key: hit.note.title for hit in hits}
    close = {hit.note.key for hit in hits if hit.close}
    linked, weak = [], []
    for hit in hits:
        supersedes = _supersedes(hit, hits)
        if hit.via is not None and not supersedes:
            linked.append(hit)
            continue
        if not hit.close:
            weak.append(hit)
            continue
        score = (f"{hit.score:.2f}  ", "green"), ("↳ " if supersedes else "", "cyan")
        title = (hit.note.title, hyperlinks.to(hit.note.path, "bold"))
        console.print(Styled(*score, title, (f"  {hit.note.path}", "dim")))
        if supersedes:
            console.print(
                Styled("      ", (f"supersedes “{titles.get(hit.via, hit.via)}”", "cyan"))
            )
        show_supersession(console, hit.superseded_by, hit.contradicted_by, indent="      ")
        if hit.snippet:
            console.print(Styled("      ", *_marked(hit)))
        if hit.note.tags:
            console.print(Styled("      ", (" ".join(f"#{tag}" for tag in hit.note.tags), "dim")))
    if weak:
        console.print(Styled(("not close:", "dim")))
    for hit in weak:
        _show_nearest(console, hit, "dim", hyperlinks)
    shown = linked if all_linked else [hit for hit in linked if hit.via in close][:_LINKED_SHOWN]
    for hit in shown:
        why = f"  linked with “{titles.get(hit.via, hit.via)}”"
        title = (hit.note.title, hyperlinks.to(hit.note.path))
        console.print(Styled(("↳ ", "cyan"), title, (why, "cyan")))
    if len(shown) < len(linked):
        more = f"↳ {len(linked) - len(shown)} more linked: --neighbors shows them"
        console.print(Styled((more, "dim")))


def _show_nearest(console: Console, hit: Hit, style: str, hyperlinks: Hyperlinks) -> None:
    """A hit that is not close, on one line."""
    nearest = (f"  ~ {hit.score:.2f}  ", "yellow")
    title = (hit.note.title, hyperlinks.to(hit.note.path, style))
    console.print(Styled(nearest, title, (f"  {hit.note.path}", "dim")))
    show_supersession(console, hit.superseded_by, hit.contradicted_by, indent="      ")


def _supersedes(hit: Hit, hits: Sequence[Hit]) -> bool:
    """Whether a hit was brought in because it supersedes another one."""
    older = next((each for each in hits if each.note.key == hit.via), None)
    newer = () if older is None else older.superseded_by
    return any(each.path == hit.note.path for each in newer)


def show_supersession(
    console: Console,
    superseded_by: Sequence[NoteSummary],
    contradicted_by: Sequence[NoteSummary],
    *,
    indent: str = "",
) -> None:
    """Which notes supersede and contradict a note, a line each."""
    kinds = (("superseded", superseded_by), ("contradicted", contradicted_by))
    for kind, note in ((kind, note) for kind, notes in kinds for note in notes):
        since = f" since {note.made[:10]}" if note.made else ""
        name = f"“{note.title}”"
        console.print(Styled((f"{indent}{kind} by ", "yellow"), name, (since, "yellow")))


def _marked(hit: Hit) -> list[str | tuple[str, str]]:
    """The snippet with the words of the query highlighted."""
    parts: list[str | tuple[str, str]] = []
    end = 0
    for start, stop in hit.marks:
        parts += [hit.snippet[end:start], (hit.snippet[start:stop], "bold yellow")]
        end = stop
    return [*parts, hit.snippet[end:]]


# Lines about one note, so that a run over many can be read.
_MOST_LINES = 6


def show_outcome(
    console: Console,
    outcome: Outcome,
    *,
    headed: bool = True,
    brief: bool = False,
    cut: bool = False,
    verbose: bool = False,
) -> None:
    """What the memory process wrote, linked and evolved, and why.

    Args:
        headed: begin with the note's title and path.
        brief: in at most six lines, which a narrow terminal wraps.
        cut: cut these lines to the terminal's width instead, as in a run over many notes.
        verbose: every problem as it is.
    """
    if headed:
        heading = (outcome.title, "bold"), (f"  {outcome.path}", "dim")
        console.print(Styled(*heading, one_line=cut))
    meta = outcome.metadata
    fields = (
        ("keywords", ", ".join(meta.keywords)),
        ("tags", " ".join(f"#{tag}" for tag in meta.tags)),
        ("context", meta.context),
    )
    rows = [(name, value) for name, value in fields if value or name in outcome.written]
    for name, value in rows:
        # What amem wrote is the news.
        mark = "" if outcome.pending or name in outcome.written else " (kept)"
        mark = mark if value else "removed, as it no longer fits"
        console.print(Styled((f"  {name:<9}", "cyan"), value, (mark, "dim"), one_line=cut))
    problems = list(outcome.problems) if verbose else without_rejected_parts(outcome.problems)
    advice = ""
    if brief:
        if outcome.pending and len(problems) > 1:
            advice = f"{problems.pop()} "
        problems = ["; ".join(problems)] if problems else []
        room = _MOST_LINES - 1 - len(rows) - len(problems) - outcome.pending
        room -= bool(outcome.suggested)
        for label, text in _brief_changes(outcome, max(1, room)):
            console.print(Styled((f"  {label:<9}", "cyan"), text, one_line=cut))
    else:
        _show_changes(console, outcome)
    if outcome.suggested:
        console.print(Styled(("  suggested", "cyan"), " ", suggestion_line(outcome), one_line=cut))
    for problem in problems:
        console.print(Styled(("  note     ", "yellow"), problem))
    if outcome.pending:
        what = "asks the model again" if outcome.failed else "writes metadata and links"
        console.print(Styled(("  pending  ", "yellow"), f"{advice}`amem evolve` {what}"))


def suggestion_line(outcome: Outcome) -> str:
    """How many links are suggested, and the command that decides on them."""
    # A title may be another note's too.
    name = joined([on_one_line(outcome.path)])
    return f"{plural(len(outcome.suggested), 'link')}: amem links {name}"


def _brief_changes(outcome: Outcome, room: int) -> list[tuple[str, str]]:
    """Label and text of what was linked and changed, in at most `room` lines."""
    changes = [
        ("link", link.title, f" ({link.relation.replace('_', ' ')}): {link.reason}")
        for link in outcome.links
    ]
    changes += [
        ("unlinked" if each.after is None else "changed", each.title, f": {each.reason}")
        for each in outcome.changed_links
    ]
    changes += [
        ("evolved", each.title, f" ({', '.join(each.fields)}): {each.reason}")
        for each in outcome.evolved
    ]
    changes += [
        ("proposed", each.path, f" ({each.change.field}); see `amem review`")
        for each in outcome.proposed
    ]
    if len(changes) <= room:
        return [(label, f"{title}{rest}") for label, title, rest in changes]
    by_label: dict[str, list[str]] = {}
    for label, title, _ in changes:
        by_label.setdefault(label, []).append(title)
    lines = [(label, ", ".join(titles)) for label, titles in by_label.items()]
    if len(lines) <= room:
        return lines
    by_label["linked"] = by_label.pop("link", [])
    counts = ", ".join(f"{len(titles)} {label}" for label, titles in by_label.items() if titles)
    return [("changes", f"{counts}; `amem history` explains them")]


def _show_changes(console: Console, outcome: Outcome) -> None:
    """What was linked, evolved and proposed, with every reason and value."""
    for link in outcome.links:
        relation = link.relation.replace("_", " ")
        weight = (f"  {relation}, {link.strength:.1f}", "magenta")
        console.print(Styled(("  link     ", "cyan"), (link.title, "bold"), weight))
        console.print(Styled("           ", link.reason))
    for changed in outcome.changed_links:
        _show_changed_link(console, changed)
    for note in outcome.evolved:
        console.print(Styled(("  evolved  ", "cyan"), (note.title, "bold"), f"  {note.reason}"))
        for change in note.changes:
            if change.field in note.fields:
                for text, style in change_lines(change):
                    console.print(Styled(f"           {change.field}: ", (text, style)))
    for proposal in outcome.proposed:
        path = (proposal.path, "bold")
        console.print(Styled(("  proposed ", "cyan"), path, f"  {proposal.reason}"))
        for text, style in change_lines(proposal.change):
            console.print(Styled(f"           {proposal.change.field}: ", (text, style)))
        if proposal.link_change is not None and not proposal.link_change.removed:
            link_change = proposal.link_change
            strength = "" if link_change.strength is None else f"{link_change.strength:.2g}"
            new = ", ".join(part for part in (link_change.relation or "", strength) if part)
            console.print(Styled(f"           links: {proposal.change.after[0]}  {new}"))
    if outcome.proposed:
        advice = "`amem review` accepts or rejects the proposals"
        console.print(Styled(("  waiting  ", "yellow"), advice))


def _show_changed_link(console: Console, changed: ChangedLink) -> None:
    was = f"  {changed.before.relation.replace('_', ' ')}, {changed.before.strength:.2g}"
    after = changed.after
    new = "" if after is None else f" → {after.relation.replace('_', ' ')}, {after.strength:.2g}"
    what = "unlinked " if after is None else "reweighed"
    name = (f"  {what}", "cyan"), " ", (changed.title, "bold")
    console.print(Styled(*name, (f"{was}{new}", "magenta")))
    console.print(Styled("           ", changed.reason))


def without_rejected_parts(problems: Sequence[str]) -> list[str]:
    """Problems, but not what validation rejected of a model's answer: the note is done without.

    A message about a rejected part begins with the part's name.
    """
    parts = ("keywords", "tags", "context", "links", "changes")
    return [each for each in problems if each.split(": ", 1)[0] not in parts]


def change_lines(change: Change) -> list[tuple[str, str]]:
    """A change as the lines of a diff, with their styles."""
    if isinstance(change.after, list) or isinstance(change.before, list):
        before, after = list(change.before or ()), list(change.after or ())
        removed = [(f"- {item}", "red") for item in before if item not in after]
        return removed + [(f"+ {item}", "green") for item in after if item not in before]
    lines = [(f"- {change.before}", "red")] if change.before else []
    return lines + ([(f"+ {change.after}", "green")] if change.after else [])


def link_words(link: LinkRecord) -> str:
    """Relation, strength and reason of a link."""
    reason = f": {link.reason}" if link.reason else ""
    return f"  {link.relation} {link.strength:.2g}{reason}"


def show_note(console: Console, view: NoteView, hyperlinks: Hyperlinks) -> None:
    """Metadata, text, and links in both directions with their reasons."""
    summary = view.summary
    console.print(Styled((summary.title, hyperlinks.to(summary.path, "bold"))))
    place = "  ".join(part for part in (summary.id or "", summary.created, summary.path) if part)
    console.print(Styled((place, "dim")))
    show_supersession(console, view.supersession.superseded_by, view.supersession.contradicted_by)
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
    pairs: dict[str, list[LinkView]] = {}
    for link in view.links:
        pairs.setdefault(link.path, []).append(link)
    for pair in pairs.values():
        arrow = "↔" if len(pair) > 1 else "→" if pair[0].outgoing else "←"
        title = (pair[0].title, hyperlinks.to(pair[0].path, "bold"))
        parts: list[str | tuple[str, str]] = [(f"{arrow} ", "cyan"), title]
        shown: list[tuple[str, str]] = []
        for record in (link.record for link in pair if link.record is not None):
            by = " by amem" if record.by == "machine" else ""
            words = f"  {record.relation.replace('_', ' ')}{by}", record.reason
            if words not in shown:
                shown.append(words)
                parts += [(words[0], "magenta"), f"  {record.reason}" if record.reason else ""]
        console.print(Styled(*parts))
    if view.suggested:
        console.print()
        console.print(Styled(("suggested", "cyan"), ("  `amem links` decides", "dim")))
    for each in view.suggested:
        other = each.other(summary.path)
        arrow = "⇢ " if other is each.target else "⇠ "
        title = (on_one_line(other.title), hyperlinks.to(other.path, "bold"))
        console.print(Styled((arrow, "cyan"), title, f"  {each.reason}"))


_MAX_LOOKED_AT = 3


def answer_document(answer: Answer) -> dict[str, Any]:
    """An answer; `sources` is empty if the notes do not hold it."""
    return {
        "question": answer.question,
        "answer": answer.text,
        "held": answer.held,
        "how": answer.how,
        "sources": [document(CITATION, each) for each in answer.citations],
        "shown": [{"id": e.id, "path": e.path, "title": e.title} for e in answer.shown],
        "model": answer.model or None,
        "calls": answer.use.calls,
        "tokens": answer.use.prompt_tokens + answer.use.answer_tokens,
        "seconds": round(answer.use.seconds, 3),
        "problems": list(answer.problems),
    }


def show_answer(console: Console, answer: Answer) -> None:
    """The answer, then the numbered notes that support it, quoted."""
    # An extract is quoted below, note by note.
    console.print(Styled(answer.lead))
    if not answer.held:
        for note in answer.shown[:_MAX_LOOKED_AT]:
            place = f"  {on_one_line(note.path)}"
            console.print(Styled(("looked at ", "cyan"), on_one_line(note.title), (place, "dim")))
    for number, citation in enumerate(answer.citations, 1):
        line = f":{citation.line}" if citation.line else ""
        day = f"  {citation.created[:10]}" if citation.created else ""
        linked = "  ↳ linked" if citation.via else ""
        path = (f"  {on_one_line(citation.path)}{line}{day}", "dim")
        title = (on_one_line(citation.title), "bold")
        console.print(Styled((f"\n[{number}] ", "green"), title, path, (linked, "cyan")))
        show_supersession(console, citation.superseded_by, citation.contradicted_by, indent="    ")
        if citation.quote:
            console.print(Styled(f"    “{citation.quote}”"))
