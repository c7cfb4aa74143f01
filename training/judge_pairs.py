"""Writes what the judge of links is trained on: tokens of notes, pairs of them and the base model.

    python training/judge_pairs.py OUT --gold DATA/gold [--gardens DATA/links]

Reads those people of this folder who have links, and more of the same form. A pair is a newer and
an older note of a person; those to learn from are every link, every look-alike, the 12 older notes
that are nearest in meaning and 5 others. All pairs of a person are kept to be scored. OUT gets
`pairs.npz` and the base model's weights, its embedding cut to the tokens that occur, in parts of at
most 45 MB. Tokens are llama.cpp's own.
"""

from __future__ import annotations

import argparse
import json
import random
import tempfile
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import llama_cpp
import numpy as np
from gguf import GGUFReader

from amem_cli.models.judge import ANSWERS, WORDS, note_head
from amem_cli.models.llama_cpp import bundled_model
from amem_cli.models.ports import NoteText
from amem_cli.workspace.workspace import Workspace

TOP = Path(__file__).parent
NEAREST, OTHERS = 12, 5
MOST_TOKENS = 1_000
PART_BYTES = 45_000_000
GARDEN_NOTES = 600


@dataclass
class Notes:
    """Notes of all people as tokens, a row each; and their pairs, by the rows' numbers."""

    tokenizer: Any
    encoder: Any
    heads: list[list[int]] = field(default_factory=list)
    bodies: list[list[int]] = field(default_factory=list)
    person: list[str] = field(default_factory=list)
    ids: list[str] = field(default_factory=list)
    pairs: list[tuple[int, int, int, bool, bool, float]] = field(default_factory=list)

    def tokens(self, text: str) -> list[int]:
        """Of a text, without a beginning."""
        found: list[int] = self.tokenizer.tokenize(text.encode(), add_bos=False, special=False)
        return found

    def add(
        self,
        person: str,
        notes: list[dict[str, Any]],
        links: dict[tuple[str, str], str],
        alike: set[tuple[str, str]],
    ) -> None:
        """Take in a person's notes, in order of time; links by the ids of newer and older."""
        first = len(self.ids)
        for note in notes:
            self.heads.append(self.tokens(note_head(NoteText(note["day"], note["title"], ""))))
            self.bodies.append(self.tokens(note["content"])[:MOST_TOKENS])
            self.person.append(person)
            self.ids.append(note["id"])
        texts = [f"{note['title']}. {note['content']}"[:2_000] for note in notes]
        vectors = self.encoder.encode(texts)
        cosines = vectors @ vectors.T
        relations = list(ANSWERS)
        for newer in range(1, len(notes)):
            nearest = [int(each) for each in np.argsort(-cosines[newer, :newer])]
            near, rest = set(nearest[:NEAREST]), nearest[NEAREST:]
            by_chance = set(random.sample(rest, min(OTHERS, len(rest))))
            for older in range(newer):
                key = notes[newer]["id"], notes[older]["id"]
                relation, looks_alike = links.get(key, "none"), key in alike
                learned = relation != "none" or looks_alike or older in near | by_chance
                if learned or not person.startswith("garden/"):
                    row = first + newer, first + older, relations.index(relation)
                    self.pairs.append((*row, looks_alike, learned, float(cosines[newer, older])))


def rows(file: Path) -> list[dict[str, Any]]:
    return [json.loads(line) for line in file.read_text(encoding="utf-8").split("\n") if line]


def read_person(notes: Notes, folder: Path) -> None:
    """A person of the gold vaults."""
    own = [{**note, "day": note["created"][:10]} for note in rows(folder / "notes.jsonl")]
    links = {
        (each["source"], each["target"]): each["relation"] for each in rows(folder / "links.jsonl")
    }
    alike = {
        (max(pair), min(pair))
        for each in rows(folder / "negatives.jsonl")
        for pair in [(each["source"], each["target"])]
    }
    notes.add(folder.name, own, links, alike)


