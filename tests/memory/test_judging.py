"""What the judge of links says decides together with the evidence; without it nothing else does."""

from __future__ import annotations

from pathlib import Path

import pytest

from amem_cli.errors import ModelError
from amem_cli.index.memory_index import VaultPorts
from amem_cli.index.sync import synchronise
from amem_cli.memory.outcome import JudgeLimits, Outcome
from amem_cli.models.ports import Judge
from tests.fakes.judge import FakeJudge
from tests.fakes.language_model import ScriptedModel
from tests.vaults import indexed, memory_process, open_vault, write_note

OLD = "Lamination of croissant dough needs butter at 14 degrees, else it tears."
NEW = "The croissant dough tore in Lamination: the butter came from the fridge."
RELATED = {"Lamination of dough": {"causes": 0.6, "related": 0.35}}


@pytest.fixture
def ports(tmp_path: Path) -> VaultPorts:
    write_note(tmp_path, "Lamination of dough.md", f"---\ncreated: 2029-01-01\n---\n{OLD}\n")
    write_note(tmp_path, "Morning batch.md", f"---\ncreated: 2029-01-02\n---\n{NEW}\n")
    for number in range(4):
        text = f"Number {number}: butter, dough and weather in January."
        write_note(tmp_path, f"N{number}.md", f"---\ncreated: 2028-01-0{number + 1}\n---\n{text}\n")
    return indexed(open_vault(tmp_path))


def processed(ports: VaultPorts, judge: Judge | None, **settings: object) -> Outcome:
    process = memory_process(ports, judge=judge, **settings)
    return process.run("Morning batch.md", asked=True)


def titles(outcome: Outcome) -> list[str]:
    return [link.title for link in outcome.links]


def test_what_the_judge_calls_related_is_linked_and_the_journal_names_it(ports: VaultPorts) -> None:
    outcome = processed(ports, FakeJudge(RELATED))
    assert titles(outcome) == ["Lamination of dough"]
    events = ports.index.events.read(outcome.id or "")
    [linked] = [event for event in events if event.kind == "link"]
    assert linked.prompt == "fake judge"


def test_what_it_does_not_call_related_is_not_linked(ports: VaultPorts) -> None:
    with_evidence = processed(ports, None, minimum_strength=0.3)
    assert titles(with_evidence) == ["Lamination of dough"]
    write_note(
        ports.vault.root, "Morning batch.md", f"---\ncreated: 2029-01-02\n---\n{NEW} Again.\n"
    )
    synchronise(ports)
    assert titles(processed(ports, FakeJudge(), minimum_strength=0.3)) == []


@pytest.mark.parametrize(
    ("new", "said", "proposed"),
    [
        ("The fridge of the bakery is set to 5 now.", {"supersedes": 0.9}, True),
        ("The fridge of the bakery is set to 5 now.", {"related": 0.9}, False),
        # Without a sign of change in its words nothing is proposed, whatever the judge says.
        ("The fridge of the bakery is set to 5.", {"supersedes": 0.9}, False),
    ],
)
def test_a_revision_that_no_sentence_names_is_proposed_if_the_judge_sees_it(
    ports: VaultPorts, new: str, said: dict[str, float], proposed: bool
) -> None:
    text = f"---\ncreated: 2029-01-02\n---\nLamination of croissant dough, butter.\n\n{new}\n"
    write_note(ports.vault.root, "Morning batch.md", text)
    synchronise(ports)
    outcome = processed(ports, FakeJudge({"Lamination of dough": said}))
    assert bool(outcome.proposed) == proposed


def test_a_proposal_quotes_the_sentence_that_is_nearest_to_the_older_note(
    ports: VaultPorts,
) -> None:
    new = (
        "The former way with the croissant is history.\n\n"
        "Lamination of dough needs butter at 12 degrees, else it tears.\n\n"
        "Marta starts on Monday."
    )
    write_note(ports.vault.root, "Morning batch.md", f"---\ncreated: 2029-01-02\n---\n{new}\n")
    synchronise(ports)
    processed(ports, FakeJudge({"Lamination of dough": {"supersedes": 0.9}}))
    [waiting] = ports.changes.waiting()
    proposed = str(waiting.change.after)
    assert "butter at 12 degrees" in proposed and "history" not in proposed


def test_it_is_asked_once_about_the_likeliest_notes(ports: VaultPorts) -> None:
    judge = FakeJudge(RELATED)
    processed(ports, judge, judging=JudgeLimits(candidates=2))
    [(newer, olders)] = judge.asked
    assert newer == "Morning batch"
    assert len(olders) == 2 and olders[0] == "Lamination of dough"


def test_of_those_for_which_it_had_no_time_the_evidence_decides(ports: VaultPorts) -> None:
    judge = FakeJudge()
    judge.answers = 0
    outcome = processed(ports, judge, minimum_strength=0.3)
    assert titles(outcome) == ["Lamination of dough"]
    assert not outcome.problems


def test_if_it_fails_the_evidence_decides_and_the_outcome_says_so(ports: VaultPorts) -> None:
    judge = FakeJudge()
    judge.failure = ModelError("the process of the judge ended with status 1")
    outcome = processed(ports, judge, minimum_strength=0.3)
    assert titles(outcome) == ["Lamination of dough"]
    assert not outcome.pending and not outcome.failed
    [problem] = outcome.problems
    assert "ended with status 1" in problem and "evidence" in problem


def test_where_a_model_decides_about_links_the_judge_is_asked_only_in_its_place(
    ports: VaultPorts,
) -> None:
    judge = FakeJudge(RELATED)
    process = memory_process(ports, ScriptedModel([]), trusted=True, judge=judge)
    outcome = process.run("Morning batch.md", asked=True)
    # It is asked where the analyzer stands in for a model that gives no answer.
    assert outcome.failed and len(judge.asked) == 1


def test_an_edit_leaves_the_link_that_the_judge_made(ports: VaultPorts) -> None:
    judge = FakeJudge({"Lamination of dough": {"related": 0.999}})
    assert titles(processed(ports, judge)) == ["Lamination of dough"]
    path = ports.vault.root / "Morning batch.md"
    path.write_text(path.read_text() + "\nWe were home by noon.\n")
    synchronise(ports)
    for each in (judge, None):
        outcome = processed(ports, each)
        assert not outcome.changed_links
        path.write_text(path.read_text() + "\nAnd slept.\n")
        synchronise(ports)


def test_a_judge_that_nothing_is_to_be_asked_is_not_asked(tmp_path: Path) -> None:
    write_note(tmp_path, "Alone.md", f"{NEW}\n")
    found = open_vault(tmp_path)
    judge = FakeJudge()
    memory_process(found, judge=judge).run("Alone.md", asked=True)
    assert judge.asked == []
