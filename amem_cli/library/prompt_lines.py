"""Memories as the lines of text that A-MEM puts into an agent's prompt."""

from __future__ import annotations

from amem_cli.library.notes import MemoryNote


def prompt_line(memory: MemoryNote) -> str:
    """One memory on one line, its parts set apart by tabs."""
    parts = (
        f"talk start time:{memory.timestamp}",
        f"memory content: {memory.content}",
        f"memory context: {memory.context}",
        f"memory keywords: {memory.keywords}",
        f"memory tags: {memory.tags}",
    )
    return "\t".join(parts) + "\n"


def numbered_line(number: int, memory: MemoryNote) -> str:
    """The same with the memory's place among those found, from 0."""
    return f"memory index:{number}\t{prompt_line(memory)}"
