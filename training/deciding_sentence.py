"""Fits the weights by which `analyzer/link_choice` finds the sentence that decides.

    python training/deciding_sentence.py [--vectors FILE]

Readers named, of each gold change of 21 people (`sentence` in `evolution.jsonl`), the sentence of
the newer note that says best what holds now. How often it is found is measured on each person by
the weights of the others; the last line has the weights that the program needs.
"""

from __future__ import annotations

import argparse
from pathlib import Path

import numpy as np
from check import TOP, rows

# Its import makes the modules of the benchmarks known.
from link_strength import usual_encoder

from amem_cli.analyzer.link_choice import sentence_features
from amem_cli.analyzer.own_words import own_sentences
from amem_cli.notes.note import Note

# Of words that two sentences share, to be the same one, which may be cut in another place.
SAME = 0.6
RIDGE, STEPS = 1.0, 50


def plain(sentence: str) -> str:
    return " ".join(sentence.translate({ord(mark): None for mark in "[]*"}).split()).lower()


def is_same(said: str, wanted: str) -> bool:
    own, gold = plain(said).strip(" .-"), plain(wanted).strip(" .-")
    if not own or own in gold or gold in own:
        return bool(own)
    words = set(gold.split())
    return len(words.intersection(own.split())) > SAME * len(words)


def fitted(features: list[np.ndarray], right: list[np.ndarray]) -> np.ndarray:
    """Weights of a conditional logit with a ridge; the right sentences of a note share it."""
    weights = np.zeros(features[0].shape[1])
    for _ in range(STEPS):
        slope, curve = -RIDGE * weights, RIDGE * np.eye(len(weights))
        for own, gold in zip(features, right, strict=True):
            chances = np.exp(own @ weights - (own @ weights).max())
            chances /= chances.sum()
            slope += own.T @ (gold / gold.sum() - chances)
            curve += (own.T * chances) @ own - np.outer(own.T @ chances, own.T @ chances)
        weights += np.linalg.solve(curve, slope)
    return weights


def main() -> None:
    parser = argparse.ArgumentParser(description=(__doc__ or "").partition("\n")[0])
    parser.add_argument("--vectors", type=Path, help="file that keeps the vectors (.npz)")
    encoder = usual_encoder(parser.parse_args().vectors)
    features, right, person = [], [], []
    for folder in sorted(each.parent for each in (TOP / "people").glob("*/evolution.jsonl")):
        notes = {row["id"]: row for row in rows(folder / "notes.jsonl")}
        for row in rows(folder / "evolution.jsonl"):
            if not row.get("sentence"):
                continue
            newer, older = notes[row["trigger"]], notes[row["target"]]
            note = Note("n.md", "", newer["title"], newer["content"], created=newer["created"])
            own = [each for each in list(own_sentences(note))[1:] if not each.text.endswith("?")]
            gold = np.array([float(is_same(each.text, row["sentence"])) for each in own])
            if len(own) > 1 and gold.any():
                given = sentence_features(own, older["title"], older["content"], encoder.encode)
                features.append(np.array(given, float))
                right.append(gold)
                person.append(folder.name)
        encoder.save()
    found = []
    for name in dict.fromkeys(person):
        others = [at for at, each in enumerate(person) if each != name]
        weights = fitted([features[at] for at in others], [right[at] for at in others])
        found += [
            right[at][np.argmax(features[at] @ weights)]
            for at, each in enumerate(person)
            if each == name
        ]
    print(f"{np.mean(found):.1%} of {len(found)} found, by the weights of the others;")
    print(f"{np.mean([each.mean() for each in right]):.1%} by chance")
    print(np.round(fitted(features, right), 2))


if __name__ == "__main__":
    main()
