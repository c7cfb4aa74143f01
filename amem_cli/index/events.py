"""The journal in the index: events, decisions on links, the queue; and use counters."""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any, NamedTuple

from amem_cli.notes.note import SUPERSEDING

if TYPE_CHECKING:
    from amem_cli.errors import Problem
    from amem_cli.index.connection import Database
    from amem_cli.index.records import IndexLinks
    from amem_cli.journal.events import Event, LinkRecord
    from amem_cli.journal.files import JournalFolder
    from amem_cli.journal.provenance import Provenance

_PROCESSED = (
    "EXISTS(SELECT 1 FROM processed p WHERE p.text_hash = n.text_hash AND p.note IN (n.id, n.path))"
)
_ADOPTED = "EXISTS(SELECT 1 FROM processed p WHERE p.text_hash = n.text_hash AND p.note = '')"
# An adopted text has been processed if it is one in which only links changed since.
_SEEN = "EXISTS(SELECT 1 FROM processed p WHERE p.note IN (n.id, n.path))"
_WAITING = (
    "EXISTS(SELECT 1 FROM stand_ins s WHERE s.text_hash = n.text_hash AND s.note IN (n.id, n.path))"
)
_PENDING_ORDER = (
    "ORDER BY coalesce(a.count, 0), local_text(coalesce(nullif(n.created, ''), n.modified)), n.path"
)
_NEWER = "JOIN notes n ON n.id = v.source OR (n.id IS NULL AND n.path = v.source)"
_PATH = "coalesce((SELECT path FROM notes WHERE id = {0} OR path = {0} LIMIT 1), {1})"
# A note whose first change was undone has lost its id; one with an id at its path is another note.
_LOST_ITS_ID = (
    "NOT EXISTS(SELECT 1 FROM notes n"
    " WHERE n.id = d.source OR (n.path = d.path AND n.id IS NOT NULL))"
)
_SOURCE = _PATH.format("d.source", f"iif({_LOST_ITS_ID}, d.path, d.source)")
_TARGET = _PATH.format("d.target", "d.target")
# How the journal may name the note at a path.
_KEYS = "SELECT id FROM notes WHERE path = ?1 AND id IS NOT NULL UNION SELECT ?1"
_SOME = "SELECT value FROM json_each(?1)"
_IDS_OF_SOME = f"SELECT id FROM notes WHERE path IN ({_SOME}) AND id IS NOT NULL"  # noqa: S608
_TEXTS_OF_SOME = f"SELECT text_hash FROM notes WHERE path IN ({_SOME})"  # noqa: S608
# If two notes have one id, nobody can tell which is meant.
_SHARED = "SELECT id FROM notes WHERE id IS NOT NULL GROUP BY id HAVING count(*) > 1"
# A note without an id is known by its text, wherever it is now; of two with one text, by its path.
_IS_END = (
    "{0}.id = s.{1} OR ({0}.text_hash = s.{1}_text AND ({0}.path = s.{1} OR NOT EXISTS("
    "SELECT 1 FROM notes o WHERE o.text_hash = {0}.text_hash AND o.note <> {0}.note)))"
)
_SUGGESTED = (
    "SELECT n.path, t.path, s.relation, s.strength, s.reason FROM suggestions s"  # noqa: S608
    f" JOIN notes n ON {_IS_END.format('n', 'source')}"
    f" JOIN notes t ON {_IS_END.format('t', 'target')}"
    f" WHERE coalesce(n.id, '') NOT IN ({_SHARED}) AND coalesce(t.id, '') NOT IN ({_SHARED})"
    # A note that has got its id since may have been processed again under that.
    " AND (s.source_text = '' OR NOT EXISTS(SELECT 1 FROM events e"
    " WHERE e.note IN (n.id, n.path) AND e.event > s.event AND e.kind = 'process'))"
)

# What follows from a note's events for its links.
_OF_LINKS = ("superseded", "decisions", "suggestions")
_TOTALS = (
    "count(DISTINCT note), coalesce(sum(calls), 0), coalesce(sum(prompt_tokens), 0),"
    " coalesce(sum(answer_tokens), 0), coalesce(sum(seconds), 0),"
    " coalesce(sum(record ->> '$.reused_tokens'), 0) FROM events WHERE kind = 'process'"
)


