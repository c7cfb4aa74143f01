"""amem: a command-line Zettelkasten that organises itself."""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from amem_cli.errors import AmemError
    from amem_cli.library import AgenticMemorySystem, MemoryNote

__all__ = ["AgenticMemorySystem", "AmemError", "MemoryNote"]


def __getattr__(name: str) -> object:
    # The program itself needs none of this, and starts without it.
    if name == "AmemError":
        from amem_cli.errors import AmemError

        return AmemError
    if name in __all__:
        from amem_cli import library

        return getattr(library, name)
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
