"""`amem search` as a person uses it."""

from __future__ import annotations

import json
from datetime import datetime, timedelta, timezone

import pytest

from tests.conftest import Answer, Program
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
    assert answer.code == (0 if answer.json["hits"] else 1), answer.err
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


def test_a_folder_is_meant_whole_and_a_pattern_as_written(vault: Program) -> None:
    for path in ("notes/a/one.md", "notes/ab.md", "notes/b/c/two.md"):
        (vault.folder / path).parent.mkdir(parents=True, exist_ok=True)
        (vault.folder / path).write_text("A walrus sleeps.\n")
    assert found(vault, "--path", "notes/a") == {"one"}
    assert found(vault, "--path", "./notes/a/") == {"one"}
    assert found(vault, "--path", "notes/ab.md") == {"ab"}
    assert found(vault, "--path", "notes/ab") == {"ab"}
    assert found(vault, "--path", "notes/a*") == {"one", "ab"}
    assert found(vault, "--path", "*/c") == {"two"}
    assert found(vault, "--path", "notes/?.md") == set()
    assert found(vault, "--path", "nowhere") == set()
    # The names of the month in which a note was made lengthen it, so that the order is today's.
    everything = {"one", "ab", "two", "new", "recent", "old"}
    assert found(vault, "--path", ".", "-k", "9") == everything


def test_a_folder_may_have_the_signs_of_a_pattern_in_its_name(vault: Program) -> None:
    for path in ("Plans [2024]/one.md", "notes/why?/two.md", "notes/[draft] three.md"):
        (vault.folder / path).parent.mkdir(parents=True, exist_ok=True)
        (vault.folder / path).write_text("A walrus sleeps.\n")
    assert found(vault, "--path", "Plans [2024]") == {"one"}
    assert found(vault, "--path", "notes/why?") == {"two"}
    assert found(vault, "--path", "notes/[draft] three.md") == {"[draft] three"}
    assert found(vault, "--path", "notes/[draft] three") == {"[draft] three"}
    assert found(vault, "--path", "Plans [[]2024]") == {"one"}


def test_a_tag_may_be_given_as_it_is_written_in_notes(vault: Program) -> None:
    (vault.folder / "tagged.md").write_text("A walrus sleeps. #Zoo/seals\n")
    for tag in ("zoo", "#zoo", "#Zoo/seals", "zoo/"):
        assert found(vault, "--tag", tag) == {"tagged"}, tag
    assert found(vault, "--tag", "seals") == set()


@pytest.mark.parametrize("zone", ["Etc/GMT-14", "Etc/GMT+12"])
def test_a_note_without_a_date_is_of_the_day_on_which_it_was_saved_here(
    vault: Program, zone: str
) -> None:
    (vault.folder / "undated.md").write_text("A walrus sleeps.\n")
    today = ("--since", "today", "--until", "today")
    answer = vault("search", "walrus", "--mode", "keyword", "--json", *today, TZ=zone)
    assert "undated" in {hit["title"] for hit in answer.json["hits"]}
    (row,) = [line for line in vault("list", TZ=zone).out.splitlines() if "undated" in line]
    assert row in vault("list", *today, TZ=zone).out
    offset = 14 if zone == "Etc/GMT-14" else -12
    here = datetime.now(timezone(timedelta(hours=offset)))
    assert here.date().isoformat() in row


@pytest.mark.parametrize("limit", ["0", "-3"])
def test_no_hits_at_all_cannot_be_asked_for(vault: Program, limit: str) -> None:
    refused = vault("search", "walrus", "-k", limit)
    assert refused.code == 2
    assert "--limit" in refused.err and "1" in refused.err


def test_a_file_of_queries_is_read_as_a_whole_before_the_first_answer(vault: Program) -> None:
    def asked(text: str) -> Answer:
        (vault.folder / "asked").write_text(text, encoding="utf-8")
        return vault("search", "--mode", "keyword", "--queries", "asked")

    answer = asked('\ufeffwalrus\r\n\n{"query": "wal\u2028rus", "id": 7}\n')
    assert answer.code == 0, answer.err
    lines = [json.loads(line) for line in answer.out.splitlines()]
    assert [(line["query"], line.get("id")) for line in lines] == [
        ("walrus", None),
        ("wal\u2028rus", 7),
    ]
    for odd in ('{"query": ""}', '{"query": null}', '{"query": 3}', '{"text": "a"}', "{"):
        refused = asked(f"walrus\n{odd}\n")
        assert (refused.code, refused.out) == (2, ""), odd
        assert "asked:2" in refused.err
    assert asked("").out == ""


