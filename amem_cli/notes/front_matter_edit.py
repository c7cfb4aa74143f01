"""Writes headers: a new note's, or single properties of one, keeping every other byte."""

from __future__ import annotations

import json
import re
from bisect import bisect_left
from collections.abc import Mapping, Sequence
from datetime import datetime
from itertools import pairwise
from typing import Literal

from amem_cli.errors import HeaderRefused
from amem_cli.markdown.regions import Cut, spliced
from amem_cli.notes.front_matter import (
    Entry,
    Header,
    Value,
    body_start,
    find_fences,
    read_header,
    read_tree,
    refusal,
)
from amem_cli.notes.note import PropertyNames

Form = Literal["free", "quoted", "moment"]
"""How a string is written: plain if that is clearly safe, always quoted, or as a bare date."""

_PUNCTUATION = frozenset(" _/-.,;()'+&%?!’–—")
_NOT_IN_FLOW = frozenset(",?")
# Without quotes these are booleans, null or numbers to some YAML reader.
_RESERVED = frozenset(["y", "n", "yes", "no", "on", "off", "true", "false", "null", "inf", "nan"])
# What cannot be seen or printed, and what a template engine would take for its own.
_ESCAPED = re.compile("[\x7f-\x9f\u2028\u2029\ufeff\ufffe\uffff]|\\{(?=\\{)|<(?=%)")
_MOMENT = re.compile(
    r"([0-9]{4}-[0-9]{2}-[0-9]{2}(?:T[0-9]{2}:[0-9]{2}(?::[0-9]{2})?)?)"
    r"(?:(?<=:[0-9]{2}:[0-9]{2})(?:\.[0-9]{1,6})?(?:Z|[+-](?:0[0-9]|1[0-4]):[0-5][0-9])?)?\Z"
)


class Bare(str):
    """A value of a property that is no string, as YAML reads it without quotes."""

    __slots__ = ()


def bare(value: object) -> Bare | None:
    """A number, boolean, list or mapping as JSON, which is YAML; None if no header can hold it."""
    try:
        text = Bare(_escaped(json.dumps(value, ensure_ascii=False, allow_nan=False)))
        # Nested too deep, or with a name too long, it would cost the whole header.
        _meaning(text)
    except (ValueError, RecursionError, HeaderRefused):
        return None
    return text


def _meaning(text: str) -> object:
    root = read_tree(f"a: {text}\n")
    return root.parts[1].meaning() if root else None


def _escaped(text: str) -> str:
    return _ESCAPED.sub(lambda found: f"\\u{ord(found[0]):04x}", text)


def scalar(text: str, form: Form = "free", *, in_flow: bool = False) -> str:
    """One value on one line; a date only if `form` asks for it and the text is a real one."""
    if isinstance(text, Bare):
        return text
    if form == "moment" and _is_moment(text):
        return text
    if form != "quoted" and _is_plain(text, in_flow=in_flow):
        return text
    # A JSON string is a double-quoted YAML string, once these characters are escaped as well.
    return _escaped(json.dumps(text, ensure_ascii=False))


def property_text(
    name: str, value: str | Sequence[str], line_ending: str, *, indent: str = "", form: Form
) -> str:
    """A whole property with its line ending; a list is in block style, indented by two."""
    start = f"{indent}{scalar(name)}:"
    if isinstance(value, str):
        return f"{start} {scalar(value, form)}{line_ending}"
    return start + block_items(value, line_ending, indent) + line_ending


def block_items(texts: Sequence[str], line_ending: str, indent: str) -> str:
    """What follows the colon of a list in block style, without its last line ending."""
    if not texts:
        return " []"
    return "".join(f"{line_ending}{indent}  - {scalar(text)}" for text in texts)


def _is_plain(text: str, *, in_flow: bool) -> bool:
    # Beginning with a letter excludes numbers, dates, times and every indicator of YAML.
    return (
        text[:1].isalpha()
        and not text.endswith(" ")
        and "  " not in text
        and text.lower() not in _RESERVED
        and all(letter.isalnum() or letter in _PUNCTUATION for letter in text)
        and not (in_flow and not _NOT_IN_FLOW.isdisjoint(text))
    )


def _is_moment(text: str) -> bool:
    found = _MOMENT.match(text)
    if found is None:
        return False
    try:
        datetime.fromisoformat(found[1])
    except ValueError:
        return False
    return True


Changes = Mapping[str, str | Sequence[str]]
Forms = Mapping[str, Form]

_DASH = re.compile(r" *- *")
_USUAL_NAMES = PropertyNames()