def read_garden(notes: Notes, folder: Path) -> None:
    """A published vault: its links are related notes, in an order of time by chance."""
    linked = {
        tuple(row[key] for key in ("source", "target")) for row in rows(folder / "links.jsonl")
    }
    ends = {each for pair in linked for each in pair}
    found = [note for note in rows(folder / "notes.jsonl") if note["id"] in ends]
    found = [note for note in found if len(note["text_unlinked"]) > 100]
    random.shuffle(found)
    own = [
        {"id": note["id"], "title": note["title"], "content": note["text_unlinked"], "day": ""}
        for note in found[:GARDEN_NOTES]
    ]
    place = {note["id"]: number for number, note in enumerate(own)}
    links = {
        (
            max(pair, key=lambda each: place[each]),
            min(pair, key=lambda each: place[each]),
        ): "related"
        for pair in linked
        if pair[0] != pair[1] and all(each in place for each in pair)
    }
    notes.add(f"garden/{folder.name}", own, links, set())


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.split("\n\n")[0])
    parser.add_argument("output", type=Path)
    parser.add_argument("--gold", type=Path, help="folder with more people")
    parser.add_argument("--gardens", type=Path, help="folder of published vaults' links")
    options = parser.parse_args()
    random.seed(0)
    tokenizer = llama_cpp.Llama(str(bundled_model()), vocab_only=True, verbose=False)
    with tempfile.TemporaryDirectory() as folder:
        notes = Notes(tokenizer, Workspace(Path(folder)).encoder)
    tops = [TOP / "people", *([options.gold] if options.gold else [])]
    for folder_of in sorted(file.parent for top in tops for file in top.glob("*/links.jsonl")):
        read_person(notes, folder_of)
    for folder_of in sorted(options.gardens.iterdir()) if options.gardens else []:
        read_garden(notes, folder_of)
    save(notes, options.output)


def save(notes: Notes, output: Path) -> None:
    """Write pairs and weights."""
    answers = [notes.tokens(answer)[0] for answer in ANSWERS.values()]
    parts = {"blank": "between"} | {each: each for each in ("newer", "older", "question", "gap")}
    fixed = {name: notes.tokens(WORDS[key]) for name, key in parts.items()} | {"answers": answers}
    texts = [*fixed.values(), *notes.heads, *notes.bodies]
    used = sorted({token for text in texts for token in text})
    number = {token: place for place, token in enumerate(used)}
    pruned = lambda text: np.array([number[token] for token in text], dtype=np.uint16)  # noqa: E731
    output.mkdir(parents=True, exist_ok=True)
    columns = list(zip(*notes.pairs, strict=True))
    names = ("newer_of", "older_of", "answer", "alike", "learned", "cosine")
    np.savez_compressed(
        output / "pairs.npz",
        **{name: pruned(text) for name, text in fixed.items()},
        **{name: np.array(column) for name, column in zip(names, columns, strict=True)},
        heads=np.concatenate([pruned(text) for text in notes.heads]),
        head_lengths=np.array([len(text) for text in notes.heads]),
        bodies=np.concatenate([pruned(text) for text in notes.bodies]),
        body_lengths=np.array([len(text) for text in notes.bodies]),
        person=np.array(notes.person),
        ids=np.array(notes.ids),
    )
    part: dict[str, Any] = {}
    size, count = 0, 0
    for tensor in GGUFReader(bundled_model()).tensors:
        data = tensor.data[used] if tensor.name == "token_embd.weight" else tensor.data
        if size + data.nbytes > PART_BYTES:
            np.savez(output / f"weights{count}.npz", **part)
            part, size, count = {}, 0, count + 1
        part[f"{tensor.name}|{tensor.tensor_type.name}"] = np.array(data)
        size += data.nbytes
    np.savez(output / f"weights{count}.npz", **part)
    people = sorted(set(notes.person))
    linked = sum(answer > 0 for _, _, answer, *_ in notes.pairs)
    print(f"{len(people)} people, {len(notes.ids)} notes, {len(notes.pairs)} pairs, {linked} links")
    print(f"{sum(pair[4] for pair in notes.pairs)} pairs to learn from, {len(used)} tokens")


if __name__ == "__main__":
    main()
