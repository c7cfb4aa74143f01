"""A watcher's events as lines, as JSON, and as a full-screen board on a terminal."""

from __future__ import annotations

import io
import os
import sys
import threading
import time
from collections import deque
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager, redirect_stderr, suppress
from dataclasses import dataclass, field
from datetime import datetime, timedelta
from pathlib import Path
from typing import TYPE_CHECKING, Any

from amem_cli.index.sync import SyncReport
from amem_cli.language.safe_text import on_one_line, printable
from amem_cli.memory.outcome import Outcome
from amem_cli.system.signals import on_suspension, suspend
from amem_cli.terminal.notes import suggestion_line
from amem_cli.terminal.output import plural, rich_console
from amem_cli.watch.worker import WatchEvent
from amem_cli.workspace.documents import outcome_document
from amem_cli.workspace.watch_lock import WatchStatus

if TYPE_CHECKING:
    from rich.console import Console, ConsoleOptions, RenderableType, RenderResult
    from rich.live import Live
    from rich.text import Text

    from amem_cli.terminal.output import Part

# If many notes changed at once, only so many are named.
NAMED = 3
# Steps that only programs follow.
_QUIET = frozenset({"embedding", "searchable", "thinking"})


def news_document(news: WatchEvent, moment: datetime) -> dict[str, Any]:
    """One JSON line."""
    document: dict[str, Any] = {
        "time": moment.isoformat(timespec="milliseconds"),
        "event": news.kind,
        "text": news.text,
        **news.detail,
    }
    if isinstance(news.result, Outcome):
        document["note"] = outcome_document(news.result)
    return document


def news_lines(news: WatchEvent) -> list[tuple[str, str]]:
    """An event as (line, style) pairs; none for mere steps."""
    if news.kind in _QUIET:
        return []
    if isinstance(news.result, Outcome):
        return _outcome_lines(news.result)
    if isinstance(news.result, SyncReport):
        return [(line, "dim") for line in _changes(news.result)]
    return [(news.text, _STYLES.get(news.kind, "dim"))]


_STYLES = {"asking": "bold red", "trouble": "yellow", "waiting": "yellow", "well": "green"}


def named(paths: Sequence[str]) -> str:
    """The first paths by name, and how many more there are."""
    shown = ", ".join(paths[:NAMED])
    more = len(paths) - NAMED
    return f"{shown} and {more} more" if more > 0 else shown


def _changes(report: SyncReport) -> list[str]:
    moved = [f"{before} → {after}" for before, after in report.moved]
    groups = ("new", report.added), ("changed", report.changed), ("moved", moved)
    return [
        f"{what}: {named(paths)}" for what, paths in (*groups, ("gone", report.removed)) if paths
    ]


def _outcome_lines(outcome: Outcome) -> list[tuple[str, str]]:
    """What amem wrote for a note."""
    lines = [(outcome.title, "bold")]
    if outcome.pending:
        why = outcome.problems[0] if outcome.problems else "pending"
        lines = [(f"{outcome.title}: {why}", "yellow")]
    lines += [(f"  {text}", "") for text in _written(outcome)]
    lines += [
        (f"  → {link.title}  {link.relation.replace('_', ' ')}: {link.reason}", "cyan")
        for link in outcome.links
    ]
    if outcome.suggested:
        lines.append((f"  suggested {suggestion_line(outcome)}", ""))
    lines += [
        (f"  ↻ {note.title}  {', '.join(note.fields)}: {note.reason}", "magenta")
        for note in outcome.evolved
    ]
    lines += [
        (f"  ? {proposal.path}: proposed change (amem review)", "yellow")
        for proposal in outcome.proposed
    ]
    return lines


def _written(outcome: Outcome) -> list[str]:
    """The metadata that amem wrote itself."""
    meta, written = outcome.metadata, outcome.written
    tags = [f"#{tag}" for tag in meta.tags] if "tags" in written else []
    keywords = ", ".join(meta.keywords) if "keywords" in written else ""
    labels = " · ".join(filter(None, (" ".join(tags), keywords)))
    context = meta.context if "context" in written else ""
    return [text for text in (labels, context) if text]


def status_lines(status: WatchStatus, now: datetime) -> list[str]:
    """What a watcher does, for `amem watch --status`."""
    started = datetime.fromisoformat(status.started)
    doing = f": {on_one_line(status.doing)}" if status.doing else ""
    reason = f": {on_one_line(status.reason)}" if status.reason else ""
    lines = [
        f"{status.state}{doing}{reason}",
        f"{plural(status.notes, 'note')}, {status.pending:,} pending",
        ", ".join(_done(status)),
        f"process {status.pid} on {status.machine}, since {started.astimezone():%Y-%m-%d %H:%M}"
        f" ({span(now - started)})",
    ]
    if status.trouble:
        lines.insert(1, f"! {status.trouble}")
    return lines


def _done(status: WatchStatus) -> list[str]:
    """What was learned, and at what cost."""
    learned = f"learned {status.learned} ({plural(status.links, 'link')}, {status.evolved} evolved)"
    return [learned, *([f"{status.tokens:,} tokens"] if status.tokens else [])]


