"""The links and hashtags of a markdown text, read and changed as Obsidian does."""

from __future__ import annotations

import posixpath
import re
import unicodedata
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import lru_cache
from itertools import count
from typing import Literal
from urllib.parse import quote, unquote

from amem_cli.markdown.regions import (
    Cut,
    Region,
    blank_out,
    find_regions,
    spliced,
    visible_text,
)

_DOUBLE_BRACKETS = re.compile(r"\[{2,}|\]{2,}|\n")
_SINGLE_BRACKETS = re.compile(r"\\[!-~]|[\[\]]|\n[ \t>\r]*(?=\n)")
_DESTINATION = re.compile(
    r"\(\s{0,20}(?:<(?P<angle>[^<>\n]*)>|(?P<bare>(?!<)(?:[^\s()\\]|\\\S|\([^\s()]*\))*))"
    r"(?:\s{1,20}(?:\"[^\"]*\"|'[^']*'|\([^()]*\)))?\s{0,20}\)"
)
# A link reference definition. In CommonMark destination and title may begin on the next line, and
# label and title go on there, but not over a blank line.
_GOES_ON = r"\n(?![ \t>]*\r?$)"
_TITLE = "|".join(rf"{mark}(?:[^{mark}\\\n]|\\.|{_GOES_ON}){{0,999}}{mark}" for mark in ('"', "'"))
_DEFINITION = re.compile(
    r"(?m)^(?P<marks>(?:[ \t>]|[-*+][ \t]|\d{1,9}[.)][ \t])*)"
    rf"(?P<whole>\[(?!\^)(?P<label>(?:[^\[\]\\\n]|\\.|{_GOES_ON}){{1,999}})\]:"
    r"[ \t]*(?:\r?\n[ \t>]*)?(?:<(?P<angle>[^<>\n]*)>|(?P<bare>(?!<)[^\s\0]+))"
    rf"(?:(?:[ \t]+|[ \t]*\r?\n[ \t>]*)(?:{_TITLE}|\((?:[^()\\\n]|\\.|{_GOES_ON}){{0,999}}\)))?)"
    r"[ \t]*\r?$"
)
# What may come right before a definition: all but the line of a paragraph.
_NO_PARAGRAPH = re.compile(r"[ \t>\0\r]*(?:#{1,6}[ \t\r].*|[-*_=][-*_= \t\r]*)?")
_LABEL = re.compile(r"\[((?:[^\[\]\\\n]|\\.){0,999})\]")
_LONGEST_LABEL = 999
_FILE_ENDING = re.compile(r"[^/.]\.[A-Za-z0-9]{1,8}\Z")
_SCHEME = re.compile(r"[A-Za-z][A-Za-z0-9+.-]{0,40}:|//")
_ESCAPED = re.compile(r"\\([!-/:-@\[-`{-~])")
_HASHTAG = re.compile(r"(?<!\S)#([^\s!-,.:-@\[-^`{-~\0]{1,200})")
_UNSAFE_IN_DISPLAY = re.compile(r"[\[\]|\s]+")


@dataclass(frozen=True, slots=True)
class WikiLink:
    """A link to a note or another file of the vault.

    Attributes:
        target: the part before `#` and `|`, percent-decoded in a markdown link; empty for a link
            inside the note itself.
        fragment: what follows the `#`: empty, `Heading`, `Heading#Sub` or `^block`.
        display: the text shown instead, or empty.
        embed: written with a leading `!`.
        start, end: the whole link, with the `!`, as a slice of the text.
        label: of a link reference definition, `[label]: target`; else empty.
    """

    target: str
    fragment: str
    display: str
    embed: bool
    start: int
    end: int
    style: Literal["wikilink", "markdown"]
    label: str = ""


@dataclass(frozen=True, slots=True)
class _MarkdownSpan:
    """`[shown](destination)` to anywhere; `start` is its first bracket, `shown_end` the second.

    Also `[label]: destination`, and `[shown][label]` or `[label]`, with the destination of its
    definition.
    """

    start: int
    shown_end: int
    end: int
    destination: str
    label: str = ""


