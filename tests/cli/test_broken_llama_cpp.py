"""llama-cpp-python missing or broken: amem says why GGUF files do not run, and all else works."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path

import pytest

from tests.fakes.chat_server import ChatServer
from tests.fakes.programs import a_program
from tests.fakes.tiny_gguf import write_tiny_gguf
from tests.missing_packages import without_packages

Ran = subprocess.CompletedProcess[str]
MISSING = "GGUF models need llama-cpp-python, which is not installed"
BROKEN = "GGUF models need llama-cpp-python, which is installed but does not load: "
INSTALL, REINSTALL = "amem-cli[local]", "--force-reinstall"
# What the package does while it is imported, what is said of it, and what helps.
STATES = {
    "missing": ("", MISSING, INSTALL),
    "incomplete": (
        "from llama_cpp.gone import this",
        f"{BROKEN}ModuleNotFoundError: No module named 'llama_cpp.gone'",
        REINSTALL,
    ),
    "without a library of the system": (
        "import ctypes; ctypes.CDLL('libgone.so.1')",
        f"{BROKEN}OSError: libgone.so.1",
        REINSTALL,
    ),
    "built for another processor": (
        "import os, signal; os.kill(os.getpid(), signal.SIGILL)",
        f"{BROKEN}a process that loads it was ended by SIGILL",
        REINSTALL,
    ),
    "ending the program": ("import os; os._exit(3)", f"{BROKEN}a process that", REINSTALL),
}


class Machine:
    """A machine with a vault, on which the package is in one of these states."""

    def __init__(self, folder: Path, state: str) -> None:
        body, self.fault, self.remedy = STATES[state]
        self.folder = folder
        if state == "missing":
            self._environment = without_packages(folder, "llama_cpp")
        else:
            package = folder / "packages/llama_cpp"
            package.mkdir(parents=True)
            (package / "__init__.py").write_text(body)
            root = str(Path(__file__).parents[2])
            path = os.pathsep.join([str(package.parent), root])
            self._environment = {**os.environ, "PYTHONPATH": path}
        for kind in ("STATE", "CONFIG", "DATA"):
            self._environment[f"AMEM_{kind}_DIR"] = str(folder / kind.lower())
        self._environment |= {"AMEM_VAULT": str(folder / "v"), "OLLAMA_HOST": "127.0.0.1:9"}
        assert self("init", "v").returncode == 0

    def __call__(self, *line: str, **variables: str) -> Ran:
        return subprocess.run(
            [sys.executable, "-m", "amem_cli", *line],
            cwd=self.folder,
            env={**self._environment, **variables},
            capture_output=True,
            text=True,
        )


@pytest.fixture(params=["missing", "built for another processor"])
def machine(tmp_path: Path, request: pytest.FixtureRequest) -> Machine:
    if sys.platform == "win32" and "SIGILL" in STATES[request.param][0]:
        pytest.skip("needs signals")
    return Machine(tmp_path, request.param)


@pytest.mark.parametrize("machine", STATES, indirect=True)
def test_a_gguf_model_is_not_to_be_chosen(machine: Machine) -> None:
    file = write_tiny_gguf(machine.folder / "tiny.gguf")
    done = machine("model", "use", str(file))
    error, hint = done.stderr.splitlines()
    assert done.returncode == 3
    assert error.startswith(f"error: {machine.fault}")
    assert machine.remedy in hint


def test_models_are_listed_with_the_reason_why_none_runs(machine: Machine) -> None:
    text = machine("model", "list")
    assert text.returncode == 0
    assert machine.fault in text.stdout
    document = json.loads(machine("model", "list", "--json").stdout)
    assert not document["gguf"]["usable"]
    assert document["gguf"]["problem"].startswith(machine.fault)
    assert machine.remedy in document["gguf"]["hint"]


@pytest.mark.models
def test_a_vault_that_uses_one_saves_its_notes_and_the_check_says_why(machine: Machine) -> None:
    file = write_tiny_gguf(machine.folder / "tiny.gguf")
    chosen = {"AMEM_LLM_BACKEND": "llama.cpp", "AMEM_LLM_MODEL": str(file)}
    added = machine("add", "--title", "Walruses", "Walruses haul out on ice. They dive.", **chosen)
    assert added.returncode == 0, added.stderr
    assert machine.fault in added.stdout
    found = machine("search", "walruses ice", "--mode", "keyword", "--json", **chosen)
    assert json.loads(found.stdout)["hits"][0]["title"] == "Walruses"
    checked = json.loads(machine("doctor", "--json", **chosen).stdout)
    (finding,) = [each for each in checked["findings"] if each["check"] == "models"]
    assert finding["message"].startswith(machine.fault)
    assert finding["severity"] == "problem"
    assert machine.remedy in finding["hint"]


@pytest.mark.models
def test_servers_and_programs_work_all_the_same(machine: Machine) -> None:
    asked = machine.folder / "asked"
    program = a_program(machine.folder, f"open({str(asked)!r}, 'w').write(prompt)")
    used = machine("model", "use", program, "--backend", "command")
    assert used.returncode == 0, used.stderr
    assert machine("add", "--title", "Walruses", "Walruses haul out.").returncode == 0
    assert "Walruses haul out." in asked.read_text()
    with ChatServer() as server:
        server.models = ["some-model"]
        served = machine("model", "use", "some-model", "--base-url", server.url)
        assert served.returncode == 0, served.stderr
        assert machine("add", "--title", "Seals", "Seals rest on beaches.").returncode == 0
        assert any("Seals rest on beaches." in str(each.body) for each in server.requests)


def test_a_vault_without_a_language_model_is_healthy(machine: Machine) -> None:
    checked = machine("doctor")
    assert checked.returncode == 0, checked.stdout
    assert (machine.fault in checked.stdout) == (machine.fault == MISSING)
