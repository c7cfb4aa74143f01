"""A model that takes several requests at once is asked about several notes; the results stay."""

from __future__ import annotations

import json
import os
import re
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from amem_cli.errors import ModelClosed, ModelError
from amem_cli.index.memory_index import VaultPorts
from amem_cli.index.sync import embed_missing, synchronise
from amem_cli.memory.batch import EvolveBatch
from amem_cli.memory.outcome import ProcessSettings
from amem_cli.memory.process import MemoryProcess
from amem_cli.models.open import BudgetedModel
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
        name = " ".join(text.split()[:3])
        path = write_note(root, f"{number:02} {name}.md", f"{text}.\n")
        os.utime(path, (1_000_000 + number, 1_000_000 + number))
    return open_vault(root)


def batch_of(
    ports: VaultPorts, model: LanguageModel, *, trusted: bool = True, parallel: int | None = None
) -> EvolveBatch:
    synchronise(ports)
    # With so many numbers, texts without a common word are not near each other.
    encoder = FakeEncoder(dimension=512)
    embed_missing(ports, encoder)
    # A model that is shown more of so few notes would be shown all of them.
    settings = ProcessSettings(trusted=trusted, candidates=2, plausible=0.03)
    process = MemoryProcess(ports, encoder, model, settings)
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
            "reason": f"Both tell of {' '.join(sorted(own & set(title.lower().split())))}.",
            "relation": "related",
            "strength": 0.8,
        }
        for name, title in near
    ]
    answer = {
        "context": f"It is noted here that {note[0].lower()}{note[1:]}",
        "keywords": words[:2],
        "tags": [words[0].lower()],
        "links": links,
        "changes": [],
        "standing": [],
    }
    return json.dumps({name: answer[name] for name in properties})


class Gate:
    """Answers nothing but the first request before so many others have come together.

    Attributes:
        most: how many requests it ever held at once.
    """

    def __init__(self, together: int) -> None:
        self.most, self._here, self._received, self._together = 0, 0, 0, together
        self._changed = threading.Condition()

    def __call__(self, body: dict[str, Any]) -> str:
        with self._changed:
            self._received += 1
            self._here += 1
            self.most = max(self.most, self._here)
            self._changed.notify_all()
            # The first one finds out how the server is asked, alone.
            if self._received > 1:
                self._changed.wait_for(lambda: self.most >= self._together, timeout=20)
            self._here -= 1
        return answer_to(body)


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
    # No note is asked about in vain.
    assert asked == asked_in_turn


def test_a_note_waits_for_one_that_the_model_is_to_be_shown_with_its_context(
    tmp_path: Path,
) -> None:
    ports = vault_of(tmp_path, [TOPICS[0], f"{TOPICS[0]} in summer", TOPICS[1]])
    with server_model(answer_to, 3) as (server, model):
        assert len(list(batch_of(ports, model).outcomes())) == 3
        asked = [each.body["messages"][1]["content"] for each in server.requests]
    (about_the_second,) = [each for each in asked if "New note: 01 Walrus" in each]
    assert "00 Walrus colonies rest (1970-01-12): It is noted here that" in about_the_second


def test_a_model_that_sees_one_note_alone_is_asked_about_all_of_them(tmp_path: Path) -> None:
    texts = [f"{TOPICS[0]}. The year was {year}, and it was cold" for year in range(1990, 1998)]
    ports, gate = vault_of(tmp_path, texts), Gate(4)
    with server_model(gate, 4) as (_, model):
        assert len(list(batch_of(ports, model, trusted=False).outcomes())) == 8
    assert gate.most == 4


