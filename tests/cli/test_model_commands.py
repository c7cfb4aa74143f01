"""Models as a user fetches, chooses, tries and deletes them, against servers on this machine, also
while a watcher runs.
"""

from __future__ import annotations

import hashlib
import json
import os
import re
import signal
import sys
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from amem_cli.models.sources import recommended_models
from amem_cli.terminal.output import wrapped
from tests.conftest import Answer, Program
from tests.fakes.chat_server import ChatServer
from tests.fakes.good_model import good_answer_to
from tests.fakes.hub_server import Hub, a_hub
from tests.fakes.tiny_gguf import write_tiny_gguf
from tests.screen import Screen
from tests.vaults import write_note
from tests.watching import watching

pytestmark = pytest.mark.slow

REPOSITORY = "owner/tiny-GGUF"
NOTE = (
    "The left running shoe wears out on the outside after 500 kilometres of running. "
    "The right one lasts a hundred more."
)


@pytest.fixture(scope="module")
def tiny(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return write_tiny_gguf(tmp_path_factory.mktemp("model") / "tiny-Q4_K_M.gguf")


@pytest.fixture
def hub(tiny: Path) -> Iterator[Hub]:
    files = {"tiny-Q4_K_M.gguf": tiny.read_bytes(), "tiny-Q8_0.gguf": b"<html>" + bytes(100)}
    with a_hub(REPOSITORY, {**files, "README.md": b"# tiny", "model.bin": b"x"}) as running:
        yield running


@pytest.fixture
def vault(amem: Program) -> Program:
    amem.vault()
    return amem


def pulled(amem: Program, hub: Hub, *arguments: str) -> Answer:
    return amem("model", "pull", *arguments, HF_ENDPOINT=hub.url, HF_HUB_OFFLINE="0", HF_TOKEN="")


def test_a_model_is_pulled_used_and_removed(vault: Program, hub: Hub, tiny: Path) -> None:
    digest = hashlib.sha256(tiny.read_bytes()).hexdigest()
    made = pulled(vault, hub, REPOSITORY, "--json")
    assert made.code == 0, made.err
    assert (made.json["name"], made.json["sha256"]) == ("tiny-Q4_K_M", digest)
    assert made.json["checked_against"] == "the hub"

    used = vault("model", "use", "tiny-Q4_K_M", "--json")
    assert (used.json["llm.backend"], used.json["llm.sha256"]) == ("llama.cpp", digest)
    assert "of memory" in used.json["next"][0]
    assert "amem model test" in used.json["next"][-1]
    assert vault("model", "rm", "tiny-Q4_K_M", AMEM_LLM_BACKEND="llama.cpp").code == 2

    # Another file in its place is not loaded.
    Path(made.json["path"]).write_bytes(tiny.read_bytes() + b"x")
    added = vault("add", NOTE, "--json", AMEM_LLM_BACKEND="llama.cpp")
    assert added.json["pending"] is True
    assert "expected digest" in " ".join(added.json["problems"])

    assert vault("model", "use", "bundled").code == 0
    removed = vault("model", "rm", "tiny-Q4_K_M", "--json")
    assert removed.json["name"] == "tiny-Q4_K_M"
    assert vault("model", "rm", "tiny-Q4_K_M").code == 1


def test_a_model_is_pulled_without_a_vault_from_an_address_and_from_a_file(
    amem: Program, hub: Hub, tiny: Path
) -> None:
    address = f"{hub.url}/{REPOSITORY}/resolve/main/tiny-Q4_K_M.gguf"
    digest = hashlib.sha256(tiny.read_bytes()).hexdigest()
    made = pulled(amem, hub, address, "--sha256", digest, "--json")
    assert made.json["checked_against"] == "--sha256", made.err
    copied = amem("model", "pull", str(tiny), "--name", "mine")
    assert copied.code == 0
    assert "no digest to check against" in copied.out
    assert "next: amem model use mine" in copied.out


@pytest.mark.skipif(os.name == "nt", reason="sends signals")
@pytest.mark.parametrize(("sent", "code"), [("SIGINT", 130), ("SIGKILL", -9)])
def test_an_interrupted_or_killed_pull_leaves_no_model_and_goes_on_later(
    amem: Program, hub: Hub, tiny: Path, sent: str, code: int
) -> None:
    hub.faults = ["stall", ""]
    variables = {"HF_ENDPOINT": hub.url, "HF_HUB_OFFLINE": "0", "HF_TOKEN": ""}
    process = amem.start("model", "pull", REPOSITORY, **variables)
    folder = Path(os.environ["AMEM_DATA_DIR"]) / "models"
    part = folder / "tiny-Q4_K_M.gguf.part"
    until = time.monotonic() + 60
    while not (part.exists() and hub.given) and time.monotonic() < until:
        time.sleep(0.05)
    # Bytes are written by the portion that the network brings.
    while part.stat().st_size < hub.cut_at and time.monotonic() < until:
        time.sleep(0.05)
    process.send_signal(signal.Signals[sent])
    _, error = process.communicate(timeout=60)
    assert process.returncode == code, error
    assert not list(folder.glob("*.gguf"))
    assert part.stat().st_size == hub.cut_at
    assert pulled(amem, hub, REPOSITORY).code == 0
    assert hub.asked[-1]["range"] == f"bytes={hub.cut_at}-"
    assert (folder / "tiny-Q4_K_M.gguf").read_bytes() == tiny.read_bytes()


@pytest.mark.parametrize(
    ("source", "code", "says"),
    [
        (f"{REPOSITORY}:Q5_K_M", 1, "tiny-Q4_K_M.gguf"),
        (f"{REPOSITORY}:model.bin", 2, "not loaded"),
        (f"{REPOSITORY}:Q8_0", 3, "no GGUF model"),
        ("owner/unknown", 1, "no repository"),
        ("unknown", 2, "amem model list"),
        ("http://example.org/a.gguf", 2, "without encryption"),
        ("https://example.org/page", 2, "--name"),
    ],
)
def test_what_cannot_be_pulled_is_told_with_what_to_do(
    amem: Program, hub: Hub, source: str, code: int, says: str
) -> None:
    done = pulled(amem, hub, source)
    assert (done.code, says in done.err) == (code, True), done.err
    assert len(done.err.strip().splitlines()) == 2


def test_the_hub_may_be_busy_closed_or_off(amem: Program, hub: Hub) -> None:
    hub.listing = 429
    assert "cannot be asked (status 429)" in pulled(amem, hub, REPOSITORY).err
    hub.listing = 401
    assert "HF_TOKEN" in pulled(amem, hub, REPOSITORY).err
    assert amem("model", "pull", REPOSITORY, HF_HUB_OFFLINE="1").code == 3
    assert amem("model", "pull", REPOSITORY, HF_ENDPOINT="http://hub.example").code == 2


def test_a_repository_that_does_not_hold_what_was_expected_is_refused(
    amem: Program, hub: Hub
) -> None:
    done = pulled(amem, hub, REPOSITORY, "--sha256", "0" * 64)
    assert (done.code, hub.given) == (3, [])
    assert "has another digest than expected" in done.err


def test_the_list_tells_what_there_is_and_what_to_try(vault: Program, tiny: Path) -> None:
    assert vault("model", "pull", str(tiny)).code == 0
    with ChatServer() as server:
        server.is_ollama, server.models = True, ["qwen3:4b"]
        listed = vault("model", "list", "--json", OLLAMA_HOST=f"127.0.0.1:{server.port}").json
        (found,) = [each for each in listed["servers"] if each["kind"] == "Ollama"]
        assert found["models"] == ["qwen3:4b"]
        shown = vault("model", "list", OLLAMA_HOST=f"127.0.0.1:{server.port}").out
    names = {(each["kind"], each["name"]) for each in listed["choices"]}
    assert {("file", "tiny-Q4_K_M"), ("server", "qwen3:4b"), ("none", "none")} <= names
    assert "* none  (amem's own analysis alone" in shown
    assert "  qwen3:4b  (Ollama at 127.0.0.1" in shown
    assert "to download with amem model pull NAME" in shown


@pytest.mark.skipif(sys.platform == "win32", reason="needs a pseudo-terminal")
@pytest.mark.parametrize("columns", [60, 100])
def test_the_list_breaks_no_number_and_no_path_on_a_terminal(
    vault: Program, tiny: Path, columns: int
) -> None:
    # Its whole path has no room in a line of the narrow terminal.
    folder = vault.folder / "models-of-many-makers"
    folder.mkdir()
    own = folder / "Some_Model-With-A-Long-Name-Q4_K_M.gguf"
    own.write_bytes(tiny.read_bytes())
    assert vault("model", "use", f"{own}").code == 0
    environment = {**vault.environment, "AMEM_LLM_BACKEND": "llama.cpp"}
    with Screen(vault.folder, ["model", "list"], columns=columns, rows=60, **environment) as screen:
        assert screen.finish() == 0
        lines = [line.rstrip() for line in screen.lines]
    assert max(map(len, lines)) <= columns
    words = " ".join(lines).split()
    for each in recommended_models():
        assert {each.repository, each.file} <= {*words}
    assert own.name in words
    assert not [line for line in lines if re.search(r" \d[\d.]*$", line)]


def test_a_number_and_its_unit_stay_together() -> None:
    for width in range(20, 70):
        ((text, _),) = wrapped(
            [("It takes (98 MB), 1.9 GB of memory, 12 s at 5 % or so.", "")], width
        )
        assert not re.search(r"\d\n", text), text


def test_a_model_of_a_server_on_this_machine_is_used_by_its_name(vault: Program) -> None:
    with ChatServer() as server:
        server.is_ollama, server.models = True, ["qwen3:4b", "big:cloud"]
        here = {"OLLAMA_HOST": f"127.0.0.1:{server.port}"}
        used = vault("model", "use", "qwen3:4b", "--json", **here).json
        assert (used["llm.backend"], used["llm.base_url"]) == ("ollama", server.url)
        assert "stay on this machine" in used["next"][0]
        cloud = vault("model", "use", "big:cloud", "--json", **here).json
        assert "go to another machine" in cloud["next"][0]
        unknown = vault("model", "use", "unknown", **here)
    assert (unknown.code, "amem model list" in unknown.err) == (2, True)
    missing = vault("model", "use", "qwen3-4b", OLLAMA_HOST="127.0.0.1:9")
    assert (missing.code, "amem model pull qwen3-4b" in missing.err) == (2, True)


def good(body: dict[str, Any]) -> str:
    schema = body["response_format"]["json_schema"]["schema"]
    return good_answer_to(body["messages"][-1]["content"], schema)


def on_server(vault: Program, server: ChatServer) -> None:
    del vault.environment["AMEM_LLM_BACKEND"]
    assert vault("model", "use", "test-model", "--base-url", server.url).code == 0


def test_a_good_model_is_fit_and_remembered_as_such(vault: Program) -> None:
    with ChatServer() as server:
        server.content = good
        on_server(vault, server)
        tested = vault("model", "test", "--json")
        assert (tested.code, tested.json["verdict"]) == (0, "fit"), tested.out
        assert tested.json["figures"]["valid"] == {"hits": 9, "asked": 9}
        assert tested.json["asked_for"] == "all"
        assert "fit" in vault("model", "list", "--json").json["language_model"]["verdict"]
        again = vault("model", "use", "test-model", "--base-url", server.url)
        assert "tested before: fit" in again.out
        shown = vault("model", "test")
        assert shown.out.startswith("fit: amem will ask it for contexts, keywords, tags,")
        for row in ("contexts", "keywords", "links", "leaves look-alikes alone", "notices changes"):
            line = next(line for line in shown.out.splitlines() if line.startswith(f"  {row}  "))
            assert re.search(r"(\d+) of \1 +good$", line)
        assert "10 tokens" in shown.out
        tested = vault("model", "test", "--json").json
        assert tested["figures"]["grades"]["found"] == "good"
        assert tested["notes"] == 17
        assert re.search(r"17 notes would take about \d+ s", shown.out)


def test_when_the_time_is_over_there_is_no_verdict_and_a_former_one_stays(vault: Program) -> None:
    with ChatServer() as server:
        server.content = good
        on_server(vault, server)
        assert vault("model", "test").code == 0
        former = vault("model", "list", "--json").json["language_model"]["verdict"]
        server.faults = ["", "", "silence"]
        tested = vault("model", "test", "--seconds", "5")
        assert tested.code == 1
        assert tested.out.startswith("no verdict: the time was over after 2 of 9 notes\n")
        assert "amem model test --seconds 300" in tested.out
        server.faults = ["silence"]
        document = vault("model", "test", "--seconds", "5", "--json")
        assert (document.code, document.json["verdict"], document.json["valid"]) == (1, None, False)
        assert "time was over" in document.json["reason"]
        assert vault("model", "list", "--json").json["language_model"]["verdict"] == former


def test_a_model_of_nonsense_is_unfit_and_no_longer_asked(vault: Program) -> None:
    with ChatServer() as server:
        on_server(vault, server)
        added = vault("add", NOTE, "--json")
        assert added.code == 0
        assert len(server.requests) > 0
        tested = vault("model", "test", "--json")
        assert (tested.code, tested.json["verdict"]) == (1, "unfit")
        assert tested.json["asked_for"] == "nothing"
        server.requests.clear()
        again = vault("add", f"{NOTE} Again, and then once more.", "--json")
        assert (again.code, again.json["pending"]) == (0, False)
        assert vault("ask", "Which running shoe wears out?").code == 0
        assert server.requests == []


def test_a_model_that_is_good_for_contexts_is_asked_for_them_alone(vault: Program) -> None:
    def weak(body: dict[str, Any]) -> str:
        answer = json.loads(good(body))
        return json.dumps({name: answer.get(name) if name == "context" else [] for name in answer})

    with ChatServer() as server:
        server.content = weak
        on_server(vault, server)
        tested = vault("model", "test", "--json")
        assert (tested.code, tested.json["asked_for"]) == (0, "context")
        server.content = None
        server.requests.clear()
        assert vault("add", NOTE, "--json").code == 0
        assert vault("ask", "Which running shoe wears out?").code == 0
        schemas = [one.body["response_format"]["json_schema"]["schema"] for one in server.requests]
        assert {tuple(schema["properties"]) for schema in schemas} == {("context",)}


def test_a_server_that_is_gone_gets_no_verdict(vault: Program) -> None:
    with ChatServer() as server:
        on_server(vault, server)
    tested = vault("model", "test", "--seconds", "10")
    assert tested.code == 1
    assert "no verdict: it could not be asked" in tested.out and "no connection" in tested.out
    assert vault("model", "list", "--json").json["language_model"]["verdict"] is None


def test_notes_wait_when_the_days_tokens_are_spent(vault: Program) -> None:
    with ChatServer() as server:
        on_server(vault, server)
        server.usage = {"prompt_tokens": 400, "completion_tokens": 100}
        assert vault("config", "set", "llm.daily_tokens", "300").code == 0
        assert vault("add", NOTE, "--json").code == 0
        asked = len(server.requests)
        assert asked > 0
        second = vault("add", "Oat bread does not keep as long as rye.", "--json")
        third = vault("add", "Wheat bread keeps two days at most.", "--json")
        assert (second.json["pending"], third.json["pending"]) == (True, True)
        assert "today's 300 tokens" in " ".join(second.json["problems"])
        assert len(server.requests) == asked
        evolved = vault("evolve", "--json")
        assert "midnight" in evolved.out + evolved.err
        assert vault("stats", "--json").json["tokens_today"] >= 500
        assert "of 300 tokens" in vault("stats").out
        # More tokens, and the notes are done as if nothing had been.
        assert vault("config", "set", "llm.daily_tokens", "0").code == 0
        assert vault("evolve").code == 0
        assert vault("stats", "--json").json["pending"] == 0


def asked_for(server: ChatServer) -> set[tuple[str, ...]]:
    """What the requests that a server got were for."""
    schemas = [one.body["response_format"]["json_schema"]["schema"] for one in server.requests]
    return {tuple(sorted(schema["properties"])) for schema in schemas}


def nonsense(body: dict[str, Any]) -> str:
    return "no JSON at all"


def test_the_watcher_asks_the_model_that_is_chosen_and_what_it_is_fit_for(amem: Program) -> None:
    vault = amem.empty_vault()
    del amem.environment["AMEM_LLM_BACKEND"]
    with ChatServer() as first, ChatServer() as second:
        assert amem("model", "use", "one", "--base-url", first.url).code == 0
        with watching(amem, vault) as watcher:
            write_note(vault, "a.md", "The walrus sleeps on the ice until noon.\n")
            watcher.until_told("learned", path="a.md")
            assert first.requests and not second.requests

            assert amem("model", "use", "two", "--base-url", second.url).code == 0
            known = len(first.requests)
            write_note(vault, "b.md", "The walrus eats clams from the sea floor.\n")
            watcher.until_told("learned", path="b.md")
            assert second.requests and len(first.requests) == known

            second.content = nonsense
            assert amem("model", "test").code == 1
            second.requests.clear()
            write_note(vault, "c.md", "Clams close when the walrus comes near.\n")
            watcher.until_told("learned", path="c.md")
            assert second.requests == []
            assert watcher.end() == 0
            assert watcher.complaints == []
