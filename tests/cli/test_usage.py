"""A command line without a command gets help, and programs an error that they can read."""

from __future__ import annotations

import signal
import threading
from typing import Any

import pytest

from amem_cli.system.command_lines import joined
from tests.conftest import Program
from tests.fakes.chat_server import ChatServer


@pytest.mark.parametrize("words", [[], ["config"], ["model"]])
def test_no_command_is_wrong_usage_and_shows_the_help(amem: Program, words: list[str]) -> None:
    answer = amem(*words)
    assert (answer.code, answer.out) == (2, "")
    assert answer.err.startswith(" ".join(["Usage: amem", *words]))
    document = amem("--json", *words)
    assert document.code == 2
    assert set(document.json) == {"error", "hint", "exit_code"}


def test_the_list_of_commands_tells_each_in_a_whole_sentence(amem: Program) -> None:
    for words, first in (([], "Begin:"), (["model"], "Commands:")):
        listed = amem(*words, "--help").out.split(first, 1)[1]
        assert "..." not in listed
    told = " ".join(amem("--help").out.split())
    assert "Begin with `amem init DIR`" in told
    assert "AMEM_VAULT" in told.split("--vault", 1)[1].split("--json")[0]


def test_the_name_of_one_note_needs_no_quotes(amem: Program) -> None:
    amem.vault()
    words = ["One", "note", "holds", "one", "idea"]
    for verb in ("show", "history", "graph", "review"):
        answer = amem(verb, *words)
        assert answer.code == 0, (verb, answer.err)
    assert "One note holds one idea" in amem("show", *words[:2], "--json", *words[2:]).out
    assert amem("update", *words, "--add-tag", "idea", "--no-wait").code == 0
    assert amem("rm", *words).code == 0
    assert not (amem.folder / "v/notes/One note holds one idea.md").exists()


@pytest.mark.parametrize("command", [["mv"], ["link"], ["evolve"], ["dedupe"]])
def test_names_of_several_notes_need_quotes_and_the_error_says_so(
    amem: Program, command: list[str]
) -> None:
    amem("init", "v")
    answer = amem("--vault", "v", *command, "Linking", "beats", "filing")
    assert answer.code in (1, 2)
    assert "quotes" in answer.err.split("hint: ", 1)[1]


def test_the_beginning_of_many_ids_says_how_many_and_names_a_few(amem: Program) -> None:
    amem("init", "v")
    answer = amem("--vault", "v", "show", "202")
    assert answer.code == 1
    assert "the ids of 16 notes begin with '202'" in answer.err
    assert '"notes/A highlight is not yet a note.md"' in answer.err


@pytest.mark.parametrize("verb", ["get", "set", "unset"])
def test_a_mistyped_setting_names_the_nearest_one(amem: Program, verb: str) -> None:
    amem("init", "v")
    answer = amem("--vault", "v", "config", verb, "evolution.mod", *["off"] * (verb == "set"))
    assert answer.code == 1
    assert "Did you mean evolution.mode?" in answer.err


def test_a_vault_is_not_made_of_a_file(amem: Program) -> None:
    (amem.folder / "note.md").write_text("A note.")
    answer = amem("init", "note.md")
    assert answer.code == 3
    assert "note.md is a file" in answer.err
    assert "hint: Name a folder" in answer.err and "Errno" not in answer.err


def test_undo_says_in_words_what_it_took_back(amem: Program) -> None:
    amem("init", "v")
    text = "The walrus sleeps on the ice of the bay. Sea ice breaks early; early ice is thin ice."
    amem("--vault", "v", "add", "--no-llm", "--title", "Walrus", text)
    answer = amem("--vault", "v", "undo", "--since", "2000-01-01")
    assert answer.code == 0, answer.err
    assert "took back the keywords of notes/" in answer.out
    assert "construct" not in answer.out


def test_another_name_of_a_property_takes_effect_with_the_command_that_is_named(
    amem: Program,
) -> None:
    amem("init", "v")
    (amem.folder / "v/notes/Mine.md").write_text('---\nrelated:\n  - "[[Home]]"\n---\nMine.\n')
    amem("--vault", "v", "index")
    told = amem("--vault", "v", "config", "set", "properties.links", "related").err
    assert "next: `amem index --rebuild`" in told
    assert amem("--vault", "v", "index", "--rebuild").code == 0
    assert amem("--vault", "v", "index", "--check").code == 0
    assert "Home" in amem("--vault", "v", "show", "Mine").out


