"""Synchronises the index with the folder and the journal, embeds passages, and checks the index."""

from __future__ import annotations

import re
from collections.abc import Collection, Container, Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from datetime import datetime, timezone
from typing import TYPE_CHECKING

from amem_cli.errors import AmemError, Problem
from amem_cli.index.memory_index import VaultPorts
from amem_cli.index.records import KnownFile, NoteLink, NoteRecord, Progress

if TYPE_CHECKING:
    from amem_cli.models.ports import Encoder
    from amem_cli.notes.note import PropertyNames
    from amem_cli.vault.file_state import FileContent, FileState

# What reads a note's text is imported with the first changed note; most commands find none.

# A file system may count times in steps of two seconds (FAT). A change within one step of the
# reading does not show in a file's times, as with git's "racy" entries.
RACY_NS = 2_000_000_000
BATCH = 512
# Passages whose vectors are stored together. Of many, the encoder can batch texts of like length;
# with few, an end in between costs less work.
_FIRST_PORTION = 128
_LARGEST_PORTION = 512
_ISO_DAY = re.compile(r"[0-9]{4}-[0-9]{2}-[0-9]{2}(?![0-9])")


@dataclass(frozen=True, slots=True)
class SyncReport:
    """The differences that a synchronisation found, by path.

    Attributes:
        moved: former and new paths.
        out_of_reach: notes in folders that cannot be read; the index keeps them.
        missing: notes that are gone but that the index was asked to keep.
    """

    added: tuple[str, ...] = ()
    changed: tuple[str, ...] = ()
    removed: tuple[str, ...] = ()
    moved: tuple[tuple[str, str], ...] = ()
    out_of_reach: tuple[str, ...] = ()
    missing: tuple[str, ...] = ()
    problems: tuple[Problem, ...] = ()


def synchronise(
    ports: VaultPorts,
    *,
    within: Collection[str] | None = None,
    keep_missing: Container[str] | None = None,
    recording: bool = True,
    progress: Progress | None = None,
) -> SyncReport:
    """Read what changed since the last time; files with unchanged times are not opened.

    Args:
        within: only look at these paths and below them.
        keep_missing: paths of notes that stay in the index if they are missing, because they may
            come back in a moment; they are still recognised under another path. None for
            `ports.keep_missing`.
        recording: also record in the journal what a person edited of the machine's values.

    Raises:
        IndexFault: the index cannot be written.
    """
    # First, so that the scan meets no note of a change that is only half written.
    problems = ports.changes.recover() if ports.vault.has_unfinished_change() else []
    ports.index.events.mirror(ports.journal, problems)
    known = ports.index.files.states(within)
    seen = ports.vault.scan(problems) if within is None else ports.vault.look(within, problems)
    present = {state.path: state for state in seen}
    vanished = set(known) - set(present)
    by_identity: dict[str, list[str]] = {}
    for path in vanished:
        for identity in filter(None, (known[path].id, known[path].sha)):
            by_identity.setdefault(identity, []).append(path)
    stale = sorted(
        path for path, state in present.items() if not _is_unchanged(state, known.get(path))
    )
    added: list[str] = []
    changed: list[str] = []
    moved: list[tuple[str, str]] = []
    swapped = False
    for start in range(0, len(stale), BATCH):
        chunk = stale[start : start + BATCH]
        records, same = _read_records(ports, chunk, problems, known)
        with ports.index.changing_notes():
            ports.index.files.update_states(same)
            for record in records:
                path = record.note.path
                before = known.get(path)
                if before is None:
                    # Under its new path a note is recognised by its id, or by its bytes.
                    alike = by_identity.get(record.note.id or record.file.sha, ())
                    missed = [each for each in alike if each in vanished]
                    old = missed[0] if len(missed) == 1 else _left(ports, record, known)
                    if old is not None:
                        vanished.discard(old)
                        ports.index.files.move(old, path)
                        moved.append((old, path))
                    else:
                        added.append(path)
                else:
                    changed.append(path)
                # Another note is at the path, which may be one that links lead to.
                swapped |= record.note.id not in (None, before.id if before else None)
                ports.index.files.store(record)
        if progress is not None:
            progress(min(start + BATCH, len(stale)), len(stale))
    unreadable = _out_of_reach(ports, vanished)
    if keep_missing is None:
        keep_missing = ports.keep_missing() if vanished else ()
    missing = {path for path in vanished if path in keep_missing}
    # Only now: any of the files read above may have been a missing note at another path.
    removed = tuple(sorted(vanished - unreadable - missing))
    if removed:
        with ports.index.changing_notes():
            for path in removed:
                ports.index.files.forget(path)
    if moved or swapped:
        with ports.index.changing():
            ports.index.files.remember_moves(moved)
    if recording:
        _record_hand_edits(ports, [*changed, *(new for _, new in moved)], problems)
    return SyncReport(
        added=tuple(added),
        changed=tuple(changed),
        removed=removed,
        moved=tuple(moved),
        out_of_reach=tuple(sorted(unreadable)),
        missing=tuple(sorted(missing - unreadable)),
        problems=tuple(problems),
    )


