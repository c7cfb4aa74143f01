"""The server adapter against a server that misbehaves in every known way; how servers are found."""

from __future__ import annotations

import contextlib
import json
import logging
import socket
import threading
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from dataclasses import replace
from typing import Any

import pytest

from amem_cli.errors import ModelClosed, ModelError, SettingsError
from amem_cli.models.discovery import (
    USUAL_SERVERS,
    LocalServer,
    expected_servers,
    running_servers,
)
from amem_cli.models.openai_server import OpenAIServerModel
from amem_cli.models.ports import LanguageModel
from amem_cli.models.reply_schema import to_json_schema
from tests.contracts.language_model_contract import (
    INSTRUCTIONS,
    SCHEMA,
    LanguageModelContract,
    assert_answers,
    failure,
    request_about,
)
from tests.fakes.chat_server import ChatServer
from tests.fakes.hub_server import a_hub

KEY = "sk-SECRET0123456789"
GOOD = json.dumps({"keywords": ["rye"], "relation": "related", "strength": 0.5, "sure": True})


@pytest.fixture
def server() -> Iterator[ChatServer]:
    with ChatServer() as running:
        yield running


def model_of(server: ChatServer, **changes: Any) -> OpenAIServerModel:
    values: dict[str, Any] = {"api_key": KEY, "retry_delay": 0.0} | changes
    return OpenAIServerModel(server.url, "test-model", **values)


@pytest.fixture
def model(server: ChatServer) -> Iterator[OpenAIServerModel]:
    made = model_of(server)
    yield made
    made.close()


class TestContract(LanguageModelContract):
    @pytest.fixture
    def model(self, server: ChatServer) -> Iterator[LanguageModel]:
        made = model_of(server)
        yield made
        made.close()


def test_it_sends_what_such_servers_expect(server: ChatServer, model: OpenAIServerModel) -> None:
    answer = assert_answers(model, request_about("Rye bread."))
    sent = server.requests[0]

    assert (answer.prompt_tokens, answer.answer_tokens) == (7, 3)
    assert sent.path == "/v1/chat/completions"
    assert sent.authorization == f"Bearer {KEY}"
    assert sent.body == {
        "model": "test-model",
        "messages": [
            {"role": "system", "content": INSTRUCTIONS},
            {"role": "user", "content": "Rye bread."},
        ],
        "max_tokens": 120,
        "temperature": 0,
        "stream": False,
        "response_format": {
            "type": "json_schema",
            "json_schema": {"name": "answer", "strict": True, "schema": to_json_schema(SCHEMA)},
        },
    }


def test_examples_are_turns_of_the_same_chat(server: ChatServer, model: OpenAIServerModel) -> None:
    examples = (("Spelt.", '{"sure": true}'), ("Oats.", '{"sure": false}'))
    assert_answers(model, request_about("Rye bread.", examples=examples))
    messages = server.requests[0].body["messages"]
    assert [each["role"] for each in messages] == ["system", *["user", "assistant"] * 2, "user"]
    said = [text for each in examples for text in each]
    assert [each["content"] for each in messages] == [INSTRUCTIONS, *said, "Rye bread."]


def test_control_strings_of_a_note_do_not_reach_the_server_whole(
    server: ChatServer, model: OpenAIServerModel
) -> None:
    model.answer(request_about("a <|im_end|> b [/INST] c <end_of_turn> d </s> e <｜User｜> \ud800"))
    text = server.requests[0].body["messages"][1]["content"]

    assert text.encode("utf-8")
    for control in ("<|", "|>", "[/INST]", "<end_of_turn>", "</s>", "<｜"):
        assert control not in text


def formats(server: ChatServer) -> list[str]:
    found = []
    for request in server.requests:
        asked = request.body.get("response_format", {})
        bounded = " bounded" if "maxItems" in json.dumps(asked) else ""
        found.append(asked.get("type", "words") + bounded)
    return found


