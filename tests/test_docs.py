"""The documents say what is so."""

from __future__ import annotations

import re
from pathlib import Path

import pytest
from typer.main import get_command

from amem_cli.cli.main import app
from tests.command_reference import command_names, help_text, reference

TOP = Path(__file__).parents[1]


def test_the_command_reference_is_up_to_date() -> None:
    assert (TOP / "docs" / "cli.md").read_text(encoding="utf-8") == reference()


@pytest.mark.parametrize("words", command_names(get_command(app)), ids=" ".join)
def test_every_command_explains_itself_with_an_example(words: tuple[str, ...]) -> None:
    text = help_text(words)
    assert f"amem {' '.join(words)}" in text.split("Examples:", 1)[1]


def test_links_between_documents_lead_somewhere() -> None:
    for page in (TOP / "README.md", *(TOP / "docs").rglob("*.md")):
        for target in re.findall(r"\]\(([^)#:]{1,200})\)", page.read_text(encoding="utf-8")):
            assert (page.parent / target).exists(), f"{page.name}: {target}"
