"""A scripted model that answers from the gold files, through the program's own requests.

What it loses is lost by the program: a note that was not shown, an answer without room, a check.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from memory_gold import Case, GoldLink, GoldVault
from memory_requests import ScriptedModel

STRENGTH = {True: 0.9, False: 0.4}


class PerfectModel(ScriptedModel):
    """An ideal model of a user's own choice.

    Args:
        vaults: those that it will be asked about.
    """

    name = "perfect"

    def __init__(self, vaults: Sequence[GoldVault]) -> None:
        self._vaults = vaults

    def part(self, name: str, schema: Mapping[str, Any], shown: Mapping[str, str]) -> Any:
        vault = next(each for each in self._vaults if self.note_id in each.notes)
        if name not in ("links", "changes", "standing"):
            return fitted(getattr(vault.notes[self.note_id], name), schema)
        item = schema["items"]["properties"]
        entries: list[dict[str, Any]] = []
        links = vault.links_of(self.note_id)
        order = sorted(shown, key=lambda label: not _is_strong(links.get(shown[label])))
        for label in order:
            link, case = links.get(shown[label]), vault.case(self.note_id, shown[label])
            values = None
            if name == "links" and link is not None:
                values = _link_values(label, link)
            if name == "changes" and case is not None:
                values = _case_values(label, case)
            if values is not None:
                entries.append({key: fitted(values[key], part) for key, part in item.items()})
        return entries[: schema["maxItems"]]


def _is_strong(link: GoldLink | None) -> bool:
    return link is not None and link.strong


def _link_values(label: str, link: GoldLink) -> dict[str, Any]:
    strength = STRENGTH[link.strong]
    return {"note": label, "reason": link.reason, "relation": link.relation, "strength": strength}


def _case_values(label: str, case: Case) -> dict[str, Any]:
    return {
        "note": label,
        "why": case.why,
        "context": case.context_after,
        "keywords": list(case.keywords_add),
        "tags": list(case.tags_add),
        "drop": list(case.tags_drop),
    }


def fitted(value: Any, schema: Mapping[str, Any]) -> Any:
    """A value with what the schema has no room for cut off."""
    if isinstance(value, (list, tuple)):
        # What is too short for the schema cannot be said by any model.
        fewest = schema["items"].get("minLength", 0)
        long_enough = [each for each in value if len(each) >= fewest]
        return [fitted(each, schema["items"]) for each in long_enough[: schema["maxItems"]]]
    most = schema.get("maxLength")
    if isinstance(value, str) and most is not None and len(value) > most:
        return value[: most - 1].rsplit(" ", 1)[0] + "."
    return value
