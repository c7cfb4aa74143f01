"""An agent that organises the vault itself, by the SDK's own client against a real process."""

from __future__ import annotations

import json
import re
from pathlib import Path
from typing import Any

import pytest

from tests.conftest import Program
from tests.mcp.clients import Agent, agent, raw_server, with_quick_encoder
from tests.vaults import tree_hashes, write_note

pytestmark = pytest.mark.slow

OFF = "The pump in the cellar is switched off at night. It saves power."
ON = "Since Monday the pump in the cellar runs at night again, as the cellar was wet."
ABOUT = "A wet cellar is why the pump runs again at night, since Monday."
REASON = "Both say when the pump in the cellar runs at night."
NOW = "The pump in the cellar was off at night to save power, and runs again since Monday."


@pytest.fixture
def vault(amem: Program) -> Path:
    """An empty vault."""
    with_quick_encoder(amem)
    return amem.empty_vault()


def with_pumps(me: Agent) -> None:
    """Two notes that belong together: the older is organised by amem, the newer waits."""
    me.ok("add", content=OFF, title="Pump off at night")
    me.ok("add", content=ON, title="Pump runs at night", wait=False)


def words_of(question: Any) -> list[str]:
    """Two words of the note that a question is about."""
    note = question["text"].split('"""')[-2]
    return [word for word in re.findall(r"[a-z]{4,}", note) if word != "since"][:2]


def answer_to(asked: Any, question: Any, **values: Any) -> dict[str, Any]:
    """An answer of the question's form, as a client's model would give it."""
    properties = asked["forms"][question["form"]]["properties"]
    assert asked["instructions"][question["instructions"]]
    labels = {"keywords": words_of(question), "tags": ["home"]}
    answer = {"context": "", **labels, "links": [], "changes": [], "standing": [], **values}
    return {
        "note": question["id"] or question["path"],
        "ticket": question["ticket"],
        "answer": {name: answer[name] for name in properties},
    }


def link(**values: Any) -> dict[str, Any]:
    return {"note": "n1", "reason": REASON, "relation": "supersedes", "strength": 0.9, **values}


def change(**values: Any) -> dict[str, Any]:
    nothing: dict[str, Any] = {"keywords": [], "tags": [], "drop": []}
    return {"note": "n1", "why": REASON, "context": NOW, **nothing, **values}


def good_answer(asked: Any) -> dict[str, Any]:
    """Describes the newer note of the two, links it, and changes the older one."""
    (question,) = asked["questions"]
    return answer_to(asked, question, context=ABOUT, links=[link()], changes=[change()])


def test_an_agent_describes_links_and_changes_and_all_of_it_can_be_undone(
    amem: Program, vault: Path
) -> None:
    with agent(amem) as me:
        with_pumps(me)
        before = tree_hashes(vault / "notes")
        asked = me.ok("next_to_organise")
        assert tree_hashes(vault / "notes") == before
        (question,) = asked["questions"]
        assert question["path"] == "notes/Pump runs at night.md"
        assert OFF in question["text"] and ON in question["text"]
        assert "`instructions` and `forms` are amem's" in asked["notice"]
        assert (asked["left"], asked["more"], asked["unasked"], asked["problems"]) == (0, 1, [], [])
        made = me.ok("organise", answers=[good_answer(asked)])
        (note,) = made["notes"]
        assert (note["state"], note["refused"], made["left"]) == ("organised", [], 0)
        written = note["written"]
        assert written["context"] == ABOUT and "home" in written["tags"]
        assert [each["relation"] for each in written["links"]] == ["supersedes"]
        assert [each["path"] for each in written["evolved"]] == ["notes/Pump off at night.md"]
        read = me.ok("read", note="Pump off at night")
        assert read["context"] == NOW
        assert me.ok("next_to_organise")["questions"] == []
        events = [each for each in me.ok("history")["events"] if each["event"] >= note["event"]]
        assert {each["client"] for each in events} == {"mcp 0.1.0"}
        me.ok("undo", event=note["event"])
        assert tree_hashes(vault / "notes") == before
    kept = amem("history", "Pump runs at night", "--json").json
    assert "mcp 0.1.0 over MCP" in {each.get("model") for each in kept}


