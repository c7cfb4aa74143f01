"""A model that takes several requests at once is asked about several notes, with the same results."""

from __future__ import annotations

import json
import os
import re
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import pytest

from amem_cli.errors import BudgetSpent, ModelClosed, ModelError
from amem_cli.index.memory_index import VaultPorts
from amem_cli.index.sync import embed_missing, synchronise
from amem_cli.memory.batch import EvolveBatch
from amem_cli.memory.outcome import ProcessSettings
from amem_cli.memory.process import MemoryProcess
from amem_cli.models.openai_server import OpenAIServerModel
from amem_cli.models.ports import LanguageModel, ModelAnswer, ModelRequest
from tests.fakes.chat_server import ChatServer
from tests.fakes.encoder import FakeEncoder
from tests.fakes.language_model import EchoSchemaModel
from tests.vaults import open_vault, write_note

TOPICS = (
    "Walrus colonies rest on drifting ice floes near Svalbard",
    "Sourdough bread wants a long cold proof in the fridge",
    "Postgres vacuum cannot remove dead tuples under old snapshots",
    "Bicycle chains last longer with hot paraffin wax",
    "Mozart wrote the Jupiter symphony within six weeks",
    "Granite weathers slowly because quartz resists acid rain",
    "Chess openings teach principles better than memorised lines",
    "Tomato seedlings stretch without bright light overhead",
)


def vault_of(root: Path, texts: list[str]) -> VaultPorts:
    for number, text in enumerate(texts):
        path = write_note(root, f"n{number:02}.md", f"{text}.\n")
        os.utime(path, (1_000_000 + number, 1_000_000 + number))
    return open_vault(root)


def batch_of(
    ports: VaultPorts, model: LanguageModel, *, trusted: bool = True, parallel: int | None = None
) -> EvolveBatch:
    synchronise(ports)
    encoder = FakeEncoder()
    embed_missing(ports, encoder)
    process = MemoryProcess(ports, encoder, model, ProcessSettings(trusted=trusted))
    return EvolveBatch(process, ports.index.queue.unprocessed(), parallel=parallel)


def answer_to(body: dict[str, Any]) -> str:
    """What a capable model might say, by nothing but the note's own words and the titles shown."""
    text = body["messages"][1]["content"]
    properties = body["response_format"]["json_schema"]["schema"]["properties"]
    note = re.findall(r'"""\n(.*?)\n"""', text, re.DOTALL)[-1]
    shown = re.findall(r"^(n\d+) ([^|:(]+)", text, re.MULTILINE)
    own = set(note.lower().split())
    near = [(name, title) for name, title in shown if len(own & set(title.lower().split())) > 1]
    words = [word for word in note.strip(".").split() if len(word) > 5]
    links = [
        {
            "note": name,
            "reason": f"Both are about {sorted(own & set(title.lower().split()), key=len)[-1]}.",
            "relation": "related",
            "strength": 0.8,
        }
        for name, title in near
    ]
    answer = {
        "context": f"It is noted here that {note[0].lower()}{note[1:]}",
        "phrases": ["k1", "k2"],
        "keywords": words[:2],
        "tags": [],
        "new_tags": [words[0].lower()],
        "links": links,
        "changes": [],
        "standing": [],
    }
    return json.dumps({name: answer[name] for name in properties})


class Gate:
    """Lets a server answer only when so many requests have come together, or no more will come."""

    def __init__(self, together: int) -> None:
        self.most, self._here, self._together = 0, 0, together
        self._changed = threading.Condition()
        self._open_until = 0

    def __call__(self, body: dict[str, Any]) -> str:
        with self._changed:
            self._here += 1
            self.most = max(self.most, self._here)
            self._changed.notify_all()
            # The last notes of a run are fewer, so nobody waits for long.
            self._changed.wait_for(lambda: self._here >= self._together, timeout=0.2)
            self._changed.notify_all()
        try:
            return answer_to(body)
        finally:
            with self._changed:
                self._here -= 1


@contextmanager
def server_model(
    content: Callable[[dict[str, Any]], str], parallel: int
) -> Iterator[tuple[ChatServer, OpenAIServerModel]]:
    with ChatServer() as server:
        server.content = content
        model = OpenAIServerModel(server.url, "m", parallel=parallel)
        yield server, model
        model.close()


def without_ids_and_times(root: Path) -> dict[str, str]:
    found = {}
    for path in sorted(root.glob("*.md")):
        found[path.name] = re.sub(r'"?\d{14}[0-9a-z]*"?', "ID", path.read_text())
    return found


def evolve(root: Path, texts: list[str], parallel: int, together: int) -> tuple[Gate, int]:
    ports = vault_of(root, texts)
    gate = Gate(together)
    with server_model(gate, parallel) as (server, model):
        outcomes = list(batch_of(ports, model).outcomes())
        asked = len(server.requests)
    assert [each.path for each in outcomes] == sorted(each.path for each in outcomes)
    assert not any(each.pending or each.failed for each in outcomes)
    return gate, asked


def related_texts() -> list[str]:
    """Notes of which some are related with the one before, and others with one long before."""
    return [
        *TOPICS,
        "Walrus colonies leave the ice floes when the ice floes near Svalbard melt",
        "Sourdough bread from a cold proof keeps for a week",
        "Sourdough bread of rye wants a longer cold proof",
        "Bicycle chains with paraffin wax stay clean",
        "Chess openings like the Spanish teach principles of the centre",
        "Chess openings like the Sicilian teach principles of attack",
        *(f"{text} as said in spring" for text in TOPICS),
    ]


def test_the_results_are_those_of_a_serial_run(tmp_path: Path) -> None:
    texts = related_texts()
    serial, asked_in_turn = evolve(tmp_path / "serial", texts, parallel=1, together=1)
    parallel, asked = evolve(tmp_path / "parallel", texts, parallel=4, together=3)
    assert serial.most == 1
    assert 3 <= parallel.most <= 4
    assert without_ids_and_times(tmp_path / "serial") == without_ids_and_times(
        tmp_path / "parallel"
    )
    # There is something to compare.
    assert any("links:" in text for text in without_ids_and_times(tmp_path / "serial").values())
    print(asked_in_turn, asked)
