"""Over the months a vault whose owner takes out wrong links gets fewer of them."""

from __future__ import annotations

import json
from dataclasses import dataclass, field
from datetime import datetime
from itertools import chain
from pathlib import Path
from typing import Any
from zlib import crc32

import pytest

from amem_cli.editing.add import NewNote, add
from amem_cli.editing.edit import link, unlink
from amem_cli.index.sync import embed_missing
from amem_cli.memory.outcome import ProcessSettings
from amem_cli.memory.process import MemoryProcess
from amem_cli.models.ports import ModelAnswer, ModelRequest
from amem_cli.search.read import note_named
from tests.fakes.encoder import FakeEncoder
from tests.vaults import open_vault

pytestmark = pytest.mark.slow

GOLD = Path(__file__).parents[1] / "data/gold/engineer"
NOTES = 36
LOOKS_EVERY = 9
# Characters of a note, so that the test is quick.
LONGEST = 300


def rows(name: str) -> list[dict[str, Any]]:
    return [json.loads(line) for line in (GOLD / name).read_text().splitlines()]


@dataclass
class EagerModel:
    """Links every note that it is shown; of those that belong together it is surer, by and large.

    Attributes:
        pairs: titles of the pairs that belong together.
    """

    pairs: set[frozenset[str]]
    title: str = ""
    name: str = "eager"
    is_remote: bool = False
    requests: list[ModelRequest] = field(default_factory=list)

    def answer(self, request: ModelRequest) -> ModelAnswer:
        self.requests.append(request)
        properties = request.schema["properties"]
        said: dict[str, object] = {name: [] for name in properties}
        lines = request.text.partition("Older notes:")[2].split('"""')[1].strip().splitlines()
        said["links"] = [self._link(line) for line in lines][: properties["links"]["maxItems"]]
        text = json.dumps({name: said[name] for name in properties})
        return ModelAnswer(text, complete=True, prompt_tokens=1, answer_tokens=1, seconds=0.0)

    def _link(self, line: str) -> dict[str, object]:
        label, _, rest = line.partition(" ")
        older = rest.partition(" (20")[0]
        chance = crc32(f"{self.title}|{older}".encode()) % 4 / 10
        right = frozenset((self.title, older)) in self.pairs
        reason = f"{self.title} belongs with {older}."
        strength = round((0.5 if right else 0.3) + chance, 1)
        return {"note": label, "reason": reason, "relation": "related", "strength": strength}

    def close(self) -> None:
        pass


def right_and_made(root: Path, *, learn: bool) -> tuple[int, int]:
    """Of the links of the later half, how many were right, and how many there were."""
    notes = rows("notes.jsonl")[:NOTES]
    titles = {note["id"]: note["title"] for note in notes}
    ends = ((each["source"], each["target"]) for each in rows("links.jsonl"))
    pairs = {frozenset(map(titles.__getitem__, each)) for each in ends if set(each) <= set(titles)}
    ports, encoder, model = open_vault(root), FakeEncoder(), EagerModel(pairs)
    settings = ProcessSettings(trusted=True, learn=learn, evolve=False)
    made: list[list[bool]] = []
    for number, note in enumerate(notes, 1):
        model.title = note["title"]
        path = add(
            ports,
            NewNote(
                note["content"][:LONGEST],
                title=note["title"],
                keywords=note["keywords"],
                tags=note["tags"],
                context=note["context"],
                created=datetime.fromisoformat(note["created"]),
            ),
        )
        embed_missing(ports, encoder)
        outcome = MemoryProcess(ports, encoder, model, settings).run(path, asked=True)
        made.append([frozenset((note["title"], each.title)) in pairs for each in outcome.links])
        if number % LOOKS_EVERY == 0:
            for (source, _), record in ports.index.link_history.records().items():
                one, other = note_named(ports.index, source), note_named(ports.index, record.path)
                decide = link if frozenset((one.title, other.title)) in pairs else unlink
                decide(ports, one, other)
    later = list(chain(*made[NOTES // 2 :]))
    return sum(later), len(later)


def test_an_owner_who_takes_out_wrong_links_gets_surer_ones(tmp_path: Path) -> None:
    without, all_made = right_and_made(tmp_path / "without", learn=False)
    right, made = right_and_made(tmp_path / "with", learn=True)
    assert right / made > 1.3 * without / all_made
    assert right > without / 2
