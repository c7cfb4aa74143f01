"""The judge of links: fake and real ones keep one contract; files that do not fit are refused."""

from __future__ import annotations

import os
import shutil
import signal
import sys
import threading
from collections.abc import Iterator
from contextlib import closing
from pathlib import Path

import pytest

from amem_cli.data import file_path
from amem_cli.errors import ModelError
from amem_cli.models import judge as judges
from amem_cli.models.judge import WORDS, LlamaCppJudge, open_judge
from amem_cli.models.llama_cpp import bundled_model
from amem_cli.models.ports import Judge, NoteText
from amem_cli.settings import Settings
from tests.contracts.judge_contract import NEWER, OTHER, RELATED, JudgeContract
from tests.fakes.judge import FakeJudge

posix_only = pytest.mark.skipif(sys.platform == "win32", reason="needs signals")
ADAPTER = file_path(WORDS["adapter"])


@pytest.fixture(scope="module")
def base() -> Path:
    try:
        return bundled_model()
    except ModelError:
        pytest.skip("the bundled model is not installed")


def judge_of(
    base: Path, adapter: Path = ADAPTER, cache: Path = Path(), **changes: float
) -> LlamaCppJudge:
    return LlamaCppJudge(base, adapter, cache=cache, threads=2, memory_limit_mb=6144, **changes)


@pytest.fixture(scope="module")
def warm_judge(base: Path, cache_folder: Path) -> Iterator[LlamaCppJudge]:
    with closing(judge_of(base, cache=cache_folder / "judge")) as made:
        yield made


class TestFakeJudge(JudgeContract):
    @pytest.fixture
    def judge(self) -> Judge:
        return FakeJudge({RELATED.title: {"related": 0.7, "supersedes": 0.2}})


@pytest.mark.models
class TestLlamaCppJudge(JudgeContract):
    @pytest.fixture
    def judge(self, warm_judge: LlamaCppJudge) -> Judge:
        return warm_judge


def test_an_adapter_of_another_model_is_refused_in_one_line(base: Path, tmp_path: Path) -> None:
    other = tmp_path / "other.gguf"
    other.write_bytes(b"GGUF" + b"\0" * 100)
    for model, adapter in ((other, ADAPTER), (base, other)):
        judge = judge_of(model, adapter)
        with pytest.raises(ModelError, match="is not the file that the judge") as caught:
            judge.relations(NEWER, [RELATED], most_tokens=80, seconds=5.0)
        assert "\n" not in caught.value.message
        assert judge.process_id is None


def test_after_three_failures_in_a_row_it_says_nothing(
    base: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    adapter = tmp_path / "adapter.gguf"
    judge = judge_of(base, adapter)

    def failure() -> str:
        with pytest.raises(ModelError) as caught:
            judge.relations(NEWER, [RELATED], most_tokens=80, seconds=5.0)
        return caught.value.message

    assert all("cannot be read" in failure() for _ in range(3))
    assert judge.relations(NEWER, [RELATED], most_tokens=80, seconds=5.0) == []
    monkeypatch.setattr(judges, "REST_SECONDS", 0.0)
    assert "cannot be read" in failure()


def test_there_is_none_if_it_is_switched_off_or_cannot_be_run(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    assert open_judge(Settings(llm_judge="off"), os.environ) is None

    def missing() -> None:
        raise ModelError("not installed")

    monkeypatch.setattr(judges, "check_library", missing)
    assert open_judge(Settings(), os.environ) is None


@pytest.mark.models
def test_when_the_time_is_up_the_rest_has_no_answer(warm_judge: LlamaCppJudge) -> None:
    warm_judge.start()
    found = warm_judge.relations(NEWER, [OTHER] * 40, most_tokens=80, seconds=0.1)
    assert len(found) < 40


@pytest.mark.models
def test_the_middle_of_a_long_text_is_left_out(warm_judge: LlamaCppJudge) -> None:
    def said(middle: str, end: str) -> dict[str, float]:
        text = f"{RELATED.text * 4}{middle * 20_000} {end}"
        older = NoteText(RELATED.day, RELATED.title, text)
        [answer] = warm_judge.relations(NEWER, [older], most_tokens=80, seconds=60.0)
        return answer

    assert said(" It rained.", OTHER.text) == said(" It snowed.", OTHER.text)
    assert said(" It rained.", OTHER.text) != said(" It rained.", RELATED.text)


@pytest.mark.models
def test_a_faster_copy_is_made_once_and_the_model_does_without_it(
    base: Path, tmp_path: Path, warm_judge: LlamaCppJudge
) -> None:
    def answers(cache: Path) -> list[dict[str, float]]:
        with closing(judge_of(base, cache=cache)) as judge:
            return judge.relations(NEWER, [RELATED, OTHER], most_tokens=80, seconds=60.0)

    usual = warm_judge.relations(NEWER, [RELATED, OTHER], most_tokens=80, seconds=60.0)
    assert answers(tmp_path) == usual
    [copy] = tmp_path.iterdir()
    made = copy.stat().st_mtime_ns
    assert answers(tmp_path) == usual and copy.stat().st_mtime_ns == made
    # What cannot be read, is just being made, or has no room.
    copy.write_bytes(b"GGUF")
    no_folder = tmp_path / "file"
    no_folder.touch()
    busy = tmp_path / "busy"
    busy.mkdir()
    (busy / copy.name).with_suffix(".part").touch()
    for cache in (tmp_path, no_folder, busy):
        for given, expected in zip(answers(cache), usual, strict=True):
            assert given == pytest.approx(expected, abs=0.1)
    os.utime((busy / copy.name).with_suffix(".part"), (1, 1))
    assert answers(busy) == usual and [each.name for each in busy.iterdir()] == [copy.name]


@posix_only
@pytest.mark.models
@pytest.mark.parametrize("fault", [signal.SIGKILL, signal.SIGSTOP])
def test_a_child_that_dies_or_hangs_costs_one_answer(
    base: Path, cache_folder: Path, fault: signal.Signals
) -> None:
    with closing(judge_of(base, cache=cache_folder / "judge", grace_seconds=0.2)) as judge:
        judge.start()
        child = judge.process_id
        assert child is not None
        # It stands still, so that the fault comes in the middle of an answer.
        os.kill(child, signal.SIGSTOP)
        threading.Timer(0.2, os.kill, args=(child, fault)).start()
        with pytest.raises(ModelError, match="ended"):
            judge.relations(NEWER, [OTHER] * 30, most_tokens=80, seconds=0.5)
        assert len(judge.relations(NEWER, [RELATED], most_tokens=80, seconds=60.0)) == 1


def test_the_files_have_the_digests_that_are_checked(base: Path, tmp_path: Path) -> None:
    copy = tmp_path / ADAPTER.name
    shutil.copyfile(ADAPTER, copy)
    judge_of(base, copy)._check_files()
    assert ADAPTER.stat().st_size < 10 * 2**20
