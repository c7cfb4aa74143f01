"""Files of records as places to import from: JSON lines, and the JSON of other programs."""

from __future__ import annotations

import json
import os
import stat
from collections.abc import Callable, Iterator, Mapping
from pathlib import Path
from typing import Any

from amem_cli.core.errors import Problem, SettingsError
from amem_cli.core.import_port import SourceNote
from amem_cli.core.json_lines import read_line, read_record
from amem_cli.core.memory_records import amem_note, amem_records, mem0_note, mem0_records

MAX_JSON_BYTES = 1024 * 1024 * 1024

_Reading = Callable[[Mapping[str, Any], str, int], SourceNote]


class RecordSource:
    """What files of records have in common: there is nothing beside the records."""

    kind = "jsonl"
    others: tuple[str, ...] = ()

    def __init__(self, path: Path) -> None:
        self.path = path

    @property
    def identity(self) -> str:
        """Ids of records tell by themselves where they are from."""
        return self.kind

    def size_of(self, path: str) -> int | None:
        """There are no other files."""
        return None

    def read_other(self, path: str) -> bytes | None:
        """There are no other files."""
        return None

    def _taken(
        self, read: _Reading, record: object, place: str, number: int, problems: list[Problem]
    ) -> Iterator[SourceNote]:
        """The record as a note, or none where it cannot be one, which is told."""
        if not isinstance(record, Mapping):
            problems.append(Problem(place, number, "not a JSON object"))
            return
        try:
            yield read(record, place, number)
        except ValueError as error:
            problems.append(Problem(place, number, str(error)))


class JsonLines(RecordSource):
    """JSON lines, of a file or of standard input.

    Args:
        text: the lines.
    """

    def __init__(self, path: Path, text: str) -> None:
        super().__init__(path)
        self._lines = text.split("\n")

    def notes(self, problems: list[Problem]) -> Iterator[SourceNote]:
        """A note for each line; a line that cannot be one is told."""
        for number, line in enumerate(self._lines, 1):
            if not line.strip():
                continue
            try:
                yield read_line(line, str(self.path), number)
            except ValueError as error:
                problems.append(Problem(str(self.path), number, str(error)))


class JsonRecords(RecordSource):
    """One JSON document of records.

    Args:
        kind: `amem` or `mem0`.
    """

    def __init__(self, path: Path, document: object, kind: str) -> None:
        super().__init__(path)
        self.kind = kind
        self._document = document

    def notes(self, problems: list[Problem]) -> Iterator[SourceNote]:
        """A note for each record, in their order; the line in messages is the record's number."""
        records, read = (
            (mem0_records, mem0_note) if self.kind == "mem0" else (amem_records, amem_note)
        )
        for number, record in enumerate(records(self._document), 1):
            # What `amem export --json` prints is one document too.
            is_own = isinstance(record, Mapping) and "path" in record and "content" in record
            taken = read_record if is_own else read
            yield from self._taken(taken, record, str(self.path), number, problems)
        entities = self._document.get("relations") if isinstance(self._document, Mapping) else None
        if self.kind == "mem0" and isinstance(entities, list) and entities:
            text = f"{len(entities)} relations between entities are no memories and are not taken"
            problems.append(Problem(str(self.path), 0, text))


def read_text(path: Path, *, limit: int = MAX_JSON_BYTES) -> str:
    """A whole file as text.

    Raises:
        SettingsError: it cannot be read, is too large or not UTF-8.
    """
    try:
        handle = os.open(path, os.O_RDONLY | getattr(os, "O_NONBLOCK", 0))
        with os.fdopen(handle, "rb") as stream:
            is_odd = not stat.S_ISREG(os.fstat(handle).st_mode)
            raw = b"" if is_odd else stream.read(limit + 1)
    except OSError as error:
        reason = error.strerror or str(error)
        hint = "Name a file, a folder, or - for JSON lines on stdin."
        raise SettingsError(f"cannot read {path}: {reason}", hint=hint) from None
    if is_odd:
        raise SettingsError(f"{path} is not a regular file", hint="Pipe it in, and name it -.")
    if len(raw) > limit:
        raise SettingsError(f"{path} is larger than 1 GiB", hint="Split it.")
    try:
        return raw.decode("utf-8-sig")
    except UnicodeDecodeError:
        raise SettingsError(f"{path} is not UTF-8", hint="Save it as UTF-8.") from None


def parse_json(path: Path, text: str) -> object:
    """A JSON document.

    Raises:
        SettingsError: it is none, or nested too deep.
    """
    try:
        return json.loads(text)
    except RecursionError:
        raise SettingsError(f"{path} is nested too deep to be read") from None
    except json.JSONDecodeError as error:
        raise SettingsError(f"{path}:{error.lineno} is not JSON: {error}") from None
    except ValueError:
        # Python reads no number of thousands of digits.
        raise SettingsError(f"{path} holds a number that is too long to be read") from None
