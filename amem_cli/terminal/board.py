"""A watched vault at a glance, on a terminal's alternate screen."""

from __future__ import annotations

import io
import os
import signal
import sys
import time
from collections import deque
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager, redirect_stderr, suppress
from datetime import datetime
from pathlib import Path
from typing import TYPE_CHECKING

from amem_cli.language.safe_text import flowed, printable
from amem_cli.terminal.output import Part, Row, named, plural
from amem_cli.terminal.progress import span
from amem_cli.terminal.watching import NAMED, done, news_rows

if TYPE_CHECKING:
    from rich.console import Console
    from rich.text import Text

    from amem_cli.watch.worker import WatchEvent
    from amem_cli.workspace.watch_lock import WatchStatus

# Past lines, for a terminal that grows.
MAX_LINES = 400
# Screen lines for one line of an event.
MAX_WRAPPED = 4
# On fewer lines, rules and figures make room for events.
_ROOMY, _CRAMPED = 14, 7
_SIGNS = {"asking": ("?", "bold red"), "failing": ("!", "yellow"), "resting": ("‖", "yellow")}
# Written past rich: a signal handler may have interrupted the thread that holds its lock.
_LEAVE_SCREEN = b"\x1b[?1049l\x1b[?25h"
_ENTER_SCREEN = b"\x1b[?1049h\x1b[?25l"


class WatchBoard:
    """Draws what a watcher did, does and has before it, whatever the terminal's size."""

    def __init__(self, vault: Path, color: bool | None, model: Callable[[], str]) -> None:
        """Name the vault; `model` names the language model at any time."""
        self.stopping = False
        self._vault, self._color, self._model = str(vault), color, model
        with suppress(ValueError, RuntimeError):
            self._vault = str(Path("~") / vault.relative_to(Path.home()))
        self._begun = time.monotonic()
        self._news: deque[Row] = deque(maxlen=MAX_LINES)
        self._status: WatchStatus | None = None
        self._queue: Sequence[str] = ()
        self._refresh: Callable[[], None] = lambda: None

    @contextmanager
    def shown(self) -> Iterator[None]:
        """Use the terminal inside, and restore it at the end."""
        from rich.console import Console
        from rich.live import Live

        console = Console(no_color=self._color is False or None, highlight=False)
        # A second is soon enough for another size of the window; events are drawn at once.
        live = Live(
            get_renderable=lambda: self._picture(console),
            console=console,
            screen=True,
            redirect_stderr=False,
            refresh_per_second=1,
        )
        self._refresh = live.refresh
        if sys.platform != "win32":
            signal.signal(signal.SIGTSTP, self._suspend)
        # A terminal that hung up cannot be restored, and that is not an error.
        with redirect_stderr(_Notices(self)), suppress(OSError), live:
            yield

    def report(self, news: WatchEvent | None, status: WatchStatus, queue: Sequence[str]) -> None:
        """Show an event and the status after it; `queue` are pending notes, the next one first."""
        self._status, self._queue = status, queue
        for number, row in enumerate(news_rows(news) if news is not None else ()):
            self._add(row, first=number == 0)
        with suppress(OSError):
            self._refresh()

    def notice(self, text: str) -> None:
        """Show a line that was written to stderr."""
        self._add(((text, "yellow"),), first=True)
        with suppress(OSError):
            self._refresh()

    def summary(self) -> str:
        """What was done, for the terminal after the board is closed."""
        parts = [f"watched {printable(self._vault)} for {span(time.monotonic() - self._begun)}"]
        if status := self._status:
            parts += [*done(status), f"{status.pending:,} pending"]
            if status.learned:
                parts[-1] += "\namem history NOTE shows what was written and why"
        return " · ".join(parts)

    def leave(self) -> None:
        """Restore the terminal at once; safe in a signal handler that ends the process."""
        with suppress(OSError):
            os.write(sys.stdout.fileno(), _LEAVE_SCREEN)

    def _suspend(self, number: int, frame: object) -> None:
        """Ctrl-Z: show the shell's screen until the shell continues the watcher."""
        self.leave()
        if sys.platform != "win32":
            os.kill(os.getpid(), signal.SIGSTOP)
        with suppress(OSError):
            os.write(sys.stdout.fileno(), _ENTER_SCREEN)

    def _add(self, row: Row, *, first: bool) -> None:
        clock = f"{datetime.now():%H:%M}  " if first else " " * 7
        self._news.append(((clock, "dim"), *row))

    def _picture(self, console: Console) -> Text:
        from rich.text import Text

        width, height = console.size
        head, foot = self._head(width, height), self._foot(width, height)
        room = max(0, height - len(head) - len(foot))
        rows = list(self._news) or [(("nothing yet; what amem does appears here", "dim"),)]
        wrapped = (_line(row).wrap(console, width)[:MAX_WRAPPED] for row in rows[-height:])
        news = [line for lines in wrapped for line in lines][-room:] if room else []
        # If not everything fits, the end matters most.
        lines = [*head, *news, *(Text() for _ in range(room - len(news))), *foot][-height:]
        for line in lines:
            line.truncate(width, overflow="ellipsis")
        return Text("\n", no_wrap=True).join(lines)

    def _head(self, width: int, height: int) -> list[Text]:
        status = self._status
        if height < _CRAMPED or status is None:
            return []
        started = datetime.fromisoformat(status.started).astimezone()
        figures = [plural(status.notes, "note"), *done(status), self._model()]
        figures.append(f"since {started:%H:%M}")
        vault = _line((("amem watch  ", "bold"), (self._vault, "cyan")))
        return [vault, _line((" · ".join(figures),)), *_rule(width, height)]

    def _foot(self, width: int, height: int) -> list[Text]:
        status = self._status
        if status is None:
            return []
        lines = _rule(width, height)
        if status.trouble:
            lines.append(_line(((f"! {status.trouble}", "yellow"),)))
        if height >= _CRAMPED:
            names = f": {named(self._queue, NAMED)}" if self._queue else ""
            waiting = f"{status.pending:,} pending{names}"
            lines.append(_line((waiting if status.pending else ("nothing pending", "dim"),)))
        sign, style = _SIGNS.get(status.state, ("●", "green"))
        keys: Part = "" if self.stopping else ("   Ctrl-C ends", "dim")
        return [*lines, _line(((f"{sign} {self._state(status)}", style), keys))]

    def _state(self, status: WatchStatus) -> str:
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


def _line(row: Row) -> Text:
    from rich.text import Text

    parts = ((part, "") if isinstance(part, str) else part for part in row)
    # A tab reaches to the next stop, which may be past the width that was counted.
    return Text.assemble(*((flowed(text).replace("\t", " "), style) for text, style in parts))


def _rule(width: int, height: int) -> list[Text]:
    return [_line((("─" * width, "dim"),))] if height >= _ROOMY else []


class _Notices(io.TextIOBase):
    """Shows on the board, which breaks lines itself, what is written to stderr."""

    def __init__(self, board: WatchBoard) -> None:
        self._board = board

    def write(self, text: str) -> int:
        for line in filter(str.strip, text.split("\n")):
            self._board.notice(line)
        return len(text)
