"""Texts and keys go to the server that the user named, and nowhere else."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest

from amem_cli.errors import SettingsError
from amem_cli.models.open import api_key_for, usual_url
from tests.conftest import Program
from tests.fakes.chat_server import ChatServer
from tests.mcp.clients import agent, with_quick_encoder

KEY = "sk-SECRET0123456789abcdef"
TEXT = "The croissant dough tore in lamination: the butter came from the fridge."

# In every Python process of the program: a connection or a look-up of a name that is not for this
# port of this machine is written down and refused.
GUARD = """
import os, sys

def refuse(event, arguments):
    if event in ("socket.connect", "socket.sendto", "socket.sendmsg"):
        place = arguments[1]
    elif event == "socket.getaddrinfo":
        place = arguments[:2]
    else:
        return
    if not isinstance(place, tuple) or tuple(place[:2]) == ("127.0.0.1", int({port})):
        return
    with open({log!r}, "a") as file:
        file.write(repr(place) + "\\n")
    raise OSError("no other host")

sys.addaudithook(refuse)
"""
LIBRARY = """
import sys
from amem_cli import AgenticMemorySystem
import logging
logging.basicConfig(level=logging.INFO)
with AgenticMemorySystem(None, sys.argv[1], "m", vault="v") as memory:
    memory.add_note(sys.argv[2])
