"""`amem dedupe`: finds notes that say the same, and merges them."""

from __future__ import annotations

import sys
from collections.abc import Iterator, Sequence
from typing import TYPE_CHECKING, Annotated

import typer

from amem_cli.cli.session import Session, session_of
from amem_cli.errors import AmemError, UsageError

if TYPE_CHECKING:
    from amem_cli.duplicates.find import Duplicates, Group
    from amem_cli.duplicates.merge import Merged
    from amem_cli.duplicates.merge_fields import Mentions
    from amem_cli.index.records import NoteSummary
    from amem_cli.workspace.workspace import Workspace

KEYS = "[m]erge  [o]ther way round  [s]kip  [q]uit"


def register(app: typer.Typer) -> None:
    """Add the command of this module."""
    app.command("dedupe")(dedupe)


def dedupe(
    context: typer.Context,
    notes: Annotated[
        list[str] | None,
        typer.Argument(help="Only duplicates of these notes; with --merge the notes to merge."),
    ] = None,
    exact: Annotated[
        bool, typer.Option("--exact", help="Only notes with the same text; needs no encoder.")
    ] = False,
    threshold: Annotated[
        float | None,
        typer.Option(
            help="From which similarity on notes are near duplicates; 0.75 unless given.",
            min=0.5,
            max=1.0,
            show_default=False,
        ),
    ] = None,
    merge: Annotated[
        bool, typer.Option("--merge", help="Merge the others into the note named first.")
    ] = False,
    yes: Annotated[
        bool, typer.Option("--yes", help="With --merge --exact: merge all exact ones, unasked.")
    ] = False,
    dry_run: Annotated[
        bool, typer.Option("--dry-run", help="With --merge: say what would be done.")
    ] = False,
) -> None:
    """Find notes that say the same, word for word or nearly, and merge them.

    Exit code 1 where there are any. A merge keeps all text and the links of other notes valid;
    `amem undo` takes it back. With --merge and no notes it asks for each group, on a terminal.

    Examples:

        amem dedupe

        amem dedupe "Weekly review" --threshold 0.65

        amem dedupe --merge "Weekly review" "Weekly review 2"

        amem dedupe --merge --exact --yes
    """
    names = notes or []
    if merge and len(names) == 1:
        raise UsageError("one note cannot be merged", hint="Name the note to keep, then others.")
    if (yes or dry_run) and not merge:
        raise UsageError("--yes and --dry-run go with --merge", hint="amem dedupe --help")
    if yes and not exact and not names:
        raise UsageError(
            "near duplicates are merged one by one", hint="amem dedupe --merge --exact --yes"
        )
    by_keys = merge and not names and not (yes or dry_run)
    session = session_of(context)
    if by_keys and (session.output.as_json or not (sys.stdin.isatty() and sys.stdout.isatty())):
        raise UsageError(
            "without a terminal nobody can be asked",
            hint="Name the notes: --merge KEEP OTHER; or --merge --exact --yes.",
        )
    with session.workspace() as workspace:
        if merge and names:
            merges, problems = _merge_named(workspace, names, dry_run=dry_run)
        else:
            about = [workspace.note(name) for name in names]
            found = workspace.duplicates(about, exact=exact, threshold=threshold)
            if not merge:
                _show(session, found)
                raise typer.Exit(1 if found.groups or found.conflicts else 0)
            if by_keys:
                merges, problems = _merge_by_keys(session, workspace, found)
            else:
                merges, problems = _merge_groups(workspace, found, dry_run=dry_run)
        _finish(session, merges, problems)


def _show(session: Session, found: Duplicates) -> None:
    from amem_cli.terminal.duplicates import duplicates_document, show_duplicates

    session.output.result(
        duplicates_document(found), lambda console: show_duplicates(console, found)
    )


