"""Reads folders of markdown: plain ones, Obsidian vaults, zk, basic-memory and Logseq.

Every Logseq page becomes a note that Obsidian can read.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Callable, Iterator, Sequence
from contextlib import suppress
from dataclasses import replace
from datetime import date, datetime, time
from urllib.parse import unquote

from amem_cli.errors import Problem
from amem_cli.exchange.source import (
    SourceFolder,
    SourceNote,
    SourceRelation,
    valid_tags,
)
from amem_cli.markdown.links import bar_at
from amem_cli.markdown.regions import blocks, visible_text
from amem_cli.notes.creation_date import creation_date, date_in_name, date_in_text
from amem_cli.notes.front_matter_edit import Bare
from amem_cli.notes.note import RELATIONS

_COLON_TAGS = re.compile(r"(?<![^\s]):((?:[^\s:#]{1,80}:){1,20})(?=\s|\Z)")
_WORDS_IN_HASHES = re.compile(r"(?<![^\s])#([^\s#][^#\r\n]{0,80}[^\s#\\])#(?=[\s.,;!?]|\Z)")
_FILE_ID = re.compile(r"([0-9]{8,14}|[0-9a-z]{4,12})(?=[-_ ]|\Z)")
_LETTER = re.compile(r"[^\W_]")


def zk_tags(text: str) -> tuple[str, ...]:
    """Tags written `:one:two:` and `#several words#`, outside code, as Obsidian can hold them."""
    if ":" not in text and "#" not in text:
        return ()
    visible = visible_text(text)
    texts = [text for match in _COLON_TAGS.finditer(visible) for text in match[1].split(":")]
    texts += [match[1] for match in _WORDS_IN_HASHES.finditer(visible) if " " in match[1]]
    return valid_tags(text for text in texts if _LETTER.search(text))


def file_id(path: str) -> str:
    """The id with which a file's name begins, as `2k8x` of `2k8x-a-thought.md`; or empty."""
    match = _FILE_ID.match(path.rsplit("/", 1)[-1].rsplit(".", 1)[0])
    return match[1] if match and any(map(str.isdigit, match[1])) else ""


_RELATION = re.compile(
    r"^[ \t]{0,40}[-*][ \t](?P<relation>[^\[\]\r\n]{1,100})"
    r"\[\[(?P<target>[^\[\]\r\n|#]{1,300})(?:[|#][^\[\]\r\n]{0,300})?\]\]"
    r"[ \t]{0,20}(?:\((?P<reason>[^\r\n]{1,500})\))?[ \t]{0,20}\r?$",
    re.MULTILINE,
)
_PERMALINK = re.compile(
    rb"^permalink[ \t]*:[ \t]*[\"']?([^\"'\r\n]{1,300}?)[\"']?[ \t]*\r?$", re.MULTILINE
)
_BEGINNING = 8 * 1024
_SYNONYMS = {
    "confirms": "supports",
    "contradicted by": "contradicts",
    "replaces": "supersedes",
    "instance of": "example_of",
    "belongs to": "part_of",
    "leads to": "causes",
}


def permalink(raw: bytes) -> str:
    """The `permalink` of a note's header, or empty."""
    if not raw.startswith((b"---", b"\xef\xbb\xbf---")):
        return ""
    head, fence, _ = raw[3:_BEGINNING].partition(b"\n---")
    match = _PERMALINK.search(head) if fence else None
    return match[1].decode("utf-8", "replace").strip() if match else ""


def relations_in(text: str) -> Iterator[SourceRelation]:
    """The relations in a note's lists, such as `- part_of [[Other note]] (why)`."""
    if "[[" not in text:
        return
    for match in _RELATION.finditer(visible_text(text)):
        relation = match["relation"].strip(" :\t")
        if relation:
            yield SourceRelation(match["target"].strip(), relation, (match["reason"] or "").strip())


