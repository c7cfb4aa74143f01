"""Opens what `amem import` names, and detects what kind of source it is."""

from __future__ import annotations

import json
import re
from collections.abc import Callable
from functools import partial
from pathlib import Path

from amem_cli.errors import SettingsError, UsageError
from amem_cli.exchange.source import NOTE_ENDINGS, ImportSource, SourceFolder
from amem_cli.exchange.source_markdown import (
    basic_memory_notes,
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
        is_folder = path.is_dir()
        path.lstat()
    except OSError as error:
        hint = "Name a file, a folder, or - for JSON lines on stdin."
        raise SettingsError(f"cannot read {path}: {error.strerror}", hint=hint) from None
    if is_folder:
        return _open_folder(path, kind, vault, first_commits)
    if kind in _FOLDERS and path.suffix.lower() not in NOTE_ENDINGS:
        raise UsageError(f"{path} is a file", hint=f"--from {kind} reads a folder.")
    return _open_file(path, kind)


def _open_folder(
    path: Path,
    kind: str | None,
    vault: Path,
    first_commits: Callable[[Path], FirstCommit] | None,
) -> ImportSource:
    root = path.resolve()
    if kind in (None, "chroma") and (path / CHROMA_FILE).is_file():
        return _open_database(path / CHROMA_FILE, "chroma")
    if kind is not None and kind not in _FOLDERS:
        raise UsageError(f"{path} is a folder", hint=f"--from {kind} reads a file.")
    # Importing the vault into itself would double every note.
    if root == vault or root.is_relative_to(vault):
        raise UsageError(
            f"{path} is in the vault already", hint="Notes anywhere in the vault are memories."
        )
    folder = SourceFolder(root, left_out=vault)
    if first_commits is not None:
        folder.first_commit = first_commits(root)
    kind = kind or _kind_of(folder)
    return ImportSource(kind, partial(_FOLDERS[kind], folder), folder)


def _kind_of(folder: SourceFolder) -> str:
    """By what only one program puts into a folder; basic-memory by its notes' properties."""
    root = folder.root
    if (root / "logseq").is_dir() and ((root / "pages").is_dir() or (root / "journals").is_dir()):
        return "logseq"
    if (root / ".zk").is_dir():
        return "zk"
    if (root / ".obsidian").is_dir():
        return "obsidian"
    # Any program may write one permalink; basic-memory writes one into every note.
    first = [folder.read(path, 2 * 1024 * 1024) for path in folder.note_paths[:_SAMPLE]]
    linked = sum(bool(permalink(raw or b"")) for raw in first)
    return "basic-memory" if first and linked * 2 > len(first) else "markdown"


def _open_file(path: Path, kind: str | None) -> ImportSource:
    try:
        # Reading from a pipe could wait forever.
        if not path.is_file():
            hint = "Pipe it in, and name it -."
            raise SettingsError(f"{path} is not a regular file", hint=hint)
        with path.open("rb") as stream:
            beginning = stream.read(16)
    except OSError as error:
        raise SettingsError(f"cannot read {path}: {error.strerror}") from None
    if beginning == _SQLITE:
        return _open_database(path, kind)
    # A-MEM's own store is a pickle; its first byte is the protocol mark.
    if beginning[:1] == b"\x80" or path.suffix.lower() in (".pkl", ".pickle"):
        raise SettingsError(
            f"{path} is a pickle, which can run code and is not read",
            hint="Write it out as JSON in A-MEM: docs/import-export.md shows how.",
        )
    if path.suffix.lower() in NOTE_ENDINGS:
        raise UsageError(f"{path} is one note", hint=f"Add it: amem add --file {path}")
    if kind == "chroma":
        hint = "Name Chroma's folder, or the chroma.sqlite3 in it."
        raise SettingsError(f"{path} is not a database", hint=hint)
    text = read_text(path)
    kind = kind or _kind_of_text(path, text)
    if kind == "jsonl":
        return json_lines(path, text)
    return json_records(path, parse_json(path, text), kind)


def _open_database(path: Path, kind: str | None) -> ImportSource:
    tables = tables_of(path)
    if kind == "chroma" or (kind is None and "embedding_metadata" in tables):
        return ImportSource("chroma", partial(chroma_notes, path))
    if kind in (None, "mem0") and "history" in tables:
        return ImportSource("mem0", partial(mem0_history_notes, path))
    raise SettingsError(
        f"{path} is a database of another program",
        hint="Chroma's chroma.sqlite3 and mem0's history.db are read.",
    )


def _kind_of_text(path: Path, text: str) -> str:
    """JSON lines, or one document: mem0's if it has mem0's property names, otherwise A-MEM's."""
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
