"""Makes one commit of what the machine changed in one command, and says in it what and why."""

from __future__ import annotations

import threading
import unicodedata
from collections.abc import Callable, Collection, Iterable, Mapping, Sequence
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING

from amem_cli.journal.events import REMOVING
from amem_cli.locations import STATE_FOLDER

if TYPE_CHECKING:
    from amem_cli.git.repository import CommitReport, Describe
    from amem_cli.journal.events import Event, NoteWrite

SUBJECT_CHARACTERS = 72
LINE_CHARACTERS = 240
TITLE_CHARACTERS = 60
SHORTEST_TITLE = 12
MAX_LINES = 200
MAX_TRAILERS = 1000
NAMED_PATHS = 3
TRAILER = "Amem-Event"

# Events of a person's own commands, and those that only keep account.
_PERSONAL = frozenset({"add", "edit", "remove", "merge"})
_ACCOUNTS = frozenset({"baseline", "release"})
_INVISIBLE = frozenset({"Cc", "Cf", "Cn", "Co", "Cs", "Zl", "Zp"})


class CommitBatch:
    """The changes of one command, collected until they are committed."""

    def __init__(self) -> None:
        self._written: dict[str, bool] = {}
        self._events: list[Event] = []

    def collect(self, writes: Sequence[NoteWrite], events: Sequence[Event]) -> None:
        """Remember a change that was made whole."""
        by_machine = any(map(is_machine_change, events))
        for write in writes:
            self._written[write.path] = by_machine or self._written.get(write.path, False)
        self._events += events

    def __bool__(self) -> bool:
        return any(map(is_machine_change, self._events))

    @property
    def events(self) -> list[Event]:
        """What the machine did, and how the notes of the batch came and went, oldest first."""
        notes = set(self.notes)
        return [
            event
            for event in self._events
            if is_machine_change(event)
            or (event.kind in ("add", *REMOVING) and event.path in notes)
        ]

    @property
    def notes(self) -> list[str]:
        """Paths of the notes that the machine changed, or that were written for it to work on."""
        touched = {event.path for event in self._events if is_machine_change(event)}
        return [path for path, machine in self._written.items() if machine or path in touched]


class MachineCommits:
    """The changes of one vault since its last commit; several threads may add to them.

    Args:
        environment: variables, those of git among them.
    """

    def __init__(self, root: Path, environment: Mapping[str, str]) -> None:
        self._root = root
        self._environment = environment
        self._collecting = threading.Lock()
        self._batch = CommitBatch()

    def collect(self, writes: Sequence[NoteWrite], events: Sequence[Event]) -> None:
        """Remember a change that was made whole."""
        with self._collecting:
            self._batch.collect(writes, events)

    def commit(self) -> list[str]:
        """Commit what was collected since the last call.

        Returns:
            Notices for the user, one line each.
        """
        with self._collecting:
            batch, self._batch = self._batch, CommitBatch()
        if not batch:
            return []
        from amem_cli.git.repository import commit_files
        from amem_cli.locations import machine_name

        state = self._root / STATE_FOLDER
        journal = (state / "journal").glob(f"*-{machine_name(self._environment)}.jsonl")
        beside = sorted(path.relative_to(self._root).as_posix() for path in journal)
        beside += [f"{STATE_FOLDER}/review/", f"{STATE_FOLDER}/devices/"]
        return commit(batch, partial(commit_files, self._root, self._environment), beside)


def is_machine_change(event: Event) -> bool:
    """True for what the machine or an agent did, or a person's verdict on that."""
    if event.kind in _ACCOUNTS:
        return False
    return bool(_agent(event)) or event.by == "machine" or event.kind not in _PERSONAL


def _agent(event: Event) -> str:
    """The agent whose own change this is; empty if it is none's."""
    client = event.extra.get("client")
    if event.by != "person" or not isinstance(client, str):
        return ""
    return one_line(client, TITLE_CHARACTERS)


