"""What the judge of links says decides together with the evidence; without it nothing else does."""

from __future__ import annotations

from pathlib import Path

import pytest

from amem_cli.editing.edit import link
from amem_cli.editing.review import accept, reject, review_items
from amem_cli.editing.undo import undo
from amem_cli.errors import ModelError
from amem_cli.index.memory_index import VaultPorts
from amem_cli.index.sync import synchronise
from amem_cli.journal.events import Event
from amem_cli.memory.agent import Question, next_questions, notes_to_organise
from amem_cli.memory.outcome import IN_A_MOMENT, JudgeLimits, Outcome
from amem_cli.models.ports import Judge
from tests.fakes.judge import FakeJudge
from tests.fakes.language_model import ScriptedModel
from tests.vaults import indexed, memory_process, open_vault, summary_of, write_note

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


def hurried(ports: VaultPorts, judge: Judge | None, answers: int = 0) -> Outcome:
    """As `amem add` does it, with a judge that has time for so many older notes."""
    if isinstance(judge, FakeJudge):
        judge.answers = answers
    outcome = processed(ports, judge, judging=IN_A_MOMENT, minimum_strength=0.3)
    if isinstance(judge, FakeJudge):
        judge.answers = 1_000
    return outcome


def pending(ports: VaultPorts) -> list[str]:
    return [each.path for each in ports.index.queue.pending() if each.path == "Morning batch.md"]


def later(ports: VaultPorts, judge: Judge | None, **settings: object) -> Outcome:
    """As `amem watch` and `amem evolve` do it."""
    process = memory_process(ports, judge=judge, **{"minimum_strength": 0.3, **settings})
    return process.run("Morning batch.md", only_pending=True)


def runs(ports: VaultPorts, outcome: Outcome) -> list[Event]:
    return [each for each in ports.index.events.read(outcome.id or "") if each.kind == "process"]


def test_a_note_for_which_the_judge_had_no_time_is_pending_and_judged_once(
    ports: VaultPorts,
) -> None:
    judge = FakeJudge(RELATED)
    outcome = hurried(ports, judge)
    assert outcome.pending and not outcome.failed and pending(ports)
    assert titles(outcome) == ["Lamination of dough"]
    assert "had time for 0 of" in outcome.problems[0]
    done = later(ports, judge)
    assert not done.pending and not pending(ports)
    # The link says what the judge says now.
    [changed] = done.changed_links
    assert changed.after and changed.after.strength > changed.before.strength
    assert len(judge.asked) == 2
    assert later(ports, judge).changed_links == () and len(judge.asked) == 2
    assert len(runs(ports, outcome)) == 2


def test_a_link_that_the_judge_does_not_see_is_withdrawn_and_suggested_and_undo_brings_it_back(
    ports: VaultPorts,
) -> None:
    outcome = hurried(ports, FakeJudge())
    path = ports.vault.root / "Morning batch.md"
    before = path.read_bytes()
    done = later(ports, FakeJudge({"Lamination of dough": {"related": 0.1}}))
    [changed] = done.changed_links
    assert changed.after is None and b"[[Lamination" not in path.read_bytes()
    assert [each.title for each in done.suggested][:1] == ["Lamination of dough"]
    undo(ports, runs(ports, outcome)[-1].id)
    assert path.read_bytes() == before


def test_what_it_judged_later_is_what_it_judges_at_once(ports: VaultPorts, tmp_path: Path) -> None:
    related = {f"N{number}": {"related": 0.99} for number in (1, 2)}
    hurried(ports, FakeJudge(related), answers=1)
    later(ports, FakeJudge(related))
    other = open_vault(tmp_path / "other")
    for note in tmp_path.glob("*.md"):
        text = note.read_text()
        if note.name == "Morning batch.md":
            text = f"---\ncreated: 2029-01-02\n---\n{NEW}\n"
        write_note(other.vault.root, note.name, text)
    processed(indexed(other), FakeJudge(related), minimum_strength=0.3)
    assert links_of(ports) == links_of(other) != {}


def links_of(ports: VaultPorts) -> dict[str, float]:
    made = ports.index.link_history.records("Morning batch.md")
    found = {each.path: each.strength for each in made.values()}
    suggested = ports.index.link_history.suggested(["Morning batch.md"])
    return found | {each.target: each.strength for each in suggested}


