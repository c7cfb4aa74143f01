"""Trains the adapter of queries: python training/query_adapter.py MODEL OUT

    [--without NAME,…] [--seeds 0,1]

A low-rank adapter (Hu et al., "LoRA", arXiv 2106.09685) on all-MiniLM-L6-v2, for questions alone: a
question comes nearer to the notes that answer it than to the same person's other notes, whose
vectors stay as they are, and a little also than to the notes of others. It stays near to what it
was, without which cosines no longer tell what a vault does not answer. MODEL is the encoder's
folder, OUT a safetensors file. A training takes two minutes on two cores; several differ in their
seeds, and the mean of their changes is kept. Tells how the questions of the people left out find
their notes, without and with the adapter.
"""

from __future__ import annotations

import argparse
import math
import random
from dataclasses import dataclass
from pathlib import Path

import torch
import torch.nn.functional as F
from check import TOP, rows
from safetensors.torch import save_file
from torch import Tensor, nn
from transformers import AutoModel, AutoTokenizer

RANK, SCALE = 8, 2.0
PASSES, RATE, WARM_UP, DECAY = 4, 5e-4, 20, 0.01
TEMPERATURE = 0.05
# Of the loss: what finding the notes among those of all people counts, and staying near.
OF_ALL, STAYING = 0.3, 2.0
# What search takes from a query's vector (`models/common_part`).
MEAN_SHARE = 1 / 3
MOST_TOKENS = 256
BATCH = 16
# Of texts in Chinese, Japanese and Korean the vocabulary knows next to nothing.
CJK, MOST_CJK = 0x2E80, 0.1


@dataclass(frozen=True)
class Person:
    """Vectors of a person's notes, (notes, n), and lists of questions, each with its vectors,
    (questions, n), and the notes that answer each as ones, (questions, notes)."""

    notes: Tensor
    asked: list[tuple[list[str], Tensor, Tensor]]


class Adapted(nn.Module):
    """A linear layer with a low-rank change."""

    def __init__(self, layer: nn.Linear, rank: int = RANK) -> None:
        super().__init__()
        self.layer = layer
        self.down = nn.Parameter(torch.randn(rank, layer.in_features) / layer.in_features**0.5)
        self.up = nn.Parameter(torch.zeros(layer.out_features, rank))

    def forward(self, given: Tensor) -> Tensor:
        changed: Tensor = self.layer(given) + SCALE * (given @ self.down.T) @ self.up.T
        return changed


def adapted(model: nn.Module, rank: int = RANK) -> dict[str, Adapted]:
    """Give each linear layer of an encoder a change that does nothing yet; they by name."""
    made = {}
    for name, layer in list(model.encoder.named_modules()):
        if isinstance(layer, nn.Linear):
            parent = model.encoder.get_submodule(name.rpartition(".")[0])
            made[f"encoder.{name}"] = Adapted(layer, rank)
            setattr(parent, name.rpartition(".")[2], made[f"encoder.{name}"])
    return made


class QueryEncoder:
    """The encoder; with a seed, it has an adapter that changes nothing yet."""

    def __init__(self, folder: Path, seed: int | None = None) -> None:
        self.tokenizer = AutoTokenizer.from_pretrained(folder)
        self.model = AutoModel.from_pretrained(folder).eval().requires_grad_(False)
        torch.manual_seed(seed or 0)
        self.adapted = {} if seed is None else adapted(self.model)

    def encode(self, texts: list[str]) -> Tensor:
        """Unit vectors of texts, (texts, n)."""
        given = self.tokenizer(
            texts, padding=True, truncation=True, max_length=MOST_TOKENS, return_tensors="pt"
        )
        tokens = self.model(**given).last_hidden_state
        return F.normalize((tokens * given["attention_mask"].unsqueeze(-1)).sum(1), dim=-1)

    @torch.no_grad()
    def encode_all(self, texts: list[str]) -> Tensor:
        """The same of many texts, that nothing is learned from."""
        batches = [texts[start : start + BATCH] for start in range(0, len(texts), BATCH)]
        return torch.cat([self.encode(batch) for batch in batches])


def read_people(encoder: QueryEncoder) -> dict[str, Person]:
    people: dict[str, Person] = {}
    for folder in sorted((TOP / "people").iterdir()):
        notes = rows(folder / "notes.jsonl")
        texts = [f"{note['title']}\n{note['content']}" for note in notes]
        letters = "".join(texts)
        if sum(ord(letter) > CJK for letter in letters) > MOST_CJK * len(letters):
            continue
        places = {note["id"]: place for place, note in enumerate(notes)}
        asked = []
        for file in ("questions.jsonl", "more_questions.jsonl"):
            questions = [row for row in rows(folder / file) if row["gold"]]
            gold = torch.zeros(len(questions), len(notes))
            for number, row in enumerate(questions):
                gold[number, [places[each] for each in row["gold"]]] = 1
            if queries := [row["query"] for row in questions]:
                asked.append((queries, encoder.encode_all(queries), gold))
        people[folder.name] = Person(encoder.encode_all(texts), asked)
    return people