class SupersedingLink(NamedTuple):
    """That one note, `newer`, supersedes or contradicts another; by their paths."""

    older: str
    newer: str
    relation: str


class DecidedLink(NamedTuple):
    """What a person decided about a link.

    Attributes:
        source, target: paths of the two notes; of one that is gone, or has no id any more, what
            the journal called it last.
        kept: False if the person removed or rejected it.
    """

    source: str
    target: str
    kept: bool


class SuggestedLink(NamedTuple):
    """A link that the last memory process of a note suggests; by the paths of the two."""

    source: str
    target: str
    relation: str
    strength: float
    reason: str


@dataclass(frozen=True, slots=True)
class PendingNote:
    """A note whose text waits for the memory process."""

    path: str
    attempts: int
    error: str
    version: str


class ModelTotals(NamedTuple):
    """What one model was asked for."""

    model: str
    notes: int
    calls: int
    prompt_tokens: int
    answer_tokens: int
    seconds: float
    reused_tokens: int = 0


class IndexEvents:
    def __init__(self, file: Database, link_history: IndexLinkHistory) -> None:
        self._file = file
        self._link_history = link_history

    def mirror(self, journal: JournalFolder, problems: list[Problem]) -> None:
        """Store what the journal's files say that is not known yet."""
        news = journal.read_new(self.journal_positions(), problems)
        if news.files or news.restarted:
            with self._file.changing():
                if news.restarted:
                    self.clear()
                for file in news.files:
                    self.store(file.name, file.position, file.events)

    def store(self, journal: str, position: str, events: Sequence[Event]) -> None:
        """Store events; `position` says up to where the journal file is known."""
        by_note: dict[str, list[Event]] = {}
        for event in events:
            self._store_event(event)
            by_note.setdefault(event.note or event.path, []).append(event)
        for note, news in by_note.items():
            self._link_history.update(note, news)
        self._file.rows("INSERT OR REPLACE INTO journals VALUES(?, ?)", (journal, position))

    def clear(self) -> None:
        """Forget the whole journal."""
        # Not usage and attempts, which only the index holds.
        for table in ("events", "processed", "stand_ins", *_OF_LINKS, "journals"):
            self._file.rows(f"DELETE FROM {table}")  # noqa: S608

    def journal_positions(self) -> Mapping[str, str]:
        """The stored position by journal file."""
        return dict(self._file.current_rows("SELECT name, position FROM journals"))

    def read(self, note: str | None = None, *, limit: int | None = None) -> list[Event]:
        """Events, oldest first, of one note (id or path) or of all; `limit` keeps the newest."""
        condition, bindings = ("", ()) if note is None else ("WHERE note = ?", (note,))
        condition += " ORDER BY event DESC LIMIT ?"
        return _events(self._file, condition, *bindings, -1 if limit is None else limit)[::-1]

    def find(self, prefix: str) -> list[Event]:
        """Events whose id begins with `prefix`, at most a few."""
        condition = "WHERE event >= ? AND event < ? ORDER BY event LIMIT 5"
        return _events(self._file, condition, prefix, prefix + "\U0010ffff")

    def newest_id(self) -> str:
        """The greatest id of an event, or an empty text."""
        return str(self._file.value("SELECT max(event) FROM events") or "")

    def caused_by(self, event: str) -> list[Event]:
        """Events whose cause is this event, oldest first."""
        return _events(self._file, "WHERE record ->> '$.cause' = ? ORDER BY event", event)

    def undone_with(self, root: str) -> list[Event]:
        """The other `undo` events of the undo that began with this event, oldest first."""
        condition = "WHERE record ->> '$.root' = ?1 AND event != ?1 ORDER BY event"
        return _events(self._file, condition, root)

    def paths_with_undo(self) -> set[str]:
        """Paths of the notes of which anything was ever undone, or put back by that."""
        sql = (
            "SELECT path FROM notes n WHERE EXISTS("
            "SELECT 1 FROM events e WHERE e.note IN (n.id, n.path) AND e.kind = 'undo')"
        )
        return {path for (path,) in self._file.rows(sql)}

    def sample_notes(self) -> frozenset[str]:
        """Paths of the notes that amem made the vault with, and whose text nobody changed."""
        sql = (
            "SELECT n.path FROM events e, json_each(e.record, '$.samples') s"
            " JOIN notes n ON n.text_hash = s.value WHERE e.note = '' AND e.kind = 'baseline'"
        )
        return frozenset(path for (path,) in self._file.rows(sql))

    def triggered_by(self, note: str) -> list[Event]:
        """Events of other notes that the change of a note (id or path) triggered, oldest first."""
        condition = "WHERE record ->> '$.trigger' = ?1 AND note != ?1 ORDER BY event"
        return _events(self._file, condition, note)

    def model_totals(self) -> ModelTotals:
        """Sums over all memory processes, also of those that asked no model."""
        return ModelTotals(*self._file.rows(f"SELECT '', {_TOTALS}")[0])

    def model_use(self) -> list[ModelTotals]:
        """What each model was asked for in all memory processes, by its name."""
        model = "coalesce(record ->> '$.model', '')"
        sql = f"SELECT {model}, {_TOTALS} AND calls > 0 GROUP BY 1 ORDER BY 1"
        return [ModelTotals(*row) for row in self._file.rows(sql)]

    def _store_event(self, event: Event) -> None:
        from amem_cli.journal.events import to_record

        record = json.dumps(to_record(event), ensure_ascii=False)
        use = (event.calls, event.prompt_tokens, event.answer_tokens, event.seconds)
        self._file.rows(
            "INSERT OR IGNORE INTO events VALUES(?, ?, ?, ?, ?, ?, ?, ?)",
            (event.id, event.note or event.path, event.kind, record, *use),
        )
        for text_hash in event.known:
            self._file.rows("INSERT OR IGNORE INTO processed VALUES(?, '')", (text_hash,))
        if event.kind == "process":
            table = "stand_ins" if event.waits_for else "processed"
            # By the path too: a note whose first change was undone has no id any more.
            for key in filter(None, (event.note, event.path)):
                row = (event.text_hash, key)
                self._file.rows(f"INSERT OR IGNORE INTO {table} VALUES(?, ?)", row)


