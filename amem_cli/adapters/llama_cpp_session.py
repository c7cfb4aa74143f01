"""One loaded GGUF model that answers requests in JSON of a grammar, inside the worker process."""

from __future__ import annotations

import ctypes
import os
import time
from collections import OrderedDict
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import llama_cpp
import numpy as np
import numpy.typing as npt

from amem_cli.adapters.llama_chat_format import chat_format_of

BATCH_TOKENS = 64
KEPT_PREFIX_BYTES = 128 * 2**20
LIKELY_TOKENS = 64
# No tokenizer makes fewer tokens of ordinary text; more text than this is cut before it is
# tokenised, whose time and memory would grow with it.
CHARACTERS_PER_TOKEN = 8
# Below this size of the file, threads take longer to wait for each other at every token than they
# save; a long prompt gains all the same.
SMALL_MODEL_BYTES = 512 * 2**20


class PromptTooLong(ValueError):
    """The instructions and the answer alone fill the context window."""


@dataclass(frozen=True, slots=True)
class Spoken:
    """What the model said.

    Attributes:
        complete: the model ended the answer itself.
        truncated: the middle of the request's text did not fit into the context window.
        prompt_tokens: all of the prompt, also what was remembered.
        reused_tokens: those of the prompt that were not computed again.
    """

    text: str
    complete: bool
    truncated: bool
    prompt_tokens: int
    reused_tokens: int
    answer_tokens: int


class LlamaSession:
    """A model, its context window and the computed instructions of the last requests.

    Every answer is computed as "remembered instructions, then the text", so that the same request
    gets the same answer whatever was asked before.
    """

    def __init__(self, model_path: Path, *, threads: int, context_tokens: int) -> None:
        """Load the model.

        Raises:
            ValueError: llama.cpp cannot load the file.
        """
        _leave_templates_alone()
        threads = _harmless_threads(threads)
        small = model_path.stat().st_size < SMALL_MODEL_BYTES
        self._llama: Any = llama_cpp.Llama(
            str(model_path),
            n_ctx=context_tokens,
            n_batch=BATCH_TOKENS,
            n_ubatch=BATCH_TOKENS,
            n_threads=1 if small else threads,
            n_threads_batch=threads,
            verbose=False,
        )
        trained = llama_cpp.llama_model_n_ctx_train(self._llama.model)
        self.context_tokens = min(self._llama.n_ctx(), trained if trained > 0 else context_tokens)
        self._vocabulary = llama_cpp.llama_model_get_vocab(self._llama.model)
        self._format = chat_format_of(lambda marker: len(self._tokens(marker, control=True)) == 1)
        self._prefixes: OrderedDict[tuple[int, ...], bytes] = OrderedDict()
        self._current: tuple[int, ...] = ()

    @property
    def chat_format(self) -> str:
        """Name of the format in which the model is asked."""
        return self._format.name

    def answer(
        self, instructions: str, text: str, grammar: str, max_tokens: int, seconds: float
    ) -> Spoken:
        """Let the model answer, greedily and within the grammar.

        Raises:
            PromptTooLong: even an empty text does not fit.
            RuntimeError: llama.cpp refuses the grammar or cannot compute.
        """
        until = time.monotonic() + seconds
        opening = [*self._beginning(), *self._tokens(self._format.opening, control=True)]
        middle = self._tokens(self._format.middle, control=True)
        prefix = (*opening, *self._tokens(instructions), *middle)
        closing = self._tokens(self._format.closing, control=True)
        room = self.context_tokens - len(prefix) - len(closing) - max_tokens
        if room < 1:
            window = f"a context window of {self.context_tokens} tokens"
            raise PromptTooLong(f"the instructions and the answer do not fit into {window}")
        words, truncated = self._fitted(text, room)
        reused = self._recall(prefix)
        timely = self._read(prefix[reused:], until)
        if timely:
            self._remember(prefix)
            timely = self._read([*words, *closing], until)
        said, complete = self._speak(grammar, max_tokens, until) if timely else ([], False)
        return Spoken(
            text=self._llama.detokenize(said).decode("utf-8", "replace"),
            complete=complete,
            truncated=truncated,
            prompt_tokens=len(prefix) + len(words) + len(closing),
            reused_tokens=reused,
            answer_tokens=len(said),
        )

    def _tokens(self, text: str, *, control: bool = False) -> list[int]:
        data = text.encode("utf-8", "replace")
        tokens: list[int] = self._llama.tokenize(data, add_bos=False, special=control)
        return tokens

    def _beginning(self) -> list[int]:
        """The token that begins every text, where this model wants one."""
        first = self._llama.token_bos()
        return [token for token in self._llama.tokenize(b"", add_bos=True) if token == first][:1]

    def _fitted(self, text: str, room: int) -> tuple[list[int], bool]:
        """The tokens of a text, without its middle where it is too long for the room."""
        longest = room * CHARACTERS_PER_TOKEN
        if len(text) <= longest:
            tokens = self._data_tokens(text)
            if len(tokens) <= room:
                return tokens, False
        # The end stays too: questions stand there.
        end = room // 4
        first = self._data_tokens(text[: longest - end * CHARACTERS_PER_TOKEN])[: room - end]
        last = self._data_tokens(text[-end * CHARACTERS_PER_TOKEN :])[-end:] if end else []
        return [*first, *last], True

    def _data_tokens(self, text: str) -> list[int]:
        tokens = self._tokens(text)
        # Some vocabularies match their control tokens in plain text all the same.
        control = {token for token in set(tokens) if self._is_control(token)}
        return [token for token in tokens if token not in control]

    def _is_control(self, token: int) -> bool:
        vocabulary = self._vocabulary
        return bool(
            llama_cpp.llama_vocab_is_control(vocabulary, token)
            or llama_cpp.llama_vocab_is_eog(vocabulary, token)
        )

    def _recall(self, prefix: tuple[int, ...]) -> int:
        """Bring the context to the prefix or to nothing; give the tokens that it then holds."""
        memory = llama_cpp.llama_get_memory(self._llama.ctx)
        held = len(prefix)
        if self._current != prefix or not llama_cpp.llama_memory_seq_rm(memory, 0, held, -1):
            self._llama.reset()
            llama_cpp.llama_memory_clear(memory, True)
            held = len(prefix) if self._restore(prefix) else 0
        self._current = ()
        self._llama.n_tokens = held
        return held

    def _restore(self, prefix: tuple[int, ...]) -> bool:
        saved = self._prefixes.get(prefix)
        if saved is None:
            return False
        data = (ctypes.c_uint8 * len(saved)).from_buffer_copy(saved)
        self._prefixes.move_to_end(prefix)
        return bool(llama_cpp.llama_state_seq_set_data(self._llama.ctx, data, len(saved), 0))

    def _remember(self, prefix: tuple[int, ...]) -> None:
        self._current = prefix
        size = llama_cpp.llama_state_seq_get_size(self._llama.ctx, 0)
        if prefix in self._prefixes or not 0 < size <= KEPT_PREFIX_BYTES:
            return
        data = (ctypes.c_uint8 * size)()
        written = llama_cpp.llama_state_seq_get_data(self._llama.ctx, data, size, 0)
        self._prefixes[prefix] = bytes(memoryview(data)[:written])
        while sum(map(len, self._prefixes.values())) > KEPT_PREFIX_BYTES:
            self._prefixes.popitem(last=False)

    def _read(self, tokens: Sequence[int], until: float) -> bool:
        """Compute the rest of the prompt; False where the time was up before its end."""
        for start in range(0, len(tokens), BATCH_TOKENS):
            if time.monotonic() >= until:
                return False
            self._llama.eval(tokens[start : start + BATCH_TOKENS])
        return True

    def _speak(self, grammar: str, max_tokens: int, until: float) -> tuple[list[int], bool]:
        said: list[int] = []
        rules = llama_cpp.llama_sampler_init_grammar(
            self._vocabulary, grammar.encode("ascii"), b"root"
        )
        if not rules:
            raise RuntimeError("llama.cpp refuses the grammar")
        try:
            while len(said) < max_tokens and time.monotonic() < until:
                token = self._next_token(rules)
                if llama_cpp.llama_vocab_is_eog(self._vocabulary, token):
                    return said, True
                llama_cpp.llama_sampler_accept(rules, token)
                said.append(token)
                self._llama.eval([token])
        finally:
            llama_cpp.llama_sampler_free(rules)
        return said, False

    def _next_token(self, rules: Any) -> int:
        """The likeliest token that the grammar allows.

        The likeliest of all is tried first, alone: it is almost always allowed, and asking the
        grammar about a whole vocabulary takes longer than computing a token of a small model.
        """
        pointer = llama_cpp.llama_get_logits_ith(self._llama.ctx, -1)
        scores = np.ctypeslib.as_array(pointer, shape=(self._llama.n_vocab(),))
        for count in (1, LIKELY_TOKENS, len(scores)):
            token = best_allowed(rules, _likeliest(scores, count), scores)
            if token is not None:
                return token
        raise RuntimeError("no token fits the grammar")


