"""Commits the machine's changes of one command to git, with a message that says what and why."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING

from amem_cli.journal.events import REMOVING, follows_a_note
from amem_cli.settings import STATE_FOLDER, machine_name

if TYPE_CHECKING:
    from amem_cli.git.repository import CommitReport
    from amem_cli.journal.events import Event, NoteWrite

SUBJECT_CHARACTERS = 72
LINE_CHARACTERS = 240
TITLE_CHARACTERS = 60
SHORTEST_TITLE = 12
MAX_LINES = 200
MAX_TRAILERS = 1000
NAMED_PATHS = 3
TRAILER = "Amem-Event"

# Events of a person's own commands, and those that only do bookkeeping.
_PERSONAL = frozenset({"add", "edit", "move", "remove", "merge"})
_BOOKKEEPING = frozenset({"baseline", "release"})


class CommitBatch:
    """The changes of one command, collected until they are committed."""

    def __init__(self) -> None:
        self._written: dict[str, bool] = {}
        self._events: list[Event] = []

    def collect(self, writes: Sequence[NoteWrite], events: Sequence[Event]) -> None:
        by_machine = any(map(is_machine_change, events))
        paths = [path for write in writes for path in (write.source, write.path) if path]
        for path in paths:
            self._written[path] = by_machine or self._written.get(path, False)
        self._events += events

    def __bool__(self) -> bool:
        return any(map(is_machine_change, self._events))

    @property
    def events(self) -> list[Event]:
        """The machine's changes, and how the notes of the batch came and went, oldest first."""
        notes = set(self.notes)
        return [
            event
            for event in self._events
            if is_machine_change(event)
            or (event.kind in ("add", "move", *REMOVING) and event.path in notes)
        ]

    @property
    def notes(self) -> list[str]:
        """Paths of the notes that the machine changed, or that were written for it to process."""
        changed = {event.path for event in self._events if is_machine_change(event)}
        return [path for path, machine in self._written.items() if machine or path in changed]


def is_machine_change(event: Event) -> bool:
    """True for changes of the machine or an agent, and for a person's decision about them."""
    if event.kind in _BOOKKEEPING:
        return False
    return bool(_agent(event)) or event.by == "machine" or event.kind not in _PERSONAL


def _agent(event: Event) -> str:
    """The agent that made this change itself; empty if none did."""
    client = event.extra.get("client")
    if event.by != "person" or not isinstance(client, str):
        return ""
    return one_line(client, TITLE_CHARACTERS)


def commit_batch(batch: CommitBatch, root: Path, environment: Mapping[str, str]) -> list[str]:
    """Commit a vault's changes with what describes them; notices for the user, one line each."""
    from amem_cli.git.repository import commit_files

    journal = (root / STATE_FOLDER / "journal").glob(f"*-{machine_name(environment)}.jsonl")
    records = sorted(path.relative_to(root).as_posix() for path in journal)
    records += [f"{STATE_FOLDER}/review/", f"{STATE_FOLDER}/devices/"]
    notes = batch.notes

    def describe(changed: frozenset[str]) -> str:
        # If every note is left out, the commit would describe changes that it does not hold.
        if notes and not changed.intersection(notes):
            return ""
        return commit_message(batch.events, left_out=set(notes) - changed)

    return notices(commit_files(root, environment, [*notes, *records], describe))


def notices(report: CommitReport) -> list[str]:
    """Why there is no commit, and what was left out of it, one line each."""
    lines = []
    if report.skipped:
        lines.append(f"git: the changes were not committed: {one_line(report.skipped, 200)}")
    for reason in dict.fromkeys(report.left_out.values()):
        paths = [one_line(path, 120) for path, why in report.left_out.items() if why == reason]
        more = f" and {len(paths) - NAMED_PATHS} more" if len(paths) > NAMED_PATHS else ""
        named = ", ".join(paths[:NAMED_PATHS]) + more
        lines.append(f"git: left out of the commit: {named}: {one_line(reason, 200)}")
    return lines


