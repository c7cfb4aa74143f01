"""What the child process of the judge does: it reads two notes and looks at the next token."""

from __future__ import annotations

import ctypes
import os
import time
from collections.abc import Sequence
from contextlib import suppress
from pathlib import Path
from typing import Any

import llama_cpp
import numpy as np

from amem_cli.data import table

# Tokens of a newer note and of the older ones that are read beside it.
CONTEXT_TOKENS = 2_048
# Older notes that are read together.
AT_ONCE = 4
# Tokens that are computed at once; the time is looked at between them.
BATCH_TOKENS = 128


class JudgeSession:
    """A model with its adapter, and a context in which older notes follow one newer note."""

    def __init__(self, model_path: Path, adapter_path: Path, threads: int) -> None:
        """Load both; raises `ValueError` if llama.cpp cannot."""
        llama_cpp.llama_backend_init()
        how = llama_cpp.llama_model_default_params()
        # On the processor, so that every machine says the same, within its memory limit.
        how.n_gpu_layers = 0
        self._model: Any = llama_cpp.llama_model_load_from_file(os.fsencode(model_path), how)
        if not self._model:
            raise ValueError(f"{model_path.name} cannot be loaded")
        options = llama_cpp.llama_context_default_params()
        options.n_ctx = CONTEXT_TOKENS
        options.n_batch = options.n_ubatch = BATCH_TOKENS
        options.n_seq_max, options.kv_unified = 1 + AT_ONCE, True
        options.offload_kqv = options.op_offload = False
        options.n_threads = options.n_threads_batch = threads
        self._context: Any = llama_cpp.llama_init_from_model(self._model, options)
        adapter: Any = llama_cpp.llama_adapter_lora_init(self._model, os.fsencode(adapter_path))
        if not (self._context and adapter) or _set_adapter(self._context, adapter):
            raise ValueError(f"{adapter_path.name} does not fit {model_path.name}")
        self._memory: Any = llama_cpp.llama_get_memory(self._context)
        self._vocabulary: Any = llama_cpp.llama_model_get_vocab(self._model)
        self._size = llama_cpp.llama_vocab_n_tokens(self._vocabulary)
        self._until = 0.0
        self._batch: Any = llama_cpp.llama_batch_init(BATCH_TOKENS, 0, 1)
        words = table("judge.toml")
        self._answers = [self._tokens(answer)[0] for answer in words["answers"].values()]
        self._newer, self._older, self._between, self._question, self._gap = (
            self._tokens(words[name]) for name in ("newer", "older", "between", "question", "gap")
        )

    def answer(
        self,
        newer: Sequence[str],
        olders: Sequence[Sequence[str]],
        most_tokens: int,
        seconds: float,
    ) -> dict[str, Any]:
        """Logits of the answers for the older notes, in order, until the time is up.

        Args:
            newer, olders: head and text of a note.
            most_tokens: longest text of a note; the middle of a longer one is left out.
        """
        self._until = time.monotonic() + seconds
        llama_cpp.llama_memory_clear(self._memory, True)
        first = [*self._newer, *self._note(newer, most_tokens), *self._between]
        waiting = [
            [*self._older, *self._note(each, most_tokens), *self._question] for each in olders
        ]
        judged: list[list[float]] = []
        with suppress(TimeoutError):
            self._read([(token, place, 0) for place, token in enumerate(first)], [])
            while waiting:
                part, room = 0, CONTEXT_TOKENS - len(first)
                while part < min(AT_ONCE, len(waiting)) and len(waiting[part]) <= room:
                    room -= len(waiting[part])
                    part += 1
                if not part:
                    break
                judged += self._beside(len(first), waiting[:part])
                del waiting[:part]
        return {"judged": judged}

    def _beside(self, begin: int, texts: Sequence[Sequence[int]]) -> list[list[float]]:
        """The logits behind each text, all of which follow the newer note."""
        for sequence in range(1, len(texts) + 1):
            llama_cpp.llama_memory_seq_cp(self._memory, 0, sequence, -1, -1)
        entries = [
            (token, begin + place, sequence)
            for sequence, text in enumerate(texts, 1)
            for place, token in enumerate(text)
        ]
        ends = [int(each) - 1 for each in np.cumsum([len(text) for text in texts])]
        found = self._read(entries, ends)
        for sequence in range(1, len(texts) + 1):
            llama_cpp.llama_memory_seq_rm(self._memory, sequence, -1, -1)
        return found

    def _read(
        self, entries: Sequence[tuple[int, int, int]], ends: Sequence[int]
    ) -> list[list[float]]:
        """Compute tokens (token, position, sequence); the answers' logits behind some of them.

        Raises:
            TimeoutError: the time is up.
        """
        wanted, found = set(ends), []
        for start in range(0, len(entries), BATCH_TOKENS):
            if time.monotonic() > self._until:
                raise TimeoutError
            part = entries[start : start + BATCH_TOKENS]
            batch = self._batch
            batch.n_tokens = len(part)
            for at, (token, position, sequence) in enumerate(part):
                batch.token[at], batch.pos[at] = token, position
                batch.n_seq_id[at], batch.seq_id[at][0] = 1, sequence
                batch.logits[at] = start + at in wanted
            if llama_cpp.llama_decode(self._context, batch):
                raise RuntimeError("llama.cpp has no room for the notes")
            found += [self._logits(at) for at in range(len(part)) if start + at in wanted]
        return found

    def _logits(self, place: int) -> list[float]:
        pointer = llama_cpp.llama_get_logits_ith(self._context, place)
        logits = np.ctypeslib.as_array(pointer, shape=(self._size,))[self._answers]
        return [round(float(each), 4) for each in logits]

    def _note(self, note: Sequence[str], most: int) -> list[int]:
        head, text = note
        body = self._tokens(text)
        if len(body) > most:
            end = most // 4
            body = [*body[: most - end], *self._gap, *body[-end:]]
        return [*self._tokens(head)[:most], *body]

    def _tokens(self, text: str) -> list[int]:
        data = text.encode("utf-8", "replace")
        room = len(data) + 8
        tokens = (llama_cpp.llama_token * room)()
        count = llama_cpp.llama_tokenize(
            self._vocabulary, data, len(data), tokens, room, False, False
        )
        return list(tokens[:count])


def _set_adapter(context: Any, adapter: Any) -> int:
    """Not 0 if it failed. Versions of the library have either function."""
    if not hasattr(llama_cpp, "llama_set_adapters_lora"):
        return int(llama_cpp.llama_set_adapter_lora(context, adapter, 1.0))
    adapters = (llama_cpp.llama_adapter_lora_p_ctypes * 1)(adapter)
    weights = (ctypes.c_float * 1)(1.0)
    return int(llama_cpp.llama_set_adapters_lora(context, adapters, 1, weights))
