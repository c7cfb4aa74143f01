"""The command adapter with Simon Willison's `llm` and its SmolLM2, as a user installs them."""

from __future__ import annotations

import os
import shlex
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

from amem_cli.errors import ModelError
from amem_cli.models.command import CommandModel
from amem_cli.models.ports import AnswerRejected, ModelRequest
from amem_cli.models.reply_schema import read_answer
from tests.conftest import Program
from tests.contracts.language_model_contract import request_about

LLM = Path(sys.executable).with_name("llm")
LINE = f"{shlex.quote(str(LLM))} -m SmolLM2 --no-log --no-stream"
SCHEMA = {"type": "object", "properties": {"is_bread": {"type": "boolean"}}}
pytestmark = [
    pytest.mark.slow,
    pytest.mark.models,
    pytest.mark.skipif(not LLM.exists(), reason="llm is not installed: pip install -e '.[dev]'"),
]


@pytest.fixture
def model(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[CommandModel]:
    monkeypatch.setenv("LLM_USER_PATH", str(tmp_path / "llm"))
    made = CommandModel(LINE, tmp_path / "vault", os.environ)
    yield made
    made.close()


def test_what_it_writes_in_place_of_an_answer_does_not_pass_for_one(model: CommandModel) -> None:
    # The smallest of models copies the form, or chats, instead of filling it in.
    request = ModelRequest("Is it about bread?", "Rye bread keeps for a week.", SCHEMA, 20, 120.0)
    answer = model.answer(request)
    assert answer.complete
    assert answer.text.strip()
    assert answer.prompt_tokens > 50 and answer.answer_tokens > 0
    with pytest.raises(AnswerRejected):
        read_answer(answer.text, SCHEMA)


def test_its_own_words_for_a_fault_are_told(model: CommandModel, tmp_path: Path) -> None:
    # The plug-in's window holds 512 tokens.
    with pytest.raises(ModelError, match="context window"):
        model.answer(request_about("Rye bread rises. " * 300, deadline=120.0))
    unknown = CommandModel(LINE.replace("SmolLM2", "no-such-model"), tmp_path / "vault", os.environ)
    with pytest.raises(ModelError, match="no-such-model"):
        unknown.answer(request_about("Rye.", deadline=120.0))


def test_a_note_is_safe_whatever_it_answers(
    amem: Program, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("LLM_USER_PATH", str(tmp_path / "llm"))
    amem.vault()
    del amem.environment["AMEM_LLM_BACKEND"]
    assert amem("model", "use", LINE, "--backend", "command").code == 0
    added = amem("add", "Rye bread keeps for a week in a linen bag.", "--json")
    assert added.code == 0, added.err
    assert (amem.folder / "v" / added.json["path"]).is_file()
    tested = amem("model", "test", "--seconds", "600", "--json")
    assert tested.json["model"] == "llm -m SmolLM2 --no-log --no-stream (command)"
    # Its window is too small for the examples.
    assert tested.json["verdict"] is None
    assert tested.json["reason"].startswith("it could not be asked")
    assert "context window of 512" in tested.json["reason"]
