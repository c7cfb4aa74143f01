"""What of a run is scored: rows of numbers a note, a pair or a question, ready to be drawn."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np
from memory_gold import Case, GoldVault
from memory_scores import label_f1, matches, paired
from memory_vault import MadeVault, OpenVault, Step

from amem_cli.models.ports import Encoder

Rows = list[list[float]]
DEPTHS = (5, 10)


def link_units(gold: GoldVault, made: MadeVault) -> dict[str, Rows]:
    """`pairs`, a row a later note: hits, predicted, wanted, strong hits, strong wanted, relation
    right, hits written or suggested, suggested; `negatives`, a row a pair; `orphans`, a row a
    note."""
    said = {paired(*ends): relation for ends, relation in made.links.items()}
    wanted = {paired(link.source, link.target): link for link in gold.links}
    later = {paired(link.source, link.target): link.source for link in gold.links}
    later |= {paired(*ends): ends[0] for ends in made.links}
    suggested = {paired(*ends): ends[0] for ends in made.suggested}
    pairs: Rows = []
    for note in gold.notes:
        own = {ends for ends in said if later[ends] == note}
        due = {ends: link for ends, link in wanted.items() if later[ends] == note}
        strong = {ends for ends, link in due.items() if link.strong}
        right = [ends for ends in own & set(due) if said[ends] == due[ends].relation]
        weaker = {ends for ends, source in suggested.items() if source == note} - set(said)
        counts = len(own & set(due)), len(own), len(due), len(own & strong), len(strong)
        offered = len((own | weaker) & set(due)), len(weaker)
        pairs.append([*counts, len(right), *offered])
    negatives = [[paired(*ends) in said] for ends in gold.negatives]
    linked = {end for ends in said for end in ends}
    return {
        "pairs": pairs,
        "negatives": negatives,
        "orphans": [[note not in linked] for note in gold.notes],
    }


def metadata_units(gold: GoldVault, made: MadeVault, encoder: Encoder) -> dict[str, Rows]:
    """`labels`, a row a note as it was when the process had seen it: F1 of keywords exact and
    soft, of tags exact and soft, cosine of context and of title to the gold context, then keywords
    found and said, tags found and said."""
    rows: Rows = []
    for step in made.steps:
        note, said = gold.notes[step.note], step.outcome.metadata
        vectors = encoder.encode([note.context, note.title, said.context or note.title])
        alike = [float(each @ vectors[0]) for each in vectors]
        rows.append(
            [
                label_f1(said.keywords, note.keywords),
                label_f1(said.keywords, note.keywords, soft=True),
                label_f1(said.tags, note.tags),
                label_f1(said.tags, note.tags, soft=True),
                alike[2] if said.context else 0.0,
                alike[1],
                *(matches(said.keywords, note.keywords), len(said.keywords)),
                *(matches(said.tags, note.tags), len(said.tags)),
            ]
        )
    return {"labels": rows}


def evolution_units(gold: GoldVault, made: MadeVault, encoder: Encoder) -> dict[str, Rows]:
    """`pairs`, a row a trigger: hits, predicted, wanted; `kept`, a row a case without change;
    `fields`, a row a case: of tags to add, tags to drop, keywords to add those found and those
    wanted, keywords found softly, cosine of the context to the gold one before and after."""
    pairs: Rows = []
    for step in made.steps:
        due = {c.target for c in gold.cases if c.trigger == step.note and not c.no_change}
        said = set(step.changed)
        pairs.append([len(said & due), len(said), len(due)])
    kept: Rows = []
    fields: Rows = []
    by_note = {step.note: step for step in made.steps}
    for case in gold.cases:
        step = by_note[case.trigger]
        if case.no_change:
            kept.append([case.target not in step.changed])
        else:
            fields.append(_field_row(case, step, encoder))
    return {"pairs": pairs, "kept": kept, "fields": fields}


def _field_row(case: Case, step: Step, encoder: Encoder) -> list[float]:
    changes = step.changed.get(case.target, {})
    tags = _added_and_dropped(changes, "tags")
    keywords = _added_and_dropped(changes, "keywords")
    before, after = step.contexts[case.target]
    gold = encoder.encode([case.context_after])[0]
    cosines = [float(encoder.encode([text])[0] @ gold) if text else 0.0 for text in (before, after)]
    return [
        *(matches(tags[0], case.tags_add), len(case.tags_add)),
        *(matches(tags[1], case.tags_drop), len(case.tags_drop)),
        *(matches(keywords[0], case.keywords_add), len(case.keywords_add)),
        matches(keywords[0], case.keywords_add, soft=True),
        *cosines,
        "context" in changes,
    ]


def _added_and_dropped(
    changes: Mapping[str, tuple[Any, Any]], name: str
) -> tuple[list[str], list[str]]:
    before, after = changes.get(name, ((), ()))
    old, new = list(before or ()), list(after or ())
    return [each for each in new if each not in old], [each for each in old if each not in new]


def question_rows(gold: GoldVault, vault: OpenVault) -> Rows:
    """A row a question: share of its notes found at 5, at 10, and among 5 hits with the
    neighbours that the product shows below them."""
    rows: Rows = []
    for query, wanted in gold.questions:
        ten = vault.found(query, max(DEPTHS), neighbors=False)
        both = vault.found(query, min(DEPTHS), neighbors=True)
        # A current note may come in beside the ten.
        found = (ten[:5], ten[: max(DEPTHS)], both)
        rows.append([len(set(wanted) & set(each)) / len(wanted) for each in found])
    return rows


def cost_units(steps: tuple[Step, ...]) -> dict[str, Rows]:
    """`notes`, a row a note: calls, tokens read, tokens written, seconds of the model, seconds in
    all, answers that the analyzer replaced, answers of the asked form, calls beyond the first."""
    rows: Rows = []
    for step in steps:
        use = step.outcome.use
        told = use.calls, use.prompt_tokens, use.answer_tokens, use.seconds, step.seconds
        replaced = sum(
            problem.endswith((" wrote it instead", " left empty"))
            for problem in step.outcome.problems
        )
        valid = sum(each.said is not None for each in step.exchanges)
        rows.append([*told, replaced, valid, max(0, len(step.exchanges) - 1)])
    return {"notes": rows}


def beside(*parts: Rows) -> Rows:
    """Rows of the same units, put beside one another."""
    return [list(np.concatenate(each)) for each in zip(*parts, strict=True)] if parts else []
