"""A server that asks its client's model: the SDK's own client against a real process."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import anyio
import mcp_types as types
import pytest
from mcp.shared.exceptions import MCPError

from tests.conftest import Program
from tests.mcp.clients import agent, new_vault, raw_server, with_quick_encoder
from tests.mcp.test_http import http_agent, http_server
from tests.vaults import write_note

pytestmark = pytest.mark.slow

TEXT = "Since Monday the pump in the cellar runs at night again, as the cellar was wet."
ABOUT = "A wet cellar is why the pump runs again at night, since Monday."
ANSWER = {"context": ABOUT, "keywords": ["pump", "cellar"], "tags": ["home"]}


@pytest.fixture
def vault(amem: Program) -> Path:
    """An empty vault, whose user agreed."""
    with_quick_encoder(amem)
    folder = new_vault(amem)
    assert amem("config", "set", "mcp.sampling", "on", "--user").code == 0
    return folder


class FakeClientModel:
    """What a client does that is asked for its model's answer.

    Attributes:
        asked: what it was asked.
    """

    def __init__(self, said: str | Exception, stop_reason: str = "endTurn") -> None:
        self.asked: list[types.CreateMessageRequestParams] = []
        self._said = said
        self._stop_reason = stop_reason

    async def __call__(self, ctx: Any, params: types.CreateMessageRequestParams) -> Any:
        self.asked.append(params)
        if isinstance(self._said, Exception):
            raise self._said
        if self._said == "hang":
            await anyio.sleep_forever()
        return types.CreateMessageResult(
            role="assistant",
            content=types.TextContent(text=self._said),
            model="some-model",
            stop_reason=self._stop_reason,
        )


def test_the_clients_model_organises_a_note(amem: Program, vault: Path) -> None:
    model = FakeClientModel(f"```json\n{json.dumps(ANSWER)}\n```")
    with agent(amem, mode="legacy", sampling=model) as me:
        made = me.ok("add", content=TEXT, title="Pump")
        assert (made["context"], made["pending"], made["problems"]) == (ABOUT, False, [])
        assert any("asking mcp 0.1.0 by MCP sampling" in each for each in me.told)
        (asked,) = model.asked
        (message,) = asked.messages
        assert isinstance(message.content, types.TextContent) and TEXT in message.content.text
        assert "Its JSON schema" in message.content.text
        assert asked.include_context == "none"
        # An agent that is asked has nothing left to fetch.
        assert me.ok("next_to_organise")["questions"] == []
    events = amem("history", "Pump", "--json").json
    assert "mcp 0.1.0 by MCP sampling" in {each.get("model") for each in events}


@pytest.mark.parametrize(
    ("model", "why"),
    [
        (FakeClientModel(MCPError(-1, "User rejected sampling request")), "User rejected"),
        (FakeClientModel("hang"), "gave no answer within 1 s"),
    ],
)
def test_a_note_waits_if_the_client_gives_no_answer(
    amem: Program, vault: Path, model: FakeClientModel, why: str
) -> None:
    with agent(amem, mode="legacy", sampling=model, AMEM_LLM_DEADLINE_SECONDS="1") as me:
        made = me.ok("add", content=TEXT, title="Pump")
        assert made["pending"] and made["keywords"]
        assert why in made["problems"][0] and "analyzer stands in" in made["problems"][0]
        assert me.ok("search", query="pump", mode="keyword")["hits"]
        assert len(me.ok("next_to_organise")["questions"]) == 1


@pytest.mark.parametrize("said", ["I had rather not.", '{"context": 7}', "cut"])
def test_an_answer_of_another_form_is_not_written(amem: Program, vault: Path, said: str) -> None:
    cut = "maxTokens" if said == "cut" else "endTurn"
    model = FakeClientModel(json.dumps(ANSWER) if said == "cut" else said, cut)
    with agent(amem, mode="legacy", sampling=model) as me:
        made = me.ok("add", content=TEXT, title="Pump")
        # As with every model: asked once more, then the analyzer decides.
        assert len(model.asked) == 2
        assert made["context"] != ABOUT and not made["pending"]
        assert "amem analyzer wrote it instead" in " ".join(made["problems"])


def is_not_asked(amem: Program, model: FakeClientModel, **how: Any) -> None:
    with agent(amem, sampling=model, **how) as me:
        made = me.ok("add", content=TEXT, title="Pump")
        assert not made["pending"] and made["context"] != ABOUT
    assert model.asked == []


def test_nobody_is_asked_who_did_not_agree(amem: Program, vault: Path) -> None:
    model = FakeClientModel(json.dumps(ANSWER))
    assert amem("config", "unset", "mcp.sampling", "--user").code == 0
    refused = amem("config", "set", "mcp.sampling", "on")
    assert refused.code == 3 and "--user" in refused.err
    # Whoever made the vault cannot agree in its user's place.
    config = vault / ".amem/config.toml"
    config.write_text(f"{config.read_text()}\n[mcp]\nsampling = 'on'\n")
    assert amem("config", "get", "mcp.sampling").out == "off\n"
    is_not_asked(amem, model, mode="legacy")
    # But who agreed can except a vault.
    assert amem("config", "set", "mcp.sampling", "on", "--user").code == 0
    assert amem("config", "set", "mcp.sampling", "off").code == 0
    is_not_asked(amem, model, mode="legacy")
    # As does who starts the server.
    with agent(amem, mode="legacy", sampling=model, AMEM_MCP_SAMPLING="on") as me:
        assert me.ok("add", content=f"{TEXT} Ole saw it.", title="Ole")["context"] == ABOUT


def test_a_protocol_without_sampling_and_a_client_without_it_work_as_before(
    amem: Program, vault: Path
) -> None:
    is_not_asked(amem, FakeClientModel(json.dumps(ANSWER)))
    with agent(amem, mode="legacy") as me:
        assert not me.ok("add", content=TEXT, title="Pump")["pending"]


def test_over_http_the_client_is_asked_as_well(amem: Program, vault: Path) -> None:
    model = FakeClientModel(json.dumps(ANSWER))
    token = "a token of the test's own"
    with http_server(amem, AMEM_MCP_TOKEN=token) as (_, url):
        with http_agent(url, token, "legacy", model) as me:
            assert me.ok("add", content=TEXT, title="Pump")["context"] == ABOUT
        assert len(model.asked) == 1


def test_a_private_note_is_never_shown_to_the_client(amem: Program, vault: Path) -> None:
    write_note(vault, "diary.md", "---\nprivate: true\n---\nThe pump's secret is marzipan.\n")
    model = FakeClientModel(json.dumps(ANSWER))
    with agent(amem, "--include-private", mode="legacy", sampling=model) as me:
        me.ok("evolve", note="diary")
        assert model.asked == []
        assert not me.ok("add", content=TEXT, title="Pump")["pending"]
        assert "marzipan" not in str(model.asked)


def test_a_cancelled_call_and_a_closed_client_do_not_wait_for_the_model(
    amem: Program, vault: Path
) -> None:
    with raw_server(amem) as server:
        client = {"name": "raw client", "version": "1"}
        params = {
            "protocolVersion": "2025-06-18",
            "capabilities": {"sampling": {}},
            "clientInfo": client,
        }
        server.send({"id": 0, "method": "initialize", "params": params})
        server.answer(0)
        server.send({"method": "notifications/initialized"})

        def is_asked() -> Any:
            while (said := server.said()).get("method") != "sampling/createMessage":
                pass
            return said

        server.call(1, "add", content=TEXT, title="Pump")
        asked = is_asked()
        assert asked["params"]["maxTokens"] > 100
        # Others are answered meanwhile.
        server.call(2, "search", query="pump", mode="keyword")
        assert server.answer(2)["result"]["structuredContent"]["hits"]
        server.send({"method": "notifications/cancelled", "params": {"requestId": 1}})
        while (said := server.said()).get("method") != "notifications/cancelled":
            pass
        assert said["params"]["requestId"] == asked["id"]
        server.call(3, "evolve", note="Pump")
        is_asked()
        assert server.end() == 0
    assert amem("list", "--pending", "--json").json
