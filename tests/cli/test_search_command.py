"""`amem search` as a person uses it."""

from __future__ import annotations

from datetime import datetime, timedelta

import pytest

from tests.conftest import Program
from tests.terminal import at_terminal


@pytest.fixture
def vault(amem: Program) -> Program:
    """Three notes about a walrus, of today, of a week ago, and of long ago."""
    assert amem("init", ".").code == 0
    for name, days in (("new", 0), ("recent", 7), ("old", 800)):
        created = datetime.now() - timedelta(days=days)
        text = f"---\ncreated: {created.isoformat(timespec='seconds')}\n---\nA walrus sleeps.\n"
        (amem.folder / f"{name}.md").write_text(text)
    return amem


def found(amem: Program, *arguments: str) -> set[str]:
    answer = amem("search", "walrus", "--mode", "keyword", "--json", *arguments)
    assert answer.code == 0, answer.err
    return {hit["title"] for hit in answer.json["hits"]}


def test_dates_may_be_named_as_people_do(vault: Program) -> None:
    assert found(vault) == {"new", "recent", "old"}
    assert found(vault, "--since", "yesterday") == {"new"}
    assert found(vault, "--since", "7d") == {"new", "recent"}
    assert found(vault, "--until", "1y") == {"old"}
    assert found(vault, "--since", "7 days ago", "--until", "yesterday") == {"recent"}
    year = str((datetime.now() - timedelta(days=800)).year)
    assert found(vault, "--until", year) == {"old"}


def test_what_is_no_date_is_refused_with_the_ways_to_write_one(vault: Program) -> None:
    refused = vault("search", "walrus", "--since", "someday")
    assert refused.code == 2
    assert "yesterday" in refused.err and "2026-03" in refused.err


def test_a_typo_is_forgiven_and_the_word_marked_on_a_terminal(vault: Program) -> None:
    code, shown = at_terminal(
        vault.folder,
        ["search", "wlarus", "--mode", "keyword"],
        [],
        AMEM_LLM_BACKEND="none",
    )
    assert code == 0
    assert "A \x1b[1;33mwalrus\x1b[0m sleeps." in shown


def test_without_a_terminal_nothing_is_coloured(vault: Program) -> None:
    assert "A walrus sleeps." in vault("search", "walrus", "--mode", "keyword").out
