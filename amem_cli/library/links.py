"""The links of a memory, as a program gives and changes them."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

from amem_cli.core.errors import UsageError
from amem_cli.core.resolution import shortest_target
from amem_cli.core.wikilinks import format_link, parse_link
from amem_cli.library.notes import found_note, links_out
from amem_cli.services.edit import link, unlink

if TYPE_CHECKING:
    from amem_cli.core.index_records import NoteSummary
    from amem_cli.wiring import Workspace

_NOT_IN_A_NAME = str.maketrans("", "", "[]|\n")


def wikilink(workspace: Workspace, given: str) -> str:
    """The link to a note by its id, or to a note of this name that need not be written yet."""
    name = _name(given)
    note = found_note(workspace.index, name)
    if note is not None:
        return format_link(shortest_target(note.path, workspace.index.names))
    return format_link(name.translate(_NOT_IN_A_NAME))


def check_links(workspace: Workspace, summary: NoteSummary, wanted: Sequence[str]) -> None:
    """Refuse links to what is no memory and is not linked already.

    Raises:
        UsageError: there is one.
    """
    present = links_out(workspace.index, summary.path)
    for name in map(_name, wanted):
        if name not in present and found_note(workspace.index, name) is None:
            raise UsageError(f"no memory {name!r} to link to", hint="Give the ids of memories.")


def set_links(workspace: Workspace, summary: NoteSummary, wanted: Sequence[str]) -> None:
    """Make the links of a note's properties those that are wanted; links in its text stay."""
    ports, index = workspace.ports, workspace.index
    names = [_name(each) for each in wanted]
    present = links_out(index, summary.path)
    for key in present:
        target = found_note(index, key)
        if key not in names and target is not None:
            unlink(ports, summary, target)
    for name in names:
        target = found_note(index, name)
        if target is not None and target.path != summary.path and target.key not in present:
            link(ports, summary, target)


def _name(given: str) -> str:
    """What a link names, with or without its brackets."""
    parsed = parse_link(given)
    return parsed.target if parsed is not None else given.strip()
