"""The fake language models keep the contract of the real ones."""

from __future__ import annotations

import json
import random

import pytest

from amem_cli.errors import ModelError
from amem_cli.models.ports import LanguageModel, ModelAnswer, ModelRequest
from tests.contracts.language_model_contract import LanguageModelContract, request_about
from tests.fakes.language_model import EchoSchemaModel, ScriptedModel, random_value


def made_up(request: ModelRequest) -> str:
    return json.dumps(random_value(request.schema, random.Random(1)))


class TestScriptedModel(LanguageModelContract):
    @pytest.fixture
    def model(self) -> LanguageModel:
        return ScriptedModel([made_up, made_up])


class TestEchoSchemaModel(LanguageModelContract):
    @pytest.fixture
    def model(self) -> LanguageModel:
        return EchoSchemaModel(seed=3)


def test_a_script_is_said_in_order_and_recorded() -> None:
    cut = ModelAnswer("{", complete=False, prompt_tokens=1, answer_tokens=1, seconds=0.0)
    model = ScriptedModel(["{}", cut, ModelError("down")])

    assert model.answer(request_about("first")).text == "{}"
    assert model.answer(request_about("second")) is cut
    for expected in ("down", "no answer left"):
        with pytest.raises(ModelError, match=expected):
            model.answer(request_about("more"))
    assert [request.text for request in model.requests] == ["first", "second", "more", "more"]


def test_made_up_answers_follow_the_seed() -> None:
    texts = [EchoSchemaModel(seed=5).answer(request_about("x")).text for _ in range(2)]

    assert texts[0] == texts[1]
    assert EchoSchemaModel(seed=6).answer(request_about("x")).text != texts[0]