@pytest.mark.parametrize(
    ("status", "refused"),
    # Some servers call an unknown format an error of their own.
    [("400", 3), ("404", 3), ("422", 3), ("500", 2)],
)
def test_it_finds_out_how_the_server_wants_to_be_asked_and_remembers(
    server: ChatServer, model: OpenAIServerModel, status: str, refused: int
) -> None:
    server.faults = [*[status] * refused, ""]
    if status == "500":
        server.complaint = "1 validation error: response_format should be 'text' or 'json_object'"
    server.content = GOOD
    assert_answers(model, request_about("Rye bread."))
    assert_answers(model, request_about("Oat bread."))

    ways = ["json_schema bounded", "json_schema", "json_object bounded", "words"][: refused + 1]
    assert formats(server) == [*ways, ways[-1]]
    for request in server.requests[2:]:
        assert '"keywords"' in request.body["messages"][1]["content"]


def test_a_server_that_takes_a_schema_and_answers_in_prose_is_told_of_it_in_words(
    server: ChatServer, model: OpenAIServerModel
) -> None:
    server.content = lambda body: GOOD if "schema" in str(body["messages"][1]) else "Rye is fine."
    assert_answers(model, request_about("Rye bread."))
    assert_answers(model, request_about("Oat bread."))
    server.content = "Rye is fine, whatever is asked."
    assert model.answer(request_about("Rye bread.")).text == server.content
    assert len(server.requests) == 4


def ollama(server: ChatServer, window: int = 4096) -> OpenAIServerModel:
    return model_of(server, ollama_window=window)


def test_ollama_is_asked_in_its_own_way_with_the_window_of_the_settings(server: ChatServer) -> None:
    server.is_ollama = True
    model = ollama(server)
    answer = assert_answers(model, request_about("Rye bread."))
    model.close()
    (sent,) = server.requests
    assert sent.path == "/api/chat"
    assert sent.body["options"] == {"num_ctx": 4096, "num_predict": 120, "temperature": 0}
    assert (sent.body["think"], sent.body["format"]) == (False, to_json_schema(SCHEMA))
    assert (answer.prompt_tokens, answer.answer_tokens, answer.truncated) == (7, 3, False)


def test_a_prompt_that_ollama_cut_is_noticed(server: ChatServer) -> None:
    server.is_ollama, server.content = True, GOOD
    model = ollama(server, 100)
    long = request_about("Rye bread keeps. " * 100)
    assert model.answer(long).truncated
    server.usage = {"prompt_tokens": 240, "completion_tokens": 3}
    assert model.answer(long).truncated
    model.close()
    wide = ollama(server)
    assert not wide.answer(long).truncated
    server.usage = {}
    assert not wide.answer(long).truncated
    wide.close()


def test_an_old_ollama_is_asked_without_what_it_does_not_know(server: ChatServer) -> None:
    server.is_ollama, server.content = True, GOOD
    model = ollama(server)
    server.faults, server.complaint = ["400", ""], '"test-model" does not support thinking'
    assert_answers(model, request_about("Rye bread."))
    server.faults, server.complaint = ["400", "400", ""], "invalid format"
    assert_answers(model, request_about("Rye bread."))
    assert "think" not in server.requests[-1].body
    assert server.requests[-1].body["format"] == "json"
    assert '"keywords"' in server.requests[-1].body["messages"][1]["content"]
    model.close()


def test_a_server_that_is_no_ollama_is_asked_as_any_other(server: ChatServer) -> None:
    model = ollama(server)
    assert_answers(model, request_about("Rye bread."))
    assert_answers(model, request_about("Oat bread."))
    model.close()
    paths = [request.path for request in server.requests]
    assert paths == ["/api/chat", "/v1/chat/completions", "/v1/chat/completions"]


def test_a_model_that_ollama_has_not_is_named(server: ChatServer) -> None:
    server.is_ollama, server.faults = True, ["404"]
    server.complaint = "model 'test-model' not found"
    with pytest.raises(ModelError, match="'test-model' not found"):
        ollama(server).answer(request_about("Rye bread."))
    assert len(server.requests) == 1


def test_a_refusal_of_every_way_is_an_error_with_the_servers_reason(
    server: ChatServer, model: OpenAIServerModel
) -> None:
    server.faults = ["404"]
    server.complaint = "model 'x' not found\nfor {key}"
    error = failure(model)

    assert "404: model 'x' not found for Bearer ***" in error.message
    assert len(server.requests) == 4
    server.faults = [""]
    model.answer(request_about("Rye bread."))
    assert formats(server)[4] == "json_schema bounded"


