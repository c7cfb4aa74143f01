"""What a person decides about the machine's links decides about the next ones."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path

import pytest

from amem_cli.duplicates.merge import merge
from amem_cli.editing.add import NewNote, add
from amem_cli.editing.edit import link, unlink
from amem_cli.editing.undo import undo, undo_since
from amem_cli.index.memory_index import VaultPorts
from amem_cli.index.sync import synchronise
from amem_cli.memory.outcome import Outcome
from amem_cli.models.ports import LanguageModel, ModelRequest
from amem_cli.search.read import note_named
from tests.fakes.language_model import ScriptedModel
from tests.index_dump import canonical_dump
from tests.vaults import memory_process, open_vault, write_note

OLD = "Lamination of croissant dough needs butter at 14 degrees, else it tears."
NEW = "The croissant dough tore in Lamination: the butter came from the fridge at 4 degrees."
SAME_DAY = "---\ncreated: 2029-01-01T08:00:00\n---\n"


@pytest.fixture
def ports(tmp_path: Path) -> VaultPorts:
    ports = open_vault(tmp_path)
    write_note(tmp_path, "Lamination of dough.md", f"{SAME_DAY}{OLD}\n")
    write_note(tmp_path, "Morning batch.md", f"{SAME_DAY}{NEW}\n")
    for number in range(4):
        # Were they the later ones, the pair would be weighed without them at first.
        write_note(tmp_path, f"A{number}.md", f"{SAME_DAY}Number {number}: frost and weather.\n")
    return ports


def run(
    ports: VaultPorts, title: str, model: LanguageModel | None = None, **settings: object
) -> Outcome:
    settings = {"trusted": model is not None, "minimum_strength": 0.3, **settings}
    process = memory_process(ports, model, **settings)
    return process.run(note_named(ports.index, title).path, asked=True)


def linked(ports: VaultPorts) -> None:
    titles = [made.title for made in run(ports, "Morning batch").links]
    assert titles == ["Lamination of dough"]


def by_command(ports: VaultPorts, root: Path) -> None:
    index = ports.index
    assert unlink(
        ports, note_named(index, "Morning batch"), note_named(index, "Lamination of dough")
    )


def rewrite(root: Path, name: str, more: str) -> None:
    path = root / f"{name}.md"
    path.write_text(path.read_text() + f"{more}\n")


def rebuilt(ports: VaultPorts, root: Path) -> VaultPorts:
    fresh = open_vault(root, index="fresh.db")
    synchronise(fresh)
    live, new = canonical_dump(ports.index), canonical_dump(fresh.index)
    assert set(live["decisions"]) == set(new["decisions"])
    return fresh


def by_editor(ports: VaultPorts, root: Path) -> None:
    path = root / "Morning batch.md"
    lines = path.read_text().splitlines(keepends=True)
    path.write_text("".join(line for line in lines if "[[Lamination of dough]]" not in line))
    synchronise(ports)


def by_undo(ports: VaultPorts, root: Path) -> None:
    events = ports.index.events.read(note_named(ports.index, "Morning batch").key)
    undo(ports, next(each.id for each in events if each.kind == "process"))
    assert note_named(ports.index, "Morning batch").id is None


@pytest.mark.parametrize("way", [by_command, by_editor, by_undo])
@pytest.mark.parametrize("title", ["Morning batch", "Lamination of dough"])
@pytest.mark.parametrize("anew", [False, True])
def test_a_pair_that_was_taken_apart_is_not_linked_again_from_either_side(
    ports: VaultPorts,
    tmp_path: Path,
    way: Callable[[VaultPorts, Path], None],
    title: str,
    anew: bool,
) -> None:
    linked(ports)
    way(ports, tmp_path)
    if anew:
        ports = rebuilt(ports, tmp_path)
    rewrite(tmp_path, title, "Butter again: Lamination of croissant dough tore in the fridge.")
    assert run(ports, title).links == ()


def test_a_note_in_the_place_of_one_that_moved_is_free_of_its_decisions(
    ports: VaultPorts, tmp_path: Path
) -> None:
    linked(ports)
    by_command(ports, tmp_path)
    (tmp_path / "Morning batch.md").rename(tmp_path / "Moved.md")
    write_note(tmp_path, "Morning batch.md", f"{SAME_DAY}{NEW}\n")
    synchronise(ports)
    assert ports.index.link_history.unlinked("Moved.md") == {"Lamination of dough.md"}
    assert ports.index.link_history.unlinked("Morning batch.md") == set()


def test_nothing_is_said_of_a_note_in_the_place_of_one_that_is_gone(
    ports: VaultPorts, tmp_path: Path
) -> None:
    linked(ports)
    by_command(ports, tmp_path)
    (tmp_path / "Morning batch.md").unlink()
    synchronise(ports)
    assert add(ports, NewNote("Frost.", title="Morning batch", folder="")) == "Morning batch.md"
    (decided,) = ports.index.link_history.decided()
    assert ports.index.notes.summary(decided.source) is None


def test_without_that_decision_the_older_note_would_be_linked(
    ports: VaultPorts, tmp_path: Path
) -> None:
    linked(ports)
    undo_since(ports, "2000-01-01")
    rewrite(tmp_path, "Lamination of dough", "Butter again: croissant dough tore in the fridge.")
    titles = [made.title for made in run(ports, "Lamination of dough").links]
    assert titles == ["Morning batch"]


def test_taking_back_all_since_a_moment_is_no_word_on_any_one_link(
    ports: VaultPorts, tmp_path: Path
) -> None:
    linked(ports)
    undo_since(ports, "2000-01-01")
    assert "links:" not in (tmp_path / "Morning batch.md").read_text()
    assert (
        rebuilt(ports, tmp_path).index.link_history.decided()
        == ports.index.link_history.decided()
        == []
    )
    rewrite(tmp_path, "Morning batch", "Butter again: Lamination of dough at 4 degrees tears.")
    assert [made.title for made in run(ports, "Morning batch").links] == ["Lamination of dough"]


def test_taking_back_a_merge_is_no_word_on_the_links_that_it_redirected(
    ports: VaultPorts, tmp_path: Path
) -> None:
    linked(ports)
    write_note(tmp_path, "Kept.md", f"{SAME_DAY}Lamination.\n")
    synchronise(ports)
    index = ports.index
    done = merge(ports, note_named(index, "Kept"), note_named(index, "Lamination of dough"))
    assert "[[Kept]]" in (tmp_path / "Morning batch.md").read_text()
    undo(ports, done.event)
    assert "[[Lamination of dough]]" in (tmp_path / "Morning batch.md").read_text()
    assert (
        rebuilt(ports, tmp_path).index.link_history.decided()
        == ports.index.link_history.decided()
        == []
    )
    assert ports.index.link_history.unlinked("Morning batch.md") == set()


def test_a_link_that_a_person_makes_again_is_wanted(ports: VaultPorts) -> None:
    linked(ports)
    by_command(ports, Path())
    index = ports.index
    assert link(ports, note_named(index, "Morning batch"), note_named(index, "Lamination of dough"))
    (decided,) = ports.index.link_history.decided()
    assert decided.kept


def test_a_persons_link_to_what_the_machine_linked_makes_it_theirs(ports: VaultPorts) -> None:
    linked(ports)
    one = note_named(ports.index, "Morning batch")
    other = note_named(ports.index, "Lamination of dough")
    assert link(ports, one, other, relation="supports", reason="the butter")
    assert not link(ports, one, other)
    (record,) = ports.index.link_history.records(one.path).values()
    assert (record.by, record.relation, record.reason) == ("person", "supports", "the butter")
    (decided,) = ports.index.link_history.decided()
    assert decided.kept
    edit = ports.index.events.read(note_named(ports.index, "Morning batch").key)[-1]
    undo(ports, edit.id)
    (record,) = ports.index.link_history.records(one.path).values()
    assert record.by == "machine"


def answer(request: ModelRequest, **said: object) -> str:
    """An answer of the asked shape that says this, and of the rest nothing."""
    properties = request.schema["properties"]
    nothing = {name: [] if of["type"] == "array" else "" for name, of in properties.items()}
    nothing["context"] = "Croissant dough tears in lamination where the butter is too cold."
    return json.dumps({name: said.get(name, nothing.get(name)) for name in properties})


def lines_after(request: ModelRequest, heading: str) -> list[str]:
    """The lines of the fence that follows a heading; none without such a heading."""
    _, _, rest = request.text.partition(heading)
    return rest.split('"""')[1].strip().splitlines() if rest else []


