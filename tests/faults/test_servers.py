"""Servers that fail, flood, lie and pry, met by the memory process and by the program itself."""

from __future__ import annotations

import json
import os
import random
import subprocess
import sys
import threading
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from amem_cli.editing.add import NewNote, add
from amem_cli.errors import ModelError
from amem_cli.index.memory_index import VaultPorts
from amem_cli.index.sync import synchronise
from amem_cli.memory.batch import EvolveBatch
from amem_cli.memory.process import MemoryProcess
from amem_cli.models.openai_server import OpenAIServerModel
from tests.conftest import Program
from tests.contracts.language_model_contract import assert_answers, request_about
from tests.fakes.chat_server import ChatServer
from tests.fakes.language_model import random_value
from tests.faults.conftest import KEY, TEXT
from tests.faults.stand_ins import assert_model_took_over, assert_stood_in
from tests.vaults import memory_process, open_vault

pytestmark = pytest.mark.slow

TOP = Path(__file__).parents[2]


@pytest.fixture
def model(server: ChatServer) -> Iterator[OpenAIServerModel]:
    made = OpenAIServerModel(server.url, "m", api_key=KEY, retry_delay=0.0)
    yield made
    made.close()


def batch(root: Path, count: int = 6) -> tuple[VaultPorts, list[str]]:
    ports = open_vault(root)
    fillings = ("rhubarb jam", "almond paste", "plum butter", "poppy seed", "quince jelly", "curd")
    paths = [
        add(
            ports,
            NewNote(
                f"{TEXT} The {each} ran out. Laminated dough tears: laminated dough needs time.",
                title=f"Croissants with {each}",
            ),
        )
        for each in fillings[:count]
    ]
    synchronise(ports)
    return ports, paths


def process_of(ports: VaultPorts, model: OpenAIServerModel, deadline: float) -> MemoryProcess:
    return memory_process(ports, model, trusted=True, deadline=deadline)


GIVING_UP = ["html", "empty_choices", "error_body", "redirect", "cut", "packed", "deep"]


BUSY = ["429", "500", "503", "hang_up", "no_http"]


ENDLESS = ["drip", "drip_headers", "hints", "silence", "huge"]


@pytest.mark.parametrize("fault", GIVING_UP + BUSY + ENDLESS)
def test_after_a_fault_the_analyzer_stands_in_and_the_batch_goes_on(
    tmp_path: Path, server: ChatServer, model: OpenAIServerModel, fault: str
) -> None:
    ports, paths = batch(tmp_path, 3)
    before = ports.vault.read(paths[0]).raw
    server.faults = [fault] * (3 if fault in BUSY else 1) + [""]
    server.redirect_to = f"http://localhost:{server.port}/elsewhere"
    outcomes = EvolveBatch(process_of(ports, model, 0.6), paths, asked=True).all_outcomes()
    assert [outcome.pending for outcome in outcomes] == [True, False, False]
    assert outcomes[0].problems
    assert not any(request.path == "/elsewhere" for request in server.requests)
    assert_stood_in(ports, paths[0], before)
    assert not process_of(ports, model, 20.0).run(paths[0], asked=True).pending
    assert_model_took_over(ports, paths[0], before)


@pytest.mark.parametrize("fault", [*GIVING_UP, *BUSY, "drip"])
def test_the_analyzer_stands_in_once_for_a_server_that_always_fails(
    tmp_path: Path, server: ChatServer, fault: str
) -> None:
    ports, paths = batch(tmp_path)
    before = {path: ports.vault.read(path).raw for path in paths}
    server.faults = [fault]
    for _ in range(2):
        asked = len(server.requests)
        dead = OpenAIServerModel(server.url, "m", retry_delay=0.0)
        outcomes = EvolveBatch(process_of(ports, dead, 0.3), paths, asked=True).all_outcomes()
        dead.close()
        # It is soon not asked any more, and the rest of the notes have the analyzer's values too.
        assert all(outcome.pending and outcome.failed for outcome in outcomes)
        assert len(server.requests) - asked <= 9
        for path in paths:
            assert_stood_in(ports, path, before[path])
    server.faults = [""]
    back = OpenAIServerModel(server.url, "m", retry_delay=0.0)
    outcomes = EvolveBatch(process_of(ports, back, 20.0), paths, asked=True).all_outcomes()
    assert not any(outcome.pending for outcome in outcomes)
    back.close()
    for path in reversed(paths):
        assert_model_took_over(ports, path, before[path])


def test_a_server_that_comes_and_goes_is_bridged_by_retries(
    tmp_path: Path, server: ChatServer, model: OpenAIServerModel
) -> None:
    ports, paths = batch(tmp_path)
    server.faults = ["503", "", "hang_up", "503", "", "", "429", "", ""]
    outcomes = EvolveBatch(process_of(ports, model, 20.0), paths, asked=True).all_outcomes()
    assert not any(outcome.pending for outcome in outcomes)


