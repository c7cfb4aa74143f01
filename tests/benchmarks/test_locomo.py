"""The benchmark over a small conversation, from the command line to the figures."""

from __future__ import annotations

import json
import os
import re
import shutil
import subprocess
import sys
import time
from importlib import import_module
from pathlib import Path
from typing import Any

import pytest

from tests.benchmarks.small_locomo import SAMPLE
from tests.fakes.chat_server import ChatServer
from tests.fakes.encoder import FakeEncoder

pytestmark = pytest.mark.slow

BENCHMARKS = Path(__file__).parents[2] / "benchmarks"
ANSWERS = {each["question"]: str(each.get("answer", "")) for each in SAMPLE["qa"]}
WITHOUT_MODEL = ("amem", "no-links", "no-evolution", "no-links-no-evolution", "plain-rag", "ask")


@pytest.fixture
def data(tmp_path: Path) -> Path:
    file = tmp_path / "small.json"
    file.write_text(json.dumps([SAMPLE]), encoding="utf-8")
    return file


@pytest.fixture
def gold(tmp_path: Path) -> Path:
    """A folder with one hand-written vault of two notes, and what should be made of them."""
    folder = tmp_path / "data" / "gold" / "baker"
    folder.mkdir(parents=True)
    labels = {"keywords": ["sourdough starter"], "tags": ["baking"], "context": "How bread rises."}
    notes = [
        {"id": "1", "created": "2024-05-01T08:00:00", "title": "Starter",
         "content": "The sourdough starter lives in the cellar at 14 degrees.", **labels},
        {"id": "2", "created": "2024-06-01T08:00:00", "title": "Starter moved",
         "content": "The sourdough starter moved to the kitchen shelf.", **labels},
    ]  # fmt: skip
    questions = [
        {"query_id": "b1", "query": "Where does the sourdough starter live now?", "type": "update",
         "gold": ["2"], "answer": "On the kitchen shelf."},
        {"query_id": "b2", "query": "What did the sourdough flour cost?", "type": "none",
         "gold": [], "answer": "The notes do not say."},
    ]  # fmt: skip
    for name, rows in (("notes", notes), ("questions", questions), ("links", [])):
        text = "".join(json.dumps(row) + "\n" for row in rows)
        (folder / f"{name}.jsonl").write_text(text, encoding="utf-8")
    return tmp_path / "data"


@pytest.fixture
def locomo(monkeypatch: pytest.MonkeyPatch) -> Any:
    """The benchmark, which finds its parts beside itself as a script does."""
    monkeypatch.syspath_prepend(str(BENCHMARKS))
    return import_module("locomo")


def run(locomo: Any, data: Path, *options: str) -> dict[str, Any]:
    file = data.parent / "figures.json"
    locomo.main([str(data), *options, "--json", str(file)], encoder=FakeEncoder())
    document: dict[str, Any] = json.loads(file.read_text(encoding="utf-8"))
    return document


def schema_of(body: dict[str, Any]) -> dict[str, Any]:
    asked = body["response_format"]
    schema: dict[str, Any] = asked.get("schema") or asked["json_schema"]["schema"]
    return schema


def knows_all(body: dict[str, Any]) -> str:
    """Names the first source that is shown, and the right answer."""
    text = body["messages"][-1]["content"]
    answer = next((ANSWERS[each] for each in ANSWERS if f"Question: {each}" in text), "")
    if "held" not in schema_of(body)["properties"]:
        return json.dumps({"answer": answer or "Not mentioned in the conversation"})
    labels = re.findall(r"^(n\d+) ", text, re.M)
    said = {"sources": labels if answer else [], "held": bool(answer), "answer": answer}
    return json.dumps(said)


