"""Turns pages of a Logseq graph into notes that Obsidian reads."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from urllib.parse import unquote

from amem_cli.markdown.regions import find_regions

JOURNALS = "journals/"
PAGES = "pages/"

_PROPERTY = re.compile(r"[ \t]{0,40}(?:- )?([A-Za-z][\w.?!/-]{0,60})::(?=\s|\Z)(.*)", re.DOTALL)
_BLOCK_ID = re.compile(r"^[ \t]*id::[ \t]+([0-9a-fA-F-]{36})[ \t]*\r?$", re.MULTILINE)
_UUID = r"[0-9a-fA-F]{8}-(?:[0-9a-fA-F]{4}-){3}[0-9a-fA-F]{12}"
_REFERENCE = re.compile(
    rf"(?P<embed>\{{\{{embed[ \t]+)?(?:\[(?P<shown>[^\[\]\n]{{1,300}})\]\()?\(\((?P<id>{_UUID})\)\)"
    r"(?P<closing>\)|\}\})?"
    r"|\{\{embed[ \t]+\[\[(?P<page>[^\[\]\n]{1,300})\]\][ \t]*\}\}"
)
_JOURNAL = re.compile(r"journals/([0-9]{4})[_-]([0-9]{2})[_-]([0-9]{2})\.(?:md|markdown)\Z", re.I)
_LIST_ITEM = re.compile(r"\s*(?:#?\[\[([^\[\]]{1,300})\]\]|#?([^,，]+))")
_MONTHS = "January February March April May June July August September October November December"
_DAYS = ("Monday", "Tuesday", "Wednesday", "Thursday", "Friday", "Saturday", "Sunday")

# Given a block's id: the name of the page that holds it, or None.
PageOf = Callable[[str], str | None]


@dataclass(frozen=True, slots=True)
class LogseqPage:
    """A page as a note.

    Attributes:
        unresolved: ids of blocks that it refers to and no page holds.
    """

    body: str
    tags: tuple[str, ...]
    aliases: tuple[str, ...]
    title: str
    created: str
    properties: dict[str, str | tuple[str, ...]]
    unresolved: tuple[str, ...]


def page_name(path: str) -> str:
    """The page that a file holds: `a___b`, `a%2Fb` and `a.b` of old graphs are namespaces.

    Args:
        path: relative to the graph, with its ending.
    """
    stem = path.rsplit("/", 1)[-1].rsplit(".", 1)[0]
    return unquote(stem.replace("___", "/"))


def note_path(path: str) -> str:
    """Where the note of a page lies: a namespace is a folder, a journal's day is `2026-03-02`."""
    journal = _JOURNAL.match(path)
    if journal is not None:
        return f"{JOURNALS}{journal[1]}-{journal[2]}-{journal[3]}.md"
    folder = path.rpartition("/")[0]
    parts = [part.strip() for part in page_name(path).split("/")]
    name = "/".join(part for part in parts if part not in ("", ".", ".."))
    return f"{folder}/{name}.md" if folder else f"{name}.md"


def journal_names(path: str) -> tuple[str, ...]:
    """The names by which pages link to a journal's day in the usual formats of dates."""
    journal = _JOURNAL.match(path)
    if journal is None:
        return ()
    from datetime import date

    try:
        day = date(int(journal[1]), int(journal[2]), int(journal[3]))
    except ValueError:
        return ()
    month = _MONTHS.split()[day.month - 1]
    number, iso = day.day, day.isoformat()
    ending = (
        "th" if 10 <= number % 100 <= 20 else {1: "st", 2: "nd", 3: "rd"}.get(number % 10, "th")
    )
    weekday = _DAYS[day.weekday()]
    return (
        f"{month[:3]} {number}{ending}, {day.year}",
        f"{month} {number}{ending}, {day.year}",
        iso,
        iso.replace("-", "_"),
        iso.replace("-", "/"),
        iso.replace("-", ""),
        f"{iso} {weekday}",
        f"{weekday}, {iso}",
        f"{weekday[:3]}, {iso}",
        f"{day.day:02}-{day.month:02}-{day.year}",
    )


def block_ids(text: str) -> Iterator[str]:
    """Ids that blocks of a page carry."""
    if "id::" in text:
        yield from (match[1].lower() for match in _BLOCK_ID.finditer(text))


