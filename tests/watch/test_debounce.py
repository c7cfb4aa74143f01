"""Hinted paths are looked at once they are quiet, missing notes are gone only after a grace."""

from __future__ import annotations

from amem_cli.watch.loop import MANY, Debouncer, Scan


def new_debouncer() -> Debouncer:
    return Debouncer(quiet=0.2, longest=5.0, grace=2.0, retry=10.0)


def test_a_path_is_looked_at_when_nothing_happened_there_for_a_moment() -> None:
    debouncer = new_debouncer()
    debouncer.hint("a.md", 10.0)
    debouncer.hint("a.md", 10.1)

    assert debouncer.due_at() == 10.1 + 0.2
    assert debouncer.take(10.25) is None
    assert debouncer.take(10.3) == Scan(frozenset({"a.md"}))
    assert debouncer.take(20.0) is None
    assert debouncer.due_at() is None


def test_a_path_that_never_rests_is_looked_at_all_the_same() -> None:
    debouncer = new_debouncer()
    looks = []
    for step in range(200):
        debouncer.hint("a.md", step / 10)
        if debouncer.take(step / 10) is not None:
            looks.append(step / 10)

    assert looks == [5.0, 10.1, 15.2]


def test_beyond_many_paths_there_is_one_look_at_everything() -> None:
    debouncer = new_debouncer()
    for number in range(MANY):
        debouncer.hint(f"{number}.md", 0.0)
    look = debouncer.take(1.0)
    assert look is not None and look.within is not None and len(look.within) == MANY

    for number in range(MANY + 1):
        debouncer.hint(f"{number}.md", 2.0)
    assert debouncer.take(3.0) == Scan(None)


def test_beyond_many_gone_notes_there_is_one_look_at_everything() -> None:
    debouncer = new_debouncer()
    gone = {f"{number}.md" for number in range(MANY + 1)}
    debouncer.scanned(Scan(None), gone, 0.0)

    assert debouncer.take(2.0) == Scan(None, frozenset(gone))


def test_a_look_at_the_vault_s_own_folder_covers_every_note() -> None:
    debouncer = new_debouncer()
    debouncer.scanned(Scan(None), {"ab/c.md"}, 0.0)
    debouncer.scanned(Scan(frozenset({""})), set(), 1.0)

    assert debouncer.missing == frozenset()


def test_held_notes_make_no_work_until_something_happens_there() -> None:
    debouncer = new_debouncer()
    debouncer.scanned(Scan(None), {"a.md", "b.md"}, 0.0)
    debouncer.pin({"a.md", "b.md"})
    debouncer.scanned(Scan(None), {"a.md", "b.md"}, 1.0)

    assert debouncer.due_at() is None
    assert debouncer.due_at() is None
    assert debouncer.take(1000.0) is None
    assert debouncer.missing == {"a.md", "b.md"}

    debouncer.hint("a.md", 1000.0)
    look = debouncer.take(1001.0)
    assert look == Scan(frozenset({"a.md"}))
    debouncer.scanned(look, set(), 1001.0)
    assert debouncer.missing == {"b.md"}


def test_a_look_that_failed_is_repeated() -> None:
    debouncer = new_debouncer()
    debouncer.failed(Scan(frozenset({"a.md"})), 0.0)
    assert (debouncer.take(9.0), debouncer.take(10.3)) == (None, Scan(frozenset({"a.md"})))
    debouncer.failed(Scan(None), 20.0)
    assert (debouncer.take(29.0), debouncer.take(30.0)) == (None, Scan(None))


def test_a_missing_note_is_gone_after_a_grace_and_not_if_it_comes_back() -> None:
    debouncer = new_debouncer()
    debouncer.scanned(Scan(None), {"a.md", "d/b.md"}, 0.0)
    assert debouncer.take(1.9) is None
    debouncer.scanned(Scan(frozenset({"d"})), set(), 1.9)
    both = frozenset({"a.md"})
    assert debouncer.take(2.0) == Scan(both, both)
