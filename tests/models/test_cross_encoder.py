"""A cross-encoder is exported once and scores as its library does, or says why it does not."""

from __future__ import annotations

import json
from dataclasses import replace
from importlib import import_module
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from amem_cli.models.encoder_export import RerankerExporter, main, prepare
from amem_cli.models.encoder_files import WEIGHTS_FILE, read_manifest, write_manifest
from amem_cli.models.prepared import PreparedReranker
from tests.conftest import Program
from tests.fakes.tiny_models import save_tiny_cross_encoder

pytestmark = pytest.mark.slow

QUERY = "what is warm bread?"
TEXTS = ["bread", "a warm kitchen", "", "z" * 90, "query: passage 7", "kitchen " * 100]


def here(model: str, folder: Path, *, broken: str = "") -> None:
    """A preparation in this process."""
    folder.parent.mkdir(parents=True, exist_ok=True)
    prepare(model, folder, broken=broken, exporter=RerankerExporter)


@pytest.mark.models
def test_scores_are_those_of_the_library(tmp_path: Path) -> None:
    model = save_tiny_cross_encoder(tmp_path / "tiny")
    said: list[str] = []
    reranker = PreparedReranker(
        str(model), cache=tmp_path / "c", notify=said.append, preparation=here
    )
    library: Any = import_module("sentence_transformers")
    loaded = library.CrossEncoder(str(model), device="cpu", local_files_only=True)
    expected = loaded.predict([(QUERY, text) for text in TEXTS])
    scores = reranker.scores(QUERY, TEXTS)
    assert scores is not None
    np.testing.assert_allclose(scores, expected, atol=1e-5)
    assert np.ptp(expected) > 0.01
    assert said == ["preparing the reranker (once)"]
    again = PreparedReranker(str(model), cache=tmp_path / "c", notify=said.append)
    assert again.scores(QUERY, TEXTS) == scores
    assert len(said) == 1


@pytest.mark.models
def test_a_reranker_that_an_earlier_version_exported_still_opens(tmp_path: Path) -> None:
    model = save_tiny_cross_encoder(tmp_path / "tiny")
    cache = tmp_path / "c"
    scores = PreparedReranker(str(model), cache=cache, preparation=here).scores(QUERY, TEXTS)
    (path,) = cache.glob("*/manifest.json")
    data = json.loads(path.read_text())
    kept = ("stamp", "model", "reason", "max_tokens", "pad_id", "with_types", "sizes")
    earlier = {
        **{name: data[name] for name in kept},
        "probe_pair": data["probe"],
        "probe_score": data["expected"][0],
        "versions": {},
        "format": 1,
    }
    path.write_text(json.dumps(earlier))
    said: list[str] = []
    again = PreparedReranker(str(model), cache=cache, notify=said.append, preparation=here)
    assert again.scores(QUERY, TEXTS) == scores
    assert said == []


@pytest.mark.models
def test_damaged_weights_are_made_again(tmp_path: Path) -> None:
    model = save_tiny_cross_encoder(tmp_path / "tiny")
    cache = tmp_path / "c"
    scores = PreparedReranker(str(model), cache=cache, preparation=here).scores(QUERY, TEXTS)
    (weights,) = cache.glob(f"*/{WEIGHTS_FILE}")
    weights.write_bytes(bytes(len(weights.read_bytes())))
    reranker = PreparedReranker(str(model), cache=cache, preparation=here)
    assert reranker.scores(QUERY, TEXTS) == scores


@pytest.mark.models
def test_a_model_that_gives_no_single_score_is_refused_once_and_for_all(tmp_path: Path) -> None:
    model = save_tiny_cross_encoder(tmp_path / "tiny", labels=3)
    said: list[str] = []
    for _ in range(2):
        reranker = PreparedReranker(
            str(model), cache=tmp_path / "c", notify=said.append, preparation=here
        )
        assert reranker.scores(QUERY, TEXTS) is None
        assert reranker.scores(QUERY, TEXTS) is None
    assert len(said) == 3
    assert said[0] == "preparing the reranker (once)"
    assert all("3 numbers" in each for each in said[1:])


@pytest.mark.models
@pytest.mark.parametrize("versions", [{}, {"amem-cli": "0.0.1"}])
def test_what_says_nothing_of_the_model_as_it_is_now_is_tried_again(
    tmp_path: Path, versions: dict[str, str]
) -> None:
    model = save_tiny_cross_encoder(tmp_path / "tiny")
    cache = tmp_path / "c"
    expected = PreparedReranker(str(model), cache=cache, preparation=here).scores(QUERY, TEXTS)
    (folder,) = (path for path in cache.iterdir() if path.is_dir())
    exported = read_manifest(folder)
    for path in folder.iterdir():
        path.unlink()
    failed = replace(exported, reason="TypeError: odd", versions=versions, sizes={})
    write_manifest(folder, failed)
    again = PreparedReranker(str(model), cache=cache, preparation=here)
    assert again.scores(QUERY, TEXTS) == expected


def test_a_missing_model_is_told_once(tmp_path: Path) -> None:
    said: list[str] = []
    reranker = PreparedReranker(str(tmp_path / "nowhere"), cache=tmp_path, notify=said.append)
    assert [reranker.scores(QUERY, TEXTS) for _ in range(3)] == [None] * 3
    (notice,) = said
    assert notice.startswith("! not reranked: there is no encoder")
    assert PreparedReranker("none", cache=tmp_path).scores(QUERY, []) == []


def test_the_process_answers_failures_in_json(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    assert main(["reranker", str(tmp_path / "nowhere"), str(tmp_path / "prepared"), ""]) == 3
    assert json.loads(capsys.readouterr().out.splitlines()[-1])["error"]


@pytest.mark.models
def test_the_program_reranks_with_a_folder_and_imports_no_torch(amem: Program) -> None:
    (amem.folder / "v").mkdir()
    assert amem("init", "v", "--adopt").code == 0
    amem.environment["AMEM_VAULT"] = str(amem.folder / "v")
    amem.environment["AMEM_CACHE_DIR"] = str(amem.folder / "cache")
    # Notes that are about equally good hits, so that a reranker can exchange them.
    for text in ("butter", "honey", "cheese", "a lamp", "soup", "salt", "an apple", "a long walk"):
        (amem.folder / "v" / f"{text}.md").write_text(f"warm bread and {text}\n")
    plain = amem("search", "warm bread", "--json", "--no-neighbors", "-k", "8")
    assert plain.code == 0, plain.err
    model = save_tiny_cross_encoder(amem.folder / "tiny")
    amem.environment["AMEM_SEARCH_RERANKER"] = str(model)
    first = amem("search", "warm bread", "--json", "--no-neighbors", "-k", "8")
    assert "preparing the reranker (once)" in first.err
    second = amem("search", "warm bread", "--json", "--no-neighbors", "-k", "8")
    assert (second.code, second.err, second.out) == (0, "", first.out)
    # A reranker decides on the order; a score says how close a hit is, in whatever order.
    before, after = ([hit["path"] for hit in each.json["hits"]] for each in (plain, second))
    assert sorted(after) == sorted(before)
    assert after != before
    missing = amem(
        "search", "warm bread", "--json", "--no-neighbors", "-k", "8",
        AMEM_SEARCH_RERANKER=str(amem.folder / "nowhere"),
    )  # fmt: skip
    assert (missing.code, missing.out) == (0, plain.out)
    assert missing.err.startswith("! not reranked")
