"""`amem watch`."""

from __future__ import annotations

import contextlib
import os
import signal
import sys
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from datetime import datetime
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from amem_cli.cli.session import Session, session_of
from amem_cli.errors import AmemError, UsageError

if TYPE_CHECKING:
    from amem_cli.watch.loop import Watch
    from amem_cli.watch.port import News
    from amem_cli.watch.watcher import Report, Watcher
    from amem_cli.workspace.watch_lock import WatchStatus
    from amem_cli.workspace.workspace import Workspace

STOP_SECONDS = 60.0
QUEUE_SHOWN = 4


def register(app: typer.Typer) -> None:
    """Add the commands of this module."""
    app.command("watch")(watch)


def watch(
    context: typer.Context,
    once: Annotated[
        bool, typer.Option("--once", help="Handle what is pending and exit, as for cron.")
    ] = False,
    status: Annotated[
        bool, typer.Option("--status", help="What the running watcher does.")
    ] = False,
    stop: Annotated[bool, typer.Option("--stop", help="Stop the running watcher.")] = False,
    install: Annotated[
        bool, typer.Option("--install", help="Watch this vault from every login on.")
    ] = False,
    uninstall: Annotated[bool, typer.Option("--uninstall", help="Take back --install.")] = False,
    settle: Annotated[
        float | None,
        typer.Option(
            min=0,
            help="Seconds that a note rests before it is thought about; otherwise the setting"
            " evolution.settle_seconds.",
        ),
    ] = None,
    llm: Annotated[bool, typer.Option("--llm/--no-llm", help="Let the model work.")] = True,
) -> None:
    """Keep index and memory in step with the folder while people edit.

    Examples:

        amem watch

        amem watch --once

        amem watch --install
    """
    chosen = [once, status, stop, install, uninstall]
    if sum(chosen) > 1:
        raise UsageError("only one of --once, --status, --stop, --install, --uninstall")
    if settle is not None and settle != settle:
        raise UsageError("--settle nan is no number of seconds")
    session = session_of(context)
    if status:
        _status(session)
    elif stop:
        _stop(session)
    elif install or uninstall:
        _service(session, install=install)
    else:
        settings = {
            "evolution_settle_seconds": settle,
            "llm_backend": None if llm else "none",
            "llm_threads": _threads(session),
        }
        with session.workspace(sync=False, **settings) as workspace:
            (_drain if once else _watch)(session, workspace)


def _vault(session: Session) -> Path:
    from amem_cli.locations import find_vault

    return find_vault(session.vault)


def _threads(session: Session) -> int:
    from amem_cli.watch.watcher import background_threads
    from amem_cli.workspace.workspace import Workspace

    return background_threads(Workspace(_vault(session)).settings.llm_threads)


def _environment() -> dict[str, str]:
    return dict(os.environ)


def _status(session: Session) -> None:
    from dataclasses import asdict

    from amem_cli.terminal.watching import status_lines
    from amem_cli.workspace.watch_lock import is_watched, read_status

    vault = _vault(session)
    found = read_status(vault, _environment())
    running = found is not None or is_watched(vault)
    document = {"running": running, **(asdict(found) if found else {})}
    if found is not None:
        text = "\n".join(status_lines(found, datetime.now().astimezone()))
    elif running:
        text = "somebody watches this vault: another user or machine, or with another state folder"
    else:
        text = "no watcher runs here; start one: amem watch"
    session.output.result(document, lambda _: session.output.plain(text))
    if not running:
        raise typer.Exit(1)


def _stop(session: Session) -> None:
    from amem_cli.workspace.watch_lock import stop_watcher

    stopped = stop_watcher(_vault(session), _environment(), STOP_SECONDS)
    text = "the watcher has stopped" if stopped else "no watcher runs here"
    session.output.result({"stopped": stopped}, lambda _: session.output.plain(text))
    if not stopped:
        raise typer.Exit(1)


def _service(session: Session, *, install: bool) -> None:
    from amem_cli.watch import service as login_service

    change = login_service.install if install else login_service.uninstall
    told = change(_vault(session), _environment())
    document = {
        "file": str(told.file),
        "changed": told.changed,
        "done": told.done,
        "to_type": list(told.to_type),
        "reason": told.reason,
        "log": told.log,
    }
    session.output.result(document, lambda _: session.output.plain("\n".join(told.notes)))


def _drain(session: Session, workspace: Workspace) -> None:
    """Handle what is pending, as one round of a watcher does."""
    from amem_cli.memory.batch import evolve_many
    from amem_cli.terminal.notes import show_outcome
    from amem_cli.watch.idle import lower_priority
    from amem_cli.watch.watcher import Watcher
    from amem_cli.workspace.documents import outcome_document

    watcher = Watcher(workspace, lambda news, status: None)
    with watcher.held():
        session.synchronise(workspace)
        workspace.embed_missing()
        followed = workspace.follow_renames()
        outcomes = []
        reason = _why_not(watcher)
        if reason:
            session.output.notice(reason)
        else:
            lower_priority()
            paths = [note.path for note in workspace.index.queue.pending()]
            with session.output.progress("remembering") as progress:
                outcomes = evolve_many(workspace.process, paths, progress=progress)
        pending = len(workspace.index.queue.pending())
    document = {
        "notes": [outcome_document(outcome) for outcome in outcomes],
        "followed": followed,
        "pending": pending,
        "reason": reason,
    }

    def show(console: Any) -> None:
        for outcome in outcomes:
            show_outcome(console, outcome, verbose=session.output.verbose)
        done = sum(not outcome.pending for outcome in outcomes)
        # Cron mails every line.
        if outcomes or not session.output.quiet:
            session.output.plain(
                f"{done} note{'' if done == 1 else 's'} remembered, {pending} pending"
            )

    session.output.result(document, show)
    if any(outcome.failed for outcome in outcomes):
        raise typer.Exit(1)