STANDING = "Links so far"


def saying(now: str, why: str = "The butter of the dough was warm after all.") -> object:
    def said(request: ModelRequest) -> str:
        return answer(request, standing=[{"link": "l1", "why": why, "now": now}])

    return said


@pytest.mark.parametrize(("now", "change"), [("stronger", 0.2), ("weaker", -0.2), ("wrong", None)])
def test_a_model_may_weigh_anew_the_links_of_a_note_whose_text_changed(
    ports: VaultPorts, tmp_path: Path, now: str, change: float | None
) -> None:
    linked(ports)
    one = note_named(ports.index, "Morning batch")
    (before,) = ports.index.link_history.records(one.path).values()
    rewrite(tmp_path, "Morning batch", "It was 14 degrees.")
    model = ScriptedModel([saying(now)] * 4)  # type: ignore[list-item]
    (changed,) = run(ports, "Morning batch", model).changed_links
    (shown,) = lines_after(model.requests[0], STANDING)
    assert shown.startswith("l1 new note to n1: related, ")
    assert changed.reason == "The butter of the dough was warm after all."
    after = [record.strength for record in ports.index.link_history.records(one.path).values()]
    assert after == ([] if change is None else [min(1.0, round(before.strength + change, 2))])


def test_what_a_model_says_of_a_link_without_a_reason_changes_nothing(
    ports: VaultPorts, tmp_path: Path
) -> None:
    linked(ports)
    rewrite(tmp_path, "Morning batch", "It was 14 degrees.")
    model = ScriptedModel([saying("wrong", "Trains were late.")] * 4)  # type: ignore[list-item]
    outcome = run(ports, "Morning batch", model)
    assert outcome.changed_links == ()
    assert any(problem.startswith("standing: ") for problem in outcome.problems)


