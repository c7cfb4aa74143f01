"""A model that does well in the cases of `amem model test`, for it knows the answers."""

from __future__ import annotations

import json
import re
from collections.abc import Mapping
from typing import Any

from amem_cli.core.ports import ModelRequest
from amem_cli.core.trial_cases import TRIAL_CASES, LinkCase

CONTEXTS = {
    "Sourdough rises slower in winter": (
        "Sourdough dough rises slower in a cold kitchen, and an oven with its lamp on helps.",
        ["winter dough", "oven lamp"],
    ),
    "Backups that nobody had tried": (
        "The nightly database dump was empty, so a restore is now tried every Sunday.",
        ["database dump", "restore"],
    ),
    "Der Keller ist nach dem Regen wieder feucht": (
        "Nach dem Regen ist der Keller feucht, weil das Fallrohr voller Laub ist.",
        ["Fallrohr", "Dachrinne"],
    ),
    "Talking to the landlord about the heating": (
        "Mrs. Okafor pays half of the new heat pump if we stay three more years.",
        ["heat pump", "Brandt and Sons"],
    ),
}
CHANGES = {
    "Ferry to Gozo no longer takes cash": (
        "Both are about paying for the Gozo ferry, which takes no coins any more.",
        "The Gozo ferry was paid in coins on the pier, and takes cards or the app since May.",
    ),
    "Dentist moved the check-up to June": (
        "Both are about the check-up with Dr. Amin, which moved to 12 June.",
        "The dental check-up with Dr. Amin moved from 4 May to 12 June at eight.",
    ),
    "Lea sleeps through since the lamp is gone": (
        "Both are about why Lea wakes at night; without the night lamp she sleeps.",
        "Lea woke at three each night because of the night lamp, and sleeps without it.",
    ),
}
LINKS = {
    "Why the bean seedlings fell over": "Both say that bean seedlings without light fall over.",
    "Rye bread keeps a week in linen": "Both say that the sour in bread keeps mould away.",
}


def good_answer(request: ModelRequest) -> str:
    """The right answer to a question of the trial."""
    return good_answer_to(request.text, request.schema)


def good_answer_to(text: str, schema: Mapping[str, Any]) -> str:
    """The same, where only text and schema are known."""
    properties = schema["properties"]
    answer: dict[str, Any] = {}
    if "links" not in properties:
        title = next(title for title in CONTEXTS if f"Title: {title}" in text)
        context, keywords = CONTEXTS[title]
        whole = {"context": context, "phrases": ["k1"], "keywords": keywords, "tags": []}
        answer = {"new_tags": ["home"]} | whole
        return json.dumps({name: answer[name] for name in properties})
    case = next(
        case
        for case in TRIAL_CASES
        if isinstance(case, LinkCase) and f"New note: {case.title}" in text
    )
    answer = {"links": [], "changes": []}
    for place in case.related:
        name = _name_of(text, case.older[place].title)
        reason, context = CHANGES.get(case.title, (LINKS.get(case.title, ""), ""))
        answer["links"] = [{"note": name, "reason": reason, "relation": "related", "strength": 0.9}]
        if context:
            answer["changes"] = [
                {
                    "note": name,
                    "why": reason,
                    "context": context,
                    "keywords": [],
                    "tags": [],
                    "drop": [],
                }
            ]
    return json.dumps({name: answer[name] for name in properties})


def _name_of(text: str, title: str) -> str:
    found = re.search(rf"^(n\d+) {re.escape(title)}", text, re.MULTILINE)
    assert found is not None
    return found[1]
