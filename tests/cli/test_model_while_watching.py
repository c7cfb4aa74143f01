"""Another model is chosen and judged while the watcher runs."""

from __future__ import annotations

from typing import Any

import pytest

from tests.conftest import Program
from tests.fakes.chat_server import ChatServer
from tests.vaults import write_note
from tests.watching import watching

pytestmark = pytest.mark.slow


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
