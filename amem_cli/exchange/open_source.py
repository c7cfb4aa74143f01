"""Tells what kind of source a path is, and opens it."""

from __future__ import annotations

import json
import re
import sys
from pathlib import Path

from amem_cli.errors import SettingsError, UsageError
from amem_cli.exchange.source import KINDS, Source
from amem_cli.exchange.source_markdown import (
    NOTE_ENDINGS,
    BasicMemoryProject,
    LogseqGraph,
    MarkdownSource,
    SourceFolder,
    ZkNotebook,
    permalink,
)
from amem_cli.exchange.source_records import JsonLines, JsonRecords, parse_json, read_text

CHROMA_FILE = "chroma.sqlite3"
_SQLITE = b"SQLite format 3\0"
_LOOKED_AT = 30
_MEM0 = re.compile(r'"(?:memory|created_at|user_id)"\s*:')
_FOLDERS = ("markdown", "obsidian", "logseq", "zk", "basic-memory")


def open_source(path: Path, kind: str | None, vault: Path) -> Source:
    """Open what `amem import` names.

    Args:
        kind: what the user says it is; None to find out.
        vault: the vault's folder, of which nothing is imported into itself.

    Raises:
        UsageError: the kind is unknown or does not fit.
        SettingsError: it cannot be read, or nothing tells what it is.
    """
    if kind is not None and kind not in KINDS:
        raise UsageError(f"--from {kind!r} is unknown", hint=f"One of: {', '.join(KINDS)}.")
    if str(path) == "-":
        if kind not in (None, "jsonl"):
            hint = f"Save it, and name the file: amem import FILE --from {kind}"
            raise UsageError("standard input is read as JSON lines only", hint=hint)
        return JsonLines(path, _stdin())
    try:
        is_folder = path.is_dir()
        path.lstat()
    except OSError as error:
        hint = "Name a file, a folder, or - for JSON lines on stdin."
        raise SettingsError(f"cannot read {path}: {error.strerror}", hint=hint) from None
    if is_folder:
        return _open_folder(path, kind, vault)
    if kind in _FOLDERS and path.suffix.lower() not in NOTE_ENDINGS:
        raise UsageError(f"{path} is a file", hint=f"--from {kind} reads a folder.")
    return _open_file(path, kind)


def _open_folder(path: Path, kind: str | None, vault: Path) -> Source:
    root = path.resolve()
    if kind in (None, "chroma") and (path / CHROMA_FILE).is_file():
        return _chroma(path / CHROMA_FILE)
    if kind is not None and kind not in _FOLDERS:
        raise UsageError(f"{path} is a folder", hint=f"--from {kind} reads a file.")
    if root == vault or root.is_relative_to(vault):
        raise UsageError(
            f"{path} is in the vault already", hint="Notes anywhere in the vault are memories."
        )
    folder = SourceFolder(root, left_out=vault)
    found = kind or _kind_of(folder)
    if found == "logseq":
        return LogseqGraph(folder)
    if found == "zk":
        return ZkNotebook(folder)
    if found == "basic-memory":
        return BasicMemoryProject(folder)
    return MarkdownSource(folder, found)


def _kind_of(folder: SourceFolder) -> str:
    """By what only one program puts into a folder; basic-memory's by what its notes say."""
    root = folder.root
    if (root / "logseq").is_dir() and ((root / "pages").is_dir() or (root / "journals").is_dir()):
        return "logseq"
    if (root / ".zk").is_dir():
        return "zk"
    if (root / ".obsidian").is_dir():
        return "obsidian"
    first = [folder.read(path, 2 * 1024 * 1024) for path in folder.note_paths[:_LOOKED_AT]]
    linked = sum(bool(permalink(raw or b"")) for raw in first)
    return "basic-memory" if first and linked * 2 > len(first) else "markdown"


def _open_file(path: Path, kind: str | None) -> Source:
    try:
        # A pipe would be waited for without end.
        if not path.is_file():
            hint = "Pipe it in, and name it -."
            raise SettingsError(f"{path} is not a regular file", hint=hint)
        with path.open("rb") as stream:
            beginning = stream.read(16)
    except OSError as error:
        raise SettingsError(f"cannot read {path}: {error.strerror}") from None
    if beginning == _SQLITE:
        return _open_database(path, kind)
    if beginning[:1] == b"\x80" or path.suffix.lower() in (".pkl", ".pickle"):
        raise SettingsError(
            f"{path} is a pickle, which can run code and is not read",
            hint="Write it out as JSON in A-MEM: docs/import-export.md shows how.",
        )
    if path.suffix.lower() in NOTE_ENDINGS:
        raise UsageError(f"{path} is one note", hint=f"Add it: amem add --file {path}")
    if kind == "chroma":
        hint = "Name Chroma's folder, or the chroma.sqlite3 in it."
        raise SettingsError(f"{path} is no database", hint=hint)
    text = read_text(path)
    found = kind or _kind_of_text(path, text)
    if found == "jsonl":
        return JsonLines(path, text)
    return JsonRecords(path, parse_json(path, text), found)


def _open_database(path: Path, kind: str | None) -> Source:
    from amem_cli.exchange.source_database import Mem0History, tables_of

    tables = tables_of(path)
    if kind in (None, "chroma") and "embedding_metadata" in tables:
        return _chroma(path)
    if kind in (None, "mem0") and "history" in tables:
        return Mem0History(path)
    raise SettingsError(
        f"{path} is a database of another program",
        hint="Chroma's chroma.sqlite3 and mem0's history.db are read.",
    )


def _chroma(path: Path) -> Source:
    from amem_cli.exchange.source_database import ChromaCollection

    return ChromaCollection(path)


def _kind_of_text(path: Path, text: str) -> str:
    """JSON lines, or one document: mem0's, where its names are found, else A-MEM's."""
    first = text.lstrip()[:1]
    line = text.lstrip().split("\n", 1)[0]
    try:
        record = json.loads(line)
        is_line = isinstance(record, dict) and "content" in record
    except (ValueError, RecursionError):
        is_line = False
    if path.suffix.lower() in (".jsonl", ".ndjson") or is_line or first not in ("{", "["):
        return "jsonl"
    return "mem0" if _MEM0.search(text[:20_000]) and '"content"' not in text[:20_000] else "amem"


def _stdin() -> str:
    try:
        return sys.stdin.buffer.read().decode("utf-8-sig")
    except UnicodeDecodeError:
        raise SettingsError("standard input is not UTF-8", hint="Save it as UTF-8.") from None
