"""The local model: its file checks, its child process under every kind of fault, its grammar."""

from __future__ import annotations

import json
import os
import sys
import threading
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from amem_cli.errors import ModelError
from amem_cli.models.llama_cpp import LlamaCppModel, bundled_model, check_model_file
from amem_cli.models.ports import AnswerRejected, LanguageModel
from amem_cli.models.reply_schema import read_answer, to_gbnf
from tests.contracts.language_model_contract import (
    SCHEMA,
    LanguageModelContract,
    assert_answers,
    failure,
    request_about,
)

posix_only = pytest.mark.skipif(sys.platform == "win32", reason="needs signals")


def model_at(path: Path, **changes: Any) -> LlamaCppModel:
    values: dict[str, Any] = {
        "threads": 1,
        "context_tokens": 1024,
        "memory_limit_mb": 4096,
        "grace_seconds": 1.0,
    }
    return LlamaCppModel(path, **(values | changes))


@pytest.fixture(scope="module")
def bundled() -> Path:
    try:
        return bundled_model()
    except ModelError:
        pytest.skip("the bundled model is not installed")


@pytest.fixture(scope="module")
def warm_model(bundled: Path) -> Iterator[LlamaCppModel]:
    made = model_at(bundled)
    yield made
    made.close()


@pytest.fixture
def model(bundled: Path) -> Iterator[LlamaCppModel]:
    made = model_at(bundled)
    yield made
    made.close()


def test_a_missing_file_is_an_error(tmp_path: Path) -> None:
    assert "cannot be read" in failure(model_at(tmp_path / "none.gguf")).message


def test_a_text_is_refused_before_native_code_sees_it(tmp_path: Path) -> None:
    path = tmp_path / "text.gguf"
    path.write_text("# not a model\n")
    model = model_at(path)

    assert "not a GGUF" in failure(model).message
    assert model.process_id is None


@posix_only
def test_a_folder_and_a_pipe_are_refused(tmp_path: Path) -> None:
    (tmp_path / "folder.gguf").mkdir()
    os.mkfifo(tmp_path / "pipe.gguf")

    for name in ("folder.gguf", "pipe.gguf"):
        with pytest.raises(ModelError):
            check_model_file(tmp_path / name)


@posix_only
def test_a_link_is_followed_to_a_regular_file_only(tmp_path: Path) -> None:
    blob = tmp_path / "blob"
    blob.write_bytes(b"GGUF")
    (tmp_path / "good.gguf").symlink_to(blob)
    (tmp_path / "bad.gguf").symlink_to(tmp_path)

    check_model_file(tmp_path / "good.gguf")
    with pytest.raises(ModelError):
        check_model_file(tmp_path / "bad.gguf")


def test_a_schema_outside_the_subset_starts_nothing(tmp_path: Path) -> None:
    model = model_at(tmp_path / "none.gguf")

    with pytest.raises(ValueError, match="subset"):
        model.answer(request_about("x", schema={"type": "integer"}))


def test_a_model_that_never_ran_can_be_closed(tmp_path: Path) -> None:
    model = model_at(tmp_path / "none.gguf")
    model.close()
    model.close()

    assert model.name == "none.gguf"
    assert not model.is_remote


def test_a_chat_format_is_known_by_its_control_tokens() -> None:
    from amem_cli.models.llama_cpp_worker import CHAT_FORMATS, chat_format_of

    for known in CHAT_FORMATS:
        frame = known["opening"] + known["middle"] + known["closing"]
        assert all(marker in frame for marker in known["markers"])
        assert chat_format_of(known["markers"].__contains__) is known
    assert chat_format_of(lambda _: False) is CHAT_FORMATS[-1]


@pytest.mark.models
class TestContract(LanguageModelContract):
    @pytest.fixture
    def model(self, warm_model: LlamaCppModel) -> LanguageModel:
        return warm_model


@pytest.mark.models
def test_the_same_request_has_the_same_answer_whatever_came_between(model: LlamaCppModel) -> None:
    first = model.answer(request_about("Rye bread needs a long rise."))
    other = model.answer(request_about("Postgres lagged.", instructions="Describe a note in JSON."))
    again = model.answer(request_about("Rye bread needs a long rise."))
    third = model.answer(request_about("Rye bread needs a long rise."))

    assert first.text == again.text == third.text
    assert (first.reused_tokens, other.reused_tokens) == (0, 0)
    assert 0 < again.reused_tokens == third.reused_tokens < again.prompt_tokens


@pytest.mark.models
def test_a_text_too_long_for_the_window_is_cut_and_says_so(bundled: Path) -> None:
    model = model_at(bundled, context_tokens=256)
    whole = model.answer(request_about("Rye bread. " * 5))
    for text in ("Rye bread. " * 5_000, "x" * 200_000, "🙂" * 50_000):
        cut = assert_answers(model, request_about(text))
        assert getattr(cut, "truncated", False)
        assert cut.prompt_tokens <= 256 - 120

    assert not whole.truncated
    model.close()


@pytest.mark.models
def test_instructions_too_long_for_the_window_are_an_error(warm_model: LlamaCppModel) -> None:
    assert "window" in failure(warm_model, instructions="Describe the note. " * 500).message
    assert_answers(warm_model, request_about("Rye bread."))