def test_what_is_refused_is_told_and_can_be_mended_or_left_out(amem: Program, vault: Path) -> None:
    with agent(amem) as me:
        with_pumps(me)
        before = tree_hashes(vault)
        asked = me.ok("next_to_organise")
        (question,) = asked["questions"]
        wrong = answer_to(
            asked,
            question,
            context="The mayor of Lisbon opened a bakery for dancing elephants.",
            keywords=["pump 4711", "cellar"],
            links=[link(reason="They are about zebras and lions.")],
            changes=[change(context="The mayor of Lisbon opened a bakery.")],
        )
        (note,) = me.ok("organise", answers=[wrong])["notes"]
        assert (note["state"], note["written"], note["event"]) == ("refused", None, None)
        said = "\n".join(note["refused"])
        for part in ("context: ", "keywords: “", "links: ", "changes: "):
            assert part in said
        assert (
            tree_hashes(vault)["notes/Pump runs at night.md"]
            == (before["notes/Pump runs at night.md"])
        )
        # The ticket holds, as nothing was written.
        mended = {
            **wrong,
            "answer": {**good_answer(asked)["answer"], "keywords": wrong["answer"]["keywords"]},
        }
        (note,) = me.ok("organise", answers=[mended])["notes"]
        assert note["state"] == "refused" and len(note["refused"]) == 1
        (note,) = me.ok("organise", answers=[mended], final=True)["notes"]
        assert (note["state"], len(note["refused"])) == ("organised", 1)
        assert note["written"]["context"] == ABOUT and note["written"]["links"]
        assert wrong["answer"]["keywords"][0] not in note["written"]["keywords"]


def test_an_answer_of_another_form_is_never_written(amem: Program, vault: Path) -> None:
    with agent(amem) as me:
        with_pumps(me)
        good = good_answer(me.ok("next_to_organise"))
        for answer, why in (
            ({}, "does not have exactly the asked properties"),
            ({**good["answer"], "context": 7}, "context is not a text on one line"),
            ({**good["answer"], "links": [link(note="n7")]}, "is not one of the words"),
        ):
            for final in (False, True):
                given = [{**good, "answer": answer}]
                (note,) = me.ok("organise", answers=given, final=final)["notes"]
                assert note["state"] == "refused" and why in note["refused"][0]
        assert me.ok("list", only="pending")["total"] == 1
        for wrong, why in (
            ([], "'answers' is empty"),
            ([{**good, "answer": "{}"}], "answers[0].answer '{}' is not of type 'object'"),
            ([{"note": "x", "ticket": "y"}], "answers[0] 'answer' is a required property"),
            ([{**good, "more": 1}], "answers[0] Additional properties are not allowed ('more'"),
            ([good] * 9, "'answers' may have 8 items"),
            ([{**good, "answer": {"x": "y" * 30_000}}], "may have 20,000 characters"),
        ):
            assert why in me.refused("organise", answers=wrong)


def test_a_question_that_is_another_one_by_now_is_asked_anew(amem: Program, vault: Path) -> None:
    with agent(amem) as me:
        with_pumps(me)
        asked = me.ok("next_to_organise")
        me.ok("update", note="Pump off at night", append="Says Ole.", wait=False)
        answers = [good_answer(asked)]
        found = me.ok("organise", answers=answers)
        (note,) = found["notes"]
        assert (note["state"], note["question"]) == ("question", 0)
        assert "another one by now" in note["refused"][0]
        assert "Says Ole." in found["questions"][0]["text"]
        (note,) = me.ok("organise", answers=[good_answer(found)])["notes"]
        assert note["state"] == "organised"
        me.ok("update", note="Pump runs at night", append="Says Ada.", wait=False)
        again = me.ok("organise", answers=answers)
        assert "Says Ada." in again["questions"][0]["text"]


def test_two_agents_do_not_overwrite_each_other(amem: Program, vault: Path) -> None:
    with agent(amem) as me, agent(amem) as other:
        with_pumps(me)
        answers = [[good_answer(each.ok("next_to_organise"))] for each in (me, other)]
        assert me.ok("organise", answers=answers[0])["notes"][0]["state"] == "organised"
        (late,) = other.ok("organise", answers=answers[1])["notes"]
        assert late["state"] == "failed"
        assert "organised before, by mcp 0.1.0 over MCP" in late["refused"][0]


