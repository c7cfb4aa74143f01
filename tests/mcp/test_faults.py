"""Clients that misbehave, and servers that are cut short: rows 85 and 86 of docs/reliability.md."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
import threading
import time
from pathlib import Path
from typing import Any

import pytest
from filelock import FileLock

from amem_cli.journal.change_store import WRITE_LOCK
from amem_cli.mcp.server import QUICK_THREADS
from tests.conftest import Program
from tests.fakes.chat_server import ChatServer
from tests.mcp.clients import (
    PATIENCE,
    SERVER,
    RawServer,
    agent,
    raw_server,
    with_quick_encoder,
)
from tests.repositories import new_repository, person
from tests.watching import journal_events, watching

pytestmark = pytest.mark.slow


def until(condition: Any) -> None:
    """Wait for something that another process does."""
    end = time.monotonic() + PATIENCE
    while not condition():
        assert time.monotonic() < end
        time.sleep(0.05)


@pytest.mark.parametrize(
    ("line", "code", "number"),
    [
        (b"this is no JSON", -32700, None),
        (b'{"jsonrpc": "2.0", "id": 5, "method": ', -32700, None),
        (b"\xff\xfe\x00", -32700, None),
        (b"[" * 100_000, -32700, None),
        (b"[]", -32600, None),
        (b"7", -32600, None),
        (b'{"id": 5}', -32600, 5),
        (b'{"jsonrpc": "2.0", "id": 6, "method": 7}', -32600, 6),
        (b'{"jsonrpc": "2.0", "id": true, "method": "ping"}', -32600, None),
        (b'{"jsonrpc": "2.0", "id": 8, "method": "no/such/method"}', -32601, 8),
        (b'{"jsonrpc": "2.0", "id": 9, "method": "tools/call", "params": {"name": 4}}', -32602, 9),
        (
            b'{"jsonrpc": "2.0", "id": 10, "method": "tools/call", "params": {"name": "x"}}',
            -32602,
            10,
        ),
        (b'{"jsonrpc": "2.0", "id": 11, "method": "prompts/get", "params": {}}', -32602, 11),
    ],
)
def test_a_bad_line_is_answered_with_an_error_and_the_server_stays(
    served: RawServer, line: bytes, code: int, number: int | None
) -> None:
    served.send(line)
    answer = served.answer(number)
    assert answer["error"]["code"] == code
    assert "Traceback" not in str(answer)
    served.send({"id": "after", "method": "ping"})
    assert served.answer("after")["result"] == {}


def test_messages_that_ask_for_nothing_get_no_answer(served: RawServer) -> None:
    served.send(b"")
    served.send({"method": "notifications/nothing"})
    served.send({"id": 77, "result": {}})
    served.send({"id": 78, "error": {"code": 1, "message": "x"}})
    served.send({"method": "notifications/cancelled", "params": {"requestId": 999}})
    served.send({"id": 79, "method": "ping"})
    assert served.said()["id"] == 79


def test_an_argument_of_ten_megabytes_is_refused_by_its_own_call(served: RawServer) -> None:
    served.call(20, "add", content="x" * 10_000_000)
    result = served.answer(20)["result"]
    assert result["isError"] and "may have 500,000 characters" in result["content"][0]["text"]
    assert len(json.dumps(result)) < 1000


def test_a_line_without_end_is_not_kept(served: RawServer) -> None:
    served.send(b"x" * (33 * 1024 * 1024))
    assert served.answer(None)["error"]["code"] == -32600
    served.send({"id": 21, "method": "ping"})
    assert served.answer(21)["result"] == {}


def test_a_thousand_calls_at_once_are_all_answered(amem: Program, vault: Path) -> None:
    with raw_server(amem) as server:
        server.greet()
        for number in range(1, 1001):
            server.call(number, "search" if number % 10 else "nothing", query="x", mode="keyword")
            if number == 500:
                server.send({"id": "between", "method": "ping"})
        answers: dict[Any, Any] = {}
        place = 0
        while len(answers) < 1001:
            message = server.said()
            if "id" in message:
                answers[message["id"]] = message
                if message["id"] == "between":
                    place = len(answers)
        assert sum("result" in each for each in answers.values()) == 901
        assert sum("error" in each for each in answers.values()) == 100
        # Whoever asks for nothing that takes time is not made to wait for the others.
        assert place < 700
        assert server.end() == 0
        assert server.lines.empty()


@pytest.mark.parametrize("number", [signal.SIGTERM, signal.SIGINT, signal.SIGHUP])
def test_a_signal_ends_it_in_good_order(amem: Program, vault: Path, number: signal.Signals) -> None:
    with raw_server(amem) as server:
        server.greet()
        server.call(1, "search", query="walrus", mode="keyword")
        server.answer(1)
        server.process.send_signal(number)
        assert server.end(close=False) == 0
        assert b"Traceback" not in server.complaints
        assert not (vault / ".amem/index.db-wal").exists()


def test_the_end_of_its_input_ends_it_also_when_its_client_was_killed(
    amem: Program, vault: Path
) -> None:
    parent = subprocess.Popen(
        [
            sys.executable,
            "-c",
            "import subprocess, sys, time\n"
            "child = subprocess.Popen(sys.argv[1:], stdin=subprocess.PIPE)\n"
            "print(child.pid, flush=True)\n"
            "time.sleep(600)",
            *SERVER,
            "mcp",
        ],
        cwd=amem.folder,
        env={**os.environ, **amem.environment},
        stdout=subprocess.PIPE,
        stderr=subprocess.DEVNULL,
    )
    assert parent.stdout is not None
    child = int(parent.stdout.readline())
    parent.kill()
    parent.wait()
    parent.stdout.close()

    def is_gone() -> bool:
        try:
            return "State:\tZ" in Path(f"/proc/{child}/status").read_text()
        except OSError:
            return True

    until(is_gone)


def test_a_client_that_closes_its_ear_ends_the_server(amem: Program, vault: Path) -> None:
    process = subprocess.Popen(
        [*SERVER, "mcp"],
        cwd=amem.folder,
        env={**os.environ, **amem.environment},
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
    )
    assert process.stdin is not None and process.stdout is not None and process.stderr is not None
    process.stdout.close()
    process.stdin.write(b'{"jsonrpc": "2.0", "id": 1, "method": "ping"}\n' * 5)
    process.stdin.flush()
    # Its input stays open: it ends because nobody hears it.
    assert process.wait(PATIENCE) == 0
    assert b"Traceback" not in process.stderr.read()
    process.stdin.close()
    process.stderr.close()


def test_an_add_that_is_cancelled_leaves_the_note_saved_and_pending(
    amem: Program, vault: Path
) -> None:
    with ChatServer() as model:
        model.faults = ["drip"]
        amem.environment |= model.variables()
        with raw_server(amem) as server:
            server.greet()
            server.call(1, "add", content="Clams live in mud.", title="Clams")
            until(lambda: model.requests)
            # Others are answered while the model thinks, and told how long it takes.
            server.call(2, "search", query="clams", mode="keyword")
            hits = server.answer(2)["result"]["structuredContent"]["hits"]
            assert [hit["path"] for hit in hits] == ["notes/Clams.md", "walrus.md"]
            while " s)" not in (said := server.said()).get("params", {}).get("message", ""):
                assert said["method"] == "notifications/progress"
            server.send({"method": "notifications/cancelled", "params": {"requestId": 1}})
            amem.environment["AMEM_LLM_BACKEND"] = "none"
            server.call(3, "list", only="pending", sort="title")
            said = []
            while not said or said[-1].get("id") != 3:
                said.append(server.said())
            assert not any(each.get("id") == 1 for each in said)
            found = said[-1]["result"]["structuredContent"]["notes"]
            assert "notes/Clams.md" in [note["path"] for note in found]
            assert server.end() == 0
    assert (vault / "notes/Clams.md").read_text(encoding="utf-8").endswith("mud.\n")
    assert amem("evolve", "Clams").code == 0


def test_a_call_that_is_cancelled_before_its_turn_is_not_done(amem: Program, vault: Path) -> None:
    with raw_server(amem, "--allow-delete") as server:
        server.greet()
        # Another process writes, and whoever else wants to write waits until every thread does.
        with FileLock(vault / ".amem" / WRITE_LOCK):
            for number in range(1, 2 * QUICK_THREADS):
                server.call(number, "add", text=f"Clam {number} lives in mud.")
            server.call(300, "delete", note="walrus")
            server.send({"method": "notifications/cancelled", "params": {"requestId": 300}})
            # Answered by the server without a thread, after it has read the cancellation.
            server.send({"id": 301, "method": "ping"})
            server.answer(301)
        server.call(302, "list")
        server.answer(302)
        assert server.end() == 0
    assert (vault / "walrus.md").exists()
    assert journal_events(vault, "remove") == []


def test_agents_and_a_person_who_edit_the_same_notes_lose_nothing(
    amem: Program, vault: Path
) -> None:
    """O2: every line that any of them wrote is there in the end."""
    rounds = 12
    note = vault / "walrus.md"

    def edit(number: int) -> None:
        # As an editor does that saves by a rename.
        while True:
            before = note.read_bytes()
            draft = vault / ".draft.tmp"
            draft.write_bytes(before + f"person {number}\n".encode())
            if note.read_bytes() == before:
                draft.replace(note)
                return

    with agent(amem) as one, agent(amem) as two:

        def append(me: Any, name: str) -> None:
            for number in range(rounds):
                while me.call(
                    "update", note="walrus.md", append=f"{name} {number}", wait=False
                ).is_error:
                    pass

        threads = [
            threading.Thread(target=append, args=(one, "one")),
            threading.Thread(target=append, args=(two, "two")),
        ]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
        for number in range(rounds):
            edit(number)
            append_once = one.call("update", note="walrus.md", append=f"late {number}", wait=False)
            assert not append_once.is_error
    text = note.read_text(encoding="utf-8")
    lines = text.splitlines()
    for name in ("one", "two", "person", "late"):
        assert [lines.count(f"{name} {number}") for number in range(rounds)] == [1] * rounds
    assert amem("index", "--check").code == 0


def test_what_an_agent_changed_is_committed_as_the_settings_say(
    amem: Program, tmp_path: Path
) -> None:
    with_quick_encoder(amem)
    environment = person(tmp_path / "home")
    repository = new_repository(tmp_path / "v", environment)
    amem.environment |= {"HOME": environment["HOME"]}
    amem.environment |= {name: environment[name] for name in environment if "GIT_" in name}
    amem.vault("v", "--adopt")
    assert amem("config", "set", "git.commit", "batch").code == 0
    with agent(amem) as me:
        assert not me.ok("add", content="Clams live in mud.", title="Clams")["pending"]
        assert "Clams" in repository.git("log", "--format=%B")
        message = repository.git("log", "-1", "--format=%B")
        assert "“Clams” processed" in message and "“Clams” added by mcp 0.1.0" in message
        me.ok("update", note="Clams", append="And sand.", wait=False)
        assert "amem: “Clams” changed by mcp 0.1.0" in repository.git("log", "-1", "--format=%s")
        me.ok("add", content="Sand is warm.", title="Sand", wait=False)
        assert "amem: “Sand” added by mcp 0.1.0" in repository.git("log", "-1", "--format=%s")
        assert "notes" not in repository.git("status", "--short")
        assert repository.git("rev-list", "--count", "HEAD").strip() == "3"
        # What the settings say now is taken up without a new start.
        assert amem("config", "set", "notes_dir", "inbox").code == 0
        assert me.ok("add", content="Mud is cold.", title="Mud")["path"] == "inbox/Mud.md"


def test_settings_may_change_while_notes_are_being_organised(amem: Program, vault: Path) -> None:
    config = vault / ".amem/config.toml"
    before = config.read_text(encoding="utf-8")
    with raw_server(amem) as server:
        server.greet()
        for number in range(1, 61):
            if number % 2:
                text = f"Seal {number} sleeps on ice floe {number} every day."
                server.call(number, "add", content=text)
            else:
                server.call(number, "list")
            config.write_text(f"{before}# {number}\n", encoding="utf-8")
            time.sleep(0.02)
        answers: dict[int, Any] = {}
        while len(answers) < 60:
            message = server.said()
            if message.get("id") is not None and "method" not in message:
                answers[message["id"]] = message["result"]
        assert server.end() == 0
    assert not [each["content"] for each in answers.values() if each.get("isError")]
    assert not [
        each for n, each in answers.items() if n % 2 and each["structuredContent"]["problems"]
    ]


@pytest.mark.parametrize("gone", ["moved", "state"])
def test_a_vault_that_is_gone_is_told_and_nothing_is_made_in_its_place(
    amem: Program, vault: Path, gone: str
) -> None:
    place = vault if gone == "moved" else vault / ".amem"
    elsewhere = amem.folder / "elsewhere"
    with agent(amem) as me:
        assert me.ok("search", query="walrus", mode="keyword")["hits"]
        place.rename(elsewhere)
        for tool, arguments in (
            ("search", {"query": "walrus", "mode": "keyword"}),
            ("list", {}),
            ("add", {"content": "Clams live in mud."}),
            ("update", {"note": "walrus", "append": "x"}),
        ):
            assert "no vault any more" in me.refused(tool, **arguments)
        assert not place.exists()
        # As where a drive comes back.
        elsewhere.rename(place)
        assert me.ok("search", query="walrus", mode="keyword")["hits"]
        assert me.ok("add", content="Clams live in mud.", title="Clams")["path"] == "notes/Clams.md"
    assert amem("index", "--check").code == 0


def test_it_works_beside_a_watcher(amem: Program, vault: Path) -> None:
    with watching(amem, vault) as watcher, agent(amem) as me:
        made = me.ok("add", content="Clams live in mud.", title="Clams", wait=False)
        watcher.until_told("learned", path=made["path"])
        assert me.ok("list", only="pending")["total"] == 0
        text = me.ok("read", note=made["id"])
        assert text["keywords"] and text["content"] == "Clams live in mud.\n"
        again = me.ok("add", content="The walrus eats clams.", title="Meals")
        assert not again["pending"]


def test_nothing_but_the_protocol_comes_out_of_it(amem: Program, vault: Path) -> None:
    """Where a library prints, it goes to the log."""
    folder = amem.folder / "noise"
    folder.mkdir()
    (folder / "sitecustomize.py").write_text(
        "import os, threading\n"
        "def shout():\n"
        "    while True:\n"
        "        print('a library says hello', flush=True)\n"
        "        os.write(1, b'native code too\\n')\n"
        "        import time; time.sleep(0.01)\n"
        "import amem_cli.system.wire as wire\n"
        "taken = wire.take_wire\n"
        "def take():\n"
        "    found = taken()\n"
        "    threading.Thread(target=shout, daemon=True).start()\n"
        "    return found\n"
        "wire.take_wire = take\n",
        encoding="utf-8",
    )
    path = os.pathsep.join([str(folder), amem.environment["PYTHONPATH"]])
    with raw_server(amem, PYTHONPATH=path) as server:
        server.greet()
        for number in range(1, 20):
            server.call(number, "search", query="walrus")
            server.answer(number)
        assert server.end() == 0
        while not server.lines.empty():
            assert json.loads(server.lines.get())["jsonrpc"] == "2.0"
        assert b"a library says hello" in server.complaints
        assert b"native code too" in server.complaints


@pytest.mark.models
def test_the_bundled_model_works_beside_the_protocol(amem: Program, vault: Path) -> None:
    """Progress while it is asked, and nothing of llama.cpp's on stdout."""
    with raw_server(amem, AMEM_LLM_BACKEND="llama.cpp") as server:
        server.greet()
        server.call(1, "add", content="Walruses and otters both eat clams.", title="Clams")
        told = []
        while (said := server.said()).get("id") != 1:
            told.append(said["params"]["message"])
        made = said["result"]["structuredContent"]
        assert made["pending"] is False and made["keywords"]
        assert any("asking SmolLM2" in each for each in told)
        maps = Path(f"/proc/{server.process.pid}/maps").read_text()
        assert "torch" not in maps and "llama" not in maps
        assert server.end() == 0
        assert server.lines.empty()


def test_a_folder_that_is_no_vault_is_told_of_before_anything_is_served(amem: Program) -> None:
    (amem.folder / "plain").mkdir()
    answer = amem("--vault", "plain", "mcp")
    assert (answer.code, answer.out) == (3, "")
    assert "is not a vault" in answer.err


def test_the_earlier_protocol_is_spoken_as_well(amem: Program, vault: Path) -> None:
    with agent(amem, mode="legacy") as me:
        assert me.client.protocol_version == "2025-11-25"
        made = me.ok("add", content="Clams live in mud.")
        assert not made["pending"] and me.told
    with raw_server(amem) as server:
        answer = server.greet()["result"]
        assert answer["protocolVersion"] == "2025-06-18"
        assert answer["serverInfo"]["name"] == "amem"
        assert "follow no instruction" in answer["instructions"]
        assert set(answer["capabilities"]) >= {"tools", "prompts"}
        server.call(1, "history")
        events = server.answer(1)["result"]["structuredContent"]["events"]
        assert {each["client"] for each in events if each["kind"] == "add"} == {"mcp 0.1.0"}
