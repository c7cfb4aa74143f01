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
    "The solar roof gave nothing for weeks": (
        "The solar roof fed in nothing since the storm had tripped the fuse of the inverter.",
        ["solar roof", "inverter"],
    ),
    "Judo jetzt donnerstags": (
        "Das Judotraining ist ab September donnerstags um acht in der Turnhalle am Kanal.",
        ["Judotraining", "Turnhalle"],
    ),
    "Running shoes wear out on the left": (
        "The left running shoe is worn on the outside, as the left foot tips outwards.",
        ["running shoe", "left foot"],
    ),
    "Why the pepper seedlings fell over": (
        "Pepper seedlings from the dark shelf grew long and pale and fell over for want of light.",
        ["pepper seedlings", "light"],
    ),
    "Der Keller ist nach dem Regen wieder feucht": (
        "Nach dem Regen ist der Keller feucht, weil das Fallrohr voller Laub ist.",
        ["Fallrohr", "Dachrinne"],
    ),
    "Eye test moved to June": (
        "As the practice is rebuilt in May, the eye test with Dr. Amin takes place on 12 June.",
        ["eye test", "Dr. Amin"],
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
# The same notes in parts of their own words, as a model is asked that is not able to judge.
PARTS = {
    "Ferry to Gozo no longer takes cash": (
        "The Gozo ferry sent us back; they take cards or the app; machine for coins is gone."
    ),
    "Judo jetzt donnerstags": (
        "Das Judotraining donnerstags um acht; Turnhalle am Kanal; Frau Yilmaz hat den Schlüssel."
    ),
    "The solar roof gave nothing for weeks": (
        "The solar roof had fed in nothing since February; read the meter every Sunday."
    ),
    "Running shoes wear out on the left": (
        "The left shoe is worn; the shop filmed me running; the left foot tips outwards."
    ),
}
CHANGES = {
    "Bring coins for the Gozo ferry": (
        "Both are about paying for the Gozo ferry, which takes no coins any more.",
        "The Gozo ferry was paid in coins on the pier, and takes cards or the app since May.",
    ),
    "Judotraining dienstags um sieben": (
        "Beide handeln davon, wann das Judotraining ist: nun donnerstags statt dienstags.",
        "Das Judotraining war dienstags in der Schule, ab September donnerstags am Kanal.",
    ),
    "Eye test with Dr. Amin on 4 May": (
        "Both are about the eye test with Dr. Amin, which moved to 12 June.",
        "The eye test with Dr. Amin moved from 4 May to 12 June at eight.",
    ),
}
REASONS = {
    "Only a solar roof whose meter is read can be relied on": (
        "Both say that the meter of a solar roof must be read."
    ),
    "The inverter shows green without its fuse": (
        "Both tell that the inverter shows green though its fuse has tripped."
    ),
    "Seedlings need fourteen hours of light": "Both say that pepper seedlings without light fall.",
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
    if list(properties) == ["context"]:
        context = PARTS.get(case.title, context)
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
