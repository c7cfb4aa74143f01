"""What happens while a vault is watched: as lines, as JSON, or as a calm screen."""

from __future__ import annotations

from collections import deque
from collections.abc import Callable
from dataclasses import dataclass, field
from datetime import datetime
from typing import TYPE_CHECKING, Any

from amem_cli.core.watch_port import News
from amem_cli.rendering.console import Styled
from amem_cli.rendering.documents import outcome_document
from amem_cli.services.outcome import Outcome

if TYPE_CHECKING:
    from rich.console import Group

SHOWN = 12
# What only a program wants to follow step by step.
_QUIET = frozenset({"searchable", "thinking"})


def news_document(news: News, moment: datetime) -> dict[str, Any]:
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


def news_lines(news: News) -> list[str]:
    """What a person reads of it on plain lines; nothing for mere steps."""
    if news.kind in _QUIET:
        return []
    if isinstance(news.result, Outcome):
        return [text for text, _ in _outcome_lines(news.result)]
    return [news.text]


def _outcome_lines(outcome: Outcome) -> list[tuple[str, str]]:
    """What was learned of a note as (text, style)."""
    if outcome.pending:
        why = outcome.problems[0] if outcome.problems else "it waits"
        return [(f"{outcome.title}: {why}", "yellow")]
    written = f" ({', '.join(outcome.written)})" if outcome.written else ""
    lines = [(f"{outcome.title}{written}", "bold")]
    lines += [
        (f"  → {link.title}  {link.relation.replace('_', ' ')}: {link.reason}", "cyan")
        for link in outcome.links
    ]
    lines += [
        (f"  ↻ {note.title}  {', '.join(note.fields)}: {note.reason}", "magenta")
        for note in outcome.evolved
    ]
    lines += [(f"  ? {each.path}: a proposal waits (amem review)", "yellow") for each in
              outcome.proposed]  # fmt: skip
    return lines


@dataclass
class WatchBoard:
    """What a person wants to see of a watcher at a glance.

    Attributes:
        vault: the vault's folder.
        model: name of the language model, or that there is none.
        pending: counts what waits.
        moment: the time of day.
    """

    vault: str
    model: str
    pending: Callable[[], int]
    moment: Callable[[], datetime]
    notes: int = 0
    learned: int = 0
    links: int = 0
    evolved: int = 0
    tokens: int = 0
    doing: str = ""
    state: str = "starting"
    reason: str = ""
    waiting: int = 0
    _recent: deque[tuple[str, str, str]] = field(default_factory=lambda: deque(maxlen=SHOWN))

    def take(self, news: News) -> None:
        """Keep what is worth showing."""
        self._count(news)
        time = self.moment().strftime("%H:%M")
        if isinstance(news.result, Outcome):
            entries = _outcome_lines(news.result)
        else:
            entries = [(line, "") for line in news_lines(news)]
        for number, (text, style) in enumerate(entries):
            self._recent.append((time if number == 0 else "", text, style))

    def _count(self, news: News) -> None:
        self.notes = news.detail.get("notes", self.notes)
        self.waiting = self.pending()
        if news.kind == "thinking":
            self.state, self.doing = "thinking", news.detail["path"]
        elif news.kind in ("asking", "trouble"):
            self.state, self.reason = news.kind, news.text
        elif news.kind == "waiting" and "reason" in news.detail:
            self.state, self.reason = "resting", news.detail["reason"]
        elif news.kind in ("learned", "watching", "well", "waiting", "stopped"):
            self.state, self.doing, self.reason = "watching", "", ""
        if news.kind == "learned" and isinstance(news.result, Outcome):
            self.learned += 1
            self.links += len(news.result.links)
            self.evolved += len(news.result.evolved)
            self.tokens += news.result.use.prompt_tokens + news.result.use.answer_tokens

    def __rich__(self) -> Group:
        from rich.console import Group
        from rich.rule import Rule
        from rich.text import Text

        head = Styled(("amem watch  ", "bold"), (self.vault, "cyan"))
        counts = Styled(
            f"{self.notes} notes · {self.waiting} pending · learned {self.learned}"
            f" ({self.links} links, {self.evolved} evolved) · {self.model}",
            (f" · {self.tokens} tokens" if self.tokens else "", "dim"),
        )
        lines = [
            Styled((f"{time:>5}  ", "dim"), (text, style)).__rich__()
            for time, text, style in self._recent
        ]
        for line in lines:
            line.no_wrap, line.overflow = True, "ellipsis"
        if not lines:
            lines = [Text("nothing yet; notes you write appear here", style="dim")]
        return Group(head, counts, Rule(style="dim"), *lines, Rule(style="dim"), self._foot())

    def _foot(self) -> Styled:
        styles = {"asking": "bold red", "trouble": "yellow", "resting": "yellow"}
        text = self.state
        if self.doing:
            text = f"thinking about {self.doing}"
        elif self.reason:
            text = f"{self.state}: {self.reason}"
        return Styled((text, styles.get(self.state, "green")), ("   Ctrl-C ends", "dim"))
