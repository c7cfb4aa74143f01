"""`amem dedupe`: find notes with the same text, and merge them."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Annotated, Any

import typer
from typer import Argument, Option

from amem_cli.cli.files import ask_key, on_terminal
from amem_cli.cli.session import Session, all_named, session_of
from amem_cli.errors import AmemError, UsageError
from amem_cli.terminal.output import first_lines, plural

if TYPE_CHECKING:
    from amem_cli.duplicates.compare import Duplicate
    from amem_cli.duplicates.find import Duplicates, Group
    from amem_cli.duplicates.merge import Merged
    from amem_cli.index.records import NoteSummary
    from amem_cli.terminal.output import Console
    from amem_cli.workspace.workspace import Workspace

KEYS = "[m]erge  [o]ther way round  [s]kip  [q]uit"
_MAX_LINES = 4


def dedupe(
    context: typer.Context,
    notes: Annotated[
        list[str] | None,
        Argument(help="Only duplicates of these notes. With --merge: the notes to merge."),
    ] = None,
    exact: Annotated[
        bool, Option("--exact", help="Only notes with the same text. Needs no encoder.")
    ] = False,
    threshold: Annotated[
        float | None,
        Option(
            help="Similarity from which notes count as near duplicates. By default 0.75.",
            min=0.5,
            max=1.0,
            show_default=False,
        ),
    ] = None,
    merge: Annotated[
        bool, Option("--merge", help="Merge the other notes into the first one.")
    ] = False,
    yes: Annotated[
        bool, Option("--yes", help="With --merge --exact: merge all without asking.")
    ] = False,
    dry_run: Annotated[
        bool, Option("--dry-run", help="With --merge: show what would change; write nothing.")
    ] = False,
) -> None:
    """Find notes with the same or nearly the same text, and merge them.

    The exit code is 1 if there are any. A merge loses no text, and links of other notes stay valid;
    `amem undo` reverts it. With --merge alone, on a terminal, amem asks about each pair.

    Examples:

        amem dedupe
        amem dedupe "Weekly review" --threshold 0.65
        amem dedupe --merge "Weekly review" "Weekly review 2"
        amem dedupe --merge --exact --yes
    """
    names = notes or []
    if merge and len(names) == 1:
        raise UsageError(
            "cannot merge a single note", hint="Name the note to keep, then the others."
        )
    if (yes or dry_run) and not merge:
        raise UsageError("--yes and --dry-run need --merge", hint="amem dedupe --help")
    if yes and not exact and not names:
        raise UsageError(
            "--yes only merges exact duplicates", hint="amem dedupe --merge --exact --yes"
        )
    from amem_cli.duplicates.compare import THRESHOLD
    from amem_cli.duplicates.find import find_duplicates

    by_keys = merge and not names and not (yes or dry_run)
    session = session_of(context)
    if by_keys and (session.output.as_json or not on_terminal()):
        raise UsageError(
            "cannot ask without a terminal",
            hint="Name the notes: --merge KEEP OTHER; or --merge --exact --yes.",
        )
    with session.workspace() as workspace:
        # All names first: a wrong one must not end the command after some merges.
        notes_named = all_named(workspace, names)
        merging = _Merging(workspace, dry_run)
        if merge and names:
            for other in notes_named[1:]:
                # After a first merge, an error must not hide it, and becomes one of the problems.
                merging.merge(notes_named[0], other, or_fail=not merging.merges)
        else:
            try:
                if not exact:
                    workspace.embed_missing()
            except AmemError as error:
                message = f"! only words are compared: {error.message}. {error.hint}"
                session.output.notice(message)
            groups = find_duplicates(
                workspace.ports,
                threshold=THRESHOLD if threshold is None else threshold,
                exact_only=exact,
                among=[note.path for note in notes_named],
            )
            if not merge:
                session.output.result(
                    _duplicates_document(groups), lambda console: _show_duplicates(console, groups)
                )
                raise typer.Exit(1 if groups.groups else 0)
            if by_keys:
                _merge_by_keys(session, merging, groups.groups)
            else:
                for group in groups.groups:
                    for each in group.others:
                        merging.merge(group.kept, each.note)
    document = {
        "merged": [_merged_document(merged) for merged in merging.merges],
        "problems": merging.problems,
    }
    session.output.result(
        document, lambda console: _show_merges(console, merging.merges, merging.problems)
    )
    if merging.problems:
        raise typer.Exit(1)


@dataclass
class _Merging:
    """Merges pairs of notes, and keeps the results; a failure stops no other merge."""

    workspace: Workspace
    dry_run: bool
    merges: list[Merged] = field(default_factory=list)
    problems: list[str] = field(default_factory=list)

    def merge(self, kept: NoteSummary, other: NoteSummary, *, or_fail: bool = False) -> str:
        """Merge two notes; returns a line about the result, or raises if asked to."""
        from amem_cli.duplicates.merge import merge

        ports = self.workspace.ports
        # A merge before may have changed the note.
        kept = ports.index.notes.summary(kept.path) or kept
        try:
            merged = merge(ports, kept, other, dry_run=self.dry_run)
        except AmemError as error:
            if or_fail:
                raise
            self.problems.append(f"{other.path}: {error.message}. {error.hint}".strip())
            return f"! {self.problems[-1]}"
        self.merges.append(merged)
        return f"merged; to revert: amem undo {merged.event}"


def _merge_by_keys(session: Session, merging: _Merging, groups: Sequence[Group]) -> None:
    """Step through the pairs; each merge takes effect at once."""
    summary = merging.workspace.index.notes.summary
    console = session.output.console()
    left = sum(len(group.others) for group in groups)
    for group in groups:
        for each in group.others:
            left -= 1
            # An earlier merge may have changed or removed them.
            kept, other = summary(group.kept.path), summary(each.note.path)
            if kept is None or other is None:
                continue
            console.print()
            _show_kept(console, group)
            _show_other(console, each)
            key = ask_key(session.output, f"{KEYS}   ({left + 1} left)", "mosq")
            if key == "q":
                return
            if key != "s":
                pair = (kept, other) if key == "m" else (other, kept)
                # Report at once: after Ctrl-C there is no summary.
                session.output.notice(merging.merge(*pair))


def _duplicates_document(found: Duplicates) -> dict[str, Any]:
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


def _merged_document(merged: Merged) -> dict[str, Any]:
    """A merge."""
    names = "kept", "removed", "appended", "fields", "redirected", "left"
    return {**{name: getattr(merged, name) for name in names}, "event": merged.event or None}


def _show_duplicates(console: Console, found: Duplicates) -> None:
    """Groups of duplicates: the note to keep, and what the others add to it."""
    for group in found.groups:
        _show_kept(console, group)
        for each in group.others:
            _show_other(console, each)
    among = f"among {plural(found.compared, 'note')}"
    if not found.groups:
        console.print(f"no duplicates {among}")
        return
    console.print((f"{plural(len(found.groups), 'group')} {among}", "dim"))
    console.print(("merge two: amem dedupe --merge KEEP OTHER", "dim"))


def _show_kept(console: Console, group: Group) -> None:
    title = (f"keep  {group.kept.title}", "bold")
    console.print((f"{group.kind:<6}", "bold cyan"), title, _place(group.kept))


def _show_other(console: Console, found: Duplicate) -> None:
    score = "same" if found.kind == "exact" else f"{found.similarity:.2f}"
    console.print(f"      {score:<6}", (found.note.title, "bold"), _place(found.note))
    for line in _shown(found.beyond):
        console.print("            ", (f"+ {line}", "green"))
    if found.kind == "near" and not found.beyond:
        console.print("            ", ("adds nothing to the note to keep", "dim"))


def _place(note: NoteSummary) -> tuple[str, str]:
    day = f"  {note.created[:10]}" if note.created else ""
    private = "  private" if note.private else ""
    return f"  {note.path}{day}{private}", "dim"


def _shown(text: str) -> Iterator[str]:
    return first_lines([line for line in text.splitlines() if line.strip()], _MAX_LINES)


def _show_merges(console: Console, merges: Sequence[Merged], problems: Sequence[str]) -> None:
    """What was merged, and how to undo it."""
    for merged in merges:
        # Only a merge that was made has an event; a dry run must not claim one.
        would = "" if merged.event else "would be "
        console.print((merged.removed, "bold"), f" → {would}merged into {merged.kept}")
        # The appended text begins with a rule, which would take one of the few lines.
        for line in _shown(merged.appended.replace("---", "", 1)):
            console.print("  ", (f"+ {line}", "green"))
        if merged.fields:
            console.print(f"  changed: {', '.join(merged.fields)}")
        for path in merged.redirected:
            console.print(f"  redirected links in {path}")
        for line in merged.left:
            console.print(("  ! ", "yellow"), line)
        if merged.event:
            console.print((f"  to revert: amem undo {merged.event}", "dim"))
    for problem in problems:
        console.print(("! ", "yellow"), problem)
    if not (merges or problems):
        console.print("nothing to merge")