def test_a_text_that_changes_while_the_model_answers_is_asked_about_anew(tmp_path: Path) -> None:
    ports = vault_of(tmp_path, [f"{text}. It was cold" for text in TOPICS[:3]])
    path = next(tmp_path.glob("02*.md"))
    with server_model(Gate(2), 3) as (server, model):
        server.usage = {"prompt_tokens": 100, "completion_tokens": 10}
        done = batch_of(ports, model, trusted=False).outcomes()
        next(done)
        path.write_text("Seals hunt below the winter ice. It was cold.\n")
        os.utime(path, (1_000_000, 1_000_000))
        *_, edited = done
        asked = [each.body["messages"][1]["content"] for each in server.requests]
    assert ["Seals hunt" in each for each in asked] == [False, False, False, True]
    # Both answers were paid for.
    assert (edited.use.prompt_tokens, edited.use.answer_tokens) == (200, 20)


class Counting:
    """Counts what is asked, and what of it at the same time as something else."""

    name, is_remote, parallel = "counting", False, 4

    def __init__(self, fault: Callable[[int], Exception | None] = lambda number: None) -> None:
        self.asked, self.closed = 0, threading.Event()
        self._fault, self._lock, self._inner = fault, threading.Lock(), EchoSchemaModel()

    def answer(self, request: ModelRequest) -> ModelAnswer:
        with self._lock:
            self.asked += 1
            fault = self._fault(self.asked)
            if fault is not None:
                raise fault
            return self._inner.answer(request)

    def close(self) -> None:
        self.closed.set()


def test_a_server_that_fails_is_soon_not_asked_any_more(tmp_path: Path) -> None:
    ports = vault_of(tmp_path, [f"{text} {n}" for n in range(4) for text in TOPICS])
    model = Counting(lambda n: ModelError("nobody answers", hint="Start it.") if n > 6 else None)
    batch = batch_of(ports, model)
    outcomes = list(batch.outcomes())
    assert len(outcomes) == 32
    assert batch.stopped == ("3 notes in a row failed: nobody answers", "Start it.")
    # Of those under way each may be asked once more, for what was refused.
    assert model.asked <= 6 + 3 + 2 * model.parallel
    # The analyzer stands in, and no note is forgotten.
    assert set(batch_of(ports, model).paths) == {each.path for each in outcomes if each.failed}


def test_a_spent_budget_ends_the_run_and_no_more_is_asked(tmp_path: Path) -> None:
    ports = vault_of(tmp_path, list(TOPICS))
    limit, each = 500, 120

    class Ledger:
        spent = 0

        def used(self) -> int:
            return self.spent

        def add(self, tokens: int) -> None:
            self.spent += tokens

    with server_model(answer_to, 4) as (server, inner):
        server.usage = {"prompt_tokens": each - 20, "completion_tokens": 20}
        ledger = Ledger()
        model = BudgetedModel(inner, ledger, limit)  # type: ignore[arg-type]
        batch = batch_of(ports, model)
        outcomes = list(batch.outcomes())
    assert 0 < len(outcomes) < len(TOPICS)
    assert batch.stopped[0] == "today's 500 tokens for the language model are spent"
    assert limit <= ledger.spent <= limit + 4 * each
    assert ports.index.queue.unprocessed() == batch.paths[len(outcomes) :]


def test_what_is_under_way_ends_with_the_run(tmp_path: Path) -> None:
    ports = vault_of(tmp_path, [f"{text}. It was cold" for text in TOPICS])
    arrived, ended = threading.Semaphore(0), threading.Semaphore(0)

    class Silent(Counting):
        def answer(self, request: ModelRequest) -> ModelAnswer:
            if "Walrus" not in request.text:
                arrived.release()
                assert self.closed.wait(60)
                ended.release()
                raise ModelClosed("closed")
            return super().answer(request)

    model = Silent()
    done = batch_of(ports, model, trusted=False).outcomes()
    assert next(done).path == "00 Walrus colonies rest.md"
    assert all(arrived.acquire(timeout=60) for _ in range(3))
    done.close()
    assert all(ended.acquire(timeout=60) for _ in range(3))
    assert len(ports.index.queue.unprocessed()) == len(TOPICS) - 1
