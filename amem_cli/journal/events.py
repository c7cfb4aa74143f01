"""Journal events: what was changed in a note, by whom and why, as objects and as JSON."""

from __future__ import annotations

import hashlib
from bisect import bisect_left
from collections.abc import Callable, Mapping
from dataclasses import asdict, dataclass, field, fields
from functools import cache
from typing import TYPE_CHECKING, Any

from amem_cli.notes.note import LIST_FIELDS

if TYPE_CHECKING:
    from amem_cli.vault.file_state import SystemClock

# By these events a note goes to the trash.
REMOVING = ("remove", "merge")
# How the reason begins of an event by which links follow a note to another name.
FOLLOWS = "follows "


@dataclass(frozen=True, slots=True)
class Change:
    """One field of one note, before and after."""

    field: str
    before: Any
    after: Any


@dataclass(frozen=True, slots=True)
class LinkRecord:
    """Why a link was made.

    Attributes:
        target: id of the target note, or its path if it has none.
        text: the wikilink as written in the properties; empty for a link of a person's text.
        strength: 0..1.
        by: `machine` or `person`.
        text_hash: of the target's text, if the memory process links or suggests a note without id.
    """

    target: str
    path: str
    text: str
    relation: str
    strength: float
    reason: str
    by: str = "machine"
    text_hash: str = ""


@dataclass(frozen=True, slots=True)
class Splice:
    """The bytes that an event replaced, so that exactly these can be restored.

    Attributes:
        offset: byte offset in both versions.
        removed, inserted: text of the old and the new version at that offset.
        sha_before, sha_after: SHA-256 of the whole file, hexadecimal.
    """

    offset: int
    removed: str
    inserted: str
    sha_before: str
    sha_after: str


@dataclass(frozen=True, slots=True)
class Event:
    """One journal line: a change of one note, with its cause.

    Attributes:
        id: unique, sorts by time.
        time: ISO 8601 with offset.
        kind: `baseline` (the notes a vault had when it was made), `add`, `process` (the memory
            process ended for a text), `construct`, `link`, `evolve`, `edit` (a person's change by
            a command), `move` (a person's change of `path`), `remove`, `merge` (a note went into
            another, the `trigger`), `undo`, `reject` (a person rejected a proposal), or `release`
            (a person changed a value of the machine's; it is the person's from then on).
        by: `machine`, or `person` for a change made through a command.
        note: id of the note; empty if the event is not about one note.
        trigger: id or path of the note whose addition or change caused the event.
        cause: id of the event that caused this one.
        relation: what the `trigger` is to the note, if its new context says that the note no longer
            holds: `supersedes` or `contradicts` (`evolve`).
        sha: SHA-256 of the whole file that the program created (`add`), hexadecimal.
        text_hash: hash of the text that the process ran on (`process`, `construct`, `link`), or
            that the note had when a person rejected a change of it (`reject`).
        sketch: fingerprint of that text's words, by which a later text is compared (`process`).
        waits_for: the model whose part is still to be done, as it gave no answer, or `judge of
            links`, which had too little time (`process`).
        known: text hashes that need no process (`baseline`).
        samples: those of the notes that amem made the vault with (`baseline`).
        links: records of links as the event left them.
        links_before: former records of links that the event changed, or removed for lack of
            evidence; the link of a rejected proposal.
        suggested: links too weak to write: those of the note from this run on (`process`), or the
            one that a person rejected (`reject`) or does not reject any more (`undo`).
        confirmed: links that the process would have written, had a person not linked the notes
            already (`process`); those that no longer count (`undo`).
        seconds: wall time of the model calls behind the event.
        reused_tokens: of the prompts, those that the model or its server had read before.
        review: `accepted` or `edited` if a person decided on a proposal.
        proposed: what a rejected proposal would have changed.
        folder: the outermost folder that was made for the note (`move`).
        withdrawn: proposals that no longer wait, as what made them was taken back (`undo`).
        scope: of an `undo` of much at once, which decides nothing about a single link: `since`
            (everything since a moment) or `merge`.
        root: id of the first event of the same `undo`; to undo that one undoes all of them.
    """

    id: str
    time: str
    kind: str
    by: str = "machine"
    note: str = ""
    path: str = ""
    trigger: str = ""
    cause: str = ""
    reason: str = ""
    relation: str = ""
    changes: tuple[Change, ...] = ()
    links: tuple[LinkRecord, ...] = ()
    links_before: tuple[LinkRecord, ...] = ()
    suggested: tuple[LinkRecord, ...] = ()
    confirmed: tuple[LinkRecord, ...] = ()
    splice: Splice | None = None
    model: str = ""
    prompt: str = ""
    calls: int = 0
    prompt_tokens: int = 0
    answer_tokens: int = 0
    reused_tokens: int = 0
    seconds: float = 0.0
    problems: tuple[str, ...] = ()
    sha: str = ""
    text_hash: str = ""
    sketch: str = ""
    waits_for: str = ""
    known: tuple[str, ...] = ()
    samples: tuple[str, ...] = ()
    review: str = ""
    proposed: tuple[Change, ...] = ()
    folder: str = ""
    withdrawn: tuple[Mapping[str, Any], ...] = ()
    scope: str = ""
    root: str = ""
    extra: Mapping[str, Any] = field(default_factory=dict)

    @property
    def stated(self) -> tuple[LinkRecord, ...]:
        """Of what it `confirmed`, that which says more than that two notes are related."""
        return tuple(link for link in self.confirmed if link.relation != "related")


