"""A model that says again what a capable reader said of the same notes.

A recording is a file `VAULT.jsonl` with a line for each request: `note` (id of the new note),
`shown` (ids of the older notes by label), `said` (the answer), `tokens`. What was said of a note
holds however it is asked for now, so that candidates, checks and thresholds can be measured again
without a model; of a note that the reader was not shown nothing is known, and nothing is said.
"""

from __future__ import annotations

import json
from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path
from typing import Any

from memory_gold import rows
from memory_requests import ScriptedModel
from memory_vault import Step

from amem_cli.models.ports import ModelAnswer, ModelRequest


def write_recording(file: Path, steps: Sequence[Step]) -> None:
    """Keep what a model was asked and what it said, in the order of the notes."""
    told = [
        {"note": step.note, "shown": each.shown, "said": each.said, "tokens": each.tokens}
        for step in steps
        for each in step.exchanges
    ]
    lines = (json.dumps(row, ensure_ascii=False) + "\n" for row in told)
    file.parent.mkdir(parents=True, exist_ok=True)
    file.write_text("".join(lines), encoding="utf-8")


class RecordedModel(ScriptedModel):
    """A capable model, as far as it was recorded.

    Args:
        folder: with a recording for each vault that will be asked about.
    """

    name = "recorded"

    def __init__(self, folder: Path) -> None:
        self._rows: dict[str, list[dict[str, Any]]] = {}
        for file in sorted(folder.glob("*.jsonl")):
            for row in rows(file):
                self._rows.setdefault(row["note"], []).append(row)
        self._asked = 0

    def begin(self, note_id: str, known: Mapping[str, tuple[str, str]]) -> None:
        super().begin(note_id, known)
        self._asked = 0

    def answer(self, request: ModelRequest) -> ModelAnswer:
        self._asked += 1
        return super().answer(request)

    def part(self, name: str, schema: Mapping[str, Any], shown: Mapping[str, str]) -> Any:
        labels = {note: label for label, note in shown.items()}
        told = [row for row in self._rows.get(self.note_id, []) if (row["said"] or {}).get(name)]
        # Asked a second time, a model says what it said then.
        told = told if self._asked == 1 else told[::-1]
        if name not in ("links", "changes"):
            nothing: Any = [] if schema["type"] == "array" else ""
            return told[0]["said"][name] if told and name != "standing" else nothing
        return list(_entries(told, name, labels))[: schema["maxItems"]]


def _entries(
    told: Iterable[Mapping[str, Any]], name: str, labels: Mapping[str, str]
) -> Iterable[dict[str, Any]]:
    """What was said of the notes that are shown now, by their labels of now, each once."""
    seen = set()
    for row in told:
        for entry in row["said"][name]:
            note = row["shown"].get(entry.get("note"))
            if note in labels and note not in seen:
                seen.add(note)
                yield {**entry, "note": labels[note]}