def known_relation(word: str) -> str:
    """The relation of amem for another program's word; `related` if there is none."""
    plain = " ".join(word.casefold().replace("_", " ").replace("-", " ").split())
    own = plain.replace(" ", "_")
    return own if own in RELATIONS else _SYNONYMS.get(plain, "related")


def markdown_notes(folder: SourceFolder, problems: list[Problem]) -> Iterator[SourceNote]:
    for path, raw, saved in folder.files(problems):
        made = creation_date(path, raw, saved, folder.first_commit)
        note_path = f"{path.rpartition('.')[0]}.md"
        yield SourceNote(path, path, raw, path=note_path, created=made, saved=saved)


def zk_notes(folder: SourceFolder, problems: list[Problem]) -> Iterator[SourceNote]:
    """The notes of a zk notebook, also named by the id with which their file's name begins."""
    uses = Counter(map(file_id, folder.note_paths))
    for note in markdown_notes(folder, problems):
        prefix = file_id(note.key)
        names = (prefix,) if prefix and uses[prefix] == 1 else ()
        yield replace(note, names=names, tags=zk_tags(note.raw.decode("utf-8", "replace")))


def basic_memory_notes(folder: SourceFolder, problems: list[Problem]) -> Iterator[SourceNote]:
    """The notes of a basic-memory project, also named by their permalink, with their relations."""
    for note in markdown_notes(folder, problems):
        link = permalink(note.raw)
        relations = tuple(relations_in(note.raw.decode("utf-8", "replace")))
        yield replace(note, names=(link,) if link else (), relations=relations)


JOURNALS = "journals/"
PAGES = "pages/"

_PROPERTY = re.compile(r"[ \t]{0,40}(?:- )?([A-Za-z][\w.?!/-]{0,60})::(?=\s|\Z)(.*)", re.DOTALL)
_BLOCK_ID = re.compile(r"^[ \t]*(?:-[ \t]+)?id::[ \t]+([0-9a-fA-F-]{36})[ \t]*\r?$", re.MULTILINE)
_BULLET = re.compile(r"[ \t]*-(?:[ \t]|\r?\Z)")
_UUID = r"[0-9a-fA-F]{8}-(?:[0-9a-fA-F]{4}-){3}[0-9a-fA-F]{12}"
_REFERENCE = re.compile(
    rf"\{{\{{embed[ \t]+\(\((?P<embedded>{_UUID})\)\)[ \t]*\}}\}}"
    rf"|\[(?P<shown>[^\[\]\n]{{1,300}})\]\(\(\((?P<named>{_UUID})\)\)\)"
    rf"|\(\((?P<id>{_UUID})\)\)"
    r"|\{\{embed[ \t]+\[\[(?P<page>[^\[\]\n]{1,300})\]\][ \t]*\}\}"
    r"|\[(?P<label>[^\[\]\n]{1,300})\]\(\[\[(?P<to>[^\[\]\n]{1,300})\]\]\)"
    r"|\[\[(?P<odd>[^\[\]|\n]{0,300}#[^\[\]|\n]{0,300})\]\]"
)
_NO_TEXT = re.compile(r"-?(?:0|[1-9][0-9]{0,17})|true|false")
_JOURNAL = re.compile(r"journals/([0-9]{4})[_-]([0-9]{2})[_-]([0-9]{2})\.(?:md|markdown)\Z", re.I)
_LIST_ITEM = re.compile(r"\s*(?:#?\[\[([^\[\]]{1,300})\]\]|#?([^,，]+))")
# How Logseq writes the days that pages link to, in every graph.
_DAY_FORMS = ("MMM do, yyyy", "yyyy-MM-dd", "yyyy_MM_dd")
# What a graph may use that names no form; none in which a day could be taken for a month.
_GUESSED_FORMS = (
    *("MMMM do, yyyy", "do MMM yyyy", "do MMMM yyyy", "yyyy/MM/dd", "yyyyMMdd", "yyyy-MM-dd EEEE"),
    *("E, yyyy-MM-dd", "EEEE, yyyy-MM-dd", "E, yyyy/MM/dd", "EEEE, yyyy/MM/dd", "yyyy年MM月dd日"),
)
_DAY_PARTS = re.compile(r"(?s)'([^']*)'|yyyy|yy|y|MMMM|MMM|MM|M|do|dd|d|EEEE|EEE|EE|E|.")
_DAY_CODES = {
    "yyyy": "%Y",
    "y": "%Y",
    "yy": "%y",
    "MMMM": "%B",
    "MMM": "%b",
    "MM": "%m",
    "dd": "%d",
    "EEEE": "%A",
    "EEE": "%a",
    "EE": "%a",
    "E": "%a",
}
_FIRST_DAY, _LAST_DAY = date(1970, 1, 1).toordinal(), date(2099, 12, 31).toordinal()
_EDN_TEXT = r'"(?:[^"\\]|\\.)*"'
# Comments of EDN, and `#_`, which leaves out what follows it.
_NOT_IN_EDN = re.compile(rf"({_EDN_TEXT})|;[^\n]*|#_\s*(?:{_EDN_TEXT}|[^\s,]+)")
# Given a block's id: the name of the page that holds it, or None.
PageOf = Callable[[str], str | None]