def _why_not(watcher: Watcher) -> str:
    """Why the memory process is not to run; empty where it may."""
    machine = watcher.elsewhere()
    if machine:
        return _elsewhere(machine)
    reason = watcher.resting()
    return f"resting: {reason}; what is pending is left for later" if reason else ""


def _elsewhere(machine: str) -> str:
    return (
        f"the memory process runs on another machine ({machine}); to have it here:"
        " amem config set evolution.device any"
    )


def _watch(session: Session, workspace: Workspace) -> None:
    from amem_cli.watch.watcher import Watcher

    with _voice(session, workspace) as voice:
        watcher = Watcher(workspace, voice.report)
        with watcher.held():
            elsewhere = watcher.elsewhere()
            if elsewhere:
                session.output.notice(_elsewhere(elsewhere))
            try:
                watcher.run(lambda watch: _stop_on_signals(watch, voice), evolves=not elsewhere)
            except AmemError as error:
                if not session.output.as_json:
                    raise
                # In one line, as all that was told before.
                session.output.error(error)
                raise typer.Exit(error.exit_code) from None


@dataclass(frozen=True, slots=True)
class _Voice:
    """How a watcher speaks.

    Attributes:
        report: told what happens.
        stopping: called in a signal handler when the user wants the watcher to end.
        leave: called there before the process ends at once, where something is to be put right.
    """

    report: Report
    stopping: Callable[[], None] = lambda: None
    leave: Callable[[], None] | None = None


@contextlib.contextmanager
def _voice(session: Session, workspace: Workspace) -> Iterator[_Voice]:
    """JSON lines, a screen on a terminal, or plain lines."""
    output = session.output
    if output.as_json:
        output.in_lines = True
        yield _Voice(_json_lines(session))
    elif _has_screen() and not output.quiet:
        with _screen(session, workspace) as voice:
            yield voice
    else:
        yield _Voice(_plain_lines(session))


def _has_screen() -> bool:
    dumb = os.environ.get("TERM", "dumb" if os.name != "nt" else "").lower() in ("dumb", "unknown")
    return sys.stdout.isatty() and not dumb


def _json_lines(session: Session) -> Report:
    from amem_cli.terminal.watching import news_document

    def report(news: News | None, status: WatchStatus) -> None:
        if news is not None:
            session.output.json_line(news_document(news, datetime.now().astimezone()))
            sys.stdout.flush()

    return report


def _plain_lines(session: Session) -> Report:
    from amem_cli.terminal.watching import news_lines

    def report(news: News | None, status: WatchStatus) -> None:
        time = datetime.now().strftime("%H:%M:%S")
        for line, _ in news_lines(news) if news is not None else ():
            session.output.plain(f"{time}  {line}")
        sys.stdout.flush()

    return report


@contextlib.contextmanager
def _screen(session: Session, workspace: Workspace) -> Iterator[_Voice]:
    from amem_cli.terminal.watching import WatchBoard, WatchScreen, at_home, summary
    from amem_cli.workspace.watch_lock import WatchStatus

    started = datetime.now().astimezone()
    board = WatchBoard(
        vault=at_home(workspace.root),
        status=WatchStatus(os.getpid(), "", started.isoformat()),
    )
    screen = WatchScreen(board, session.output.color)

    def report(news: News | None, status: WatchStatus) -> None:
        board.status, board.model = status, _model_name(workspace)
        board.settle = workspace.settings.evolution_settle_seconds
        board.queue = [each.path for each in workspace.index.queue.pending()[:QUEUE_SHOWN]]
        if news is not None:
            board.take(news, datetime.now())
        screen.changed()

    def stopping() -> None:
        board.stopping = True

    try:
        with screen.shown():
            yield _Voice(report, stopping, screen.leave)
    finally:
        session.output.plain(summary(board, datetime.now().astimezone() - started))


def _model_name(workspace: Workspace) -> str:
    settings = workspace.settings
    if settings.llm_backend == "none":
        return "no language model"
    return Path(settings.llm_model).name or "bundled model"


def _stop_on_signals(watch: Watch, voice: _Voice) -> None:
    """Let Ctrl-C and what ends a process end the watch after the note at hand."""

    def end(number: int, frame: object) -> None:
        signal.signal(number, at_once if voice.leave else signal.SIG_DFL)
        voice.stopping()
        watch.stop()

    def at_once(number: int, frame: object) -> None:
        if voice.leave is not None:
            voice.leave()
        signal.signal(number, signal.SIG_DFL)
        os.kill(os.getpid(), number)

    for name in ("SIGINT", "SIGTERM", "SIGHUP"):
        number = getattr(signal, name, None)
        if number is not None and signal.getsignal(number) is not signal.SIG_IGN:
            signal.signal(number, end)