def commit(
    batch: CommitBatch,
    commit_files: Callable[[Sequence[str], Describe], CommitReport],
    beside: Sequence[str],
) -> list[str]:
    """Commit what the machine changed.

    Args:
        commit_files: commits files of the vault, as `repository.commit_files` does.
        beside: vault-relative paths of the files that describe the changes: journal and proposals.

    Returns:
        Notices for the user, one line each.
    """
    notes = batch.notes

    def describe(changed: frozenset[str]) -> str:
        # An account of notes that are all left out would be a commit about nothing in it.
        if notes and not changed.intersection(notes):
            return ""
        return commit_message(batch.events, left_out=set(notes) - changed)

    return notices(commit_files([*notes, *beside], describe))


def notices(report: CommitReport) -> list[str]:
    """What the user should know of a commit: why there is none, and what is not in it."""
    lines = []
    if report.skipped:
        lines.append(f"git: the changes were not committed: {one_line(report.skipped, 200)}")
    by_reason: dict[str, list[str]] = {}
    for path, reason in report.left_out.items():
        by_reason.setdefault(reason, []).append(one_line(path, 120))
    for reason, paths in by_reason.items():
        more = len(paths) - NAMED_PATHS
        named = ", ".join(paths[:NAMED_PATHS]) + (f" and {more} more" if more > 0 else "")
        lines.append(f"git: left out of the commit: {named}: {one_line(reason, 200)}")
    return lines


def commit_message(events: Sequence[Event], *, left_out: Collection[str] = ()) -> str:
    """What was changed because of what, as a subject, one line a change, and the events' ids.

    Args:
        left_out: paths of notes that the commit does not hold.
    """
    titles = _titles(events)
    lines = []
    for event in events:
        mark = " (not in this commit)" if event.path in left_out else ""
        lines += [one_line(line, LINE_CHARACTERS) + mark for line in _lines(event, titles)]
    if len(lines) > MAX_LINES:
        lines[MAX_LINES:] = [f"and {len(lines) - MAX_LINES} more changes"]
    roots = [f"{TRAILER}: {one_line(event.id, 80)}" for event in _roots(events)]
    if len(roots) > MAX_TRAILERS:
        roots[MAX_TRAILERS:] = [f"{TRAILER}s-Not-Named: {len(roots) - MAX_TRAILERS}"]
    body = "\n".join(f"- {line}" for line in lines)
    subject = one_line(_subject(events, titles), SUBJECT_CHARACTERS)
    return "\n\n".join(part for part in (subject, body, "\n".join(roots)) if part)


def one_line(text: str, limit: int) -> str:
    """Text of a note or a model as one line of visible characters, cut if it is too long."""
    seen = (" " if unicodedata.category(char) in _INVISIBLE else char for char in text[: 4 * limit])
    line = " ".join("".join(seen).split())
    return line if len(line) <= limit else line[: limit - 1].rstrip() + "…"


def _roots(events: Iterable[Event]) -> list[Event]:
    """Events that no other one of the batch caused; every run of the memory process is one."""
    found = [event for event in events if event.kind != "add"]
    ids = {event.id for event in found}
    return [event for event in found if event.kind == "process" or event.cause not in ids]


def _titles(events: Iterable[Event]) -> Mapping[str, str]:
    """Titles of the notes that the events are about, by id and by path: their files' names."""
    titles: dict[str, str] = {}
    for event in events:
        named = [(event.note, event.path), *((link.target, link.path) for link in event.links)]
        for key, path in named:
            if path:
                titles[path] = titles[key or path] = path.rpartition("/")[2].removesuffix(".md")
    return titles


def _quoted(key: str, titles: Mapping[str, str], limit: int = TITLE_CHARACTERS) -> str:
    return f"“{one_line(titles.get(key, key), limit)}”"


