"""The category that A-MEM's library keeps of a memory: the `category` property of its note."""

from __future__ import annotations

from amem_cli.core.errors import HeaderRefused
from amem_cli.core.header import find_fences, read_header
from amem_cli.core.index_records import NoteSummary
from amem_cli.core.note_file import compose_note, edit_header
from amem_cli.services.recording import NoteDraft, new_event
from amem_cli.services.sync import refresh
from amem_cli.services.vault_ports import VaultPorts

PROPERTY = "category"


def category_of(raw: bytes) -> str:
    """The category in a note's bytes; empty where there is none, or none that is text."""
    try:
        fences = find_fences(raw)
        header = read_header(raw, fences) if fences else None
    except HeaderRefused:
        return ""
    entry = header.entry(PROPERTY) if header else None
    return (header.text_of(entry.value) or "").strip() if header and entry else ""


def with_category(content: str, category: str) -> str:
    """The text of a new note with its category above it.

    Raises:
        ValueError: the text is no valid Unicode.
    """
    changes = {PROPERTY: " ".join(category.split())}
    try:
        return edit_header(content.encode("utf-8"), changes).decode("utf-8")
    except HeaderRefused:
        return compose_note(changes, content).decode("utf-8")


def set_category(ports: VaultPorts, note: NoteSummary, category: str) -> bool:
    """Give a note another category as its owner; False where it has it already.

    Raises:
        HeaderRefused, WriteConflict: nothing was written.
    """
    wanted = " ".join(category.split())
    with ports.changes.locked():
        draft = NoteDraft(ports, ports.vault.read(note.path))
        if category_of(draft.raw) == wanted:
            return False
        event = new_event(ports, "edit", by="person", reason=f"category: {wanted}")
        draft.restore(edit_header(draft.raw, {PROPERTY: wanted}, ports.names), event, ())
        ports.changes.apply(draft.write(), draft.events)
        refresh(ports, [note.path])
    return True
