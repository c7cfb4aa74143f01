"""The security page cites modules and tests that exist."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

TOP = Path(__file__).parents[1]
PAGE = (TOP / "docs" / "security.md").read_text(encoding="utf-8")
ROWS = [
    [cell.strip() for cell in re.split(r"(?<!\\)\|", line)[1:-1]]
    for line in PAGE.splitlines()
    if line.startswith("| ") and not line.startswith("| threat")
]


@pytest.mark.parametrize("name", sorted(set(re.findall(r"`(tests/[\w/]+\.py)`", PAGE))))
def test_a_cited_test_exists(name: str) -> None:
    assert "def test_" in (TOP / name).read_text(encoding="utf-8") or (
        name == "tests/dependency_audit.py"
    )


@pytest.mark.parametrize("row", ROWS, ids=lambda row: str(row[0])[:50])
def test_every_threat_has_a_defence_and_a_test_or_says_that_there_is_nothing(
    row: list[str],
) -> None:
    threat, defence, shown = row
    assert threat and defence
    assert re.search(r"`tests/", shown) or (shown == "–" and "There is n" in defence)
