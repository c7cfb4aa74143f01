"""Trains the adapter of pairs: python training/pair_adapter.py MODEL OUT

    [--without NAME,…] [--passes 3]

A low-rank adapter (Hu et al., "LoRA", arXiv 2106.09685) on all-MiniLM-L6-v2 and a small head over
it, which tell whether a note answers a question by reading both together (a cross-encoder; Nogueira
and Cho, arXiv 1901.04085). It learns from the questions of `people`: of each, a note that answers
it, notes that search finds beside it, and notes of another person. The contexts of
the notes are questions as well, once. MODEL is the encoder's folder, OUT a safetensors file. Takes
forty minutes on two cores that multiply numbers of 16 bits. Tells how often a right note
is first of twelve that search finds for the people left out, by search and by reading alone.
"""

from __future__ import annotations

import argparse
import random
import sys
import tempfile
from dataclasses import dataclass
from datetime import datetime
from pathlib import Path
from typing import TYPE_CHECKING, Any

import torch
import torch.nn.functional as F
from check import TOP, rows
from query_adapter import RANK, QueryEncoder, adapted, tables_of
from safetensors.torch import save_file
from torch import Tensor, nn

sys.path.insert(0, str(TOP.parent / "benchmarks"))

from common import by_commas, open_vault
from remembered_vectors import PassingEncoder

from amem_cli.editing.add import NewNote, add
from amem_cli.index.sync import embed_missing
from amem_cli.search.search import search

if TYPE_CHECKING:
    from amem_cli.models.ports import Encoder

RATE, WARM_UP, DECAY = 8e-4, 60, 0.01
MOST_TOKENS = 160
HIDDEN = 128
# Of those found, so many are read for a question: the first ones, and others by chance.
FOUND, WRONG, FIRST, OF_OTHERS = 12, 5, 3, 3
# So many people's questions are strange to a person, and so many of them are asked.
STRANGERS, OF_STRANGERS = 3, 26
# Questions at a time, and of others.
BATCH, BATCH_OF_OTHERS = 4, 2
# Of the loss: that the right note is first; a note that answers counts so much more than others.
ORDER, RIGHT = 0.5, 2.0


@dataclass(frozen=True)
class Asked:
    """A question, the notes that answer it, and what search finds, the best first; by text."""

    question: str
    right: list[str]
    found: list[str]


class PairReader(nn.Module):
    """The encoder with an adapter, and a head over the first token and the means of both parts."""

    def __init__(self, folder: Path) -> None:
        super().__init__()
        plain = QueryEncoder(folder)
        self.tokenizer, self.model = plain.tokenizer, plain.model
        self.adapted = adapted(self.model, 2 * RANK)
        size = self.model.config.hidden_size
        self.inner, self.outer = nn.Linear(3 * size, HIDDEN), nn.Linear(HIDDEN, 1)

    def forward(self, questions: list[str], texts: list[str]) -> Tensor:
        """Log odds that the texts answer the questions, (texts,)."""
        given = self.tokenizer(
            questions, texts, padding=True, truncation="only_second", return_tensors="pt",
            max_length=MOST_TOKENS,
        )  # fmt: skip
        # Both are read as one text, of the first type of tokens.
        is_text = given.pop("token_type_ids").float()
        with torch.autocast("cpu", torch.bfloat16):
            vectors = self.model(**given).last_hidden_state
        parts = (given["attention_mask"].float() * (1 - is_text), is_text)
        means = (
            (vectors.float() * part.unsqueeze(-1)).sum(1) / part.sum(1, keepdim=True)
            for part in parts
        )
        read = torch.cat([vectors[:, 0].float(), *means], 1)
        odds: Tensor = self.outer(F.gelu(self.inner(read))).squeeze(1)
        return odds


class SearchEncoder(PassingEncoder):
    """The encoder of a new vault, without what is learned here."""

    def __init__(self, encoder: Encoder) -> None:
        super().__init__(encoder)
        self.encode, self.relevance = encoder.encode, lambda question, texts: ()


def read_person(
    folder: Path, strange: list[str], root: Path
) -> tuple[list[Asked], list[Asked], list[Asked]]:
    """What is asked of a person's notes: their questions, their contexts, and strange questions."""
    root.mkdir()
    workspace = open_vault(root)
    workspace.models.encoder = SearchEncoder(workspace.encoder)
    notes = {row["id"]: row for row in rows(folder / "notes.jsonl")}
    paths = {}
    for key, row in notes.items():
        created = datetime.fromisoformat(row["created"])
        new = NewNote(title=row["title"], content=row["content"], created=created)
        paths[key] = add(workspace.ports, new)
    embed_missing(workspace.ports, workspace.encoder)
    texts = {paths[key]: f"{row['title']}\n{row['content']}" for key, row in notes.items()}

    def asked(question: str, gold: list[str]) -> Asked:
        hits = search(
            workspace.index, question, encoder=workspace.encoder, limit=FOUND, neighbors=False
        )
        right = [texts[paths[key]] for key in gold]
        return Asked(question, right, [texts[hit.note.path] for hit in hits])

    questions = [row for row in questions_of(folder) if row["gold"]]
    own = [asked(row["query"], row["gold"]) for row in questions]
    contexts = [asked(row["context"], [key]) for key, row in notes.items() if row.get("context")]
    return own, contexts, [asked(question, []) for question in strange]