def page_name(path: str) -> str:
    """The page that a file holds: `a___b`, `a%2Fb` and `a.b` of old graphs are namespaces."""
    return unquote(_stem(path).replace("___", "/"))


def _stem(path: str) -> str:
    return path.rsplit("/", 1)[-1].rsplit(".", 1)[0]


def is_journal(path: str) -> bool:
    """Whether a file has the name that Logseq gives the journal of a day, `2026_03_02.md`."""
    return "_" in path and _JOURNAL.match(path) is not None


def note_path(path: str, day: date | None) -> str:
    """Where the note of a page lies: a namespace is a folder, a journal's day is `2026-03-02`."""
    if day is not None:
        return f"{JOURNALS}{day.isoformat()}.md"
    folder = path.rpartition("/")[0]
    parts = [part.strip() for part in page_name(path).split("/")]
    name = _linkable("/".join(part for part in parts if part not in ("", ".", "..")))
    return f"{folder}/{name}.md" if folder else f"{name}.md"


def _linkable(name: str) -> str:
    # In a link `#` would begin a heading; Logseq has none of those.
    return name.replace("#", "♯")


def _written(day: date, form: str) -> str:
    def part(match: re.Match[str]) -> str:
        text = match[0]
        if text in _DAY_CODES:
            return day.strftime(_DAY_CODES[text])
        if text == "do":
            teens = day.day // 10 == 1
            ending = {1: "st", 2: "nd", 3: "rd"}.get(0 if teens else day.day % 10, "th")
            return f"{day.day}{ending}"
        other = match[1] or "'" if text[0] == "'" else text
        return {"d": str(day.day), "M": str(day.month)}.get(text, other)

    return _DAY_PARTS.sub(part, form)


def _edn_text(config: str, key: str) -> str:
    """The text that a map of EDN holds under a key; empty if there is none."""
    found = re.search(rf"{key}\s*({_EDN_TEXT})", _NOT_IN_EDN.sub(r"\1", config))
    return re.sub(r"\\(.)", r"\1", found[1][1:-1]) if found else ""