def test_links_of_an_unchanged_text_and_of_the_owner_are_not_asked_about(
    ports: VaultPorts, tmp_path: Path
) -> None:
    linked(ports)
    again = ScriptedModel([answer] * 4)
    run(ports, "Morning batch", again)
    index = ports.index
    assert link(ports, note_named(index, "Morning batch"), note_named(index, "Lamination of dough"))
    rewrite(tmp_path, "Morning batch", "It was 14 degrees.")
    run(ports, "Morning batch", again)
    assert again.requests and all(STANDING not in each.text for each in again.requests)


THIRD = "This replaces “Lamination of dough”: croissant butter at 12.\n"


def weakening(request: ModelRequest) -> str:
    """Links the note with the source of the one standing link, and calls that one weaker."""
    if "standing" not in request.schema["properties"]:
        return answer(request)
    (shown,) = lines_after(request, STANDING)
    why = "Both are about butter of croissant dough."
    link = {"note": shown.split()[1], "reason": why, "relation": "related", "strength": 0.6}
    weaker = {"link": "l1", "why": "The butter was not cold in the dough.", "now": "weaker"}
    return answer(request, links=[link], standing=[weaker])


def test_links_between_the_notes_shown_can_be_weighed_where_the_new_note_is_linked(
    ports: VaultPorts, tmp_path: Path
) -> None:
    linked(ports)
    write_note(tmp_path, "Third.md", f"{SAME_DAY}{THIRD}")
    (changed,) = run(ports, "Third", ScriptedModel([weakening] * 4)).changed_links
    assert (changed.source, changed.title) == ("Morning batch.md", "Lamination of dough")


def test_a_private_note_changes_no_link_between_others(ports: VaultPorts, tmp_path: Path) -> None:
    linked(ports)
    header = SAME_DAY.replace("---\n", "---\nprivate: true\n", 1)
    write_note(tmp_path, "Third.md", f"{header}{THIRD}")
    model = ScriptedModel([weakening] * 4)
    assert run(ports, "Third", model).changed_links == ()
    assert model.requests and all(STANDING not in each.text for each in model.requests)
