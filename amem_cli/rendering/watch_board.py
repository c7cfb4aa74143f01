"""A watched vault at a glance: a calm picture that fits any terminal."""

from __future__ import annotations

from collections import deque
from collections.abc import Iterator, Sequence
from contextlib import suppress
from dataclasses import dataclass, field
from datetime import datetime, timedelta
from pathlib import Path
from typing import TYPE_CHECKING

from amem_cli.adapters.watch_status import WatchStatus
from amem_cli.core.watch_port import News
from amem_cli.rendering.output import on_one_line, printable
from amem_cli.rendering.watching import counted, named, news_lines, span

if TYPE_CHECKING:
    from rich.console import Console, ConsoleOptions, RenderResult
    from rich.text import Text

# Lines of news that are kept, for a terminal that grows.
KEPT = 400
# Lines that one piece of news takes at most.
LONGEST = 4
_CLOCK_WIDTH = 7
# Below so many lines rules and figures make room for news.
_ROOMY, _CRAMPED = 14, 7

_SIGNS = {"asking": ("?", "bold red"), "failing": ("!", "yellow"), "resting": ("‖", "yellow")}


@dataclass
class WatchBoard:
    """What a person wants to see of a watcher.

    Attributes:
        vault: the vault's folder, as the user knows it.
        status: what the watcher does.
        model: the language model, or that there is none.
        settle: seconds for which a note rests before it is thought about.
        queue: paths of the notes that wait, the next one first.
        stopping: the user wants it to end.
    """

    vault: str
    status: WatchStatus
    model: str = ""
    settle: float = 0.0
    queue: Sequence[str] = ()
    stopping: bool = False
    _news: deque[tuple[str, str, str]] = field(default_factory=lambda: deque(maxlen=KEPT))

    def take(self, news: News, moment: datetime) -> None:
        """Keep what is worth showing."""
        for number, (text, style) in enumerate(news_lines(news)):
            self._news.append((f"{moment:%H:%M}" if number == 0 else "", text, style))

    def hear(self, text: str, moment: datetime) -> None:
        """Keep a notice that would else have gone to the terminal."""
        self._news.append((f"{moment:%H:%M}", text, "yellow"))

    def __rich_console__(self, console: Console, options: ConsoleOptions) -> RenderResult:
        width, height = console.size
        head, foot = self._head(width, height), self._foot(console, width, height)
        room = max(0, height - len(head) - len(foot))
        news = self._lines(console, width, room)[-room:] if room else []
        blank = [_line(width)] * (room - len(news))
        # The end of what does not fit counts most.
        yield from [*head, *news, *blank, *foot][-height:]

    def _head(self, width: int, height: int) -> list[Text]:
        status = self.status
        vault = _line(width, ("amem watch  ", "bold"), (self.vault, "cyan"))
        if height < _CRAMPED:
            return []
        learned = f"learned {status.learned}"
        if status.links or status.evolved:
            learned += f" ({counted(status.links, 'link')}, {status.evolved} evolved)"
        figures = [counted(status.notes, "note"), learned]
        if status.tokens:
            figures.append(f"{status.tokens:,} tokens")
        figures += [part for part in (self.model, f"since {_clock(status.started)}") if part]
        lines = [vault, _line(width, " · ".join(_fitting(figures, width)))]
        return [*lines, *_rule(width, height)]

    def _foot(self, console: Console, width: int, height: int) -> list[Text]:
        lines = list(_rule(width, height))
        if self.status.trouble:
            lines.append(_line(width, (f"! {self.status.trouble}", "yellow")))
        if height >= _CRAMPED:
            lines.append(_line(width, *self._queue()))
        return [*lines, *self._now(console, width, height)]

    def _now(self, console: Console, width: int, height: int) -> list[Text]:
        """What it does; a question or a failure is told to its end where there is room."""
        from rich.cells import cell_len

        sign, style = _SIGNS.get(self.status.state, ("●", "green"))
        state = f"{sign} {self._state()}"
        keys = "" if self.stopping else "Ctrl-C ends"
        gap = width - cell_len(state) - len(keys)
        if gap > 1:
            return [_line(width, (state, style), (" " * gap + keys, "dim"))]
        told = self.status.state in ("asking", "failing") and height >= _CRAMPED
        lines = list(_wrapped(console, ("", state, style), width, 0))
        return lines if told else [_line(width, (state, style))]

    def _queue(self) -> tuple[str | tuple[str, str], ...]:
        count = self.status.pending
        if not count:
            return (("nothing pending", "dim"),)
        rest = f" · notes rest {self.settle:g} s first" if self.settle else ""
        names = named(self.queue)
        return (
            f"{count:,} pending",
            (f": {names}" if names else "", ""),
            (rest, "dim"),
        )

    def _state(self) -> str:
        status = self.status
        if self.stopping:
            return "stopping after the note at hand; Ctrl-C once more ends it at once"
        if status.state == "thinking":
            return f"thinking about {status.doing}"
        if status.state == "starting":
            return "reading the vault"
        if status.reason:
            asked = status.state in ("asking", "embedding")
            return status.reason if asked else f"{status.state}: {status.reason}"
        return status.state

    def _lines(self, console: Console, width: int, room: int) -> list[Text]:
        if not self._news:
            return [_line(width, ("nothing yet; what is learned appears here", "dim"))]
        clock = _CLOCK_WIDTH if width >= 5 * _CLOCK_WIDTH else 0
        return [
            line
            for each in list(self._news)[-room:]
            for line in _wrapped(console, each, width, clock)
        ]


