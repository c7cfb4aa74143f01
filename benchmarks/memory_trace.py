"""Where gold answers are lost: one verdict for each gold link, change and label."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterable, Sequence

from memory_gold import Case, GoldLink, GoldVault
from memory_requests import CONSTRUCTION, Exchange
from memory_scores import key_of, matches, paired
from memory_vault import MadeVault, Step

REPLACED = re.compile(r"^(\w+): (.*); .* wrote it instead$")
SHORTENED = re.compile(r"“[^”]*”|: .*$")

Lost = dict[str, "Counter[str]"]


def lost_by(gold: GoldVault, made: MadeVault, paths: dict[str, str]) -> Lost:
    """Verdicts by what they are about; what was not lost is `made`.

    Args:
        paths: path of each note by id, by which the checks name it.
    """
    steps = {step.note: step for step in made.steps}
    kept = {paired(*ends) for ends in made.links}
    told: Lost = {"strong links": Counter(), "weak links": Counter(), "changes": Counter()}
    for link in gold.links:
        name = "strong links" if link.strong else "weak links"
        verdict = _of_link(link, steps[link.source], kept, paths)
        told[name][verdict] += 1
    for case in gold.cases:
        step = steps[case.trigger]
        if case.no_change:
            continue
        told["changes"][_of_change(case, step, paths)] += 1
        for name, verdict in _parts_of_change(case, step):
            told.setdefault(name, Counter())[verdict] += 1
    for step in made.steps:
        for name, verdict in _labels(gold, step):
            told.setdefault(name, Counter())[verdict] += 1
    return told


def _of_link(link: GoldLink, step: Step, kept: set[tuple[str, str]], paths: dict[str, str]) -> str:
    target = link.target
    made = any(paths.get(target) == each.path for each in step.outcome.links)
    if paired(link.source, target) in kept:
        return "made"
    if made:
        return "made, and taken away later"
    if target not in step.near:
        return "not among the candidates"
    shown = [each for each in step.exchanges if target in each.shown.values()]
    if not shown:
        return "a candidate, not shown or linked"
    said = [each for each in shown if target in each.named("links")]
    if said:
        return f"said, refused: {_fault(step, 'links', paths[target])}"
    return _unsaid(shown, "links")


def _unsaid(shown: Sequence[Exchange], name: str) -> str:
    full = all(each.said is not None and len(each.named(name)) >= each.most.get(name, 0)
               for each in shown)  # fmt: skip
    if all(each.said is None for each in shown):
        return "shown, no valid answer"
    return "shown, no room in the answer" if full else "shown, not said"


def _of_change(case: Case, step: Step, paths: dict[str, str]) -> str:
    target, path = case.target, paths[case.target]
    if target in step.changed:
        return "made"
    if target not in step.near:
        return "not among the candidates"
    shown = [each for each in step.exchanges if target in each.shown.values()]
    if not shown:
        return "a candidate, not shown"
    said = [each for each in shown if target in each.named("changes")]
    if not said:
        return _unsaid(shown, "changes")
    if path not in {each.path for each in step.outcome.links}:
        return "said, but the link was not made"
    return f"said, refused: {_fault(step, 'changes', path)}"


def _parts_of_change(case: Case, step: Step) -> Iterable[tuple[str, str]]:
    changes = step.changed.get(case.target)
    if changes is None:
        return
    if "context" in changes:
        same = key_of(str(changes["context"][1])) == key_of(case.context)
        yield "context of a change", "made" if same else "another sentence"
    else:
        yield "context of a change", "refused or not said"
    for name, wanted in (("keywords", case.keywords_add), ("tags", case.tags_add)):
        before, after = changes.get(name, ((), ()))
        new = {key_of(each) for each in after or ()} - {key_of(each) for each in before or ()}
        for label in wanted:
            yield f"{name} of a change", "made" if key_of(label) in new else "refused or not said"
    dropped = {key_of(each) for name in ("keywords", "tags") for each in changes.get(name, [()])[0]}
    for name in ("keywords", "tags"):
        dropped -= {key_of(each) for each in changes.get(name, ((), ()))[1]}
    for label in case.tags_drop:
        yield "tags dropped", "made" if key_of(label) in dropped else "refused or not there"


def _labels(gold: GoldVault, step: Step) -> Iterable[tuple[str, str]]:
    note, holds = gold.notes[step.note], step.outcome.metadata
    asked = [each for each in step.exchanges if each.step == CONSTRUCTION]
    faults = _replaced(step.outcome.problems)
    same = key_of(holds.context) == key_of(note.context)
    yield "context", "made" if same else faults.get("context", "another sentence")
    for name, wanted, present in (
        ("keywords", note.keywords, holds.keywords),
        ("tags", note.tags, holds.tags),
    ):
        said = [label for each in asked for label in each.labels(name)]
        for label in wanted:
            yield name, _of_label(label, present, said, faults.get(name, ""))


def _of_label(label: str, present: Sequence[str], said: Sequence[str], fault: str) -> str:
    if matches(present, [label]):
        return "made"
    if fault:
        return f"all refused: {fault}"
    if matches(said, [label]):
        return "said, refused"
    soft = matches(present, [label], soft=True)
    return "in other words" if soft else "not said" if said else "not asked"


def _replaced(problems: Sequence[str]) -> dict[str, str]:
    found = (REPLACED.match(each) for each in problems)
    return {each.group(1): SHORTENED.sub("", each.group(2)) for each in found if each}


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