def test_of_a_batch_the_good_answers_are_written(amem: Program, vault: Path) -> None:
    texts = {
        "Gulls": "Gulls follow the trawler in the harbour. They shout.",
        "Trawler": "The trawler in the harbour has a new net. It is red.",
        "Net": "The new net of the trawler has a wide mesh. Fish get away.",
    }
    contexts = {
        "Gulls": "In the harbour gulls shout and follow the trawler.",
        "Trawler": "The mayor of Lisbon opened a bakery for dancing elephants.",
        "Net": "Fish get away through the wide mesh of the new net.",
    }
    with agent(amem) as me:
        for title, text in texts.items():
            me.ok("add", content=text, title=title, wait=False)
        asked = me.ok("next_to_organise", limit=2)
        assert len(asked["questions"]) == 2 and asked["left"] == 1
        assert len(asked["instructions"]) <= 2
        asked = me.ok("next_to_organise")
        answers = [
            answer_to(asked, each, context=contexts[Path(each["path"]).stem])
            for each in asked["questions"]
        ]
        unknown = {**answers[0], "note": "Nobody"}
        found = me.ok("organise", answers=[*answers, unknown])
        states = {each["path"]: each["state"] for each in found["notes"]}
        assert states == {
            "notes/Gulls.md": "organised",
            "notes/Trawler.md": "refused",
            # Its question showed the first one, which is described by now.
            "notes/Net.md": "organised",
            "Nobody": "failed",
        }
        assert found["left"] == 1
        assert [each["path"] for each in me.ok("next_to_organise")["questions"]] == [
            "notes/Trawler.md"
        ]


def test_a_whole_adopted_vault_is_organised_and_what_a_person_wrote_stays(
    amem: Program, vault: Path
) -> None:
    header = "---\nid: '20200101000000'\ncreated: 2020-01-01T10:00\ncontext: Mine.\n---\n"
    write_note(vault, "off.md", f"{header}{OFF}\n")
    write_note(vault, "on.md", f"---\ncreated: 2020-01-02T10:00\n---\n{ON}\n")
    write_note(vault, "diary.md", f"---\nprivate: true\n---\n{OFF} The secret is marzipan.\n")
    assert amem("evolve", "--all").code == 0
    with agent(amem, "--include-private") as me:
        nothing = me.ok("next_to_organise")
        assert nothing["questions"] == [] and nothing["more"] == 2
        assert "private" in me.refused("next_to_organise", note="diary")
        asked = me.ok("next_to_organise", all=True)
        assert [each["path"] for each in asked["questions"]] == ["off.md", "on.md"]
        assert "marzipan" not in json.dumps(asked)
        first, second = asked["questions"]
        assert "context" not in asked["forms"][first["form"]]["properties"]
        answers = [
            {**answer_to(asked, first), "note": "off.md"},
            answer_to(
                asked, second, context=ABOUT, links=[link()], changes=[change(keywords=["wet"])]
            ),
            {**answer_to(asked, first), "note": "diary.md"},
        ]
        found = me.ok("organise", answers=answers)
        states = {each["path"]: each["state"] for each in found["notes"]}
        assert states == {"diary.md": "failed", "off.md": "organised", "on.md": "organised"}
        assert me.ok("read", note="off.md")["context"] == "Mine."
        assert me.ok("read", note="on.md")["context"] == ABOUT
        assert me.ok("next_to_organise", all=True)["questions"] == []
        # Who names a note gets its question whoever organised it.
        assert me.ok("next_to_organise", note="on.md")["questions"]
    assert "marzipan" in (vault / "diary.md").read_text()


def test_an_older_note_that_is_linked_already_changes_as_well(amem: Program, vault: Path) -> None:
    with agent(amem) as me:
        me.ok("add", content=OFF, title="Pump off at night")
        made = me.ok("add", content=f"{ON} This replaces “Pump off at night”.", title="Pump runs")
        assert [each["relation"] for each in made["links"]] == ["supersedes"]
        asked = me.ok("next_to_organise", note="Pump runs")
        (note,) = me.ok("organise", answers=[good_answer(asked)])["notes"]
        assert note["state"] == "organised" and note["written"]["links"] == []
        assert note["refused"] == ["links: notes/Pump off at night.md is linked already"]
        assert me.ok("read", note="Pump off at night")["context"] == NOW


def test_in_review_mode_changes_of_older_notes_are_proposed(amem: Program, vault: Path) -> None:
    assert amem("config", "set", "evolution.mode", "review").code == 0
    with agent(amem) as me:
        with_pumps(me)
        found = me.ok("organise", answers=[good_answer(me.ok("next_to_organise"))])
        (note,) = found["notes"]
        assert note["state"] == "organised" and note["written"]["evolved"] == []
        assert {each["field"] for each in note["written"]["proposed"]} == {"context"}
        assert "`amem review`" in found["review"]
        assert me.ok("read", note="Pump off at night")["context"] != NOW