def logseq_notes(folder: SourceFolder, problems: list[Problem]) -> Iterator[SourceNote]:
    """The pages and journals of a graph; pages in org become problems."""
    for path in folder.other_paths:
        if path.lower().endswith(".org"):
            hint = "Turn it into markdown first."
            problems.append(Problem(path, 0, "is written in org, which is not read", hint))
    config = (folder.read("logseq/config.edn") or b"").decode("utf-8", "replace")
    form = _edn_text(config, ":journal/page-title-format")
    forms = (form, *_DAY_FORMS) if form else (*_DAY_FORMS, *_GUESSED_FORMS)
    file_form = _edn_text(config, ":journal/file-name-format")
    days = map(date.fromordinal, range(_FIRST_DAY, _LAST_DAY + 1) if file_form else ())
    by_file = {_written(day, file_form): day for day in days}

    def day_of(path: str) -> date | None:
        if not path.startswith(JOURNALS):
            return None
        usual = _JOURNAL.match(path)
        with suppress(ValueError):
            return date(*map(int, usual.groups())) if usual else by_file.get(_stem(path))
        return None

    page_of_block: dict[str, str] = {}
    for path, raw, _ in folder.files([]):
        target = note_path(path, day_of(path)).removesuffix(".md").removeprefix(PAGES)
        name = target if path.startswith(PAGES) else target.rpartition("/")[2]
        for match in _BLOCK_ID.finditer(_without_code(raw.decode("utf-8", "replace"))):
            page_of_block.setdefault(match[1].lower(), name)
    for note in markdown_notes(folder, problems):
        # What Logseq keeps for itself, and its backups, are not pages.
        if note.key.startswith("logseq/"):
            continue
        day = day_of(note.key)
        written = (_written(day, each) for each in forms) if day else ()
        names = (*dict.fromkeys(written), page_name(note.key))
        page = replace(note, path=note_path(note.key, day), names=names)
        if day is not None and date_in_name(note.key) is None:
            page = replace(page, created=datetime.combine(day, time()))
        with suppress(UnicodeDecodeError):
            text = note.raw.decode("utf-8")
            # Newer graphs have YAML at the top too; then nothing is moved into it.
            if not text.startswith("---"):
                page = converted_page(page, text, page_of_block.get)
        yield page


def converted_page(note: SourceNote, text: str, page_of: PageOf) -> SourceNote:
    """A page whose properties are a note's, and whose references to blocks are links to them.

    Blocks stay as they are, with their own properties; an id that is a property becomes the block's
    anchor, `^id`: at the end of its first paragraph, behind code, a formula, a table or a quote on
    a line of its own.
    """
    text, dangling = _references(text, page_of)
    properties, body = _page_properties(text)
    tags = _list_items(properties.pop("tags", ""))
    aliases = _list_items(properties.pop("alias", "") or properties.pop("aliases", ""))
    title = properties.pop("title", "")
    created = properties.pop("created-at", "") or properties.get("date", "")
    # Whole numbers and booleans are what Logseq itself takes for more than a text.
    kept = {
        name: Bare(value) if _NO_TEXT.fullmatch(value) else value
        for name, value in properties.items()
        if value
    }
    return replace(
        note,
        raw=_anchored_blocks(body).encode("utf-8"),
        has_header=False,
        title=title,
        created=date_in_text(created) or note.created,
        tags=valid_tags(tags),
        names=(*note.names, *aliases, *((title,) if title else ())),
        properties={**kept, **({"aliases": aliases} if aliases else {})},
        dangling=dangling,
    )


def _page_properties(text: str) -> tuple[dict[str, str], str]:
    """The properties before the first block, and what follows them."""
    properties: dict[str, str] = {}
    lines = text.splitlines(keepends=True)
    for number, line in enumerate(lines):
        match = _PROPERTY.match(line)
        if match is None or (line.startswith((" ", "\t")) and not properties):
            break
        # Of the first block, an id is its own.
        if line.lstrip().startswith("- ") and (number or match[1].lower() == "id"):
            break
        properties[match[1].lower()] = match[2].strip()
    else:
        return properties, ""
    if not properties:
        return {}, text
    rest = lines[number:]
    return properties, "".join(rest[1:] if rest and not rest[0].strip() else rest)


def _without_code(text: str) -> str:
    """The text without code, which may show lines that look like ids."""
    return visible_text(text, "fence", "comment") if "id::" in text else ""


def _anchored_blocks(text: str) -> str:
    """The text with `id:: …` lines turned into anchors where Obsidian sees them."""
    if "id::" not in text:
        return text
    lines = text.split("\n")
    visible = _without_code(text).split("\n")
    starts = [number for number, line in enumerate(visible) if _BULLET.match(line)]
    anchored = lines[: starts[0]] if starts else lines
    for start, end in zip(starts, [*starts[1:], len(lines)], strict=True):
        ids = (at for at in range(start, end) if _BLOCK_ID.match(visible[at]))
        anchored += _anchored(lines[start:end], next(ids, start) - start, visible[start])
    return "\n".join(anchored)