@dataclass(frozen=True, slots=True)
class LinkScan:
    """All links of a text, its regions, and the text with these blanked.

    `markdown` has inline links, `references` those that name a definition.
    """

    regions: tuple[Region, ...]
    visible: str
    wikilinks: tuple[WikiLink, ...]
    markdown: tuple[_MarkdownSpan, ...]
    references: tuple[_MarkdownSpan, ...]
    definitions: tuple[_MarkdownSpan, ...]

    @property
    def spans(self) -> list[tuple[int, int]]:
        """Start and end of each link."""
        spans = [(link.start, link.end) for link in self.wikilinks]
        others = (*self.markdown, *self.references, *self.definitions)
        return spans + [(span.start, span.end) for span in others]


def find_links(text: str) -> list[WikiLink]:
    """Find wikilinks, embeds, and markdown links to files of the vault, in the order of the text.

    A link by reference is its definition. Code and comments are skipped. Links with a scheme
    (`https:`, `mailto:`) are not the vault's. Linear in the length of the text.
    """
    if "[" not in text:
        return []
    links = scan_links(text)
    found = [*links.wikilinks, *_local_links(text, (*links.markdown, *links.definitions))]
    return sorted(found, key=lambda link: link.start)


def find_references(text: str) -> list[WikiLink]:
    """The links by reference, `[shown][label]` or `[label]`, each with its definition's target."""
    return _local_links(text, scan_links(text).references) if "]:" in text else []


def without_references(text: str) -> str:
    """The text with inline links in place of those by reference, and without the definitions."""
    if "]:" not in text:
        return text
    links = scan_links(text)
    cuts = [Cut(span.shown_end, span.end, f"](<{span.destination}>)") for span in links.references]
    return spliced(text, [*cuts, *(Cut(span.start, span.end) for span in links.definitions)])


def with_own_labels(text: str, other: str) -> str:
    """The text with new labels for the link definitions that another text has otherwise."""
    if "]:" not in text:
        return text
    links = scan_links(text)
    ours, theirs = _defined(links.definitions), _defined(scan_links(other).definitions)
    taken = {*ours, *theirs}
    new: dict[str, str] = {}
    for span in links.definitions:
        key = _label_key(span.label)
        if key not in new and theirs.get(key, ours[key]) != ours[key]:
            numbered = (f"{span.label}-{number}" for number in count(2))
            new[key] = next(label for label in numbered if _label_key(label) not in taken)
            taken.add(_label_key(new[key]))
    places = [(span, span.start, span.shown_end + 1) for span in links.definitions]
    places += [(span, span.shown_end + 1, span.end) for span in links.references]
    cuts = (
        Cut(start, end, f"[{new[key]}]")
        for span, start, end in places
        if (key := _label_key(span.label)) in new
    )
    return spliced(text, cuts)


def find_hashtags(text: str) -> list[str]:
    """Find the hashtags in the text of a note, each once as first written, without `#`.

    A hashtag is at the start of a line or after a blank, outside code, comments and links. It
    ends before punctuation of any script; soft hyphens and the like are left out.
    """
    tags: dict[str, str] = {}
    for _, written in _hashtags(text):
        tags.setdefault(tag_key(written), visible_tag(written))
    return list(tags.values())


def rewrite_hashtags(text: str, rewrite: Callable[[str], str]) -> str:
    """The text with other hashtags; `rewrite` gets and gives them without `#`."""
    cuts = []
    for start, written in _hashtags(text):
        tag = visible_tag(written)
        new = rewrite(tag)
        if new != tag:
            cuts.append(Cut(start, start + len(written), new))
    return spliced(text, cuts)


def _hashtags(text: str) -> Iterator[tuple[int, str]]:
    if "#" not in text:
        return
    links = scan_links(text)
    for match in _HASHTAG.finditer(blank_out(links.visible, links.spans)):
        tag = leading_tag(match[1])
        if tag is not None:
            yield match.start(1) + match[1].index(tag), tag


def parse_link(text: str) -> WikiLink | None:
    """The link that is the whole text, such as the value `[[A|b]]` of a property, or None."""
    trimmed = text.strip()
    links = find_links(trimmed)
    if len(links) != 1 or (links[0].start, links[0].end) != (0, len(trimmed)):
        return None
    offset = len(text) - len(text.lstrip())
    return replace(links[0], start=offset, end=offset + len(trimmed))


