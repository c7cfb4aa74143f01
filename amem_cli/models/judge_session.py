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

# Tokens of a newer note and of an older one.
CONTEXT_TOKENS = 2_048
# Tokens that are computed at once; the time is looked at between them. An older note is read alone:
# what is computed beside it would change the last digits of its answer.
BATCH_TOKENS = 256
_COPYING_SECONDS = 60.0


class JudgeSession:
    """A model with its adapter, and a context in which each older note follows the newer one,
    whose tokens are computed once."""

    def __init__(
        self, model_path: Path, adapter_path: Path, *, copy_path: Path, threads: int
    ) -> None:
        """Load both; raises `ValueError` if llama.cpp cannot.

        Args:
            copy_path: where a copy of the model is kept that takes two thirds of the time.
        """
        self._llama: Any = None
        if copy_path.is_file() or _copy_in_8_bits(model_path, copy_path, threads):
            with suppress(ValueError):
                self._llama = _loaded(copy_path, threads)
        self._llama = self._llama or _loaded(model_path, threads)
        adapter = llama_cpp.llama_adapter_lora_init(self._llama.model, os.fsencode(adapter_path))
        if not adapter or _set_adapter(self._llama.ctx, adapter):
            raise ValueError(f"{adapter_path.name} does not fit {model_path.name}")
        self._until = 0.0
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
        first = [*self._newer, *self._note(newer, most_tokens), *self._between]
        judged: list[list[float]] = []
        with suppress(TimeoutError):
            self._read(first, 0)
            for older in olders:
                text = [*self._older, *self._note(older, most_tokens), *self._question]
                if len(first) + len(text) > CONTEXT_TOKENS:
                    break
                judged.append(self._read(text, len(first)))
        return {"judged": judged}

    def _read(self, tokens: Sequence[int], begin: int) -> list[float]:
        """Compute tokens from a position on; the logits of the answers behind the last one."""
        # Of what was computed before, so much is kept.
        self._llama.n_tokens = begin
        for start in range(0, len(tokens), BATCH_TOKENS):
            if time.monotonic() > self._until:
                raise TimeoutError
            self._llama.eval(tokens[start : start + BATCH_TOKENS])
        pointer = llama_cpp.llama_get_logits_ith(self._llama.ctx, -1)
        logits = np.ctypeslib.as_array(pointer, shape=(self._llama.n_vocab(),))[self._answers]
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
        tokens: list[int] = self._llama.tokenize(data, add_bos=False, special=False)
        return tokens


def _loaded(model_path: Path, threads: int) -> Any:
    # On the processor, so that every machine says the same, within its memory limit.
    return llama_cpp.Llama(
        str(model_path),
        n_gpu_layers=0,
        n_ctx=CONTEXT_TOKENS,
        n_batch=BATCH_TOKENS,
        n_ubatch=BATCH_TOKENS,
        n_threads=threads,
        n_threads_batch=threads,
        offload_kqv=False,
        op_offload=False,
        flash_attn=True,
        verbose=False,
    )


def _copy_in_8_bits(model_path: Path, copy_path: Path, threads: int) -> bool:
    """Write weights of 4 bits as ones of 8, which llama.cpp multiplies faster; whether it could."""
    how = llama_cpp.llama_model_quantize_default_params()
    how.ftype, how.allow_requantize = llama_cpp.LLAMA_FTYPE_MOSTLY_Q8_0, True
    how.nthread = threads
    part = copy_path.with_suffix(".part")
    try:
        copy_path.parent.mkdir(parents=True, exist_ok=True)
        with suppress(FileNotFoundError):
            # Another process is at it, or was ended in the middle.
            if time.time() - part.stat().st_mtime < _COPYING_SECONDS:
                return False
            part.unlink()
        part.touch(exist_ok=False)
        given = os.fsencode(model_path), os.fsencode(part), ctypes.byref(how)
        if llama_cpp.llama_model_quantize(*given):
            part.unlink()
            return False
        part.replace(copy_path)
    except OSError:
        return False
    return True


def _set_adapter(context: Any, adapter: Any) -> int:
    """Not 0 if it failed. Versions of the library have either function."""
    if not hasattr(llama_cpp, "llama_set_adapters_lora"):
        return int(llama_cpp.llama_set_adapter_lora(context, adapter, 1.0))
    adapters = (llama_cpp.llama_adapter_lora_p_ctypes * 1)(adapter)
    weights = (ctypes.c_float * 1)(1.0)
    return int(llama_cpp.llama_set_adapters_lora(context, adapters, 1, weights))
