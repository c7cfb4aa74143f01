"""`amem stats` tells what there is, how it grew, and what the models cost."""

from __future__ import annotations

import json
from datetime import date, timedelta
from pathlib import Path

import pytest

from amem_cli.graph.stats import Period, period_of, timeline
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


def test_growth_is_told_by_month_with_a_persons_links(vault: Program) -> None:
    note(vault.folder, "A", "2025-01-15", "Alone.")
    note(vault.folder, "B", "2025-02-01", "Leads to [[A]] and [[A]].")
    note(vault.folder, "C", "2025-02-20", "Leads to [[A]], [[B]] and [[nowhere]].")
    told = vault("stats", "--json").json
    assert told["growth"] == [
        {"period": "2025-01", "notes": 1, "links_by_person": 0, "links_by_machine": 0},
        {"period": "2025-02", "notes": 2, "links_by_person": 3, "links_by_machine": 0},
    ]
    weeks = vault("stats", "--by", "week", "--json").json["growth"]
    assert [each["period"] for each in weeks] == ["2025-W03", "2025-W05", "2025-W08"]
    assert vault("stats", "--by", "year").code == 2


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
    newest = told["growth"][-1]
    assert newest["period"] == date.today().isoformat()[:7]
    assert (newest["notes"], newest["links_by_person"], newest["links_by_machine"]) == (2, 0, 1)
    shown = vault("stats").out
    assert "orphans   0 (0% of the notes); 2 (50%) without amem's links\n" in shown
    assert "+1 by amem" in shown


def test_a_link_made_by_a_command_counts_on_its_day(vault: Program) -> None:
    note(vault.folder, "A", "2025-01-15", "Walrus.")
    note(vault.folder, "B", "2025-02-15", "Chess.")
    assert vault("link", "A", "B").code == 0
    newest = vault("stats", "--json").json["growth"][-1]
    assert newest["period"] == date.today().isoformat()[:7]
    assert (newest["notes"], newest["links_by_person"]) == (0, 1)


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


def test_empty_periods_in_a_row_are_one_row() -> None:
    known = [Period(name, notes=3) for name in ("1980-01", "2025-10", "2025-12")]
    earlier, rows = timeline(known, date(2026, 3, 31), "month", 12)
    assert earlier is None
    assert rows == [known[0], 548, known[1], 1, known[2], 2, Period("2026-03")]
    earlier, rows = timeline(known, date(2026, 3, 31), "month", 3)
    assert earlier == Period("", notes=6)
    assert rows == [known[2], 2, Period("2026-03")]
    # Notes may be dated ahead.
    assert timeline(known, date(2025, 11, 1), "month", 1)[1] == [known[2]]
    assert timeline([], date(2025, 11, 1), "month", 1) == (None, [])


def test_weeks_go_on_over_the_turn_of_the_year() -> None:
    known = [Period("2020-W52", notes=1), Period("2021-W01", notes=1)]
    _, rows = timeline(known, date(2021, 1, 20), "week", 12)
    assert rows == [known[0], 1, known[1], 1, Period("2021-W03")]
    assert period_of("soon", "month") == period_of("", "week") == ""


def test_a_long_gap_takes_one_line_of_the_chart_and_no_note_is_left_out(vault: Program) -> None:
    for number in range(20):
        note(vault.folder, f"N{number}", f"20{number:02}-05-01", "Walrus.")
    note(vault.folder, "Odd", "2026 spring", "Chess.")
    lines = vault("stats").out.splitlines()
    chart = lines[lines.index(next(each for each in lines if each.startswith("month"))) + 1 :]
    assert len(chart) <= 13
    assert chart[0].startswith("earlier   +")
    assert "…         11 months without additions" in chart
    assert sum(int(each.split()[1]) for each in chart if "+" in each) == 21


def test_an_empty_vault_and_notes_without_a_day_are_told_too(vault: Program) -> None:
    assert vault("stats", "--json").json["growth"] == []
    note(vault.folder, "A", "someday", "Walrus.")
    (period,) = vault("stats", "--json").json["growth"]
    assert period["notes"] == 1
    json.loads(vault("stats", "--json").out)


def test_the_chart_begins_with_the_first_note_and_ends_today(vault: Program) -> None:
    recent = (date.today().replace(day=1) - timedelta(days=40)).isoformat()
    note(vault.folder, "A", recent, "Walrus.")
    lines = vault("stats").out.splitlines()
    chart = lines[lines.index(next(each for each in lines if each.startswith("month"))) + 1 :]
    assert chart[0][:7] == recent[:7]
    assert chart[-1][:7] == date.today().isoformat()[:7]
    assert chart[0].split()[1] == "+1" and "█" in chart[0]
