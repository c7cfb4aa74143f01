"""What llama.cpp, with the bundled model and an adapter, says of a person's pairs of notes.

    python training/judge_llama.py people/kofi smollm2-135m-judge.gguf --nearest 12 > pairs.jsonl

Each newer note is read once, the older ones beside it as sequences that share its tokens; nothing
is generated, the answers are read from the logits. A line is `newer, older, log`, for the older
notes that are nearest in meaning; `log` are natural logarithms of the probabilities of the answers
in `judge_prompt.py`, in their order.
"""

from __future__ import annotations

import argparse
import ctypes
import json
import os
import tempfile
import time
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import llama_cpp
import numpy as np
from judge_prompt import ANSWERS, GAP, QUESTION, note_head

from amem_cli.models.llama_cpp import bundled_model
from amem_cli.workspace.workspace import Workspace

NEWER, OLDER = "New note", "Old note"
# Tokens of a newer note and of the older ones that are read beside it.
CONTEXT_TOKENS = 2_048
AT_ONCE = 8
BATCH_TOKENS = 512


class JudgeSession:
    """A model with its adapter, and a context in which older notes follow one newer note."""

    def __init__(self, model_path: str, adapter_path: str, threads: int) -> None:
        """Load both; raises `ValueError` if llama.cpp cannot."""
        llama_cpp.llama_backend_init()
        self._model: Any = llama_cpp.llama_model_load_from_file(
            os.fsencode(model_path), llama_cpp.llama_model_default_params()
        )
        if not self._model:
            raise ValueError(f"{Path(model_path).name} cannot be loaded")
        options = llama_cpp.llama_context_default_params()
        options.n_ctx, options.n_batch, options.n_ubatch = (
            CONTEXT_TOKENS,
            BATCH_TOKENS,
            BATCH_TOKENS,
        )
        options.n_seq_max, options.kv_unified = 1 + AT_ONCE, True
        options.n_threads = options.n_threads_batch = threads
        self._context: Any = llama_cpp.llama_init_from_model(self._model, options)
        adapter: Any = llama_cpp.llama_adapter_lora_init(self._model, os.fsencode(adapter_path))
        if not adapter:
            raise ValueError(f"{Path(adapter_path).name} does not fit {Path(model_path).name}")
        adapters = (llama_cpp.llama_adapter_lora_p_ctypes * 1)(adapter)
        llama_cpp.llama_set_adapters_lora(self._context, adapters, 1, (ctypes.c_float * 1)(1.0))
        self._memory: Any = llama_cpp.llama_get_memory(self._context)
        self._vocabulary: Any = llama_cpp.llama_model_get_vocab(self._model)
        self._size = llama_cpp.llama_vocab_n_tokens(self._vocabulary)
        self._batch: Any = llama_cpp.llama_batch_init(BATCH_TOKENS, 0, 1)
        self._answers = [self._tokens(answer)[0] for answer in ANSWERS.values()]
        self._blank, self._question = self._tokens("\n\n"), self._tokens(QUESTION)
        self._gap = self._tokens(GAP)

    def judged(
        self,
        newer: Sequence[str],
        olders: Sequence[Sequence[str]],
        most_tokens: int,
        seconds: float,
    ) -> list[list[float]]:
        """Log probabilities of the answers for the older notes, in order, until the time is up.

        Args:
            newer, olders: head and text of a note.
            most_tokens: longest text of a note; the middle of a longer one is left out.
        """
        until = time.monotonic() + seconds
        llama_cpp.llama_memory_clear(self._memory, True)
        first = [*self._note(NEWER, newer, most_tokens), *self._blank]
        self._read([(token, place, 0) for place, token in enumerate(first)], [])
        found: list[list[float]] = []
        waiting = [[*self._note(OLDER, each, most_tokens), *self._question] for each in olders]
        while waiting and time.monotonic() < until:
            part, room = 0, CONTEXT_TOKENS - len(first)
            while part < min(AT_ONCE, len(waiting)) and len(waiting[part]) <= room:
                room -= len(waiting[part])
                part += 1
            if not part:
                break
            found += self._beside(len(first), waiting[:part])
            del waiting[:part]
        return found

    def _beside(self, begin: int, texts: Sequence[Sequence[int]]) -> list[list[float]]:
        """The answers behind each text, all of which follow the newer note."""
        for sequence in range(1, len(texts) + 1):
            llama_cpp.llama_memory_seq_cp(self._memory, 0, sequence, -1, -1)
        entries = [
            (token, begin + place, sequence)
            for sequence, text in enumerate(texts, 1)
            for place, token in enumerate(text)
        ]
        ends = list(np.cumsum([len(text) for text in texts]) - 1)
        found = self._read(entries, ends)
        for sequence in range(1, len(texts) + 1):
            llama_cpp.llama_memory_seq_rm(self._memory, sequence, -1, -1)
        return found

    def _read(
        self, entries: Sequence[tuple[int, int, int]], ends: Sequence[int]
    ) -> list[list[float]]:
        """Compute tokens (token, position, sequence); the answers behind the tokens at `ends`."""
        wanted, found = set(ends), []
        for start in range(0, len(entries), BATCH_TOKENS):
            part = entries[start : start + BATCH_TOKENS]
            batch = self._batch
            batch.n_tokens = len(part)
            for at, (token, position, sequence) in enumerate(part):
                batch.token[at], batch.pos[at] = token, position
                batch.n_seq_id[at], batch.seq_id[at][0] = 1, sequence
                batch.logits[at] = start + at in wanted
            if llama_cpp.llama_decode(self._context, batch):
                raise RuntimeError("llama.cpp has no room for the notes")
            for at in range(len(part)):
                if start + at in wanted:
                    found.append(self._answers_at(at))
        return found

    def _answers_at(self, place: int) -> list[float]:
        pointer = llama_cpp.llama_get_logits_ith(self._context, place)
        logits = np.ctypeslib.as_array(pointer, shape=(self._size,))[self._answers].astype(float)
        logits -= logits.max()
        return [round(float(each), 4) for each in logits - np.log(np.exp(logits).sum())]

    def _note(self, role: str, note: Sequence[str], most: int) -> list[int]:
        head, text = note
        # No tokenizer makes fewer tokens of ordinary text.
        body = self._tokens(text[: 8 * most] if len(text) < 16 * most else text[: 16 * most])
        if len(body) > most:
            end = most // 4
            body = [*body[: most - end], *self._gap, *body[-end:]]
        return [*self._tokens(role), *self._tokens(head), *body]

    def _tokens(self, text: str) -> list[int]:
        data = text.encode("utf-8", "replace")
        room = len(data) + 8
        tokens = (llama_cpp.llama_token * room)()
        count = llama_cpp.llama_tokenize(
            self._vocabulary, data, len(data), tokens, room, False, False
        )
        return list(tokens[:count])


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.split("\n\n")[0])
    parser.add_argument("person", type=Path)
    parser.add_argument("adapter", type=Path)
    parser.add_argument("--nearest", type=int, default=12, help="older notes of each newer one")
    parser.add_argument("--tokens", type=int, default=200, help="longest text of a note")
    parser.add_argument("--threads", type=int, default=os.cpu_count() or 2)
    options = parser.parse_args()
    file = options.person / "notes.jsonl"
    rows = [json.loads(line) for line in file.read_text(encoding="utf-8").splitlines()]
    notes = [(note_head(row["created"][:10], row["title"]), row["content"]) for row in rows]
    with tempfile.TemporaryDirectory() as folder:
        encoder = Workspace(Path(folder)).encoder
    vectors = encoder.encode([f"{row['title']}. {row['content']}"[:2_000] for row in rows])
    cosines = vectors @ vectors.T
    session = JudgeSession(str(bundled_model()), str(options.adapter), options.threads)
    for newer in range(1, len(rows)):
        nearest = [int(each) for each in np.argsort(-cosines[newer, :newer])[: options.nearest]]
        olders = [notes[each] for each in nearest]
        found = session.judged(notes[newer], olders, options.tokens, float("inf"))
        for older, log in zip(nearest, found, strict=True):
            pair = {"newer": rows[newer]["id"], "older": rows[older]["id"], "log": log}
            print(json.dumps(pair), flush=True)


if __name__ == "__main__":
    main()
