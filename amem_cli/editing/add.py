"""Adds a note: its text is safe on disk before any model is asked."""

from __future__ import annotations

import hashlib
import unicodedata
from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime

from amem_cli.errors import HeaderRefused, SettingsError, UsageError
from amem_cli.index.draft import new_event
from amem_cli.index.memory_index import VaultPorts
from amem_cli.index.sync import refresh
from amem_cli.journal.events import Change, NoteWrite
from amem_cli.language.dates import created_text, local_moment, new_id
from amem_cli.markdown.links import as_tag
from amem_cli.notes.creation_date import date_in_header, date_in_text
from amem_cli.notes.front_matter_edit import compose_note, edit_header
from amem_cli.notes.names import file_name, name_key, title_of, with_suffix
from amem_cli.notes.note import LIST_FIELDS, OWNED_FIELDS, Note, body_bytes, parse_note
from amem_cli.system.names import folded

MAX_TEXT_BYTES = 1024 * 1024
ATTEMPTS = 20


@dataclass(frozen=True, slots=True)
class NewNote:
    """What a person gives for a new note; an empty `id` makes a new one.

    `name` is its title if there is none, and the text has neither the property nor a heading.
    """

    content: str
    title: str = ""
    name: str = ""
    keywords: Sequence[str] = ()
    tags: Sequence[str] = ()
    context: str = ""
    links: Sequence[str] = ()
    created: datetime | None = None
    id: str = ""
    folder: str = "notes"


def add(ports: VaultPorts, new: NewNote) -> str:
    """Write a new note and index it; its path.

    Raises:
        UsageError, SettingsError: there is no text, a tag or id is impossible, or no free name.
    """
    raw = text_bytes(new.content)
    # The text may begin with properties of its own; what the caller gives adds to them.
    given = parse_note("note.md", raw, ports.names)
    now = ports.clock.now()
    moment = new.created or date_in_text(given.created) or date_in_header(raw) or now
    moment = local_moment(moment, now.tzinfo)
    fields = _fields(new, given)
    # Without a file there is no name that could be the title.
    given_title = given.title
    if given_title == "note":
        given_title = title_of(body_bytes(raw).decode(), otherwise=" ".join(new.name.split()))
    title = " ".join(new.title.split()) or given_title
    if new.id and (
        not new.id.isprintable()
        or new.id != new.id.strip()
        # It would be taken for the path of a note.
        or new.id.lower().endswith(".md")
        or "/" in new.id
    ):
        raise UsageError(
            f"{new.id[:80]!r} cannot be an id", hint="Use letters, digits, -, _ and dots."
        )
    with ports.changes.locked():
        note_id = new.id or given.id or ""
        if note_id and ports.index.notes.id_taken(note_id):
            raise UsageError(f"a note with the id {note_id} exists already")
        note_id = note_id or new_id(moment, ports.index.notes.id_taken)
        header = {"id": note_id, "created": given.created or created_text(moment), **fields}
        changes = tuple(
            Change(name, [] if name in LIST_FIELDS else "", value) for name, value in header.items()
        )
        taken: set[str] = set()
        folder = new.folder.strip("/")
        wanted = f"{folder}/{file_name(title)}" if folder else file_name(title)
        for _ in range(ATTEMPTS):
            path, _number = free_path(ports, wanted, taken)
            content = _with_header(ports, raw, header, title, path)
            sha = hashlib.sha256(content).hexdigest()
            event = new_event(
                ports, "add", by="person", note=note_id, path=path, changes=changes, sha=sha
            )
            try:
                ports.changes.apply([NoteWrite(path, None, content)], [event])
            except FileExistsError:
                # Another program took the name in this instant, or it is a folder's.
                taken.add(folded(path))
                continue
            refresh(ports, [path])
            return path
    raise SettingsError(f"cannot find a free name for {title!r}", hint="Try again.")


def text_bytes(content: str) -> bytes:
    """A note's text as it is stored, in UTF-8; `UsageError` if it is empty or too large."""
    if not content.strip():
        raise UsageError("the note is empty", hint='Give a text: amem add "…", or pipe it in.')
    try:
        raw = content.encode("utf-8")
    except UnicodeEncodeError:
        raise UsageError("the text is not valid Unicode") from None
    if len(raw) > MAX_TEXT_BYTES:
        raise UsageError("the text is larger than 1 MiB", hint="Split it into several notes.")
    return raw if raw.endswith(b"\n") else raw + b"\n"


def checked_tag(text: str) -> str:
    """A tag as it is stored; `UsageError` if it cannot be one."""
    tag = as_tag(text)
    if tag is None:
        raise UsageError(f"{text!r} cannot be a tag", hint="Use letters, digits, - _ and /.")
    return tag


def _fields(new: NewNote, given: Note) -> dict[str, str | list[str]]:
    lists = {
        "keywords": (*given.keywords, *(" ".join(word.split()) for word in new.keywords)),
        "tags": (*given.tags, *map(checked_tag, new.tags)),
        "links": (*given.links, *new.links),
    }
    values: dict[str, str | list[str]] = {
        name: [text for text in dict.fromkeys(texts) if text] for name, texts in lists.items()
    }
    values["context"] = " ".join(new.context.split()) or given.context
    # The journal and the file have the fields in one order.
    return {name: values[name] for name in OWNED_FIELDS if values.get(name)}


def free_path(
    ports: VaultPorts, wanted: str, taken: Collection[str] = (), first: int = 1
) -> tuple[str, int]:
    """A path for a new note, and the number in its name (1 for none).

    A name of any note in the vault is not used again, whatever its folder: links to that note would
    change their meaning.

    Args:
        taken: paths that are not free either, as `folded` gives them.
        first: the number from which to look.
    """
    folder, slash, name = wanted.rpartition("/")
    for number in range(first, 1_000_000):
        path = f"{folder}{slash}{name if number == 1 else with_suffix(name, number)}"
        twins = ports.index.names.candidates(name_key(path))
        if folded(path) not in taken and not twins and not ports.vault.exists(path):
            return path, number
    raise UsageError(f"there are too many notes named {name!r}")


def _with_header(
    ports: VaultPorts, raw: bytes, header: Mapping[str, str | list[str]], title: str, path: str
) -> bytes:
    mapped = {getattr(ports.names, name): header[name] for name in OWNED_FIELDS if name in header}
    stem = path.rsplit("/", 1)[-1].removesuffix(".md")
    if unicodedata.normalize("NFC", title) != stem:
        # The file system could not hold the title as it is.
        mapped["title"] = title
    try:
        return edit_header(raw, mapped, ports.names)
    except HeaderRefused:
        return compose_note(mapped, raw.decode(), ports.names)