def says(value: Value, wanted: str | Sequence[str], form: Form) -> bool:
    """Whether a value is, to any YAML reader, just this string or list of strings.

    A value whose form is not free (an id, a date) may also be a bare number or date.
    """
    if isinstance(wanted, Bare):
        return value.meaning() == _meaning(wanted)
    if not isinstance(wanted, str):
        strings = [part.text for part in value.parts if part.is_string]
        is_list = value.kind == "list" and len(strings) == len(value.parts)
        return is_list and strings == list(wanted)
    if value.kind != "scalar" or value.text != wanted:
        return False
    return value.is_string or (form != "free" and not value.is_null)


def edited_text(header: Header, changes: Changes, forms: Forms) -> str:
    """The header's text with properties set; new ones are put at its end.

    Raises:
        HeaderRefused: a property holds what setting it would destroy.
    """
    splices: list[Cut] = []
    added = ""
    for name, wanted in changes.items():
        entry = header.entry(name)
        form = forms.get(name, "free")
        if entry is None:
            added += property_text(
                name, wanted, header.line_ending, indent=header.indent, form=form
            )
        elif isinstance(wanted, str):
            splices.append(_string_splice(header, entry, wanted, form))
        else:
            splices += _list_splices(header, entry, wanted)
    return spliced(header.text, splices) + added


def is_faithful(before: Header, after: Header, changes: Changes, forms: Forms) -> bool:
    """Whether `after` is `before` with these changes and not one other character changed."""
    known = [entry.name for entry in before.entries]
    new = [name for name in changes if name not in known]
    old_regions, new_regions = _regions(before), _regions(after)
    return (
        [entry.name for entry in after.entries] == known + new
        and all(
            says(entry.value, changes[entry.name], forms.get(entry.name, "free"))
            for entry in after.entries
            if entry.name in changes
        )
        and old_regions[0] == new_regions[0]
        and all(
            # Comments within a list that was emptied end up below it.
            _below(after, later, new_region).endswith(_below(before, earlier, old_region))
            if earlier.name in changes
            else (old_region, earlier.value.meaning()) == (new_region, later.value.meaning())
            for earlier, old_region, later, new_region in zip(
                before.entries, old_regions[1:], after.entries, new_regions[1:], strict=False
            )
        )
    )


def _regions(header: Header) -> list[str]:
    starts = [header.text.rfind("\n", 0, entry.start) + 1 for entry in header.entries]
    return [header.text[start:end] for start, end in pairwise([0, *starts, len(header.text)])]


def _below(header: Header, entry: Entry, region: str) -> str:
    region_start = header.text.rfind("\n", 0, entry.start) + 1
    return region[_next_line(header.text, entry.value.end) - region_start :]


def _string_splice(header: Header, entry: Entry, wanted: str, form: Form) -> Cut:
    value = entry.value
    if value.kind == "mapping" or value.parts:
        raise _unlike(header, entry, "a text")
    new = scalar(wanted, form)
    if value.start == value.end:
        return Cut(entry.value_start, entry.value_start, f" {new}")
    return Cut(value.start, value.end, new + _indicator_comment(header, value))


def _list_splices(header: Header, entry: Entry, wanted: Sequence[str]) -> list[Cut]:
    value = entry.value
    if value.kind == "scalar":
        return [_list_in_place_of(header, entry, wanted)]
    if header.texts_of(value) is None:
        raise _unlike(header, entry, "a list of texts")
    if not value.parts:
        _check_no_comment(header, entry, value.start, value.end)
        return [_list_in_place_of(header, entry, wanted)]
    if value.style == "flow":
        return _flow_splices(header, entry, wanted)
    return _block_splices(header, entry, wanted)


def _list_in_place_of(header: Header, entry: Entry, wanted: Sequence[str]) -> Cut:
    text, value = header.text, entry.value
    line_end = _next_line(text, value.end) - 1
    rest = text[value.end : line_end].rstrip("\r")
    comments = (
        text[entry.value_start : value.start].rstrip()
        + _indicator_comment(header, value)
        + rest.rstrip()
    )
    items = block_items(wanted, header.line_ending, header.indent)
    # ` []` must follow the colon, before the comment; items begin on the line below it.
    new = comments + items if wanted else items + comments
    return Cut(entry.value_start, value.end + len(rest), new)