@pytest.mark.models
def test_an_answer_cut_by_length_or_time_is_not_complete(warm_model: LlamaCppModel) -> None:
    short = warm_model.answer(request_about("Rye bread.", max_tokens=3))
    late = warm_model.answer(request_about("Rye bread.", deadline=0.0))

    assert (short.complete, short.answer_tokens) == (False, 3)
    assert (late.complete, late.text) == (False, "")


@pytest.mark.models
def test_callers_in_threads_wait_for_each_other(warm_model: LlamaCppModel) -> None:
    answers: list[str] = []

    def ask(number: int) -> None:
        answers.append(warm_model.answer(request_about(f"Bread number {number}.")).text)

    threads = [threading.Thread(target=ask, args=(number,)) for number in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()

    assert all(read_answer(text, SCHEMA) for text in answers)
    assert len(answers) == 4


def alive(process_id: int) -> bool:
    try:
        os.kill(process_id, 0)
    except ProcessLookupError:
        return False
    return True


@pytest.mark.models
@posix_only
def test_a_model_can_be_closed_in_the_middle_of_an_answer(model: LlamaCppModel) -> None:
    text = {"type": "string", "minLength": 1900, "maxLength": 2000}
    schema = {"type": "object", "properties": {"text": text}}
    model.answer(request_about("Rye bread."))
    process_id = model.process_id
    assert process_id is not None
    timer = threading.Timer(0.3, model.close)
    timer.start()
    with pytest.raises(ModelError):
        model.answer(request_about("Rye bread.", schema=schema, max_tokens=800))
    timer.join()
    assert not alive(process_id) and model.process_id is None
    assert_answers(model, request_about("Rye bread."))


@pytest.mark.models
@pytest.mark.skipif(not Path("/proc/self/environ").exists(), reason="needs /proc")
def test_the_child_sees_no_keys_has_no_sockets_and_a_group_of_its_own(
    model: LlamaCppModel, monkeypatch: pytest.MonkeyPatch
) -> None:
    for name in ("OPENAI_API_KEY", "AMEM_API_KEY", "HTTPS_PROXY", "GITHUB_TOKEN"):
        monkeypatch.setenv(name, "SECRET")
    model.answer(request_about("Rye bread."))
    process_id = model.process_id
    assert process_id is not None
    environment = Path(f"/proc/{process_id}/environ").read_bytes()

    assert b"SECRET" not in environment
    assert b"GGML_NO_BACKTRACE=1" in environment
    assert os.getpgid(process_id) == process_id != os.getpgid(0)
    opened = [str(file.readlink()) for file in Path(f"/proc/{process_id}/fd").iterdir()]
    assert not any(name.startswith("socket:") for name in opened)


@pytest.mark.models
def test_the_working_directory_brings_no_modules_into_the_child(
    model: LlamaCppModel, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    for name in ("llama_cpp", "json", "amem_cli"):
        (tmp_path / f"{name}.py").write_text("raise SystemExit(9)\n")
    monkeypatch.chdir(tmp_path)

    assert_answers(model, request_about("Rye bread."))


@pytest.mark.models
def test_whatever_the_grammar_lets_through_is_accepted(bundled: Path) -> None:
    """Walk through the grammar along random tokens, as the worst speaker would."""
    import llama_cpp

    from amem_cli.models.llama_cpp_worker import best_allowed

    np = pytest.importorskip("numpy")
    words = {"type": "string", "maxLength": 6}
    properties = {
        "words": {"type": "array", "items": words, "maxItems": 3},
        "exact": {"type": "string", "minLength": 1, "maxLength": 1},
        "pair": {"type": "string", "minLength": 2, "maxLength": 2},
        "phrase": {"type": "string", "maxLength": 400, "x-words": ["Rye", "c++", "grün", "1,5"]},
        **SCHEMA["properties"],
    }
    schema = {"type": "object", "properties": properties}
    grammar = to_gbnf(schema).encode("ascii")
    vocabulary_only = llama_cpp.Llama(str(bundled), vocab_only=True, verbose=False)
    vocabulary = llama_cpp.llama_model_get_vocab(vocabulary_only.model)
    chance = np.random.default_rng(8)
    for _ in range(12):
        rules = llama_cpp.llama_sampler_init_grammar(vocabulary, grammar, b"root")
        assert rules
        said: list[int] = []
        while True:
            scores = chance.standard_normal(vocabulary_only.n_vocab()).astype(np.float32)
            some = chance.integers(0, len(scores), 300)
            token = best_allowed(rules, some, scores)
            if token is None:
                token = best_allowed(rules, np.arange(len(scores)), scores)
            assert token is not None
            if llama_cpp.llama_vocab_is_eog(vocabulary, token):
                break
            llama_cpp.llama_sampler_accept(rules, token)
            said.append(token)
        llama_cpp.llama_sampler_free(rules)
        text = vocabulary_only.detokenize(said).decode("utf-8", "replace")
        if "\ufffd" in text:
            # llama.cpp takes two bytes for a character that are none; such an answer is dropped.
            with pytest.raises(AnswerRejected):
                read_answer(text, schema)
            continue
        answer = read_answer(text, schema)
        assert json.dumps(answer, ensure_ascii=False) == text
    vocabulary_only.close()
