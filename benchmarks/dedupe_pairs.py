"""Pairs of notes that are duplicates, and pairs that only look like it, made from real notes.

Duplicates are what becomes of a note that somebody keeps twice: other words, mistakes in typing,
sentences that went, came or changed places, a heading above, the rest cut off. Look-alikes are the
gold vaults' pairs that share words and no matter, their related notes, the nearest other notes of
each note, and a note with other numbers in it, as the next invoice or the next week's minutes have.
"""

from __future__ import annotations

import json
import random
import re
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

GOLD = ("cafe", "engineer", "photographer")
# How many notes of each real vault are taken.
VAULTS = (("foam", 90), ("jzhao", 400), ("oldwinter_zh", 400))
SHORTEST = 80
LONGEST = 6000
_SENTENCE = re.compile(r"(?<=[.!?。！？])\s+|\n+")
_LATIN = re.compile(r"[A-Za-zäöüß]+")
_SYNONYM_LIST = """
    but=though also=too because=since very=really big=large small=little start=begin use=employ
    good=fine show=reveal need=require think=believe make=create get=obtain many=lots_of
    often=frequently the=this is=was can=could people=folks and=as_well_as for=toward with=using
    we=I und=sowie aber=doch nicht=kaum auch=ebenso after=following before=ahead_of
    about=regarding help=aid work=labour new=fresh old=former first=initially only=just
    all=every every=each asks=wants says=tells then=afterwards
"""
_SYNONYMS = dict(pair.split("=") for pair in _SYNONYM_LIST.split())
_CHINESE = (
    ("的", "之"),
    ("是", "为"),
    ("可以", "能够"),
    ("但是", "不过"),
    ("因为", "由于"),
    ("很", "非常"),
    ("也", "亦"),
)


@dataclass(frozen=True)
class Text:
    """A note: where it is from, its title and its text."""

    source: str
    id: str
    title: str
    text: str


@dataclass(frozen=True)
class Pair:
    """Two notes, and why they are a pair."""

    kind: str
    is_duplicate: bool
    one: Text
    other: Text


def read_notes(data: Path) -> list[Text]:
    """The gold vaults' notes and some of the real vaults'."""
    notes = []
    for vault in GOLD:
        for row in _rows(data / "gold" / vault / "notes.jsonl"):
            notes.append(Text(vault, row["id"], row["title"], row["content"]))
    for vault, count in VAULTS:
        rows = _rows(data / "links" / vault / "notes.jsonl")
        random.Random(1).shuffle(rows)
        for row in rows[:count]:
            if row["text_unlinked"].strip():
                text = row["text_unlinked"][:LONGEST]
                notes.append(Text(vault, row["id"], row["title"], text))
    return notes


def _rows(file: Path) -> list[dict[str, str]]:
    with file.open(encoding="utf-8") as lines:
        return [json.loads(line) for line in lines]


def made_pairs(notes: list[Text], data: Path) -> list[Pair]:
    """Duplicates by edits, and look-alikes but for the nearest notes."""
    chance = random.Random(7)
    pairs = []
    pool = [note for note in notes if len(note.text) >= SHORTEST]
    for note in pool:
        for kind in chance.sample(list(EDITS), 2):
            guest = chance.choice(pool)
            text = EDITS[kind](note.text, chance, guest.text)
            title = note.title if chance.random() < 0.5 else "Copy of it"
            pairs.append(Pair(kind, True, note, Text(note.source, note.id, title, text)))
        if len(re.findall(r"\d+", note.text)) >= 2 and len(note.text) < 1500:
            text = _other_numbers(note.text, chance)
            other = Text(note.source, note.id, note.title, text)
            pairs.append(Pair("other numbers", False, note, other))
    return pairs + _gold_pairs(notes, data)


def _gold_pairs(notes: list[Text], data: Path) -> list[Pair]:
    pairs = []
    for vault in GOLD:
        by_id = {note.id: note for note in notes if note.source == vault}
        for file, kind in (("negatives", "look alike"), ("links", "related")):
            for row in _rows(data / "gold" / vault / f"{file}.jsonl"):
                one, other = by_id[row["source"]], by_id[row["target"]]
                pairs.append(Pair(kind, False, one, other))
    return pairs


def _sentences(text: str) -> list[str]:
    return [each for each in _SENTENCE.split(text) if each.strip()]


def _reworded(text: str, chance: random.Random, guest: str) -> str:
    def exchanged(match: re.Match[str]) -> str:
        wanted = _SYNONYMS.get(match[0].lower(), match[0]).replace("_", " ")
        return wanted if chance.random() < 0.8 else match[0]

    text = _LATIN.sub(exchanged, text)
    for one, other in _CHINESE:
        if chance.random() < 0.7:
            text = text.replace(one, other)
    sentences = []
    for sentence in _sentences(text):
        words = sentence.split(" ")
        if len(words) > 8 and chance.random() < 0.5:
            words = words[len(words) // 2 :] + words[: len(words) // 2]
        sentences.append(" ".join(words))
    return "\n".join(sentences)


def _mistyped(text: str, chance: random.Random, guest: str) -> str:
    words = text.split(" ")
    for at, word in enumerate(words):
        if len(word) > 3 and chance.random() < 0.12:
            place = chance.randrange(len(word) - 1)
            turned = word[place + 1] + word[place]
            words[at] = word[:place] + turned + word[place + 2 :]
    return " ".join(words)


def _shortened(text: str, chance: random.Random, guest: str) -> str:
    sentences = _sentences(text)
    for _ in range(max(1, len(sentences) // 4)):
        if len(sentences) > 1:
            sentences.pop(chance.randrange(len(sentences)))
    return "\n".join(sentences)


def _extended(text: str, chance: random.Random, guest: str) -> str:
    sentences = _sentences(text)
    more = _sentences(guest)[: max(1, len(sentences) // 3)]
    at = chance.randrange(len(sentences) + 1)
    return "\n".join(sentences[:at] + more + sentences[at:])


def _reordered(text: str, chance: random.Random, guest: str) -> str:
    sentences = _sentences(text)
    chance.shuffle(sentences)
    return "\n".join(sentences)


def _headed(text: str, chance: random.Random, guest: str) -> str:
    return f"# A thought of mine\n\n{text}"


def _cut_off(text: str, chance: random.Random, guest: str) -> str:
    return text[: max(60, len(text) // 2)]


def _other_numbers(text: str, chance: random.Random) -> str:
    return re.sub(r"\d+", lambda match: str(int(match[0][:6]) + chance.randrange(1, 9)), text)


EDITS: dict[str, Callable[[str, random.Random, str], str]] = {
    "other words": _reworded,
    "typing mistakes": _mistyped,
    "sentences removed": _shortened,
    "sentences added": _extended,
    "sentences reordered": _reordered,
    "a heading above": _headed,
    "cut off half-way": _cut_off,
}
