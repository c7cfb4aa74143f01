"""Lists for other programs: a row per note in a form that the user gives, or paths alone."""

from __future__ import annotations

import re
import sys
from collections.abc import Callable
from typing import TYPE_CHECKING

from amem_cli.errors import UsageError
from amem_cli.language.safe_text import printable

if TYPE_CHECKING:
    from amem_cli.index.records import NoteSummary

_FIELDS: dict[str, Callable[[NoteSummary], str]] = {
    "path": lambda note: note.path,
    "title": lambda note: _on_a_line(note.title),
    "id": lambda note: note.id or "",
    "created": lambda note: note.made,
    "modified": lambda note: note.modified,
    "tags": lambda note: _on_a_line(" ".join(note.tags)),
    "keywords": lambda note: _on_a_line(", ".join(note.keywords)),
    "aliases": lambda note: _on_a_line(", ".join(note.aliases)),
    "context": lambda note: _on_a_line(note.context),
}
_SIGNS = {"\\t": "\t", "\\n": "\n", "\\0": "\0", "\\\\": "\\"}
_PART = re.compile(r"\\[tn0\\]|\{(\w*)\}")


def row_maker(form: str) -> Callable[[NoteSummary], str]:
    r"""What makes a note's row of a form such as `{path}\t{title}`, with its end.

    A row ends with a line break unless the form itself ends with `\n` or `\0`.

    Raises:
        UsageError: a field is unknown.
    """
    for match in _PART.finditer(form):
        if match[1] is not None and match[1] not in _FIELDS:
            raise UsageError(
                f"--format has no field {match[0]}",
                hint=f"Fields: {' '.join('{' + name + '}' for name in _FIELDS)}.",
            )
    end = "" if form.endswith(("\\n", "\\0")) else "\n"

    def row(note: NoteSummary) -> str:
        def part(match: re.Match[str]) -> str:
            return _SIGNS[match[0]] if match[1] is None else _FIELDS[match[1]](note)

        return _PART.sub(part, form) + end

    return row


def write_rows(text: str) -> None:
    """Write rows as they are; on a terminal, without what would steer it."""
    sys.stdout.write(printable(text) if sys.stdout.isatty() else text)


def _on_a_line(text: str) -> str:
    return " ".join(text.replace("\0", " ").split())