def target_span(text: str, link: WikiLink) -> tuple[int, int]:
    """Where in the text a link names its file, as a slice; without `#` and what follows it."""
    if link.style == "wikilink":
        start = link.start + link.embed + 2
        start += len(text[start : link.end]) - len(text[start : link.end].lstrip())
        if not text.startswith(link.target, start):
            # In a property it may be written with escapes.
            written = parse_link(text[link.start : link.end])
            return start, start + len(written.target if written else link.target)
        return start, start + len(link.target)
    opening = text.find("](", link.start, link.end)
    while opening >= 0:
        match = _DESTINATION.match(text, opening + 1)
        if match is not None and match.end() == link.end:
            return _named_span(text, match)
        opening = text.find("](", opening + 1, link.end)
    line_start = text.rfind("\n", 0, link.start) + 1
    match = _DEFINITION.match(text, line_start) if link.label else None
    if match is not None and match.span("whole") == (link.start, link.end):
        return _named_span(text, match)
    raise ValueError("the link is not of this text")


def _named_span(text: str, match: re.Match[str]) -> tuple[int, int]:
    start, end = match.span("angle" if match["angle"] is not None else "bare")
    return start, start + _path_end(text[start:end])


def _path_end(written: str) -> int:
    """Where the path in a destination ends, before a literal `#` or the `?` of a query."""
    end = written.find("#") if "#" in written else len(written)
    query = written.find("?", 0, end)
    # In `Q? A.md` the sign belongs to the name.
    is_name = _FILE_ENDING.search(written[:end]) and not _FILE_ENDING.search(written[:query])
    return end if query < 0 or is_name else query


def format_link(target: str, display: str = "") -> str:
    """Write a wikilink; a display text that says no more than the target is left out."""
    shown = _UNSAFE_IN_DISPLAY.sub(" ", display).strip()
    return f"[[{target}|{shown}]]" if shown and shown != target else f"[[{target}]]"


# Several readers ask about one text in turn.
@lru_cache(maxsize=16)
def scan_links(text: str) -> LinkScan:
    visible = visible_text(text)
    wikilinks = tuple(_wikilinks(text, visible))
    # Blanked, or the inner brackets of a wikilink would be read as those of a markdown link.
    unlinked = blank_out(visible, ((link.start, link.end) for link in wikilinks))
    definitions = tuple(_definitions(visible)) if "]:" in visible else ()
    unlinked = blank_out(unlinked, ((span.start, span.end) for span in definitions))
    spans = list(_markdown_spans(unlinked, _defined(definitions)))
    inline = tuple(span for span in spans if not span.label)
    references = tuple(span for span in spans if span.label)
    return LinkScan(find_regions(text), visible, wikilinks, inline, references, definitions)


def _definitions(visible: str) -> Iterator[_MarkdownSpan]:
    """Link reference definitions; one cannot interrupt a paragraph, but begin a list item."""
    after = 0
    for match in _DEFINITION.finditer(visible):
        marks = match["marks"]
        previous = visible[visible.rfind("\n", 0, max(0, match.start() - 1)) + 1 : match.start()]
        begins_block = marks.strip(" \t>") or marks.count(">") > previous.count(">")
        is_free = begins_block or match.start() <= after
        if not (is_free or _NO_PARAGRAPH.fullmatch(previous.rstrip("\n"))):
            continue
        after = match.end() + 1
        start, end = match.span("whole")
        destination = match["bare"] if match["angle"] is None else match["angle"]
        yield _MarkdownSpan(start, match.end("label"), end, destination, match["label"])


def _defined(definitions: Sequence[_MarkdownSpan]) -> dict[str, str]:
    """Destinations by the keys of their labels; the first of several counts."""
    return {_label_key(span.label): span.destination for span in reversed(definitions)}


def _label_key(label: str) -> str:
    return " ".join(label.split()).casefold()


def _wikilinks(text: str, visible: str) -> Iterator[WikiLink]:
    opening: int | None = None
    for brackets in _DOUBLE_BRACKETS.finditer(visible):
        start, end = brackets.span()
        if visible[start] == "[":
            is_literal = end - start == 2 and _is_escaped(visible, start)
            # The last two of a run open a link: `[[[Note]]` and `[[lost [[Note]]` both hold one.
            opening = None if is_literal else end - 2
        # Obsidian reads no wikilink across lines.
        elif visible[start] == "\n":
            opening = None
        elif opening is not None:
            link = _wikilink(text, visible, opening, brackets)
            opening = None
            if link is not None:
                yield link


