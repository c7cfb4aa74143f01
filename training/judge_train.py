"""Trains the judge of links: a low-rank adapter that answers how two notes are related.

    python training/judge_train.py FOLDER OUT PLAN.json [--seconds 500]

FOLDER is what `judge_pairs.py` wrote. The plan is a list of trainings:
`{"name", "learn": [people], "score": [people], "passes", "rank", "rate"}`; "*" is everybody.
It may also have `"first": [people]` for a pass before the others (gardens, by name), `"seconds"`
that a training may take at most, and `"keep": true` to keep the adapter. OUT gets for each
`NAME.npz`: the adapter, and the log-probability of every answer for all pairs to be scored.

One token of an example is learned: the answer. The newer note is read once for all older ones
(their positions follow it), as llama.cpp does in the program. Needs numpy, torch and gguf alone;
base weights stay as they are quantised. One GPU, or a processor with patience: a training that was
stopped goes on from its last checkpoint.
"""

from __future__ import annotations

import argparse
import json
import math
import time
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import torch
import torch.nn.functional as F
from gguf import GGMLQuantizationType
from gguf.quants import dequantize
from torch import Tensor, nn

DEVICE = "cuda" if torch.cuda.is_available() else "cpu"
NUMBERS = torch.bfloat16 if DEVICE == "cuda" else torch.float32
# Padded tokens that are computed at once. A step takes a third of a second on an H100 whatever its
# size, as so many small kernels are launched; two trainings with 24,000 fitted into 80 GB.
BATCH_TOKENS = 40_000 if DEVICE == "cuda" else 4_000
SCALE = 2.0
# Texts are cut to one of these numbers of tokens, so that the program may cut as it must.
CUTS = (80, 120, 200, 300)
SCORING_CUT = 200
HEADS, KEY_HEADS, THETA, EPSILON = 9, 3, 1e5, 1e-5
CHECKPOINT_SECONDS = 300


@dataclass(frozen=True)
class Group:
    """A newer note and older ones, as tokens, with the answers' numbers and the pairs'."""

    newer: list[int]
    olders: list[list[int]]
    answers: list[int]
    pairs: list[int]


class Data:
    """The pairs, by person."""

    def __init__(self, folder: Path) -> None:
        with np.load(folder / "pairs.npz") as file:
            self._data = {name: file[name] for name in file.files}
        data = self._data
        self._heads = np.split(data["heads"], np.cumsum(data["head_lengths"])[:-1])
        self._bodies = np.split(data["bodies"], np.cumsum(data["body_lengths"])[:-1])
        self.person = data["person"][data["newer_of"]]
        self.people = sorted(set(data["person"].tolist()))
        self.answers = torch.tensor(data["answers"].astype(np.int64), device=DEVICE)

    def chosen(self, names: list[str]) -> list[str]:
        """Names of a plan; "*" is everybody but the gardens."""
        own = [each for each in self.people if not each.startswith("garden/")]
        return sorted({each for name in names for each in (own if name == "*" else [name])})

    def groups(
        self, people: list[str], *, learned: bool, cuts: tuple[int, ...], random: Any
    ) -> list[Group]:
        """All groups of some people; `learned`: only the pairs to learn from."""
        data = self._data
        wanted = np.isin(self.person, people)
        if learned:
            wanted &= data["learned"]
        by_newer: dict[int, list[int]] = {}
        for pair in np.flatnonzero(wanted):
            by_newer.setdefault(int(data["newer_of"][pair]), []).append(int(pair))
        made = []
        for newer, pairs in by_newer.items():
            cut = int(random.choice(cuts))
            olders = [
                [*self._note("older", int(data["older_of"][pair]), cut), *data["question"].tolist()]
                for pair in pairs
            ]
            text = [*self._note("newer", newer, int(random.choice(cuts))), *data["blank"].tolist()]
            made.append(Group(text, olders, data["answer"][pairs].tolist(), pairs))
        return made

    def _note(self, role: str, number: int, cut: int) -> list[int]:
        body = self._bodies[number].tolist()
        if len(body) > cut:
            end = cut // 4
            body = [*body[: cut - end], *self._data["gap"].tolist(), *body[-end:]]
        return [*self._data[role].tolist(), *self._heads[number].tolist(), *body]


class LowRank(nn.Module):
    """A linear map that stays as it is, and a small one that learns."""

    def __init__(self, weight: Tensor, rank: int) -> None:
        super().__init__()
        self.weight = weight
        outs, ins = weight.shape
        self.a = nn.Parameter(torch.randn(rank, ins, device=DEVICE) / math.sqrt(ins))
        self.b = nn.Parameter(torch.zeros(outs, rank, device=DEVICE))

    def forward(self, x: Tensor) -> Tensor:
        low = F.linear(x, self.a.to(x.dtype))
        return F.linear(x, self.weight) + F.linear(low, self.b.to(x.dtype) * SCALE)