def test_a_pause_of_an_hour_is_not_waited_for(
    tmp_path: Path, server: ChatServer, model: OpenAIServerModel
) -> None:
    ports, paths = batch(tmp_path)
    server.faults, server.retry_after = ["429"], "3600"
    outcomes = EvolveBatch(process_of(ports, model, 90.0), paths, asked=True).all_outcomes()
    assert all(outcome.pending for outcome in outcomes)
    assert len(server.requests) == 3


def test_notes_that_the_model_declines_are_done_by_the_analyzer_and_block_nothing(
    tmp_path: Path, server: ChatServer, model: OpenAIServerModel
) -> None:
    ports, paths = batch(tmp_path)
    server.message = {"content": None, "refusal": "I cannot help with that."}
    outcomes = EvolveBatch(process_of(ports, model, 20.0), paths, asked=True).all_outcomes()
    assert not any(outcome.pending for outcome in outcomes)
    assert all("declined" in " ".join(outcome.problems) for outcome in outcomes)
    assert all(outcome.metadata.keywords for outcome in outcomes)


@pytest.mark.parametrize("count", [10**30, -5, "many", None, 1.5, True, [1]])
def test_a_made_up_count_of_tokens_reaches_neither_index_nor_journal(
    tmp_path: Path, server: ChatServer, model: OpenAIServerModel, count: object
) -> None:
    ports, paths = batch(tmp_path, 1)
    server.usage = {"prompt_tokens": count, "completion_tokens": count}
    outcome = process_of(ports, model, 20.0).run(paths[0], asked=True)
    assert not outcome.pending
    assert 0 <= ports.index.events.model_totals().prompt_tokens < 10**9


def test_a_server_that_never_stops_talking_is_left_without_a_connection(
    server: ChatServer, model: OpenAIServerModel
) -> None:
    for fault in ("drip_headers", "hints", "drip"):
        server.faults = [fault]
        with pytest.raises(ModelError):
            model.answer(request_about("Rye bread.", deadline=0.3))
    until = time.monotonic() + 60
    while _listening() and time.monotonic() < until:
        time.sleep(0.02)
    assert _listening() == []
    server.faults = [""]
    assert_answers(model, request_about("Rye bread."))


def _listening() -> list[str]:
    return [thread.name for thread in threading.enumerate() if thread.name == "amem-http"]


FLOODED = """
import resource, sys
from amem_cli.models.openai_server import OpenAIServerModel
from amem_cli.errors import ModelError
from amem_cli.models.ports import ModelRequest
schema = {"type": "object", "properties": {"w": {"type": "boolean"}}}
model = OpenAIServerModel(sys.argv[1], "m")
def ask(seconds):
    try:
        model.answer(ModelRequest("a", "b", schema, 9, seconds))
    except ModelError as error:
        return error.message
ask(5.0)
before = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
told = ask(20.0)
print((resource.getrusage(resource.RUSAGE_SELF).ru_maxrss - before) // 1024, told)
"""


@pytest.mark.skipif(sys.platform == "win32", reason="needs resource")
def test_a_flood_of_300_mb_is_cut_after_a_few(server: ChatServer) -> None:
    server.faults = ["html", "huge"]
    done = subprocess.run(
        [sys.executable, "-c", FLOODED, server.url],
        capture_output=True,
        text=True,
        env={**os.environ, "PYTHONPATH": str(TOP)},
        check=True,
    )
    grown, told = done.stdout.split(" ", 1)
    assert int(grown) < 40
    assert "more than 4 MiB" in told


def test_a_certificate_that_nobody_vouches_for_is_refused_before_anything_is_sent(
    tmp_path: Path,
) -> None:
    pem = tmp_path / "both.pem"
    made = subprocess.run(
        ["openssl", "req", "-x509", "-newkey", "rsa:2048", "-nodes", "-days", "2", "-subj",
         "/CN=127.0.0.1", "-keyout", str(tmp_path / "key.pem"), "-out", str(pem)],
        capture_output=True,
        check=False,
    )  # fmt: skip
    if made.returncode:
        pytest.skip("openssl makes no certificate here")
    pem.write_bytes(pem.read_bytes() + (tmp_path / "key.pem").read_bytes())
    with ChatServer(pem) as server:
        model = OpenAIServerModel(server.url, "m", api_key=KEY, retry_delay=0.0)
        with pytest.raises(ModelError, match="no trusted encrypted connection"):
            model.answer(request_about("Rye bread."))
        assert server.requests == []
        model.close()


def test_https_to_a_server_that_speaks_plain_http_is_an_error(server: ChatServer) -> None:
    model = OpenAIServerModel(server.url.replace("http:", "https:"), "m", retry_delay=0.0)
    with pytest.raises(ModelError, match="no trusted encrypted connection"):
        model.answer(request_about("Rye bread."))
    model.close()


