"""The links of a whole note: those in its text, and those in its properties at any depth."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import replace

from amem_cli.errors import HeaderRefused
from amem_cli.markdown.links import WikiLink, find_links, find_references
from amem_cli.markdown.regions import Cut, spliced
from amem_cli.notes.front_matter import Fences, Header, Value, find_fences, read_header
from amem_cli.notes.front_matter_edit import scalar


def property_links(raw: bytes, *, without: str = "") -> Iterator[WikiLink]:
    """The links in a note's properties; none of a header that is refused."""
    read = _header(raw)
    for name, _, text in _texts(read[0]) if read else ():
        if name != without:
            yield from find_links(text)


def redirected_properties(raw: bytes, redirect: Callable[[str], str], *, without: str) -> bytes:
    """A note with redirected links in its properties; all else keeps its bytes.

    Args:
        redirect: gives a text with its links as they are to be.
        without: the property to leave out.

    Raises:
        HeaderRefused: the header cannot be edited without risk.
    """
    read = _header(raw)
    if read is None:
        return raw
    header, fences = read
    found = [(value, text) for name, value, text in _texts(header) if name != without]
    wanted = [redirect(text) for _, text in found]
    if wanted == [text for _, text in found]:
        return raw
    # An apostrophe would end a text in single quotes, and what follows could not be read.
    in_quotes = [
        header.text[value.start] == "'" and "'" in new and new != text
        for (value, text), new in zip(found, wanted, strict=True)
    ]
    for _ in range(2):
        cuts = []
        for (value, text), new, quoted in zip(found, wanted, in_quotes, strict=True):
            if new != text:
                written = redirect(header.text[value.start : value.end])
                cuts.append(
                    Cut(value.start, value.end, scalar(new, "quoted") if quoted else written)
                )
        edited = spliced(header.text, cuts).encode("utf-8")
        after = raw[: fences.text_start] + edited + raw[fences.text_end :]
        # The cuts are not trusted: what they made is parsed again and compared.
        parsed = _header(after)
        texts = [each for name, _, each in _texts(parsed[0]) if name != without] if parsed else []
        if texts == wanted:
            return after
        # What reads otherwise as it is written is put in quotes, or all if nothing can be read.
        fits = len(texts) == len(wanted)
        in_quotes = [in_quotes[at] or not fits or texts[at] != new for at, new in enumerate(wanted)]
    hint = "Change the links in its properties yourself."
    raise HeaderRefused("the header could not be changed without changing more", line=1, hint=hint)


def all_links(text: str, body: int = 0) -> list[WikiLink]:
    """The links of a note's text, those in its front matter too, with offsets in the whole text."""
    return [*_links_of_head(text[:body]), *(_moved(each, body) for each in find_links(text[body:]))]


def link_at(text: str, place: int, body: int = 0) -> WikiLink | None:
    """The link that a place lies in or at the end of, with offsets in the whole text, or None.

    Of a link by reference it is the target of its definition, in the place of the reference.
    """
    references = (_moved(each, body) for each in find_references(text[body:]))
    found = (*all_links(text, body), *references)
    return next((link for link in found if link.start <= place <= link.end), None)


def _header(raw: bytes) -> tuple[Header, Fences] | None:
    """A note's header; None without one, if it is refused, and if it can hold no link."""
    try:
        fences = find_fences(raw)
        if fences is None or b"[" not in raw[fences.text_start : fences.text_end]:
            return None
        return read_header(raw, fences), fences
    except HeaderRefused:
        return None


def _texts(header: Header) -> Iterator[tuple[str, Value, str]]:
    """The texts of all properties that may hold a link, each with its top property's name."""
    for entry in header.entries:
        waiting = [entry.value]
        while waiting:
            value = waiting.pop()
            text = header.text_of(value)
            if text is not None:
                yield from [(entry.name, value, text)] * ("[" in text)
            elif value.kind == "mapping":
                waiting += reversed(value.parts[1::2])
            else:
                waiting += reversed(value.parts)


def _links_of_head(head: str) -> list[WikiLink]:
    """The links of what stands above a note's body, where they are written."""
    raw = head.encode("utf-8", "surrogatepass")
    read = _header(raw)
    if read is None:
        return find_links(head)
    header, fences = read
    start = len(raw[: fences.text_start].decode("utf-8", "surrogatepass"))
    found = []
    for _, value, text in _texts(header):
        at = start + value.start
        # An escape such as `\xE9` makes a link read otherwise than it is written.
        written = find_links(head[at : start + value.end])
        for link, place in zip(find_links(text), written, strict=False):
            found.append(replace(link, start=at + place.start, end=at + place.end))
    return found


def _moved(link: WikiLink, by: int) -> WikiLink:
    return replace(link, start=link.start + by, end=link.end + by)
