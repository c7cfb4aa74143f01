"""What a watcher reports, and its status after that."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any, Literal

from amem_cli.errors import AmemError
from amem_cli.memory.outcome import Outcome

if TYPE_CHECKING:
    from amem_cli.workspace.watch_lock import WatchStatus

WatchEventKind = Literal[
    "watching", "noticed", "embedding", "searchable", "thinking", "learned", "waiting", "followed",
    "committed", "settings", "trouble", "well", "asking", "stopped",
]  # fmt: skip


@dataclass(frozen=True, slots=True)
class WatchEvent:
    """Something that happened while watching.

    Attributes:
        text: one line for a person.
        detail: the same for a program, ready for JSON.
        result: the `SyncReport` or `Outcome` behind it, if there is one.
    """

    kind: WatchEventKind
    text: str
    detail: dict[str, Any]
    result: Any = None


def reason_of(error: Exception) -> str:
    """Why something failed, in one line."""
    return error.message if isinstance(error, AmemError) else f"{type(error).__name__}: {error}"


def status_after(status: WatchStatus, event: WatchEvent) -> WatchStatus:
    """The watcher's status after an event."""
    changes: dict[str, Any] = _state_after(status, event)
    if "trouble" in event.detail:
        changes["trouble"] = event.text if event.detail["trouble"] else ""
    if isinstance(event.result, Outcome):
        use = event.result.use
        changes.update(
            learned=status.learned + (event.kind == "learned"),
            links=status.links + len(event.result.links),
            evolved=status.evolved + len(event.result.evolved),
            tokens=status.tokens + use.prompt_tokens + use.answer_tokens,
        )
    return replace(status, **changes)


def _state_after(status: WatchStatus, event: WatchEvent) -> dict[str, Any]:
    kind, detail = event.kind, event.detail
    quiet = {"state": "watching", "doing": "", "reason": ""}
    if kind == "asking":
        return {"state": "asking", "doing": "", "reason": event.text}
    if kind == "stopped":
        return {**quiet, "state": "stopping"}
    # A question stays until no note is missing any more, whatever else happens.
    if status.state == "asking" and detail.get("missing") != 0:
        return {}
    if kind == "embedding":
        return {} if status.doing else {"state": "embedding", "reason": event.text}
    if kind == "thinking":
        return {"state": "thinking", "doing": detail["path"], "reason": ""}
    if kind == "waiting" and event.result is None:
        return {"state": "resting", "doing": "", "reason": detail["reason"]}
    if kind == "trouble" and "trouble" not in detail:
        return {"state": "failing", "doing": "", "reason": event.text}
    if kind in ("learned", "watching", "well", "waiting"):
        return quiet
    ended = status.state == "failing" or (status.state == "embedding" and kind == "searchable")
    return quiet if ended and kind in ("noticed", "searchable", "settings") else {}