def commit_message(events: Sequence[Event], *, left_out: Collection[str] = ()) -> str:
    """A subject, one line for each change with its reason, and the events' ids as trailers."""
    titles: dict[str, str] = {}
    for event in events:
        named = [(event.note, event.path), *((link.target, link.path) for link in event.links)]
        for key, path in named:
            if path:
                titles[path] = titles[key or path] = path.rpartition("/")[2].removesuffix(".md")
    lines = []
    for event in events:
        mark = " (not in this commit)" if event.path in left_out else ""
        lines += [one_line(line, LINE_CHARACTERS) + mark for line in _lines(event, titles)]
    if len(lines) > MAX_LINES:
        lines[MAX_LINES:] = [f"and {len(lines) - MAX_LINES} more changes"]
    # Only events that no other one of the batch caused; every run of the memory process is one.
    ids = {event.id for event in events if event.kind != "add"}
    trailers = [
        f"{TRAILER}: {one_line(event.id, 80)}"
        for event in events
        if event.kind == "process" or (event.kind != "add" and event.cause not in ids)
    ]
    if len(trailers) > MAX_TRAILERS:
        trailers[MAX_TRAILERS:] = [f"{TRAILER}s-Not-Named: {len(trailers) - MAX_TRAILERS}"]
    body = "\n".join(f"- {line}" for line in lines)
    subject = one_line(f"amem: {_subject(events, titles)}", SUBJECT_CHARACTERS)
    return "\n\n".join(part for part in (subject, body, "\n".join(trailers)) if part)


def one_line(text: str, limit: int) -> str:
    """Text of a note or a model as one line of visible characters, cut if it is too long.

    With others, a note could forge lines of the message or hide text in it.
    """
    # A text may be megabytes long, so it is cut before it is cleaned.
    chars = (char if char.isprintable() else " " for char in text[: 4 * limit])
    line = " ".join("".join(chars).split())
    return line if len(line) <= limit else line[: limit - 1].rstrip() + "…"


def _quoted(key: str, titles: Mapping[str, str], limit: int = TITLE_CHARACTERS) -> str:
    return f"“{one_line(titles.get(key, key), limit)}”"


def _lines(event: Event, titles: Mapping[str, str]) -> list[str]:
    """What an event changed and why, a line for each link made or for the event."""
    note = _quoted(event.note or event.path, titles)
    if event.links:
        return [
            f"{note} → {_quoted(link.target, titles)} ({link.relation.replace('_', ' ')}):"
            f" {link.reason}"
            for link in event.links
        ]
    if event.kind == "process":
        return []
    why = f": {event.reason}" if event.reason else ""
    if event.trigger and event.trigger not in (event.note, event.path):
        why = f" because of {_quoted(event.trigger, titles)}{why}"
    changed = [change.field for change in event.changes]
    fields = ", ".join(name for name in changed if name not in ("id", "created"))
    by = f" by {_agent(event)}" if _agent(event) else ""
    texts = {
        "add": f" added{by}",
        "edit": f": {fields or 'text'} changed{by}",
        "construct": f": {fields} written",
        "link": f": links changed{why}",
        "evolve": f": {fields} evolved{why}",
        "move": f" moved to {event.path}{by}",
        "remove": f" moved to the trash{by}",
        "merge": f" moved to the trash: {event.reason}",
        "reject": f": a proposal was rejected{why}",
        "undo": f": {event.reason or 'a change was undone'}",
    }
    return [note + texts.get(event.kind, f": {event.kind}{why}")]


def _subject(events: Sequence[Event], titles: Mapping[str, str]) -> str:
    """Counts of what was changed; if it begins with one note, its title, cut to fit."""
    own = [event for event in events if not follows_a_note(event)]

    def of(*kinds: str) -> list[Event]:
        return [event for event in own if event.kind in kinds]

    def notes(events: Iterable[Event]) -> list[str]:
        return list(dict.fromkeys(event.note or event.path for event in events))

    runs, links = of("process"), of("link")
    agents = [event for event in own if _agent(event) and event.kind not in REMOVING]
    verb = "added" if all(event.kind == "add" for event in agents) else "changed"
    by_agent = f"{verb} by {_agent(agents[0])}" if agents else ""
    counts: tuple[tuple[str, str, Sequence[object]], ...] = (
        ("note", "processed", notes(runs)),
        ("note", by_agent, [] if runs else notes(agents)),
        ("note", "removed", notes(of(*REMOVING))),
        ("note", "changed back", notes(of("undo"))),
        ("link", "made", [link for event in own for link in event.links]),
        ("note", "unlinked", notes(event for event in links if not event.links)),
        ("note", "evolved", notes(of("evolve"))),
        ("proposal", "rejected", of("reject")),
        ("note", "following a rename", notes(filter(follows_a_note, events))),
    )
    parts = [(_count(len(what), word), done, what) for word, done, what in counts if what]
    if not parts:
        return "nothing to change"
    (first, verb, what), *rest = parts
    after = "".join(f", {count} {done}" for count, done, _ in rest)
    if first == "1 note":
        room = SUBJECT_CHARACTERS - len(f"amem: “” {verb}{after}")
        first = _quoted(str(what[0]), titles, max(room, SHORTEST_TITLE))
    return f"{first} {verb}{after}"


def _count(number: int, word: str) -> str:
    return f"{number} {word}{'s' * (number != 1)}"
