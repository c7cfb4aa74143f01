"""The program at work where there is no network, and where every call of the network is watched."""

from __future__ import annotations

import re
import shutil
import subprocess
import sys
from dataclasses import dataclass
from pathlib import Path

import pytest

from tests.conftest import Answer, Program
from tests.fakes.tiny_gguf import write_tiny_gguf

pytestmark = [
    pytest.mark.slow,
    pytest.mark.skipif(sys.platform != "linux", reason="needs namespaces and strace"),
]

TEXT = "The croissant dough tore in lamination: the butter came from the fridge."
MORE = "Butter for croissant lamination must be at 14 degrees, or the dough tears."
# A datagram socket that connects or asks for an address sends names or texts somewhere.
REACHING_OUT = re.compile(r"\b(?:connect|sendto|sendmsg|sendmmsg|bind)\(.*AF_INET")


# Under these some libraries do not report what they do; a user has none of them.
SILENCING = (
    "CI",
    "GITHUB_ACTIONS",
    "ORT_RUNNING_UNIT_TESTS",
    "ORT_DISABLE_TELEMETRY",
    "XDG_CACHE_HOME",
    "DO_NOT_TRACK",
)


@dataclass
class Wrapped(Program):
    """The program under another program."""

    before: tuple[str, ...] = ()

    def __call__(self, *arguments: str, stdin: str | None = None, **variables: str) -> Answer:
        import os

        done = subprocess.run(
            [*self.before, sys.executable, "-m", "amem_cli", *arguments],
            cwd=self.folder,
            env={**os.environ, **self.environment, **variables},
            input=stdin or "",
            capture_output=True,
            text=True,
            timeout=300,
            check=False,
        )
        return Answer(done.returncode, done.stdout, done.stderr)


def works(*line: str) -> bool:
    if shutil.which(line[0]) is None:
        return False
    return subprocess.run([*line, "true"], capture_output=True, check=False).returncode == 0


@pytest.fixture(autouse=True)
def outside_of_any_test(monkeypatch: pytest.MonkeyPatch) -> None:
    """What libraries leave out where they think that they are tested is not left out here."""
    for name in SILENCING:
        monkeypatch.delenv(name, raising=False)


@pytest.fixture
def vault(amem: Program) -> Program:
    """A vault whose encoder has been prepared, as after an installation."""
    amem.vault()
    assert amem("search", "butter", "--mode", "semantic").code == 0
    return amem


@pytest.mark.skipif(not works("unshare", "-n"), reason="may not make a network namespace")
@pytest.mark.parametrize("backend", ["none", "llama.cpp"])
def test_notes_are_added_found_and_evolved_without_any_network(
    vault: Program, backend: str
) -> None:
    cut_off = Wrapped(vault.folder, dict(vault.environment), before=("unshare", "-n"))
    cut_off.environment["AMEM_LLM_BACKEND"] = backend
    cut_off.environment["AMEM_LLM_MODEL"] = str(write_tiny_gguf(vault.folder / "tiny.gguf"))
    first = cut_off("add", TEXT, "--json")
    assert (first.code, first.json["pending"]) == (0, False), first.err
    assert cut_off("add", MORE, "--no-wait").code == 0
    assert cut_off("evolve").code == 0
    hits = cut_off("search", "cold butter", "--mode", "semantic", "--json").json["hits"]
    assert first.json["id"] in [hit["id"] for hit in hits]


@pytest.mark.skipif(not works("unshare", "-n"), reason="may not make a network namespace")
def test_a_server_out_of_reach_leaves_the_note_pending(vault: Program) -> None:
    cut_off = Wrapped(vault.folder, dict(vault.environment), before=("unshare", "-n"))
    cut_off.environment |= {
        "AMEM_LLM_BACKEND": "openai",
        "AMEM_LLM_BASE_URL": "https://no-such-host.example/v1",
        "AMEM_LLM_MODEL": "m",
        "AMEM_LLM_DEADLINE_SECONDS": "60",
    }
    added = cut_off("add", TEXT, "--json")
    assert (added.code, added.json["pending"]) == (0, True)
    assert "no-such-host.example: no connection" in " ".join(added.json["problems"])


@pytest.mark.skipif(not works("strace", "-f"), reason="may not trace")
def test_no_command_without_a_server_reaches_for_the_network(
    vault: Program, tmp_path: Path
) -> None:
    log = tmp_path / "calls"
    traced = Wrapped(
        vault.folder,
        dict(vault.environment),
        before=("strace", "-f", "-qq", "-A", "-e", "trace=network", "-o", str(log)),
    )
    for line in (
        ("add", TEXT),
        ("add", MORE, "--no-wait"),
        ("evolve", "--no-llm"),
        ("search", "cold butter", "--mode", "semantic"),
    ):
        assert traced(*line).code == 0
    tiny = str(write_tiny_gguf(tmp_path / "tiny.gguf"))
    local = {"AMEM_LLM_BACKEND": "llama.cpp", "AMEM_LLM_MODEL": tiny}
    assert traced("add", f"{TEXT} Again.", **local).code == 0
    calls = log.read_text(errors="replace")
    assert calls
    assert [call for call in calls.splitlines() if REACHING_OUT.search(call)] == []


@pytest.mark.skipif(not works("strace", "-f"), reason="may not trace")
def test_setup_reaches_no_other_machine_and_runs_no_program(vault: Program, tmp_path: Path) -> None:
    log = tmp_path / "calls"
    traced = Wrapped(
        vault.folder,
        dict(vault.environment),
        before=("strace", "-f", "-qq", "-e", "trace=network,execve", "-o", str(log)),
    )
    assert traced("setup", "--yes").code == 0
    calls = log.read_text(errors="replace").splitlines()
    reaching = [call for call in calls if REACHING_OUT.search(call)]
    assert reaching
    assert [call for call in reaching if '"127.0.0.1"' not in call] == []
    assert len([call for call in calls if "execve(" in call]) == 1


def test_no_library_keeps_an_identifier_or_a_queue_of_what_to_report(amem: Program) -> None:
    home = amem.folder / "home"
    home.mkdir()
    # The encoder stays where the tests have prepared it; all else that looks for a home finds this.
    own = {"HOME": str(home)}
    assert amem("init", "v", **own).code == 0
    assert amem("--vault", "v", "add", TEXT, **own).code == 0
    assert amem("--vault", "v", "search", "butter", "--mode", "semantic", **own).code == 0
    assert [path.relative_to(home) for path in home.rglob("*") if path.is_file()] == []