class IndexLinkHistory:
    """What the journal says of links: why they were made, and what a person decided."""

    def __init__(self, file: Database, links: IndexLinks) -> None:
        self._file = file
        self._links = links

    def records(self, path: str | None = None) -> Mapping[tuple[str, str], LinkRecord]:
        """Why links were made, by (source path, target id or path), of one note or all; and what
        the machine says of links that a person made."""
        from amem_cli.journal.provenance import provenance

        sql = (
            "SELECT DISTINCT n.path, e.note FROM events e JOIN notes n"
            " ON e.note = n.id OR (n.id IS NULL AND e.note = n.path)"
            " WHERE (e.record LIKE '%\"links\"%' OR e.record LIKE '%\"confirmed\"%')"
        )
        if path is not None:
            sql += " AND n.path = ?"
        return {
            (source, link.target): link
            for source, key in self._file.rows(sql, () if path is None else (path,))
            for events in (self._events_of(key),)
            for link in (*_stated(events), *provenance(events).links.values())
        }

    def first_made(self) -> Mapping[tuple[str, str], str]:
        """When amem or a command first made a link, ISO 8601, by source and target (id or path)."""
        sql = (
            "SELECT e.note, l.value ->> '$.target', min(e.record ->> '$.time') FROM events e,"
            " json_each(e.record, '$.links') l GROUP BY 1, 2"
        )
        return {(note, target): time for note, target, time in self._file.rows(sql)}

    def superseded(self, paths: Sequence[str] | None = None) -> list[SupersedingLink]:
        """What supersedes and contradicts notes at `paths` (None: all).

        A link in the properties says so as long as it is there, and a context that the machine
        closed because of another note as long as nobody changed it. Of two notes that contradict
        each other the later one is the newer, whichever says it.
        """
        sql = (
            "SELECT DISTINCT v.owner = v.target, o.path, n.path, v.relation,"  # noqa: S608
            " v.relation = 'contradicts' AND local_text(o.created) > local_text(n.created)"
            " FROM superseded v"
            # In this order: of an empty table no note is looked at.
            f" CROSS JOIN notes o ON o.id = v.target OR o.path = v.target CROSS {_NEWER}"
            f" WHERE v.relation IN {SUPERSEDING} AND NOT (v.owner = v.target AND EXISTS("
            "SELECT 1 FROM superseded t WHERE t.owner = v.source AND t.target = v.target"
            f" AND t.relation NOT IN {SUPERSEDING} AND t.event > v.event)) ORDER BY 2, 3"
        )
        wanted = None if paths is None else frozenset(paths)
        found: dict[SupersedingLink, None] = {}
        for by_context, target, source, relation, is_turned in self._file.rows(sql):
            older, newer = (source, target) if is_turned else (target, source)
            is_wanted = wanted is None or older in wanted
            # A person may have deleted the link.
            if is_wanted and (by_context or target in self._links.linked(source)):
                found[SupersedingLink(older, newer, relation)] = None
        return list(found)

    def decided(self) -> list[DecidedLink]:
        """The links that a person kept or removed."""
        sql = f"SELECT {_SOURCE}, {_TARGET}, kept FROM decisions d ORDER BY source, target"  # noqa: S608
        rows = self._file.rows(sql)
        return [DecidedLink(source, target, bool(kept)) for source, target, kept in rows]

    def suggested(self, paths: Iterable[str] | None = None) -> list[SuggestedLink]:
        """What the last memory process of each note suggests, the strongest first: of and to some
        notes, or all. Some may be linked or rejected since.

        A note without an id is known, also after a rename, as long as it has the text that the
        process saw: with another text it may be another note.
        """
        sql, values = _SUGGESTED, list[str]()
        if paths is not None:
            known = (
                f"s.{end} IN ({_IDS_OF_SOME}) OR s.{end}_text IN ({_TEXTS_OF_SOME})"
                for end in ("source", "target")
            )
            sql += f" AND ({' OR '.join(known)})"
            # A copy has the same text.
            sql += f" AND (n.path IN ({_SOME}) OR t.path IN ({_SOME}))"
            values = [json.dumps(list(paths))]
        rows = self._file.rows(f"{sql} ORDER BY s.strength DESC, n.path, t.path", values)
        return [SuggestedLink(*row) for row in rows]

    def unlinked(self, path: str) -> set[str]:
        """Paths of the notes whose link to or from a note a person removed."""
        sql = (
            f"SELECT {_TARGET} FROM decisions d WHERE kept = 0"  # noqa: S608
            f" AND (source IN ({_KEYS}) OR (path = ?1 AND {_LOST_ITS_ID}))"
            f" UNION SELECT {_SOURCE} FROM decisions d WHERE kept = 0 AND target IN ({_KEYS})"
        )
        return {other for (other,) in self._file.rows(sql, (path,))}

    def linked_by_person(self, path: str) -> set[str]:
        """Paths of the notes that a person linked with a note, in either direction: in a text, or
        in a property beside a link of the machine's."""
        written = Counter(
            (source, target, link.kind)
            for source, target, link in (
                *((path, other, link) for other, link in self._links.outgoing(path)),
                *((other, path, link) for other, link in self._links.incoming(path)),
            )
            if source != target
        )
        found: set[str] = set()
        records: dict[str, Mapping[tuple[str, str], LinkRecord]] = {}
        for (source, target, kind), count in written.items():
            own = 0
            if kind == "property":
                if source not in records:
                    records[source] = self.records(source)
                made = (records[source].get((source, key)) for (key,) in self._keys(target))
                own = any(record.by == "machine" for record in made if record is not None)
            if count > own:
                found |= {source, target}
        return found - {path}

    def _keys(self, path: str) -> list[tuple[str]]:
        return self._file.rows(_KEYS, (path,))

    def update(self, note: str, news: Sequence[Event]) -> None:
        """Update the tables after events of a note (id or path) were stored."""
        # A note with decisions may have moved, which any event can tell.
        sql = (
            "SELECT EXISTS(SELECT 1 FROM decisions WHERE source = ?1)"
            " OR EXISTS(SELECT 1 FROM superseded WHERE owner = ?1)"
        )
        if any(map(_concerns_links, news)) or self._file.value(sql, note):
            self._store(note)

    def _events_of(self, note: str) -> list[Event]:
        return _events(self._file, "WHERE note = ? ORDER BY event", note)

    def _store(self, note: str) -> None:
        from amem_cli.journal.link_decisions import link_decisions
        from amem_cli.journal.provenance import provenance

        events = self._events_of(note)
        for table in _OF_LINKS:
            owner = "owner" if table == "superseded" else "source"
            self._file.rows(f"DELETE FROM {table} WHERE {owner} = ?", (note,))  # noqa: S608
        for row in _superseded_rows(note, events, provenance(events)):
            self._file.rows("INSERT OR REPLACE INTO superseded VALUES(?, ?, ?, ?, ?)", row)
        # The note may have lost its id; its last path says which it is.
        path = events[-1].path or note
        for target, kept in link_decisions(events).items():
            decided = (note, path, target, kept)
            self._file.rows("INSERT INTO decisions VALUES(?, ?, ?, ?)", decided)
        for event in [each for each in events if each.kind == "process"][-1:]:
            for link in event.suggested:
                texts = ("" if event.note else event.text_hash, link.text_hash)
                why = (link.relation, link.strength, link.reason)
                values = (note, link.target, *texts, *why, event.id)
                sql = "INSERT OR REPLACE INTO suggestions VALUES(?, ?, ?, ?, ?, ?, ?, ?)"
                self._file.rows(sql, values)