class _UnusedTemplate:
    """Stands where the library would compile the program that a model file brings."""

    def __init__(self, **_: object) -> None:
        pass

    def to_chat_handler(self) -> None:
        return None


def _leave_templates_alone() -> None:
    # The library compiles every template while it loads a model, and gives up where one is odd.
    library: Any = llama_cpp.llama_chat_format
    library.Jinja2ChatFormatter = _UnusedTemplate


def _harmless_threads(threads: int) -> int:
    """Leave a core to others where waiting threads spin, for then one preempted stops all."""
    if b"OPENMP = 1" in llama_cpp.llama_print_system_info():
        return threads
    return min(threads, max(1, (os.cpu_count() or 2) - 1))


_CANDIDATE = np.dtype([("id", np.int32), ("logit", np.float32), ("p", np.float32)])


def _likeliest(scores: npt.NDArray[np.float32], count: int) -> npt.NDArray[np.int64]:
    if count == 1:
        return np.array([scores.argmax()])
    if count >= len(scores):
        return np.arange(len(scores))
    return np.argpartition(scores, -count)[-count:]


def best_allowed(
    rules: Any, tokens: npt.NDArray[np.int64], scores: npt.NDArray[np.float32]
) -> int | None:
    """The token of the highest score among some, or None where the grammar allows none of them."""
    candidates = np.zeros(len(tokens), dtype=_CANDIDATE)
    candidates["id"] = tokens
    candidates["logit"] = scores[tokens]
    array = llama_cpp.llama_token_data_array(
        data=candidates.ctypes.data_as(ctypes.POINTER(llama_cpp.llama_token_data)),
        size=len(tokens),
        selected=-1,
        sorted=False,
    )
    llama_cpp.llama_sampler_apply(rules, ctypes.byref(array))
    best = int(candidates["logit"].argmax())
    return int(candidates["id"][best]) if np.isfinite(candidates["logit"][best]) else None
