"""`amem watch`: run, ask or stop the watcher of a vault."""

from __future__ import annotations

import os
import signal
import sys
from contextlib import ExitStack
from dataclasses import asdict
from datetime import datetime
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer
from typer import Option

from amem_cli.cli.session import LlmOption, Session, session_of
from amem_cli.errors import UsageError
from amem_cli.system.signals import ENDING
from amem_cli.terminal.output import plural

if TYPE_CHECKING:
    from amem_cli.terminal.board import WatchBoard
    from amem_cli.terminal.output import Output
    from amem_cli.terminal.progress import ProgressLine
    from amem_cli.watch.loop import Watch
    from amem_cli.watch.watcher import Watcher
    from amem_cli.watch.worker import WatchEvent
    from amem_cli.workspace.watch_lock import WatchStatus
    from amem_cli.workspace.workspace import Workspace

# A watcher first completes the note at hand, which may take the model a while.
STOP_SECONDS = 60.0
# How many pending notes the board names.
NAMED = 3


def watch(
    context: typer.Context,
    once: Annotated[
        bool, Option("--once", help="Process what is pending and exit, for cron.")
    ] = False,
    status: Annotated[bool, Option("--status", help="Show what the running watcher does.")] = False,
    stop: Annotated[bool, Option("--stop", help="Stop the running watcher.")] = False,
    settle: Annotated[
        float | None,
        Option(
            min=0,
            help="Seconds without an edit before amem processes a note. By default, the setting"
            " evolution.settle_seconds.",
        ),
    ] = None,
    llm: LlmOption = True,
) -> None:
    """Keep index and memory up to date while you edit.

    Examples:

        amem watch
        amem watch --once
    """
    if once + status + stop > 1:
        raise UsageError("use only one of --once, --status, --stop")
    # nan gets past `min=0`, as no comparison with it is true.
    if settle is not None and settle != settle:
        raise UsageError("--settle nan is not a number of seconds")
    session = session_of(context)
    if status:
        _status(session)
    elif stop:
        _stop(session)
    else:
        from amem_cli.watch.watcher import background_threads

        # Read the setting first: the vault is opened with fewer threads, to leave some to the user.
        threads = background_threads(session.open(session.root).settings.llm_threads)
        with session.workspace(
            sync=False, llm=llm, llm_threads=threads, evolution_settle_seconds=settle
        ) as workspace:
            (_once if once else _watch)(session, workspace)


def _status(session: Session) -> None:
    from amem_cli.terminal.watching import status_lines
    from amem_cli.workspace.watch_lock import is_watched, read_status

    status = read_status(session.root, os.environ)
    running = status is not None or is_watched(session.root)
    document = {"running": running, **(asdict(status) if status else {})}
    if status is not None:
        text = "\n".join(status_lines(status, datetime.now().astimezone()))
    elif running:
        text = "a watcher of another user, machine or state folder watches this vault"
    else:
        text = "no watcher runs here; start one: amem watch"
    session.output.result(document, text)
    if not running:
        raise typer.Exit(1)


def _stop(session: Session) -> None:
    from amem_cli.workspace.watch_lock import stop_watcher

    stopped = stop_watcher(session.root, os.environ, STOP_SECONDS)
    text = "the watcher has stopped" if stopped else "no watcher runs here"
    session.output.result({"stopped": stopped}, text)
    if not stopped:
        raise typer.Exit(1)


def _once(session: Session, workspace: Workspace) -> None:
    """Process what is pending, like one round of a watcher."""
    from amem_cli.system.processes import lower_priority
    from amem_cli.terminal.notes import show_outcome
    from amem_cli.watch.watcher import Watcher
    from amem_cli.workspace.documents import outcome_document

    watcher = Watcher(workspace, lambda news, status: None)
    with watcher.held():
        session.synchronise(workspace)
        workspace.embed_missing()
        followed = workspace.follow_renames()
        outcomes = []
        reason = _elsewhere(watcher)
        if not reason and (pause := watcher.resting()):
            reason = f"paused: {pause}; pending notes wait"
        if reason:
            session.output.notice(reason)
        else:
            lower_priority()
            paths = [note.path for note in workspace.index.queue.pending()]
            outcomes = session.evolved(workspace, paths, settled=True)
        pending = len(workspace.index.queue.pending())
    document = {
        "notes": [outcome_document(outcome) for outcome in outcomes],
        "followed": followed,
        "pending": pending,
        "reason": reason,
    }

    def show(console: Any) -> None:
        unsettled = sum(outcome.unsettled for outcome in outcomes)
        for outcome in outcomes:
            if not outcome.unsettled:
                show_outcome(console, outcome, details=session.output.verbose)
        if unsettled:
            seconds = f"{workspace.settings.evolution_settle_seconds:g} s"
            session.output.notice(
                f"{plural(unsettled, 'note')} edited in the last {seconds} left for later;"
                " `amem evolve` processes them now"
            )
        done = sum(not outcome.pending for outcome in outcomes)
        # Cron mails every line.
        if outcomes or not session.output.quiet:
            session.output.plain(f"{plural(done, 'note')} processed, {pending} pending")

    session.output.result(document, show)
    if any(outcome.failed for outcome in outcomes):
        raise typer.Exit(1)