def _left(ports: VaultPorts, record: NoteRecord, known: Mapping[str, KnownFile]) -> str | None:
    """The former path of a note, if only its new path was looked at."""
    note_id = record.note.id
    if not note_id:
        return None
    same = [note.path for note in ports.index.notes.find(note_id) if note.id == note_id]
    gone = [path for path in same if path not in known and not ports.vault.has(path)]
    return gone[0] if len(same) == len(gone) == 1 else None


def _out_of_reach(ports: VaultPorts, paths: Iterable[str]) -> set[str]:
    """Of missing notes those in folders that cannot be read: they may still be there."""
    folder_of = {path: path.rpartition("/")[0] for path in paths}
    unreadable = {each for each in {*folder_of.values()} if not ports.vault.is_readable(each)}
    return {path for path, folder in folder_of.items() if folder in unreadable}


def _record_hand_edits(ports: VaultPorts, paths: Sequence[str], problems: list[Problem]) -> None:
    """Record in the journal which of the machine's values a person changed."""
    if not paths or not ports.index.events.journal_positions():
        return
    from amem_cli.index.hand_edits import record_hand_edits

    try:
        recorded = record_hand_edits(ports, paths)
    except AmemError as error:
        problems.append(Problem(".amem/journal", 0, error.message, error.hint))
        return
    if recorded:
        ports.index.events.mirror(ports.journal, problems)


def refresh(ports: VaultPorts, paths: Iterable[str]) -> None:
    """Read the notes at these paths again, for instance after the program wrote them."""
    problems: list[Problem] = []
    ports.index.events.mirror(ports.journal, problems)
    with ports.index.changing_notes():
        for path in paths:
            if not ports.vault.has(path):
                ports.index.files.forget(path)
                continue
            for record in _read_records(ports, [path], problems)[0]:
                ports.index.files.store(record)


def embed_missing(ports: VaultPorts, encoder: Encoder, *, progress: Progress | None = None) -> int:
    """Give every passage a vector of this encoder; vectors of another one are deleted."""
    vectors, done = ports.index.vectors, 0
    total = vectors.count_to_embed(encoder.model_id)
    if not total and vectors.encoder() == encoder.model_id:
        return 0
    from amem_cli.notes.passages import embedded_text

    if vectors.encoder() not in (None, encoder.model_id):
        # One that cannot be run costs no vectors of the former one.
        encoder.encode(["a first text"])
    while True:
        # Again in each round: the index may have been made anew meanwhile.
        vectors.use_encoder(encoder.model_id, encoder.dimension)
        before, last, portion = done, 0, _FIRST_PORTION
        while jobs := vectors.passages_to_embed(portion, last):
            texts = [embedded_text(job.summary, job.text) for job in jobs]
            vectors.store([job.passage for job in jobs], *encoder.encode_passages(texts))
            last, portion = jobs[-1].passage, min(2 * portion, _LARGEST_PORTION)
            done += len(jobs)
            if progress is not None:
                progress(done, max(done, total))
        if done == before or not vectors.count_to_embed(encoder.model_id):
            return done


