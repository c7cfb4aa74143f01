"""Makes file names of titles and titles of texts, and knows files that are no notes."""

from __future__ import annotations

import re
import unicodedata

UNTITLED = "Untitled"
MAX_NAME_BYTES = 200

_OPENING = 10_000  # characters of a text in which a title is looked for
_ENDING = ".md"
_EDGES = " .-~"
_INVISIBLE = "\u034f\u115f\u1160\u17b4\u17b5\u2800\u3164\uffa0"
_ZERO_WIDTH_JOINER = "\u200d"
_COLON = re.compile(r":+(?=\s|\Z)")
_SEPARATOR = re.compile(r"[/\\|:]+")
_FORBIDDEN = re.compile(r"[?*\"<>#^\[\]`]+")
_PERCENTS = re.compile(r"%{2,}")
_RESERVED = re.compile(
    r"\A(con|prn|aux|nul|com[0-9¹²³]|lpt[0-9¹²³]|conin\$|conout\$)(?= *(?:\.|\Z))", re.IGNORECASE
)
_CONFLICT = re.compile(
    r"\.sync-conflict-[0-9]{8}-[0-9]{6}"
    r"|\([^()]{0,100}\b(?:conflicted copy|sfconflict)\b[^()]{0,100}\)"
    r"|\(case conflict(?: [0-9]{1,3})?\)"
    r"|_conflict-[0-9]{8}-[0-9]{6}"
    r"|-(?:DESKTOP|LAPTOP)-[A-Z0-9]{7}(?:-[0-9]{1,3})?(?=\.[a-z]{1,5}\Z)",
    re.IGNORECASE,
)
# Syncthing also names the device.
_CONFLICT_PART = re.compile(rf"(?:{_CONFLICT.pattern})(?:-[A-Z0-9]{{7}}(?=\.))?", re.IGNORECASE)
_LEFTOVER = re.compile(r".*~|[0-9]{4,5}|#.*#|~\$.*|\.~lock\..*|.*\.(?:tmp|sw[a-z]|part|crdownload)")
_HEADING = re.compile(r"^ {0,3}(#{1,6})[ \t]+\S.*$", re.MULTILINE)
_SENTENCE_END = re.compile(r"(?<=\w{4})\.(?=\s)|[!?…](?=\s)|[。！？]")
_LOOSE_END = " \t,;:.。、，；：-–—|"


def file_name(title: str) -> str:
    """The file name of a note with this title, `.md` included.

    A single path component that Windows, macOS, Linux, git and Obsidian's links can all hold, NFC,
    at most 200 bytes of UTF-8; a name that is made stays as it is when it is made again. A title of
    which nothing is left gives `Untitled.md`.
    """
    visible = "".join(map(_visible, unicodedata.normalize("NFC", title)))
    spoken = _COLON.sub(" - ", _without_ending(visible.strip()))
    allowed = _PERCENTS.sub("%", _FORBIDDEN.sub("", _SEPARATOR.sub("-", spoken)))
    return _settle(unicodedata.normalize("NFC", allowed)) + _ENDING


def with_suffix(name: str, number: int) -> str:
    """The name with a number before its `.md`, such as `Name 2.md`, within 200 bytes."""
    suffix = f" {number}"
    stem = _cut_bytes(_without_ending(name), MAX_NAME_BYTES - len(_ENDING) - len(suffix))
    return (stem.strip(_EDGES) or UNTITLED) + suffix + _ENDING


def title_of(content: str, limit: int = 60) -> str:
    """A title for a text without one: its heading, else its first sentence or line.

    The heading is the one that opens the text, or the first of level 1. Without markup, cut between
    words to at most `limit` characters; `Untitled` where the text has no words.
    """
    from amem_cli.core.wikilinks import plain_text

    opening = content[:_OPENING]
    prose = plain_text(_without_code_blocks(opening))
    for text in (_heading(opening), prose, plain_text(opening)):
        line = next((line for line in text.split("\n") if _has_word(line)), "")
        title = _cut(_first_sentence(line), limit).strip(_LOOSE_END)
        if _has_word(title):
            return title
    return UNTITLED


def is_hidden(path: str) -> bool:
    """Whether a component of the path begins with a dot."""
    return any(part.startswith(".") for part in re.split(r"[/\\]", path))


