"""What a tool is: a description for a model that chooses, schemas, and the work."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, TypeAlias

if TYPE_CHECKING:
    from amem_cli.agents.arguments import Schema
    from amem_cli.wiring import Workspace

Document: TypeAlias = "dict[str, Any]"


Work: TypeAlias = "Callable[[Workspace, Mapping[str, Any]], Document]"


@dataclass(frozen=True, slots=True)
class Policy:
    """What agents may do.

    Attributes:
        writes: notes may be added and changed.
        deletes: notes may be moved to the trash.
        sees_private: notes with `private: true` are shown.
    """

    writes: bool = True
    deletes: bool = False
    sees_private: bool = False


@dataclass(frozen=True, slots=True)
class Tool:
    """One tool.

    Attributes:
        run: does the call; gives the result, without the notice that all results bear.
        result: JSON schema of the result's properties.
        asks_model: it may wait for the language model, during which other calls are answered.
        writes: it changes notes; not offered if agents may only read.
        deletes: it takes a note away; offered only if the user allowed that.
        overwrites: what it changes was there before.
        repeatable: calling it again with the same arguments changes nothing more.
    """

    name: str
    title: str
    description: str
    takes: Schema
    result: Mapping[str, Schema]
    run: Work
    asks_model: bool = False
    writes: bool = False
    deletes: bool = False
    overwrites: bool = False
    repeatable: bool = False