def test_a_model_that_fails_is_told_of_in_a_short_line_and_a_hint(
    amem: Program, vault: Path, server: ChatServer
) -> None:
    gone = {"AMEM_LLM_BASE_URL": "http://127.0.0.1:9/v1"}
    lines = amem("add", TEXT, "--title", "Torn", **gone).out.splitlines()
    at = lines.index("  note     127.0.0.1: no connection; amem analyzer stands in")
    hint = "  note     Is the server running, and online?"
    assert lines[at + 1 :] == [hint, "  pending  `amem evolve` asks the model again"]


def test_the_analyzer_stands_in_until_the_model_answers(
    amem: Program, understood: Path, server: ChatServer
) -> None:
    gone = {"AMEM_LLM_BASE_URL": "http://127.0.0.1:9/v1"}
    added = amem("add", TEXT, "--title", "Torn", "--json", **gone).json
    assert added["pending"]
    assert added["keywords"]
    assert "; amem analyzer stands in" in added["problems"][0]
    note, history = understood / added["path"], amem("history").out
    first = note.read_text()
    # A second try in vain changes and records nothing.
    assert amem("evolve", **gone).code == 1
    assert (note.read_text(), amem("history").out) == (first, history)
    # Neither does an index that is made anew forget that the note waits.
    assert amem("index", "--rebuild").code == 0
    assert amem("stats", "--json").json["pending"] == 1
    theirs = first.replace(added["keywords"][0], "torn by hand", 1)
    note.write_text(theirs)
    context = "The croissant dough tore in lamination, as the butter was too cold."

    def answer(body: dict[str, Any]) -> str:
        schema = body["response_format"]["json_schema"]["schema"]
        said = random_value(schema, random.Random(1))
        return json.dumps(said | ({"context": context} if "context" in said else {}))

    server.content = answer
    assert amem("evolve", "Torn").code == 0
    shown = amem("show", "Torn", "--json").json
    assert shown["context"] == context
    assert shown["keywords"] == ["torn by hand", *added["keywords"][1:]]
    assert amem("stats", "--json").json["pending"] == 0


def test_a_note_of_an_adopted_folder_is_pending_too_if_the_analyzer_stood_in(
    amem: Program, vault: Path, server: ChatServer
) -> None:
    adopted = amem.folder / "adopted"
    adopted.mkdir()
    (adopted / "Torn.md").write_text(f"{TEXT} See [[Butter]].\n")
    (adopted / "Butter.md").write_text("Butter for lamination is at 14 degrees.\n")
    amem.vault(str(adopted), "--adopt")
    gone = {"AMEM_LLM_BASE_URL": "http://127.0.0.1:9/v1"}
    assert amem("stats", "--json").json["pending"] == 0
    assert amem("evolve", "--all", **gone).code == 1
    assert amem("stats", "--json").json["pending"] == 2
    assert amem("index", "--rebuild").code == 0
    # That a link in it follows a rename makes it no note that is done.
    assert amem("mv", "Butter", "Cold butter").code == 0
    assert "[[Cold butter]]" in (adopted / "Torn.md").read_text()
    assert amem("stats", "--json").json["pending"] == 2
    assert amem("evolve").code == 0
    assert amem("stats", "--json").json["pending"] == 0
    assert server.requests


def test_a_note_that_is_done_stays_done_if_the_model_fails_with_it_later(
    amem: Program, vault: Path, server: ChatServer
) -> None:
    assert amem("add", f"{TEXT} Again.", "--title", "Older").code == 0
    assert amem("add", TEXT, "--title", "Torn").code == 0
    note, history = (vault / "notes/Torn.md").read_text(), amem("history").out
    server.faults = ["500"]
    again = amem("evolve", "Torn", "--json")
    assert again.code == 1
    assert again.json["notes"][0]["pending"] is False
    assert "status 500" in again.json["notes"][0]["problems"][0]
    assert "stands in" not in again.out
    assert amem("stats", "--json").json["pending"] == 0
    assert ((vault / "notes/Torn.md").read_text(), amem("history").out) == (note, history)


def test_what_was_taken_back_of_a_stand_in_is_not_written_again(
    amem: Program, understood: Path, server: ChatServer
) -> None:
    # Without an id until amem writes to it.
    note = understood / "Torn.md"
    note.write_text(f"{TEXT}\n")
    server.faults = ["500"]
    assert amem("evolve", "--dry-run").code == 0
    assert note.read_text() == f"{TEXT}\n"
    assert amem("evolve").code == 1
    assert note.read_text() != f"{TEXT}\n"
    run = next(each for each in amem("history", "--json").json if each["kind"] == "process")
    assert amem("undo", run["id"]).code == 0
    assert note.read_text() == f"{TEXT}\n"
    assert amem("evolve").code == 1
    assert note.read_text() == f"{TEXT}\n"
    server.faults = [""]
    assert amem("evolve").code == 0
    assert note.read_text() != f"{TEXT}\n"
    assert amem("stats", "--json").json["pending"] == 0
