"""The child process in which native inference runs: one JSON line in, one JSON line out.

The first line holds the settings (`model_path`, `threads`, `memory_limit_mb`, and `context_tokens`
of a language model or `adapter_path` of the judge of links) and is answered by `{"ready": true}`.
Every further line is a request: the arguments of the session's `answer`. A failure is answered by
`{"error": "…"}`. The process ends with its standard input, also in the middle of an answer: whoever
held the other end is gone then, and may have been killed without a chance to say so.
"""

from __future__ import annotations

import ctypes
import json
import os
import sys
import threading
import time
from collections import OrderedDict
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path
from queue import SimpleQueue
from types import SimpleNamespace
from typing import Any, BinaryIO

import llama_cpp
import numpy as np
import numpy.typing as npt

from amem_cli.data import table
from amem_cli.models.judge_session import JudgeSession
from amem_cli.system.processes import limit_this

NICENESS = 5
NETWORK_CALLS = "bind connect getaddrinfo gethostbyaddr gethostbyname sendmsg sendto"
BATCH_TOKENS = 64
KEPT_PREFIX_BYTES = 128 * 2**20
LIKELY_TOKENS = 64
# No tokenizer makes fewer tokens of ordinary text; more text than this is cut before it is
# tokenised, whose time and memory would grow with it.
CHARACTERS_PER_TOKEN = 8
# Below this size of the file, threads take longer to wait for each other at every token than they
# save; a long prompt gains all the same.
SMALL_MODEL_BYTES = 512 * 2**20


def main() -> None:
    """Serve requests until standard input ends."""
    requests, answers = _lines(sys.stdin.buffer), _private_output()
    sys.addaudithook(_refuse_network)
    try:
        settings = json.loads(next(requests))
        limit_this(settings.pop("memory_limit_mb"), NICENESS)
        session = open_session(**settings)
    except Exception as error:
        _write(answers, {"error": _describe(error)})
        return
    _write(answers, {"ready": True})
    for line in requests:
        try:
            _write(answers, session.answer(**json.loads(line)))
        except Exception as error:
            _write(answers, {"error": _describe(error)})


def open_session(
    model_path: str, adapter_path: str = "", copy_path: str = "", **settings: Any
) -> LlamaSession | JudgeSession:
    """The session that the settings ask for; raises `ValueError` if llama.cpp cannot load it."""
    if b"OPENMP = 1" not in llama_cpp.llama_print_system_info():
        # Waiting threads spin there: if one is preempted, all stop. A core is left to others.
        settings["threads"] = min(settings["threads"], max(1, (os.cpu_count() or 2) - 1))
    if adapter_path:
        files = map(Path, (model_path, adapter_path))
        return JudgeSession(*files, copy_path=Path(copy_path), **settings)
    return LlamaSession(Path(model_path), **settings)


def _lines(source: BinaryIO) -> Iterator[bytes]:
    """The lines of a stream; its end is the end of the process."""
    received: SimpleQueue[bytes] = SimpleQueue()

    def read() -> None:
        for line in source:
            received.put(line)
        os._exit(0)

    threading.Thread(target=read, daemon=True).start()
    return iter(received.get, b"")


def _private_output() -> BinaryIO:
    """Keep the real output for answers alone; all other output is thrown away."""
    answers = os.fdopen(os.dup(1), "wb")
    nowhere = os.open(os.devnull, os.O_WRONLY)
    os.dup2(nowhere, 1)
    os.dup2(nowhere, 2)
    return answers


def _refuse_network(event: str, arguments: tuple[Any, ...]) -> None:
    if event.startswith("socket.") and event[7:] in NETWORK_CALLS.split():
        raise PermissionError("the model's process may not use the network")


def _describe(error: Exception) -> str:
    if isinstance(error, MemoryError):
        return "the memory limit is too small"
    # A model file can put any text of its own into an error of the library.
    text = "".join(letter if letter.isprintable() else " " for letter in str(error)[:2_000])
    return " ".join(f"{type(error).__name__} {text}".split())[:300]


def _write(answers: BinaryIO, message: dict[str, Any]) -> None:
    answers.write(json.dumps(message).encode("ascii") + b"\n")
    answers.flush()


