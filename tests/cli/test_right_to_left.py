"""Titles in scripts that are written from right to left leave the columns beside them in place."""

from __future__ import annotations

from tests.conftest import Program

TITLES = {"قهوة الصباح": "ar", "פגישה בקפה": "he"}


def test_a_title_is_isolated_on_a_terminal_and_bare_in_a_pipe(amem: Program) -> None:
    assert amem("--quiet", "init", "vault").code == 0
    amem.environment["AMEM_VAULT"] = str(amem.folder / "vault")
    for title in TITLES:
        assert amem("add", f"# {title}\n\n{title} 12.", "--no-llm").code == 0
    piped = amem("list").out
    amem.environment["FORCE_COLOR"] = "1"
    drawn = amem("list").out
    for title in TITLES:
        assert title in piped and f"\u2068{title}\u2069" in drawn
        (row,) = (row for row in drawn.splitlines() if title in row)
        # What stands before and after it is no part of it.
        assert row.index("\u2069") - row.index("\u2068") == len(title) + 1
    assert not {"\u2068", "\u2069"} & set(piped)
