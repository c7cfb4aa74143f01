"""How a person names a model in one word."""

from __future__ import annotations

import pytest

from amem_cli.models.named import settings_of_model, split_name


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
