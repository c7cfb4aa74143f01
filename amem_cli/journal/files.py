"""The journal on disk: append-only JSON lines by machine and month."""

from __future__ import annotations

import json
import os
import re
import threading
from collections.abc import Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

from amem_cli.errors import Problem, SettingsError
from amem_cli.system.files import NO_LINK, PLAIN
from amem_cli.vault.dir_handle import make_own_folder, own_files
from amem_cli.vault.safe_write import sync_folder

if TYPE_CHECKING:
    from io import FileIO

    from amem_cli.journal.events import Event

_MONTH = re.compile(r"\d{4}-\d{2}", re.ASCII)
# Two versions of a note of 2 MiB, with six bytes in JSON for each character.
MAX_LINE_BYTES = 32 * 1024 * 1024


@dataclass(frozen=True, slots=True)
class JournalFile:
    """The new events of a journal file.

    Attributes:
        position: up to where the file is known once the events are stored.
    """

    name: str
    position: str
    events: tuple[Event, ...]


@dataclass(frozen=True, slots=True)
class JournalNews:
    """New events of all journal files.

    Attributes:
        restarted: a known part has changed or is gone, for instance because git checked out an
            older version. The former events are void, the files are given whole.
    """

    files: tuple[JournalFile, ...] = ()
    restarted: bool = False


@dataclass(slots=True)
class _Followed:
    """A file to which only this process has written since it was read to its end.

    Attributes:
        state: the file's known size, times and inode.
        digest: running SHA-256 of the whole file.
        read_to: how far it was read, the digest up to there, and the number of lines.
    """

    state: str
    digest: Any
    read_to: tuple[int, str, int]


class JournalFolder:
    """Reads the journals of all machines, appends to this machine's.

    After its own additions it reads only those, not the whole file.
    """

    def __init__(self, folder: Path, machine: str) -> None:
        self._folder = folder
        self._machine = machine
        self._followed: dict[str, _Followed] = {}
        # A watcher reads in one thread what it adds in another.
        self._following = threading.Lock()

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
        from amem_cli.journal.events import to_record

        # No two machines write to one file, so git merges journals without conflicts.
        path = self._folder / f"{month}-{self._machine}.jsonl"
        lines = [json.dumps(to_record(event), ensure_ascii=False) for event in events]
        data = "".join(f"{line}\n" for line in lines).encode()
        try:
            created = not path.exists()
            make_own_folder(self._folder)
            # In somebody else's vault a link here would lead the writing out of the vault.
            flags = os.O_RDWR | os.O_APPEND | os.O_CREAT | NO_LINK | PLAIN
            handle = os.open(path, flags, 0o644)
            with os.fdopen(handle, "r+b", buffering=0) as stream:
                before = _state(os.fstat(stream.fileno()))
                # A killed write may have left the last line without its end.
                if _size(before):
                    stream.seek(-1, os.SEEK_END)
                    data = data if stream.read(1) == b"\n" else b"\n" + data
                _write_durably(stream, data, _size(before))
                self._follow(path.name, before, data, _state(os.fstat(stream.fileno())))
            # Without this a power cut may lose the name of the new file, and so all of it.
            if created:
                sync_folder(self._folder)
        except OSError as error:
            raise SettingsError(
                f"cannot write the journal: {error.strerror}",
                hint="Check space and permissions of .amem/journal.",
            ) from error

    def _follow(self, name: str, before: str, data: bytes, state: str) -> None:
        with self._following:
            followed = self._followed.get(name)
            grown = _size(state) - _size(before)
            if followed is not None and followed.state == before and grown == len(data):
                followed.digest.update(data)
                followed.state = state
            else:
                self._followed.pop(name, None)

    def read_new(self, positions: Mapping[str, str], problems: list[Problem]) -> JournalNews:
        """Events beyond the known positions, by file name; adds unreadable parts to `problems`."""
        try:
            paths = list(own_files(self._folder, "*.jsonl"))
        except OSError as error:
            problems.append(Problem(".amem/journal", 0, f"cannot be read: {error.strerror}"))
            return JournalNews()
        unreadable: list[Problem] = []
        try:
            if not positions.keys() <= {path.name for path in paths}:
                raise _KnownPartChanged
            news = JournalNews(self._all_news(paths, positions, unreadable))
        except _KnownPartChanged:
            # All is read again, and every problem would be reported twice.
            unreadable = []
            news = JournalNews(self._all_news(paths, {}, unreadable), restarted=True)
        problems.extend(unreadable)
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
        now = _state(path.stat())
        if now == state:
            return None
        import hashlib

        with self._following:
            followed = self._followed.pop(path.name, None)
            if followed and (followed.state, followed.read_to[:2]) == (now, (offset, digest)):
                # Only this process has added to the file, so its known part is as it was.
                with path.open("rb") as stream:
                    stream.seek(offset)
                    data = stream.read(_size(now) - offset)
                end, whole, before = offset + len(data), followed.digest, followed.read_to[2]
                torn, is_current = False, True
            else:
                data = path.read_bytes()
                if known and hashlib.sha256(data[:offset]).hexdigest() != digest:
                    raise _KnownPartChanged
                # The position ends before a torn line: another process may be writing it.
                end, before = data.rfind(b"\n") + 1, data.count(b"\n", 0, offset)
                whole, torn = hashlib.sha256(data[:end]), end < len(data)
                is_current = _state(path.stat()) == now and len(data) == _size(now)
                data = data[offset:end]
            events = self._read(path.name, data, before, problems)
            lines = before + data.count(b"\n")
            if torn:
                place = f".amem/journal/{path.name}"
                problems.append(Problem(place, lines + 1, "the last line is torn; it was skipped"))
            elif is_current:
                read_to = (end, whole.hexdigest(), lines)
                self._followed[path.name] = _Followed(now, whole, read_to)
            return JournalFile(path.name, f"{now}|{end}|{whole.hexdigest()}", tuple(events))

    def _read(self, name: str, data: bytes, before: int, problems: list[Problem]) -> list[Event]:
        """The events in lines that follow `before` others."""
        from amem_cli.journal.events import from_record

        events = []
        for number, line in enumerate(data.split(b"\n"), before + 1):
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
    """A file no longer begins with its known part."""


def _position(text: str) -> tuple[str, int, str]:
    parts = text.split("|")
    if len(parts) != 3 or not parts[1].isdecimal():
        return "", 0, ""
    return parts[0], int(parts[1]), parts[2]


def _state(status: os.stat_result) -> str:
    return f"{status.st_size} {status.st_mtime_ns} {status.st_ctime_ns} {status.st_ino}"


def _size(state: str) -> int:
    return int(state.partition(" ")[0])


def _write_durably(stream: FileIO, data: bytes, size: int) -> None:
    """Append all data or none: half of a change's events would count as all of them."""
    try:
        rest = data
        while rest:
            rest = rest[stream.write(rest) :]
        os.fsync(stream.fileno())
    except OSError:
        with suppress(OSError):
            stream.truncate(size)
        raise