def _flow_splices(header: Header, entry: Entry, wanted: Sequence[str]) -> list[Cut]:
    value, parts = entry.value, entry.value.parts
    known = [header.text_of(part) for part in parts]
    sources = _sources(header, value)
    if None not in known and known == list(wanted[: len(known)]):
        # YAML reads neither a bare `[[A]]` nor a number as a text, so these get their quotes now.
        requoted = [
            Cut(part.start, part.end, scalar(item, in_flow=True))
            for part, item in zip(parts, wanted, strict=False)
            if not part.is_string
        ]
        new = "".join(f", {scalar(item, in_flow=True)}" for item in wanted[len(known) :])
        return [*requoted, Cut(parts[-1].end, parts[-1].end, new)]
    gaps = [value.start, *(place for part in parts for place in (part.start, part.end)), value.end]
    for start, end in zip(gaps[::2], gaps[1::2], strict=True):
        _check_no_comment(header, entry, start, end)
    items = ", ".join(sources.get(item) or scalar(item, in_flow=True) for item in wanted)
    return [Cut(value.start, value.end, f"[{items}]")]


def _block_splices(header: Header, entry: Entry, wanted: Sequence[str]) -> list[Cut]:
    parts = entry.value.parts
    places = [_item_lines(header, entry, part) for part in parts]
    if not wanted:
        emptied = Cut(entry.value_start, entry.value_start, " []")
        return [
            emptied,
            *(
                Cut(start, end, _comment_left(header, part, start))
                for part, (start, end) in zip(parts, places, strict=True)
            ),
        ]
    positions: dict[str | None, list[int]] = {}
    for index, part in enumerate(parts):
        positions.setdefault(header.text_of(part), []).append(index)
    sources = _sources(header, entry.value)
    first = places[0][0]
    dash = header.text[first : parts[0].start].rstrip(" ") + " "
    splices: list[Cut] = []
    gone = set(range(len(parts)))
    after, anchor = 0, first
    for item in wanted:
        same = positions.get(item, [])
        # Bisected, as thousands of equal items would otherwise take quadratic time.
        nearest = bisect_left(same, after)
        if nearest == len(same):
            line = f"{dash}{sources.get(item) or scalar(item)}{header.line_ending}"
            splices.append(Cut(anchor, anchor, line))
            continue
        index = same[nearest]
        gone.discard(index)
        after, anchor = index + 1, places[index][1]
        if not parts[index].is_string:
            splices.append(Cut(parts[index].start, parts[index].end, scalar(item)))
    left = {index: _comment_left(header, parts[index], places[index][0]) for index in gone}
    return splices + [Cut(*places[index], left[index]) for index in gone]


def _comment_left(header: Header, item: Value, line_start: int) -> str:
    """The comment behind an item that goes, on its own line; it is not the item's."""
    rest = header.text[item.end : _next_line(header.text, item.end)]
    if not rest.lstrip(" ").startswith("#"):
        return ""
    indent = len(header.text[line_start:]) - len(header.text[line_start:].lstrip(" "))
    return " " * indent + rest.lstrip(" ")


def _sources(header: Header, value: Value) -> dict[str, str]:
    """How the strings of a list are written, if each is on one line."""
    pairs = ((part, header.text[part.start : part.end]) for part in value.parts if part.is_string)
    return {part.text: source for part, source in pairs if len(source.splitlines()) == 1}


def _item_lines(header: Header, entry: Entry, item: Value) -> tuple[int, int]:
    line_start = header.text.rfind("\n", 0, item.start) + 1
    if not _DASH.fullmatch(header.text, line_start, item.start):
        raise refusal(
            header.text,
            item.start,
            f"the list `{entry.name}` is laid out in a way that cannot be edited",
            "Write each value on its own line after `- `.",
        )
    return line_start, _next_line(header.text, item.end)


def _indicator_comment(header: Header, value: Value) -> str:
    """The comment behind the `|` or `>` of a block of text."""
    if value.style not in ("|", ">"):
        return ""
    first_line = header.text[value.start : _next_line(header.text, value.start)]
    _, mark, comment = first_line.partition(" #")
    return (mark + comment).rstrip()


def _check_no_comment(header: Header, entry: Entry, start: int, end: int) -> None:
    if "#" in header.text[start:end]:
        raise refusal(
            header.text,
            start,
            f"a comment is inside the brackets of `{entry.name}`",
            "Move the comment out of the brackets.",
        )


def _unlike(header: Header, entry: Entry, expected: str) -> HeaderRefused:
    return refusal(
        header.text,
        entry.start,
        f"the property `{entry.name}` holds something else than {expected}",
        "Rename it, or give the program another name for its property in the settings.",
    )


def _next_line(text: str, offset: int) -> int:
    return text.find("\n", offset) + 1


