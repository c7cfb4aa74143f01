"""What the documents tell to type is typed, in the order of the page, as a newcomer would."""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

from tests.documents import TOP, Page, pages
from tests.vaults import tree_hashes

pytestmark = pytest.mark.slow

SHELL = ("sh", "bash", "console")
PAGES = [page for page in pages() if any(b.run and b.language in SHELL for b in page.blocks)]


@pytest.fixture
def home(tmp_path: Path) -> Path:
    """A home without anything, and `amem` where a shell finds it."""
    shutil.which("bash") or pytest.skip("bash is not installed")
    (tmp_path / "bin").mkdir()
    called = tmp_path / "bin" / "amem"
    called.write_text(f'#!/bin/sh\nPYTHONPATH="{TOP}" exec "{sys.executable}" -m amem_cli "$@"\n')
    called.chmod(0o755)
    (tmp_path / "home").mkdir()
    return tmp_path / "home"


def typed(home: Path, text: str) -> subprocess.CompletedProcess[str]:
    """Run lines as in a shell that ends with the first one that fails."""
    variables = {name: value for name, value in os.environ.items() if not name.startswith("GIT_")}
    variables |= {
        "HOME": str(home),
        "PATH": f"{home.parent / 'bin'}{os.pathsep}{os.environ['PATH']}",
        "AMEM_LLM_BACKEND": "none",
    }
    return subprocess.run(
        ["bash", "-euxo", "pipefail", "-c", text],
        cwd=home,
        env=variables,
        stdin=subprocess.DEVNULL,
        capture_output=True,
        text=True,
        timeout=300,
        check=False,
    )


def test_the_pages_for_newcomers_have_lines_to_type() -> None:
    assert {"README.md", "docs/daily-use.md"} <= {page.name for page in PAGES}


@pytest.mark.models
@pytest.mark.parametrize("page", PAGES, ids=lambda page: page.name)
def test_the_lines_of_a_page_work_as_they_stand(page: Page, home: Path) -> None:
    text = "\n".join(block.text for block in page.blocks if block.run and block.language in SHELL)
    done = typed(home, text)
    assert done.returncode == 0, f"{done.stdout[-1500:]}\n{done.stderr[-1500:]}"


@pytest.mark.models
def test_who_leaves_amem_finds_the_notes_as_they_were(home: Path) -> None:
    vault = home / "garden"
    vault.mkdir()
    (vault / "Tomatoes.md").write_text("Tomatoes need warm nights.\n")
    (vault / "Nights.md").write_text(
        "---\ntags: [garden]  # mine\n---\nWarm nights for Tomatoes.\n"
    )
    for note in vault.iterdir():
        os.utime(note, (1_700_000_000, 1_700_000_000))
    before = tree_hashes(vault)
    done = typed(home, "amem init garden --adopt; cd garden; amem evolve --all; cat Tomatoes.md")
    assert "keywords:" in done.stdout
    left = "amem undo --since 2000-01-01 --keep-edits; rm -r .amem .gitignore .gitattributes"
    assert typed(home, f"cd garden; {left}").returncode == 0
    assert tree_hashes(vault) == before