@pytest.mark.parametrize("number", ["NaN", "-Infinity", "1e999"])
def test_a_number_that_json_has_not_is_refused_in_a_file_of_queries(
    vault: Program, number: str
) -> None:
    line = f'{{"query": "walrus", "at": {number}}}'
    answer = vault("search", "--queries", "-", "--mode", "keyword", stdin=line)
    assert (answer.code, answer.out) == (2, "")


def test_a_missing_file_of_queries_is_told_with_what_to_do(vault: Program) -> None:
    refused = vault("search", "--queries", "nowhere.txt")
    assert refused.code == 3
    assert refused.err.splitlines() == [
        "error: cannot read nowhere.txt: No such file or directory",
        "hint: Name a file, or - for stdin.",
    ]
    assert vault("search", "walrus", "--queries", "nowhere.txt").code == 2
    assert "walrus" in vault("search", "--mode", "keyword", "--queries", "-", stdin="walrus").out


@pytest.fixture
def rules(amem: Program) -> Program:
    """An old rule, a new one that supersedes it, and one that contradicts it."""
    assert amem("init", ".").code == 0
    for title, day, text in (
        ("Old rule", 1, "Deploys go out on Friday."),
        ("New rule", 9, "Monday it is."),
        ("Doubt", 5, "Nobody deploys then."),
    ):
        note = f"---\ncreated: 2026-03-0{day}T15:00:00\n---\n{text}\n"
        (amem.folder / f"{title}.md").write_text(note)
    for newer, relation in (("New rule", "supersedes"), ("Doubt", "contradicts")):
        assert amem("link", newer, "Old rule", "--relation", relation).code == 0
    return amem


def test_a_superseded_note_is_shown_behind_the_current_one_and_says_so(rules: Program) -> None:
    answer = rules("search", "deploys friday", "--mode", "keyword", "-k", "1", "--no-neighbors")
    lines = [line.strip() for line in answer.out.splitlines()]
    assert lines[0].endswith("↳ New rule  New rule.md")
    assert lines[1] == "supersedes “Old rule”"
    at = next(i for i, line in enumerate(lines) if line.endswith("Old rule  Old rule.md"))
    assert lines[at + 1 : at + 3] == [
        "superseded by “New rule” since 2026-03-09",
        "contradicted by “Doubt” since 2026-03-05",
    ]


def test_a_script_reads_which_note_holds(rules: Program) -> None:
    found = rules("search", "deploys friday", "--mode", "keyword", "-k", "1", "--json").json["hits"]
    assert [hit["title"] for hit in found] == ["New rule", "Doubt", "Old rule"]
    newer, _, older = found
    named = {key: newer[key] for key in ("id", "path", "title")} | {"since": "2026-03-09"}
    assert older["superseded_by"] == [named]
    assert [each["title"] for each in older["contradicted_by"]] == ["Doubt"]
    assert newer["superseded_by"] == newer["contradicted_by"] == []
    shown = rules("show", "Old rule", "--json").json
    assert shown["superseded_by"] == [named]
    listed = {note["title"]: note for note in rules("list", "--json").json}
    assert listed["Old rule"]["superseded_by"] == [named]
    assert listed["Doubt"]["contradicted_by"] == []


def test_show_and_list_say_at_once_that_a_note_is_superseded(rules: Program) -> None:
    shown = rules("show", "Old rule").out.splitlines()
    assert shown[2:4] == [
        "superseded by “New rule” since 2026-03-09",
        "contradicted by “Doubt” since 2026-03-05",
    ]
    assert "superseded" not in "\n".join(rules("show", "New rule").out.splitlines()[:3])
    (row,) = [line for line in rules("list").out.splitlines() if "Old rule" in line]
    assert row.endswith("Old rule  (superseded)")


def test_a_search_says_if_nothing_is_close(vault: Program) -> None:
    nearest = vault("search", "quantum chromodynamics lectures", "--neighbors")
    assert nearest.code == 1
    first, *rest = nearest.out.splitlines()
    assert first == "nothing close: these notes come nearest"
    assert 1 <= len(rest) <= 3 and all(line.startswith("  ~ 0.") for line in rest)
    answer = vault("search", "quantum chromodynamics lectures", "--json")
    assert answer.code == 1
    assert answer.json["problem"] == first
    assert answer.json["hits"] and not any(hit["close"] for hit in answer.json["hits"])
    by_words = vault("search", "quantum chromodynamics", "--mode", "keyword")
    assert (by_words.code, by_words.out) == (1, "nothing close\n")
    shown = vault("search", "quantum chromodynamics lectures", "--min-score", "0")
    assert (shown.code, "nothing close" in shown.out) == (0, False)


