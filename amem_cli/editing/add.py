"""Adds a note: its text is safe on disk before any model is asked."""

from __future__ import annotations

import hashlib
import unicodedata
from collections.abc import Collection, Sequence
from contextlib import suppress
from dataclasses import dataclass
from datetime import datetime

from amem_cli.errors import HeaderRefused, SettingsError, UsageError
from amem_cli.index.draft import FieldValue, VaultPorts, new_event
from amem_cli.index.sync import refresh
from amem_cli.journal.events import Change, NoteWrite
from amem_cli.language.dates import created_text, new_id, parse_moment
from amem_cli.markdown.tags import normalise_tag
from amem_cli.notes.codec import body_bytes, compose_note, edit_header, parse_note
from amem_cli.notes.names import file_name, name_key, title_of, with_suffix
from amem_cli.notes.note import OWNED_FIELDS, Note

MAX_TEXT_BYTES = 1024 * 1024
ATTEMPTS = 20


@dataclass(frozen=True, slots=True)
class NewNote:
    """What a person gives for a new note; everything but the text may be missing.

    Attributes:
        id: an id to keep, as when importing; empty makes a new one.
        folder: vault-relative folder for the file.
    """

    content: str
    title: str = ""
    keywords: Sequence[str] = ()
    tags: Sequence[str] = ()
    context: str = ""
    links: Sequence[str] = ()
    created: datetime | None = None
    id: str = ""
    folder: str = "notes"


def add(ports: VaultPorts, new: NewNote) -> str:
    """Write a new note and index it.

    Returns:
        Its path.

    Raises:
        UsageError: there is no text, a tag or id is impossible.
        SettingsError: the note cannot be written.
    """
    raw = text_bytes(new.content)
    given = parse_note("note.md", raw, ports.names)
    moment = _local(ports, new.created or _given_moment(given) or ports.clock.now())
    fields = _person_fields(new, given)
    with ports.changes.locked():
        note_id = new.id or given.id or ""
        if new.id and (not new.id.isprintable() or new.id != new.id.strip() or _is_path(new.id)):
            raise UsageError(
                f"{new.id[:80]!r} cannot be an id", hint="Use letters, digits, -, _ and dots."
            )
        if note_id and ports.index.notes.id_taken(note_id):
            raise UsageError(f"a note with the id {note_id} exists already")
        note_id = note_id or new_id(moment, ports.index.notes.id_taken)
        header: dict[str, FieldValue] = {"id": note_id}
        header["created"] = given.created or created_text(moment)
        header.update(fields)
        title = " ".join(new.title.split()) or _given_title(given, raw)
        path = _create(ports, new, raw, header, title)
        refresh(ports, [path])
    return path


def _create(
    ports: VaultPorts, new: NewNote, raw: bytes, header: dict[str, FieldValue], title: str
) -> str:
    changes = tuple(
        Change(name, [] if isinstance(value, (list, tuple)) else "", _listed(value))
        for name, value in header.items()
    )
    taken: set[str] = set()
    for _ in range(ATTEMPTS):
        path = _free_path(ports, new.folder, title, taken)
        content = _with_header(ports, raw, header, title, path)
        event = new_event(
            ports,
            "add",
            by="person",
            note=str(header["id"]),
            path=path,
            changes=changes,
            sha=hashlib.sha256(content).hexdigest(),
        )
        try:
            ports.changes.apply([NoteWrite(path, None, content)], [event])
        except FileExistsError:
            # Another program took the name in this instant, or it is a folder's.
            taken.add(path)
            continue
        return path
    raise SettingsError(f"cannot find a free name for {title!r}", hint="Try again.")


def text_bytes(content: str) -> bytes:
    """A note's text as it is stored: UTF-8 that ends a line.

    Raises:
        UsageError: there is no text, it is not valid Unicode, or it is larger than 1 MiB.
    """
    if not content.strip():
        raise UsageError("the note is empty", hint='Give a text: amem add "…", or pipe it in.')
    try:
        raw = content.encode("utf-8")
    except UnicodeEncodeError:
        raise UsageError("the text is not valid Unicode") from None
    if len(raw) > MAX_TEXT_BYTES:
        raise UsageError("the text is larger than 1 MiB", hint="Split it into several notes.")
    return raw if raw.endswith(b"\n") else raw + b"\n"


def _is_path(text: str) -> bool:
    """Whether an id would be taken for the path of a note."""
    return text.lower().endswith(".md") or "/" in text


def _local(ports: VaultPorts, moment: datetime) -> datetime:
    """The moment on the user's own clock, as Obsidian's date properties are: without an offset."""
    if moment.tzinfo is None:
        return moment
    # On the first and the last day there is its own clock will do.
    with suppress(OverflowError):
        moment = moment.astimezone(ports.clock.now().tzinfo)
    return moment.replace(tzinfo=None)


def _given_moment(given: Note) -> datetime | None:
    try:
        return parse_moment(given.created) if given.created else None
    except ValueError:
        return None


def _given_title(given: Note, raw: bytes) -> str:
    # The file has no name yet, so `note` is not a title that anybody gave.
    return given.title if given.title != "note" else title_of(body_bytes(raw).decode())


def _person_fields(new: NewNote, given: Note) -> dict[str, FieldValue]:
    tags = []
    for text in new.tags:
        tag = normalise_tag(text)
        if tag is None:
            raise UsageError(f"{text!r} cannot be a tag", hint="Use letters, digits, - _ and /.")
        tags.append(tag)
    values: dict[str, FieldValue] = {
        "keywords": _merged(given.keywords, [" ".join(word.split()) for word in new.keywords]),
        "tags": _merged(given.tags, tags),
        "context": " ".join(new.context.split()) or given.context,
        "links": _merged(given.links, list(new.links)),
    }
    return {name: value for name, value in values.items() if value}


def _merged(first: Sequence[str], second: Sequence[str]) -> list[str]:
    return [text for text in dict.fromkeys((*first, *second)) if text]


def _listed(value: FieldValue) -> str | list[str]:
    return value if isinstance(value, str) else list(value)


def _free_path(ports: VaultPorts, folder: str, title: str, taken: Collection[str]) -> str:
    name = file_name(title)
    prefix = f"{folder.strip('/')}/" if folder.strip("/") else ""
    for number in range(1, 100_000):
        candidate = name if number == 1 else with_suffix(name, number)
        path = prefix + candidate
        # A twin in another folder would make links by name ambiguous.
        if (
            path in taken
            or ports.index.names.candidates(name_key(path))
            or ports.vault.exists(path)
        ):
            continue
        return path
    raise SettingsError(f"there are too many notes named {name!r}")


def _with_header(
    ports: VaultPorts, raw: bytes, header: dict[str, FieldValue], title: str, path: str
) -> bytes:
    ordered = {name: header[name] for name in OWNED_FIELDS if name in header}
    mapped = {getattr(ports.names, name): value for name, value in ordered.items()}
    stem = path.rsplit("/", 1)[-1].removesuffix(".md")
    if unicodedata.normalize("NFC", title) != stem:
        # The file system could not hold the title as it is.
        mapped["title"] = title
    try:
        return edit_header(raw, mapped, ports.names)
    except HeaderRefused:
        return compose_note(mapped, raw.decode(), ports.names)