def questions_of(folder: Path) -> list[dict[str, Any]]:
    return rows(folder / "questions.jsonl") + rows(folder / "more_questions.jsonl")


def train(reader: PairReader, own: list[Asked], others: list[Asked]) -> None:
    """Learn from what is asked, in this order."""
    chance = random.Random(0)
    learned = [each for each in reader.parameters() if each.requires_grad]
    optimizer = torch.optim.AdamW(learned, lr=RATE, weight_decay=DECAY)
    steps = len(own) // BATCH
    for step in range(steps):
        optimizer.param_groups[0]["lr"] = RATE * min(1, (step + 1) / WARM_UP) * (1 - step / steps)
        pairs, groups = [], []
        for each in own[step * BATCH : (step + 1) * BATCH]:
            wrong = [text for text in each.found if text not in each.right]
            first, rest = wrong[:FIRST], wrong[FIRST:]
            texts = [chance.choice(each.right), *first]
            texts += chance.sample(rest, min(WRONG - FIRST, len(rest)))
            groups.append(slice(len(pairs), len(pairs) + len(texts)))
            pairs += [(each.question, text) for text in texts]
        for each in chance.sample(others, BATCH_OF_OTHERS):
            pairs += [(each.question, text) for text in each.found[:OF_OTHERS]]
        odds = reader([each for each, _ in pairs], [text for _, text in pairs])
        is_right = torch.zeros(len(pairs))
        is_right[[group.start for group in groups]] = 1
        loss = F.binary_cross_entropy_with_logits(odds, is_right, pos_weight=torch.tensor(RIGHT))
        order = [odds[group].logsumexp(0) - odds[group.start] for group in groups]
        loss = loss + ORDER * torch.stack(order).mean()
        optimizer.zero_grad()
        loss.backward()
        nn.utils.clip_grad_norm_(learned, 1.0)
        optimizer.step()


@torch.no_grad()
def tell(reader: PairReader, asked: list[Asked]) -> None:
    first = {"search": 0, "reading": 0}
    for each in asked:
        odds = reader([each.question] * len(each.found), each.found)
        first["search"] += each.found[0] in each.right
        first["reading"] += each.found[int(odds.argmax())] in each.right
    print({name: f"{count / len(asked):.1%} right first" for name, count in first.items()})


def main() -> None:
    parser = argparse.ArgumentParser(description=(__doc__ or "").partition("\n")[0])
    parser.add_argument("model", type=Path)
    parser.add_argument("out", type=Path)
    parser.add_argument("--without", default="", help="people that are not learned from")
    parser.add_argument("--passes", type=int, default=3)
    given = parser.parse_args()
    torch.manual_seed(0)
    chance = random.Random(0)
    people = [each.parent for each in sorted((TOP / "people").glob("*/more_questions.jsonl"))]
    left_out = set(by_commas(given.without))
    kept: list[Asked] = []
    questions: list[Asked] = []
    contexts: list[Asked] = []
    others: list[Asked] = []
    with tempfile.TemporaryDirectory() as root:
        for number, folder in enumerate(people):
            others_of = [each for each in [*people[number + 1 :], *people] if each != folder]
            near = [each for each in others_of if each.name not in left_out][:STRANGERS]
            strange = [row["query"] for each in near for row in questions_of(each)]
            strange = chance.sample(strange, OF_STRANGERS)
            read = read_person(folder, strange, Path(root) / folder.name)
            if folder.name in left_out:
                kept += read[0]
                continue
            questions, contexts, others = questions + read[0], contexts + read[1], others + read[2]
    learned = []
    for _ in range(given.passes):
        learned += chance.sample(questions, len(questions))
    # The contexts come before the last third of the questions.
    before = len(learned) * 2 // 3
    mixed = [*learned[:before], *contexts]
    chance.shuffle(mixed)
    reader = PairReader(given.model)
    train(reader, [*mixed, *learned[before:]], others)
    if kept:
        tell(reader, kept)
    tables = tables_of(reader.adapted)
    for name, layer in (("inner", reader.inner), ("outer", reader.outer)):
        tables[f"head.{name}.weight"] = layer.weight.detach().half()
        tables[f"head.{name}.bias"] = layer.bias.detach().half()
    save_file(tables, given.out)


if __name__ == "__main__":
    main()
