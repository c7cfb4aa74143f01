"""Lets links of a text lead elsewhere, and keeps every other character of it."""

from __future__ import annotations

import posixpath
import re
from collections.abc import Callable
from typing import TYPE_CHECKING

from amem_cli.core.wikilinks import find_links, target_span

if TYPE_CHECKING:
    from amem_cli.core.wikilinks import WikiLink

_UNSAFE_IN_DESTINATION = re.compile(r"[\x00-\x20()<>\[\]\\%?#^|`\"']")


def redirected(text: str, new_target: Callable[[WikiLink], str | None]) -> str:
    """The text with other targets in its links; headings, blocks, display and embedding stay.

    Args:
        new_target: for a link the target to write, for a markdown link the destination as a path;
            None leaves it as it is.
    """
    spans: list[tuple[int, int, str]] = []
    for link in find_links(text):
        target = new_target(link) if link.target else None
        if target is None:
            continue
        start, end = target_span(text, link)
        if link.style == "markdown" and text[start - 1] != "<":
            target = _UNSAFE_IN_DESTINATION.sub(_percent_encoded, target)
        spans.append((start, end, target))
    parts: list[str] = []
    done = 0
    # One link may stand in the shown text of another, so they do not come in this order.
    for start, end, target in sorted(spans):
        parts += [text[done:start], target]
        done = end
    return "".join([*parts, text[done:]])


def destination(path: str, source: str, written: str) -> str:
    """A markdown link's path from the note at `source` to `path`, both from the vault's root.

    Args:
        written: how the link said it before; one from the root stays one.
    """
    if written.startswith("/"):
        return f"/{path}"
    return posixpath.relpath(path, posixpath.dirname(source) or ".")


def _percent_encoded(match: re.Match[str]) -> str:
    return f"%{ord(match[0]):02X}"