def _wikilink(text: str, visible: str, opening: int, closing: re.Match[str]) -> WikiLink | None:
    inner_start, inner_end = opening + 2, closing.start()
    inner = visible[inner_start:inner_end]
    # In `[[Note|[1]]]` the first of the three closes the bracket of the shown text.
    if len(closing.group()) > 2 and inner.count("[") > inner.count("]"):
        inner_end += 1
    head, bar, _ = inner.partition("|")
    shown = text[inner_start + len(head) + 1 : inner_end] if bar else ""
    # In a table the bar is written as `\|`, or it would end the cell.
    target, _, fragment = (head.removesuffix("\\") if bar else head).partition("#")
    target, fragment = target.strip(), fragment.strip()
    if not (target or fragment) or "\0" in head or _is_citation(visible, inner_end + 2):
        return None
    embed = is_embed(visible, opening)
    return WikiLink(
        target=target,
        fragment=fragment,
        display=shown.replace("\\|", "|").strip(),
        embed=embed,
        start=opening - embed,
        end=inner_end + 2,
        style="wikilink",
    )


def _is_citation(visible: str, end: int) -> bool:
    """Whether the brackets are those of `[[1]](https://…)`, a web link that shows brackets."""
    if not visible.startswith("(", end):
        return False
    match = _DESTINATION.match(visible, end)
    return match is not None and bool(_SCHEME.match(match["angle"] or match["bare"] or ""))


def _markdown_spans(visible: str, defined: Mapping[str, str]) -> Iterator[_MarkdownSpan]:
    """Spans ordered by their ends; one may lie in the shown text of another."""
    openings: list[int] = []
    after = 0
    for token in _SINGLE_BRACKETS.finditer(visible):
        mark = token.group()
        if token.start() < after:
            continue
        if mark == "[":
            openings.append(token.start())
        elif mark[0] == "\n":
            openings.clear()
        elif mark == "]" and openings:
            start = openings.pop()
            match = _DESTINATION.match(visible, token.end())
            if match is not None:
                destination = match["angle"] or match["bare"] or ""
                yield _MarkdownSpan(start, token.start(), match.end(), destination)
            elif defined:
                named = _LABEL.match(visible, token.end())
                # Bounded, or brackets within brackets would take quadratic time.
                shown = visible[start + 1 : min(token.start(), start + _LONGEST_LABEL)]
                label = (named[1] if named else "") or shown
                if _label_key(label) in defined:
                    after = named.end() if named else token.end()
                    destination = defined[_label_key(label)]
                    yield _MarkdownSpan(start, token.start(), after, destination, label)


def _local_links(text: str, spans: Iterable[_MarkdownSpan]) -> list[WikiLink]:
    """Those of the links that lead to files of the vault."""
    found = []
    for span in spans:
        if _SCHEME.match(span.destination) or "\0" in span.destination:
            continue
        written = _ESCAPED.sub(r"\1", span.destination)
        # Cut first: in `C%23.md` the sign belongs to the name.
        target = unquote(written[: _path_end(written)]).strip()
        fragment = unquote(written.partition("#")[2]).strip()
        if target or fragment:
            embed = not text.startswith("]:", span.shown_end) and is_embed(text, span.start)
            found.append(
                WikiLink(
                    target=target,
                    fragment=fragment,
                    display=text[span.start + 1 : span.shown_end].strip(),
                    embed=embed,
                    start=span.start - embed,
                    end=span.end,
                    style="markdown",
                    label=span.label,
                )
            )
    return found


def is_embed(text: str, opening: int) -> bool:
    return opening > 0 and text[opening - 1] == "!" and not _is_escaped(text, opening - 1)


def _is_escaped(text: str, position: int) -> bool:
    backslashes = 0
    while position > backslashes and text[position - backslashes - 1] == "\\":
        backslashes += 1
    return backslashes % 2 == 1


# Given a link and its text: what replaces it, or None.
Rewrite = Callable[[WikiLink, str], "str | None"]

