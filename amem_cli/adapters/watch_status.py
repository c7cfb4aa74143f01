"""What a watcher tells of itself in a file."""

from __future__ import annotations

from dataclasses import dataclass, fields
from datetime import datetime
from typing import Any, Literal, get_args

WatchState = Literal[
    "starting", "embedding", "watching", "thinking", "resting", "asking", "failing", "stopping"
]

_LONGEST_TEXT = 4096


@dataclass(frozen=True, slots=True)
class WatchStatus:
    """What a watcher is doing.

    Attributes:
        machine: name of the computer.
        started: when the watcher began, ISO 8601 in UTC.
        doing: path of the note that is thought about, or empty.
        pending: notes that wait for the memory process.
        notes: notes in the vault.
        reason: why it rests, what it asks, how far it is, or what failed just now; or empty.
        trouble: why changes may go unseen for as long as it says so; or empty.
        learned: notes processed since it began.
        links: links written since it began.
        evolved: older notes changed since it began.
        tokens: tokens of the model since it began.
    """

    pid: int
    machine: str
    started: str
    state: WatchState = "starting"
    doing: str = ""
    pending: int = 0
    notes: int = 0
    reason: str = ""
    trouble: str = ""
    learned: int = 0
    links: int = 0
    evolved: int = 0
    tokens: int = 0


def status_of(record: Any) -> WatchStatus:
    """A status as a file holds it.

    Raises:
        ValueError, KeyError, TypeError: it is none.
    """
    values: dict[str, Any] = {}
    for each in fields(WatchStatus):
        value = record[each.name]
        if type(value) is not (int if each.type == "int" else str):
            raise ValueError(f"{each.name} is of the wrong kind")
        values[each.name] = _plain(value) if isinstance(value, str) else max(0, value)
    if values["state"] not in get_args(WatchState) or not 1 < values["pid"] < 2**31:
        raise ValueError("it is no status of a watcher")
    datetime.fromisoformat(values["started"])
    return WatchStatus(**values)


def _plain(text: str) -> str:
    return "".join(letter for letter in text[:_LONGEST_TEXT] if letter.isprintable())