def as_asked(vectors: Tensor, mean: Tensor) -> Tensor:
    """Unit vectors of questions as search uses them."""
    return F.normalize(vectors - MEAN_SHARE * mean, dim=-1)


def loss_of(scores: Tensor, right: Tensor) -> Tensor:
    """How unlikely the right notes are among those with scores."""
    return (scores.logsumexp(1) - right.logsumexp(1)).mean()


def train(folder: Path, people: dict[str, Person], mean: Tensor, seed: int) -> QueryEncoder:
    encoder = QueryEncoder(folder, seed)
    learned = [each for layer in encoder.adapted.values() for each in (layer.down, layer.up)]
    optimizer = torch.optim.AdamW(learned, lr=RATE, weight_decay=DECAY)
    everything = torch.cat([person.notes for person in people.values()])
    sets = [(person.notes, *asked) for person in people.values() for asked in person.asked]
    steps, order = PASSES * len(sets), random.Random(seed)
    for step in range(steps):
        if step % len(sets) == 0:
            order.shuffle(sets)
        notes, queries, before, gold = sets[step % len(sets)]
        optimizer.param_groups[0]["lr"] = RATE * min(1, (step + 1) / WARM_UP) * (1 - step / steps)
        vectors = as_asked(encoder.encode(queries), mean)
        scores = vectors @ notes.T / TEMPERATURE
        right = scores.masked_fill(gold == 0, -math.inf)
        loss = loss_of(scores, right)
        loss = loss + OF_ALL * loss_of(vectors @ everything.T / TEMPERATURE, right)
        loss = loss + STAYING * (1 - (vectors * as_asked(before, mean)).sum(1)).mean()
        optimizer.zero_grad()
        loss.backward()
        nn.utils.clip_grad_norm_(learned, 1.0)
        optimizer.step()
    return encoder


def mean_of(folder: Path, encoders: list[QueryEncoder]) -> QueryEncoder:
    """An encoder whose changes are the mean of others'."""
    mean = QueryEncoder(folder, 0)
    for name, layer in mean.adapted.items():
        others = [encoder.adapted[name] for encoder in encoders]
        layer.down = nn.Parameter(torch.cat([each.down for each in others]))
        layer.up = nn.Parameter(torch.cat([each.up for each in others], dim=1) / len(others))
    return mean


def tables_of(adapted: dict[str, Adapted]) -> dict[str, Tensor]:
    """Of each layer `up` and `down`, whose product is what it is changed by."""
    tables = {}
    for name, layer in adapted.items():
        tables[f"{name}.down"] = layer.down.detach().half()
        tables[f"{name}.up"] = (SCALE * layer.up).detach().half()
    return tables


def tell(name: str, encoder: QueryEncoder, people: dict[str, Person], mean: Tensor) -> None:
    first = reciprocal = count = 0.0
    for person in people.values():
        for queries, _, gold in person.asked:
            scores = as_asked(encoder.encode_all(queries), mean) @ person.notes.T
            order = scores.argsort(1, descending=True)
            ranks = gold.gather(1, order).argmax(1)
            count += len(queries)
            first += int((ranks == 0).sum())
            reciprocal += float((1 / (ranks + 1)).sum())
    if count:
        print(f"{name}: right first {first / count:.1%}, MRR {reciprocal / count:.3f}", flush=True)


def main() -> None:
    parser = argparse.ArgumentParser(description=(__doc__ or "").partition("\n")[0])
    parser.add_argument("model", type=Path)
    parser.add_argument("out", type=Path)
    parser.add_argument("--without", default="", help="people that are not learned from")
    parser.add_argument("--seeds", default="0,1")
    given = parser.parse_args()
    plain = QueryEncoder(given.model)
    people = read_people(plain)
    left_out = {name: people.pop(name) for name in given.without.split(",") if name}
    mean = torch.cat([person.notes for person in people.values()]).mean(0)
    tell("as it is", plain, left_out, mean)
    seeds = map(int, given.seeds.split(","))
    encoders = [train(given.model, people, mean, seed) for seed in seeds]
    merged = mean_of(given.model, encoders)
    tell("with the adapter", merged, left_out, mean)
    save_file(tables_of(merged.adapted), given.out)


if __name__ == "__main__":
    main()
