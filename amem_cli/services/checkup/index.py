"""Checks the index against the notes and the journal."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from contextlib import AbstractContextManager

from amem_cli.core.errors import IndexFault
from amem_cli.core.finding import Finding, Mend
from amem_cli.services.check import check_index
from amem_cli.services.vault_ports import VaultPorts

PLACE = ".amem/index.db"
_SHOWN = 3

# The vault over a copy of its index; None where there is no index.
OpenCopy = Callable[[], AbstractContextManager[VaultPorts | None]]


def index_findings(
    open_copy: OpenCopy, *, update: Mend | None, rebuild: Mend | None
) -> Iterator[Finding]:
    """Whether the index is there, can be used, and says what the notes say.

    Args:
        update, rebuild: bring it in step; make it anew from nothing.
    """
    hint = "Nothing is lost: `amem index` makes it from the notes."
    try:
        with open_copy() as ports:
            if ports is None:
                yield Finding("index", PLACE, "there is no index", hint, mend=update)
                return
            differences = check_index(ports)
    except IndexFault as fault:
        yield Finding("index", PLACE, fault.message, hint, mend=rebuild)
        return
    if differences:
        yield Finding(
            "index",
            PLACE,
            f"is not in step with the vault: {_summary(differences)}",
            "`amem index` brings it up to date, as most commands do by themselves.",
            mend=update,
        )


def _summary(differences: Sequence[str]) -> str:
    shown = "; ".join(differences[:_SHOWN])
    more = len(differences) - _SHOWN
    return shown if more <= 0 else f"{shown}; and {more} more"
