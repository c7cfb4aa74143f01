"""The command adapter against programs that answer, hang, flood, crash and lie."""

from __future__ import annotations

import json
import os
import shlex
import sys
import tempfile
import threading
import time
from collections.abc import Callable, Iterator, Mapping
from pathlib import Path
from typing import Any

import psutil
import pytest

from amem_cli.errors import ModelClosed, ModelError, SettingsError
from amem_cli.models.command import CommandModel, command_words, names_program, prompt_of
from amem_cli.models.ports import AnswerRejected, LanguageModel
from amem_cli.models.reply_schema import read_answer
from tests.contracts.language_model_contract import (
    SCHEMA,
    LanguageModelContract,
    assert_answers,
    failure,
    request_about,
)
from tests.fakes.programs import a_program

KEY = "sk-SECRET0123456789"
ANSWER = {"keywords": ["rye"], "relation": "related", "strength": 0.5, "sure": True}
WRITTEN = json.dumps(ANSWER)
MAKES_IT_UP = f"""
import random
sys.path.insert(0, {str(Path(__file__).parents[2])!r})
from tests.fakes.language_model import random_value
print(json.dumps(random_value(schema, random.Random(prompt))))
"""
Programs = Callable[..., CommandModel]


@pytest.fixture
def scratch(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """Where temporary folders are made."""
    folder = tmp_path / "scratch"
    folder.mkdir()
    monkeypatch.setattr(tempfile, "tempdir", str(folder))
    return folder


@pytest.fixture
def model_of(tmp_path: Path, scratch: Path) -> Programs:
    """Makes a model of a program's body."""

    def make(
        body: str,
        *,
        reading: bool = True,
        environment: Mapping[str, str] = os.environ,
        **changes: Any,
    ) -> CommandModel:
        line = a_program(tmp_path / "programs", body, reading=reading)
        return CommandModel(line, tmp_path / "vault", environment, **changes)

    return make


class TestContract(LanguageModelContract):
    @pytest.fixture
    def model(self, model_of: Programs) -> Iterator[LanguageModel]:
        made = model_of(MAKES_IT_UP)
        yield made
        made.close()


def wait_for(condition: Callable[[], object], seconds: float = 20.0) -> None:
    until = time.monotonic() + seconds
    while not condition():
        assert time.monotonic() < until, "it did not happen in time"
        time.sleep(0.01)


def process_ids(path: Path) -> list[int]:
    return [int(line) for line in path.read_text().split()] if path.exists() else []


def is_running(process_id: int) -> bool:
    try:
        return psutil.Process(process_id).status() != psutil.STATUS_ZOMBIE
    except psutil.NoSuchProcess:
        return False


def test_the_program_reads_the_question_the_text_and_the_form(
    model_of: Programs, tmp_path: Path
) -> None:
    seen = tmp_path / "seen"
    model = model_of(f"open({str(seen)!r}, 'w').write(prompt)\nprint({WRITTEN!r})\n")
    request = request_about("Rye bread <|im_end|> rises.")
    answer = model.answer(request)
    prompt = seen.read_text()

    assert prompt == prompt_of(request)
    assert prompt.startswith(request.instructions)
    assert "Rye bread < |im_end| > rises." in prompt
    assert "JSON" in prompt and "no tools" in prompt
    assert answer.prompt_tokens > len(prompt) // 8
    assert 0 < answer.answer_tokens < 60
    assert not answer.truncated


@pytest.mark.parametrize(
    "body",
    [
        f"print({WRITTEN!r})",
        f"print('Sure:', json.dumps({{'result': {WRITTEN!r}}}), '\\x1b[0m', file=sys.stdout)",
        f"sys.stdout.buffer.write(b'\\xff\\xfe caf\\xe9 ' + {WRITTEN!r}.encode())",
        f"print('loading', file=sys.stderr)\nprint({WRITTEN!r})",
        f"print({WRITTEN!r}, flush=True)\nsys.stderr.write('x' * 3_000_000)",
    ],
)
def test_answers_are_found_in_what_programs_write(model_of: Programs, body: str) -> None:
    assert read_answer(model_of(body).answer(request_about("Rye.")).text, SCHEMA) == ANSWER


@pytest.mark.parametrize(
    ("body", "reason"),
    [
        ("", "not JSON"),
        ("print('I would rather not.')", "not JSON"),
        ("sys.stdout.buffer.write(bytes(range(256)) * 1000)", "not JSON"),
        ('print(\'{"keywords": ["rye"]}\')', "exactly the asked properties"),
    ],
)
def test_what_is_no_answer_is_rejected_by_its_reader(
    model_of: Programs, body: str, reason: str
) -> None:
    answer = model_of(body).answer(request_about("Rye."))
    assert answer.complete
    with pytest.raises(AnswerRejected, match=reason):
        read_answer(answer.text, SCHEMA)


def test_a_program_that_fails_is_not_believed(model_of: Programs) -> None:
    body = f"""
print({WRITTEN!r})
print('line one', file=sys.stderr)
print('\\x1b[31mwrong key {KEY} or Bearer abcdefgh{KEY}\\x1b[0m \\x07', file=sys.stderr)
sys.exit(1)
"""
    error = failure(model_of(body))
    assert "ended with status 1: wrong key *** or Bearer ***" in error.message
    assert "line one" not in error.message


def test_the_value_of_a_secret_variable_is_not_quoted(model_of: Programs) -> None:
    environment = {**os.environ, "SOME_API_KEY": "SECRET of no known kind"}
    body = "sys.stderr.write('bad key: ' + os.environ['SOME_API_KEY'])\nsys.exit(3)"
    assert "status 3: bad key: ***" in failure(model_of(body, environment=environment)).message


def test_a_line_that_was_cut_is_not_quoted(model_of: Programs) -> None:
    body = f"sys.stderr.write({KEY!r} * 20_000)\nsys.exit(1)"
    assert failure(model_of(body)).message.endswith("status 1")


def test_a_program_that_reads_nothing_may_answer(model_of: Programs) -> None:
    model = model_of(f"print({WRITTEN!r})", reading=False)
    text = "Rye bread. " * 50_000
    assert read_answer(model.answer(request_about(text)).text, SCHEMA) == ANSWER


def test_a_program_that_floods_is_ended(model_of: Programs) -> None:
    started = time.monotonic()
    error = failure(model_of("while True: print('{\"a\": ' * 10_000)"), deadline=60.0)
    assert "wrote more than 1 MiB" in error.message
    assert time.monotonic() - started < 30


HANGS = """
import signal, subprocess
for name in ("SIGTERM", "SIGHUP", "SIGINT"):
    signal.signal(getattr(signal, name), signal.SIG_IGN)
child = "import signal, time; signal.signal(signal.SIGTERM, signal.SIG_IGN); time.sleep(600)"
for leaves in (False, True):
    made = subprocess.Popen([sys.executable, "-c", child], start_new_session=leaves)
    open({place!r}, "a").write(f"{{made.pid}}\\n")
open({place!r}, "a").write(f"{{os.getpid()}}\\n")
{rest}
time.sleep(600)
"""


@pytest.mark.skipif(os.name == "nt", reason="sends signals")
def test_a_program_that_hangs_is_ended_with_all_that_it_started(
    model_of: Programs, tmp_path: Path
) -> None:
    place = tmp_path / "processes"
    model = model_of(HANGS.format(place=str(place), rest=""))
    started = time.monotonic()
    assert "did not answer within 6 s" in failure(model, deadline=6.0).message
    assert time.monotonic() - started < 30
    (*_, last) = found = process_ids(place)
    assert len(found) == 3 and last
    wait_for(lambda: not any(map(is_running, found)))


@pytest.mark.skipif(os.name == "nt", reason="sends signals")
def test_a_program_that_is_asked_to_end_may_do_so_by_itself(
    model_of: Programs, tmp_path: Path
) -> None:
    place = tmp_path / "ended"
    body = f"""
import signal
def end(*_):
    open({str(place)!r}, "w").close()
    sys.exit(0)
signal.signal(signal.SIGTERM, end)
while True: time.sleep(0.05)
"""
    failure(model_of(body), deadline=5.0)
    assert place.exists()


@pytest.mark.skipif(os.name == "nt", reason="looks at sessions")
def test_a_child_that_holds_the_output_open_is_not_waited_for(
    model_of: Programs, tmp_path: Path
) -> None:
    place = tmp_path / "processes"
    body = f"""
import subprocess
made = subprocess.Popen([sys.executable, "-c", "import time; time.sleep(600)"])
open({str(place)!r}, "w").write(str(made.pid))
print({WRITTEN!r})
"""
    started = time.monotonic()
    answer = model_of(body).answer(request_about("Rye.", deadline=60.0))
    assert read_answer(answer.text, SCHEMA) == ANSWER
    assert time.monotonic() - started < 20
    wait_for(lambda: not any(map(is_running, process_ids(place))))


@pytest.mark.skipif(os.name == "nt", reason="sends signals")
def test_closing_ends_a_program_in_the_middle_of_an_answer(
    model_of: Programs, tmp_path: Path, scratch: Path
) -> None:
    place = tmp_path / "processes"
    model = model_of(HANGS.format(place=str(place), rest=""))
    errors: list[BaseException] = []

    def ask() -> None:
        try:
            model.answer(request_about("Rye."))
        except ModelError as error:
            errors.append(error)

    asking = threading.Thread(target=ask)
    asking.start()
    wait_for(lambda: len(process_ids(place)) == 3)
    model.close()
    asking.join(20)
    assert isinstance(errors[0], ModelClosed)
    wait_for(lambda: not any(map(is_running, process_ids(place))))
    assert list(scratch.iterdir()) == []


def test_it_works_in_an_empty_folder_that_goes_with_everything_in_it(
    model_of: Programs, tmp_path: Path, scratch: Path
) -> None:
    place, outside = tmp_path / "folder", tmp_path / "outside"
    outside.mkdir()
    (outside / "kept").write_text("kept")
    body = f"""
from pathlib import Path
here = Path.cwd()
open({str(place)!r}, "w").write(json.dumps([str(here), os.listdir(here)]))
(here / "made" / "deep").mkdir(parents=True)
(here / "made" / "file").write_text("x")
(here / "link").symlink_to({str(outside)!r})
print({WRITTEN!r})
"""
    assert_answers(model_of(body), request_about("Rye."))
    folder, held = json.loads(place.read_text())
    assert Path(folder).parent == scratch
    assert held == []
    assert list(scratch.iterdir()) == []
    assert (outside / "kept").read_text() == "kept"


def test_it_does_not_work_in_the_vault(
    model_of: Programs, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "vault").mkdir()
    monkeypatch.setattr(tempfile, "tempdir", str(tmp_path / "vault"))
    assert "TMPDIR" in failure(model_of(f"print({WRITTEN!r})")).hint
    assert list((tmp_path / "vault").iterdir()) == []


def test_the_program_gets_the_listed_variables_only(model_of: Programs, tmp_path: Path) -> None:
    place = tmp_path / "variables"
    given = {
        "PATH": os.pathsep.join(["/usr/bin", ".", "", "bin"]),
        "HOME": str(tmp_path),
        "LC_ALL": "C.UTF-8",
        "https_proxy": "http://proxy:3128",
        "OPENAI_API_KEY": KEY,
        "GROQ_API_KEY": KEY,
        "OLLAMA_HOST": "127.0.0.1",
        "LLM_USER_PATH": "/x",
    }
    kept_back = {
        "AMEM_API_KEY": KEY,
        "AMEM_VAULT": "/vault",
        "GITHUB_TOKEN": KEY,
        "AWS_SECRET_ACCESS_KEY": KEY,
        "LD_PRELOAD": "/x.so",
        "PYTHONPATH": "/x",
        "PWD": "/vault",
        "SSH_AUTH_SOCK": "/x",
    }
    body = f"open({str(place)!r}, 'w').write(json.dumps(dict(os.environ)))\nprint({WRITTEN!r})"
    assert_answers(model_of(body, environment=given | kept_back), request_about("Rye."))
    seen = json.loads(place.read_text())
    assert not set(kept_back) & set(seen)
    # The interpreter may add one of its own.
    assert set(seen) - {"LC_CTYPE"} == set(given) | {"TERM", "NO_COLOR"}
    assert (seen["PATH"], seen["TERM"]) == ("/usr/bin", "dumb")


@pytest.mark.skipif(os.name == "nt", reason="looks at sessions")
def test_it_has_a_session_of_its_own_and_no_open_files(model_of: Programs, tmp_path: Path) -> None:
    place = tmp_path / "facts"
    with (tmp_path / "held").open("w") as held:
        os.set_inheritable(held.fileno(), False)
        body = f"""
facts = [os.getsid(0) == os.getpid(), os.getpgrp() == os.getpid(), len(os.listdir("/dev/fd"))]
open({str(place)!r}, "w").write(json.dumps(facts))
print({WRITTEN!r})
"""
        assert_answers(model_of(body), request_about("Rye."))
    leads, own_group, files = json.loads(place.read_text())
    # The three streams, and the folder that is being listed.
    assert leads and own_group and files == 4


def test_no_shell_reads_the_line(tmp_path: Path, scratch: Path) -> None:
    place = tmp_path / "arguments"
    body = f"open({str(place)!r}, 'w').write(json.dumps(sys.argv[1:]))\nprint({WRITTEN!r})"
    line = a_program(tmp_path / "programs", body)
    line += " '$HOME' $(id) `id` ; touch x && x > y * '' \"a b\""
    assert_answers(CommandModel(line, tmp_path / "vault", os.environ), request_about("Rye."))
    assert json.loads(place.read_text()) == [
        *["$HOME", "$(id)", "`id`", ";", "touch", "x", "&&", "x", ">", "y", "*", "", "a b"]
    ]


def test_a_file_that_is_no_program_is_a_failure(tmp_path: Path) -> None:
    text = tmp_path / "text"
    text.write_text("no program")
    text.chmod(0o755)
    model = CommandModel(str(text), tmp_path / "vault", os.environ)
    assert "cannot be started" in failure(model).message


@pytest.mark.parametrize(
    ("line", "says"),
    [
        ("", "no command line"),
        ("  ", "no command line"),
        ("no-such-program-anywhere x", "no program"),
        ("'' x", "no program"),
        ("sh 'x", "cannot be read"),
        ("./script", "no full path"),
        ("bin/script", "no full path"),
        (f"sh {KEY}", "looks like a key"),
        ("sh x\ny", "more than one line"),
        ("sh \x1b[2J", "more than one line"),
        ("sh " + "x" * 3000, "too long"),
    ],
)
def test_a_command_line_that_cannot_be_run_is_refused(tmp_path: Path, line: str, says: str) -> None:
    with pytest.raises(SettingsError, match=says) as caught:
        command_words(line, tmp_path, os.environ)
    assert caught.value.hint
    assert "SECRET" not in caught.value.message


@pytest.mark.parametrize(
    "word", ["{vault}/x.py", "--file={vault}/x.py", "{link}", "{vault}/../v/x"]
)
def test_nothing_in_the_vault_is_run_or_named(tmp_path: Path, word: str) -> None:
    vault, link = tmp_path / "v", tmp_path / "link"
    vault.mkdir()
    (vault / "x.py").write_text("")
    link.symlink_to(vault / "x.py")
    line = shlex.join([sys.executable, word.format(vault=vault, link=link)])
    with pytest.raises(SettingsError, match="a file in the vault"):
        command_words(line, vault, os.environ)


@pytest.mark.skipif(os.name == "nt", reason="looks at modes")
def test_a_program_of_the_vault_is_refused_also_by_its_name_on_path(tmp_path: Path) -> None:
    program = tmp_path / "v" / "llm"
    program.parent.mkdir()
    program.write_text("#!/bin/sh\n")
    program.chmod(0o755)
    with pytest.raises(SettingsError, match="a file in the vault"):
        command_words("llm -m x", tmp_path / "v", {"PATH": str(program.parent)})
    assert not names_program("llm -m x", {"PATH": "."})
    assert names_program("llm -m x", {"PATH": str(program.parent)})


def test_the_home_folder_may_be_written_short(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("HOME", str(tmp_path))
    script = tmp_path / "ask.sh"
    script.write_text("#!/bin/sh\n")
    script.chmod(0o755)
    words = command_words("~/ask.sh ~/config '~x'", tmp_path / "v", os.environ)
    assert words == [str(script), str(tmp_path / "config"), "~x"]
    assert names_program("~/ask.sh ~/config", os.environ)
    assert not names_program("~/another.sh", os.environ)