def _lines(event: Event, titles: Mapping[str, str]) -> list[str]:
    note = _quoted(event.note or event.path, titles)
    because = ""
    if event.trigger and event.trigger not in (event.note, event.path):
        because = f" because of {_quoted(event.trigger, titles)}"
    reason = f": {event.reason}" if event.reason else ""
    if event.links:
        return [
            f"{note} → {_quoted(link.target, titles)} ({link.relation.replace('_', ' ')}):"
            f" {link.reason}"
            for link in event.links
        ]
    fields = ", ".join(
        change.field for change in event.changes if change.field not in ("id", "created")
    )
    by = f" by {_agent(event)}" if _agent(event) else ""
    told = {
        "add": f"{note} added{by}",
        "edit": f"{note}: {fields or 'text'} changed{by}",
        "process": "",
        "construct": f"{note}: {fields} written",
        "link": f"{note}: links changed{because}{reason}",
        "evolve": f"{note}: {fields} evolved{because}{reason}",
        "remove": f"{note} moved to the trash{by}",
        "merge": f"{note} moved to the trash: {event.reason}",
        "reject": f"{note}: a proposal was turned down{because}{reason}",
        "undo": f"{note}: {event.reason or 'a change was taken back'}",
    }.get(event.kind, f"{note}: {event.kind}{because}{reason}")
    return [told] if told else []


def _subject(events: Sequence[Event], titles: Mapping[str, str]) -> str:
    """What was done, in short; a title gives way before a number does."""
    runs = [event for event in events if event.kind == "process"]
    removed = [event for event in events if event.kind in REMOVING]
    undone = [event for event in events if event.kind == "undo"]
    one = len(runs) == 1 and not (removed or undone)
    done = _summary(events, one=one)
    if one:
        return _about(runs[0], titles, lambda title: f"amem: {title} {done}")
    if runs:
        return f"amem: {_count(len(runs), 'note')} read, {done}"
    agents = [event for event in events if _agent(event)]
    if agents and not undone:
        return _of_agent(agents, titles)
    if len(removed) == 1:
        return _about(removed[0], titles, lambda title: f"amem: {title} removed, {done}")
    if undone:
        changes = _count(len(undone), "change")
        paths = {event.path for event in undone}
        if len(paths) > 1:
            return f"amem: {changes} taken back in {len(paths)} notes"
        return _about(undone[0], titles, lambda title: f"amem: {changes} taken back in {title}")
    return f"amem: {done}"


def _of_agent(events: Sequence[Event], titles: Mapping[str, str]) -> str:
    """What an agent did itself, without the memory process."""
    by, paths = _agent(events[0]), {event.path for event in events}
    if len(paths) > 1:
        return f"amem: {_count(len(paths), 'note')} changed by {by}"
    deed = {"add": "added", "remove": "removed"}.get(events[0].kind, "changed")
    return _about(events[0], titles, lambda title: f"amem: {title} {deed} by {by}")


def _about(event: Event, titles: Mapping[str, str], written: Callable[[str], str]) -> str:
    room = max(SUBJECT_CHARACTERS - len(written("“”")), SHORTEST_TITLE)
    return written(_quoted(event.note or event.path, titles, room))


def _summary(events: Sequence[Event], *, one: bool) -> str:
    links = sum(len(event.links) for event in events)
    described = any(event.kind == "construct" for event in events)
    counts = (
        ("unlinked", sum(event.kind == "link" and not event.links for event in events)),
        ("evolved", len({event.path for event in events if event.kind == "evolve"})),
    )
    parts = []
    if links:
        made = f"linked to {_count(links, 'note')}" if one else f"{_count(links, 'link')} made"
        parts.append(made)
    elif one:
        parts.append("described" if described else "read")
    parts += [f"{_count(number, 'note')} {what}" for what, number in counts if number]
    rejected = sum(event.kind == "reject" for event in events)
    if rejected:
        parts.append(f"{_count(rejected, 'proposal')} turned down")
    return ", ".join(parts) or "nothing to change"


def _count(number: int, word: str) -> str:
    return f"{number} {word}" if number == 1 else f"{number} {word}s"
