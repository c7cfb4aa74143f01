"""Word lists, phrases, prompts and other tables: one concept a file, read when it is first used."""

from __future__ import annotations

import sys
from functools import cache
from pathlib import Path
from typing import Any


def lines(name: str) -> list[str]:
    """The lines of a text file, without comments (`# …`) and blank ones.

    Args:
        name: of the file, relative to this folder, such as `stopwords/en.txt`.
    """
    rows = text(name).splitlines()
    return [row for row in rows if row and not row.startswith("# ")]


@cache
def word_set(name: str) -> frozenset[str]:
    """The words of a text file, each once; they are folded if the file does not say otherwise."""
    return frozenset(word for line in lines(name) for word in line.split())


@cache
def table(name: str) -> dict[str, Any]:
    """The content of a TOML file, to be read only."""
    if sys.version_info >= (3, 11):
        import tomllib
    else:
        import tomli as tomllib
    return tomllib.loads(text(name))


def names(folder: str) -> list[str]:
    """The names of the files in a folder of this one, in order."""
    files = (Path(__file__).parent / folder).iterdir()
    return sorted(each.name for each in files if each.is_file())


def text(name: str) -> str:
    """A text file as it is."""
    return file_path(name).read_text(encoding="utf-8")


def file_path(name: str) -> Path:
    """Where a file is."""
    # importlib.resources would add 10 ms to every command.
    return Path(__file__).parent / name
