"""Options that say which notes are meant: `--since`, `--until` and `--path`."""

from __future__ import annotations

from datetime import datetime, time
from typing import Annotated

import typer

from amem_cli.core.errors import UsageError

_WAYS = "2026-03-02, 2026-03, 7d, yesterday, 'last week'"
SinceOption = Annotated[str | None, typer.Option(help=f"Created on this day or later: {_WAYS}.")]
UntilOption = Annotated[
    str | None, typer.Option(help="Created on this day or earlier, named in the same ways.")
]
PathOption = Annotated[
    str, typer.Option(help="Only in this folder, or where the path is like this: 'daily/2026-*'.")
]


def first_day(text: str | None, option: str) -> datetime | None:
    """The beginning of what an option names.

    Raises:
        UsageError: it is no day.
    """
    return _bound(text, option, 0)


def last_day(text: str | None, option: str) -> datetime | None:
    """The last day of what an option names.

    Raises:
        UsageError: it is no day.
    """
    return _bound(text, option, 1)


def _bound(text: str | None, option: str, end: int) -> datetime | None:
    if text is None:
        return None
    from amem_cli.core.relative_days import day_range

    try:
        day = day_range(text, datetime.now().date())
    except ValueError:
        raise UsageError(
            f"{option} {text!r} is no date",
            hint="Write it as 2026-03-02, 2026-03, 7d, yesterday or 'last week'.",
        ) from None
    return datetime.combine(day[end], time())
