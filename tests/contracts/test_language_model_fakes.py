"""The fake language models keep the contract of the real ones."""

from __future__ import annotations

import json
import random

import pytest

from amem_cli.models.ports import LanguageModel, ModelRequest
from tests.contracts.language_model_contract import LanguageModelContract
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