def at_home(folder: Path) -> str:
    """A path as a person writes it."""
    with suppress(ValueError, RuntimeError):
        return str(Path("~") / folder.relative_to(Path.home()))
    return str(folder)


def summary(board: WatchBoard, duration: timedelta) -> str:
    """What came of it, for the terminal that the user returns to."""
    status = board.status
    parts = [
        f"watched {printable(board.vault)} for {span(duration)}",
        f"learned {status.learned} ({counted(status.links, 'link')}, {status.evolved} evolved)",
        f"{status.pending:,} pending",
    ]
    if status.tokens:
        parts.append(f"{status.tokens:,} tokens")
    more = "\namem history NOTE tells what was written and why" if status.learned else ""
    return " · ".join(parts) + more


def _wrapped(
    console: Console, entry: tuple[str, str, str], width: int, clock: int
) -> Iterator[Text]:
    """One piece of news, broken into lines that stand below one another."""
    from rich.text import Text

    time, text, style = entry
    bare = printable(text.replace("\n", " "))
    indent = clock + len(bare) - len(bare.lstrip())
    deeper = indent + 2
    parts = list(Text(bare.strip(), style=style).wrap(console, max(8, width - deeper)))
    for number, part in enumerate(parts[:LONGEST]):
        cut = "…" if number == LONGEST - 1 and len(parts) > LONGEST else ""
        space = indent if number == 0 else deeper
        start = f"{time:<{space}}" if number == 0 and clock else " " * space
        yield _line(width, (start, "dim"), (part.plain.rstrip() + cut, style))


def _line(width: int, *parts: str | tuple[str, str]) -> Text:
    """One line that is never wider than the terminal."""
    from rich.text import Text

    line = Text(no_wrap=True)
    for part in parts:
        text, style = (part, "") if isinstance(part, str) else part
        line.append(on_one_line(text).replace("\t", " "), style=style)
    line.truncate(width, overflow="ellipsis")
    return line


def _rule(width: int, height: int) -> list[Text]:
    return [_line(width, ("─" * width, "dim"))] if height >= _ROOMY else []


def _fitting(parts: Sequence[str], width: int) -> list[str]:
    """As many parts as a line holds; at least the first."""
    from rich.cells import cell_len

    shown = list(parts)
    while len(shown) > 1 and cell_len(" · ".join(shown)) > width:
        shown.pop()
    return shown


def _clock(started: str) -> str:
    return f"{datetime.fromisoformat(started).astimezone():%H:%M}"
