"""The calls of A-MEM's own library (github.com/agiresearch/A-mem) over a vault."""

from amem_cli.library.notes import MemoryNote
from amem_cli.library.system import AgenticMemorySystem

__all__ = ["AgenticMemorySystem", "MemoryNote"]
