"""Finds conflicts that git left in a text."""

from __future__ import annotations

import re

from amem_cli.core.markdown_regions import blank_out, find_regions

_MARKERS = re.compile(r"^<{7}(?: |\r?$)|^={7}\r?$|^>{7}(?: |\r?$)", re.MULTILINE)


def conflict_line(text: str) -> int:
    """The 1-based line where the first whole conflict begins; 0 where there is none.

    One that is shown in code does not count.
    """
    if "<<<<<<<" not in text or ">>>>>>>" not in text:
        return 0
    visible = blank_out(
        text,
        ((each.start, each.end) for each in find_regions(text) if each.kind in ("fence", "code")),
    )
    expected, first = "<=>", 0
    for mark in _MARKERS.finditer(visible):
        if mark[0][0] != expected[0]:
            if mark[0][0] != "<":
                continue
            expected = "<=>"
        if mark[0][0] == "<":
            first = visible.count("\n", 0, mark.start()) + 1
        expected = expected[1:]
        if not expected:
            return first
    return 0
