"""Checks form and references of the people's notes: python training/check.py [NAME …]."""

from __future__ import annotations

import json
import re
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

TOP = Path(__file__).parent
_ID = re.compile(r"\d{14}")


def names_in(file: str) -> set[str]:
    """The names that a vocabulary lists, one a line before ` | `."""
    lines = (TOP / file).read_text(encoding="utf-8").splitlines()
    return {line.split(" | ")[0] for line in lines if line and not line.startswith("#")}


def rows(file: Path) -> list[dict[str, Any]]:
    """The objects of a file with one a line; none if the file is missing."""
    if not file.exists():
        return []
    return [json.loads(line) for line in file.read_text(encoding="utf-8").splitlines() if line]


def faults(folder: Path) -> Iterator[str]:
    """What is wrong with the files of one person."""
    notes = rows(folder / "notes.jsonl")
    ids = [note["id"] for note in notes]
    if len(set(ids)) < len(ids) or ids != sorted(ids):
        yield "the notes are not in the order of time, or two share an id"
    subjects, kinds = names_in("subjects.txt"), names_in("kinds.txt")
    for note in notes:
        yield from (f"{note['id']}: {fault}" for fault in _faults_of(note, subjects, kinds))
    linked = {(row["source"], row["target"]) for row in rows(folder / "links.jsonl")}
    unlike = {(row["source"], row["target"]) for row in rows(folder / "negatives.jsonl")}
    changes = {(row["trigger"], row["target"]) for row in rows(folder / "evolution.jsonl")}
    for later, earlier in linked | changes:
        if later <= earlier:
            yield f"{later} does not follow {earlier}"
    for pair in unlike & (linked | {(target, source) for source, target in linked}):
        yield f"{pair} is both related and not"
    files = ("questions.jsonl", "more_questions.jsonl", "hard_questions.jsonl")
    gold = {each for file in files for row in rows(folder / file) for each in row["gold"]}
    for missing in {each for pair in linked | unlike | changes for each in pair} | gold:
        if missing not in ids:
            yield f"there is no note {missing}"


def _faults_of(note: dict[str, Any], subjects: set[str], kinds: set[str]) -> Iterator[str]:
    if not _ID.fullmatch(note["id"]) or re.sub(r"[-:T]", "", note["created"]) != note["id"]:
        yield "the id is not the time of creation"
    # Only the people whom the analyzer learns from have them.
    for field, most, known in (("subjects", 3, subjects), ("kinds", 2, kinds)):
        named = note.get(field)
        if named is not None and not (1 <= len(named) <= most and set(named) <= known):
            yield f"{field} {named}"
    for field, least, most in (("keywords", 3, 7), ("tags", 1, 4)):
        if not least <= len(note[field]) <= most:
            yield f"{len(note[field])} {field}"
    # Chinese has no blanks between words.
    spaced = all(ord(letter) < 0x3000 for letter in note["context"])
    if spaced and not 8 <= len(note["context"].split()) <= 34:
        yield "the context is too short or too long"


def main() -> int:
    folders = sorted(each for each in (TOP / "people").iterdir() if each.is_dir())
    named = [each for each in folders if not sys.argv[1:] or each.name in sys.argv[1:]]
    found = [f"{folder.name}: {fault}" for folder in named for fault in faults(folder)]
    print("\n".join(found) or f"{len(named)} people: all right")
    return bool(found)


if __name__ == "__main__":
    raise SystemExit(main())
