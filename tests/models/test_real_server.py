"""The server adapter against a real OpenAI-compatible server."""

from __future__ import annotations

from collections.abc import Iterator
from importlib.util import find_spec

import pytest

from amem_cli.errors import ModelError
from amem_cli.models.discovery import LocalServer, running_servers
from amem_cli.models.llama_cpp import bundled_model
from amem_cli.models.openai_server import OpenAIServerModel
from amem_cli.models.ports import ModelRequest
from amem_cli.models.reply_schema import read_answer
from tests.conftest import Program
from tests.contracts.language_model_contract import request_about
from tests.fakes.llama_cpp_server import a_llama_cpp_server
from tests.fakes.tiny_gguf import write_tiny_gguf

needs_server = pytest.mark.skipif(
    any(find_spec(name) is None for name in ("fastapi", "uvicorn", "sse_starlette")),
    reason="the server of llama-cpp-python is not installed: pip install -e '.[dev]'",
)
pytestmark = [pytest.mark.slow, needs_server, pytest.mark.models]


@pytest.fixture(scope="module")
def tiny_server(tmp_path_factory: pytest.TempPathFactory) -> Iterator[str]:
    folder = tmp_path_factory.mktemp("server")
    model = write_tiny_gguf(folder / "tiny.gguf")
    with a_llama_cpp_server(model, folder / "log", window=2048) as url:
        yield url


@pytest.fixture(scope="module")
def bundled_server(tmp_path_factory: pytest.TempPathFactory) -> Iterator[str]:
    folder = tmp_path_factory.mktemp("server")
    with a_llama_cpp_server(bundled_model(), folder / "log") as url:
        yield url


def test_a_real_server_is_found_with_its_models(tiny_server: str) -> None:
    place = LocalServer("llama-server", int(tiny_server.rpartition(":")[2].partition("/")[0]))
    (found,) = running_servers([place], seconds=5.0)
    assert (found.backend, found.url) == ("openai", tiny_server)
    assert len(found.models) == 1


def test_a_real_server_that_refuses_the_usual_schema_is_asked_in_another_way(
    bundled_server: str,
) -> None:
    model = OpenAIServerModel(bundled_server, "any")
    schema = {"type": "object", "properties": {"is_bread": {"type": "boolean"}}}
    try:
        for text in ("Rye bread keeps for a week.", "Oat bread does not."):
            request = ModelRequest("Is it about bread? Answer in JSON.", text, schema, 20, 60.0)
            answer = model.answer(request)
            assert set(read_answer(answer.text, schema)) == {"is_bread"}
            assert answer.prompt_tokens > 0 < answer.answer_tokens
    finally:
        model.close()


def test_a_prompt_longer_than_the_window_is_refused_by_name(tiny_server: str) -> None:
    model = OpenAIServerModel(tiny_server, "any")
    try:
        with pytest.raises(ModelError, match="context"):
            model.answer(request_about("Rye bread. " * 2000))
    finally:
        model.close()


def test_a_note_goes_through_the_process_with_a_real_server(
    amem: Program, bundled_server: str
) -> None:
    assert amem("init", "v").code == 0
    amem.environment |= {
        "AMEM_VAULT": str(amem.folder / "v"),
        "AMEM_LLM_BACKEND": "openai",
        "AMEM_LLM_MODEL": "any",
        "AMEM_LLM_BASE_URL": bundled_server,
        # Its usual time does not suffice where other programs use the cores.
        "AMEM_LLM_DEADLINE_SECONDS": "600",
    }
    added = amem(
        "add", "Rye bread keeps for a week in a linen bag, and oat bread does not.", "--json"
    )
    assert (added.code, added.json["pending"]) == (0, False), added.err
    assert added.json["keywords"]