def conflict_copy(name: str) -> bool:
    """Whether a file name is that of a sync conflict or of an editor's or a writer's leftover.

    Knows Syncthing, Dropbox, Nextcloud, ownCloud, Seafile, Obsidian Sync, and OneDrive where the
    computer has its factory name. iCloud's `Name 2.md` cannot be told from a note's own name.
    """
    lowered = name.lower()
    # Most names can be told by these alone, in a tenth of the time.
    suspect = "conflict" in lowered or "-desktop-" in lowered or "-laptop-" in lowered
    return bool((suspect and _CONFLICT.search(name)) or _LEFTOVER.fullmatch(name))


def without_conflict_mark(name: str) -> str:
    """The name of the file of which a synchronising program made a conflict copy."""
    stem = _CONFLICT_PART.sub("", name)
    return " ".join(_without_ending(stem).split()) + _ENDING


def _settle(stem: str) -> str:
    """Apply, until nothing changes, the rules of which one can bring another into play."""
    settled = _settle_once(stem)
    while settled != stem:
        stem, settled = settled, _settle_once(settled)
    return settled if _has_word(settled) else UNTITLED


def _settle_once(stem: str) -> str:
    limit = MAX_NAME_BYTES - len(_ENDING)
    stem = _cut_bytes(_without_ending(" ".join(stem.split()).strip(_EDGES)), limit).strip(_EDGES)
    # Windows takes the part before the first dot for the device.
    stem = _RESERVED.sub(r"\1_", stem)
    harmless = _CONFLICT.sub(lambda match: " " + match.group().strip("()._-"), stem + _ENDING)
    return harmless[: -len(_ENDING)]


def _visible(letter: str) -> str:
    """The letter, a blank for one that moves the cursor, nothing for one that cannot be seen."""
    if letter.isascii():
        return letter if letter.isprintable() else " "
    category = unicodedata.category(letter)
    if category[0] == "Z":
        return " "
    return "" if category[0] == "C" or letter in _INVISIBLE else letter


def _has_word(text: str) -> bool:
    """Whether there is a letter, a digit or a picture, and not only punctuation."""
    return any(
        letter.isalnum() or (not letter.isascii() and unicodedata.category(letter)[0] == "S")
        for letter in text
    )


def _heading(content: str) -> str:
    """The words of the heading that opens the text, or of its first of level 1, or nothing."""
    from amem_cli.core.markdown_regions import blank_out, find_regions
    from amem_cli.core.wikilinks import plain_text

    visible = blank_out(content, ((region.start, region.end) for region in find_regions(content)))
    for match in _HEADING.finditer(visible):
        opens_text = not visible[: match.start()].strip("\0 \t\r\n")
        if opens_text or match[1] == "#":
            return plain_text(content[match.start() : match.end()])
    return ""


def _without_code_blocks(content: str) -> str:
    from amem_cli.core.markdown_regions import blank_out, find_regions

    blocks = (region for region in find_regions(content) if region.kind in ("fence", "indented"))
    return blank_out(content, ((block.start, block.end) for block in blocks)).replace("\0", "")


def _first_sentence(line: str) -> str:
    end = _SENTENCE_END.search(line)
    return line[: end.end()] if end else line


def _without_ending(name: str) -> str:
    end = len(name)
    while name[max(0, end - len(_ENDING)) : end].lower() == _ENDING:
        end -= len(_ENDING)
    return name[:end]


def _cut_bytes(text: str, limit: int) -> str:
    encoded = text.encode("utf-8", "replace")
    return _cut(text, len(encoded[:limit].decode("utf-8", "ignore")))


def _cut(text: str, limit: int) -> str:
    """At most `limit` characters, cut between words if that keeps most, else between graphemes."""
    if len(text) <= limit:
        return text
    end = limit
    while end > 0 and not _is_boundary(text, end):
        end -= 1
    blank = text.rfind(" ", 0, end + 1)
    return text[: blank if blank > end // 2 else end]


def _is_boundary(text: str, position: int) -> bool:
    """Whether a reader sees the letters before and after the position as two."""
    before, after = text[position - 1], text[position]
    if unicodedata.category(after)[0] == "M" or "\U0001f3fb" <= after <= "\U0001f3ff":
        return False
    if _ZERO_WIDTH_JOINER in (before, after) or "\u1160" <= after <= "\u11ff":
        return False
    if unicodedata.combining(before) == 9 and after.isalpha():
        return False
    if _is_flag_half(after):
        start = position
        while start and _is_flag_half(text[start - 1]):
            start -= 1
        return (position - start) % 2 == 0
    return True


def _is_flag_half(letter: str) -> bool:
    return "\U0001f1e6" <= letter <= "\U0001f1ff"