class IndexQueue:
    """Which notes wait for the memory process."""

    def __init__(self, file: Database) -> None:
        self._file = file

    def pending(self) -> list[PendingNote]:
        """Notes whose text is not processed yet: least attempts first, then oldest."""
        return self._unprocessed(f"AND (NOT {_ADOPTED} OR {_WAITING})")

    def unprocessed(self) -> list[str]:
        """Paths of all unprocessed notes, in the same order; also notes older than the vault."""
        return [note.path for note in self._unprocessed(f"AND NOT ({_ADOPTED} AND {_SEEN})")]

    def _unprocessed(self, condition: str = "") -> list[PendingNote]:
        sql = (
            "SELECT n.path, coalesce(a.count, 0), coalesce(a.error, ''), n.sha FROM notes n"  # noqa: S608
            f" LEFT JOIN attempts a USING(path) WHERE n.refused = '' AND NOT {_PROCESSED}"
            f" {condition} {_PENDING_ORDER}"
        )
        return [PendingNote(*row) for row in self._file.rows(sql)]

    def made_by(self, model: str) -> list[str]:
        """Paths of the notes whose text, as it is now, was last processed by this model, oldest
        first."""
        last = (
            "SELECT record FROM events e WHERE e.note IN (n.id, n.path) AND e.kind = 'process'"
            " ORDER BY e.event DESC LIMIT 1"
        )
        sql = (
            f"SELECT n.path FROM notes n WHERE n.refused = '' AND {_PROCESSED}"  # noqa: S608
            f" AND json_extract(({last}), '$.model') = ?"
            " ORDER BY local_text(coalesce(nullif(n.created, ''), n.modified)), n.path"
        )
        return [path for (path,) in self._file.rows(sql, (model,))]

    def never_processed(self, paths: Collection[str] = (), before: str = "") -> set[str]:
        """Of the pending notes and those at `paths`, the ones of which no text was processed,
        or none before an event, by its id."""
        asked = {each.path for each in self.pending()}.union(paths)
        sql = (
            "SELECT n.path FROM json_each(?1) JOIN notes n ON n.path = value WHERE NOT EXISTS("
            "SELECT 1 FROM events e WHERE e.note IN (n.id, n.path) AND e.kind = 'process'"
            " AND (?2 = '' OR e.event < ?2))"
        )
        return {path for (path,) in self._file.rows(sql, (json.dumps(list(asked)), before))}

    def was_processed(self, keys: Sequence[str], text_hash: str) -> bool:
        """Whether this text of a note (id or path) was processed."""
        return self._names("processed", keys, text_hash)

    def has_fallback(self, keys: Sequence[str], text_hash: str) -> bool:
        """Whether the analyzer did this text of a note (id or path) in place of a model."""
        return self._names("stand_ins", keys, text_hash)

    def _names(self, table: str, keys: Sequence[str], text_hash: str) -> bool:
        among = "SELECT value FROM json_each(?)"
        sql = f"SELECT 1 FROM {table} WHERE text_hash = ? AND note IN ({among})"  # noqa: S608
        return bool(self._file.rows(sql, (text_hash, json.dumps(list(keys)))))

    def count_failure(self, path: str, error: str) -> None:
        """Count a failed attempt; notes with fewer attempts then come first."""
        self._file.rows(
            "INSERT INTO attempts VALUES(?1, 1, ?2)"
            " ON CONFLICT(path) DO UPDATE SET count = count + 1, error = ?2",
            (path, error),
        )