def test_adopting_a_folder_names_the_command_that_works_on_its_notes(amem: Program) -> None:
    folder = amem.folder / "my notes"
    folder.mkdir()
    for name in ("One", "Two"):
        (folder / f"{name}.md").write_text(f"{name} walrus sleeps on the ice.\n")
    first, step, *what = amem("init", "my notes", "--adopt").out.splitlines()
    assert first == f"adopted {folder}: 2 notes"
    assert step == f"next: {joined(['cd', str(folder)])} && amem evolve --all"
    told = " ".join(line.strip() for line in what)
    assert told.startswith("gives these 2 notes keywords, tags and links")
    amem.environment["AMEM_VAULT"] = str(folder)
    assert amem("evolve", "--all").code == 0
    assert b"keywords" in (folder / "One.md").read_bytes()
    assert "`amem undo --since today`" in told
    # What was done in a vault is not taken back unseen by adopting it once more.
    assert "undo" not in amem("init", "my notes", "--adopt").out
    assert amem("undo", "--since", "today").code == 0
    assert (folder / "One.md").read_text() == "One walrus sleeps on the ice.\n"
    (amem.folder / "empty").mkdir()
    assert amem("init", "empty", "--adopt").out.endswith(' && amem add "…"\n')


@pytest.mark.parametrize("command", [("rm", "a 3"), ("mv", "a 3", "other/")])
def test_what_takes_a_note_away_says_how_to_have_it_back(
    adopted: Program, command: tuple[str, ...]
) -> None:
    before = _contents(adopted)
    last = adopted(*command).out.splitlines()[-1]
    assert last.startswith("  to revert: amem undo 00")
    assert "a 3.md" not in _contents(adopted)
    assert adopted("undo", last.split()[-1]).code == 0
    assert _contents(adopted) == before


def _texts(amem: Program) -> list[str]:
    notes = [each["id"] for each in amem("list", "--json", "--sort", "path").json]
    return [amem("show", note, "--raw").out.partition("\n---\n")[2] for note in notes]


def test_words_of_a_text_a_query_or_a_question_need_no_quotes(amem: Program) -> None:
    amem.empty_vault()
    assert amem("add", "the", "wood", "oven", "warms", "up", "--tag", "cafe", "--no-llm").code == 0
    assert _texts(amem) == ["the wood oven warms up\n"]
    found = amem("search", "wood", "oven", "-k", "1", "--mode", "keyword", "--json").json
    assert (found["query"], len(found["hits"])) == ("wood oven", 1)
    assert amem("ask", "what", "warms", "up?", "--no-llm", "--json").json["question"] == (
        "what warms up?"
    )


def test_text_may_begin_with_a_dash_and_a_misspelt_option_is_still_refused(amem: Program) -> None:
    amem.empty_vault()
    texts = ("- [ ] call Huber", "-5 degrees", "--- cut here", "-[x] done")
    for text in texts:
        added = amem("add", text, "--no-wait", "--title", "- of - dashes", "--tag=a")
        assert added.code == 0, added.err
    assert amem("add", "-", "[", "]", "buy", "milk", "--no-wait").code == 0
    assert amem("add", "-", "--no-wait", stdin="from stdin").code == 0
    assert amem("add", "--no-wait", "--", "--tag", "is text").code == 0
    unquoted = ("- [ ] buy milk", "from stdin", "--tag is text")
    assert sorted(_texts(amem)) == sorted(f"{text}\n" for text in (*texts, *unquoted))
    for word in ("--tagg", "--tagg=two words", "-x"):
        refused = amem("add", "buy milk", word, "x", "--no-wait")
        assert (refused.code, refused.out) == (2, "")
        assert "no such option: " + word[:6].partition("=")[0] in refused.err
    assert "--tag" in amem("add", "x", "--tagg", "y").err.replace("--tagg", "")
    assert len(_texts(amem)) == 7


