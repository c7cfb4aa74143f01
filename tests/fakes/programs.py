"""Small programs in place of those that answer as a language model."""

from __future__ import annotations

import shlex
import sys
from pathlib import Path

# A program that reads its prompt; `prompt` and `schema` are there for what follows.
READING = """\
import json, os, sys, time
prompt = sys.stdin.read()
schema = json.loads(prompt.rstrip("\\n").rpartition("\\n")[2])
"""


def a_program(folder: Path, body: str, *, name: str = "program.py", reading: bool = True) -> str:
    """The command line of a Python program with this body.

    Args:
        reading: it reads its prompt first.
    """
    folder.mkdir(parents=True, exist_ok=True)
    path = folder / name
    path.write_text((READING if reading else "") + body, encoding="utf-8")
    return shlex.join([sys.executable, str(path)])
