"""Opens what `amem import` names, and detects what kind of source it is."""

from __future__ import annotations

import json
import re
import stat
from collections.abc import Callable
from contextlib import suppress
from functools import partial
from pathlib import Path

from amem_cli.errors import SettingsError, UsageError
from amem_cli.exchange.source import NOTE_ENDINGS, ImportSource, SourceFolder
from amem_cli.exchange.source_markdown import (
    PAGES,
    basic_memory_notes,
    is_journal,
    logseq_notes,
    markdown_notes,
    permalink,
    zk_notes,
)
from amem_cli.exchange.source_records import (
    chroma_notes,
    json_lines,
    json_records,
    mem0_history_notes,
    parse_json,
    read_text,
    tables_of,
)
from amem_cli.notes.creation_date import FirstCommit

_FOLDERS = {
    "markdown": markdown_notes,
    "obsidian": markdown_notes,
    "logseq": logseq_notes,
    "zk": zk_notes,
    "basic-memory": basic_memory_notes,
}
KINDS = ("jsonl", *_FOLDERS, "amem", "chroma", "mem0")
# The folders that only one program makes.
_MARKS = (
    ("logseq", "logseq", "pages"),
    ("logseq", "logseq", "journals"),
    ("zk", ".zk"),
    ("obsidian", ".obsidian"),
)
# By the table that only one program makes.
_DATABASES = {
    "chroma": ("embedding_metadata", chroma_notes),
    "mem0": ("history", mem0_history_notes),
}
CHROMA_FILE = "chroma.sqlite3"
_SQLITE = b"SQLite format 3\0"
_SAMPLE = 30
_MEM0 = re.compile(r'"(?:memory|created_at|user_id)"\s*:')


def open_source(
    path: Path,
    kind: str | None,
    vault: Path,
    first_commits: Callable[[Path], FirstCommit] | None = None,
) -> ImportSource:
    """Open what `amem import` names.

    Args:
        kind: what the user says it is; None to detect it.
        vault: the vault's folder, which is not imported into itself.
        first_commits: given a folder, what git says of its files.

    Raises:
        UsageError: the kind is unknown or does not fit.
        SettingsError: it cannot be read, or is of no known kind.
    """
    if kind is not None and kind not in KINDS:
        raise UsageError(f"--from {kind!r} is unknown", hint=f"One of: {', '.join(KINDS)}.")
    if str(path) == "-":
        if kind not in (None, "jsonl"):
            hint = f"Save it, and name the file: amem import FILE --from {kind}"
            raise UsageError("standard input is read as JSON lines only", hint=hint)
        return json_lines(path, read_text(path))
    try:
        mode = path.stat().st_mode
        if not stat.S_ISDIR(mode):
            return _open_file(path, kind, mode)
    except OSError as error:
        hint = "Name a file, a folder, or - for JSON lines on stdin."
        raise SettingsError(f"cannot read {path}: {error.strerror}", hint=hint) from None
    if kind in (None, "chroma") and (path / CHROMA_FILE).is_file():
        return _open_database(path / CHROMA_FILE, "chroma")
    if kind is not None and kind not in _FOLDERS:
        raise UsageError(f"{path} is a folder", hint=f"--from {kind} reads a file.")
    root = path.resolve()
    # Importing the vault into itself would double every note.
    if root.is_relative_to(vault):
        raise UsageError(
            f"{path} is in the vault already", hint="Notes anywhere in the vault are memories."
        )
    folder = SourceFolder(root, left_out=vault)
    if first_commits is not None:
        folder.first_commit = first_commits(root)
    kind = kind or _kind_of(folder)
    return ImportSource(kind, partial(_FOLDERS[kind], folder), folder)


def _kind_of(folder: SourceFolder) -> str:
    for kind, *names in _MARKS:
        if all((folder.root / name).is_dir() for name in names):
            return kind
    # Of a graph that lacks its settings, Logseq's names of its files are left.
    if any(map(is_journal, folder.note_paths)) and (folder.root / PAGES).is_dir():
        return "logseq"
    # Any program may write one permalink; basic-memory writes one into every note.
    first = [folder.read(path) or b"" for path in folder.note_paths[:_SAMPLE]]
    linked = sum(bool(permalink(raw)) for raw in first)
    return "basic-memory" if linked * 2 > len(first) else "markdown"


def _open_file(path: Path, kind: str | None, mode: int) -> ImportSource:
    ending = path.suffix.lower()
    if kind in _FOLDERS and ending not in NOTE_ENDINGS:
        raise UsageError(f"{path} is a file", hint=f"--from {kind} reads a folder.")
    # Reading from a pipe could wait forever.
    if not stat.S_ISREG(mode):
        raise SettingsError(f"{path} is not a regular file", hint="Pipe it in, and name it -.")
    with path.open("rb") as stream:
        beginning = stream.read(16)
    if beginning == _SQLITE:
        return _open_database(path, kind)
    # A-MEM's own store is a pickle; its first byte is the protocol mark.
    if beginning[:1] == b"\x80" or ending in (".pkl", ".pickle"):
        raise SettingsError(
            f"{path} is a pickle, which can run code and is not read",
            hint="Write it out as JSON in A-MEM: docs/import-export.md shows how.",
        )
    if ending in NOTE_ENDINGS:
        raise UsageError(f"{path} is one note", hint=f"Add it: amem add --file {path}")
    if kind == "chroma":
        hint = "Name Chroma's folder, or the chroma.sqlite3 in it."
        raise SettingsError(f"{path} is not a database", hint=hint)
    text = read_text(path)
    kind = kind or _kind_of_text(ending, text)
    if kind == "jsonl":
        return json_lines(path, text)
    return json_records(path, parse_json(path, text), kind)


def _open_database(path: Path, kind: str | None) -> ImportSource:
    tables = tables_of(path)
    for name, (table, notes) in _DATABASES.items():
        # A Chroma database may lack what it needs, which its reader says.
        if kind == name == "chroma" or (kind in (None, name) and table in tables):
            return ImportSource(name, partial(notes, path))
    raise SettingsError(
        f"{path} is a database of another program",
        hint="Chroma's chroma.sqlite3 and mem0's history.db are read.",
    )


def _kind_of_text(ending: str, text: str) -> str:
    """JSON lines, or one document: mem0's if it has mem0's property names, otherwise A-MEM's."""
    beginning = text.lstrip()[:20_000]
    if ending in (".jsonl", ".ndjson") or beginning[:1] not in ("{", "["):
        return "jsonl"
    with suppress(ValueError, RecursionError):
        record = json.loads(text.lstrip().split("\n", 1)[0])
        if isinstance(record, dict) and "content" in record:
            return "jsonl"
    return "mem0" if _MEM0.search(beginning) and '"content"' not in beginning else "amem"
