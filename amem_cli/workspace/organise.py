"""Agents that organise a vault themselves: the questions that they get, and what they answer."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import replace
from typing import TYPE_CHECKING

from amem_cli.memory.agent import (
    NoQuestion,
    Organised,
    Question,
    next_questions,
    notes_to_organise,
    organise,
)
from amem_cli.memory.outcome import ModelTrust

if TYPE_CHECKING:
    from amem_cli.index.records import NoteSummary
    from amem_cli.memory.process import MemoryProcess
    from amem_cli.workspace.workspace import Workspace


def waiting_for_agent(workspace: Workspace, *, everything: bool) -> list[str]:
    """Paths of the notes that an agent may organise; see `memory.agent.notes_to_organise`.

    Private notes are never among them, whatever the caller sees.
    """
    private = workspace.index.notes.private_paths()
    paths = notes_to_organise(workspace.index, everything=everything)
    return [path for path in paths if path not in private]


@contextmanager
def questions_about(
    workspace: Workspace, paths: list[str], *, asked: bool = False
) -> Iterator[Iterator[Question | NoQuestion]]:
    """The questions about these notes, worked out one by one; nothing is written.

    Args:
        asked: somebody named the notes.
    """
    if paths:
        workspace.embed_missing()
    yield next_questions(_process(workspace), paths, agent_name(workspace), asked=asked)


def organise_by_agent(
    workspace: Workspace,
    answers: Mapping[str, Mapping[str, str]],
    *,
    final: bool,
) -> list[Organised]:
    """Write what comes of an agent's answers; see `memory.agent.organise`.

    Args:
        answers: by path and ticket, as JSON.
    """
    workspace.follow_renames(unless_done=True)
    workspace.embed_missing()
    caller, name = workspace.caller_now, agent_name(workspace)
    with workspace.model_at_work():
        results = organise(_process(workspace), answers, name, final=final, begin=caller.step)
    return [
        replace(each, outcome=each.outcome and workspace.visible_outcome(each.outcome))
        for each in results
    ]


def agent_name(workspace: Workspace) -> str:
    """The agent as the journal names it where it names a model."""
    return f"{workspace.caller_now.client or 'an agent'} over MCP"


def named_note(workspace: Workspace, name: str) -> NoteSummary:
    """The note of this name.

    Raises:
        NotFoundError: there is none that the caller sees, or more than one.
        UsageError: it is private.
    """
    from amem_cli.errors import UsageError

    note = workspace.note(name)
    if note.private:
        raise UsageError(f"{note.title!r} is private", hint="No agent organises private notes.")
    return note


def _process(workspace: Workspace) -> MemoryProcess:
    return workspace.process_with(None, ModelTrust("all"))