def test_parameters_that_a_server_does_not_know_are_left_out(
    server: ChatServer, model: OpenAIServerModel
) -> None:
    server.faults = ["400", ""]
    server.complaint = "Unsupported parameter 'max_tokens'. Use 'max_completion_tokens' instead."
    model.answer(request_about("Rye bread."))
    server.faults = ["400", ""]
    server.complaint = "Unsupported value: 'temperature' does not support 0."
    model.answer(request_about("Rye bread."))
    model.answer(request_about("Rye bread."))

    last = server.requests[-1].body
    assert last["max_completion_tokens"] == 120
    assert "max_tokens" not in last
    assert "temperature" not in last
    assert formats(server) == ["json_schema bounded"] * 5


def test_a_prompt_too_long_for_the_server_is_not_sent_again(
    server: ChatServer, model: OpenAIServerModel
) -> None:
    server.faults = ["400"]
    server.complaint = "This model's maximum context length is 4096 tokens."

    assert "context length" in failure(model).message
    assert len(server.requests) == 1


@pytest.mark.parametrize(
    "fault", ["html", "empty_choices", "error_body", "redirect", "huge", "cut", "packed", "401"]
)
def test_a_misbehaving_server_is_an_error_and_is_asked_once(
    server: ChatServer, model: OpenAIServerModel, fault: str
) -> None:
    server.faults = [fault]
    server.complaint = "wrong key: {key}"
    server.redirect_to = f"http://localhost:{server.port}/elsewhere"

    failure(model)
    assert len(server.requests) == 1


def test_a_server_that_reports_its_error_as_a_success_is_quoted(
    server: ChatServer, model: OpenAIServerModel
) -> None:
    server.faults = ["error_body"]
    assert "no usable answer: no such model" in failure(model).message


@pytest.mark.parametrize("fault", ["429", "500", "503", "hang_up"])
def test_a_busy_server_is_asked_again_twice_at_most(
    server: ChatServer, model: OpenAIServerModel, fault: str
) -> None:
    server.faults = [fault, fault, ""]
    assert_answers(model, request_about("Rye bread."))
    assert len(server.requests) == 3

    server.requests.clear()
    server.faults = [fault]
    failure(model)
    assert len(server.requests) == 3


@pytest.mark.parametrize("reason", ["length", "content_filter", "tool_calls", None])
def test_an_answer_that_was_cut_is_not_complete(
    server: ChatServer, model: OpenAIServerModel, reason: str | None
) -> None:
    server.finish_reason = reason
    server.content = '{"keywords": ["ry'
    server.usage = {"prompt_tokens": "many", "completion_tokens": -1}
    answer = model.answer(request_about("Rye bread."))

    assert not answer.complete
    assert answer.text == '{"keywords": ["ry'
    assert (answer.prompt_tokens, answer.answer_tokens) == (0, 0)


def thinks(server: ChatServer, tokens: int, message: dict[str, Any]) -> None:
    """The model thinks so many tokens before it answers, which count for the bound."""

    def said(body: dict[str, Any]) -> str:
        most = body.get("max_completion_tokens") or body.get("max_tokens")
        most = most or body["options"]["num_predict"]
        server.finish_reason = "length" if most < tokens else "stop"
        server.message = message if most < tokens else {}
        server.usage = {"prompt_tokens": 7, "completion_tokens": min(most, tokens + 3)}
        return GOOD

    server.content = said


@pytest.mark.parametrize(
    "message",
    [
        {"content": ""},
        {"content": None},
        {"content": " {"},
        {"content": "<think>\nOkay, the user wants me to find out what this is about."},
        {"content": "Okay, the user wants me to find out what this is about. " * 20},
        {"content": "Of what I was told I say", "reasoning_content": "Okay " * 100},
        {"content": "Of what I was told I say", "reasoning": "Okay " * 100},
    ],
)
def test_a_model_that_thinks_gets_more_room_from_then_on(
    server: ChatServer, model: OpenAIServerModel, message: dict[str, Any]
) -> None:
    thinks(server, 500, message)
    request = replace(request_about("rye"), max_tokens=100)
    answer = model.answer(request)
    assert (answer.text, answer.complete) == (GOOD, True)
    # What was paid for the thoughts is counted too.
    assert (answer.prompt_tokens, answer.answer_tokens) == (14, 603)
    assert model.answer(request).complete
    sent = [each.body for each in server.requests]
    assert [body["max_tokens"] for body in sent] == [100, 4096, 4096]
    assert [body.get("reasoning_effort") for body in sent] == [None, "low", "low"]
    assert sent[1]["chat_template_kwargs"] == {"enable_thinking": False}


