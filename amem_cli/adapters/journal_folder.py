"""The journal on disk: append-only JSON lines, one file per machine and month."""

from __future__ import annotations

import json
import os
import re
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING

from amem_cli.adapters.atomic_write import sync_folder
from amem_cli.adapters.own_folder import make_own_folder, own_files
from amem_cli.core.errors import Problem, SettingsError
from amem_cli.core.journal_news import JournalFile, JournalNews

if TYPE_CHECKING:
    from amem_cli.core.journal import Event

_MONTH = re.compile(r"\d{4}-\d{2}", re.ASCII)
# Two versions of a note of 2 MiB, each character of which JSON writes as six.
MAX_LINE_BYTES = 32 * 1024 * 1024


class JournalFolder:
    """Reads every machine's journal, appends to this machine's own.

    Args:
        folder: the vault's `.amem/journal`.
        machine: a short name of this machine, for the file name.
    """

    def __init__(self, folder: Path, machine: str) -> None:
        self._folder = folder
        self._machine = machine

    def append(self, events: Sequence[Event]) -> None:
        """Add events durably, as whole lines.

        Raises:
            SettingsError: the journal cannot be written.
        """
        if not events:
            return
        month = events[0].time[:7]
        if not _MONTH.fullmatch(month):
            raise SettingsError(f"{month!r} is no month to keep events in")
        from amem_cli.core.journal import to_record

        path = self._folder / f"{month}-{self._machine}.jsonl"
        lines = [json.dumps(to_record(event), ensure_ascii=False) for event in events]
        data = "".join(f"{line}\n" for line in lines).encode()
        try:
            created = not path.exists()
            make_own_folder(self._folder)
            flags = os.O_RDWR | os.O_APPEND | os.O_CREAT | getattr(os, "O_NOFOLLOW", 0)
            handle = os.open(path, flags | getattr(os, "O_BINARY", 0), 0o644)
            with os.fdopen(handle, "r+b", buffering=0) as stream:
                stream.write(_line_break_after(stream.seek(0, os.SEEK_END), path) + data)
                os.fsync(stream.fileno())
            if created:
                sync_folder(self._folder)
        except OSError as error:
            raise SettingsError(
                f"cannot write the journal: {error.strerror}",
                hint="Check space and permissions of .amem/journal.",
            ) from error

    def read_new(self, positions: Mapping[str, str], problems: list[Problem]) -> JournalNews:
        """Events beyond the known positions."""
        try:
            paths = list(own_files(self._folder, "*.jsonl"))
        except OSError as error:
            problems.append(Problem(".amem/journal", 0, f"cannot be read: {error.strerror}"))
            return JournalNews()
        told: list[Problem] = []
        try:
            if not positions.keys() <= {path.name for path in paths}:
                raise _KnownPartChanged
            news = JournalNews(self._all_news(paths, positions, told))
        except _KnownPartChanged:
            told = []
            news = JournalNews(self._all_news(paths, {}, told), restarted=True)
        problems.extend(told)
        return news

    def _all_news(
        self, paths: Sequence[Path], positions: Mapping[str, str], problems: list[Problem]
    ) -> tuple[JournalFile, ...]:
        found = []
        for path in paths:
            try:
                news = self._news(path, positions.get(path.name, ""), problems)
            except OSError as error:
                place = f".amem/journal/{path.name}"
                problems.append(Problem(place, 0, f"cannot be read: {error.strerror}"))
            else:
                found += [news] if news else []
        return tuple(found)

    def _news(self, path: Path, known: str, problems: list[Problem]) -> JournalFile | None:
        state, offset, digest = _position(known)
        status = path.stat()
        now = f"{status.st_size} {status.st_mtime_ns} {status.st_ctime_ns} {status.st_ino}"
        if now == state:
            return None
        import hashlib

        data = path.read_bytes()
        if known and hashlib.sha256(data[:offset]).hexdigest() != digest:
            raise _KnownPartChanged
        end = data.rfind(b"\n") + 1
        events = self._read(path.name, data[:end], offset, problems)
        if end < len(data):
            place, line = f".amem/journal/{path.name}", data.count(b"\n") + 1
            problems.append(Problem(place, line, "the last line is torn; it was skipped"))
        position = f"{now}|{end}|{hashlib.sha256(data[:end]).hexdigest()}"
        return JournalFile(path.name, position, tuple(events))

    def _read(self, name: str, data: bytes, start: int, problems: list[Problem]) -> list[Event]:
        from amem_cli.core.journal import from_record

        events = []
        first_line = data.count(b"\n", 0, start) + 1
        for number, line in enumerate(data[start:].split(b"\n"), first_line):
            if not line.strip():
                continue
            try:
                if len(line) > MAX_LINE_BYTES:
                    raise ValueError("the line is too long")
                record = json.loads(line)
                if not isinstance(record, dict):
                    raise ValueError("not an object")
                events.append(from_record(record))
            except (ValueError, RecursionError) as error:
                place = f".amem/journal/{name}"
                problems.append(Problem(place, number, f"unreadable journal line: {error}"))
        return events


class _KnownPartChanged(Exception):
    """A file is not a continuation of what was known of it."""


def _position(text: str) -> tuple[str, int, str]:
    parts = text.split("|")
    if len(parts) != 3 or not parts[1].isdecimal():
        return "", 0, ""
    return parts[0], int(parts[1]), parts[2]


def _line_break_after(size: int, path: Path) -> bytes:
    """A line break where a killed write left the last line without one."""
    if size == 0:
        return b""
    with path.open("rb") as stream:
        stream.seek(size - 1)
        return b"" if stream.read(1) == b"\n" else b"\n"
