"""A language model behind a command line: the prompt on standard input, JSON on standard output.

The program is one that a person chose, such as `llm -m MODEL` or a script of their own. What it
writes is no more trusted than what a server sends.
"""

from __future__ import annotations

import contextlib
import json
import os
import tempfile
import threading
import time
from collections.abc import Iterator, Mapping, Sequence
from fnmatch import fnmatchcase
from pathlib import Path

from amem_cli.data import lines, table
from amem_cli.errors import ModelClosed, ModelError, SettingsError
from amem_cli.language.safe_text import holds_secret, on_one_line, redacted
from amem_cli.models.find_json import find_answer, without_terminal_codes
from amem_cli.models.ports import PROGRAM_MARK, ModelAnswer, ModelRequest
from amem_cli.models.program_run import run_program
from amem_cli.models.prompt_text import estimated_tokens, without_control_strings
from amem_cli.models.reply_schema import MAX_ANSWER_CHARACTERS, to_json_schema
from amem_cli.settings import ENVIRONMENT_PREFIX
from amem_cli.system.command_lines import find_program, split

MAX_LINE = 2_000
MAX_NAME = 80
MAX_REASON = 200
USE_HINT = 'Such as: amem model use "llm -m MODEL" --backend command'
# Programs that know them write neither colours nor progress bars.
_PLAIN_OUTPUT = {"TERM": "dumb", "NO_COLOR": "1"}


class CommandModel:
    """Runs a program for each request; one at a time, callers wait for each other."""

    # Nobody knows what it does with the texts.
    is_remote = True

    def __init__(self, line: str, root: Path, environment: Mapping[str, str]) -> None:
        """Name the program; it is not run yet. Raises `SettingsError` as `command_words` does."""
        self._words = command_words(line, root, environment)
        self.name = redacted(program_name(self._words), environment)
        self._root = root
        self._environment = environment
        self._closed = threading.Event()
        self._lock = threading.Lock()

    def answer(self, request: ModelRequest) -> ModelAnswer:
        """Run the program once; tokens are estimated.

        An output without JSON is an answer that cannot be read, so that the question is asked
        again.
        """
        prompt = prompt_of(request)
        with self._lock:
            self._closed.clear()
            started = time.monotonic()
            output = self._output(prompt, request.deadline).decode("utf-8", "replace")
        found = find_answer(output, list(request.schema["properties"]))
        return ModelAnswer(
            text=output[-MAX_ANSWER_CHARACTERS:] if found is None else found,
            complete=True,
            prompt_tokens=estimated_tokens(prompt),
            answer_tokens=estimated_tokens(output),
            seconds=time.monotonic() - started,
        )

    def close(self) -> None:
        """End the program, also in the middle of an answer; a later request runs it again."""
        self._closed.set()
        # Until the program's folder is gone too.
        with self._lock:
            pass

    def _output(self, prompt: str, seconds: float) -> bytes:
        """Run the program; raises `ModelError` unless it ends by itself with status 0."""
        stdin = prompt.encode("utf-8", "replace")
        variables = program_environment(self._environment)
        try:
            with _empty_folder(self._root) as folder:
                result = run_program(self._words, stdin, folder, variables, seconds, self._closed)
        except (OSError, ValueError) as error:
            reason = getattr(error, "strerror", None) or type(error).__name__
            raise ModelError(
                f"{self.name} cannot be started: {reason}", hint="Is it a program?"
            ) from None
        if result.ended_for == "close":
            raise ModelClosed(f"{self.name} was closed in the middle of an answer")
        if result.ended_for == "output":
            raise ModelError(f"{self.name} wrote more than 1 MiB and was ended", hint=USE_HINT)
        if result.ended_for == "time":
            limit = f"within {seconds:.0f} s" if seconds >= 1 else "in time"
            raise ModelError(
                f"{self.name} did not answer {limit} and was ended",
                hint="llm.deadline_seconds gives it longer.",
            )
        if result.status:
            said = redacted(without_terminal_codes(result.last_error), self._environment)
            reason = f": {on_one_line(said)[:MAX_REASON]}" if said else ""
            raise ModelError(
                f"{self.name} ended with status {result.status}{reason}",
                hint="Try it by hand with a short text.",
            )
        return result.output


def split_line(line: str) -> list[str]:
    """The words of a command line; raises `ValueError` if a quotation does not end."""
    words = split(line)
    return [str(Path(word).expanduser()) if word.startswith("~/") else word for word in words]


