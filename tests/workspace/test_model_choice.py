"""How a person names a model, and its verdict, which decides what the model is asked for."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from amem_cli.journal.link_decisions import USUAL_MINIMUM
from amem_cli.memory.outcome import PLAUSIBLE, ModelTrust
from amem_cli.models.named import settings_of_model, split_name
from amem_cli.settings import Settings, user_state_folder
from amem_cli.workspace.verdicts import (
    VERDICTS_FILE,
    StoredVerdict,
    model_subject,
    store_verdict,
    trust_in,
)

URL = "http://127.0.0.1:1/v1"
NAMED = Settings(llm_backend="openai", llm_model="some", llm_base_url=URL)
BUNDLED = Settings(llm_backend="llama.cpp")


@pytest.fixture
def environment(tmp_path: Path) -> dict[str, str]:
    return {"AMEM_STATE_DIR": str(tmp_path / "state"), "HOME": str(tmp_path)}


def told(settings: Settings, kind: str, environment: dict[str, str], sure: float = 0.9) -> None:
    verdict = StoredVerdict(kind, f"{kind} for it", "2026-03-02", sure, keywords=True)
    store_verdict(model_subject(settings, environment), verdict, environment)


def test_a_model_never_tested_is_trusted_where_a_person_named_it(
    environment: dict[str, str],
) -> None:
    assert trust_in(NAMED, environment) == ModelTrust("all", PLAUSIBLE)
    assert trust_in(BUNDLED, environment) == ModelTrust("context", PLAUSIBLE)
    # Most files that run at home are small; a test shows which can do more.
    file = Settings(llm_backend="llama.cpp", llm_model="/models/some.gguf")
    assert trust_in(file, environment) == ModelTrust("context", PLAUSIBLE)


@pytest.mark.parametrize(
    ("kind", "asked_for"), [("fit", "all"), ("usable", "context"), ("unfit", "nothing")]
)
def test_the_verdict_decides_once_there_is_one(
    environment: dict[str, str], kind: str, asked_for: str
) -> None:
    told(NAMED, kind, environment)
    assert trust_in(NAMED, environment).asked_for == asked_for
    # Another model is another matter.
    other = Settings(llm_backend="openai", llm_model="other", llm_base_url=URL)
    assert trust_in(other, environment).asked_for == "all"


def test_the_bundled_model_is_never_asked_for_more_than_contexts(
    environment: dict[str, str],
) -> None:
    told(BUNDLED, "fit", environment)
    assert trust_in(BUNDLED, environment).asked_for == "context"
    told(BUNDLED, "unfit", environment)
    assert trust_in(BUNDLED, environment).asked_for == "nothing"


def test_how_often_its_yes_is_right_sets_the_evidence_that_it_needs(
    environment: dict[str, str],
) -> None:
    found = []
    for sure in (1.0, 0.9, 0.8, 0.2):
        told(NAMED, "fit", environment, sure)
        found.append(round(trust_in(NAMED, environment).plausible, 3))
    assert found == [PLAUSIBLE, 0.1, 0.2, USUAL_MINIMUM]


@pytest.mark.parametrize(
    "damage",
    [
        {"reliability": None},
        {"reliability": "high"},
        {"reliability": 7.0},
        {"reliability": float("nan")},
        {"kind": "marvellous"},
        {"asked_with": "other questions"},
    ],
)
def test_an_entry_that_is_damaged_or_of_other_questions_says_nothing(
    environment: dict[str, str], damage: dict[str, object]
) -> None:
    told(NAMED, "unfit", environment)
    path = user_state_folder(environment) / VERDICTS_FILE
    kept = json.loads(path.read_text(encoding="utf-8"))
    for entry in kept.values():
        entry.update(damage)
    path.write_text(json.dumps(kept), encoding="utf-8")
    assert trust_in(NAMED, environment) == ModelTrust("all", PLAUSIBLE)


@pytest.mark.parametrize("text", ["", "[]", "{", '{"a": 3}', "[" * 100_000, "\x00"])
def test_a_file_that_is_no_list_of_verdicts_is_as_none(
    environment: dict[str, str], text: str
) -> None:
    told(NAMED, "unfit", environment)
    path = user_state_folder(environment) / VERDICTS_FILE
    path.write_text(text, encoding="utf-8")
    assert trust_in(NAMED, environment).asked_for == "all"
    told(NAMED, "usable", environment)
    assert trust_in(NAMED, environment).asked_for == "context"


@pytest.mark.parametrize(
    ("text", "parts"),
    [
        ("none", ("none", None, "")),
        ("qwen3:4b", ("qwen3:4b", None, "")),
        ("ollama:qwen3:4b", ("qwen3:4b", "ollama", "")),
        ("openai:gpt-4o-mini", ("gpt-4o-mini", "openai", "")),
        ("m@http://127.0.0.1:8080/v1", ("m", None, "http://127.0.0.1:8080/v1")),
        ("openai:a@b@https://x/v1", ("a@b", "openai", "https://x/v1")),
        ("command:llm -m a@https://b", ("llm -m a@https://b", "command", "")),
        ("llama.cpp:~/m.gguf", ("~/m.gguf", "llama.cpp", "")),
        ("C:\\models\\m.gguf", ("C:\\models\\m.gguf", None, "")),
        ("command:", ("", "command", "")),
    ],
)
def test_a_name_may_hold_its_backend_and_its_address(
    text: str, parts: tuple[str, str | None, str]
) -> None:
    assert split_name(text) == parts


def test_options_beside_the_name_count_as_they_are_given() -> None:
    def settings(name: str, backend: str | None, url: str) -> dict[str, str]:
        return settings_of_model(name, backend, url, {}, lambda label, done, total: None)

    short = settings("openai:m@http://127.0.0.1:8080/v1", None, "")
    assert short == settings("m", "openai", "http://127.0.0.1:8080/v1")
    assert settings("openai:m", "ollama", "")["llm.model"] == "openai:m"