def test_the_help_lists_commands_by_what_they_are_used_for(amem: Program) -> None:
    told = amem("--help").out
    places = [told.index(part) for part in ("\nWrite:\n", "  add ", "\nFind and read:\n", "  ask ")]
    assert places == sorted(places)


def test_add_tells_that_the_note_is_saved_before_the_model_works(amem: Program) -> None:
    amem("init", "v")
    asked, go_on = threading.Event(), threading.Event()

    def slow(request: dict[str, Any]) -> str:
        asked.set()
        go_on.wait(60)
        return "{}"

    with ChatServer() as server:
        server.content = slow
        variables = {"AMEM_VAULT": str(amem.folder / "v"), **server.variables()}
        for options in ([], ["--json"]):
            asked.clear()
            with amem.start("add", "Walruses haul out.", *options, **variables) as process:
                assert process.stdout is not None
                if not options:
                    assert process.stdout.readline() == "saved notes/Walruses haul out.md\n"
                assert asked.wait(60)
                process.send_signal(signal.SIGINT)
                out, err = process.communicate(timeout=60)
            assert (process.returncode, out) == (130, "")
            assert err.endswith(" is saved; `amem evolve` finishes it\ninterrupted\n")
        go_on.set()


def test_a_tag_that_no_note_has_is_named_with_those_like_it(amem: Program) -> None:
    amem("init", "v")
    amem("--vault", "v", "add", "One.", "--tag", "practice/rest", "--no-wait")
    for words in (["list"], ["search", "one", "--mode", "keyword"]):
        listed = amem("--vault", "v", *words, "--tag", "practise/rest")
        told = "no note has the tag #practise/rest; near: #practice/rest "
        assert listed.err.startswith(told), words
    assert amem("--vault", "v", "list", "--tag", "practice").err == ""
    amem("--vault", "v", "add", "Two.", "--tag", "Łódka", "--no-wait")
    listed = amem("--vault", "v", "list", "--tag", "lodka", "--json")
    assert (len(listed.json), listed.err) == (1, "")


def test_the_list_of_settings_says_what_each_does(amem: Program) -> None:
    amem("init", "v")
    lines = amem("--vault", "v", "config", "list").out.splitlines()
    assert len(lines) % 2 == 0 and all(line.startswith("    ") for line in lines[1::2])
    told = dict(zip((line.split(" = ")[0] for line in lines[::2]), lines[1::2], strict=True))
    assert told["evolution.max_links"] == "    most links that the machine adds to one note"
    assert "front matter" in told["properties.tags"]


@pytest.fixture
def adopted(amem: Program) -> Program:
    """Seven notes of a folder that was adopted, all processed."""
    for number in range(7):
        path = amem.folder / f"v/a {number}.md"
        path.parent.mkdir(exist_ok=True)
        path.write_text(f"Walrus {number} sleeps on the ice of bay {number}.\n")
    amem.vault("v", "--adopt")
    assert amem("evolve", "--all").code == 0
    return amem


def _contents(amem: Program) -> dict[str, bytes]:
    return {path.name: path.read_bytes() for path in (amem.folder / "v").glob("*.md")}


def test_one_command_takes_back_an_undo_of_much_and_another_that_one(adopted: Program) -> None:
    made = _contents(adopted)
    told = adopted("undo", "--since", "2000-01-01").out
    plain = _contents(adopted)
    assert not any(b"keywords" in content for content in plain.values())
    for expected in (made, plain, made):
        last = told.splitlines()[-1]
        assert last.startswith("to redo: amem undo 00") and "&&" not in last
        event = last.split()[-1]
        told = adopted("undo", event).out
        assert _contents(adopted) == expected
        refused = adopted("undo", event)
        (hint,) = [line for line in refused.err.splitlines() if line.startswith("hint: amem undo")]
        assert hint.split()[3] == told.split()[-1]
    assert adopted("undo", "--since", "2000-01-01", "--json").json["again"].startswith("00")


def test_a_note_of_an_undo_of_much_can_be_brought_back_alone(adopted: Program) -> None:
    made = _contents(adopted)
    head = adopted("undo", "--since", "2000-01-01", "--json").json["again"]
    undos = [each for each in adopted("history", "--json").json if each["kind"] == "undo"]
    one = next(each for each in undos if each["id"] != head)
    assert adopted("undo", one["id"]).code == 0
    assert [name for name, content in _contents(adopted).items() if content == made[name]] == [
        one["path"]
    ]
    assert adopted("undo", head).code == 0
    assert _contents(adopted) == made


