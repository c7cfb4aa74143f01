"""Rows and paths that other programs read."""

from __future__ import annotations

import shutil
import subprocess
from pathlib import Path

import pytest

from tests.conftest import Program


@pytest.fixture
def vault(amem: Program) -> Path:
    for name, title in (("one", "First\tidea"), ("two", "Second idea")):
        text = f'---\ntitle: "{title}"\ntags:\n  - a\n  - b/c\n---\nOf walruses, {name}.\n'
        (amem.folder / f"{name}.md").write_text(text.replace("\t", "\\t"))
    assert amem("init", ".", "--adopt").code == 0
    return amem.folder


def test_a_format_makes_a_row_of_each_note(amem: Program, vault: Path) -> None:
    answer = amem("list", "--sort", "path", "--format", r"{path}\t{title}\t{tags}")
    assert answer.out == "one.md\tFirst idea\ta b/c\ntwo.md\tSecond idea\ta b/c\n"
    assert amem("list", "--sort", "path", "--format", r"{path}\0").out == "one.md\0two.md\0"
    assert amem("list", "-k", "1", "--sort", "path", "--format", r"\\{path}").out == "\\one.md\n"


def test_an_unknown_field_is_told_with_those_that_are_known(amem: Program, vault: Path) -> None:
    answer = amem("list", "--format", "{name}")
    assert answer.code == 2
    assert answer.err.splitlines()[0] == "error: --format has no field {name}"
    assert "{path} {title}" in answer.err


def test_a_search_prints_paths_alone(amem: Program, vault: Path) -> None:
    line = ("search", "walruses", "--mode", "keyword")
    assert sorted(amem(*line, "-l").out.splitlines()) == ["one.md", "two.md"]
    done = subprocess.run(
        ["xargs", "-0", "grep", "-l", "two"],
        input=amem(*line, "-l", "--print0").out,
        cwd=vault,
        capture_output=True,
        text=True,
    )
    assert done.stdout == "two.md\n"
    assert amem(*line, "-l", "--json").code == 2
    assert amem(*line, "--print0").code == 2


@pytest.mark.skipif(shutil.which("fzf") is None, reason="needs fzf")
def test_fzf_picks_a_row_by_its_title(amem: Program, vault: Path) -> None:
    rows = amem("list", "--format", r"{path}\t{title}").out
    done = subprocess.run(
        ["fzf", "--filter", "second", "--delimiter", "\t", "--nth", "2"],
        input=rows,
        capture_output=True,
        text=True,
    )
    assert done.stdout == "two.md\tSecond idea\n"