def _anchored(block: list[str], at: int, opening: str) -> list[str]:
    """The lines of a block, with the id in one of them as its anchor.

    Args:
        at: which line; the first one need not hold an id.
        opening: the first line, blank where it is code.
    """
    match = _BLOCK_ID.match(block[at] if at else opening)
    if match is None:
        return block
    indent = block[0][: block[0].index("-")]
    ending = "\r" if block[0].endswith("\r") else ""
    lines = block[:at] + block[at + 1 :]
    if not at:
        lines[:1] = [f"{indent}- {lines[0].lstrip() if lines else ending}"]
    last, follows, is_parted = _first_part(lines)
    anchor = f"^{match[1].lower()}{ending}"
    if not follows:
        lines[last] = f"{lines[last].rstrip()} {anchor}"
        return lines
    own = [*([ending] if is_parted else []), f"{indent}  {anchor}"]
    if lines[last + 1 :] and lines[last + 1].strip():
        own.append(ending)
    return [*lines[: last + 1], *own, *lines[last + 1 :]]


def _first_part(lines: Sequence[str]) -> tuple[int, bool, bool]:
    """Where the first paragraph, code, formula, table or quote of a block ends: its last line,
    whether an anchor follows on a line of its own, and whether a blank line parts that from it."""
    texts = [lines[0].lstrip()[1:].strip(), *(line.strip() for line in lines[1:])]
    # A formula is none of CommonMark's.
    if texts[0].startswith("$$"):
        closing = (at for at, text in enumerate(texts) if text.count("$$") > (at == 0))
        return next(closing, len(texts) - 1), True, False
    formula = next((at for at, text in enumerate(texts) if text.startswith("$$")), None)
    first = next(iter(blocks("\n".join(texts[:formula]))), None)
    if first is None or first.map is None:
        return 0, False, False
    last = first.map[1] - 1
    if first.type == "heading_open":
        return last - (first.markup[0] in "=-"), False, False
    is_parted = first.type in ("table_open", "blockquote_open")
    return last, is_parted or first.type in ("fence", "hr"), is_parted


def _references(text: str, page_of: PageOf) -> tuple[str, tuple[str, ...]]:
    """The text with links as Obsidian has them, and the references to blocks that lead nowhere."""
    if not any(mark in text for mark in ("((", "{{embed", "([[", "#")):
        return text, ()
    # Indented text is a block's in Logseq, not code, so only fences and spans of code count.
    visible = visible_text(text, "fence", "code")
    unresolved: list[str] = []

    def replaced(match: re.Match[str]) -> str:
        if visible[match.start()] == "\0":
            return match[0]
        if match["page"]:
            return f"![[{_linkable(match['page'])}]]"
        bar = bar_at(text, match.start())
        if to := match["to"] or match["odd"]:
            return f"[[{_linkable(to)}{bar}{(match['label'] or to).replace('|', ' ')}]]"
        identifier = (match["embedded"] or match["named"] or match["id"]).lower()
        page = page_of(identifier)
        if page is None:
            unresolved.append(f"(({identifier}))")
            return match[0]
        shown = f"{bar}{match['shown'].replace('|', ' ')}" if match["shown"] else ""
        return f"{'!' if match['embedded'] else ''}[[{page}#^{identifier}{shown}]]"

    return _REFERENCE.sub(replaced, text), tuple(dict.fromkeys(unresolved))


def _list_items(text: str) -> tuple[str, ...]:
    items = (
        (match[1] or match[2]).rpartition("|")[2].strip().removeprefix("#").strip()
        for match in _LIST_ITEM.finditer(text)
    )
    return tuple(dict.fromkeys(item for item in items if item))