def test_hits_that_are_not_close_are_a_line_each_below_the_good_ones(vault: Program) -> None:
    for title, text in (
        ("bread", "Sourdough bread needs a long rise."),
        ("tax", "The tax office wants receipts."),
        ("spider", "It has eight legs."),
        ("stamp", "Ink on rubber."),
    ):
        (vault.folder / f"{title}.md").write_text(f"{text}\n")
    query = ("search", "how long does bread rise", "-k", "6")
    answer = vault(*query, "--json")
    assert (answer.code, answer.json["problem"]) == (0, None)
    direct = [hit for hit in answer.json["hits"] if hit["via"] is None]
    assert [hit["title"] for hit in direct if hit["close"]] == ["bread"]
    assert len(direct) == 6 and all(hit["score"] < 0.055 for hit in direct[1:])
    shown = vault(*query)
    assert shown.code == 0
    lines = shown.out.splitlines()
    below = lines.index("not close:")
    assert lines[0].endswith("bread  bread.md")
    assert [line[:5] for line in lines[below + 1 : below + 6]] == ["  ~ 0"] * 5
    assert "not close" not in vault(*query, "--min-score", "0").out


def test_words_found_exactly_are_close_and_so_is_an_id(vault: Program) -> None:
    text = '---\nid: "20240102030405"\n---\nMerle paid bill 48213 when the heat pump had failed.\n'
    (vault.folder / "pump.md").write_text(text)
    for filler in range(12):
        (vault.folder / f"{filler}.md").write_text(f"Nothing of interest, part {filler}.\n")
    for query in (
        '"heat pump" of the opera in Vienna last winter',
        "which airline refunds invoice 48213 to students",
        "the favourite composer of Merle in boarding school",
        "walrus",
        "20240102030405",
    ):
        for mode in ("hybrid", "keyword"):
            answer = vault("search", query, "--mode", mode, "--json")
            assert (answer.code, answer.json["problem"]) == (0, None), (query, mode)
    assert answer.json["hits"][0]["title"] == "pump"
    assert answer.json["hits"][0]["score"] == 1


def test_a_score_means_the_same_however_many_hits_are_shown(vault: Program) -> None:
    def scores(*arguments: str) -> list[float]:
        answer = vault("search", "a walrus at rest", "--json", "--no-neighbors", *arguments)
        return [hit["score"] for hit in answer.json["hits"]]

    many = scores("-k", "20")
    assert many == sorted(many, reverse=True) and 0 < many[-1] <= many[0] <= 1
    assert scores("-k", "2") == many[:2]
    least = many[0] - 0.001
    assert scores("--min-score", f"{least}") == [each for each in many if each >= least]
    none = vault("search", "a walrus at rest", "--min-score", "1")
    assert (none.code, none.out) == (1, "nothing close\n")
    assert vault("search", "walrus", "--min-score", "1.5").code == 2


def test_two_hits_are_two_and_linked_notes_are_a_line_each(vault: Program) -> None:
    links = " ".join(f"[[{name}]]" for name in "abcde")
    (vault.folder / "hub.md").write_text(f"The glacier moves. {links}\n")
    for name in "abcde":
        (vault.folder / f"{name}.md").write_text(f"Some text on {name * 5}.\n")
    query = ("search", "glacier moves", "--mode", "keyword")

    def linked(*arguments: str) -> list[str]:
        lines = vault(*query, *arguments).out.splitlines()
        return [line for line in lines if line.startswith("↳")]

    first = [f"↳ {name}  linked with “hub”" for name in "abcde"]
    assert linked("-k", "2") == first[:2]
    assert linked() == [*first[:3], "↳ 2 more linked: --neighbors shows them"]
    assert linked("--neighbors") == first
    assert linked("--no-neighbors") == []
    hits = vault(*query, "--json").json["hits"]
    assert [hit["title"] for hit in hits if hit["via"]] == list("abcde")


def test_a_search_prints_paths_alone(vault: Program) -> None:
    line = ("search", "walrus", "--mode", "keyword", "-l")
    assert {"new.md", "recent.md", "old.md"} <= set(vault(*line).out.splitlines())
    assert vault(*line, "--json").code == 2