_BRACKETS = re.compile(r"[\[\]\\]")
_TABLE_ROW = re.compile(r"[ \t>]*(?:(?:[-*+]|\d{1,9}[.)])[ \t]+)?\|")
_BLANKS = re.compile(r"\s")
_SAFE_IN_DESTINATION = "/._-~!$&'*+,;=:@"


def retarget_links(text: str, new_target: Callable[[WikiLink], str | None]) -> str:
    """The text with links led elsewhere; what a reader sees of them stays as it was.

    Links in code and comments are left alone, as they are not links.
    """

    def rewrite(link: WikiLink, source: str) -> str | None:
        target = new_target(link)
        if target is None:
            return None
        if link.style == "wikilink":
            bar = r"\|" if r"\|" in source else bar_at(text, link.start)
            return _as_wikilink(link, bar, target)
        cut = _splice(text, link, target)
        return text[link.start : cut.start] + cut.replacement + text[cut.end : link.end]

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
    return f"{'!' if picture else ''}[{text}]({encoded_path(path)}{anchor})"


def encoded_path(path: str) -> str:
    return quote(path, safe=_SAFE_IN_DESTINATION)


def heading_anchor(heading: str) -> str:
    """The anchor that most programs give a heading: small letters, blanks as hyphens."""
    last = heading.rpartition("#")[2].strip().lower()
    return _BLANKS.sub("-", "".join(each for each in last if each.isalnum() or each in " -_"))


def bar_at(text: str, place: int) -> str:
    """The bar of a wikilink at a place; in the row of a table a bare one would end the cell."""
    return r"\|" if _TABLE_ROW.match(text, text.rfind("\n", 0, place) + 1) else "|"


def _as_wikilink(link: WikiLink, bar: str, target: str) -> str:
    fragment = f"#{link.fragment}" if link.fragment else ""
    shown = link.display
    # Obsidian shows such a link as `Target > Heading`; a reader still sees that.
    if not shown and not link.embed:
        shown = link.target + (f" > {link.fragment}" if link.fragment else "")
    mark = "!" if link.embed else ""
    said = f"{bar}{shown.replace('|', bar)}" if shown and shown != target else ""
    return f"{mark}[[{target}{fragment}{said}]]"


_UNSAFE_IN_DESTINATION = re.compile(r"[\x00-\x20()<>\[\]\\%?#^|`\"']")
# Between `<` and `>` a destination may hold blanks and brackets as they are.
_UNSAFE_BETWEEN_ANGLES = re.compile(r"[\x00-\x1f<>\\%?#`]")


def redirected(text: str, new_target: Callable[[WikiLink], str | None]) -> str:
    """The text with other targets in its links; headings, blocks, display and embedding stay.

    Args:
        new_target: for a link the target to write, for a markdown link the destination as a path;
            None leaves it as it is.
    """
    splices = [
        _splice(text, link, target)
        for link in find_links(text)
        if link.target and (target := new_target(link)) is not None
    ]
    return spliced(text, splices)


def destination(path: str, source: str, written: str) -> str:
    """A markdown link's path from the note at `source` to `path`, both from the vault's root."""
    if written.startswith("/"):
        return f"/{path}"
    return posixpath.relpath(path, posixpath.dirname(source) or ".")


def _splice(text: str, link: WikiLink, target: str) -> Cut:
    """Where a link names its file, and how another target is written there."""
    start, end = target_span(text, link)
    if link.style == "markdown":
        unsafe = _UNSAFE_BETWEEN_ANGLES if text[start - 1] == "<" else _UNSAFE_IN_DESTINATION
        target = unsafe.sub(lambda found: f"%{ord(found[0]):02X}", target)
    return Cut(start, end, target)


_PICTURES = "avif|bmp|gif|heic|jpe?g|png|svg|tiff?|webp"
_RECORDINGS = "3gp|flac|m4a|mp3|ogg|opus|wav|mkv|mov|mp4|ogv|webm"
_DOCUMENTS = "pdf|canvas|base|csv|docx?|epub|od[pst]|pptx?|rtf|txt|xlsx?|zip"
_ATTACHMENT = re.compile(rf"[^/]\.(?:{_PICTURES}|{_RECORDINGS}|{_DOCUMENTS})\Z", re.IGNORECASE)


def is_attachment(target: str) -> bool:
    """Whether a link target names a file of another kind, such as a picture, by its ending."""
    return _ATTACHMENT.search(target) is not None


