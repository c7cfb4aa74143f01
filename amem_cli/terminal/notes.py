"""Notes, search hits, what amem wrote for a note, and answers, as text."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import TYPE_CHECKING

from amem_cli.language.safe_text import on_one_line
from amem_cli.system.command_lines import joined
from amem_cli.terminal.output import plural, titled

if TYPE_CHECKING:
    from amem_cli.ask.ask import Answer
    from amem_cli.journal.events import Change, LinkRecord
    from amem_cli.memory.outcome import Outcome
    from amem_cli.search.read import LinkView, NoteView
    from amem_cli.search.search import Hit, Supersession
    from amem_cli.terminal.output import Console, Row
    from amem_cli.workspace.workspace import SearchResult

# Of notes linked with the hits, and of the nearest if nothing is close, so many are shown.
_LINKED_SHOWN = 3
_NEAREST_SHOWN = 3


def show_hits(console: Console, result: SearchResult, *, all_linked: bool = False) -> None:
    """Hits, best first, then those that are not close and what links brought in, a line each."""
    hits = result.hits
    if result.problem:
        console.print((result.problem, "yellow"))
        for hit in hits[:_NEAREST_SHOWN]:
            _show_nearest(console, hit, "")
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
        console.print(*score, titled(hit.note), (f"  {hit.note.path}", "dim"))
        if supersedes:
            console.print("      ", (f"supersedes “{titles.get(hit.via, hit.via)}”", "cyan"))
        show_supersession(console, hit, indent="      ")
        if hit.snippet:
            console.print("      ", *_marked(hit))
        if hit.note.tags:
            console.print("      ", (" ".join(f"#{tag}" for tag in hit.note.tags), "dim"))
    if weak:
        console.print(("not close:", "dim"))
    for hit in weak:
        _show_nearest(console, hit, "dim")
    shown = linked if all_linked else [hit for hit in linked if hit.via in close][:_LINKED_SHOWN]
    for hit in shown:
        why = f"  linked with “{titles.get(hit.via, hit.via)}”"
        console.print(("↳ ", "cyan"), titled(hit.note, ""), (why, "cyan"))
    if len(shown) < len(linked):
        more = f"↳ {len(linked) - len(shown)} more linked: --neighbors shows them"
        console.print((more, "dim"))


def _show_nearest(console: Console, hit: Hit, style: str) -> None:
    nearest = (f"  ~ {hit.score:.2f}  ", "yellow")
    console.print(nearest, titled(hit.note, style), (f"  {hit.note.path}", "dim"))
    show_supersession(console, hit, indent="      ")


def _supersedes(hit: Hit, hits: Sequence[Hit]) -> bool:
    """Whether a hit was brought in because it supersedes another one."""
    older = next((each for each in hits if each.note.key == hit.via), None)
    newer = () if older is None else older.superseded_by
    return any(each.path == hit.note.path for each in newer)


def show_supersession(console: Console, said: Supersession, *, indent: str = "") -> None:
    for kind, note in said.words:
        since = f" since {note.made[:10]}" if note.made else ""
        name = f"“{note.title}”"
        console.print((f"{indent}{kind} by ", "yellow"), name, (since, "yellow"))


def _marked(hit: Hit) -> list[str | tuple[str, str]]:
    parts: list[str | tuple[str, str]] = []
    end = 0
    for start, stop in hit.marks:
        parts += [hit.snippet[end:start], (hit.snippet[start:stop], "bold yellow")]
        end = stop
    return [*parts, hit.snippet[end:]]


def outcome_rows(outcome: Outcome, *, details: bool = False) -> Iterator[Row]:
    """What the memory process wrote, linked and evolved, and why."""
    meta = outcome.metadata
    fields = (
        ("keywords", ", ".join(meta.keywords)),
        ("tags", " ".join(f"#{tag}" for tag in meta.tags)),
        ("context", meta.context),
    )
    for name, value in fields:
        if value or name in outcome.written:
            # What amem wrote is the news.
            mark = "" if outcome.pending or name in outcome.written else " (kept)"
            mark = mark if value else "removed, as it no longer fits"
            yield (f"  {name:<9}", "cyan"), value, (mark, "dim")
    for link in outcome.links:
        yield (
            ("  link     ", "cyan"),
            (link.title, "bold"),
            (f"  {link.relation.replace('_', ' ')}, {link.strength:.1f}", "magenta"),
            f"  {link.reason}",
        )
    for changed in outcome.changed_links:
        before, after = changed.before, changed.after
        was = f"  {before.relation.replace('_', ' ')}, {before.strength:.2g}"
        new = f" → {after.relation.replace('_', ' ')}, {after.strength:.2g}" if after else ""
        what = ("  reweighed " if after else "  unlinked ", "cyan")
        yield what, (changed.title, "bold"), (f"{was}{new}", "magenta"), f"  {changed.reason}"
    for note in outcome.evolved:
        what = ("  evolved  ", "cyan")
        yield what, (note.title, "bold"), f" ({', '.join(note.fields)}): {note.reason}"
        for change in note.changes:
            if details and change.field in note.fields:
                yield from _change_rows(change)
    for proposal in outcome.proposed:
        about = f" ({proposal.change.field}): {proposal.reason}"
        yield ("  proposed ", "cyan"), (proposal.path, "bold"), about
        if details:
            yield from _change_rows(proposal.change)
            if proposal.link_change is not None and not proposal.link_change.removed:
                link_change = proposal.link_change
                strength = "" if link_change.strength is None else f"{link_change.strength:.2g}"
                new = ", ".join(part for part in (link_change.relation or "", strength) if part)
                yield (f"           links: {proposal.change.after[0]}  {new}",)
    if outcome.proposed:
        yield ("  waiting  ", "yellow"), "`amem review` accepts or rejects the proposals"
    if outcome.suggested:
        # A title may be another note's too, and what begins with a dash is taken for an option.
        path = on_one_line(outcome.path)
        name = joined([f"./{path}" if path.startswith("-") else path])
        text = f"{plural(len(outcome.suggested), 'link')}: amem links {name}"
        yield ("  suggested", "cyan"), f" {text}"
    problems = outcome.problems if details else without_rejected_parts(outcome.problems)
    for problem in problems:
        yield ("  note     ", "yellow"), problem
    if outcome.pending:
        does = "asks the model again" if outcome.failed else "writes metadata and links"
        # What was processed and did not fail waits for the judge.
        does = "asks it about the others" if outcome.model and not outcome.failed else does
        yield ("  pending  ", "yellow"), f"`amem evolve` {does}"


def _change_rows(change: Change) -> Iterator[Row]:
    for shown in change_lines(change):
        yield f"           {change.field}: ", shown


def show_outcome(
    console: Console, outcome: Outcome, *, headed: bool = True, details: bool = False
) -> None:
    """A note, and below it what the memory process did; `headed` by its title and path."""
    if headed:
        console.print(titled(outcome), (f"  {outcome.path}", "dim"))
    for row in outcome_rows(outcome, details=details):
        console.print(*row)


def without_rejected_parts(problems: Sequence[str]) -> list[str]:
    """Problems, but not what validation rejected of a model's answer: the note is done without.

    A message about a rejected part begins with the part's name.
    """
    parts = ("keywords", "tags", "context", "links", "changes")
    return [each for each in problems if each.split(": ", 1)[0] not in parts]


def change_lines(change: Change) -> list[tuple[str, str]]:
    if isinstance(change.after, list) or isinstance(change.before, list):
        before, after = list(change.before or ()), list(change.after or ())
        removed = [(f"- {item}", "red") for item in before if item not in after]
        return removed + [(f"+ {item}", "green") for item in after if item not in before]
    lines = [(f"- {change.before}", "red")] if change.before else []
    return lines + ([(f"+ {change.after}", "green")] if change.after else [])


def link_words(link: LinkRecord) -> str:
    reason = f": {link.reason}" if link.reason else ""
    return f"  {link.relation} {link.strength:.2g}{reason}"


def show_note(console: Console, view: NoteView) -> None:
    """Metadata, text, and links in both directions with their reasons."""
    summary = view.summary
    console.print(titled(summary))
    place = "  ".join(part for part in (summary.id or "", summary.created, summary.path) if part)
    console.print((place, "dim"))
    show_supersession(console, view.supersession)
    if summary.context:
        console.print((summary.context, "italic"))
    if summary.keywords:
        console.print(("keywords  ", "cyan"), ", ".join(summary.keywords))
    if summary.tags:
        console.print(("tags      ", "cyan"), " ".join(f"#{tag}" for tag in summary.tags))
    if summary.refused:
        console.print(("problem   ", "yellow"), summary.refused)
    console.print()
    console.print(view.note.body.strip("\n"))
    if view.links:
        console.print()
    pairs: dict[str, list[LinkView]] = {}
    for link in view.links:
        pairs.setdefault(link.path, []).append(link)
    for pair in pairs.values():
        arrow = "↔" if len(pair) > 1 else "→" if pair[0].outgoing else "←"
        title = titled(pair[0])
        parts: list[str | tuple[str, str]] = [(f"{arrow} ", "cyan"), title]
        shown: list[tuple[str, str]] = []
        for record in (link.record for link in pair if link.record is not None):
            by = " by amem" if record.by == "machine" else ""
            words = f"  {record.relation.replace('_', ' ')}{by}", record.reason
            if words not in shown:
                shown.append(words)
                parts += [(words[0], "magenta"), f"  {record.reason}" if record.reason else ""]
        console.print(*parts)
    if view.suggested:
        console.print()
        console.print(("suggested", "cyan"), ("  `amem links` decides", "dim"))
    for each in view.suggested:
        other = each.other(summary.path)
        arrow = "⇢ " if other is each.target else "⇠ "
        console.print((arrow, "cyan"), titled(other), f"  {each.reason}")


_MAX_LOOKED_AT = 3


def show_answer(console: Console, answer: Answer) -> None:
    """The answer, then the numbered notes that support it, quoted."""
    # An extract is quoted below, note by note.
    console.print(answer.lead)
    if not answer.citations:
        for note in answer.shown[:_MAX_LOOKED_AT]:
            place = f"  {on_one_line(note.path)}"
            console.print(("looked at ", "cyan"), on_one_line(note.title), (place, "dim"))
    for number, citation in enumerate(answer.citations, 1):
        line = f":{citation.line}" if citation.line else ""
        day = f"  {citation.created[:10]}" if citation.created else ""
        linked = "  ↳ linked" if citation.via else ""
        path = (f"  {on_one_line(citation.path)}{line}{day}", "dim")
        title = (on_one_line(citation.title), "bold")
        console.print((f"\n[{number}] ", "green"), title, path, (linked, "cyan"))
        show_supersession(console, citation, indent="    ")
        if citation.quote:
            console.print(f"    {citation.quoted}")
        if citation.now:
            console.print("    ", (on_one_line(citation.now), "yellow"))