def normed(x: Tensor, weight: Tensor) -> Tensor:
    return F.rms_norm(x, (x.shape[-1],), weight, EPSILON)


def rotated(x: Tensor, cosine: Tensor, sine: Tensor) -> Tensor:
    """Positions into queries or keys (…, tokens, width), in GGUF's order: neighbours are a pair."""
    even, odd = x[..., 0::2], x[..., 1::2]
    return torch.stack((even * cosine - odd * sine, even * sine + odd * cosine), -1).flatten(-2)


class Layer(nn.Module):
    """A layer of the Llama architecture over a shared beginning and the texts that follow it."""

    def __init__(self, weights: dict[str, Tensor], rank: int) -> None:
        super().__init__()
        self.norms = weights["attn_norm"], weights["ffn_norm"]
        names = ("attn_q", "attn_k", "attn_v", "attn_output", "ffn_gate", "ffn_up", "ffn_down")
        self.maps = nn.ModuleDict({name: LowRank(weights[name], rank) for name in names})

    def forward(
        self, first: Tensor, rest: Tensor, places: Any, masks: Any
    ) -> tuple[Tensor, Tensor]:
        """`first`: (groups, tokens, width); `rest`: (groups, texts, tokens, width)."""
        groups, texts, tokens, width = rest.shape
        q, k, v = self._heads(normed(first, self.norms[0]), places[0])
        attended = F.scaled_dot_product_attention(q, k, v, attn_mask=masks[0])
        first = first + self.maps["attn_output"](_joined(attended))
        q2, k2, v2 = self._heads(normed(rest, self.norms[0]).flatten(0, 1), places[1])
        k2 = torch.cat((_for_each(k, texts), k2), 2)
        v2 = torch.cat((_for_each(v, texts), v2), 2)
        attended = F.scaled_dot_product_attention(q2, k2, v2, attn_mask=masks[1])
        found = self.maps["attn_output"](_joined(attended)).view(groups, texts, tokens, width)
        rest = rest + found
        return first + self._ffn(normed(first, self.norms[1])), rest + self._ffn(
            normed(rest, self.norms[1])
        )

    def _heads(self, x: Tensor, place: Any) -> tuple[Tensor, Tensor, Tensor]:
        batch, tokens, _ = x.shape
        q = self.maps["attn_q"](x).view(batch, tokens, HEADS, -1).transpose(1, 2)
        k, v = (
            self.maps[name](x).view(batch, tokens, KEY_HEADS, -1).transpose(1, 2)
            for name in ("attn_k", "attn_v")
        )
        q, k = rotated(q, *place), rotated(k, *place)
        times = HEADS // KEY_HEADS
        return q, k.repeat_interleave(times, 1), v.repeat_interleave(times, 1)

    def _ffn(self, x: Tensor) -> Tensor:
        inner = F.silu(self.maps["ffn_gate"](x)) * self.maps["ffn_up"](x)
        found: Tensor = self.maps["ffn_down"](inner)
        return found


def _joined(heads: Tensor) -> Tensor:
    return heads.transpose(1, 2).flatten(2)


def _for_each(x: Tensor, texts: int) -> Tensor:
    return x.unsqueeze(1).expand(-1, texts, -1, -1, -1).flatten(0, 1)