MAX_TAG_LENGTH = 60

_RUN_OF_BLANKS = re.compile(r"\s+")
_HYPHENS = re.compile(r"-{2,}")
_UNSEEN = re.compile("[\u00ad\u200b\u2060\ufeff]")


def normalise_tag(text: str) -> str | None:
    """Make a tag of a text, or None if nothing is left that Obsidian would take for a tag.

    Blanks become `-`; punctuation, quotes, brackets, control and invisible characters go; nesting
    by `/` stays, without empty parts. At most 60 characters. Case is kept.
    """
    joined = _RUN_OF_BLANKS.sub("-", unicodedata.normalize("NFC", text))
    kept = "".join(letter for letter in joined if is_tag_character(letter))
    # Composed again: a dropped character may have parted a letter from its mark.
    parts = map(_clean_part, unicodedata.normalize("NFC", kept).split("/"))
    tag = _shorten("/".join(part for part in parts if part))
    has_word = any(letter not in "-_/" for letter in tag)
    return tag if has_word and is_valid_tag(tag) else None


def as_tag(text: str) -> str | None:
    """A tag as a person wrote it, such as `-dash`; another text as `normalise_tag` makes it one."""
    plain = unicodedata.normalize("NFC", text.strip().removeprefix("#"))
    is_word = any(letter not in "-_/" for letter in plain)
    return plain if is_word and is_valid_tag(plain) else normalise_tag(text)


def is_valid_tag(text: str) -> bool:
    """Whether Obsidian takes the text, without a leading `#`, for one whole tag."""
    return (
        bool(text)
        and all(map(is_tag_character, text))
        and "//" not in text
        and text[0] != "/"
        and text[-1] != "/"
        # Obsidian takes `#2024` for text.
        and not all(letter.isdecimal() for letter in text)
    )


def tag_key(tag: str) -> str:
    """The form in which equal tags are equal texts: without case and a leading `#`."""
    plain = unicodedata.normalize("NFC", visible_tag(tag).strip().lstrip("#"))
    return unicodedata.normalize("NFC", plain.casefold())


def merge_tags(existing: Iterable[str], added: Iterable[str]) -> list[str]:
    """The existing tags as they are written, then those added that are new, by `as_tag`."""
    merged = list(existing)
    known = {tag_key(tag) for tag in merged}
    for text in added:
        tag = as_tag(text)
        if tag is not None and tag_key(tag) not in known:
            known.add(tag_key(tag))
            merged.append(tag)
    return merged


def leading_tag(text: str) -> str | None:
    """The tag with which the text begins, as it is written and without `#`, or None."""
    end = 0
    while end < len(text) and (is_tag_character(text[end]) or _UNSEEN.match(text[end])):
        end += 1
    tag = text[:end].strip("/")
    return tag if is_valid_tag(visible_tag(tag)) else None


def visible_tag(written: str) -> str:
    """A tag without soft hyphens and blanks without width, which come with copied text."""
    return written if written.isascii() else _UNSEEN.sub("", written)


def is_tag_character(letter: str) -> bool:
    """Letters, marks, digits, symbols and emoji of any script, and `-`, `_`, `/`."""
    if letter.isascii():
        return letter.isalnum() or letter in "-_/"
    return unicodedata.category(letter)[0] in "LMNS" or "\U0001f300" <= letter <= "\U0001faff"


def _clean_part(part: str) -> str:
    """One level of a nested tag, without a hyphen or a stray combining mark at its start."""
    part = _HYPHENS.sub("-", part).strip("-")
    start = 0
    while start < len(part) and (part[start] == "-" or _is_mark(part[start])):
        start += 1
    return part[start:]


def _shorten(tag: str) -> str:
    """Cut to the longest allowed tag, between words if that keeps at least half of it."""
    if len(tag) <= MAX_TAG_LENGTH:
        return tag
    end = MAX_TAG_LENGTH
    while end and _is_mark(tag[end]):
        end -= 1
    boundary = max(tag.rfind("-", 0, end + 1), tag.rfind("/", 0, end + 1))
    if boundary >= MAX_TAG_LENGTH // 2:
        end = boundary
    return tag[:end].rstrip("-_/")


def _is_mark(letter: str) -> bool:
    return unicodedata.category(letter).startswith("M")