def span(duration: timedelta) -> str:
    """A duration in hours and minutes."""
    minutes = max(0, int(duration.total_seconds() // 60))
    return f"{minutes // 60} h {minutes % 60} min" if minutes >= 60 else f"{minutes} min"


# Past lines, for a terminal that grows.
MAX_LINES = 400
# Screen lines for one line of an event.
MAX_WRAPPED = 4
_CLOCK_WIDTH = 7
# On fewer lines, rules and figures make room for events.
_ROOMY, _CRAMPED = 14, 7

_SIGNS = {"asking": ("?", "bold red"), "failing": ("!", "yellow"), "resting": ("‖", "yellow")}


@dataclass
class WatchBoard:
    """A watched vault at a glance, on a terminal of any size.

    Attributes:
        vault: the vault's folder, as the user writes it.
        model: name of the language model, or a word for none.
        settle: seconds without an edit before a note is processed.
        queue: paths of pending notes, the next one first.
        stopping: the user asked the watcher to end.
    """

    vault: str
    status: WatchStatus
    model: str = ""
    settle: float = 0.0
    queue: Sequence[str] = ()
    stopping: bool = False
    _news: deque[tuple[str, str, str]] = field(default_factory=lambda: deque(maxlen=MAX_LINES))

    def take(self, news: WatchEvent, moment: datetime) -> None:
        """Add an event."""
        for number, (text, style) in enumerate(news_lines(news)):
            self._news.append((f"{moment:%H:%M}" if number == 0 else "", text, style))

    def add_notice(self, text: str, moment: datetime) -> None:
        """Add a notice that was written to stderr."""
        self._news.append((f"{moment:%H:%M}", text, "yellow"))

    def __rich_console__(self, console: Console, options: ConsoleOptions) -> RenderResult:
        width, height = console.size
        head, foot = self._head(height), self._foot(console, width, height)
        room = max(0, height - len(head) - len(foot))
        news = self._lines(console, width, room)[-room:] if room else []
        blank = [_line()] * (room - len(news))
        # If not everything fits, the end matters most.
        yield from [*head, *news, *blank, *foot][-height:]

    def _head(self, height: int) -> list[RenderableType]:
        if height < _CRAMPED:
            return []
        started = datetime.fromisoformat(self.status.started).astimezone()
        figures = [plural(self.status.notes, "note"), *_done(self.status)]
        figures += [part for part in (self.model, f"since {started:%H:%M}") if part]
        vault = _line(("amem watch  ", "bold"), (self.vault, "cyan"))
        return [vault, _line(" · ".join(figures)), *_rule(height)]

    def _foot(self, console: Console, width: int, height: int) -> list[RenderableType]:
        lines = _rule(height)
        if self.status.trouble:
            lines.append(_line((f"! {self.status.trouble}", "yellow")))
        if height >= _CRAMPED:
            lines.append(_line(*self._queue()))
        return [*lines, *self._now(console, width, height)]

    def _now(self, console: Console, width: int, height: int) -> list[Text]:
        """What it does; a question or a failure may take several lines."""
        sign, style = _SIGNS.get(self.status.state, ("●", "green"))
        state = _line((f"{sign} {self._state()}", style))
        keys = "" if self.stopping else "Ctrl-C ends"
        gap = width - state.cell_len - len(keys)
        if gap > 1:
            return [state.append(" " * gap + keys, "dim")]
        if self.status.state in ("asking", "failing") and height >= _CRAMPED:
            return list(_wrapped(console, ("", state.plain, style), width, 0))
        return [state]

    def _queue(self) -> tuple[Part, ...]:
        count = self.status.pending
        if not count:
            return (("nothing pending", "dim"),)
        rest = f" · after {self.settle:g} s without an edit" if self.settle else ""
        names = f": {named(self.queue)}" if self.queue else ""
        return f"{count:,} pending{names}", (rest, "dim")

    def _state(self) -> str:
        status = self.status
        if self.stopping:
            return "stopping after this note; Ctrl-C again stops at once"
        if status.state == "thinking":
            return f"processing {status.doing}"
        if status.state == "starting":
            return "reading the vault"
        if status.reason:
            asked = status.state in ("asking", "embedding")
            return status.reason if asked else f"{status.state}: {status.reason}"
        return status.state

    def _lines(self, console: Console, width: int, room: int) -> list[Text]:
        if not self._news:
            return [_line(("nothing yet; what amem does appears here", "dim"))]
        clock = _CLOCK_WIDTH if width >= 5 * _CLOCK_WIDTH else 0
        return [
            line
            for each in list(self._news)[-room:]
            for line in _wrapped(console, each, width, clock)
        ]


def at_home(folder: Path) -> str:
    """A path with ~ for the home folder."""
    with suppress(ValueError, RuntimeError):
        return str(Path("~") / folder.relative_to(Path.home()))
    return str(folder)


def summary(board: WatchBoard, duration: timedelta) -> str:
    """What was done, for the terminal after the board is closed."""
    status = board.status
    learned, *tokens = _done(status)
    watched = f"watched {printable(board.vault)} for {span(duration)}"
    parts = [watched, learned, f"{status.pending:,} pending", *tokens]
    more = "\namem history NOTE shows what was written and why" if status.learned else ""
    return " · ".join(parts) + more


def _wrapped(
    console: Console, entry: tuple[str, str, str], width: int, clock: int
) -> Iterator[Text]:
    """A line of an event, wrapped with a hanging indent."""
    from rich.text import Text

    time, text, style = entry
    bare = printable(text.replace("\n", " "))
    indent = clock + len(bare) - len(bare.lstrip())
    deeper = indent + 2
    # A terminal may be narrower than the indent; it cuts what is then too wide.
    parts = list(Text(bare.strip(), style=style).wrap(console, max(8, width - deeper)))
    for number, part in enumerate(parts[:MAX_WRAPPED]):
        cut = "…" if number == MAX_WRAPPED - 1 and len(parts) > MAX_WRAPPED else ""
        space = indent if number == 0 else deeper
        start = f"{time:<{space}}" if number == 0 and clock else " " * space
        yield _line((start, "dim"), (part.plain.rstrip() + cut, style))


def _line(*parts: Part) -> Text:
    """One line that a narrower terminal cuts."""
    from rich.text import Text

    line = Text(no_wrap=True, overflow="ellipsis")
    for part in parts:
        text, style = (part, "") if isinstance(part, str) else part
        # A tab reaches to the next stop, which may be past the width that was counted.
        line.append(on_one_line(text).replace("\t", " "), style=style)
    return line


def _rule(height: int) -> list[RenderableType]:
    from rich.rule import Rule

    return [Rule(style="dim")] if height >= _ROOMY else []


# At most ten frames a second; the terminal's size is checked twice a second.
DRAW_SECONDS = 0.1
SIZE_CHECK_SECONDS = 0.5
# Written past rich: a signal handler may have interrupted the thread that holds its lock.
_LEAVE_SCREEN = b"\x1b[?1049l\x1b[?25h"
_ENTER_SCREEN = b"\x1b[?1049h\x1b[?25l"


class WatchScreen:
    """Draws a board on a terminal's alternate screen when it or the terminal's size changed."""

    def __init__(self, board: WatchBoard, color: bool | None, look: Callable[[], None]) -> None:
        self.board = board
        self._color = color
        self._look = look
        self._changed = threading.Event()
        self._closed = False
        self._away = False

    @contextmanager
    def shown(self) -> Iterator[None]:
        """Use the terminal inside, and restore it at the end."""
        from rich.live import Live

        console = rich_console(sys.stdout, self._color)
        live = Live(
            self.board, console=console, auto_refresh=False, screen=True, redirect_stderr=False
        )
        drawing = threading.Thread(target=self._draw, args=(live,), daemon=True)
        on_suspension(self._suspend)
        # A terminal that hung up cannot be restored, and that is not an error.
        with redirect_stderr(_NoticesOnBoard(self)), suppress(OSError), live:
            drawing.start()
            try:
                yield
            finally:
                # The drawing thread ends first, or a late picture would cover the shell's screen.
                self._closed = True
                self.changed()
                drawing.join()

    def report(self, news: WatchEvent | None, status: WatchStatus) -> None:
        """Show an event and the status after it."""
        self.board.status = status
        self._look()
        if news is not None:
            self.board.take(news, datetime.now())
        self.changed()

    def changed(self) -> None:
        """Draw the board soon."""
        self._changed.set()

    def leave(self) -> None:
        """Restore the terminal at once; safe in a signal handler that ends the process."""
        _send(_LEAVE_SCREEN)

    def _suspend(self, number: int, frame: object) -> None:
        """Ctrl-Z: show the shell's screen until the shell continues the watcher."""
        self._away = True
        self.leave()
        # This handler replaced SIGTSTP's default, which would have stopped the process.
        suspend()
        _send(_ENTER_SCREEN)
        self._away = False
        self.changed()

    def _draw(self, live: Live) -> None:
        drawn: object = None
        while not self._closed:
            changed = self._changed.wait(SIZE_CHECK_SECONDS)
            # Cleared before it draws, so that a change meanwhile gets another picture.
            self._changed.clear()
            state = (live.console.size, self.board.stopping)
            if not self._away and (changed or state != drawn):
                drawn = state
                # If the terminal is gone, SIGHUP ends the watcher.
                with suppress(OSError):
                    live.refresh()
                time.sleep(DRAW_SECONDS)


def _send(codes: bytes) -> None:
    with suppress(OSError):
        os.write(sys.stdout.fileno(), codes)


class _NoticesOnBoard(io.TextIOBase):
    """Shows on the board what is written to stderr."""

    def __init__(self, screen: WatchScreen) -> None:
        self._screen = screen
        self._partial_line = ""

    def write(self, text: str) -> int:
        # A line may come in several writes.
        *lines, self._partial_line = (self._partial_line + text).split("\n")
        for line in filter(str.strip, lines):
            self._screen.board.add_notice(line, datetime.now())
            self._screen.changed()
        return len(text)