def note_record(
    content: FileContent, scanned_ns: int, names: PropertyNames, daily: str = ""
) -> NoteRecord:
    """What the index stores of a note, from its bytes alone."""
    from amem_cli.language.dates import created_text, moment_in
    from amem_cli.markdown.links import (
        find_hashtags,
        find_links,
        merge_tags,
        parse_link,
        visible_tag,
    )
    from amem_cli.notes.creation_date import date_in_note
    from amem_cli.notes.note import parse_note
    from amem_cli.notes.note_links import property_links
    from amem_cli.notes.passages import split_passages

    path = content.state.path
    note = parse_note(path, content.raw, names)
    if content.cut:
        why = "is larger than 2 MiB; its beginning is searchable, it is never edited"
        note = replace(note, refused=Problem(path, 0, why))
    if not _ISO_DAY.match(note.created):
        made = date_in_note(path, content.raw, note.created, daily)
        note = replace(note, created=created_text(made) if made else "")
    elif note.created[10:11] not in ("", "T") and (moment := moment_in(note.created)):
        # The index sorts by the form with `T`.
        note = replace(note, created=moment.isoformat())
    file = KnownFile(*content.state[1:], scanned_ns, content.sha, note.id)
    modified = datetime.fromtimestamp(file.mtime_ns / 1e9, tz=timezone.utc)
    written = [NoteLink(link.target, "wikilink") for link in find_links(note.body)]
    parsed = map(parse_link, note.links)
    properties = [NoteLink(link.target, "property", listed=True) for link in parsed if link]
    others = property_links(content.raw, without=names.links)
    properties += [NoteLink(link.target, "property") for link in others]
    tags = merge_tags(dict.fromkeys(map(visible_tag, note.tags)), find_hashtags(note.body))
    return NoteRecord(
        note=replace(note, tags=tuple(tags)),
        file=file,
        text_hash=text_hash(content.raw),
        modified=modified.isoformat(timespec="seconds"),
        links=tuple(link for link in (*written, *properties) if link.target),
        passages=tuple(split_passages(note.body)) or ("",),
    )


def text_hash(raw: bytes) -> str:
    """Hash of the text without its front matter, on which the memory process depends.

    The machine writes only front matter, so its changes never cause work.
    """
    import hashlib

    from amem_cli.notes.note import body_bytes

    return hashlib.sha256(body_bytes(raw)).hexdigest()[:24]


def _is_unchanged(state: FileState, known: KnownFile | None) -> bool:
    if known is None or state[1:] != known[:4]:
        return False
    return max(state.mtime_ns, state.ctime_ns) < known.scanned_ns - RACY_NS


def _read_records(
    ports: VaultPorts,
    paths: Sequence[str],
    problems: list[Problem],
    known: Mapping[str, KnownFile] | None = None,
) -> tuple[list[NoteRecord], dict[str, KnownFile]]:
    """The notes at these paths, and the states of the files that still hold the known bytes."""
    records: list[NoteRecord] = []
    same: dict[str, KnownFile] = {}
    for path in paths:
        scanned = ports.clock.time_ns()
        try:
            content = ports.vault.read(path)
        except AmemError as error:
            problems.append(Problem(path, 0, error.message, error.hint))
            continue
        before = known.get(path) if known else None
        if before is not None and before.sha == content.sha:
            same[path] = KnownFile(*content.state[1:], scanned, before.sha, before.id)
        else:
            records.append(note_record(content, scanned, ports.names, ports.daily))
    return records, same


def check_index(ports: VaultPorts) -> list[str]:
    """Every difference between index and vault, one line each, by path."""
    problems: list[Problem] = []
    known = ports.index.files.states()
    present = {state.path for state in ports.vault.scan(problems)}
    differences = [f"the index file: {damage}" for damage in ports.index.damage()]
    differences += [f"{path}: not in the index" for path in present - set(known)]
    differences += [f"{path}: in the index, but gone" for path in set(known) - present]
    for path in present & set(known):
        try:
            content = ports.vault.read(path)
        except AmemError as error:
            differences.append(f"{path}: {error.message}")
            continue
        if content.sha != known[path].sha:
            differences.append(f"{path}: changed since it was indexed")
        else:
            differences += _stored_differences(
                ports, path, note_record(content, 0, ports.names, ports.daily)
            )
    news = ports.journal.read_new(ports.index.events.journal_positions(), problems)
    if news.restarted:
        differences.append(".amem/journal: not the journal that was indexed")
    differences += [
        f".amem/journal/{file.name}: events not in the index" for file in news.files if file.events
    ]
    return sorted(differences)


def _stored_differences(ports: VaultPorts, path: str, record: NoteRecord) -> list[str]:
    summary, note = ports.index.notes.summary(path), record.note
    if summary is None:
        return [f"{path}: not in the index"]
    pairs = {
        "id": (summary.id, note.id),
        "title": (summary.title, note.title),
        "keywords": (summary.keywords, note.keywords),
        "tags": (summary.tags, note.tags),
        "context": (summary.context, note.context),
        "links": (tuple(ports.index.links.written(path)), record.links),
        "text": (tuple(ports.index.text.passages(path)), record.passages),
    }
    return [f"{path}: {name} differs" for name, (stored, read) in pairs.items() if stored != read]