class Judge(nn.Module):
    """The base model with an adapter."""

    def __init__(self, weights: dict[str, Tensor], rank: int) -> None:
        super().__init__()
        self.embedding, self.last_norm = weights["token_embd"], weights["output_norm"]
        layers = 1 + max(int(name.split(".")[1]) for name in weights if name.startswith("blk."))
        self.layers = nn.ModuleList(
            Layer(
                {
                    name.split(".")[2]: value
                    for name, value in weights.items()
                    if name.startswith(f"blk.{number}.")
                },
                rank,
            )
            for number in range(layers)
        )

    def forward(self, batch: list[Group], answers: Tensor) -> Tensor:
        """Logits of the answers, (pairs of the batch in order, answers)."""
        groups = len(batch)
        texts = max(len(group.olders) for group in batch)
        # Few shapes, and multiples of eight: every new one takes the device a while.
        before = 32 * math.ceil(max(len(group.newer) for group in batch) / 32)
        after = 32 * math.ceil(max(len(each) for group in batch for each in group.olders) / 32)
        head = np.zeros((groups, before), np.int64)
        tail = np.zeros((groups, texts, after), np.int64)
        lengths = np.array([len(group.newer) for group in batch])
        ends = np.zeros((groups, texts), np.int64)
        for row, group in enumerate(batch):
            # The beginning is padded in front, so that every text follows it directly.
            head[row, before - len(group.newer) :] = group.newer
            for column, older in enumerate(group.olders):
                tail[row, column, : len(older)] = older
                ends[row, column] = len(older)
        padding = torch.tensor(before - lengths, device=DEVICE)
        heads = torch.arange(before, device=DEVICE)
        tails = torch.arange(after, device=DEVICE)
        seen = heads[None, :] >= padding[:, None]
        causal = heads[:, None] >= heads[None, :]
        # A padded token sees itself, or its softmax would be empty.
        mask_first = (causal[None] & seen[:, None, :]) | torch.eye(
            before, dtype=torch.bool, device=DEVICE
        )
        own = (tails[:, None] >= tails[None, :])[None].expand(groups, -1, -1)
        mask_rest = torch.cat((seen[:, None, :].expand(-1, after, -1), own), 2)
        mask_rest = mask_rest.unsqueeze(1).expand(-1, texts, -1, -1).flatten(0, 1).unsqueeze(1)
        places = (
            _angles((heads[None] - padding[:, None]).clamp(min=0)),
            _angles(
                torch.tensor(lengths, device=DEVICE)[:, None].expand(-1, texts).flatten()[:, None]
                + tails[None]
            ),
        )
        first = F.embedding(torch.tensor(head, device=DEVICE), self.embedding)
        rest = F.embedding(torch.tensor(tail, device=DEVICE), self.embedding)
        for layer in self.layers:
            first, rest = layer(first, rest, places, (mask_first.unsqueeze(1), mask_rest))
        pairs = [
            (row, column) for row, group in enumerate(batch) for column in range(len(group.olders))
        ]
        rows_, columns = (torch.tensor(each, device=DEVICE) for each in zip(*pairs, strict=True))
        last = rest[rows_, columns, torch.tensor(ends, device=DEVICE)[rows_, columns] - 1]
        return F.linear(normed(last, self.last_norm), self.embedding[answers]).float()


def _angles(positions: Tensor) -> tuple[Tensor, Tensor]:
    """Cosine and sine of positions (batch, tokens), each (batch, 1, tokens, half a head)."""
    half = 32
    speeds = THETA ** (-torch.arange(half, device=DEVICE) / half)
    angles = positions[:, None, :, None] * speeds
    return angles.cos().to(NUMBERS), angles.sin().to(NUMBERS)


def read_weights(folder: Path) -> dict[str, Tensor]:
    """The base model's, by GGUF's names without `.weight`."""
    found = {}
    for part in sorted(folder.glob("weights*.npz")):
        with np.load(part) as file:
            for key in file.files:
                name, kind = key.split("|")
                value = dequantize(file[key], GGMLQuantizationType[kind])
                found[name.removesuffix(".weight")] = torch.tensor(value, device=DEVICE).to(NUMBERS)
    return found


def batches(groups: list[Group], random: Any, chunk: int = 512) -> Iterator[list[Group]]:
    """In an order by chance, alike in length, of at most `BATCH_TOKENS` padded tokens."""
    order = random.permutation(len(groups))
    for start in range(0, len(order), chunk):
        near = sorted(
            (groups[number] for number in order[start : start + chunk]),
            key=lambda group: (max(map(len, group.olders)), len(group.newer)),
        )
        made: list[list[Group]] = [[]]
        for group in near:
            if made[-1] and _size([*made[-1], group]) > BATCH_TOKENS:
                made.append([])
            made[-1].append(group)
        for number in random.permutation(len(made)):
            yield made[number]


def _size(batch: list[Group]) -> int:
    olders = max(len(group.olders) for group in batch) * max(
        len(older) for group in batch for older in group.olders
    )
    return len(batch) * (olders + max(len(group.newer) for group in batch))


def split_wide(groups: list[Group], most: int) -> list[Group]:
    """Groups of at most `most` older notes, alike in length."""
    made = []
    for group in groups:
        order = sorted(range(len(group.olders)), key=lambda number: len(group.olders[number]))
        for start in range(0, len(order), most):
            part = order[start : start + most]
            made.append(
                Group(
                    group.newer,
                    [group.olders[each] for each in part],
                    [group.answers[each] for each in part],
                    [group.pairs[each] for each in part],
                )
            )
    return made


