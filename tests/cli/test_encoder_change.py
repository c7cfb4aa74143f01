"""Another encoder by one setting: told at once, made by `amem index`, and searches go on."""

from __future__ import annotations

import os
from contextlib import closing
from pathlib import Path
from typing import Any

import pytest

from amem_cli.index.sync import embed_missing
from amem_cli.index.vectors import EMBEDDED_AT_ONCE
from amem_cli.models.encoder_files import GRAPH_FILE
from amem_cli.workspace.workspace import Workspace
from tests.conftest import Program
from tests.fakes.prepared_encoder import prepare_hub_model
from tests.vaults import write_note
from tests.watching import watching

pytestmark = pytest.mark.slow

COUNT = EMBEDDED_AT_ONCE + 50
OFFLINE = {"HF_HUB_OFFLINE": "1"}


@pytest.fixture
def vault(amem: Program, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Program:
    cache = tmp_path / "cache"
    monkeypatch.setenv("AMEM_CACHE_DIR", str(cache))
    amem.environment |= OFFLINE
    for name in ("nobody/first", "nobody/second"):
        prepare_hub_model(cache, name)
    assert amem("init", "v").code == 0
    amem.environment["AMEM_VAULT"] = str(tmp_path / "v")
    for number in range(COUNT):
        write_note(tmp_path / "v", f"notes/{number}.md", f"bread {number} in the warm kitchen\n")
    assert amem("config", "set", "encoder.model", "nobody/first").code == 0
    assert amem("index").code == 0
    return amem


def test_searches_go_on_until_the_index_has_gone_over(vault: Program) -> None:
    changed = vault("config", "set", "encoder.model", "nobody/second")
    assert "amem index" in changed.err
    found = vault("search", "warm bread", "--mode", "semantic", "--json")
    assert found.code == 0
    assert len(found.json["hits"]) == 5
    assert "first still answers" in found.err
    assert "amem index" in found.err
    assert "still answers" not in vault("search", "bread", "--mode", "keyword").err
    added = vault("add", "sourdough rose slowly", "--no-llm", "--json")
    assert added.code == 0
    (hit, *_) = vault("search", "sourdough", "--mode", "semantic", "--json").json["hits"]
    assert hit["id"] == added.json["id"]

    indexed = vault("index", "--json")
    assert indexed.json["passages_embedded"] == indexed.json["notes"]
    found = vault("search", "warm bread", "--mode", "semantic", "--json")
    assert (found.code, found.err, len(found.json["hits"])) == (0, "", 5)

    assert vault("config", "set", "encoder.model", "nobody/first").code == 0
    found = vault("search", "warm bread", "--mode", "semantic", "--json")
    assert (found.code, found.err, len(found.json["hits"])) == (0, "", 5)
    assert vault("index", "--json").json["passages_embedded"] == 0


@pytest.mark.parametrize("mode", ["hybrid", "semantic"])
def test_the_former_encoder_answers_where_the_chosen_one_cannot_be_had(
    vault: Program, mode: str
) -> None:
    assert vault("config", "set", "encoder.model", "nobody/no-such-model").code == 0
    found = vault("search", "warm bread", "--mode", mode, "--json")
    assert found.code == 0
    assert (found.json["mode"], len(found.json["hits"])) == (mode, 5)
    assert "! first still answers: the encoder nobody/no-such-model" in found.err
    assert "error" not in found.err
    added = vault("add", "sourdough rose slowly", "--json")
    assert (added.code, added.json["pending"]) == (0, False)
    (hit, *_) = vault("search", "sourdough", "--mode", "semantic", "--json").json["hits"]
    assert hit["id"] == added.json["id"]
    # To go over to it is what was asked for here, and cannot be done; nothing was lost by it.
    assert vault("index").code == 3
    assert vault("doctor", "--json").code == 1
    assert vault("config", "set", "encoder.model", "nobody/first").code == 0
    assert vault("index", "--json").json["passages_embedded"] == 0


def test_words_alone_decide_where_no_encoder_can_be_had(vault: Program, tmp_path: Path) -> None:
    assert vault("config", "set", "encoder.model", "nobody/no-such-model").code == 0
    for folder in (tmp_path / "cache/encoders").glob("first-*"):
        (folder / "manifest.json").unlink()
    found = vault("search", "warm bread", "--json")
    assert (found.code, found.json["mode"], len(found.json["hits"])) == (0, "keyword", 5)
    assert found.err.count("searched by words alone") == 1
    assert found.err.count("preparing the encoder") == 1
    many = vault("search", "--queries", "-", stdin="bread\nkitchen\n")
    assert (many.code, many.out.count('"mode": "keyword"')) == (0, 2)
    refused = vault("search", "warm bread", "--mode", "semantic", "--json")
    assert (refused.code, refused.json["exit_code"]) == (3, 3)


def test_a_former_encoder_that_is_gone_is_not_waited_for(vault: Program, tmp_path: Path) -> None:
    assert vault("config", "set", "encoder.model", "nobody/second").code == 0
    for folder in (tmp_path / "cache/encoders").glob("first-*"):
        (folder / "manifest.json").unlink()
    found = vault("search", "warm bread", "--mode", "semantic", "--json")
    assert (found.code, found.err, len(found.json["hits"])) == (0, "", 5)
    assert vault("index", "--json").json["passages_embedded"] == 0


def test_a_watcher_goes_on_with_the_former_encoder(vault: Program, tmp_path: Path) -> None:
    assert vault("config", "set", "encoder.model", str(tmp_path / "no-such-folder")).code == 0
    with watching(vault, tmp_path / "v", "--no-llm") as watcher:
        write_note(tmp_path / "v", "notes/sourdough.md", "sourdough rose slowly\n")
        watcher.until_told("searchable", passages=1)
    assert [each for each in watcher.complaints if "first still answers" in each]
    (hit, *_) = vault("search", "sourdough", "--mode", "semantic", "--json").json["hits"]
    assert hit["path"] == "notes/sourdough.md"


def test_a_watcher_without_an_encoder_keeps_the_words_of_notes(
    vault: Program, tmp_path: Path
) -> None:
    assert vault("config", "set", "encoder.model", "nobody/no-such-model").code == 0
    for folder in (tmp_path / "cache/encoders").glob("first-*"):
        (folder / "manifest.json").unlink()
    with watching(vault, tmp_path / "v", "--no-llm") as watcher:
        write_note(tmp_path / "v", "notes/sourdough.md", "sourdough rose slowly\n")
        watcher.until_told("noticed", added=1)
        found = vault("search", "sourdough", "--mode", "keyword", "--json").json["hits"]
        assert [hit["path"] for hit in found] == ["notes/sourdough.md"]
        assert vault("watch", "--status", "--json").json["running"]
    told = [each["text"] for each in watcher.lines("trouble") if "found by words" in each["text"]]
    assert len(told) == 1
    assert "nobody/no-such-model" in told[0]


class Interrupted(Exception):
    """The change of encoder is cut off."""


def begin_change(vault: Program, root: Path) -> int:
    """Choose the second encoder and embed some passages by it; how many."""
    assert vault("config", "set", "encoder.model", "nobody/second").code == 0
    embedded = 0

    def stop(done: int, total: int) -> None:
        nonlocal embedded
        embedded = done
        raise Interrupted

    opened = closing(Workspace(root, environment={**os.environ, **OFFLINE}))
    with opened as workspace, pytest.raises(Interrupted):
        embed_missing(workspace.ports, workspace.models.encoder, progress=stop)
    assert 0 < embedded < COUNT
    return embedded


def findings(vault: Program, severity: str = "notice") -> list[dict[str, Any]]:
    """What doctor says of the models."""
    found = vault("doctor", "--json").json["findings"]
    return [each for each in found if (each["check"], each["severity"]) == ("models", severity)]


def serving(root: Path) -> str:
    """The encoder whose vectors searches see."""
    with closing(Workspace(root, environment=dict(os.environ))) as workspace:
        return str(workspace.index.vectors.encoder()).partition("@")[0]


def test_doctor_says_how_far_the_index_has_gone_over(vault: Program, tmp_path: Path) -> None:
    assert findings(vault) == []
    done = begin_change(vault, tmp_path / "v")
    (notice,) = findings(vault)
    total = vault("list", "--limit", "1000", "--json").out.count('"path"')
    assert (notice["severity"], "amem index" in notice["hint"]) == ("notice", True)
    assert notice["message"].startswith(f"{done} of {total} passages have vectors of the encoder")
    assert "nobody/second; first answers" in notice["message"]
    assert vault("index", "--json").json["passages_embedded"] == total - done
    assert findings(vault) == []


def test_the_way_back_from_an_unfinished_change_is_at_once(vault: Program, tmp_path: Path) -> None:
    begin_change(vault, tmp_path / "v")
    assert vault("config", "set", "encoder.model", "nobody/first").code == 0
    found = vault("search", "warm bread", "--mode", "semantic", "--json")
    assert (found.code, found.err, len(found.json["hits"])) == (0, "", 5)
    assert findings(vault) == []
    assert vault("index", "--json").json["passages_embedded"] == 0


def test_the_former_encoder_answers_if_the_chosen_one_breaks_in_the_middle(
    vault: Program, tmp_path: Path
) -> None:
    begin_change(vault, tmp_path / "v")
    (graph,) = (tmp_path / "cache/encoders").glob(f"second-*/{GRAPH_FILE}")
    whole = graph.read_bytes()
    # As long as before, so that only running it shows it.
    graph.write_bytes(bytes(len(whole)))
    found = vault("search", "warm bread", "--mode", "semantic", "--json")
    assert (found.code, len(found.json["hits"])) == (0, 5)
    assert "! first still answers: the encoder nobody/second" in found.err
    assert vault("index").code == 3
    problems = [each["message"] for each in findings(vault, "problem")]
    assert any("the prepared copy of the encoder nobody/second" in each for each in problems)
    assert serving(tmp_path / "v") == "first"
    graph.write_bytes(whole)
    assert vault("index").code == 0
    assert serving(tmp_path / "v") == "second"


def test_a_running_watcher_goes_over_and_searches_go_on(vault: Program, tmp_path: Path) -> None:
    root = tmp_path / "v"
    with watching(vault, root, "--no-llm") as watcher:
        changed = vault("config", "set", "encoder.model", "nobody/second")
        assert "watcher" in changed.err
        found = vault("search", "warm bread", "--mode", "semantic", "--json")
        assert (found.code, len(found.json["hits"])) == (0, 5)
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
    told: list[str] = []
    environment = {**os.environ, **vault.environment}
    with closing(Workspace(root, environment=environment, notify=told.append)) as workspace:
        assert len(workspace.search("warm bread", mode="semantic").hits) == 5
        with workspace.evolving(["notes/1.md", "notes/2.md"], asked=True) as batch:
            outcomes = batch.outcomes()
            assert not next(outcomes).pending
            assert vault("config", "set", "encoder.model", "nobody/second").code == 0
            assert vault("index").code == 0
            assert not next(outcomes).pending
        assert serving(root) == "second"
        assert len(workspace.search("warm bread", mode="semantic").hits) == 5
        write_note(root, "notes/sourdough.md", "sourdough rose slowly\n")
        workspace.synchronise()
        (hit, *_) = workspace.search("sourdough", mode="semantic").hits
        assert hit.note.path == "notes/sourdough.md"
    assert serving(root) == "second"
    assert told == []
    assert vault("index", "--json").json["passages_embedded"] == 0
