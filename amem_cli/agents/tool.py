"""What a tool is: a description for a model that chooses, schemas, and the work."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, TypeAlias

if TYPE_CHECKING:
    from amem_cli.agents.arguments import Schema
    from amem_cli.agents.lanes import Call
    from amem_cli.agents.open_vault import OpenVault

Document: TypeAlias = "dict[str, Any]"


@dataclass(frozen=True, slots=True)
class Later:
    """The part of a call that takes seconds, during which others are answered."""

    work: Callable[[], Document]


Work: TypeAlias = "Callable[[OpenVault, Mapping[str, Any], Call], Document | Later]"


@dataclass(frozen=True, slots=True)
class Tool:
    """One tool.

    Attributes:
        run: does the call; gives the result, without the notice that all results bear.
        result: JSON schema of the result's properties.
        writes: it changes notes; not offered where agents may only read.
        deletes: it takes a note away; offered only where the user allowed that.
        overwrites: what it changes was there before.
        repeatable: calling it again with the same arguments changes nothing more.
    """

    name: str
    title: str
    description: str
    takes: Schema
    result: Mapping[str, Schema]
    run: Work
    writes: bool = False
    deletes: bool = False
    overwrites: bool = False
    repeatable: bool = False