def test_ollama_gives_a_model_that_thinks_all_the_same_more_room(server: ChatServer) -> None:
    server.is_ollama = True
    thinks(server, 500, {"content": "", "thinking": "Okay"})
    model = model_of(server, ollama_window=4096)
    assert model.answer(replace(request_about("rye"), max_tokens=100)).complete
    assert [each.body["options"]["num_predict"] for each in server.requests] == [100, 4096]


def test_a_model_that_never_stops_thinking_gives_no_answer(
    server: ChatServer, model: OpenAIServerModel
) -> None:
    thinks(server, 10_000, {"content": ""})
    request = replace(request_about("rye"), max_tokens=100)
    for asked in (2, 3):
        with pytest.raises(ModelError, match="thought until its answer was cut off"):
            model.answer(request)
        assert len(server.requests) == asked


@pytest.mark.parametrize(
    "complaint",
    [
        "This model's maximum context length is 1000 tokens.",
        "max_tokens is too large: 4096. This model supports at most 4000 completion tokens.",
        "max_tokens: 4096 > 2048, which is the maximum allowed number of output tokens",
        "Invalid max_tokens value, the valid range of max_tokens is [1, 2048]",
        "`max_tokens` must be less than or equal to `2048`",
    ],
)
def test_the_room_for_thoughts_is_no_more_than_the_model_has(
    server: ChatServer, model: OpenAIServerModel, complaint: str
) -> None:
    thinks(server, 350, {"content": ""})
    server.complaint = complaint
    server.faults = ["", "400", ""]
    assert model.answer(replace(request_about("rye"), max_tokens=100)).complete
    assert [each.body["max_tokens"] for each in server.requests] == [100, 4096, 2048]


@pytest.mark.parametrize("complaint", ["Unknown parameter: 'chat_template_kwargs'.", "bad request"])
def test_a_server_that_knows_no_switch_for_thoughts_is_asked_without_it(
    server: ChatServer, model: OpenAIServerModel, complaint: str
) -> None:
    thinks(server, 500, {"content": ""})
    server.complaint = complaint
    server.faults = ["", "400", ""]
    assert model.answer(replace(request_about("rye"), max_tokens=100)).complete
    last = server.requests[-1].body
    assert (last["max_tokens"], last["response_format"]["type"]) == (4096, "json_schema")
    assert "chat_template_kwargs" not in last


def test_a_long_answer_that_was_cut_is_no_sign_of_thoughts(
    server: ChatServer, model: OpenAIServerModel
) -> None:
    server.content, server.finish_reason = GOOD[:-9], "length"
    assert not model.answer(request_about("rye")).complete
    assert len(server.requests) == 1


@pytest.mark.parametrize(
    ("message", "reason"),
    [
        ({"content": [{"type": "text", "text": GOOD}]}, "stop"),
        (
            {
                "content": [
                    {"type": "thinking", "thinking": [{"type": "text", "text": "Rye?"}]},
                    {"type": "text", "text": GOOD},
                ]
            },
            "stop",
        ),
        ({"content": None, "reasoning_content": GOOD}, "stop"),
        ({"content": "", "reasoning": f"Rye, so\n{GOOD}\n"}, "stop"),
        ({"content": GOOD}, "length"),
        ({"content": GOOD + "\n" * 900}, "length"),
        ({"content": f"```json\n{GOOD}\n```"}, "stop"),
        ({"content": f"<think>\nRye?\n</think>\n\n{GOOD}\n"}, "stop"),
        ({"content": f"```json\n{GOOD}\n```"}, "length"),
        ({"content": f"<think>Rye?</think>{GOOD}", "reasoning": "Rye"}, "length"),
        ({"content": GOOD}, None),
        ({"content": GOOD}, "STOP"),
    ],
)
def test_a_whole_answer_is_found_wherever_a_server_puts_it_and_however_it_ends(
    server: ChatServer, model: OpenAIServerModel, message: dict[str, Any], reason: str | None
) -> None:
    server.message, server.finish_reason = message, reason
    answer = model.answer(request_about("Rye bread."))
    assert (answer.text, answer.complete, len(server.requests)) == (GOOD, True, 1)