def _elsewhere(watcher: Watcher) -> str:
    """Why the memory process is not to run here at all; empty if it is."""
    machine = watcher.elsewhere()
    if not machine:
        return ""
    return (
        f"the memory process runs on another machine ({machine}); to run it here:"
        " amem config set evolution.device any"
    )


def _watch(session: Session, workspace: Workspace) -> None:
    from amem_cli.terminal.progress import ProgressLine
    from amem_cli.watch.watcher import Watcher

    output = session.output
    line = ProgressLine(output, "embedding passages")
    # Windows does not set TERM; elsewhere, a terminal without it cannot place the cursor.
    dumb = os.environ.get("TERM", "dumb" if os.name != "nt" else "").lower() in ("dumb", "unknown")
    has_screen = sys.stdout.isatty() and not (dumb or output.as_json or output.quiet)
    board = _board(session, workspace) if has_screen else None
    report = partial(_draw, workspace, board) if board else partial(_report, output, line)
    watcher = Watcher(workspace, report)
    with ExitStack() as shown:
        if board is None:
            shown.enter_context(line)
        else:
            # The terminal drops the screen's content at its end; only this stays.
            shown.callback(lambda: output.plain(board.summary()))
            shown.enter_context(board.shown())
        shown.enter_context(watcher.held())
        elsewhere = _elsewhere(watcher)
        if elsewhere:
            output.notice(elsewhere)
        watcher.run(
            lambda watch: _stop_on_signals(watch, board),
            lambda: _leave(board),
            evolves=not elsewhere,
        )


def _board(session: Session, workspace: Workspace) -> WatchBoard:
    from amem_cli.terminal.board import WatchBoard

    def model() -> str:
        settings = workspace.settings
        if settings.llm_backend == "none":
            return "no language model"
        return Path(settings.llm_model).name or "bundled model"

    return WatchBoard(workspace.root, session.output.color, model)


def _draw(
    workspace: Workspace, board: WatchBoard, news: WatchEvent | None, status: WatchStatus
) -> None:
    board.report(news, status, [note.path for note in workspace.index.queue.pending()[:NAMED]])


def _leave(board: WatchBoard | None) -> None:
    """End the process as if all were done; called beside threads that do not end."""
    if board is not None:
        board.leave()
    os._exit(0)


def _report(
    output: Output, line: ProgressLine, news: WatchEvent | None, status: WatchStatus
) -> None:
    from amem_cli.terminal.watching import news_document, news_rows

    if news is None:
        return
    now = datetime.now().astimezone()
    if output.as_json:
        output.json_line(news_document(news, now))
        # A program that reads the pipe would otherwise get events only when the buffer is full.
        sys.stdout.flush()
        return
    if news.kind == "embedding":
        line.report(news.detail["done"], news.detail["total"])
    for row in news_rows(news):
        output.console().print((f"{now:%H:%M:%S}  ", "dim"), *row)


def _stop_on_signals(watch: Watch, board: WatchBoard | None) -> None:
    """End the watch after the current note on a first signal, at once on a second."""

    def end(number: int, frame: object) -> None:
        signal.signal(number, at_once)
        if board is not None:
            board.stopping = True
        elif sys.stderr.isatty():
            os.write(2, b"\nstopping after this note; Ctrl-C again stops at once\n")
        watch.stop()

    def at_once(number: int, frame: object) -> None:
        if board is not None:
            board.leave()
        # By the signal itself, so that the shell sees why the process ended.
        signal.signal(number, signal.SIG_DFL)
        os.kill(os.getpid(), number)

    for number in ENDING:
        # nohup ignores SIGHUP, and that must stay.
        if signal.getsignal(number) is not signal.SIG_IGN:
            signal.signal(number, end)
