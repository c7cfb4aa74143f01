"""amem: a command-line Zettelkasten that organises itself."""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from amem_cli.library import AgenticMemorySystem

__all__ = ["AgenticMemorySystem"]


def __getattr__(name: str) -> object:
    # The program itself needs none of this, and starts without it.
    if name == "AgenticMemorySystem":
        from amem_cli.library import AgenticMemorySystem

        return AgenticMemorySystem
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
