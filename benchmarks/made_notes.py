"""Notes for benchmarks: made-up ones, whose words are as frequent as in a language (Zipf), or a
copy of somebody's."""

from __future__ import annotations

import random
import shutil
from collections.abc import Iterator
from itertools import islice
from pathlib import Path

from amem_cli.language.lexicon import languages

VOCABULARY = 30_000
SYLLABLES = ("ka", "ro", "min", "tel", "sor", "va", "den", "li", "pra", "gu", "nos", "fe")
FOLDERS, TAGS = 20, 40


def sentences(dice: random.Random) -> Iterator[str]:
    """Sentences of 6 to 18 words, without end."""
    known = [each.words["everyday"] for each in languages() if each.code in ("en", "de")]
    words = sorted(frozenset[str]().union(*known))
    dice.shuffle(words)
    while len(words) < VOCABULARY:
        words.append("".join(dice.choices(SYLLABLES, k=dice.randint(2, 4))))
    weights = [1 / rank for rank in range(1, len(words) + 1)]
    while True:
        # Many at once: to draw one word costs as much as to draw a thousand.
        drawn = iter(dice.choices(words, weights, k=1000))
        for _ in range(40):
            yield f"{' '.join(islice(drawn, dice.randint(6, 18))).capitalize()}."


def write_notes(root: Path, count: int, sentences_each: int) -> None:
    """So many notes with dates, tags and links, half of them linked, in twenty folders."""
    dice = random.Random(0)
    said = sentences(dice)
    for number in range(count):
        folder = root / f"folder {number % FOLDERS}"
        folder.mkdir(parents=True, exist_ok=True)
        day = f"202{number % 6}-{1 + number % 12:02}-{1 + number % 28:02}"
        header = f"---\ncreated: {day}T10:{number % 60:02}:00\ntags:\n  - tag{number % TAGS}\n---\n"
        link = f" [[note {dice.randrange(count)}]]" if number % 2 else ""
        text = " ".join(islice(said, sentences_each))
        (folder / f"note {number}.md").write_text(f"{header}{text}{link}\n", encoding="utf-8")


def fill(root: Path, source: Path | None, count: int, sentences_each: int) -> None:
    """Copy the files of a vault but for what begins with a dot, or make so many notes."""
    if source is None:
        write_notes(root, count, sentences_each)
    else:
        shutil.copytree(source, root, symlinks=True, ignore=shutil.ignore_patterns(".*"))