def test_a_note_that_the_model_was_missed_for_is_offered(amem: Program, vault: Path) -> None:
    with agent(amem, AMEM_LLM_BACKEND="openai", AMEM_LLM_MODEL="x") as me:
        made = me.ok("add", content=ON, title="Pump runs at night")
        assert made["pending"] and made["keywords"]
        asked = me.ok("next_to_organise")
        answers = [answer_to(asked, asked["questions"][0], context=ABOUT)]
        (note,) = me.ok("organise", answers=answers)["notes"]
        assert note["state"] == "organised" and note["written"]["context"] == ABOUT
        assert me.ok("list", only="pending")["total"] == 0


def test_a_note_without_a_question_is_told_and_the_next_comes(amem: Program, vault: Path) -> None:
    write_note(vault, "empty.md", "\n")
    write_note(vault, "odd.md", "---\nkeywords: &a [x]\ntags: *a\n---\nOdd.\n")
    write_note(vault, "on.md", f"{ON}\n")
    with agent(amem) as me:
        asked = me.ok("next_to_organise", limit=1)
        assert [each["path"] for each in asked["questions"]] == ["on.md"]
        assert asked["unasked"] == ["empty.md"]
        given = [{"note": "empty.md", "ticket": "x", "answer": {}}]
        (note,) = me.ok("organise", answers=given)["notes"]
        assert note["state"] == "failed" and "nothing to ask" in note["refused"][0]


def test_what_was_undone_is_not_offered_again(amem: Program, vault: Path) -> None:
    with agent(amem) as me:
        me.ok("add", content=OFF, title="Pump off at night")
        run = next(
            each["event"] for each in me.ok("history")["events"] if each["kind"] == "process"
        )
        assert len(me.ok("next_to_organise", all=True)["questions"]) == 1
        me.ok("undo", event=run)
        assert me.ok("next_to_organise")["more"] == 0
        assert me.ok("next_to_organise", all=True)["questions"] == []
        assert me.ok("next_to_organise", note="Pump off at night")["questions"]
        # A new text is another matter.
        me.ok("update", note="Pump off at night", append="Says Ole.", wait=False)
        assert len(me.ok("next_to_organise")["questions"]) == 1


def test_questions_are_bounded(amem: Program, vault: Path) -> None:
    words = "The pump in the cellar runs at night, and the cellar is dry again in the morning. "
    for number in range(12):
        write_note(vault, f"n{number:02}.md", f"Pump {number}. " + words * 80)
    with agent(amem) as me:
        result = me.call("next_to_organise", limit=8)
        found = result.structured_content
        assert 1 <= len(found["questions"]) <= 8
        assert len(found["questions"]) + found["left"] == 12
        assert len(result.content[0].text) < 60_000


def test_a_killed_server_leaves_all_of_a_note_or_nothing(amem: Program, vault: Path) -> None:
    with agent(amem) as me:
        with_pumps(me)
        given = good_answer(me.ok("next_to_organise"))
    with raw_server(amem) as server:
        server.greet()
        server.call(1, "organise", answers=[given])
        # Somewhere on its way.
        server.said()
        server.process.kill()
        server.process.wait()
    with agent(amem) as me:
        pending = me.ok("list", only="pending")["total"]
        read = me.ok("read", note="Pump runs at night")
        older = me.ok("read", note="Pump off at night")
        is_done = bool(read["context"])
        assert (pending, bool(read["links"]), older["context"] == NOW) == (
            (0, True, True) if is_done else (1, False, False)
        )
        if not is_done:
            (note,) = me.ok("organise", answers=[given])["notes"]
            assert note["state"] == "organised"
    assert amem("index", "--check").code == 0


def test_the_prompt_names_the_tools(amem: Program, vault: Path) -> None:
    with agent(amem) as me:
        prompt = me.ask("get_prompt", "organise_my_vault", {})
        text = prompt.messages[0].content.text
        assert "next_to_organise" in text and "organise" in text and "final" in text
        whole = me.ask("get_prompt", "organise_my_vault", {"which": "all of them"})
        assert "all of them" in whole.messages[0].content.text