"""


@pytest.fixture
def reached(amem_process: Program, server: ChatServer, tmp_path: Path) -> Path:
    """The file of the places that the program tried to reach beside the server."""
    with_quick_encoder(amem_process)
    amem_process.empty_vault()
    guard, log = tmp_path / "guard", tmp_path / "reached"
    guard.mkdir()
    (guard / "sitecustomize.py").write_text(GUARD.format(port=server.port, log=str(log)))
    own = amem_process.environment
    own["PYTHONPATH"] += f":{guard}"
    own |= {"OPENAI_API_KEY": KEY, "AMEM_EVOLUTION_SETTLE_SECONDS": "0"}
    own["OPENAI_BASE_URL"] = server.url
    own["OLLAMA_HOST"] = f"0.0.0.0:{server.port}"
    return log


def choose(amem: Program, backend: str) -> None:
    amem.environment |= {"AMEM_LLM_BACKEND": backend, "AMEM_LLM_MODEL": "m"}


def assert_only(server: ChatServer, reached: Path, backend: str) -> None:
    assert server.requests
    assert not reached.exists(), reached.read_text()
    keys = {request.authorization for request in server.requests}
    # An Ollama is not what an OpenAI key is for.
    assert keys == {f"Bearer {KEY}" if backend == "openai" else ""}


@pytest.mark.parametrize("backend", ["openai", "ollama"])
def test_a_command_asks_the_server_of_the_variable_alone_and_says_so(
    amem_process: Program, server: ChatServer, reached: Path, backend: str
) -> None:
    server.is_ollama = backend == "ollama"
    choose(amem_process, backend)
    added = amem_process("add", TEXT, "--json")
    assert (added.code, added.json["pending"]) == (0, False), added.err
    assert f"texts go to m at 127.0.0.1:{server.port} (O" in added.err
    assert KEY not in added.err + added.out
    assert_only(server, reached, backend)


@pytest.mark.parametrize("backend", ["openai", "ollama"])
def test_the_library_asks_the_server_of_the_variable_alone_and_says_so(
    amem_process: Program, server: ChatServer, reached: Path, backend: str
) -> None:
    import os

    server.is_ollama = backend == "ollama"
    done = subprocess.run(
        [sys.executable, "-c", LIBRARY, backend, TEXT],
        cwd=amem_process.folder,
        env={**os.environ, **amem_process.environment},
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == 0, done.stderr
    assert f"texts go to m at 127.0.0.1:{server.port} (O" in done.stderr
    assert_only(server, reached, backend)


def test_an_agents_server_asks_the_server_of_the_variable_alone_and_says_so(
    amem_process: Program, server: ChatServer, reached: Path
) -> None:
    choose(amem_process, "openai")
    with agent(amem_process) as me:
        assert me.ok("add", content=TEXT)["pending"] is False
    said = (amem_process.folder / "server.log").read_text()
    assert f"texts go to m at 127.0.0.1:{server.port} (OPENAI_BASE_URL)" in said
    assert_only(server, reached, "openai")


def test_a_watcher_asks_the_server_of_the_variable_alone_and_says_so(
    amem_process: Program, server: ChatServer, reached: Path
) -> None:
    choose(amem_process, "openai")
    (amem_process.folder / "v/Dough.md").write_text(f"{TEXT}\n")
    done = amem_process("watch", "--once", "--json")
    assert (done.code, done.json["pending"]) == (0, 0), done.err
    assert f"texts go to m at 127.0.0.1:{server.port} (OPENAI_BASE_URL)" in done.err
    assert_only(server, reached, "openai")


def test_a_setting_goes_before_the_variable_and_keeps_its_key_back(
    amem_process: Program, server: ChatServer, reached: Path
) -> None:
    choose(amem_process, "openai")
    amem_process.environment |= {
        "AMEM_LLM_BASE_URL": server.url,
        "OPENAI_BASE_URL": "https://proxy.example/v1",
    }
    assert amem_process("add", TEXT).code == 0
    assert {request.authorization for request in server.requests} == {""}
    assert not reached.exists()


def test_an_address_of_the_environment_needs_the_users_choice_for_a_vaults_model(
    amem_process: Program, reached: Path
) -> None:
    amem_process.environment["OPENAI_BASE_URL"] = "https://proxy.example/v1"
    config = amem_process.folder / "v/.amem/config.toml"
    config.write_text('[llm]\nbackend = "openai"\nmodel = "m"\nbase_url = ""\n')
    own = amem_process.environment
    del own["AMEM_LLM_BACKEND"]
    refused = amem_process("add", TEXT, "--json")
    assert refused.json["pending"] is True
    assert "would send notes to m at proxy.example" in " ".join(refused.json["problems"])
    assert not reached.exists()
    # The choice is for that address: it is written down, and goes for no other.
    used = amem_process("model", "use", "m", "--backend", "openai", "--json")
    assert (used.code, used.json["llm.base_url"]) == (0, "https://proxy.example/v1")
    config.write_text('[llm]\nbackend = "openai"\nmodel = "m"\nbase_url = ""\n')
    other = amem_process("evolve", OPENAI_BASE_URL="https://other.example/v1")
    assert "would send notes to m at other.example" in other.err
    assert not reached.exists()


@pytest.mark.parametrize(
    ("host", "url"),
    [
        ("", "http://127.0.0.1:11434/v1"),
        ("0.0.0.0", "http://127.0.0.1:11434/v1"),
        ("0.0.0.0:5000", "http://127.0.0.1:5000/v1"),
        (":5000", "http://127.0.0.1:5000/v1"),
        ("gpu", "http://gpu:11434/v1"),
        ("gpu:5000", "http://gpu:5000/v1"),
        ("http://gpu", "http://gpu/v1"),
        ("https://gpu.example", "https://gpu.example/v1"),
        ("https://gpu.example:8443/ollama/", "https://gpu.example:8443/ollama/v1"),
        ("gpu:5000/v1", "http://gpu:5000/v1"),
        ("::1", "http://[::1]:11434/v1"),
        ("[::]:5000", "http://[::1]:5000/v1"),
        (' "gpu:5000" ', "http://gpu:5000/v1"),
    ],
)
def test_the_host_of_ollama_is_read_in_all_its_forms(host: str, url: str) -> None:
    assert usual_url("ollama", {"OLLAMA_HOST": host, "OPENAI_BASE_URL": "https://x/v1"}) == url


def test_a_host_of_ollama_that_cannot_be_read_is_an_error_and_not_another_host() -> None:
    with pytest.raises(SettingsError, match="OLLAMA_HOST"):
        usual_url("ollama", {"OLLAMA_HOST": "gpu:port"})


def test_a_key_goes_to_the_host_that_it_is_for() -> None:
    proxied = {"OPENAI_API_KEY": KEY, "OPENAI_BASE_URL": "https://proxy.example/v1"}
    assert api_key_for("proxy.example", proxied) == KEY
    assert api_key_for("api.openai.com", proxied) is None
    assert api_key_for("proxy.example", proxied, "ollama") is None
    assert api_key_for("gpu", {**proxied, "AMEM_API_KEY": "own"}, "ollama") == "own"