class LlamaSession:
    """A model, its context window and the computed instructions of the last requests.

    Every answer is computed as "remembered instructions, then the text", so that the same request
    gets the same answer whatever was asked before.
    """

    def __init__(self, model_path: Path, *, threads: int, context_tokens: int) -> None:
        """Load the model; raises `ValueError` if llama.cpp cannot."""
        # The library compiles every template while it loads a model, and gives up if one is odd.
        library: Any = llama_cpp.llama_chat_format
        unused = SimpleNamespace(to_chat_handler=lambda: None)
        library.Jinja2ChatFormatter = lambda **_: unused
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

    def answer(
        self,
        instructions: str,
        text: str,
        grammar: str,
        max_tokens: int,
        seconds: float,
        examples: Sequence[Sequence[str]] = (),
    ) -> dict[str, Any]:
        """A `ModelAnswer` as a table: the model answers, greedily and within the grammar.

        Raises:
            ValueError: the request does not fit into the context window.
        """
        until = time.monotonic() + seconds
        opening, middle, closing, again = (
            self._tokens(self._format.get(part, self._format["middle"]), control=True)
            for part in ("opening", "middle", "closing", "again")
        )
        prefix = (*self._beginning(), *opening, *self._tokens(instructions), *middle)
        for shown, said in examples:
            prefix += (*self._tokens(shown), *closing, *self._tokens(said), *again)
        room = self.context_tokens - len(prefix) - len(closing) - max_tokens
        if room < 1:
            window = f"a context window of {self.context_tokens} tokens"
            raise ValueError(f"the instructions and the answer do not fit into {window}")
        words, truncated = self._fitted(text, room)
        reused = self._recall(prefix)
        timely = self._read(prefix[reused:], until)
        if timely:
            self._remember(prefix)
            timely = self._read([*words, *closing], until)
        tokens, complete = self._generate(grammar, max_tokens, until) if timely else ([], False)
        return {
            "text": self._llama.detokenize(tokens).decode("utf-8", "replace"),
            "complete": complete,
            "truncated": truncated,
            "prompt_tokens": len(prefix) + len(words) + len(closing),
            "reused_tokens": reused,
            "answer_tokens": len(tokens),
        }

    def _tokens(self, text: str, *, control: bool = False) -> list[int]:
        data = text.encode("utf-8", "replace")
        tokens: list[int] = self._llama.tokenize(data, add_bos=False, special=control)
        return tokens

    def _beginning(self) -> list[int]:
        """The token that begins every text, if this model wants one."""
        first = self._llama.token_bos()
        return [token for token in self._llama.tokenize(b"", add_bos=True) if token == first][:1]

    def _fitted(self, text: str, room: int) -> tuple[list[int], bool]:
        """The tokens of a text, without its middle if it is too long for the room."""
        longest = room * CHARACTERS_PER_TOKEN
        if len(text) <= longest:
            tokens = self._data_tokens(text)
            if len(tokens) <= room:
                return tokens, False
        # The end stays too: that is where questions are.
        end = room // 4
        first = self._data_tokens(text[: longest - end * CHARACTERS_PER_TOKEN])[: room - end]
        last = self._data_tokens(text[-end * CHARACTERS_PER_TOKEN :])[-end:] if end else []
        return [*first, *last], True

    def _data_tokens(self, text: str) -> list[int]:
        tokens = self._tokens(text)
        # Some vocabularies match their control tokens in plain text all the same.
        control = {
            token
            for token in set(tokens)
            if llama_cpp.llama_vocab_is_control(self._vocabulary, token)
            or llama_cpp.llama_vocab_is_eog(self._vocabulary, token)
        }
        return [token for token in tokens if token not in control]

    def _recall(self, prefix: tuple[int, ...]) -> int:
        """Reset the context to the prefix, or to nothing; the number of tokens it then holds."""
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
        """Compute the rest of the prompt; False if the time was up before its end."""
        for start in range(0, len(tokens), BATCH_TOKENS):
            if time.monotonic() >= until:
                return False
            self._llama.eval(tokens[start : start + BATCH_TOKENS])
        return True

    def _generate(self, grammar: str, max_tokens: int, until: float) -> tuple[list[int], bool]:
        answer: list[int] = []
        rules = llama_cpp.llama_sampler_init_grammar(
            self._vocabulary, grammar.encode("ascii"), b"root"
        )
        if not rules:
            raise RuntimeError("llama.cpp refuses the grammar")
        try:
            while len(answer) < max_tokens and time.monotonic() < until:
                token = self._next_token(rules)
                if llama_cpp.llama_vocab_is_eog(self._vocabulary, token):
                    return answer, True
                llama_cpp.llama_sampler_accept(rules, token)
                answer.append(token)
                self._llama.eval([token])
        finally:
            llama_cpp.llama_sampler_free(rules)
        return answer, False

    def _next_token(self, rules: Any) -> int:
        """The likeliest token that the grammar allows.

        The likeliest of all is tried first, alone: it is almost always allowed, and asking the
        grammar about a whole vocabulary takes longer than computing a token of a small model.
        """
        pointer = llama_cpp.llama_get_logits_ith(self._llama.ctx, -1)
        scores = np.ctypeslib.as_array(pointer, shape=(self._llama.n_vocab(),))
        for candidates in (
            lambda: np.array([scores.argmax()]),
            lambda: np.argpartition(scores, -min(LIKELY_TOKENS, len(scores)))[-LIKELY_TOKENS:],
            lambda: np.arange(len(scores)),
        ):
            token = best_allowed(rules, candidates(), scores)
            if token is not None:
                return token
        raise RuntimeError("no token fits the grammar")


_CANDIDATE = np.dtype([("id", np.int32), ("logit", np.float32), ("p", np.float32)])


def best_allowed(
    rules: Any, tokens: npt.NDArray[np.int64], scores: npt.NDArray[np.float32]
) -> int | None:
    """The token of the highest score among some, or None if the grammar allows none of them."""
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


# What surrounds the instructions and the text of a request. The template inside a model file is a
# program of its supplier's and is never run; instead the format is recognised by the control tokens
# of the model's vocabulary.
CHAT_FORMATS: list[dict[str, Any]] = table("chat_formats.toml")["formats"]


def chat_format_of(is_one_token: Callable[[str], bool]) -> dict[str, Any]:
    """The first format whose markers are all single tokens, if control tokens are read."""
    return next(each for each in CHAT_FORMATS if all(map(is_one_token, each["markers"])))


if __name__ == "__main__":
    main()
