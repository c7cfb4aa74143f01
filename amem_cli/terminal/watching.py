"""A watcher's events and status as lines, and its events as JSON."""

from __future__ import annotations

from datetime import datetime
from typing import TYPE_CHECKING, Any

from amem_cli.index.sync import SyncReport
from amem_cli.language.safe_text import on_one_line
from amem_cli.memory.outcome import Outcome
from amem_cli.terminal.notes import outcome_rows
from amem_cli.terminal.output import named, plural
from amem_cli.terminal.progress import span
from amem_cli.watch.worker import WatchEvent
from amem_cli.workspace.documents import outcome_document

if TYPE_CHECKING:
    from amem_cli.terminal.output import Row
    from amem_cli.workspace.watch_lock import WatchStatus

# If many notes changed at once, only so many are named.
NAMED = 3
# Steps that only programs follow.
_QUIET = frozenset({"embedding", "searchable", "thinking"})
_STYLES = {"asking": "bold red", "trouble": "yellow", "waiting": "yellow", "well": "green"}


def news_document(news: WatchEvent, moment: datetime) -> dict[str, Any]:
    document: dict[str, Any] = {
        "time": moment.isoformat(timespec="milliseconds"),
        "event": news.kind,
        "text": news.text,
        **news.detail,
    }
    if isinstance(news.result, Outcome):
        document["note"] = outcome_document(news.result)
    return document


def news_rows(news: WatchEvent) -> list[Row]:
    """An event as lines; none for mere steps."""
    if news.kind in _QUIET:
        return []
    if isinstance(news.result, Outcome):
        outcome = news.result
        path = (f"  {on_one_line(outcome.path)}", "dim")
        rows = [((on_one_line(outcome.title), "bold"), path), *outcome_rows(outcome)]
        return rows
    if isinstance(news.result, SyncReport):
        return [((line, "dim"),) for line in _changes(news.result)]
    return [((news.text, _STYLES.get(news.kind, "dim")),)]


def _changes(report: SyncReport) -> list[str]:
    moved = [f"{before} → {after}" for before, after in report.moved]
    groups = {
        "new": report.added,
        "changed": report.changed,
        "moved": moved,
        "gone": report.removed,
    }
    return [f"{what}: {named(paths, NAMED)}" for what, paths in groups.items() if paths]


def status_lines(status: WatchStatus, now: datetime) -> list[str]:
    started = datetime.fromisoformat(status.started)
    doing = f": {on_one_line(status.doing)}" if status.doing else ""
    reason = f": {on_one_line(status.reason)}" if status.reason else ""
    lines = [
        f"{status.state}{doing}{reason}",
        f"{plural(status.notes, 'note')}, {status.pending:,} pending",
        ", ".join(done(status)),
        f"process {status.pid} on {status.machine}, since {started.astimezone():%Y-%m-%d %H:%M}"
        f" ({span((now - started).total_seconds())})",
    ]
    if status.trouble:
        lines.insert(1, f"! {status.trouble}")
    return lines


def done(status: WatchStatus) -> list[str]:
    """What was learned, and at what cost."""
    learned = f"learned {status.learned} ({plural(status.links, 'link')}, {status.evolved} evolved)"
    return [learned, *([f"{status.tokens:,} tokens"] if status.tokens else [])]
