"""Makes the vaults that questions are put to, a note a turn, with amem's own memory process."""

from __future__ import annotations

import shutil
import sys
from collections.abc import Mapping
from dataclasses import replace
from typing import Any

from locomo_data import Conversation, Turn
from locomo_results import Breaker, LineLog, Results
from memory_vault import Design, OpenVault, process

from amem_cli.editing.add import NewNote
from amem_cli.index.sync import synchronise
from amem_cli.models.ports import Encoder

# Kinds of memory: with all of the process, without evolution, and the turns as they are.
FULL, NO_EVOLUTION, RAW = "full", "no-evolution", "raw"
WITHOUT_EVOLUTION = {"evolution_mode": "off"}


def remembered(
    results: Results, conversation: Conversation, memory: str, design: Design, encoder: Encoder
) -> OpenVault:
    """The vault of a conversation, made or made further, every turn processed.

    Raises:
        SystemExit: the model fails again and again.
    """
    log, root = results.notes(conversation.name, memory), results.vault(conversation.name, memory)
    if not log.rows or not root.exists():
        # One without the other tells nothing.
        shutil.rmtree(root, ignore_errors=True)
        log = log.emptied()
    if memory == NO_EVOLUTION:
        design = replace(design, overrides={**design.overrides, **WITHOUT_EVOLUTION})
    root.parent.mkdir(parents=True, exist_ok=True)
    vault = OpenVault(root, design, encoder)
    _take_up(vault, log)
    breaker = Breaker(log)
    done = {row["turn"] for row in log.rows if "calls" in row}
    for at, turn in enumerate(conversation.turns, 1):
        if turn.id not in vault.path_of:
            path = vault.add(turn.id, NewNote(turn.text, title=turn.title, created=turn.created))
            log.write({"turn": turn.id, "path": path})
        if memory == RAW or turn.id in done:
            continue
        row, why = _processed(vault, turn)
        breaker.write(row, failed=bool(why), why=why)
        if at % 20 == 0:
            print(f"{conversation.name}, {memory}: {at} notes", file=sys.stderr)
    breaker.flush()
    return vault


def _take_up(vault: OpenVault, log: LineLog) -> None:
    """Go on with the notes of an earlier run; one that it did not come to tell of is removed."""
    for row in log.rows:
        if "path" in row:
            vault.path_of[row["turn"]], vault.id_of[row["path"]] = row["path"], row["turn"]
    strange = [
        each.path
        for each in vault.workspace.index.notes.summaries()
        if each.path not in vault.id_of
    ]
    for path in strange:
        (vault.workspace.root / path).unlink()
    if strange:
        synchronise(vault.workspace.ports)


def _processed(vault: OpenVault, turn: Turn) -> tuple[Mapping[str, Any], str]:
    """What a note cost, and why the model failed, where it did."""
    vault.clock.present = turn.created.astimezone()
    step = process(vault, turn.id)
    use, outcome = step.outcome.use, step.outcome
    row = {
        "turn": turn.id,
        "calls": use.calls,
        "prompt_tokens": use.prompt_tokens,
        "answer_tokens": use.answer_tokens,
        "model_seconds": round(use.seconds, 3),
        "seconds": round(step.seconds, 3),
        "links": len(outcome.links),
        "evolved": len(outcome.evolved),
        "pending": outcome.pending,
    }
    return row, (outcome.problems or ("no answer",))[0] if outcome.failed else ""
