"""What does amem's way to a local model cost beside llama.cpp alone, on the same tokens?

    python benchmarks/llama_speed.py GOLD [--vault engineer] [--notes 8] [--rounds 5] [--model FILE]

The prompts are those that the memory process makes for the first notes of a gold vault. Each is
answered in turns: by amem as a user has it (a process of its own, the grammar, all checks), by the
same code in this process, by the same without a grammar, and by nothing but `llama_decode` in the
same portions with the same threads and the same remembered instructions. What amem wrote gives the
number of tokens that the others write. Printed are the seconds of a round, on the clock and of the
processors (which other work on the machine disturbs less), and the ratio of the latter to bare
llama.cpp with its interval of 95 % by bootstrap over the requests. Needs Linux's /proc.
"""

from __future__ import annotations

import argparse
import ctypes
import os
import random
import statistics
import sys
import tempfile
import time
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import Any, NamedTuple

import llama_cpp
import numpy as np
from memory_gold import GoldVault, gold_vaults
from memory_vault import Design, OpenVault, process

from amem_cli.editing.add import NewNote
from amem_cli.models.llama_cpp import ADDED, LlamaCppModel, bundled_model
from amem_cli.models.llama_cpp_worker import BATCH_TOKENS, NICENESS, LlamaSession
from amem_cli.models.ports import ModelRequest
from amem_cli.models.reply_schema import to_gbnf

ANYTHING = r"root ::= [^\x00]*"
BOOTSTRAPS = 2000
MEMORY_MB = 8192
Answered = Callable[[ModelRequest, int], int]


class FreeSession(LlamaSession):
    """The same session where every token but the end is allowed."""

    def _next_token(self, rules: Any) -> int:
        def is_control(token: int) -> bool:
            vocabulary = self._vocabulary
            return bool(
                llama_cpp.llama_vocab_is_control(vocabulary, token)
                or llama_cpp.llama_vocab_is_eog(vocabulary, token)
            )

        return likeliest(self._llama, is_control)


class BareModel:
    """Nothing but tokens and `llama_decode`; the last instructions stay in the context."""

    def __init__(self, session: LlamaSession) -> None:
        self._session = session
        self._llama: Any = session._llama
        self._context = self._llama.ctx
        self._held: dict[tuple[int, ...], bytes] = {}
        self._current: tuple[int, ...] = ()
        self._tokens: dict[str, tuple[tuple[int, ...], list[int]]] = {}

    def prepare(self, request: ModelRequest) -> None:
        """Make the tokens of a prompt, which takes no part in the measurement."""
        session, form = self._session, self._session._format
        opening = [*session._beginning(), *session._tokens(form.opening, control=True)]
        middle = session._tokens(form.middle, control=True)
        closing = session._tokens(form.closing, control=True)
        prefix = (*opening, *session._tokens(request.instructions), *middle)
        room = session.context_tokens - len(prefix) - len(closing) - request.max_tokens
        self._tokens[request.text] = prefix, [*session._fitted(request.text, room)[0], *closing]

    def answer(self, request: ModelRequest, count: int) -> int:
        """Write so many tokens."""
        prefix, rest = self._tokens[request.text]
        memory = llama_cpp.llama_get_memory(self._context)
        if prefix == self._current:
            llama_cpp.llama_memory_seq_rm(memory, 0, len(prefix), -1)
        else:
            llama_cpp.llama_memory_clear(memory, True)
            self._recall(prefix)
        self._current = prefix
        self._decode(rest)
        for _ in range(count):
            self._decode([likeliest(self._llama, lambda token: False)])
        return count

    def _recall(self, prefix: tuple[int, ...]) -> None:
        if prefix not in self._held:
            self._decode(prefix)
            size = llama_cpp.llama_state_seq_get_size(self._context, 0)
            kept = (ctypes.c_uint8 * size)()
            llama_cpp.llama_state_seq_get_data(self._context, kept, size, 0)
            self._held[prefix] = bytes(kept)
            return
        state = self._held[prefix]
        data = (ctypes.c_uint8 * len(state)).from_buffer_copy(state)
        llama_cpp.llama_state_seq_set_data(self._context, data, len(state), 0)

    def _decode(self, tokens: Sequence[int]) -> None:
        for start in range(0, len(tokens), BATCH_TOKENS):
            part = tokens[start : start + BATCH_TOKENS]
            array = (llama_cpp.llama_token * len(part))(*part)
            batch = llama_cpp.llama_batch_get_one(array, len(part))
            if llama_cpp.llama_decode(self._context, batch):
                raise RuntimeError("llama.cpp cannot compute")


def likeliest(llama: Any, is_refused: Callable[[int], bool]) -> int:
    """The likeliest token of those that are not refused."""
    pointer = llama_cpp.llama_get_logits_ith(llama.ctx, -1)
    scores = np.ctypeslib.as_array(pointer, shape=(llama.n_vocab(),))
    best = int(scores.argmax())
    if not is_refused(best):
        return best
    return next(int(each) for each in np.argsort(-scores) if not is_refused(int(each)))