def test_notes_that_came_since_are_not_among_the_older_ones(ports: VaultPorts) -> None:
    hurried(ports, FakeJudge())
    text = f"---\ncreated: 2029-01-03\n---\n{NEW} The next day too.\n"
    write_note(ports.vault.root, "Next day.md", text)
    memory_process(ports).run("Next day.md", asked=True)
    judge = FakeJudge()
    later(ports, judge)
    [(_, olders)] = judge.asked
    assert "Lamination of dough" in olders and "Next day" not in olders


@pytest.mark.parametrize("failure", ["", "the process of the judge ended with status 1"])
def test_without_the_judge_it_does_not_wait_for_ever_and_nothing_changes(
    ports: VaultPorts, failure: str
) -> None:
    # It had said of the first that it is not related.
    outcome = hurried(ports, FakeJudge(), answers=1)
    assert pending(ports) and not titles(outcome)
    path = ports.vault.root / "Morning batch.md"
    before, known = path.read_bytes(), links_of(ports)
    judge = FakeJudge() if failure else None
    if judge is not None:
        judge.failure = ModelError(failure)
    done = later(ports, judge)
    assert not done.pending and not pending(ports)
    assert path.read_bytes() == before and links_of(ports) == known
    assert bool(done.problems) == bool(failure)


def test_what_a_person_took_back_before_is_not_written_again(ports: VaultPorts) -> None:
    outcome = hurried(ports, FakeJudge(RELATED))
    undo(ports, runs(ports, outcome)[-1].id)
    path = ports.vault.root / "Morning batch.md"
    before = path.read_bytes()
    done = later(ports, FakeJudge({**RELATED, "N1": {"related": 0.99}}))
    assert not done.links and not pending(ports)
    assert path.read_bytes() == before


def test_a_link_that_the_person_made_meanwhile_stays(ports: VaultPorts) -> None:
    hurried(ports, FakeJudge())
    link(ports, *(summary_of(ports, f"{each}.md") for each in ("Morning batch", *RELATED)))
    assert not later(ports, FakeJudge()).changed_links
    assert "[[Lamination of dough]]" in (ports.vault.root / "Morning batch.md").read_text()


def test_a_text_that_was_judged_does_not_wait_when_it_is_linked_again_in_a_hurry(
    ports: VaultPorts,
) -> None:
    processed(ports, FakeJudge(RELATED))
    assert not hurried(ports, FakeJudge(RELATED)).pending
    assert not pending(ports)


def test_a_model_that_writes_contexts_is_not_asked_again_for_what_the_judge_does(
    ports: VaultPorts,
) -> None:
    hurried(ports, FakeJudge(RELATED))
    model = ScriptedModel([])
    process = memory_process(ports, model, judge=FakeJudge(RELATED), minimum_strength=0.3)
    done = process.run("Morning batch.md", only_pending=True)
    assert not model.requests and not done.failed and not pending(ports)


def test_an_agent_can_organise_it_before_the_judge_comes_to_it(ports: VaultPorts) -> None:
    hurried(ports, FakeJudge(RELATED))
    assert "Morning batch.md" in notes_to_organise(ports.index)
    process = memory_process(ports, judge=FakeJudge(RELATED))
    (question,) = next_questions(process, ["Morning batch.md"], "agent")
    assert isinstance(question, Question)
    assert {"context", "keywords", "links"} <= set(question.request.schema["properties"])


@pytest.mark.parametrize("decision", ["waits", "accepted", "rejected"])
def test_a_change_is_proposed_once_though_the_note_is_judged_twice(
    ports: VaultPorts, decision: str
) -> None:
    new = "Lamination of croissant dough, butter.\n\nThe fridge of the bakery is set to 5 now."
    write_note(ports.vault.root, "Morning batch.md", f"---\ncreated: 2029-01-02\n---\n{new}\n")
    synchronise(ports)
    judge = FakeJudge({"Lamination of dough": {"supersedes": 0.9}})
    assert hurried(ports, judge, answers=1).pending
    items = review_items(ports)
    assert len(items) == 1
    if decision != "waits":
        (accept if decision == "accepted" else reject)(ports, items)
    records = ports.index.link_history.records("Morning batch.md")
    assert not later(ports, judge).proposed
    assert len(ports.changes.waiting()) == (decision == "waits")
    if decision == "accepted":
        assert {each.relation for each in records.values()} == {"supersedes"}
        assert ports.index.link_history.records("Morning batch.md") == records
