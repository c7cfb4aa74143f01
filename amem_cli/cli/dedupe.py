"""`amem dedupe`: find notes with the same text, and merge them."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import asdict
from typing import TYPE_CHECKING, Annotated

import typer
from typer import Argument, Option

from amem_cli.cli.session import all_named, session_of
from amem_cli.errors import AmemError, UsageError
from amem_cli.terminal.output import first_lines, plural

if TYPE_CHECKING:
    from amem_cli.duplicates.compare import Duplicate
    from amem_cli.duplicates.find import Duplicates
    from amem_cli.duplicates.merge import Merged
    from amem_cli.index.records import NoteSummary
    from amem_cli.terminal.output import Console
    from amem_cli.workspace.workspace import Workspace

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
    `amem undo` reverts it.

    Examples:

        amem dedupe
        amem dedupe "Weekly review" --threshold 0.65
        amem dedupe --merge "Weekly review" "Weekly review 2"
        amem dedupe --merge --exact --yes
    """
    names = notes or []
    if merge and (len(names) == 1 or not (names or yes or dry_run)):
        raise UsageError(
            "name the notes to merge",
            hint="--merge KEEP OTHER; or --merge --exact --yes for all exact duplicates.",
        )
    if (yes or dry_run) and not merge:
        raise UsageError("--yes and --dry-run need --merge", hint="amem dedupe --help")
    if yes and not exact and not names:
        raise UsageError(
            "--yes only merges exact duplicates", hint="amem dedupe --merge --exact --yes"
        )
    from amem_cli.duplicates.compare import THRESHOLD
    from amem_cli.duplicates.find import find_duplicates
    from amem_cli.workspace.documents import duplicates_document

    session = session_of(context)
    with session.workspace() as workspace:
        # All names first: a wrong one must not end the command after some merges.
        named = all_named(workspace, names)
        pairs = [(named[0], other) for other in named[1:]]
        if not (merge and names):
            try:
                if not exact:
                    workspace.embed_missing()
            except AmemError as error:
                message = f"! only words are compared: {error.message}. {error.hint}"
                session.output.notice(message)
            found = find_duplicates(
                workspace.ports,
                threshold=THRESHOLD if threshold is None else threshold,
                exact_only=exact,
                among=[note.path for note in named],
            )
            if not merge:
                session.output.result(
                    duplicates_document(found), lambda console: _show_duplicates(console, found)
                )
                raise typer.Exit(1 if found.groups else 0)
            pairs = [(group.kept, each.note) for group in found.groups for each in group.others]
        merges, problems = _merged(workspace, pairs, dry_run)
    merged = [{**asdict(each), "event": each.event or None} for each in merges]
    document = {"merged": merged, "problems": problems}
    session.output.result(document, lambda console: _show_merges(console, merges, problems))
    if problems:
        raise typer.Exit(1)


def _merged(
    workspace: Workspace, pairs: Sequence[tuple[NoteSummary, NoteSummary]], dry_run: bool
) -> tuple[list[Merged], list[str]]:
    """Merge the second note of each pair into the first; problems of those that cannot be.

    What is wrong with a single pair is raised.
    """
    from amem_cli.duplicates.merge import merge

    merges: list[Merged] = []
    problems: list[str] = []
    for kept, other in pairs:
        # A merge before may have changed the note.
        now = workspace.index.notes.summary(kept.path) or kept
        try:
            merges.append(merge(workspace.ports, now, other, dry_run=dry_run))
        except AmemError as error:
            if len(pairs) == 1:
                raise
            problems.append(f"{other.path}: {error.message}. {error.hint}".strip())
    return merges, problems


def _show_duplicates(console: Console, found: Duplicates) -> None:
    for group in found.groups:
        title = (f"keep  {group.kept.title}", "bold")
        console.print((f"{group.kind:<6}", "bold cyan"), title, _place(group.kept))
        for each in group.others:
            _show_other(console, each)
    among = f"among {plural(found.compared, 'note')}"
    if not found.groups:
        console.print(f"no duplicates {among}")
        return
    console.print((f"{plural(len(found.groups), 'group')} {among}", "dim"))
    console.print(("merge two: amem dedupe --merge KEEP OTHER", "dim"))


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
