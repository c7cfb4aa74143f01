"""A program that uses the library and checks its types strictly has nothing to complain about."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

TOP = Path(__file__).parents[1]

PROGRAM = """
from amem_cli import AgenticMemorySystem, AmemError, MemoryNote


def remembered(memory: AgenticMemorySystem, text: str) -> MemoryNote:
    note_id: str = memory.add_note(text, tags=["work"], timestamp="202503021500")
    note = memory.read(note_id)
    if note is None:
        raise LookupError(note_id)
    return note


def titles(memory: AgenticMemorySystem, query: str) -> list[str]:
    return [str(hit["content"])[:20] for hit in memory.search_agentic(query, k=5)]


def tidy(memory: AgenticMemorySystem) -> bool:
    try:
        changed: bool = memory.update("1", content="text", links=["2"])
        gone: bool = memory.delete("1")
        return changed and gone
    except AmemError as error:
        print(error.message, error.hint)
        return False


with AgenticMemorySystem(vault="notes", llm_backend="none") as opened:
    first: MemoryNote = remembered(opened, "text")
    links: list[str] = first.links
    every: list[MemoryNote] = list(opened.memories.values())
    lines, numbers = opened.find_related_memories("tea", k=2)
    total: int = len(lines) + sum(numbers)
"""

WRONG = """
from amem_cli import AgenticMemorySystem

memory = AgenticMemorySystem(vault=3)
number: int = memory.add_note("text")
"""


def checked(tmp_path: Path, program: str) -> subprocess.CompletedProcess[str]:
    (tmp_path / "program.py").write_text(program, encoding="utf-8")
    command = [sys.executable, "-m", "mypy", "--strict", "--follow-imports=silent"]
    return subprocess.run(
        [*command, "--cache-dir", str(tmp_path / "cache"), "program.py"],
        cwd=tmp_path,
        env={**os.environ, "MYPYPATH": str(TOP), "PYTHONPATH": str(TOP)},
        capture_output=True,
        text=True,
        check=False,
    )


def test_a_program_of_a_users_passes_strict_type_checks(tmp_path: Path) -> None:
    assert (TOP / "amem_cli" / "py.typed").is_file()
    done = checked(tmp_path, PROGRAM)
    assert done.stdout == "Success: no issues found in 1 source file\n", done.stdout + done.stderr
    done = checked(tmp_path, WRONG)
    assert [line.split("[")[-1] for line in done.stdout.splitlines()[:-1]] == [
        "arg-type]",
        "assignment]",
    ]
