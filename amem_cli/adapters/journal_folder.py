"""The journal on disk: append-only JSON lines, one file per machine and month."""

from __future__ import annotations

import hashlib
import json
import os
from collections.abc import Mapping, Sequence
from pathlib import Path

from amem_cli.adapters.atomic_write import sync_folder
from amem_cli.core.errors import Problem, SettingsError
from amem_cli.core.journal import Event, from_record, to_record

MAX_LINE_BYTES = 4 * 1024 * 1024


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
        path = self._folder / f"{events[0].time[:7]}-{self._machine}.jsonl"
        lines = [json.dumps(to_record(event), ensure_ascii=False) for event in events]
        data = "".join(f"{line}\n" for line in lines).encode()
        try:
            created = not path.exists()
            self._folder.mkdir(parents=True, exist_ok=True)
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

    def read_new(
        self, positions: Mapping[str, str], problems: list[Problem]
    ) -> list[tuple[str, str, list[Event]]]:
        """Events beyond the known positions, by file: (file name, new position, events).

        A file whose known part changed, as a merge does, is given whole again.
        """
        found = []
        for path in sorted(self._folder.glob("*.jsonl")) if self._folder.is_dir() else []:
            if path.is_symlink() or not path.is_file():
                continue
            known = positions.get(path.name, "")
            size, mtime, offset, digest = _position(known)
            status = path.stat()
            if (status.st_size, status.st_mtime_ns) == (size, mtime):
                continue
            data = path.read_bytes()
            start = offset if hashlib.sha256(data[:offset]).hexdigest() == digest else 0
            end = data.rfind(b"\n") + 1
            events = self._read(path.name, data[:end], start, problems)
            if end < len(data):
                line = data.count(b"\n") + 1
                problems.append(
                    Problem(
                        f".amem/journal/{path.name}", line, "the last line is torn; it was skipped"
                    )
                )
            digest = hashlib.sha256(data[:end]).hexdigest()
            position = f"{status.st_size} {status.st_mtime_ns} {end} {digest}"
            found.append((path.name, position, events))
        return found

    def _read(self, name: str, data: bytes, start: int, problems: list[Problem]) -> list[Event]:
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


def _position(text: str) -> tuple[int, int, int, str]:
    parts = text.split(" ")
    if len(parts) != 4:
        return -1, -1, 0, ""
    return int(parts[0]), int(parts[1]), int(parts[2]), parts[3]


def _line_break_after(size: int, path: Path) -> bytes:
    """A line break where a killed write left the last line without one."""
    if size == 0:
        return b""
    with path.open("rb") as stream:
        stream.seek(size - 1)
        return b"" if stream.read(1) == b"\n" else b"\n"
