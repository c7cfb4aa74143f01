"""What happens while a vault is watched, as lines for a person or as JSON for a program."""

from __future__ import annotations

from collections.abc import Sequence
from datetime import datetime, timedelta
from typing import Any

from amem_cli.adapters.watch_status import WatchStatus
from amem_cli.core.watch_port import News
from amem_cli.rendering.documents import outcome_document
from amem_cli.services.outcome import Outcome
from amem_cli.services.sync import SyncReport

# Paths that are named where many notes changed at once.
NAMED = 3
# What only a program wants to follow step by step.
_QUIET = frozenset({"embedding", "searchable", "thinking"})


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


def news_lines(news: News) -> list[tuple[str, str]]:
    """What a person reads of it, as (line, style); nothing for mere steps."""
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
    groups = {
        "new": report.added,
        "changed": report.changed,
        "moved": moved,
        "gone": report.removed,
    }
    return [f"{what}: {named(paths)}" for what, paths in groups.items() if paths]


def _outcome_lines(outcome: Outcome) -> list[tuple[str, str]]:
    """What was learned of a note."""
    if outcome.pending:
        why = outcome.problems[0] if outcome.problems else "it waits"
        return [(f"{outcome.title}: {why}", "yellow")]
    lines = [(outcome.title, "bold")]
    lines += [(f"  {text}", "") for text in _written(outcome)]
    lines += [
        (f"  → {link.title}  {link.relation.replace('_', ' ')}: {link.reason}", "cyan")
        for link in outcome.links
    ]
    lines += [
        (f"  ↻ {note.title}  {', '.join(note.fields)}: {note.reason}", "magenta")
        for note in outcome.evolved
    ]
    lines += [
        (f"  ? {each.path}: a proposal waits (amem review)", "yellow") for each in outcome.proposed
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
    """What a watcher does, for whoever asks from another terminal."""
    started = datetime.fromisoformat(status.started)
    doing = f": {status.doing}" if status.doing else ""
    reason = f": {status.reason}" if status.reason else ""
    tokens = f", {status.tokens:,} tokens" if status.tokens else ""
    lines = [
        f"{status.state}{doing}{reason}",
        f"{counted(status.notes, 'note')}, {status.pending:,} pending",
        f"learned {status.learned} ({counted(status.links, 'link')}, {status.evolved} evolved)"
        f"{tokens}",
        f"process {status.pid} on {status.machine}, since {started.astimezone():%Y-%m-%d %H:%M}"
        f" ({span(now - started)})",
    ]
    if status.trouble:
        lines.insert(1, f"! {status.trouble}")
    return lines


def counted(count: int, what: str) -> str:
    """A count with its noun."""
    return f"{count:,} {what}{'' if count == 1 else 's'}"


def span(duration: timedelta) -> str:
    """A duration in hours and minutes."""
    minutes = max(0, int(duration.total_seconds() // 60))
    return f"{minutes // 60} h {minutes % 60} min" if minutes >= 60 else f"{minutes} min"
