"""Checks the files of a vault: what cannot be a note, what cannot be read, conflicts, names."""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Iterable, Iterator
from dataclasses import replace

from amem_cli.core.filenames import conflict_copy
from amem_cli.core.resolution import is_linkable
from amem_cli.doctor.finding import Finding, from_problem
from amem_cli.doctor.reading import VaultReading

# What Windows refuses anywhere in a path, and the names that it takes for devices.
_NOT_ON_WINDOWS = re.compile(r'[<>:"\\|?*\x00-\x1f]|[ .](?:/|\Z)')
_DEVICE = re.compile(
    r"(?:\A|/)(?:con|prn|aux|nul|com[0-9¹²³]|lpt[0-9¹²³])(?: *\.[^/]*)?(?=/|\Z)", re.IGNORECASE
)
_LINK_MESSAGE = "symbolic link"
_TEMPLATE_MESSAGE = "the header is a template's"


def file_findings(reading: VaultReading) -> Iterator[Finding]:
    """Files that look like notes but are none, and what cannot be read."""
    for problem in reading.problems:
        if conflict_copy(problem.path.rpartition("/")[2]):
            continue
        if _LINK_MESSAGE in problem.message:
            hint = "Put the note itself into the vault if it shall be a memory."
            yield Finding("files", problem.path, problem.message, hint, severity="notice")
        else:
            unread = problem.message.startswith(("cannot read", "cannot be read"))
            hint = "Check its permissions, and the disk." if unread else "Move it elsewhere."
            yield from_problem("files", problem, hint=hint)


def conflict_findings(reading: VaultReading) -> Iterator[Finding]:
    """Copies that a synchronising program made of a conflict, and conflicts of git in a text."""
    for problem in reading.problems:
        if conflict_copy(problem.path.rpartition("/")[2]):
            yield from_problem("conflicts", problem)
    for path, each in reading.notes.items():
        if each.conflict_line:
            yield Finding(
                "conflicts",
                path,
                "holds a conflict of git's",
                "Keep what is right between <<<<<<< and >>>>>>>, remove the marks, and save.",
                each.conflict_line,
            )


def header_findings(reading: VaultReading) -> Iterator[Finding]:
    """Headers that the program will not write to, and properties that hold something odd."""
    for each in reading.notes.values():
        refused = each.note.refused
        # A conflict in the header is told by the check on conflicts.
        if refused is not None and not each.conflict_line:
            found = from_problem("headers", refused)
            # A template is as it should be, wherever the user keeps it.
            is_template = refused.message == _TEMPLATE_MESSAGE
            yield replace(found, severity="notice") if is_template else found
        for problem in each.note.problems:
            yield from_problem("headers", problem)
        if each.cut:
            message = "is larger than 2 MiB; its beginning is searchable, it is never edited"
            yield Finding("headers", each.note.path, message, "Split the note.")


def name_findings(reading: VaultReading) -> Iterator[Finding]:
    """Names that clash on another system, and names that another system cannot hold."""
    for twins in _clashes(reading.notes):
        others = ", ".join(twins[1:])
        yield Finding(
            "names",
            twins[0],
            f"has the same name as {others} where case or the form of accents does not count",
            "Rename one of them; on Windows or macOS one would replace the other.",
        )
    for path in reading.notes:
        if not is_linkable(path):
            yield Finding(
                "names",
                path,
                "has a name that no link can hold",
                "Rename it without # ^ [ ] | ` and without blanks at its ends.",
            )
        elif _NOT_ON_WINDOWS.search(path) or _DEVICE.search(path.removesuffix(".md")):
            yield Finding(
                "names",
                path,
                "has a name that Windows cannot hold",
                "Rename it if the vault shall ever be opened there.",
                severity="notice",
            )


def _clashes(paths: Iterable[str]) -> Iterator[list[str]]:
    same: dict[str, list[str]] = {}
    for path in paths:
        folded = unicodedata.normalize("NFC", unicodedata.normalize("NFC", path).casefold())
        same.setdefault(folded, []).append(path)
    yield from (sorted(twins) for twins in same.values() if len(twins) > 1)
