"""`amem dedupe`: find notes with the same text, and merge them."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from typing import TYPE_CHECKING, Annotated

import typer
from typer import Argument, Option

from amem_cli.cli.files import ask_key, on_terminal
from amem_cli.cli.session import Session, all_named, session_of
from amem_cli.errors import AmemError, UsageError
from amem_cli.notes.note import parse_note
from amem_cli.terminal.duplicates import (
    duplicates_document,
    merged_document,
    show_difference,
    show_duplicates,
    show_merges,
)
from amem_cli.terminal.output import Styled

if TYPE_CHECKING:
    from amem_cli.duplicates.find import Duplicates, Group
    from amem_cli.duplicates.merge import Merged
    from amem_cli.editing.renames import Mentions
    from amem_cli.index.records import NoteSummary
    from amem_cli.workspace.workspace import Workspace

KEYS = "[m]erge  [o]ther way round  [s]kip  [q]uit"


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
            groups = workspace.duplicates(notes_named, exact=exact, threshold=threshold)
            if not merge:
                session.output.result(
                    duplicates_document(groups), lambda console: show_duplicates(console, groups)
                )
                raise typer.Exit(1 if groups.groups or groups.conflicts else 0)
            if by_keys:
                _merge_by_keys(session, merging, groups)
            else:
                for kept, other, _ in _pairs(groups.groups):
                    merging.merge(kept, other)
    document = {
        "merged": [merged_document(merged) for merged in merging.merges],
        "problems": merging.problems,
    }
    session.output.result(
        document, lambda console: show_merges(console, merging.merges, merging.problems)
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

    @cached_property
    def _mentions(self) -> Mentions:
        # Reading every note takes a while, so it is done once.
        return self.workspace.links_in_other_properties()

    def merge(self, kept: NoteSummary, other: NoteSummary, *, or_fail: bool = False) -> str:
        """Merge two notes; returns a line about the result, or raises if asked to."""
        try:
            merged = self.workspace.merge(
                kept, other, mentions=self._mentions, dry_run=self.dry_run
            )
        except AmemError as error:
            if or_fail:
                raise
            self.problems.append(f"{other.path}: {error.message}. {error.hint}".strip())
            return f"! {self.problems[-1]}"
        self.merges.append(merged)
        return f"merged; to revert: amem undo {merged.event}"


def _merge_by_keys(session: Session, merging: _Merging, duplicates: Duplicates) -> None:
    """Step through the pairs; each merge takes effect at once."""
    summary = merging.workspace.index.notes.summary
    for first, second, left in _pairs(duplicates.groups):
        # An earlier merge may have changed or removed them.
        kept, other = summary(first.path), summary(second.path)
        if kept is None or other is None:
            continue
        _show_pair(session, merging.workspace, kept, other)
        key = ask_key(session.output, f"{KEYS}   ({left} left)", "mosq")
        if key == "q":
            break
        if key != "s":
            pair = (kept, other) if key == "m" else (other, kept)
            # Report at once: after Ctrl-C there is no summary.
            session.output.notice(merging.merge(*pair))


def _pairs(groups: Sequence[Group]) -> Iterator[tuple[NoteSummary, NoteSummary, int]]:
    left = sum(len(group.others) for group in groups)
    for group in groups:
        for each in group.others:
            yield group.kept, each.note, left
            left -= 1


def _show_pair(
    session: Session, workspace: Workspace, kept: NoteSummary, other: NoteSummary
) -> None:
    console = session.output.console()
    texts = [
        parse_note(each.path, workspace.vault.read(each.path).raw).body for each in (kept, other)
    ]
    console.print()
    console.print(Styled(("keep   ", "bold cyan"), (kept.title, "bold"), (f"  {kept.path}", "dim")))
    console.print(Styled("other  ", (other.title, "bold"), (f"  {other.path}", "dim")))
    show_difference(console, *texts)
