"""Every example in docs/python.md runs as it stands."""

from __future__ import annotations

import os
import re
import subprocess
import sys
from pathlib import Path

import pytest

TOP = Path(__file__).parents[1]
PAGE = (TOP / "docs" / "python.md").read_text(encoding="utf-8")
EXAMPLES = re.findall(r"^```python\n(.*?)^```$", PAGE, re.MULTILINE | re.DOTALL)
SAID = (
    r"\[.+\]\nTrue\n[01]\.\d+ .*\n[01]\.\d+ .*\n",
    r"<AgenticMemorySystem vault='.*agent-memory'>\n",
    r"1 memories\n\d{14} 202503021500 Notes of the meeting about the first quarter\.\n",
    r"the note is empty\n",
    r"3\n",
)


@pytest.mark.parametrize(("example", "said"), list(zip(EXAMPLES, SAID, strict=True)))
def test_an_example_of_the_page_runs_and_says_what_it_should(
    tmp_path: Path, example: str, said: str
) -> None:
    done = subprocess.run(
        [sys.executable, "-W", "error", "-c", example],
        cwd=tmp_path,
        env={**os.environ, "PYTHONPATH": str(TOP)},
        capture_output=True,
        text=True,
        check=False,
    )
    assert (done.returncode, done.stderr) == (0, "")
    assert re.fullmatch(said, done.stdout), done.stdout


def test_the_page_tells_of_every_public_call() -> None:
    from amem_cli import AgenticMemorySystem

    calls = [name for name in dir(AgenticMemorySystem) if not name.startswith("_")]
    assert [name for name in calls if name not in PAGE] == []
