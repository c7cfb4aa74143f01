"""Every test has its own user settings and state; prepared encoders are kept between runs."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
from collections.abc import Iterator
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import pytest

from amem_cli.index.memory_index import VaultPorts
from tests.fork_server import AVAILABLE, TOP, fork_server
from tests.hypothesis_profiles import load_profile
from tests.other_systems import NOT_READ_ON_WINDOWS, mark_tests, write_text_as_on_linux
from tests.vaults import open_vault

load_profile()
write_text_as_on_linux()
collect_ignore = NOT_READ_ON_WINDOWS if sys.platform == "win32" else []


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    mark_tests(items)


# Only a command that hangs takes so many seconds.
PATIENCE = 300.0


def _heed_signals() -> None:
    """In the background of a shell some are ignored, and the programs under test inherit that."""
    for name, handler in (("SIGINT", signal.default_int_handler), ("SIGHUP", signal.SIG_DFL)):
        number = getattr(signal, name, None)
        if number is not None and signal.getsignal(number) is signal.SIG_IGN:
            signal.signal(number, handler)


_heed_signals()


@pytest.fixture(scope="session")
def cache_folder(request: pytest.FixtureRequest) -> Path:
    """Where exported encoders stay from one run of the tests to the next."""
    folder = request.config.rootpath / ".pytest_cache" / "d" / "amem"
    folder.mkdir(parents=True, exist_ok=True)
    return folder


@pytest.fixture(autouse=True)
def own_folders(
    tmp_path_factory: pytest.TempPathFactory, cache_folder: Path, monkeypatch: pytest.MonkeyPatch
) -> Iterator[None]:
    """No test sees or changes the settings of the person who runs it."""
    home = tmp_path_factory.mktemp("home")
    for name in [name for name in os.environ if name.startswith("AMEM_")]:
        monkeypatch.delenv(name)
    for name in ("OPENAI_API_KEY", "OPENAI_BASE_URL", "OLLAMA_HOST"):
        monkeypatch.delenv(name, raising=False)
    # Tests that run beside one another are given a size that is no terminal's.
    for name in ("COLUMNS", "LINES"):
        monkeypatch.delenv(name, raising=False)
    # It takes seconds a note; tests that are about it switch it on.
    monkeypatch.setenv("AMEM_LLM_JUDGE", "off")
    monkeypatch.setenv("AMEM_CONFIG_DIR", str(home / "config"))
    monkeypatch.setenv("AMEM_STATE_DIR", str(home / "state"))
    monkeypatch.setenv("AMEM_DATA_DIR", str(home / "data"))
    monkeypatch.setenv("AMEM_CACHE_DIR", str(cache_folder))
    yield


@dataclass
class Answer:
    """What one command line did."""

    code: int
    out: str
    err: str

    @property
    def json(self) -> Any:
        return json.loads(self.out)


@dataclass
class Program:
    """Runs `amem` as a user does, in a process of its own.

    Attributes:
        forked: the process may be a fork of one that has loaded the program, which is quick.
    """

    folder: Path
    environment: dict[str, str] = field(default_factory=dict)
    forked: bool = True

    def __call__(self, *arguments: str, stdin: str | None = None, **variables: str) -> Answer:
        # A pipe on Windows has the encoding of the system's language.
        told = {"PYTHONIOENCODING": "utf-8"} if sys.platform == "win32" else {}
        environment = {**os.environ, **told, **self.environment, **variables}
        if self.forked and AVAILABLE and fork_server().runs(environment):
            return Answer(
                *fork_server().run(arguments, self.folder, environment, stdin or "", PATIENCE)
            )
        line = (sys.executable, "-m", "amem_cli", *arguments)
        return self.beside(*line, stdin=stdin or "", **{**told, **variables})

    def start(self, *arguments: str, **variables: str) -> subprocess.Popen[str]:
        """Begin a command line that the test waits for, or ends."""
        return subprocess.Popen(
            [sys.executable, "-m", "amem_cli", *arguments],
            cwd=self.folder,
            env={**os.environ, **self.environment, **variables},
            stdin=subprocess.DEVNULL,
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            text=True,
            encoding="utf-8",
        )

    def beside(self, *line: str, stdin: str = "", **variables: str) -> Answer:
        """Run another program where this one would run."""
        done = subprocess.run(
            line,
            cwd=self.folder,
            env={**os.environ, **self.environment, **variables},
            input=stdin,
            capture_output=True,
            text=True,
            encoding="utf-8",
            timeout=PATIENCE,
            check=False,
        )
        return Answer(done.returncode, done.stdout, done.stderr)

    def vault(self, name: str = "v", *options: str) -> Path:
        """A new vault, with the notes of the template, that every later command finds."""
        answer = self("init", name, *options)
        assert answer.code == 0, answer.err
        self.environment["AMEM_VAULT"] = str(self.folder / name)
        return self.folder / name

    def empty_vault(self) -> Path:
        """A new vault without notes that every later command finds."""
        (self.folder / "v").mkdir()
        return self.vault("v", "--adopt")


@pytest.fixture
def amem(tmp_path: Path) -> Program:
    """The program in an empty folder, without a language model."""
    return Program(tmp_path, {"AMEM_LLM_BACKEND": "none", "PYTHONPATH": str(TOP)})


@pytest.fixture
def amem_process(amem: Program) -> Program:
    """The same, started anew for each command line; for what a start has to do with."""
    amem.forked = False
    return amem


@pytest.fixture
def ports(tmp_path: Path) -> VaultPorts:
    """A vault of its own for the test, with what notes the test writes."""
    return open_vault(tmp_path)
