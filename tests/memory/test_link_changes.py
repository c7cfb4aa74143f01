"""Links that the machine made get stronger, weaker, another relation, or go; a person's stay."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from datetime import datetime
from pathlib import Path

import pytest

from amem_cli.editing.add import NewNote, add
from amem_cli.editing.edit import link
from amem_cli.editing.review import accept, reject, review_items
from amem_cli.editing.undo import undo, undo_since
from amem_cli.errors import SettingsError
from amem_cli.index.draft import provenance_of
from amem_cli.index.memory_index import VaultPorts
from amem_cli.index.sync import synchronise
from amem_cli.journal.events import Event, LinkRecord
from amem_cli.journal.link_decisions import LinkUpdate
from amem_cli.memory.outcome import (
    Description,
    Linking,
    NoteAnalysis,
    Outcome,
    Step,
)
from amem_cli.notes.note import MemoryLink, Relation, parse_note
from amem_cli.search.read import note_named
from amem_cli.search.suggestions import suggestions
from tests import vaults
from tests.vaults import memory_process, open_vault

OLD = "Lamination of croissant dough needs butter at 14 degrees, else it tears."
NEW = "The croissant dough tore in Lamination: the butter came from the fridge at 4 degrees."
OTHER = "Signal boxes at the junction were rewired by night; no train ran until six."


@pytest.fixture
def ports(tmp_path: Path) -> VaultPorts:
    ports = open_vault(tmp_path)
    # The day before the clock's.
    made = datetime(2030, 3, 1, 15).astimezone()
    add(ports, NewNote(OLD, title="Lamination of dough", created=made))
    for number in range(4):
        add(ports, NewNote(f"Number {number}: harvest, frost and weather.", title=f"N{number}"))
    return ports


def run(ports: VaultPorts, title: str, **settings: object) -> Outcome:
    process = memory_process(ports, **settings)
    return process.run(note_named(ports.index, title).path, asked=True)


def linked(ports: VaultPorts) -> Path:
    """A note that the machine has linked to the old one, with metadata of its own."""
    path = add(ports, NewNote(NEW, title="Morning batch", context="Mine.", keywords=["mine"]))
    assert [made.title for made in run(ports, "Morning batch").links] == ["Lamination of dough"]
    return ports_root(ports) / path


def ports_root(ports: VaultPorts) -> Path:
    return Path(ports.vault.root)


def record(ports: VaultPorts, source: str, target: str) -> LinkRecord | None:
    owned = provenance_of(ports.index, note_named(ports.index, source).key)
    return owned.links.get(note_named(ports.index, target).key)


def said_by_person(path: Path, text: str) -> None:
    """The person writes another text below the front matter."""
    head, _, _ = path.read_text().rpartition("---\n")
    path.write_text(f"{head}---\n{text}\n")


def last(ports: VaultPorts, title: str, kind: str) -> Event:
    events = ports.index.events.read(note_named(ports.index, title).key)
    return [event for event in events if event.kind == kind][-1]


def carry_out(
    ports: VaultPorts,
    title: str,
    changes: Iterable[LinkUpdate] = (),
    *,
    links: tuple[MemoryLink, ...] = (),
    review: bool = False,
) -> Outcome:
    """What the machine does where a model said this of links."""
    synchronise(ports)
    linking = Linking(links, step=Step("scripted"), link_changes=tuple(changes))
    thought = NoteAnalysis(Description(), linking, "scripted")
    return vaults.carry_out(ports, note_named(ports.index, title).path, thought, review=review)


def test_a_link_goes_where_the_new_text_of_the_note_no_longer_bears_it_out(
    ports: VaultPorts,
) -> None:
    path = linked(ports)
    said_by_person(path, OTHER)
    before = path.read_bytes()
    outcome = run(ports, "Morning batch")
    (changed,) = outcome.changed_links
    assert (changed.title, changed.after) == ("Lamination of dough", None)
    note = parse_note("x.md", path.read_bytes(), ports.names)
    assert note.links == () and note.keywords == ("mine",)
    event = last(ports, "Morning batch", "link")
    assert "does not bear the link out" in event.reason
    assert [one.relation for one in event.links_before] == ["related"]
    undo(ports, event.id)
    assert path.read_bytes() == before
    back = record(ports, "Morning batch", "Lamination of dough")
    assert back == event.links_before[0]


def test_a_removal_that_a_person_took_back_is_not_made_again(ports: VaultPorts) -> None:
    path = linked(ports)
    said_by_person(path, OTHER)
    run(ports, "Morning batch")
    undo(ports, last(ports, "Morning batch", "link").id)
    said_by_person(path, OTHER.replace("six", "seven"))
    assert run(ports, "Morning batch").changed_links == ()
    assert "[[Lamination of dough]]" in path.read_text()


def test_a_link_that_went_may_be_made_again_when_the_text_speaks_for_it(ports: VaultPorts) -> None:
    path = linked(ports)
    before = path.read_bytes()
    said_by_person(path, OTHER)
    run(ports, "Morning batch")
    said_by_person(path, NEW)
    assert [made.title for made in run(ports, "Morning batch").links] == ["Lamination of dough"]
    assert path.read_bytes() == before


def test_a_link_that_is_still_borne_out_stays_to_the_byte(ports: VaultPorts) -> None:
    path = linked(ports)
    then = record(ports, "Morning batch", "Lamination of dough")
    said_by_person(path, f"{NEW} Next time the butter waits on the bench.")
    before = path.read_bytes()
    events = len(ports.index.events.read(note_named(ports.index, "Morning batch").key))
    outcome = run(ports, "Morning batch")
    assert (outcome.links, outcome.changed_links) == ((), ())
    assert path.read_bytes() == before
    assert record(ports, "Morning batch", "Lamination of dough") == then
    after = ports.index.events.read(note_named(ports.index, "Morning batch").key)
    assert [event.kind for event in after[events:]] == ["process"]


def test_an_unchanged_text_is_never_judged_anew(ports: VaultPorts) -> None:
    path = linked(ports)
    for number in range(10):
        add(ports, NewNote(f"Butter, dough and lamination, take {number}.", title=f"Take {number}"))
    before = path.read_bytes()
    outcome = run(ports, "Morning batch")
    assert outcome.changed_links == () and path.read_bytes() == before


def test_where_evolution_is_off_links_stay_too(ports: VaultPorts) -> None:
    path = linked(ports)
    said_by_person(path, OTHER)
    assert run(ports, "Morning batch", evolve=False).changed_links == ()
    assert "[[Lamination of dough]]" in path.read_text()


def test_a_persons_link_is_never_judged(ports: VaultPorts) -> None:
    path = ports_root(ports) / add(ports, NewNote(NEW, title="Morning batch"))
    synchronise(ports)
    link(
        ports,
        note_named(ports.index, "Morning batch"),
        note_named(ports.index, "Lamination of dough"),
    )
    typed = path.read_text().replace("links:\n", 'links:\n  - "[[N1]]"\n')
    path.write_text(typed)
    run(ports, "Morning batch")
    said_by_person(path, OTHER)
    remove = [LinkUpdate(f"notes/{path.name}", f"notes/{name}.md", removed=True)
              for name in ("Lamination of dough", "N1")]  # fmt: skip
    assert run(ports, "Morning batch").changed_links == ()
    assert carry_out(ports, "Morning batch", remove).changed_links == ()
    note = parse_note("x.md", path.read_bytes(), ports.names)
    assert note.links[:2] == ("[[N1]]", "[[Lamination of dough]]")


def test_a_models_link_stays_whatever_the_words_show(ports: VaultPorts) -> None:
    path = ports_root(ports) / add(ports, NewNote(OTHER, title="Junction"))
    synchronise(ports)
    made = MemoryLink("notes/Lamination of dough.md", "supports", "both wait for the night", 0.9)
    carry_out(ports, "Junction", links=(made,))
    said_by_person(path, OTHER.replace("six", "seven"))
    assert run(ports, "Junction").changed_links == ()
    assert "[[Lamination of dough]]" in path.read_text()


def test_a_text_that_now_says_that_it_replaces_a_note_turns_the_link_into_that(
    ports: VaultPorts,
) -> None:
    path = linked(ports)
    text = f"{NEW} This replaces the note of 1 March 2030: 14 degrees is too warm."
    said_by_person(path, text)
    before = path.read_bytes()
    (changed,) = run(ports, "Morning batch").changed_links
    assert changed.after is not None and changed.after.relation == "supersedes"
    assert path.read_bytes() == before
    assert [each.relation for each in ports.index.link_history.superseded()] == ["supersedes"]
    event = last(ports, "Morning batch", "link")
    undo(ports, event.id)
    assert path.read_bytes() == before and ports.index.link_history.superseded() == []
    then = record(ports, "Morning batch", "Lamination of dough")
    assert then == event.links_before[0]
    again = last(ports, "Morning batch", "undo")
    undo(ports, again.id)
    assert [each.relation for each in ports.index.link_history.superseded()] == ["supersedes"]


def test_a_text_that_no_longer_says_so_takes_the_word_back(ports: VaultPorts) -> None:
    path = linked(ports)
    said_by_person(path, f"{NEW} This replaces the note of 1 March 2030.")
    run(ports, "Morning batch")
    said_by_person(path, f"{NEW} See the note of 1 March 2030.")
    (changed,) = run(ports, "Morning batch").changed_links
    assert changed.after is not None and changed.after.relation == "related"
    assert ports.index.link_history.superseded() == []


def chained(ports: VaultPorts) -> None:
    """First links to Second, both by the machine."""
    add(ports, NewNote("One thing.", title="First"))
    add(ports, NewNote("A second thing.", title="Second"))
    add(ports, NewNote("News.", title="Third"))
    synchronise(ports)
    carry_out(ports, "First", links=(MemoryLink("notes/Second.md", "related", "as one", 0.5),))
    carry_out(ports, "Third", links=(MemoryLink("notes/First.md", "related", "news", 0.7),))


CHANGE = LinkUpdate("notes/First.md", "notes/Second.md")


def change(**values: object) -> LinkUpdate:
    fields = {"source": CHANGE.source, "target": CHANGE.target, "reason": "the news say so"}
    return LinkUpdate(**{**fields, **values})  # type: ignore[arg-type]


@pytest.mark.parametrize(
    ("wanted", "relation", "strength"),
    [
        (change(strength=0.9), "related", 0.9),
        (change(strength=0.2), "related", 0.2),
        (change(relation="contradicts"), "contradicts", 0.5),
        (change(relation="supersedes", strength=0.8), "supersedes", 0.8),
        (change(removed=True), None, None),
    ],
)
def test_a_model_may_change_a_link_of_a_neighbour_and_undo_brings_it_back(
    ports: VaultPorts, wanted: LinkUpdate, relation: Relation | None, strength: float | None
) -> None:
    chained(ports)
    then = record(ports, "First", "Second")
    path = ports_root(ports) / "notes/First.md"
    before = path.read_bytes()
    outcome = carry_out(ports, "Third", [wanted])
    assert [each.source for each in outcome.changed_links] == ["notes/First.md"]
    now = record(ports, "First", "Second")
    assert (now and now.relation, now and now.strength) == (relation, strength)
    event = last(ports, "First", "evolve")
    process = last(ports, "Third", "process")
    assert (event.cause, event.reason) == (process.id, "the news say so")
    assert event.links_before == (then,)
    if relation:
        assert path.read_bytes() == before
    assert undo(ports, process.id).paths == ("notes/First.md",)
    assert path.read_bytes() == before and record(ports, "First", "Second") == then
    with pytest.raises(SettingsError, match="taken back already"):
        undo(ports, event.id)


def test_a_note_that_is_not_linked_keeps_its_links(ports: VaultPorts) -> None:
    chained(ports)
    assert carry_out(ports, "N1", [change(removed=True)]).changed_links == ()


def test_what_says_the_same_is_no_change(ports: VaultPorts) -> None:
    chained(ports)
    events = len(ports.index.events.read())
    for same in (change(), change(strength=0.52), change(relation="related"), change(strength=0.5)):
        assert carry_out(ports, "Third", [same]).changed_links == ()
    assert {event.kind for event in ports.index.events.read()[events:]} == {"process"}


def test_a_link_that_was_changed_again_is_taken_back_with_what_built_on_it(
    ports: VaultPorts,
) -> None:
    chained(ports)
    then = record(ports, "First", "Second")
    carry_out(ports, "Third", [change(strength=0.9)])
    first = last(ports, "First", "evolve")
    carry_out(ports, "Third", [change(removed=True)])
    with pytest.raises(SettingsError, match="changed again"):
        undo(ports, first.id)
    undo(ports, first.id, cascade=True)
    assert record(ports, "First", "Second") == then


def test_a_link_that_a_person_deleted_since_is_not_weighed_back(ports: VaultPorts) -> None:
    chained(ports)
    carry_out(ports, "Third", [change(strength=0.9)])
    path = ports_root(ports) / "notes/First.md"
    path.write_text(path.read_text().replace('links:\n  - "[[Second]]"\n', ""))
    synchronise(ports)
    event = last(ports, "First", "evolve")
    with pytest.raises(SettingsError, match="edited since"):
        undo(ports, event.id)
    assert carry_out(ports, "Third", [change(strength=0.1)]).changed_links == ()


def decide(ports: VaultPorts, how: Callable[..., object]) -> None:
    found = review_items(ports)
    assert len(found) == 1
    how(ports, found)
    assert review_items(ports) == []


@pytest.mark.parametrize("wanted", [change(removed=True), change(relation="supersedes")])
def test_in_review_a_change_of_a_link_waits_and_is_carried_out_when_accepted(
    ports: VaultPorts, wanted: LinkUpdate
) -> None:
    chained(ports)
    path = ports_root(ports) / "notes/First.md"
    before, then = path.read_bytes(), record(ports, "First", "Second")
    outcome = carry_out(ports, "Third", [wanted], review=True)
    assert len(outcome.proposed) == 1 and outcome.changed_links == ()
    assert (path.read_bytes(), record(ports, "First", "Second")) == (before, then)
    assert carry_out(ports, "Third", [wanted], review=True).proposed == ()
    (shown,) = review_items(ports)
    assert shown.link_before is not None and not shown.outdated
    decide(ports, accept)
    now = record(ports, "First", "Second")
    assert (now is None) == wanted.removed
    event = last(ports, "First", "evolve")
    assert event.review == "accepted"
    undo(ports, event.id)
    assert (path.read_bytes(), record(ports, "First", "Second")) == (before, then)


def test_what_a_person_turned_down_is_not_proposed_again_nor_done(ports: VaultPorts) -> None:
    chained(ports)
    then = record(ports, "First", "Second")
    carry_out(ports, "Third", [change(removed=True)], review=True)
    decide(ports, reject)
    assert carry_out(ports, "Third", [change(strength=0.1)], review=True).proposed == ()
    assert carry_out(ports, "Third", [change(removed=True)]).changed_links == ()
    assert record(ports, "First", "Second") == then


def test_a_proposal_about_a_link_that_is_gone_no_longer_fits(ports: VaultPorts) -> None:
    chained(ports)
    carry_out(ports, "Third", [change(removed=True)], review=True)
    path = ports_root(ports) / "notes/First.md"
    path.write_text(path.read_text().replace('links:\n  - "[[Second]]"\n', ""))
    synchronise(ports)
    (shown,) = review_items(ports)
    assert shown.outdated
    decide(ports, accept)


def test_links_of_others_to_a_note_stay_when_it_is_superseded(ports: VaultPorts) -> None:
    chained(ports)
    path = ports_root(ports) / "notes/First.md"
    before = path.read_bytes()
    link(
        ports,
        note_named(ports.index, "Third"),
        note_named(ports.index, "Second"),
        relation="supersedes",
    )
    carry_out(ports, "Third")
    assert path.read_bytes() == before and record(ports, "First", "Second") is not None


def test_a_renamed_target_changes_no_less(ports: VaultPorts) -> None:
    chained(ports)
    root = ports_root(ports)
    (root / "notes/Second.md").rename(root / "notes/Zwei.md")
    path = root / "notes/First.md"
    path.write_text(path.read_text().replace("[[Second]]", "[[Zwei]]"))
    outcome = carry_out(ports, "Third", [change(target="notes/Zwei.md", removed=True)])
    assert len(outcome.changed_links) == 1 and "[[Zwei]]" not in path.read_text()


def test_a_text_that_stands_twice_is_left_alone(ports: VaultPorts) -> None:
    chained(ports)
    path = ports_root(ports) / "notes/First.md"
    path.write_text(path.read_text().replace('  - "[[Second]]"\n', '  - "[[Second]]"\n' * 2))
    before = path.read_bytes()
    assert carry_out(ports, "Third", [change(removed=True)]).changed_links == ()
    assert path.read_bytes() == before


NEW_LINKED = {
    "wikilink": "[[Lamination of dough]]",
    "with other words": "[[Lamination of dough|why it tears]]",
    "embed": "![[Lamination of dough]]",
    "markdown link": "[why](<Lamination of dough.md>)",
}


def plain_old(ports: VaultPorts) -> Path:
    return ports_root(ports) / note_named(ports.index, "Lamination of dough").path


@pytest.mark.parametrize("form", NEW_LINKED)
@pytest.mark.parametrize("in_older", [False, True])
def test_a_pair_that_a_person_linked_is_neither_linked_nor_suggested(
    ports: VaultPorts, form: str, in_older: bool
) -> None:
    more = f" See {NEW_LINKED[form]}."
    if in_older:
        more = f" {NEW_LINKED[form].replace('Lamination of dough', 'Morning batch')}"
        synchronise(ports)
        said_by_person(plain_old(ports), OLD + more)
    path = add(ports, NewNote(NEW + ("" if in_older else more), title="Morning batch"))
    outcome = run(ports, "Morning batch")
    titles = [each.title for each in (*outcome.links, *outcome.suggested)]
    assert "Lamination of dough" not in titles
    assert "links:" not in (ports_root(ports) / path).read_text()
    assert suggestions(ports.index, path) == [] or all(
        "Lamination of dough" not in (each.source.title, each.target.title)
        for each in suggestions(ports.index, path)
    )


@pytest.mark.parametrize("review", [False, True])
@pytest.mark.parametrize("form", NEW_LINKED)
def test_a_link_goes_when_the_person_writes_it_too(
    ports: VaultPorts, form: str, review: bool
) -> None:
    path = linked(ports)
    said_by_person(path, f"{NEW} See {NEW_LINKED[form]}.")
    before = path.read_bytes()
    (changed,) = run(ports, "Morning batch", review=review).changed_links
    assert (changed.title, changed.after) == ("Lamination of dough", None)
    assert "links: []\n" in path.read_text() and NEW_LINKED[form] in path.read_text()
    # It was the machine's, so nobody said that the two do not belong together.
    assert ports.index.link_history.unlinked(note_named(ports.index, "Morning batch").path) == set()
    undo(ports, last(ports, "Morning batch", "link").id)
    assert path.read_bytes() == before


def test_a_link_goes_when_the_person_writes_it_in_the_other_note(ports: VaultPorts) -> None:
    path = linked(ports)
    said_by_person(plain_old(ports), f"{OLD} So in [[Morning batch]].")
    (changed,) = run(ports, "Lamination of dough").changed_links
    assert (changed.source, changed.after) == (note_named(ports.index, "Morning batch").path, None)
    assert "links: []\n" in path.read_text()
    # Nor is it made again, whichever note is read next.
    for title in ("Morning batch", "Lamination of dough"):
        assert run(ports, title).links == ()


def test_what_a_note_says_of_an_older_one_counts_where_a_person_linked_them(
    ports: VaultPorts,
) -> None:
    path = add(ports, NewNote(f"This replaces [[Lamination of dough]]. {NEW}", title="Cold butter"))
    outcome = run(ports, "Cold butter")
    assert outcome.links == ()
    assert [each.relation for each in outcome.confirmed] == ["supersedes"]
    assert [each.title for each in outcome.evolved] == ["Lamination of dough"]
    old = note_named(ports.index, "Lamination of dough").path

    def said() -> list[str]:
        return [each.relation for each in ports.index.link_history.superseded([old])]

    assert said() == ["supersedes"]
    # By the link alone, too.
    undo(ports, last(ports, "Lamination of dough", "evolve").id)
    assert said() == ["supersedes"]
    process = last(ports, "Cold butter", "process")
    undone = undo(ports, process.id)
    assert said() == []
    undo(ports, undone.again)
    assert said() == ["supersedes"]
    undo_since(ports, "1d")
    assert said() == []
    # A text that says something else takes the word back.
    synchronise(ports)
    said_by_person(ports_root(ports) / path, f"This replaces [[Lamination of dough]] again. {NEW}")
    run(ports, "Cold butter")
    assert said() == ["supersedes"]
    said_by_person(ports_root(ports) / path, f"See [[Lamination of dough]]. {NEW}")
    run(ports, "Cold butter")
    assert said() == []
