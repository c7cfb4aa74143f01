"""What the owner decided about links, by the journal."""

from __future__ import annotations

from dataclasses import replace
from itertools import count

import pytest

from amem_cli.journal.events import Change, Event, LinkRecord
from amem_cli.journal.link_decisions import link_decisions

JUDGE = "amem analyzer"


class Journal:
    """Events of one note, one after the other."""

    def __init__(self) -> None:
        self.events: list[Event] = []
        self._number = count(1)

    def __call__(self, kind: str, **values: object) -> Event:
        name = f"{next(self._number):04}"
        event = Event(name, "2030-01-01T00:00:00+00:00", kind, note="1", **values)  # type: ignore[arg-type]
        self.events.append(event)
        return event

    def made(self, *targets: str, strength: float = 0.4) -> Event:
        """The machine's links, after what is there already."""
        self("process", text_hash="first")
        records = tuple(record(target, strength) for target in targets)
        before: list[str] = []
        change = Change("links", before, [each.text for each in records])
        return self("link", model=JUDGE, links=records, changes=(change,))

    def taken_out(self, target: str, kind: str = "edit", **values: object) -> Event:
        change = Change("links", [f"[[{target}]]"], [])
        return self(kind, **{"by": "person", "changes": (change,), **values})

    def decided(self) -> dict[str, bool]:
        return link_decisions(self.events)


def record(target: str, strength: float = 0.4, **values: object) -> LinkRecord:
    fields = (target, f"{target}.md", f"[[{target}]]", "related", strength, "Both speak of bread.")
    return LinkRecord(*fields, **values)  # type: ignore[arg-type]


def test_a_link_that_nobody_looked_at_is_not_decided() -> None:
    journal = Journal()
    journal.made("a", "b")
    journal("process", text_hash="first")
    assert journal.decided() == {}


@pytest.mark.parametrize("kind", ["edit", "release", "undo"])
def test_of_two_links_the_one_that_is_taken_out_is_unwanted(kind: str) -> None:
    journal = Journal()
    journal.made("a", "b")
    journal.taken_out("a", kind)
    assert journal.decided() == {"a": False}


def test_what_was_taken_back_decides_nothing() -> None:
    journal = Journal()
    journal.made("a")
    removal = journal.taken_out("a")
    back = Change("links", [], ["[[a]]"])
    journal("undo", by="person", cause=removal.id, changes=(back,), links=(record("a"),))
    assert journal.decided() == {}


def test_a_change_of_a_link_that_is_turned_down_keeps_the_link() -> None:
    journal = Journal()
    journal.made("a")
    journal("reject", by="person", links_before=(record("a"),))
    assert journal.decided() == {"a": True}


def test_a_proposal_that_is_accepted_decides_as_it_says() -> None:
    journal = Journal()
    journal.made("a", "b")
    weighed = {"links": (record("b", 0.8),), "links_before": (record("b"),)}
    journal("evolve", review="accepted", **weighed)
    journal.taken_out("a", "evolve", by="machine", review="accepted", links_before=(record("a"),))
    assert journal.decided() == {"a": False, "b": True}


def test_a_link_that_went_with_its_target_is_not_decided() -> None:
    journal = Journal()
    journal.made("a")
    journal.taken_out("a", "link", by="machine")
    assert journal.decided() == {}


def test_a_link_that_follows_its_note_to_a_new_name_keeps_what_was_decided() -> None:
    journal = Journal()
    journal.made("a", "b")
    journal.taken_out("b")
    renamed = Change("links", ["[[a]]"], ["[[c]]"])
    journal("link", links=(replace(record("a"), text="[[c]]"),), changes=(renamed,))
    assert journal.decided() == {"b": False}


def test_another_link_of_the_persons_decides_nothing_about_the_machines() -> None:
    journal = Journal()
    journal.made("a")
    added = Change("links", ["[[a]]"], ["[[a]]", "[[c]]"])
    journal("edit", by="person", changes=(added,), links=(record("c", 1.0, by="person"),))
    assert journal.decided() == {"c": True}
