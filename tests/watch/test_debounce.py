"""Hinted paths are looked at once they are quiet, missing notes are gone only after a grace."""

from __future__ import annotations

from dataclasses import dataclass, field
from math import inf

from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, invariant, precondition, rule

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


PATHS = st.sampled_from(["a.md", "b.md", "d", "d/a.md", "d/e", "d/e/b.md"])
NOTES = ("a.md", "b.md", "d/a.md", "d/e/b.md")
SECONDS = st.one_of(
    st.sampled_from([0.0, 0.1, 0.2, 0.3, 1.0, 2.0, 5.0]), st.floats(0.0, 10.0, allow_nan=False)
)
QUIET, LONGEST, GRACE, RETRY = 0.2, 5.0, 2.0, 10.0


@dataclass
class Expected:
    """What must be looked at, told once more in the plainest way."""

    hints: dict[str, list[float]] = field(default_factory=dict)
    missing: dict[str, float] = field(default_factory=dict)
    doubted: float = inf

    def quiet_at(self, path: str) -> float:
        times = self.hints[path]
        return min(times[-1] + QUIET, min(times) + LONGEST)

    def next_at(self) -> float:
        quiet = [self.quiet_at(path) for path in self.hints]
        return min([*quiet, *(since + GRACE for since in self.missing.values()), self.doubted])

    def due(self, now: float) -> set[str]:
        return {path for path in self.hints if self.quiet_at(path) <= now}

    def overdue(self, now: float) -> set[str]:
        return {path for path, since in self.missing.items() if since + GRACE <= now}


class Watched(RuleBasedStateMachine):
    """A folder whose notes come and go, and a watcher that looks when it is told to."""

    def __init__(self) -> None:
        super().__init__()
        self.debouncer = Debouncer(quiet=QUIET, longest=LONGEST, grace=GRACE, retry=RETRY)
        self.expected = Expected()
        self.present = set(NOTES)
        self.known = set(NOTES)
        self.now = 100.0

    @rule(seconds=SECONDS)
    def time_passes(self, seconds: float) -> None:
        self.now += seconds

    @precondition(lambda self: self.debouncer.due_at() is not None)
    @rule()
    def time_passes_until_something_is_due(self) -> None:
        due = self.debouncer.due_at()
        assert due is not None
        self.now = max(self.now, due)

    @rule(path=PATHS)
    def something_happens(self, path: str) -> None:
        self.debouncer.hint(path, self.now)
        self.expected.hints.setdefault(path, []).append(self.now)

    @rule(note=st.sampled_from(NOTES), there=st.booleans())
    def a_note_comes_or_goes(self, note: str, there: bool) -> None:
        (self.present.add if there else self.present.discard)(note)
        self.something_happens(note)

    @rule()
    def hints_are_lost(self) -> None:
        self.debouncer.rescan(self.now)
        self.expected.doubted = min(self.expected.doubted, self.now)

    @rule(fails=st.booleans(), asks=st.booleans())
    def the_watcher_looks(self, fails: bool, asks: bool) -> None:
        look = self.debouncer.take(self.now)
        overdue = self.expected.overdue(self.now)
        everything = self.expected.doubted <= self.now
        due = set(self.expected.hints) if everything else self.expected.due(self.now)
        if look is None:
            assert not due and not overdue and not everything
            return
        assert look == Scan(None if everything else frozenset(due | overdue), frozenset(overdue))
        for path in due:
            del self.expected.hints[path]
        if everything:
            self.expected.doubted = inf
        self.expected.missing.update(dict.fromkeys(overdue, self.now))
        if fails:
            self._fail(look)
        else:
            self._look(look, asks)

    def _fail(self, look: Scan) -> None:
        self.debouncer.failed(look, self.now)
        if look.within is None:
            self.expected.doubted = self.now + RETRY
        for path in look.within or ():
            self.expected.hints.setdefault(path, [self.now + RETRY])

    def _look(self, look: Scan, asks: bool) -> None:
        if asks:
            self.debouncer.pin(look.gone)
            self.expected.missing.update(dict.fromkeys(look.gone, inf))
        seen = {note for note in self.known | self.present if _seen(look, note)}
        self.known |= seen & self.present
        if not asks:
            self.known -= look.gone - self.present
        missing = (seen & self.known) - self.present
        self.debouncer.scanned(look, missing, self.now)
        for note in seen - missing:
            self.expected.missing.pop(note, None)
        for note in missing:
            self.expected.missing.setdefault(note, self.now)

    @invariant()
    def it_is_told_when_the_next_look_is_due(self) -> None:
        due = self.debouncer.due_at()
        assert (inf if due is None else due) == self.expected.next_at()

    @invariant()
    def missing_notes_are_known(self) -> None:
        assert self.debouncer.missing == set(self.expected.missing)

    def teardown(self) -> None:
        """With nothing more happening all is looked at, and the index is as the folder is."""
        for _ in range(20):
            due = self.debouncer.due_at()
            if due is None:
                break
            self.now = max(self.now, due)
            self.the_watcher_looks(fails=False, asks=False)
        assert self.debouncer.due_at() is None
        assert self.known - self.debouncer.missing == self.present


def _seen(look: Scan, note: str) -> bool:
    return look.within is None or any(
        note == path or note.startswith(f"{path}/") for path in look.within
    )


TestWatched = Watched.TestCase
