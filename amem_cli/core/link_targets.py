"""Gives links of a text other targets and keeps every other character."""

from __future__ import annotations

import re
from collections.abc import Callable
from urllib.parse import quote

from amem_cli.core.wikilinks import WikiLink, find_links

# Given a link: its new target, or None to leave it as it stands.
Retarget = Callable[[WikiLink], str | None]
# Given a link and its text: what stands there instead, or None.
Rewrite = Callable[[WikiLink, str], "str | None"]

_DESTINATION = re.compile(r"(\(\s{0,20})(?:<[^<>\n]*>|[^\s()]*(?:\([^\s()]*\)[^\s()]*)*)")
_BRACKETS = re.compile(r"[\[\]\\]")
_BLANKS = re.compile(r"\s")
_SAFE_IN_DESTINATION = "/._-~!$&'*+,;=:@"


def retarget_links(text: str, retarget: Retarget) -> str:
    """The text with links led elsewhere; what a reader sees of them stays as it was.

    Links in code and comments are left alone, as they are no links.
    """

    def rewrite(link: WikiLink, source: str) -> str | None:
        target = retarget(link)
        if target is None:
            return None
        write = _wikilink if link.style == "wikilink" else _markdown_link
        return write(link, source, target)

    return rewrite_links(text, rewrite)


def rewrite_links(text: str, rewrite: Rewrite) -> str:
    """The text with links replaced; those within another link that is replaced stay."""
    pieces: list[str] = []
    position = 0
    for link in find_links(text):
        if link.start < position:
            continue
        new = rewrite(link, text[link.start : link.end])
        if new is not None:
            pieces += (text[position : link.start], new)
            position = link.end
    return "".join([*pieces, text[position:]])


def markdown_link(shown: str, path: str, fragment: str = "", *, picture: bool = False) -> str:
    """A link as any markdown program reads it; blanks and what ends a link are escaped."""
    text = _BRACKETS.sub(r"\\\g<0>", shown)
    anchor = f"#{quote(fragment, safe=_SAFE_IN_DESTINATION)}" if fragment else ""
    return f"{'!' if picture else ''}[{text}]({quote(path, safe=_SAFE_IN_DESTINATION)}{anchor})"


def heading_anchor(heading: str) -> str:
    """The anchor that most programs give a heading: small letters, blanks as hyphens."""
    last = heading.rpartition("#")[2].strip().lower()
    return _BLANKS.sub("-", "".join(each for each in last if each.isalnum() or each in " -_"))


def _wikilink(link: WikiLink, source: str, target: str) -> str:
    bar = r"\|" if r"\|" in source else "|"
    fragment = f"#{link.fragment}" if link.fragment else ""
    shown = link.display
    if not shown and not link.embed:
        shown = link.target + (f" > {link.fragment}" if link.fragment else "")
    mark = "!" if link.embed else ""
    said = f"{bar}{shown}" if shown and shown != target else ""
    return f"{mark}[[{target}{fragment}{said}]]"


def _markdown_link(link: WikiLink, source: str, target: str) -> str:
    start = source.rfind("](")
    destination = quote(target, safe=_SAFE_IN_DESTINATION)
    if link.fragment:
        destination += "#" + quote(link.fragment, safe=_SAFE_IN_DESTINATION + "^#")
    head, tail = source[: start + 1], source[start + 1 :]
    return head + _DESTINATION.sub(lambda found: found[1] + destination, tail, count=1)
