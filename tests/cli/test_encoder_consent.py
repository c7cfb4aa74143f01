"""A vault that somebody shared cannot make this machine download a model."""

from __future__ import annotations

from pathlib import Path

from tests.conftest import Program

OFFLINE = {"HF_HUB_OFFLINE": "1"}
UNKNOWN = "nobody/encoder-that-is-not-here"


def test_an_encoder_that_only_the_vault_names_is_not_downloaded(
    amem: Program, tmp_path: Path
) -> None:
    assert amem("init").code == 0
    config = tmp_path / ".amem/config.toml"
    config.write_text(config.read_text().replace('"all-MiniLM-L6-v2"', f'"{UNKNOWN}"'))
    refused = amem("search", "anything", "--mode", "semantic", **OFFLINE)
    assert refused.code == 3
    assert "not on this machine" in refused.err
    assert f"amem config set encoder.model {UNKNOWN}" in refused.err
    assert amem("search", "idea", "--mode", "keyword", **OFFLINE).code == 0


def test_whoever_sets_it_here_may_download_it(amem: Program) -> None:
    assert amem("init").code == 0
    assert amem("config", "set", "encoder.model", UNKNOWN).code == 0
    tried = amem("search", "anything", "--mode", "semantic", **OFFLINE)
    assert tried.code == 3
    assert "amem config set" not in tried.err
