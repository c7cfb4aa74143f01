"""Settings and their layers."""

from __future__ import annotations

from pathlib import Path

import pytest

from amem_cli.errors import NotFoundError, SettingsError
from amem_cli.settings import load_settings, parse_setting, read_settings_file
from amem_cli.vault.settings_file import write_values


def test_each_layer_overrides_the_one_below(tmp_path: Path) -> None:
    user, vault = tmp_path / "user.toml", tmp_path / "vault.toml"
    user.write_text('notes_dir = "inbox"\n[llm]\nbackend = "ollama"\nmodel = "a"\n')
    vault.write_text('[llm]\nmodel = "b"\n[unknown]\nkey = 1\n')
    settings, origin = load_settings(vault, user, {"AMEM_EVOLUTION_MAX_LINKS": "2"})
    assert (settings.notes_dir, settings.llm_backend, settings.llm_model) == (
        "inbox",
        "ollama",
        "b",
    )
    assert settings.evolution_max_links == 2
    wanted = {"notes_dir": "user", "llm.model": "vault", "evolution.max_links": "environment"}
    assert {key: origin[key] for key in wanted} == wanted
    assert origin["encoder.model"] == "built-in"


@pytest.mark.parametrize(
    ("variables", "backend", "layer"),
    [
        ({"AMEM_LLM_MODEL": "a.gguf"}, "llama.cpp", "environment"),
        (
            {"AMEM_LLM_MODEL": "a", "AMEM_LLM_BASE_URL": "http://[::1]:1/v1"},
            "openai",
            "environment",
        ),
        ({"AMEM_LLM_MODEL": "a.gguf", "AMEM_LLM_BACKEND": "none"}, "none", "environment"),
        ({"AMEM_LLM_MODEL": "a", "AMEM_LLM_BACKEND": "ollama"}, "ollama", "environment"),
        ({}, "none", "vault"),
    ],
)
def test_a_model_that_is_named_where_none_was_chosen_is_used(
    tmp_path: Path, variables: dict[str, str], backend: str, layer: str
) -> None:
    vault = tmp_path / "vault.toml"
    vault.write_text('[llm]\nbackend = "none"\nmodel = "left.gguf"\n')
    settings, origin = load_settings(vault, tmp_path / "user.toml", variables)
    assert (settings.llm_backend, origin["llm.backend"]) == (backend, layer)


@pytest.mark.parametrize(
    ("key", "text"),
    [
        ("llm.backend", "magic"),
        ("llm.threads", "many"),
        ("llm.threads", "0"),
        ("evolution.mode", "sometimes"),
        ("notes_dir", "../elsewhere"),
        ("notes_dir", ".git"),
    ],
)
def test_values_that_do_not_fit_are_refused(key: str, text: str) -> None:
    with pytest.raises(SettingsError):
        parse_setting(key, text)


def test_unknown_settings_and_broken_files_are_told(tmp_path: Path) -> None:
    with pytest.raises(NotFoundError):
        parse_setting("nonsense", "1")
    broken = tmp_path / "config.toml"
    broken.write_text("a = [")
    with pytest.raises(SettingsError):
        read_settings_file(broken)
    broken.write_text('[llm]\nthreads = "two"\n')
    with pytest.raises(SettingsError, match=r"llm\.threads in vault"):
        load_settings(broken, tmp_path / "none.toml", {})


def test_writing_one_value_keeps_the_rest(tmp_path: Path) -> None:
    path = tmp_path / "config.toml"
    text = '# mine\nnotes_dir = "notes"  # here\n\n[llm]\n# threads = 4\nbackend = "none"\n'
    path.write_text(text)
    write_values(path, {"llm.backend": "ollama"})
    assert path.read_text() == text.replace('"none"', '"ollama"')
    write_values(path, {"exclude.folders": ("a", "b")})
    assert load_settings(path, tmp_path / "none.toml", {})[0].exclude_folders == ("a", "b")