def edit_header(raw: bytes, changes: Changes, names: PropertyNames = _USUAL_NAMES) -> bytes:
    """Set properties of a note and keep every other byte.

    Args:
        changes: new values by property name. Strings are written as YAML strings; the id is always
            quoted, and a date and time under the name of `created` is left bare.
        names: which properties are the id and the creation date.

    Returns:
        The new file, or `raw` itself if every property says so already.

    Raises:
        HeaderRefused: the header cannot be edited without risk; nothing is lost.
        ValueError: a text is not valid Unicode, or the note's id would change.
    """
    _check_encodable(changes)
    forms = _forms(names)
    fences = find_fences(raw)
    before = read_header(raw, fences) if fences else Header("", _line_ending(raw), (), "")
    _check_id(before, changes, names)
    # A value that says so already keeps its quoting, so a second run changes nothing.
    changes = {
        name: wanted
        for name, wanted in changes.items()
        if not (entry := before.entry(name))
        or not says(entry.value, wanted, forms.get(name, "free"))
    }
    if not changes:
        return raw
    text = edited_text(before, changes, forms).encode("utf-8")
    if fences:
        head, tail = raw[: fences.text_start], raw[fences.text_end :]
    else:
        fence = f"---{before.line_ending}".encode()
        # A byte order mark stays first: behind the fence it would be a character of the text.
        mark = raw[: body_start(raw, None)]
        head, tail = mark + fence, fence + raw[len(mark) :]
    after = head + text + tail
    # The splices are not trusted: what they made is parsed again and compared with the intention.
    _verify(after, len(head), tail, before, changes, forms)
    return after


def without_empty_list(raw: bytes, name: str) -> bytes:
    """The note without a property that is an empty list alone on its line; else the note itself.

    Raises:
        HeaderRefused: as for `edit_header`.
    """
    fences = find_fences(raw)
    header = read_header(raw, fences) if fences else None
    entry = header.entry(name) if header else None
    if fences is None or header is None or entry is None:
        return raw
    start, end = header.text.rfind("\n", 0, entry.start) + 1, _next_line(header.text, entry.start)
    if header.text[start:end].split() != [f"{name}:", "[]"]:
        return raw
    text = header.text[:start] + header.text[end:]
    return raw[: fences.text_start] + text.encode("utf-8") + raw[fences.text_end :]


def compose_note(
    header: Mapping[str, str | Sequence[str]], body: str, names: PropertyNames = _USUAL_NAMES
) -> bytes:
    """A new note: a header with LF line endings, then the body as it is.

    Raises:
        HeaderRefused: the header would be too large to be read again.
        ValueError: a text is not valid Unicode.
    """
    _check_encodable({**header, "": body})
    forms = _forms(names)
    lines = "".join(
        property_text(name, value, "\n", form=forms.get(name, "free"))
        for name, value in header.items()
    )
    head, tail = b"---\n", b"---\n" + body.encode("utf-8")
    raw = head + lines.encode("utf-8") + tail
    _verify(raw, len(head), tail, Header("", "\n", (), ""), header, forms)
    return raw


def _forms(names: PropertyNames) -> Forms:
    return {names.id: "quoted", names.created: "moment"}


def _line_ending(raw: bytes) -> str:
    windows = raw.count(b"\r\n")
    return "\r\n" if windows * 2 > raw.count(b"\n") else "\n"


def _check_encodable(texts: Changes) -> None:
    for name, value in texts.items():
        for text in (name, *((value,) if isinstance(value, str) else value)):
            try:
                text.encode("utf-8")
            except UnicodeEncodeError:
                raise ValueError(f"the text of {name!r} is not valid Unicode") from None


def _check_id(header: Header, changes: Changes, names: PropertyNames) -> None:
    entry = header.entry(names.id)
    if entry is None or names.id not in changes or entry.value.kind != "scalar":
        return
    current = header.text_of(entry.value) or ""
    if current.strip() and current != changes[names.id]:
        raise ValueError(f"the note has the id {current!r}, and an id never changes")


def _verify(
    after: bytes, text_start: int, tail: bytes, before: Header, changes: Changes, forms: Forms
) -> None:
    fences = find_fences(after)
    if (
        fences is None
        or fences.text_start != text_start
        or after[fences.text_end :] != tail
        or not is_faithful(before, read_header(after, fences), changes, forms)
    ):
        raise HeaderRefused(
            "the header could not be changed without changing more, so it was left as it is",
            line=1,
            hint="Write each property on one line, and lists with a value a line.",
        )
