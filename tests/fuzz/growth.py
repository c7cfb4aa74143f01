"""Tells readers whose work grows in proportion to their input from those whose work explodes."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator

_SMALLEST = 3_125
_NOISE_SECONDS = 0.03
_STEEP = 3.0


def grows_in_proportion(
    reader: Callable[[str], object], text_of: Callable[[int], str], largest: int
) -> None:
    """Fail where doubling the text more than triples the work, twice in a row.

    Work is processor time of this thread: what other processes do does not count. Proportional
    work doubles, quadratic work grows fourfold; it is seen on a small text, before it would hang.

    Args:
        text_of: a text of about so many characters.
        largest: characters of the longest text.
    """
    steep = 0
    before = None
    for size in _sizes(largest):
        text = text_of(size)
        work = min(_work(reader, text) for _ in range(2)) if before else _work(reader, text)
        if before is not None and work > _NOISE_SECONDS:
            steep = steep + 1 if work > _STEEP * max(before, _NOISE_SECONDS / 4) else 0
        assert steep < 2, f"work grows faster than the text, from {size} characters on"
        before = work


def _sizes(largest: int) -> Iterator[int]:
    size = _SMALLEST
    while size <= largest:
        yield size
        size *= 2


def _work(reader: Callable[[str], object], text: str) -> float:
    start = time.thread_time()
    reader(text)
    return time.thread_time() - start