# In microseconds, as in the ids of events.
_YEAR_2200 = 7_258_118_400_000_000
_MOST_NESTING = 12
_MOST_COUNTED = 2**53


def to_record(event: Event) -> dict[str, Any]:
    """The JSON object of an event; empty fields are left out, unknown ones kept."""
    record = {
        name: value
        for name, value in asdict(event).items()
        if value not in ("", (), [], None, 0, 0.0)
    }
    record.pop("extra", None)
    return {**event.extra, **record}


def from_record(record: Mapping[str, Any]) -> Event:
    """Read an event, keeping fields that a newer version may have written.

    Raises:
        ValueError: the record is not an event.
    """
    _refuse_unstorable(record, 0)
    try:
        values = known_fields(Event, record)
        values["extra"] = {name: record[name] for name in record if name not in values}
        for name in ("id", "time", "kind"):
            if not values[name]:
                raise ValueError(f"{name} is empty")
        for name, read in _PARTS.items():
            values[name] = tuple(read(item) for item in values.get(name, ()))
        if values.get("splice") is not None:
            values["splice"] = _splice(values["splice"])
    except (KeyError, TypeError, AttributeError) as error:
        raise ValueError(f"not an event: {error}") from None
    return Event(**values)


def known_fields(kind: Any, record: Mapping[str, Any]) -> dict[str, Any]:
    """The fields of a record that this version knows; a newer one may write more.

    Args:
        kind: the dataclass of the record.

    Raises:
        ValueError: a text or a number is something else.
    """
    names, texts, numbers = _fields_of(kind)
    values = {name: record[name] for name in names if name in record}
    for name in texts & values.keys():
        if not isinstance(values[name], str):
            raise ValueError(f"{name} is not text")
    for name in numbers & values.keys():
        if isinstance(values[name], bool) or not isinstance(values[name], (int, float)):
            raise ValueError(f"{name} is not a number")
    return values


@cache
def _fields_of(kind: Any) -> tuple[list[str], set[str], set[str]]:
    """Names of all fields, of those that are texts, and of those that are numbers."""
    known = {each.name: each.type for each in fields(kind) if each.name != "extra"}
    texts = {name for name, told in known.items() if told == "str"}
    return list(known), texts, {name for name, told in known.items() if told in ("int", "float")}


def _refuse_unstorable(value: Any, depth: int) -> None:
    """Allow only what SQLite can store: shallow nesting, valid Unicode, numbers below 2**53."""
    if depth > _MOST_NESTING:
        raise ValueError("it is nested too deeply")
    if isinstance(value, str):
        # Half of a surrogate pair fails to encode, which is a ValueError as well.
        if not value.isascii():
            value.encode("utf-8")
    elif isinstance(value, (int, float)):
        if not -_MOST_COUNTED < value < _MOST_COUNTED:
            raise ValueError("a number is out of bounds")
    elif isinstance(value, Mapping):
        for name, item in value.items():
            _refuse_unstorable(name, depth + 1)
            _refuse_unstorable(item, depth + 1)
    elif isinstance(value, (list, tuple)):
        for item in value:
            _refuse_unstorable(item, depth + 1)


