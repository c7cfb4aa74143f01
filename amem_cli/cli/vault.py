"""`amem init`, `index`, `stats`, `demo`."""

from __future__ import annotations

import shlex
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from amem_cli.cli.session import Session, session_of
from amem_cli.errors import UsageError

if TYPE_CHECKING:
    from amem_cli.workspace.workspace import Workspace


def register(app: typer.Typer) -> None:
    """Add the commands of this module."""
    app.command("init")(init)
    app.command("index")(index)
    app.command("stats")(stats)
    app.command("demo")(demo)


def init(
    context: typer.Context,
    folder: Annotated[Path, typer.Argument(help="The vault's folder.")] = Path(),
    adopt: Annotated[
        bool, typer.Option("--adopt", help="Turn notes that are there into a vault.")
    ] = False,
) -> None:
    """Make a vault from the template, or adopt a folder of notes without touching one.

    Examples:

        amem init ~/notes

        amem init ~/Documents/Obsidian --adopt
    """
    from amem_cli.vault.template import adopt_vault, create_vault
    from amem_cli.workspace.workspace import Workspace

    session = session_of(context)
    root = folder.expanduser().resolve()
    written = adopt_vault(root) if adopt else create_vault(root)
    workspace = Workspace(root, notify=session.output.notice)
    try:
        notes = workspace.take_stock()
        problems = workspace.index.files.problems()
    finally:
        workspace.close()
    session.output.problems(problems)
    document = {
        "vault": str(root),
        "notes": notes,
        "written": written,
        "problems": [_problem(problem) for problem in problems],
    }
    what = "adopted" if adopt else "made"
    counted = f"{notes} note{'' if notes == 1 else 's'}"
    text = f'{what} {root}: {counted}\nnext: cd {shlex.quote(str(root))} && amem add "…"'
    session.output.result(document, lambda _: session.output.plain(text))


def _problem(problem: object) -> dict[str, object]:
    from dataclasses import asdict

    return asdict(problem)  # type: ignore[call-overload,no-any-return]


def index(
    context: typer.Context,
    rebuild: Annotated[bool, typer.Option("--rebuild", help="Make it anew from nothing.")] = False,
    check: Annotated[
        bool, typer.Option("--check", help="Compare with the vault, write nothing.")
    ] = False,
) -> None:
    """Bring the index up to date with the folder.

    Examples:

        amem index

        amem index --rebuild

        amem index --check
    """
    if check and rebuild:
        raise UsageError("--check writes nothing and --rebuild does", hint="Choose one of them.")
    session = session_of(context)
    with session.workspace(sync=False) as workspace:
        if check:
            _check(session, workspace)
            return
        if rebuild:
            from amem_cli.index.file import delete_index

            delete_index(workspace.index_file)
        workspace.index.file.require_stored()
        _update(session, workspace)


def _update(session: Session, workspace: Workspace) -> None:
    import time

    started = time.perf_counter()
    # This is the answer to a watcher that asks about notes that are missing.
    report = workspace.synchronise(keep_missing=False)
    read_seconds = time.perf_counter() - started
    embedded = workspace.embed_missing(go_over=True)
    seconds = time.perf_counter() - started
    problems = [*report.problems, *workspace.index.files.problems()]
    session.output.problems(problems)
    count = workspace.index.notes.count()
    document = {
        "notes": count,
        "added": len(report.added),
        "changed": len(report.changed),
        "removed": len(report.removed),
        "moved": len(report.moved),
        "passages_embedded": embedded,
        "read_seconds": round(read_seconds, 3),
        "seconds": round(seconds, 3),
        "problems": [_problem(problem) for problem in problems],
    }
    text = (
        f"{count} notes: {len(report.added)} added, {len(report.changed)} changed,"
        f" {len(report.moved)} moved, {len(report.removed)} removed;"
        f" {embedded} passages embedded in {seconds:.1f} s"
    )
    session.output.result(document, lambda _: session.output.plain(text))


def _check(session: Session, workspace: Workspace) -> None:
    differences = workspace.check_index()
    document = {"in_step": not differences, "differences": differences}
    lines = differences or ["the index is in step with the vault"]
    session.output.result(document, lambda _: session.output.plain("\n".join(lines)))
    if differences:
        raise typer.Exit(1)


def stats(
    context: typer.Context,
    by: Annotated[str, typer.Option(help="Tell growth by month or week.")] = "month",
) -> None:
    """Notes, links, orphans, pending work, and what the model cost.

    Tokens, seconds and costs are those of `add`, `evolve` and `watch`; answers of `ask` are not
    counted. A cost is told where llm.price_input and llm.price_output say what a million tokens
    cost; a model in process costs nothing. Growth is that of what is there now.

    Examples:

        amem stats

        amem stats --by week --json
    """
    from amem_cli.graph.stats import SPANS
    from amem_cli.terminal.stats import show_stats
    from amem_cli.workspace.documents import stats_document

    span = next((each for each in SPANS if each == by), None)
    if span is None:
        raise UsageError(f"cannot tell growth by {by!r}", hint=f"One of: {', '.join(SPANS)}.")
    session = session_of(context)
    with session.workspace() as workspace:
        figures = workspace.stats(by=span)
        watcher = _watcher(workspace)
        spent, limit = _tokens_today(workspace)
    document = {
        **stats_document(figures),
        "watcher": watcher or None,
        "tokens_today": spent if limit else None,
        "daily_tokens": limit,
    }
    today = f"{spent} of {limit} tokens" if limit else ""
    session.output.result(
        document,
        lambda console: show_stats(console, figures, watcher=watcher, today=today, by=span),
    )


def _tokens_today(workspace: Workspace) -> tuple[int, int]:
    """What of the day's tokens is spent, and how many there are; 0 and 0 without a limit."""
    limit = workspace.settings.llm_daily_tokens
    if not limit:
        return 0, 0
    from amem_cli.models.budget import TokenLedger

    return TokenLedger(workspace.root, workspace.environment).used(), limit


def _watcher(workspace: Workspace) -> str:
    """What the vault's watcher does, in a word; empty where there is none."""
    from amem_cli.workspace.watch_lock import is_watched, read_status

    status = read_status(workspace.root, workspace.environment)
    if status is not None:
        return status.state
    return "elsewhere" if is_watched(workspace.root) else ""


def demo(
    context: typer.Context,
    keep: Annotated[
        Path | None, typer.Option(help="Leave the demonstration's vault in this folder.")
    ] = None,
    llm: Annotated[bool, typer.Option("--llm/--no-llm", help="Use the language model.")] = True,
) -> None:
    """Show the whole job on a sample vault: add, link, evolve, search, graph.

    Examples:

        amem demo

        amem demo --keep ~/amem-demo
    """
    from amem_cli.cli.demo import demonstrate

    demonstrate(session_of(context), keep, llm=llm)