def _merge_named(
    workspace: Workspace, names: Sequence[str], *, dry_run: bool
) -> tuple[list[Merged], list[str]]:
    found = [workspace.note(name) for name in names]
    merges: list[Merged] = []
    problems: list[str] = []
    for other in found[1:]:
        try:
            merges.append(workspace.merge(found[0], other, dry_run=dry_run))
        except AmemError as error:
            # What was merged before is told, too.
            if not merges:
                raise
            problems.append(_told(other, error))
    return merges, problems


def _told(note: NoteSummary, error: AmemError) -> str:
    return f"{note.path}: {error.message}. {error.hint}".strip()


def _merge_groups(
    workspace: Workspace, found: Duplicates, *, dry_run: bool
) -> tuple[list[Merged], list[str]]:
    mentions = workspace.links_in_other_properties() if found.groups else {}
    merges, problems = [], []
    for group in found.groups:
        for each in group.others:
            try:
                merges.append(
                    workspace.merge(group.kept, each.note, mentions=mentions, dry_run=dry_run)
                )
            except AmemError as error:
                problems.append(_told(each.note, error))
    return merges, problems


def _merge_by_keys(
    session: Session, workspace: Workspace, found: Duplicates
) -> tuple[list[Merged], list[str]]:
    """Step through the pairs; each merge is made at once."""
    merges: list[Merged] = []
    problems: list[str] = []
    mentions = workspace.links_in_other_properties() if found.groups else {}
    for kept, other, left in _pairs(found.groups):
        now = [workspace.index.notes.summary(each.path) for each in (kept, other)]
        if now[0] is None or now[1] is None:
            continue
        _show_pair(session, workspace, now[0], now[1])
        key = _key(session, left)
        if key == "q":
            break
        if key != "s":
            pair = (now[0], now[1]) if key == "m" else (now[1], now[0])
            # Told at once: who leaves with Ctrl-C sees no summary.
            session.output.notice(_try_merge(workspace, pair, mentions, merges, problems))
    return merges, problems


def _pairs(groups: Sequence[Group]) -> Iterator[tuple[NoteSummary, NoteSummary, int]]:
    left = sum(len(group.others) for group in groups)
    for group in groups:
        for each in group.others:
            yield group.kept, each.note, left
            left -= 1


def _try_merge(
    workspace: Workspace,
    pair: tuple[NoteSummary, NoteSummary],
    mentions: Mentions,
    merges: list[Merged],
    problems: list[str],
) -> str:
    """Merge two notes; returns in a line what came of it."""
    try:
        merged = workspace.merge(*pair, mentions=mentions)
    except AmemError as error:
        problems.append(_told(pair[1], error))
        return f"! {problems[-1]}"
    merges.append(merged)
    return f"merged; `amem undo {merged.event}` takes it back"


def _show_pair(
    session: Session, workspace: Workspace, kept: NoteSummary, other: NoteSummary
) -> None:
    from amem_cli.notes.codec import parse_note
    from amem_cli.terminal.duplicates import show_difference
    from amem_cli.terminal.output import Styled

    console = session.output.console()
    texts = [
        parse_note(each.path, workspace.vault.read(each.path).raw).body for each in (kept, other)
    ]
    console.print()
    console.print(Styled(("keep   ", "bold cyan"), (kept.title, "bold"), (f"  {kept.path}", "dim")))
    console.print(Styled("other  ", (other.title, "bold"), (f"  {other.path}", "dim")))
    show_difference(console, *texts)


def _key(session: Session, left: int) -> str:
    while True:
        session.output.notice(f"{KEYS}   ({left} left)")
        key = typer.getchar()
        # No key at all is what a terminal gives that is gone.
        if key in ("\x03", "\x04", ""):
            raise KeyboardInterrupt
        if key.lower() in tuple("mosq"):
            return key.lower()
        session.output.notice("a key of: m o s q")


def _finish(session: Session, merges: Sequence[Merged], problems: Sequence[str]) -> None:
    from amem_cli.terminal.duplicates import merged_document, show_merges

    document = {
        "merged": [merged_document(each) for each in merges],
        "problems": list(problems),
    }
    session.output.result(document, lambda console: show_merges(console, merges, problems))
    if problems:
        raise typer.Exit(1)
