"""Where gold answers are lost: one verdict for each gold link, change and label."""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence

from memory_gold import Case, GoldLink, GoldVault
from memory_requests import Exchange
from memory_scores import key_of, matches, paired
from memory_vault import FURTHER, MadeVault, OpenVault, Step

MADE = "made"
REPLACED = re.compile(r"^(\w+): (.*); (?:.* wrote it instead|it is left empty)$")
DETAIL = re.compile(r"^“[^”]*” is |: .*$")

# What it is about, the verdict, the case in a few words.
Verdict = tuple[str, str, str]
Lost = dict[str, dict[str, list[str]]]


def lost_by(gold: GoldVault, made: MadeVault, vault: OpenVault) -> Lost:
    """The cases by what they are about and by verdict; what was not lost is `made`."""
    told: Lost = {"strong links": {}, "weak links": {}, "changes": {}}
    for name, verdict, case in _Trace(gold, made, vault).verdicts():
        told.setdefault(name, {}).setdefault(verdict, []).append(case)
    return told


class _Trace:
    def __init__(self, gold: GoldVault, made: MadeVault, vault: OpenVault) -> None:
        self._gold = gold
        self._steps = {step.note: step for step in made.steps}
        self._kept = {paired(*ends) for ends in made.links}
        # The checks name a note by its path.
        self._paths = vault.path_of
        self._room = vault.workspace.settings.evolution_candidates

    def verdicts(self) -> Iterable[Verdict]:
        for link in self._gold.links:
            name = "strong links" if link.strong else "weak links"
            yield name, self._of_link(link), self._between(link.source, link.target)
        for case in self._gold.cases:
            if not case.no_change:
                between = self._between(case.trigger, case.target)
                yield "changes", self._of_change(case), between
                for name, verdict in _parts_of_change(case, self._steps[case.trigger]):
                    yield name, verdict, between
        for step in self._steps.values():
            yield from _labels(self._gold, step)

    def _between(self, later: str, older: str) -> str:
        notes = self._gold.notes
        return f"{later} {notes[later].title} -> {older} {notes[older].title}"

    def _of_link(self, link: GoldLink) -> str:
        step, path = self._steps[link.source], self._paths[link.target]
        if paired(link.source, link.target) in self._kept:
            return MADE
        if path in {each.path for each in step.outcome.links}:
            return "made, and taken away later"
        shown = _shown(step, link.target)
        if not shown:
            return self._unshown(step, link.target)
        if any(link.target in each.named("links") for each in shown):
            return f"said, refused: {_fault(step, 'links', path)}"
        return _unsaid(shown, "links")

    def _of_change(self, case: Case) -> str:
        step, path = self._steps[case.trigger], self._paths[case.target]
        if case.target in step.changed:
            return MADE
        shown = _shown(step, case.target)
        if not shown:
            return self._unshown(step, case.target)
        if not any(case.target in each.named("changes") for each in shown):
            return _unsaid(shown, "changes")
        if path not in {each.path for each in step.outcome.links}:
            return "said, but the link was not made"
        return f"said, refused: {_fault(step, 'changes', path)}"

    def _unshown(self, step: Step, target: str) -> str:
        asked = [each for each in step.exchanges if each.is_of_links]
        if target not in step.near:
            further = "though" if target in step.further else "nor"
            return f"not among the candidates, {further} among {FURTHER} times as many"
        if not asked:
            return "a candidate, too weak to link or to ask about"
        if max(len(each.shown) for each in asked) >= self._room:
            return "a candidate, no room among those shown"
        return "a candidate, too weak to be shown"


def _shown(step: Step, target: str) -> list[Exchange]:
    return [each for each in step.exchanges if target in each.shown.values()]


def _unsaid(shown: Sequence[Exchange], name: str) -> str:
    if all(each.said is None for each in shown):
        return "shown, no valid answer"
    if all(name not in each.most for each in shown):
        return "shown, not asked for"
    full = all(len(each.named(name)) >= each.most.get(name, 0) for each in shown)
    return "shown, no room in the answer" if full else "shown, not said"


def _parts_of_change(case: Case, step: Step) -> Iterable[tuple[str, str]]:
    changes = step.changed.get(case.target)
    if changes is None:
        return
    context = changes.get("context")
    same = context is not None and key_of(str(context[1])) == key_of(case.context)
    verdict = MADE if same else "refused or not said" if context is None else "another sentence"
    yield "context of a change", verdict
    gone: set[str] = set()
    for name, wanted in (("keywords", case.keywords_add), ("tags", case.tags_add)):
        before, after = changes.get(name, ((), ()))
        old, new = set(map(key_of, before or ())), set(map(key_of, after or ()))
        gone |= old - new
        for label in wanted:
            verdict = MADE if key_of(label) in new - old else "refused or not said"
            yield f"{name} of a change", verdict
    for label in case.tags_drop:
        yield "tags dropped", MADE if key_of(label) in gone else "refused or not there"


def _labels(gold: GoldVault, step: Step) -> Iterable[Verdict]:
    note, holds = gold.notes[step.note], step.outcome.metadata
    asked = [each for each in step.exchanges if each.is_of_labels]
    faults = _replaced(step.outcome.problems)
    same = key_of(holds.context) == key_of(note.context)
    verdict = MADE if same else faults.get("context", "another sentence")
    yield "context", verdict, f"{note.title}: {note.context}"
    for name, wanted, present in (
        ("keywords", note.keywords, holds.keywords),
        ("tags", note.tags, holds.tags),
    ):
        said = [label for each in asked for label in each.labels(name)]
        for label in wanted:
            verdict = _of_label(label, present, said, faults.get(name, ""))
            yield name, verdict, f"{label} ({note.title})"


def _of_label(label: str, present: Sequence[str], said: Sequence[str], fault: str) -> str:
    if matches(present, [label]):
        return MADE
    if matches(said, [label]):
        return f"said, refused; none was left: {fault}" if fault else "said, refused"
    if matches(present, [label], soft=True):
        return "in other words"
    return "not said" if said else "not asked for"


def _replaced(problems: Sequence[str]) -> dict[str, str]:
    found = (REPLACED.match(each) for each in problems)
    return {each.group(1): DETAIL.sub("", each.group(2)) for each in found if each}


def _fault(step: Step, name: str, path: str) -> str:
    own = [each for each in step.outcome.problems if each.startswith(name)]
    about = [each for each in own if path in each]
    general = [each for each in own if ".md" not in each]
    told = about or general[:1] or ["nothing was told"]
    faults = (each.removeprefix(f"{name}: ").replace(path, "it") for each in told)
    return "; ".join(dict.fromkeys(map(_plain, faults)))


def _plain(fault: str) -> str:
    text = re.sub(r"(names what the note does not): .*", r"\1", fault.removeprefix("it: "))
    return re.sub(r"“[^”]*” is", "a label is", text)
