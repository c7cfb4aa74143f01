"""A model that does well in the cases of `amem model test`, for it knows the answers."""

from __future__ import annotations

import json
import re
from collections.abc import Mapping
from typing import Any

from amem_cli.memory.trial import trial_cases
from amem_cli.models.ports import ModelRequest

CONTEXTS = {
    "Ferry to Gozo no longer takes cash": (
        "The ferry to Gozo takes cards or the app and no cash since May.",
        ["Gozo ferry", "purse of coins"],
    ),
    "Backups that nobody had tried": (
        "The nightly database dump was empty, so a restore is now tried every Sunday.",
        ["database dump", "restore"],
    ),
    "Chor probt jetzt donnerstags": (
        "Der Chor probt ab September donnerstags um acht im Gemeindehaus.",
        ["Chor", "Gemeindehaus"],
    ),
    "Running shoes wear out on the left": (
        "The left running shoe is worn on the outside, as the left foot tips outwards.",
        ["running shoe", "left foot"],
    ),
    "Why the bean seedlings fell over": (
        "Bean seedlings from the dark shelf grew long and pale and fell over for want of light.",
        ["bean seedlings", "light"],
    ),
    "Der Keller ist nach dem Regen wieder feucht": (
        "Nach dem Regen ist der Keller feucht, weil das Fallrohr voller Laub ist.",
        ["Fallrohr", "Dachrinne"],
    ),
    "Dentist moved the check-up to June": (
        "The check-up with Dr. Amin is on 12 June at eight and not on 4 May.",
        ["check-up", "Dr. Amin"],
    ),
    "Rye bread keeps a week in linen": (
        "Rye bread in a linen bag keeps for seven days without mould.",
        ["rye loaf", "linen bag"],
    ),
    "Das zweite Bienenvolk hat keine Königin mehr": (
        "Das zweite Volk ist weisellos und bekommt eine Wabe mit Eiern aus der ersten Beute.",
        ["weisellos", "Königin"],
    ),
}
CHANGES = {
    "Bring coins for the Gozo ferry": (
        "Both are about paying for the Gozo ferry, which takes no coins any more.",
        "The Gozo ferry was paid in coins on the pier, and takes cards or the app since May.",
    ),
    "Chorprobe dienstags um sieben": (
        "Beide handeln davon, wann der Chor probt: nun donnerstags statt dienstags.",
        "Der Chor probte dienstags in der Aula, ab September donnerstags im Gemeindehaus.",
    ),
    "Check-up with Dr. Amin on 4 May": (
        "Both are about the check-up with Dr. Amin, which moved to 12 June.",
        "The dental check-up with Dr. Amin moved from 4 May to 12 June at eight.",
    ),
}
REASONS = {
    "A backup is only what was restored once": "Both say that a backup must be restored once.",
    "The dump script hides errors of its pipe": "Both tell that the dump script hides its errors.",
    "Seedlings need fourteen hours of light": "Both say that bean seedlings without light fall.",
    "Das Fallrohr im Herbst reinigen": "Beide sagen, dass Laub das Fallrohr verstopft.",
    "Sourdough bread does not go mouldy": "Both say that the sour in bread keeps mould away.",
    "Bread in a plastic bag is mouldy by Wednesday": "Both tell how long bread keeps from mould.",
    "Woran man ein weiselloses Volk erkennt": "Beide handeln vom weisellosen Volk ohne Brut.",
    "Aus Eiern wird in sechzehn Tagen eine Königin": "Aus Eiern ziehen die Bienen eine Königin.",
}


def good_answer(request: ModelRequest) -> str:
    """The right answer to a question of the trial."""
    return good_answer_to(request.text, request.schema)


def good_answer_to(text: str, schema: Mapping[str, Any]) -> str:
    """The same, where only text and schema are known."""
    properties = schema["properties"]
    found = re.search(r"^(?:New note|Title): (.+)$", text, re.MULTILINE)
    assert found is not None
    case = next(each for each in trial_cases() if found[1].startswith(each.title))
    context, keywords = CONTEXTS[case.title]
    links: list[dict[str, Any]] = []
    changes: list[dict[str, Any]] = []
    for title in (case.older[place].title for place in sorted(case.related)):
        reason, summary = CHANGES.get(title) or (REASONS[title], "")
        name = _name_of(text, title) if "links" in properties else ""
        links.append({"note": name, "reason": reason, "relation": "related", "strength": 0.9})
        if summary:
            nothing: dict[str, Any] = {"keywords": [], "tags": [], "drop": []}
            changes.append({"note": name, "why": reason, "context": summary} | nothing)
    answer = {
        "context": context,
        "keywords": keywords,
        "tags": ["home"],
        "links": links,
        "changes": changes,
    }
    return json.dumps({name: answer[name] for name in properties})


def _name_of(text: str, title: str) -> str:
    found = re.search(rf"^(n\d+) {re.escape(title)}", text, re.MULTILINE)
    assert found is not None
    return found[1]
