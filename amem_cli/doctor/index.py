"""Checks the index against the notes and the journal."""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterator, Sequence
from contextlib import AbstractContextManager

from amem_cli.core.errors import IndexFault
from amem_cli.doctor.finding import Finding, Mend
from amem_cli.services.check import check_index
from amem_cli.services.vault_ports import VaultPorts

PLACE = ".amem/index.db"
_SHOWN = 3

# The vault over a copy of its index; None where there is no index.
OpenCopy = Callable[[], AbstractContextManager[VaultPorts | None]]


# What every command that reads the vault catches up with; any other difference is damage.
_BEHIND = (
    ": not in the index",
    ": in the index, but gone",
    ": changed since it was indexed",
    ": events not in the index",
    ": not the journal that was indexed",
)


def index_findings(
    open_copy: OpenCopy,
    unread: Collection[str],
    *,
    update: Mend | None,
    rebuild: Mend | None,
) -> Iterator[Finding]:
    """Whether the index is there, can be used, and says what the notes say.

    Args:
        unread: paths of notes and folders that cannot be read now; the index cannot be compared
            with them, and another check tells them.
        update, rebuild: bring it in step; make it anew from nothing.
    """
    hint = "Nothing is lost: `amem index` makes it from the notes."
    try:
        with open_copy() as ports:
            if ports is None:
                yield Finding("index", PLACE, "there is no index", hint, mend=update)
                return
            differences = index_differences(ports, unread)
    except IndexFault as fault:
        yield Finding("index", PLACE, fault.message, hint, mend=rebuild)
        return
    if differences:
        yield Finding(
            "index",
            PLACE,
            f"is not in step with the vault: {_summary(differences)}",
            "`amem index` brings it up to date, as most commands do by themselves; otherwise"
            " `amem index --rebuild`.",
            severity="notice" if all(each.endswith(_BEHIND) for each in differences) else "problem",
            mend=update,
        )


def index_differences(ports: VaultPorts, unread: Collection[str]) -> list[str]:
    """Differences between index and vault, one line each, but for what cannot be read now."""
    hidden = tuple(f"{path}{end}" for path in unread for end in (": ", "/"))
    return [each for each in check_index(ports) if not each.startswith(hidden)]


def _summary(differences: Sequence[str]) -> str:
    shown = "; ".join(differences[:_SHOWN])
    more = len(differences) - _SHOWN
    return shown if more <= 0 else f"{shown}; and {more} more"