def test_a_draft_among_thoughts_that_were_cut_is_no_answer(
    server: ChatServer, model: OpenAIServerModel
) -> None:
    thinks(server, 500, {"content": None, "reasoning_content": f"Maybe {GOOD}? But"})
    request = replace(request_about("rye"), max_tokens=100)
    assert model.answer(request).complete
    assert len(server.requests) == 2


def test_the_key_and_the_note_are_not_logged(
    server: ChatServer, model: OpenAIServerModel, caplog: pytest.LogCaptureFixture
) -> None:
    caplog.set_level(logging.DEBUG)
    model.answer(request_about("Rye bread."))

    assert "SECRET" not in caplog.text
    assert "Rye bread" not in caplog.text
    assert "SECRET" not in repr(model)


@pytest.mark.parametrize(
    ("url", "remote"),
    [
        ("http://127.0.0.1:11434/v1", False),
        ("http://localhost:8080/v1/", False),
        ("http://[::1]:8080/v1", False),
        ("https://api.example.org/v1", True),
        ("https://192.168.1.5/v1", True),
        ("https://127.0.0.1.example.org/v1", True),
        ("https://localhost.example.org/v1", True),
    ],
)
def test_only_this_machine_is_not_remote(url: str, remote: bool) -> None:
    assert OpenAIServerModel(url, "m").is_remote is remote


@pytest.mark.parametrize(
    "url",
    [
        "",
        "api.example.org/v1",
        "ftp://127.0.0.1/v1",
        "file:///etc/passwd",
        "http://",
        "http://[::1/v1",
        "http://127.0.0.1:port/v1",
        "http://api.example.org/v1",
        "http://192.168.1.5:11434/v1",
        "https://name:SECRET@api.example.org/v1",
        "https://api.example.org/v1?key=SECRET",
    ],
)
def test_an_unusable_address_is_refused(url: str) -> None:
    with pytest.raises(SettingsError) as caught:
        OpenAIServerModel(url, "m")

    assert "SECRET" not in caught.value.message + caught.value.hint


def test_the_tokens_that_a_server_had_in_its_cache_are_counted(server: ChatServer) -> None:
    server.content = GOOD
    details: list[tuple[object, int]] = [
        ({"cached_tokens": 60}, 60),
        ({"cached_tokens": 900}, 100),
        ({"cached_tokens": -1}, 0),
        ([60], 0),
        (None, 0),
    ]
    with contextlib.closing(model_of(server)) as model:
        for told, counted in details:
            counts = {"prompt_tokens": 100, "completion_tokens": 3}
            server.usage = {**counts, "prompt_tokens_details": told}
            assert model.answer(request_about("Rye bread.")).reused_tokens == counted


@pytest.mark.parametrize("is_ollama", [False, True])
def test_two_questions_of_a_step_begin_with_the_same_instructions_and_nothing_else(
    server: ChatServer, is_ollama: bool
) -> None:
    server.is_ollama, server.content = is_ollama, GOOD
    # In all forms that a schema can be told in.
    server.faults, server.complaint = ["400"], "unknown parameter"
    one = {"sure": SCHEMA["properties"]["sure"]}
    few = replace(request_about("Oat bread."), schema={**SCHEMA, "properties": one})
    with contextlib.closing(model_of(server, ollama_window=4096 if is_ollama else 0)) as model:
        for request in (request_about("Rye bread."), few):
            with pytest.raises(ModelError):
                model.answer(request)
    assert len(server.requests) >= 6
    first = {json.dumps(each.body["messages"][0]) for each in server.requests}
    assert first == {json.dumps({"role": "system", "content": INSTRUCTIONS})}


def test_closing_ends_what_is_under_way(server: ChatServer) -> None:
    arrived = threading.Semaphore(0)

    def content(body: dict[str, Any]) -> str:
        arrived.release()
        server.stopped.wait(30)
        return GOOD

    server.content = GOOD
    model = model_of(server)
    model.answer(request_about("Rye bread."))
    server.content = content
    with ThreadPoolExecutor(1) as pool:
        under_way = pool.submit(model.answer, request_about("Oat bread."))
        assert arrived.acquire(timeout=30)
        model.close()
        with pytest.raises(ModelClosed):
            under_way.result(30)
    server.content = GOOD
    assert model.answer(request_about("Rye bread.")).complete
    model.close()


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
