"""Journal events, pending work and usage in the index."""

from __future__ import annotations

import json
from collections.abc import Iterable, Mapping, Sequence
from typing import TYPE_CHECKING, Any

from amem_cli.adapters.index_decisions import DecisionTable
from amem_cli.core.index_records import (
    ModelUse,
    PendingNote,
)

if TYPE_CHECKING:
    from amem_cli.core.journal import Event, LinkRecord

_SEEN = (
    "EXISTS(SELECT 1 FROM processed p WHERE p.text_hash = n.text_hash AND p.note IN (n.id, n.path))"
)
_KNOWN = "EXISTS(SELECT 1 FROM processed p WHERE p.text_hash = n.text_hash AND p.note = '')"


class JournalTables(DecisionTable):
    """Mirrors the journal."""

    def store_events(self, journal: str, position: str, events: Sequence[Event]) -> None:
        """Mirror journal events; `position` says up to where the journal file is known."""
        for event in events:
            self._store_event(event)
        for note in dict.fromkeys(
            event.note or event.path for event in events if self.concerns_overruled(event)
        ):
            self._fold_overruled(note)
        by_note: dict[str, list[Event]] = {}
        for event in events:
            by_note.setdefault(event.note or event.path, []).append(event)
        for note, told in by_note.items():
            if self.concern_decisions(note, told):
                self._fold_decisions(note)
        self.rows("INSERT OR REPLACE INTO journals VALUES(?, ?)", (journal, position))

    def _store_event(self, event: Event) -> None:
        from amem_cli.core.journal import to_record

        record = json.dumps(to_record(event), ensure_ascii=False)
        self.rows(
            "INSERT OR IGNORE INTO events VALUES(?, ?, ?, ?, ?, ?, ?, ?)",
            (
                event.id,
                event.note or event.path,
                event.kind,
                record,
                event.calls,
                event.prompt_tokens,
                event.answer_tokens,
                event.seconds,
            ),
        )
        marks = [(text_hash, "") for text_hash in event.known]
        if event.kind == "process":
            # By the path too: a note whose change was taken back has no id any more.
            marks += [(event.text_hash, key) for key in (event.note, event.path) if key]
        for text_hash, note in marks:
            self.rows("INSERT OR IGNORE INTO processed VALUES(?, ?)", (text_hash, note))

    def _fold_overruled(self, note: str) -> None:
        from amem_cli.core.ownership import ownership

        self.store_overruled(note, ownership(self.events(note)).links.values())

    def _fold_decisions(self, note: str) -> None:
        from amem_cli.core.link_feedback import link_decisions

        events = self.events(note)
        self.store_decisions(note, events[-1].path or note, link_decisions(events))

    def forget_events(self) -> None:
        """Forget the whole journal, as before it is mirrored anew."""
        for table in ("events", "processed", "overruled", "decisions", "journals"):
            self.rows(f"DELETE FROM {table}")  # noqa: S608

    def journal_positions(self) -> Mapping[str, str]:
        """The stored position by journal file."""
        return dict(self.current_rows("SELECT name, position FROM journals"))

    def events(self, note: str | None = None, *, limit: int | None = None) -> list[Event]:
        """Events, oldest first, of one note (id or path) or of all; `limit` keeps the newest."""
        where, bindings = ("", ()) if note is None else ("WHERE note = ?", (note,))
        sql = f"SELECT record FROM events {where} ORDER BY event DESC LIMIT ?"  # noqa: S608
        rows = self.rows(sql, (*bindings, -1 if limit is None else limit)).fetchall()
        return _events(reversed(rows))

    def event(self, prefix: str) -> list[Event]:
        """Events whose id begins with `prefix`, at most a few."""
        sql = "SELECT record FROM events WHERE event >= ? AND event < ? ORDER BY event LIMIT 5"
        return _events(self.rows(sql, (prefix, prefix + "\U0010ffff")))

    def newest_event(self) -> str:
        """The greatest id of an event, or an empty text."""
        row = self.rows("SELECT max(event) FROM events").fetchone()
        return str(row[0] or "")

    def events_caused_by(self, event: str) -> list[Event]:
        """Events whose cause is this event, oldest first."""
        sql = "SELECT record FROM events WHERE record ->> '$.cause' = ? ORDER BY event"
        return _events(self.rows(sql, (event,)))

    def events_triggered_by(self, note: str) -> list[Event]:
        """Events of other notes that the change of a note (id or path) triggered, oldest first."""
        sql = (
            "SELECT record FROM events WHERE record ->> '$.trigger' = ?1 AND note != ?1"
            " ORDER BY event"
        )
        return _events(self.rows(sql, (note,)))

    def model_totals(self) -> Mapping[str, float]:
        """Sums over all memory processes: calls, prompt_tokens, answer_tokens, seconds, notes."""
        sql = (
            "SELECT coalesce(sum(calls), 0), coalesce(sum(prompt_tokens), 0),"
            " coalesce(sum(answer_tokens), 0), coalesce(sum(seconds), 0), count(DISTINCT note)"
            " FROM events WHERE kind = 'process'"
        )
        names = ("calls", "prompt_tokens", "answer_tokens", "seconds", "notes")
        row = self.rows(sql).fetchone()
        return dict(zip(names, row or (0,) * len(names), strict=True))

    def model_use(self) -> list[ModelUse]:
        """What each model was asked for in all memory processes, by its name."""
        sql = (
            "SELECT coalesce(record ->> '$.model', ''), count(DISTINCT note), sum(calls),"
            " sum(prompt_tokens), sum(answer_tokens), sum(seconds) FROM events"
            " WHERE kind = 'process' AND calls > 0 GROUP BY 1 ORDER BY 1"
        )
        return [ModelUse(*row) for row in self.rows(sql)]

    def link_records(self, path: str | None = None) -> Mapping[tuple[str, str], LinkRecord]:
        """Why links were made, by (source path, target id or path), of one note or all."""
        from amem_cli.core.ownership import ownership

        sql = (
            "SELECT DISTINCT n.path, e.note FROM events e JOIN notes n"
            " ON e.note = n.id OR (n.id IS NULL AND e.note = n.path)"
            " WHERE e.record LIKE '%\"links\"%'"
        )
        if path is not None:
            sql += " AND n.path = ?"
        found = {}
        for source, key in self.rows(sql, () if path is None else (path,)).fetchall():
            for link in ownership(self.events(key)).links.values():
                found[source, link.target] = link
        return found

    def links_made(self) -> Mapping[tuple[str, str], str]:
        """When a link was first made by amem or by a command, by the ids or paths of its notes."""
        sql = (
            "SELECT e.note, l.value ->> '$.target', min(e.record ->> '$.time') FROM events e,"
            " json_each(e.record, '$.links') l GROUP BY 1, 2"
        )
        return {(note, target): time for note, target, time in self.rows(sql)}

    def pending(self) -> list[PendingNote]:
        """Notes that the memory process has not finished with: tried least first, then oldest."""
        sql = (
            "SELECT n.path, coalesce(a.count, 0), coalesce(a.error, ''), n.sha FROM notes n"  # noqa: S608
            f" LEFT JOIN attempts a USING(path) WHERE n.refused = '' AND NOT {_SEEN}"
            f" AND NOT {_KNOWN} ORDER BY coalesce(a.count, 0),"
            " coalesce(nullif(n.created, ''), n.modified), n.path"
        )
        return [PendingNote(*row) for row in self.rows(sql)]

    def unprocessed(self) -> list[str]:
        """Paths of all notes that no memory process has seen, those of an adopted vault too: tried
        least first, then oldest."""
        sql = (
            "SELECT n.path FROM notes n LEFT JOIN attempts a USING(path)"  # noqa: S608
            f" WHERE n.refused = '' AND NOT {_SEEN} ORDER BY coalesce(a.count, 0),"
            " coalesce(nullif(n.created, ''), n.modified), n.path"
        )
        return [row[0] for row in self.rows(sql)]

    def was_processed(self, keys: Sequence[str], text_hash: str) -> bool:
        """Whether a note, by its id or path, went through the memory process with this text."""
        sql = (
            "SELECT 1 FROM processed WHERE text_hash = ? AND note IN (SELECT value FROM"
            " json_each(?)) LIMIT 1"
        )
        return self.rows(sql, (text_hash, json.dumps(list(keys)))).fetchone() is not None

    def postpone(self, path: str, error: str) -> None:
        """Count a failed attempt."""
        self.rows(
            "INSERT INTO attempts VALUES(?1, 1, ?2)"
            " ON CONFLICT(path) DO UPDATE SET count = count + 1, error = ?2",
            (path, error),
        )

    def count_use(self, keys: Sequence[str], moment: str) -> None:
        """Remember that notes were found or read."""
        for key in keys:
            self.rows(
                "INSERT INTO usage VALUES(?1, 1, ?2)"
                " ON CONFLICT(note) DO UPDATE SET count = count + 1, last = ?2",
                (key, moment),
            )

    def usage(self, key: str) -> tuple[int, str]:
        """How often a note was found or read, and when last (ISO 8601 or empty)."""
        row = self.rows("SELECT count, last FROM usage WHERE note = ?", (key,)).fetchone()
        return (int(row[0]), str(row[1])) if row else (0, "")

    def usages(self) -> Mapping[str, tuple[int, str]]:
        """The same of all notes that were ever found or read."""
        rows = self.rows("SELECT note, count, last FROM usage WHERE count > 0")
        return {note: (int(count), str(last)) for note, count, last in rows}


def _events(rows: Iterable[tuple[Any, ...]]) -> list[Event]:
    from amem_cli.core.journal import from_record

    return [from_record(json.loads(row[0])) for row in rows]
