"""`amem stats` tells what there is, and what the models cost."""

from __future__ import annotations

from pathlib import Path

import pytest

from amem_cli.models.price import Price, price_in
from amem_cli.settings import Settings
from tests.conftest import Program
from tests.fakes.chat_server import ChatServer
from tests.vaults import write_note


@pytest.fixture
def vault(amem: Program) -> Program:
    root = amem.folder / "v"
    (root / ".amem").mkdir(parents=True)
    amem.environment["AMEM_VAULT"] = str(root)
    return amem


def note(root: Path, name: str, created: str, text: str) -> None:
    write_note(root / "v", f"{name}.md", f"---\ncreated: {created}\n---\n{text}\n")


def test_stats_and_graph_count_the_same_links(vault: Program) -> None:
    note(vault.folder, "B", "2025-02-01", "Chess.")
    write_note(vault.folder / "v", "A.md", '---\nlinks:\n  - "[[B]]"\n---\nSee [[B]].\n')
    write_note(vault.folder / "v", "C.md", "See [[A]].\n")
    told = vault("stats", "--json").json
    assert (told["links"], told["machine_links"]) == (2, 0)
    assert "3 notes, 2 links (0 by amem, 2 by you)" in vault("graph").out


def test_the_links_of_amem_are_told_apart_and_lower_the_share_of_orphans(vault: Program) -> None:
    text = "Lamination of croissant dough needs butter at 14 degrees, and rest in the cold."
    assert vault("add", text, "--title", "Lamination of dough").code == 0
    text = "As Lamination of dough says, croissant dough needs cold butter at 14 degrees."
    assert vault("add", text, "--title", "Croissants").code == 0
    note(vault.folder, "A", "2025-01-15", "Walrus, with [[B]].")
    note(vault.folder, "B", "2025-02-15", "Chess.")
    told = vault("stats", "--json").json
    assert (told["notes"], told["orphans"], told["orphans_without_amem"]) == (4, 0, 2)
    assert (told["orphan_rate"], told["orphan_rate_without_amem"]) == (0.0, 0.5)
    shown = vault("stats").out
    assert "orphans   0 (0% of the notes); 2 (50%) without amem's links\n" in shown


def test_what_a_servers_model_cost_is_told_where_its_price_is_set(vault: Program) -> None:
    with ChatServer() as server:
        server.usage = {"prompt_tokens": 1000, "completion_tokens": 100}
        model = {
            "AMEM_LLM_BACKEND": "openai",
            "AMEM_LLM_MODEL": "m",
            "AMEM_LLM_BASE_URL": server.url,
        }
        assert vault("add", "Walrus colonies rest on ice.", **model).code == 0
    told = vault("stats", "--json", **model).json
    (use,) = told["models"]
    assert use["model"] == "m at 127.0.0.1" and use["calls"] >= 1
    assert (use["cost"], told["cost"], told["cost_per_note"]) == (None, None, None)
    assert "m at 127.0.0.1: " in (shown := vault("stats", **model).out) and "no price set" in shown
    priced = {**model, "AMEM_LLM_PRICE_INPUT": "2", "AMEM_LLM_PRICE_OUTPUT": "8"}
    priced |= {"AMEM_LLM_CURRENCY": "€"}
    told = vault("stats", "--json", **priced).json
    expected = (use["prompt_tokens"] * 2 + use["answer_tokens"] * 8) / 1e6
    assert told["models"][0]["cost"] == told["cost"] == told["cost_per_note"] == expected
    assert f"cost €{expected:.2g}" in vault("stats", **priced).out


def test_a_model_of_ones_own_costs_nothing_and_another_servers_is_not_known() -> None:
    price = Price("gpt-4o-mini", 0.15, 0.6)
    used = (1_000_000, 1_000_000)
    assert price.of("SmolLM2.gguf", *used) == 0.0
    assert price.of("gpt-4o-mini at api.openai.com", *used) == 0.75
    assert price.of("other at api.openai.com", *used) is None
    assert Price("m").of("m at somewhere", *used) is None


def test_a_program_costs_what_the_settings_say_and_another_one_is_not_known() -> None:
    settings = Settings(
        llm_backend="command",
        llm_model="~/bin/ask.py -m 'a b'",
        llm_price_input=0.15,
        llm_price_output=0.6,
    )
    price = price_in(settings)
    assert price.of("ask.py -m a b (command)", 1e6, 1e6) == 0.75
    assert price.of("other.py (command)", 1e6, 1e6) is None


def test_an_empty_vault_and_notes_without_a_day_are_told_too(vault: Program) -> None:
    assert vault("stats", "--json").json["notes"] == 0
    note(vault.folder, "A", "someday", "Walrus.")
    assert vault("stats", "--json").json["notes"] == 1