def convert_page(text: str, page_of: PageOf) -> LogseqPage:
    """Read a page: its properties become a note's, references to blocks become links to them.

    Blocks stay as they are written, with their own properties; an id that is a property becomes the
    block's mark, `^id`, at the end of its first line.
    """
    properties, body = _page_properties(text)
    body, unresolved = _references(_marked_blocks(body), page_of)
    tags = _listed(properties.pop("tags", ""))
    aliases = _listed(properties.pop("alias", "") or properties.pop("aliases", ""))
    title = properties.pop("title", "")
    created = properties.pop("created-at", "") or properties.get("date", "")
    return LogseqPage(
        body=body,
        tags=tags,
        aliases=aliases,
        title=title,
        created=created,
        properties={name: value for name, value in properties.items() if value},
        unresolved=unresolved,
    )


def _page_properties(text: str) -> tuple[dict[str, str], str]:
    """The properties before the first block, and what follows them."""
    found: dict[str, str] = {}
    lines = text.splitlines(keepends=True)
    for number, line in enumerate(lines):
        match = _PROPERTY.match(line)
        if match is None or (line.startswith((" ", "\t")) and not found):
            break
        if number and line.lstrip().startswith("- "):
            break
        found[match[1].lower()] = match[2].strip()
    else:
        return found, ""
    if not found:
        return {}, text
    rest = lines[number:]
    return found, "".join(rest[1:] if rest and not rest[0].strip() else rest)


def _marked_blocks(text: str) -> str:
    """The text with `id:: …` lines turned into marks at the end of their block's first line."""
    if "id::" not in text:
        return text
    lines = text.split("\n")
    hidden = _hidden_lines(text)
    first = -1
    kept: list[str] = []
    for number, line in enumerate(lines):
        match = _BLOCK_ID.match(line)
        if match is not None and first >= 0 and number not in hidden:
            ending = "\r" if kept[first].endswith("\r") else ""
            kept[first] = kept[first].removesuffix("\r").rstrip() + f" ^{match[1].lower()}{ending}"
            continue
        if line.lstrip().startswith("- "):
            first = len(kept)
        kept.append(line)
    return "\n".join(kept)


def _hidden_lines(text: str) -> set[int]:
    """Numbers of the lines within code."""
    hidden: set[int] = set()
    line = position = 0
    for region in sorted(find_regions(text), key=lambda each: each.start):
        if region.kind in ("fence", "comment"):
            line += text.count("\n", position, region.start)
            position = region.start
            hidden.update(range(line, line + text.count("\n", region.start, region.end) + 1))
    return hidden


def _references(text: str, page_of: PageOf) -> tuple[str, tuple[str, ...]]:
    if "((" not in text and "{{embed" not in text:
        return text, ()
    # Indented text is a block's in Logseq, not code, so only fences and spans of code count.
    code = [each for each in find_regions(text) if each.kind in ("fence", "code")]
    spans = iter([*((region.start, region.end) for region in code), (len(text), len(text))])
    start, end = next(spans)
    unresolved: list[str] = []

    def replaced(match: re.Match[str]) -> str:
        nonlocal start, end
        while match.start() >= end and start < len(text):
            start, end = next(spans)
        if start <= match.start() < end:
            return match[0]
        if match["page"]:
            return f"![[{match['page']}]]"
        return _block_link(match, page_of, unresolved)

    return _REFERENCE.sub(replaced, text), tuple(dict.fromkeys(unresolved))


def _block_link(match: re.Match[str], page_of: PageOf, unresolved: list[str]) -> str:
    identifier = match["id"].lower()
    page = page_of(identifier)
    closing = match["closing"] or ""
    wanted = "}}" if match["embed"] else ")" if match["shown"] else ""
    if page is None or (wanted and closing != wanted):
        unresolved.append(identifier)
        return match[0]
    shown = f"|{match['shown'].replace('|', ' ')}" if match["shown"] else ""
    left = closing if not wanted else ""
    return f"{'!' if match['embed'] else ''}[[{page}#^{identifier}{shown}]]{left}"


def _listed(text: str) -> tuple[str, ...]:
    items = (
        (match[1] or match[2]).strip().removeprefix("#").strip()
        for match in _LIST_ITEM.finditer(text)
    )
    return tuple(dict.fromkeys(item for item in items if item))