def program_name(words: Sequence[str]) -> str:
    """What the journal calls a program and its arguments.

    It travels with the vault, so it is without the folders of this machine, and says that it is no
    model's name.
    """
    short = (Path(word).name if Path(word).is_absolute() else word for word in words)
    return f"{' '.join(short)[:MAX_NAME].strip()} {PROGRAM_MARK}"


def command_words(line: str, root: Path, environment: Mapping[str, str]) -> list[str]:
    """The path of the program that a command line names, and its arguments.

    No shell reads the line: it is split at blanks, outside of quotes, and `~/` at the beginning of
    a word is the home folder.

    Raises:
        SettingsError: it cannot be read, holds a key, names no program of this machine, or leads
            into the vault, where others may write.
    """
    if not line.strip():
        raise SettingsError("no command line is named for the language model", hint=USE_HINT)
    if len(line) > MAX_LINE or not line.isprintable():
        raise SettingsError("the command line is too long or more than one line", hint=USE_HINT)
    if holds_secret(line):
        raise SettingsError(
            "the command line holds what looks like a key",
            hint="Put it where the program looks for it, such as its variable or its own settings.",
        )
    try:
        words = split_line(line)
    except ValueError as error:
        raise SettingsError(f"the command line cannot be read: {error}", hint=USE_HINT) from None
    program = _program(words[0], environment)
    for word in (program, *words[1:]):
        if _leads_into(root, word):
            raise SettingsError(
                f"the command line names a file in the vault: {on_one_line(word)}",
                hint="Move it out of the vault: whoever changes the vault could change it.",
            )
    return [program, *words[1:]]


def names_program(line: str, environment: Mapping[str, str]) -> bool:
    """Whether the first word of a text is a program of this machine."""
    try:
        words = split_line(line)
        return bool(words) and bool(_program(words[0], environment))
    except (SettingsError, ValueError):
        return False


def _program(word: str, environment: Mapping[str, str]) -> str:
    if Path(word).name != word and not Path(word).is_absolute():
        raise SettingsError(
            f"the program {on_one_line(word)} has no full path",
            hint="Name it by its full path, or by its name alone if it is on PATH.",
        )
    found = find_program(word, search_path(environment))
    if found is None:
        raise SettingsError(
            f"there is no program {on_one_line(word)!r}",
            hint="Install it, or name it by its full path.",
        )
    return found


def search_path(environment: Mapping[str, str]) -> str:
    """`PATH` without entries that mean another folder wherever one stands."""
    places = environment.get("PATH", os.defpath).split(os.pathsep)
    return os.pathsep.join(place for place in places if Path(place).is_absolute())


def _leads_into(root: Path, word: str) -> bool:
    """Whether a word, or what it gives an option behind `=`, is a path in the vault."""
    real_root = os.path.realpath(root)
    for text in (word, word.partition("=")[2]):
        path = Path(text).expanduser() if text.startswith("~/") else Path(text)
        if path.is_absolute() and (
            path.is_relative_to(root) or Path(os.path.realpath(path)).is_relative_to(real_root)
        ):
            return True
    return False


def program_environment(environment: Mapping[str, str]) -> dict[str, str]:
    """The variables that a program gets: those of `data/command_environment.txt`, no others."""
    patterns = lines("command_environment.txt")
    passed = {
        name: value
        for name, value in environment.items()
        if not name.startswith(ENVIRONMENT_PREFIX)
        and any(fnmatchcase(name, pattern) for pattern in patterns)
    }
    return {**passed, "PATH": search_path(environment), **_PLAIN_OUTPUT}


def prompt_of(request: ModelRequest) -> str:
    """What the program reads: instructions, text, and the form of the answer."""
    schema = json.dumps(to_json_schema(request.schema), ensure_ascii=False)
    form: str = table("prompts.toml")["command"]["form"]
    text = without_control_strings(request.text)
    parts = (request.instructions, *map("\n".join, request.examples), text, form)
    return "\n\n".join(parts) + f"\n{schema}\n"


@contextlib.contextmanager
def _empty_folder(root: Path) -> Iterator[Path]:
    """A folder to work in that is apart from the vault and goes with everything in it."""
    if _leads_into(root, tempfile.gettempdir()):
        raise ModelError(
            "the folder for temporary files lies in the vault", hint="Let TMPDIR name another one."
        )
    with tempfile.TemporaryDirectory(prefix="amem-command-", ignore_cleanup_errors=True) as folder:
        yield Path(folder)