def requests_of(gold: GoldVault, count: int, model: LlamaCppModel) -> list[ModelRequest]:
    """What the process asks about the first notes."""
    asked: list[ModelRequest] = []
    with tempfile.TemporaryDirectory() as folder:
        vault = OpenVault(Path(folder) / "vault", Design("speed", model=model))
        for note in list(gold.notes.values())[:count]:
            vault.add(note.id, NewNote(note.content, title=note.title, created=note.created))
            asked += [each.request for each in process(vault, note.id).exchanges]
        vault.close()
    return asked


class Cost(NamedTuple):
    """What one answer took: on the clock, and of the processors."""

    seconds: float
    processor: float


def measured(
    requests: Sequence[ModelRequest],
    arms: Mapping[str, Answered],
    rounds: int,
    child: Callable[[], int | None],
) -> dict[str, list[list[Cost]]]:
    """Costs by arm, request and round, but for the first one, which loads and remembers."""
    written = [arms["amem"](request, 0) for request in requests]
    costs: dict[str, list[list[Cost]]] = {name: [[] for _ in requests] for name in arms}
    for number in range(rounds + 1):
        for place, request in enumerate(requests):
            names = [name for name in arms if number or name != "amem"]
            random.Random(f"{number} {place}").shuffle(names)
            for name in names:
                started, used = time.perf_counter(), processor_seconds(child())
                count = arms[name](request, written[place])
                used = processor_seconds(child()) - used
                if number:
                    costs[name][place].append(Cost(time.perf_counter() - started, used))
                if count != written[place]:
                    raise RuntimeError(f"{name} wrote {count} tokens, not {written[place]}")
    print(f"{len(requests)} requests, {sum(written)} tokens written a round")
    return costs


def processor_seconds(child: int | None) -> float:
    """Of this process and its child, all threads."""
    if child is None:
        return time.process_time()
    fields = Path(f"/proc/{child}/stat").read_text(encoding="ascii").rpartition(")")[2].split()
    ticks = int(fields[11]) + int(fields[12])
    return time.process_time() + ticks / os.sysconf("SC_CLK_TCK")


def interval(own: Sequence[float], bare: Sequence[float]) -> tuple[float, float, float]:
    """The ratio of the sums, and its interval of 95 % by bootstrap."""
    chance, places = random.Random(7), range(len(own))
    ratios = []
    for _ in range(BOOTSTRAPS):
        drawn = chance.choices(places, k=len(own))
        ratios.append(sum(own[each] for each in drawn) / sum(bare[each] for each in drawn))
    ratios.sort()
    low, high = ratios[int(0.025 * BOOTSTRAPS)], ratios[int(0.975 * BOOTSTRAPS)]
    return sum(own) / sum(bare), low, high


def main() -> None:
    """Measure and print a table."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("gold", type=Path, help="the folder of the gold vaults")
    parser.add_argument("--vault", default="engineer")
    parser.add_argument("--notes", type=int, default=8)
    parser.add_argument("--rounds", type=int, default=5)
    parser.add_argument("--threads", type=int, default=2)
    parser.add_argument("--window", type=int, default=4096)
    parser.add_argument("--model", type=Path)
    options = parser.parse_args()
    if any(os.environ.get(name) != value for name, value in ADDED.items()):
        # Threads wait in the same way everywhere.
        os.execve(sys.executable, [sys.executable, *sys.argv], {**os.environ, **ADDED})
    path = options.model or bundled_model()
    common = {"threads": options.threads, "context_tokens": options.window}
    model = LlamaCppModel(path, memory_limit_mb=MEMORY_MB, **common)
    requests = requests_of(gold_vaults(options.gold, [options.vault])[0], options.notes, model)
    os.nice(NICENESS)
    here, free = LlamaSession(path, **common), FreeSession(path, **common)
    bare = BareModel(LlamaSession(path, **common))
    for request in requests:
        bare.prepare(request)

    def within(request: ModelRequest, count: int) -> int:
        grammar = to_gbnf(request.schema)
        asked = request.instructions, request.text, grammar, request.max_tokens
        return here.answer(*asked, request.deadline).answer_tokens

    def freely(request: ModelRequest, count: int) -> int:
        asked = request.instructions, request.text, ANYTHING, count
        return free.answer(*asked, request.deadline).answer_tokens

    arms: dict[str, Answered] = {
        "amem": lambda request, _: model.answer(request).answer_tokens,
        "amem in this process": within,
        "without a grammar": freely,
        "bare llama.cpp": bare.answer,
    }
    costs = measured(requests, arms, options.rounds, lambda: model.process_id)
    model.close()
    print("\n| | clock s | CPU s | CPU × bare | 95 % |\n|---|---|---|---|---|")
    usual = {name: [_median(each) for each in rows] for name, rows in costs.items()}
    bare_used = [each.processor for each in usual["bare llama.cpp"]]
    for name, rows in usual.items():
        used = [each.processor for each in rows]
        ratio, low, high = interval(used, bare_used)
        clock = sum(each.seconds for each in rows)
        print(f"| {name} | {clock:.2f} | {sum(used):.2f} | {ratio:.3f} | {low:.3f}-{high:.3f} |")


def _median(costs: Sequence[Cost]) -> Cost:
    return Cost(*(statistics.median(values) for values in zip(*costs, strict=True)))


if __name__ == "__main__":
    main()
