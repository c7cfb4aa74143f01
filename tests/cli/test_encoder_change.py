"""Another encoder by one setting: all notes are embedded by it, once and by nobody undone."""

from __future__ import annotations

import os
from contextlib import closing
from pathlib import Path

import pytest

from amem_cli.errors import EncoderError
from amem_cli.workspace.workspace import Workspace
from tests.conftest import Program
from tests.fakes.prepared_encoder import prepare_hub_model
from tests.vaults import write_note
from tests.watching import watching

pytestmark = pytest.mark.slow

COUNT = 250
OFFLINE = {"HF_HUB_OFFLINE": "1"}


@pytest.fixture
def vault(amem: Program, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Program:
    cache = tmp_path / "cache"
    monkeypatch.setenv("AMEM_CACHE_DIR", str(cache))
    amem.environment |= OFFLINE
    for name in ("nobody/first", "nobody/second"):
        prepare_hub_model(cache, name)
    amem.vault()
    for number in range(COUNT):
        write_note(tmp_path / "v", f"notes/{number}.md", f"bread {number} in the warm kitchen\n")
    assert amem("config", "set", "encoder.model", "nobody/first").code == 0
    assert amem("index").code == 0
    return amem


def test_the_next_search_embeds_all_notes_by_the_new_encoder(
    vault: Program, tmp_path: Path
) -> None:
    changed = vault("config", "set", "encoder.model", "nobody/second")
    assert "amem index" in changed.err
    found = vault("search", "warm bread", "--mode", "semantic", "--json")
    assert (found.code, len(found.json["hits"])) == (0, 5)
    assert serving(tmp_path / "v") == "second"
    assert vault("index", "--json").json["passages_embedded"] == 0


def test_an_encoder_that_cannot_be_run_costs_no_vectors(vault: Program, tmp_path: Path) -> None:
    assert vault("config", "set", "encoder.model", "nobody/no-such-model").code == 0
    assert vault("index").code == 3
    assert vault("config", "set", "encoder.model", "nobody/first").code == 0
    assert vault("index", "--json").json["passages_embedded"] == 0


def test_words_alone_decide_where_no_encoder_can_be_had(vault: Program) -> None:
    assert vault("config", "set", "encoder.model", "nobody/no-such-model").code == 0
    found = vault("search", "warm bread", "--json")
    assert (found.code, found.json["mode"], len(found.json["hits"])) == (0, "keyword", 5)
    assert found.err.count("searched by words alone") == 1
    assert found.err.count("preparing the encoder") == 1
    many = vault("search", "--queries", "-", stdin="bread\nkitchen\n")
    assert (many.code, many.out.count('"mode": "keyword"')) == (0, 2)
    refused = vault("search", "warm bread", "--mode", "semantic", "--json")
    assert (refused.code, refused.json["exit_code"]) == (3, 3)


def test_a_watcher_without_an_encoder_keeps_the_words_of_notes(
    vault: Program, tmp_path: Path
) -> None:
    assert vault("config", "set", "encoder.model", "nobody/no-such-model").code == 0
    with watching(vault, tmp_path / "v", "--no-llm") as watcher:
        write_note(tmp_path / "v", "notes/sourdough.md", "sourdough rose slowly\n")
        watcher.until_told("noticed", added=1)
        found = vault("search", "sourdough", "--mode", "keyword", "--json").json["hits"]
        assert [hit["path"] for hit in found] == ["notes/sourdough.md"]
        assert vault("watch", "--status", "--json").json["running"]
    told = [each["text"] for each in watcher.lines("trouble") if "found by words" in each["text"]]
    assert len(told) == 1
    assert "nobody/no-such-model" in told[0]


def serving(root: Path) -> str:
    """The encoder whose vectors searches see."""
    with closing(Workspace(root, environment=dict(os.environ))) as workspace:
        return str(workspace.index.vectors.encoder()).partition("@")[0]


def test_a_running_watcher_goes_over(vault: Program, tmp_path: Path) -> None:
    root = tmp_path / "v"
    with watching(vault, root, "--no-llm") as watcher:
        changed = vault("config", "set", "encoder.model", "nobody/second")
        assert "watcher" in changed.err
        watcher.until_told("settings", changed=["encoder.model"], restart=[])
        watcher.until(lambda: serving(root) == "second")
        # It stays with it, also for what is written now.
        write_note(root, "notes/sourdough.md", "sourdough rose slowly\n")
        watcher.until_told("searchable", passages=1)
        assert serving(root) == "second"
        assert watcher.end() == 0
    found = vault("search", "sourdough", "--mode", "semantic", "--json")
    assert (found.err, found.json["hits"][0]["path"]) == ("", "notes/sourdough.md")
    assert vault("index", "--json").json["passages_embedded"] == 0


def test_a_program_with_former_settings_does_not_undo_the_change(
    vault: Program, tmp_path: Path
) -> None:
    root = tmp_path / "v"
    environment = {**os.environ, **vault.environment}
    with closing(Workspace(root, environment=environment)) as workspace:
        assert len(workspace.search("warm bread", mode="semantic").hits) == 5
        assert vault("config", "set", "encoder.model", "nobody/second").code == 0
        assert vault("index").code == 0
        with pytest.raises(EncoderError, match="another encoder"):
            workspace.search("warm bread", mode="semantic")
        assert workspace.search("warm bread").mode == "keyword"
    assert serving(root) == "second"
    assert vault("index", "--json").json["passages_embedded"] == 0