def change_from_record(item: Mapping[str, Any]) -> Change:
    """Read one change.

    Raises:
        ValueError, TypeError: it is invalid.
    """
    change = Change(**known_fields(Change, item))
    for value in (change.before, change.after):
        texts = value if isinstance(value, list) else [value]
        if change.field in LIST_FIELDS and not isinstance(value, list):
            raise ValueError(f"{change.field} is not a list")
        if not all(isinstance(text, str) for text in texts):
            raise ValueError(f"{change.field} holds something that is not text")
    return change


def _link_record(item: Mapping[str, Any]) -> LinkRecord:
    return LinkRecord(**known_fields(LinkRecord, item))


def _splice(item: Mapping[str, Any]) -> Splice:
    splice = Splice(**known_fields(Splice, item))
    if type(splice.offset) is not int or splice.offset < 0:
        raise ValueError("a splice's offset is no position")
    return splice


# How the items of an event's lists are read.
_PARTS: Mapping[str, Callable[[Any], Any]] = {
    "changes": change_from_record,
    "proposed": change_from_record,
    "links": _link_record,
    "links_before": _link_record,
    "suggested": _link_record,
    "confirmed": _link_record,
    "problems": str,
    "withdrawn": dict,
    "known": str,
    "samples": str,
}


def splice_between(before: bytes, after: bytes, sha_before: str, sha_after: str) -> Splice | None:
    """The one replacement that turns `before` into `after`; None if it is not UTF-8.

    A file's text is cut at the common prefix and suffix, moved to character boundaries.
    """
    start = _common_prefix(before, after)
    # Behind the common beginning only: in `aa` and `aaa` both would claim the same letters.
    end = _common_prefix(before[start:][::-1], after[start:][::-1])
    while start > 0 and (_continues(before, start) or _continues(after, start)):
        start -= 1
    while end > 0 and (
        _continues(before, len(before) - end) or _continues(after, len(after) - end)
    ):
        end -= 1
    try:
        removed = before[start : len(before) - end].decode("utf-8")
        inserted = after[start : len(after) - end].decode("utf-8")
    except UnicodeDecodeError:
        return None
    return Splice(start, removed, inserted, sha_before, sha_after)


def text_before(raw: bytes, splice: Splice) -> bytes | None:
    """The bytes without the splice, if its text is still in its place."""
    inserted = splice.inserted.encode("utf-8", "surrogatepass")
    end = splice.offset + len(inserted)
    if raw[splice.offset : end] != inserted:
        return None
    return raw[: splice.offset] + splice.removed.encode("utf-8", "surrogatepass") + raw[end:]


def follows_a_note(event: Event) -> bool:
    """Whether an event only gives links the new name of the note that they lead to."""
    # A model's reason may begin with any word, and a person's.
    is_made_so = event.kind == "link" or (event.kind == "edit" and bool(event.cause))
    return is_made_so and not event.model and event.reason.startswith(FOLLOWS)


def exactly_before(raw: bytes, splice: Splice | None) -> bytes | None:
    """The whole file as it was, if it is as the splice left it."""
    if splice is None or hashlib.sha256(raw).hexdigest() != splice.sha_after:
        return None
    before = text_before(raw, splice)
    if before is None or hashlib.sha256(before).hexdigest() != splice.sha_before:
        return None
    return before


def _continues(data: bytes, position: int) -> bool:
    return position < len(data) and data[position] & 0xC0 == 0x80


def _common_prefix(left: bytes, right: bytes) -> int:
    # Python compares slices far faster than byte after byte; a note may have 2 MiB.
    lengths = range(1, min(len(left), len(right)) + 1)
    return bisect_left(lengths, True, key=lambda length: left[:length] != right[:length])


@dataclass(frozen=True, slots=True)
class NoteWrite:
    """New bytes for one note.

    Attributes:
        before: the bytes that `after` was made from; None creates the note.
        after: None moves the note to the trash.
        source: path that the note has before, if it is moved; empty if it stays where it is.
        modified_ns: the time that the file gets back; 0 for that of the writing.
    """

    path: str
    before: bytes | None
    after: bytes | None
    source: str = ""
    modified_ns: int = 0


def event_id(clock: SystemClock, newest: str = "") -> str:
    """A new event id; ids sort by time.

    Args:
        newest: the last known id of any machine, whose clock may be ahead.
    """
    try:
        moment = int(newest[:15], 16)
    except ValueError:
        moment = 0
    # An id from a far future is not this program's, and would leave no room for later ones.
    if len(newest) != 21 or not 0 < moment < _YEAR_2200:
        moment = 0
    return f"{clock.moment(moment):015x}{clock.token()}"
