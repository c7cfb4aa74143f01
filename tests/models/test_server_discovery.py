"""Servers are found on this machine alone, and in no time."""

from __future__ import annotations

import socket
import threading
from collections.abc import Iterator

import pytest

from amem_cli.models.discovery import (
    USUAL_SERVERS,
    LocalServer,
    expected_servers,
    running_servers,
)
from tests.fakes.chat_server import ChatServer
from tests.fakes.hub_server import a_hub


@pytest.fixture
def server() -> Iterator[ChatServer]:
    with ChatServer() as running:
        yield running


def test_a_server_is_found_with_its_models(server: ChatServer) -> None:
    server.models = ["a", "b"]
    (found,) = running_servers([LocalServer("vLLM", server.port)], seconds=5)
    assert (found.kind, found.backend) == ("vLLM", "openai")
    assert (found.url, found.models) == (server.url, ("a", "b"))


def test_an_ollama_is_known_by_what_it_says(server: ChatServer) -> None:
    server.is_ollama = True
    (found,) = running_servers([LocalServer("llama-server", server.port)], seconds=5)
    assert (found.kind, found.backend) == ("Ollama", "ollama")


def test_odd_names_are_left_out(server: ChatServer) -> None:
    server.models = ["good", "", "bad\x1b[2J", "x" * 500]
    (found,) = running_servers([LocalServer("vLLM", server.port)], seconds=5)
    assert found.models == ("good",)


def test_what_is_no_model_server_is_not_one() -> None:
    with a_hub("o/n", {}) as hub, socket.socket() as silent, socket.socket() as closed:
        silent.bind(("127.0.0.1", 0))
        silent.listen()
        closed.bind(("127.0.0.1", 0))
        ports = [int(hub.url.rpartition(":")[2])]
        ports += [each.getsockname()[1] for each in (silent, closed)]
        assert running_servers([LocalServer("vLLM", port) for port in ports], seconds=0.3) == []
    assert not [
        each for each in threading.enumerate() if each.name == "amem-discovery" and not each.daemon
    ]


@pytest.mark.parametrize(
    ("value", "port"),
    [
        ("", 11434),
        ("127.0.0.1:5000", 5000),
        ("0.0.0.0:5001", 5001),
        ("http://localhost:5002", 5002),
        ("http://127.0.0.1", 80),
        (":5005", 5005),
        ("0.0.0.0", 11434),
        ("gpu.example.org:5003", 11434),
        ("192.168.1.7:5004", 11434),
        ("[::", 11434),
        ("127.0.0.1:port", 11434),
    ],
)
def test_only_this_machine_is_ever_asked(value: str, port: int) -> None:
    places = expected_servers({"OLLAMA_HOST": value} if value else {})
    assert places[0].port == port
    assert all(place.url.startswith("http://127.0.0.1:") for place in places)
    assert places[1:] == USUAL_SERVERS[1:]