def train(plan: dict[str, Any], data: Data, weights: dict[str, Tensor], out: Path) -> Judge:
    """Carry out one training of the plan."""
    torch.manual_seed(0)
    random = np.random.default_rng(0)
    judge = Judge(weights, plan["rank"]).to(DEVICE)
    learn = data.chosen(plan["learn"])
    first = data.chosen(plan.get("first", []))
    stages = [*([first] if first else []), *[learn] * plan["passes"]]
    steps = []
    for people in stages:
        groups = data.groups(people, learned=True, cuts=CUTS, random=random)
        steps += list(batches(split_wide(groups, 24), random))
    optimizer = torch.optim.AdamW(
        judge.parameters(), lr=plan["rate"], weight_decay=0.01, betas=(0.9, 0.98)
    )
    checkpoint = out / f"{plan['name']}.checkpoint"
    begun = 0
    if checkpoint.exists():
        begun, state, moments = torch.load(checkpoint)
        judge.load_state_dict(state, strict=False)
        optimizer.load_state_dict(moments)
    started, saved, losses, tokens = time.monotonic(), time.monotonic(), [], 0
    total, measured = len(steps), 0.0
    for step in range(begun, len(steps)):
        # The first steps are slow; then it is known how many fit into the time.
        if step == begun + 20:
            measured = time.monotonic()
        if step == begun + 60 and "seconds" in plan:
            a_step = (time.monotonic() - measured) / 40
            left = plan["seconds"] - (time.monotonic() - started)
            total = min(total, step + int(left / a_step))
            print(f"{plan['name']}: {total} of {len(steps)} steps", flush=True)
        if step >= total:
            break
        share = step / total
        warm = min(1, (step + 1) / 20)
        optimizer.param_groups[0]["lr"] = (
            plan["rate"] * warm * (0.05 + 0.475 * (1 + math.cos(math.pi * share)))
        )
        wanted = torch.tensor(
            [each for group in steps[step] for each in group.answers], device=DEVICE
        )
        loss = F.cross_entropy(judge(steps[step], data.answers), wanted)
        loss.backward()
        norm = torch.nn.utils.clip_grad_norm_(judge.parameters(), 1.0)
        # Half precision overflows now and then.
        if torch.isfinite(norm):
            optimizer.step()
        optimizer.zero_grad(set_to_none=True)
        losses.append(loss.detach())
        tokens += _size(steps[step])
        if step % 50 == 0:
            recent = float(torch.stack(losses[-50:]).mean())
            seconds = time.monotonic() - started
            print(f"{plan['name']} {step}/{len(steps)} loss {recent:.3f}, {seconds:.0f} s,"
                  f" {tokens / seconds:,.0f} tokens/s", flush=True)  # fmt: skip
        if time.monotonic() - saved > CHECKPOINT_SECONDS:
            state = dict(judge.state_dict())
            torch.save((step + 1, state, optimizer.state_dict()), checkpoint)
            saved = time.monotonic()
    checkpoint.unlink(missing_ok=True)
    return judge


@torch.no_grad()
def scored(judge: Judge, data: Data, people: list[str]) -> dict[str, Any]:
    """Log-probabilities of the answers for all pairs of some people."""
    random = np.random.default_rng(0)
    groups = data.groups(people, learned=False, cuts=(SCORING_CUT,), random=random)
    numbers, found = [], []
    for batch in batches(split_wide(groups, 32), random):
        numbers += [pair for group in batch for pair in group.pairs]
        found.append(judge(batch, data.answers).log_softmax(-1).cpu())
    return {"pairs": np.array(numbers), "scores": torch.cat(found).numpy()} if found else {}


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.split("\n\n")[0])
    parser.add_argument("folder", type=Path)
    parser.add_argument("output", type=Path)
    parser.add_argument("plan", type=Path)
    parser.add_argument("--seconds", type=float, default=math.inf, help="begin no training later")
    options = parser.parse_args()
    started = time.monotonic()
    data, weights = Data(options.folder), read_weights(options.folder)
    print(f"{DEVICE}, ready after {time.monotonic() - started:.0f} s", flush=True)
    options.output.mkdir(parents=True, exist_ok=True)
    # Faster, but it plans anew for every shape of a batch.
    torch.backends.cuda.enable_cudnn_sdp(False)
    for plan in json.loads(options.plan.read_text()):
        file = options.output / f"{plan['name']}.npz"
        if file.exists() or time.monotonic() - started > options.seconds:
            continue
        judge = train(plan, data, weights, options.output)
        adapter = {}
        for number, layer in enumerate(judge.layers):
            for name, module in layer.maps.items():
                adapter[f"blk.{number}.{name}.weight.lora_a"] = (
                    module.a.detach().half().cpu().numpy()
                )
                adapter[f"blk.{number}.{name}.weight.lora_b"] = (
                    module.b.detach().half().cpu().numpy()
                )
        scores = scored(judge, data, data.chosen(plan["score"]))
        kept = adapter if plan.get("keep") else {}
        np.savez_compressed(file, plan=json.dumps(plan), **kept, **scores)
        print(f"{plan['name']} done after {time.monotonic() - started:.0f} s", flush=True)


if __name__ == "__main__":
    main()
