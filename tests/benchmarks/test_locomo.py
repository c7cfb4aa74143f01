"""The benchmark over a small conversation, from the command line to the figures."""

from __future__ import annotations

import json
import re
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
WITHOUT_MODEL = {"amem", "no-links", "no-evolution", "plain-rag"}


@pytest.fixture
def data(tmp_path: Path) -> Path:
    file = tmp_path / "small.json"
    file.write_text(json.dumps([SAMPLE]), encoding="utf-8")
    return file


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


def knows_all(body: dict[str, Any]) -> str:
    """Names the sources that are shown, and the right answer."""
    text = body["messages"][-1]["content"]
    answer = next((ANSWERS[each] for each in ANSWERS if f"Question: {each}" in text), "")
    labels = re.findall(r"^(n\d+) ", text, re.M)
    said = {"sources": labels if answer else [], "held": bool(answer), "answer": answer}
    return json.dumps(said)


def test_without_a_model_the_rows_that_need_none_quote(
    locomo: Any, data: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    document = run(locomo, data)
    shown = capsys.readouterr()
    assert set(document["answerable"]) == set(document["a question"]) == WITHOUT_MODEL
    assert set(document["less amem"]) == WITHOUT_MODEL - {"amem"}
    assert all(cost["calls"] == 0 for cost in document["a question"].values())
    assert "category 1" in shown.out
    assert "session 10 has no date" in shown.err


def test_a_server_answers_every_row_through_amems_own_checks(locomo: Any, data: Path) -> None:
    with ChatServer() as server:
        server.content = knows_all
        options = ("--base-url", server.url, "--model", "test-model", "--writer", "none")
        document = run(locomo, data, *options)
    assert set(document["answerable"]) == {row.name for row in locomo.ROWS}
    assert document["category 2"]["amem"]["f1"] == [100.0, 100.0, 100.0]
    assert document["category 2"]["full-context"]["f1"][0] == 100.0
    assert document["without an answer"]["amem"]["refused"][0] == 100.0
    assert document["a question"]["amem"]["tokens"] >= 7


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
        document = run(locomo, data, *address, *options)
        server.requests.clear()
        assert (run(locomo, data, *address, *options), server.requests) == (document, [])
        with pytest.raises(SystemExit, match="other settings"):
            run(locomo, data, *address, *options, "--k", "3")


def test_a_sample_is_the_same_in_every_run(locomo: Any, data: Path) -> None:
    questions = locomo.conversations(data)[0].questions
    assert locomo.sample(questions, 1) == locomo.sample(questions, 1)
    assert len(locomo.sample(questions, 1)) == 5
