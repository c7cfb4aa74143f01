"""GGUF files: telling one from other files, its digest, and the memory that it takes."""

from __future__ import annotations

import hashlib
import stat
from collections.abc import Callable
from pathlib import Path

MAGIC = b"GGUF"
# What a model takes beside its weights: the context window, and room for computing.
_BESIDE_WEIGHTS = 2**30


def is_gguf(path: Path) -> bool:
    """Whether a path is a regular file that begins as GGUF does; raises `OSError`."""
    # A pipe would wait for somebody to write.
    if not stat.S_ISREG(path.stat().st_mode):
        return False
    with path.open("rb") as file:
        return file.read(len(MAGIC)) == MAGIC


def memory_needed(size: int) -> int:
    """Bytes of memory that a model with so many bytes of weights takes, roughly."""
    return size + _BESIDE_WEIGHTS


def sha256_of(path: Path, progress: Callable[[int, int], None]) -> str:
    """The digest of a file, hexadecimal."""
    digest, done, size = hashlib.sha256(), 0, path.stat().st_size
    with path.open("rb") as stream:
        while block := stream.read(2**20):
            digest.update(block)
            done += len(block)
            progress(done, size)
    return digest.hexdigest()