def test_history_begins_with_what_happened_last(amem: Program) -> None:
    amem("init", "v")
    for text in ("One walrus.", "Two seals."):
        amem("--vault", "v", "add", text, "--no-wait")
    told = amem("--vault", "v", "history").out
    assert told.index("Two seals") < told.index("One walrus")


def test_two_notes_that_link_each_other_are_one_line(amem: Program) -> None:
    amem("init", "v")
    vault = ("--vault", "v")
    for title in ("One", "Two", "Three"):
        amem(*vault, "add", f"About {title}.", "--title", title, "--no-wait")
    for source, target in (("One", "Two"), ("Two", "One"), ("One", "Three")):
        amem(*vault, "link", source, target)
    links = [line for line in amem(*vault, "show", "One").out.splitlines() if line[:1] in "→←↔"]
    assert [line.split("  ")[0] for line in links if line] == ["↔ Two", "→ Three"]


def test_a_snippet_says_which_tasks_are_done(amem: Program) -> None:
    amem("init", "v")
    amem("--vault", "v", "add", "- [x] call Huber\n- [ ] pay Huber", "--no-wait")
    search = ("search", "huber", "-k", "1", "--mode", "keyword", "--no-neighbors", "--json")
    (hit,) = amem("--vault", "v", *search).json["hits"]
    assert hit["snippet"] == "[x] call Huber [ ] pay Huber"


@pytest.mark.parametrize(
    "command",
    [
        ["search", "vacuum", "--mode", "keyword"],
        ["ask", "what is a vault", "--no-llm"],
        ["list"],
        ["history"],
        ["evolve", "--all", "--dry-run"],
    ],
)
def test_a_number_of_results_is_asked_for_the_same_way_everywhere(
    amem: Program, command: list[str]
) -> None:
    amem("init", "v")
    answers = [amem("--vault", "v", *command, name, "2") for name in ("-k", "-n", "--limit")]
    assert all(answer.code in (0, 1) for answer in answers), answers
    assert len({answer.out for answer in answers}) == 1


def test_a_setting_goes_back_to_its_default(amem: Program) -> None:
    amem.vault()
    file = amem.folder / "v/.amem/config.toml"
    before = file.read_text()
    assert amem("config", "set", "evolution.max_links", "3").code == 0
    told = amem("config", "get", "evolution.max_links")
    assert (told.out, told.err) == ("3\n", "(vault; default 5)\n")
    assert amem("config", "get", "evolution.max_links", "--json").json == {
        "key": "evolution.max_links", "value": 3, "default": 5, "from": "vault",
    }  # fmt: skip
    back = amem("config", "unset", "evolution.max_links")
    assert (back.code, back.out) == (0, "evolution.max_links = 5  (built-in)\n")
    assert file.read_text() == before.replace("max_links = 5\n", "")
    assert amem("config", "get", "evolution.max_links").err == "(built-in)\n"
    # A second time there is nothing to remove, and the default holds as well.
    assert amem("config", "unset", "evolution.max_links").out == back.out
    assert amem("config", "set", "evolution.max_links", "4").code == 0
    assert amem("config", "get", "evolution.max_links").out == "4\n"


def test_without_the_vaults_setting_the_users_holds(amem: Program) -> None:
    amem.vault()
    assert amem("config", "unset", "evolution.max_links", "--user").out.endswith("5  (built-in)\n")
    assert amem("config", "set", "evolution.max_links", "9", "--user").code == 0
    assert amem("config", "set", "evolution.max_links", "7").code == 0
    told = amem("config", "unset", "evolution.max_links", "--json").json
    assert (told["value"], told["from"]) == (9, "user")
    listed = amem("config", "list").out.splitlines()
    assert "evolution.max_links = 9  (user; default 5)" in listed
    forced = amem("config", "unset", "evolution.max_links", "--user", AMEM_EVOLUTION_MAX_LINKS="8")
    assert forced.out == "evolution.max_links = 8  (environment)\n"
    assert amem("config", "get", "evolution.max_links").out == "5\n"