class IndexUsage:
    """How often notes were found or read; stored only in the index."""

    def __init__(self, file: Database) -> None:
        self._file = file

    def count(self, keys: Sequence[str], moment: str) -> None:
        """Count notes (ids or paths) that were found or read at a moment, ISO 8601."""
        for key in keys:
            self._file.rows(
                "INSERT INTO usage VALUES(?1, 1, ?2)"
                " ON CONFLICT(note) DO UPDATE SET count = count + 1, last = ?2",
                (key, moment),
            )

    def of(self, key: str) -> tuple[int, str]:
        """How often a note was found or read, and when last (ISO 8601 or empty)."""
        rows = self._file.rows("SELECT count, last FROM usage WHERE note = ?", (key,))
        return (int(rows[0][0]), str(rows[0][1])) if rows else (0, "")

    def all(self) -> Mapping[str, tuple[int, str]]:
        """How often, and when last, each note was found or read, by id or path."""
        rows = self._file.rows("SELECT note, count, last FROM usage WHERE count > 0")
        return {note: (int(count), str(last)) for note, count, last in rows}


def _superseded_rows(
    note: str, events: Sequence[Event], known: Provenance
) -> Iterator[tuple[str, str, str, str, str]]:
    """Rows of the table `superseded` that follow from a note's events.

    A link whose note does not say so any more has one, too: then what that note closed holds again.
    """
    from amem_cli.journal.provenance import undone_events

    undone = undone_events(events)
    # By target: the relation of a pair now, and the last event after which it was another.
    relations: dict[str, str] = {}
    turned: dict[str, str] = {}
    confirmed: tuple[LinkRecord, ...] = ()
    for event in events:
        former = event.links_before
        if event.kind == "process":
            former, confirmed = confirmed, () if event.id in undone else event.confirmed
            relations = {**dict.fromkeys(relations, "related"), **_relations(confirmed)}
        turned |= {each.target: event.id for each in former if each.relation in SUPERSEDING}
    for target, relation in {**relations, **_relations(known.links.values())}.items():
        if relation in SUPERSEDING or target in turned:
            yield note, note, target, relation, turned.get(target, "")
    if (closing := known.closed_by) is not None:
        yield note, closing.trigger, note, closing.relation, closing.id


def _stated(events: Sequence[Event]) -> list[LinkRecord]:
    """What a note says of others that a person linked it with, as of its last memory process."""
    from amem_cli.journal.provenance import undone_events

    last = [event for event in events if event.kind == "process"][-1:]
    undone = undone_events(events) if last and last[0].stated else {}
    found = (link for event in last if event.id not in undone for link in event.stated)
    return [replace(link, text="", by="person") for link in found]


def _relations(links: Iterable[LinkRecord]) -> dict[str, str]:
    return {link.target: link.relation for link in links}


def _concerns_links(event: Event) -> bool:
    changed = event.links or any(change.field == "links" for change in event.changes)
    is_decided = event.review or event.relation
    return bool(changed or is_decided) or event.kind in ("process", "undo", "reject")


def _events(file: Database, condition: str, *bindings: Any) -> list[Event]:
    from amem_cli.journal.events import from_record

    sql = f"SELECT record FROM events {condition}"  # noqa: S608
    return [from_record(json.loads(record)) for (record,) in file.rows(sql, bindings)]
