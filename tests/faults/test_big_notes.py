"""Huge notes cost bounded time and memory and are never written."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest

from amem_cli.editing.edit import FieldEdits, remove, update
from amem_cli.errors import AmemError
from amem_cli.index.memory_index import VaultPorts
from amem_cli.index.sync import synchronise
from amem_cli.vault.folder import MAX_NOTE_BYTES
from tests.faults.injection import TOP, environment
from tests.vaults import open_vault, summary_of, write_note

pytestmark = pytest.mark.slow

SIZE = MAX_NOTE_BYTES + 1000
BIG = {
    "one line": b"walrus " + b"x" * SIZE,
    "links": b"walrus\n" + b"[[a]] " * (SIZE // 6),
    "half links": b"walrus\n" + b"[[" * (SIZE // 2),
    "images": b"walrus\n" + b"![](" * (SIZE // 4),
    "tags": b"walrus\n" + b"#a " * (SIZE // 3),
    "fences": b"walrus\n" + b"```\n" * (SIZE // 4),
    "headings": b"walrus\n" + b"# a\n" * (SIZE // 4),
    "comments": b"walrus\n" + b"<!-- %% " * (SIZE // 8),
    "blanks": b"walrus\n" + b" " * SIZE,
    "stars": b"walrus\n" + b"*_`$" * (SIZE // 4),
    "letters that combine": b"walrus\n" + "a\u0301".encode() * (SIZE // 3),
}

BOUNDED = """
import resource, sys
resource.setrlimit(resource.RLIMIT_AS, (3 << 30, 3 << 30))
resource.setrlimit(resource.RLIMIT_CPU, (60, 60))
from pathlib import Path
from tests.faults.driver import ports_of
ports = ports_of(Path(sys.argv[1]))
print(ports.index.notes.count(), *sorted(ports.index.text.keyword_scores(["walrus"], 50)), sep="|")
# What `getrusage` says begins with the size of the process that started this one.
status = Path("/proc/self/status").read_text()
print(int(status.split("VmHWM:")[1].split()[0]) // 1024)
"""


def indexed(root: Path) -> tuple[list[str], int]:
    """Names that a fresh process found, and its peak memory in MiB."""
    done = subprocess.run(
        [sys.executable, "-c", BOUNDED, str(root)],
        cwd=TOP,
        env=environment(),
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == 0, done.stderr
    found, memory = done.stdout.splitlines()
    return found.split("|"), int(memory)


@pytest.mark.parametrize("name", BIG)
def test_a_huge_note_is_found_and_left_alone(tmp_path: Path, ports: VaultPorts, name: str) -> None:
    (tmp_path / "big.md").write_bytes(BIG[name])
    write_note(tmp_path, "good.md", "walrus\n")
    (count, *found), memory = indexed(tmp_path)
    assert (count, found) == ("2", ["big.md", "good.md"])
    assert memory < 1024
    summary = summary_of(ports, "big.md")
    with pytest.raises(AmemError, match="2 MiB"):
        update(ports, summary, FieldEdits(add_tags=["x"]))
    assert (tmp_path / "big.md").read_bytes() == BIG[name]
    assert [problem.path for problem in ports.index.files.problems()] == ["big.md"]


def test_a_sparse_note_of_20_gib_is_reported_and_can_be_removed(tmp_path: Path) -> None:
    write_note(tmp_path, "good.md", "walrus\n")
    with (tmp_path / "sparse.md").open("wb") as stream:
        stream.truncate(20 << 30)
    (count, *found), memory = indexed(tmp_path)
    assert (count, found) == ("2", ["good.md"])
    assert memory < 1024
    ports = open_vault(tmp_path)
    synchronise(ports)
    summary = summary_of(ports, "sparse.md")
    remove(ports, summary)
    assert (tmp_path / ".trash/sparse.md").stat().st_size == 20 << 30
    assert ports.index.notes.count() == 1