def test_without_a_model_the_rows_that_need_none_quote(
    locomo: Any, data: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    document = run(locomo, data, "--backend", "none")
    shown = capsys.readouterr()
    assert tuple(document["cost"]) == WITHOUT_MODEL
    assert "without a model there is no full-context, paper-prompt" in shown.err
    assert document["scores"]["answerable"]["questions"] == 4
    assert document["unanswerable"]["questions"] == 1
    assert all(cost["calls"] == 0 for cost in document["cost"].values())
    assert set(document["differences"]) == set(WITHOUT_MODEL) - {"amem"}
    assert "category 1 (multi-hop): 1 questions" in shown.out
    assert "session 10 has no date" in shown.err


def test_a_perfect_reader_shows_what_search_and_checks_leave(locomo: Any, data: Path) -> None:
    document = run(locomo, data, "--backend", "perfect", "--categories", "1,2,4,5")
    rows = document["scores"]["answerable"]["rows"]
    assert rows["full-context"]["f1"][0] == rows["paper-prompt"]["f1"][0] == 100.0
    assert rows["plain-rag"]["held"][0] == 100.0
    refused = document["unanswerable"]["rows"]
    assert all(figures["refused"][0] == 100.0 for figures in refused.values())
    assert document["cost"]["full-context"]["share_shown"] == 100.0


def test_a_hand_written_vault_is_remembered_and_asked(
    locomo: Any, gold: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    document = run(locomo, gold, "--backend", "perfect")
    update = document["scores"]["category update"]["rows"]
    assert update["amem"]["f1"][0] == update["full-context"]["f1"][0] == 100.0
    assert document["unanswerable"]["questions"] == 1
    assert document["unanswerable"]["rows"]["plain-rag"]["refused"][0] == 100.0
    assert document["writing"]["full"]["notes"] == 2
    assert document["writing"]["full"]["calls"] >= 1
    assert "category update: 1 questions" in capsys.readouterr().out


def test_a_server_answers_every_row_through_amems_own_checks(locomo: Any, data: Path) -> None:
    with ChatServer() as server:
        server.content = knows_all
        document = run(
            locomo, data, "--base-url", server.url, "--model", "test-model",
            "--writer", "none", "--categories", "2,5",
        )  # fmt: skip
        asked = len(server.requests)
    rows = document["scores"]["answerable"]["rows"]
    assert set(rows) == {row.name for row in locomo.ROWS}
    assert rows["amem"]["f1"] == [100.0, 100.0, 100.0]
    assert rows["amem"]["meteor"][0] < 100.0
    assert rows["paper-prompt"]["f1"][0] == 100.0
    assert document["unanswerable"]["rows"]["amem"]["refused"][0] == 100.0
    assert document["cost"]["amem"]["prompt_tokens"] >= 7
    assert sum(cost["calls"] for cost in document["cost"].values()) * 2 == asked


def test_a_model_that_writes_is_counted_by_the_note(locomo: Any, data: Path) -> None:
    with ChatServer() as server:
        document = run(
            locomo, data, "--base-url", server.url, "--model", "test-model",
            "--rows", "amem,no-evolution,plain-rag", "--categories", "2",
        )  # fmt: skip
    assert document["writing"]["full"]["notes"] == 6
    assert document["writing"]["full"]["calls"] >= 1
    assert set(document["writing"]) == {"full", "no-evolution"}


def test_a_window_that_holds_less_than_the_conversation_is_told(locomo: Any, data: Path) -> None:
    options = ("--backend", "perfect", "--rows", "full-context", "--categories", "2")
    document = run(locomo, data, *options, "--window", "1000")
    assert 0 < document["cost"]["full-context"]["share_shown"] < 100
    none = run(locomo, data, *options, "--window", "600")
    assert none["cost"]["full-context"]["share_shown"] == 0.0
    assert none["scores"]["answerable"]["rows"]["full-context"]["held"][0] == 0.0


def test_a_run_that_a_dead_server_stopped_goes_on_where_it_was(locomo: Any, data: Path) -> None:
    folder = data.parent / "run"
    options = ("--model", "m", "--rows", "full-context", "--results", str(folder))
    with ChatServer() as server:
        server.content = knows_all
        server.faults = ["", "401"]
        address = ("--base-url", server.url)
        with pytest.raises(SystemExit, match="failed 3 times in a row"):
            run(locomo, data, *address, *options)
        assert len((folder / "answers.jsonl").read_text(encoding="utf-8").splitlines()) == 1
        server.faults = [""]
        server.requests.clear()
        document = run(locomo, data, *address, *options)
        asked = len(server.requests)
        assert document["scores"]["answerable"]["questions"] == 4
        assert asked >= 4
        server.requests.clear()
        # More patience is no other setting.
        again = run(locomo, data, *address, *options, "--deadline", "200")
        assert (again, server.requests) == (document, [])


def test_a_failure_that_a_success_follows_is_kept(locomo: Any, data: Path) -> None:
    folder = data.parent / "run"
    with ChatServer() as server:
        server.content = knows_all
        # Two failures, a success, two failures and a success: never three in a row.
        server.faults = ["401", "401", "", "401", "401", ""]
        run(
            locomo, data, "--base-url", server.url, "--model", "m", "--rows", "paper-prompt",
            "--writer", "none", "--results", str(folder),
        )  # fmt: skip
    lines = (folder / "answers.jsonl").read_text(encoding="utf-8").splitlines()
    assert [json.loads(line)["failed"] for line in lines] == [True, True, False, True, True]


def test_a_dead_server_is_told_also_where_each_conversation_has_one_question(
    locomo: Any, data: Path
) -> None:
    samples = [{**SAMPLE, "sample_id": f"conv-{name}"} for name in "abc"]
    data.write_text(json.dumps(samples), encoding="utf-8")
    folder = data.parent / "run"
    with ChatServer() as server:
        server.faults = ["401"]
        with pytest.raises(SystemExit, match="failed 3 times in a row"):
            run(
                locomo, data, "--base-url", server.url, "--model", "m", "--categories", "2",
                "--rows", "full-context", "--results", str(folder),
            )  # fmt: skip
    assert not (folder / "answers.jsonl").exists()


@pytest.mark.parametrize("row", ["full-context", "paper-prompt"])
@pytest.mark.parametrize("said", ["no JSON at all", "401"])
def test_a_model_that_gives_no_answer_has_refused_nothing(
    locomo: Any, data: Path, row: str, said: str
) -> None:
    with ChatServer() as server:
        server.content = said
        server.faults = [said] if said == "401" else []
        document = run(
            locomo, data, "--base-url", server.url, "--model", "m", "--writer", "none",
            "--categories", "5", "--rows", row,
        )  # fmt: skip
    assert document["unanswerable"]["rows"][row]["refused"][0] == 0.0


def test_answers_of_another_encoder_are_not_mixed_in(
    locomo: Any, data: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    options = ("--backend", "none", "--rows", "plain-rag", "--results", str(data.parent / "run"))
    run(locomo, data, *options)
    monkeypatch.setenv("AMEM_ENCODER_MODEL", "another")
    with pytest.raises(SystemExit, match="encoder 'all-MiniLM-L6-v2'; name another folder"):
        run(locomo, data, *options)


def test_answers_whose_settings_are_not_all_known_are_not_mixed_in(locomo: Any, data: Path) -> None:
    folder = data.parent / "run"
    options = ("--backend", "none", "--rows", "plain-rag", "--results", str(folder))
    run(locomo, data, *options)
    file = folder / "settings.json"
    settings = json.loads(file.read_text(encoding="utf-8"))
    del settings["writer"]
    file.write_text(json.dumps(settings), encoding="utf-8")
    with pytest.raises(SystemExit, match="writer None; name another folder"):
        run(locomo, data, *options)


def test_memories_of_other_link_settings_are_not_mixed_in(
    locomo: Any, data: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    options = ("--backend", "none", "--rows", "amem", "--results", str(data.parent / "run"))
    run(locomo, data, *options)
    monkeypatch.setenv("AMEM_EVOLUTION_MAX_LINKS", "1")
    with pytest.raises(SystemExit, match=r"max_links \d+; name another folder"):
        run(locomo, data, *options)


@pytest.mark.parametrize("broken", [b'{"row": "plain-rag", "que', b'{"row": "plain\n', b"\xff\n"])
def test_answers_behind_a_broken_line_are_asked_again(
    locomo: Any, data: Path, broken: bytes
) -> None:
    folder = data.parent / "run"
    options = ("--backend", "none", "--rows", "plain-rag", "--results", str(folder))
    first = run(locomo, data, *options)
    answers = folder / "answers.jsonl"
    lines = answers.read_bytes().splitlines(keepends=True)
    answers.write_bytes(b"".join(lines[:2]) + broken + b"".join(lines[3:]))
    assert run(locomo, data, *options) == first
    assert answers.read_bytes() == b"".join(lines)


def test_the_name_of_a_conversation_leads_nowhere(locomo: Any, data: Path) -> None:
    data.write_text(json.dumps([{**SAMPLE, "sample_id": "../../out/of"}]), encoding="utf-8")
    before = set(data.parent.iterdir())
    folder = data.parent / "run"
    run(locomo, data, "--backend", "none", "--rows", "plain-rag", "--results", str(folder))
    assert set(data.parent.iterdir()) == before | {folder, data.parent / "figures.json"}
    assert {each.parent for each in folder.rglob("*.json")} == {folder, folder / "vaults"}


def test_vaults_that_were_deleted_are_made_anew(locomo: Any, data: Path) -> None:
    folder = data.parent / "run"
    options = ("--backend", "none", "--rows", "amem", "--results", str(folder))
    first = run(locomo, data, *options)
    shutil.rmtree(folder / "vaults")
    (folder / "answers.jsonl").unlink()
    assert run(locomo, data, *options)["scores"] == first["scores"]


def test_a_sample_is_the_same_for_the_same_seed(locomo: Any, data: Path) -> None:
    options = ("--backend", "none", "--rows", "plain-rag", "--limit", "1")
    first, second = (run(locomo, data, *options)["scores"] for _ in range(2))
    assert first == second
    assert first["answerable"]["questions"] == 4


def test_without_options_the_model_is_the_one_that_amem_is_set_to(
    locomo: Any, data: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    with ChatServer() as server:
        server.content = knows_all
        monkeypatch.setenv("AMEM_LLM_BACKEND", "openai")
        monkeypatch.setenv("AMEM_LLM_MODEL", "test-model")
        monkeypatch.setenv("AMEM_LLM_BASE_URL", server.url)
        document = run(locomo, data, "--rows", "full-context", "--categories", "2")
        assert len(server.requests) == 1
    assert document["settings"]["model"] == "test-model"
    assert document["scores"]["answerable"]["rows"]["full-context"]["f1"][0] == 100.0


@pytest.mark.parametrize(
    ("options", "said"),
    [
        (("--rows", "nothing"), "no row nothing; there are: amem"),
        (("--conversations", "conv-1"), "no conversation conv-1; there are: conv-x"),
        (("--categories", "9"), "no question is left"),
        (("--rows", "full-context"), "no row is left"),
        (("--k", "0"), "2"),
    ],
)
def test_what_is_not_there_is_told(
    locomo: Any, data: Path, options: tuple[str, ...], said: str
) -> None:
    with pytest.raises(SystemExit, match=said):
        run(locomo, data, "--backend", "none", *options)


@pytest.mark.models
def test_a_killed_run_goes_on_as_a_program(data: Path) -> None:
    folder = data.parent / "run"
    command = [sys.executable, str(BENCHMARKS / "locomo.py"), str(data), "--backend", "none"]
    command += ["--results", str(folder), "--rows", "amem,plain-rag"]
    environment = {**os.environ, "PYTHONPATH": str(BENCHMARKS.parent)}
    first = subprocess.Popen(command, env=environment, stdout=subprocess.PIPE, text=True)
    answers = folder / "answers.jsonl"
    while first.poll() is None and not answers.exists():
        time.sleep(0.01)
    first.kill()
    first.communicate()
    before = answers.read_bytes()
    done = subprocess.run(command, env=environment, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
    rows = [json.loads(line) for line in answers.read_text(encoding="utf-8").splitlines()]
    asked = [(row["row"], row["question"]) for row in rows]
    assert len(asked) == len(set(asked)) == 2 * 5
    assert answers.read_bytes().startswith(before.rpartition(b"\n")[0])
    assert "category 2 (temporal): 1 questions" in done.stdout
