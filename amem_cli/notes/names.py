"""Names of notes: which note a link means, as Obsidian decides it, and file names from titles."""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Iterable, Mapping, Sequence
from functools import cache
from typing import Protocol

from amem_cli.markdown.regions import visible_text

_ENDING = ".md"
# In `[[…]]` these part off a heading, block or alias, end the link, or begin code or a comment.
_UNLINKABLE = re.compile(r"[#^\[\]|\n\r`]|%%|<!--")


class NoteNames(Protocol):
    """The names by which the notes of a vault are found."""

    def candidates(self, key: str) -> Sequence[str]:
        """Vault-relative paths of the notes for whose path `name_key` gives `key`."""

    def alias_candidates(self, key: str) -> Sequence[str]:
        """Paths of the notes with an alias or title for which `alias_key` gives `key`.

        The notes whose file has that name too may be left out.
        """


class NameTable:
    def __init__(self, notes: Iterable[tuple[str, Sequence[str], str]]) -> None:
        """Args: notes: (vault-relative path, aliases, title) of each note; a title may be empty."""
        self._paths: dict[str, list[str]] = {}
        self._aliased: dict[str, list[str]] = {}
        for path, aliases, title in notes:
            self._paths.setdefault(name_key(path), []).append(path)
            keys = {alias_key(alias) for alias in (*aliases, title)} - {"", name_key(path)}
            for key in keys:
                self._aliased.setdefault(key, []).append(path)

    def candidates(self, key: str) -> Sequence[str]:
        return self._paths.get(key, ())

    def alias_candidates(self, key: str) -> Sequence[str]:
        return self._aliased.get(key, ())


class RememberedNames:
    """Other names, each key looked up once; for resolving many links at a time.

    Args:
        candidates: what is known already of keys.
    """

    def __init__(self, names: NoteNames, candidates: Mapping[str, Sequence[str]]) -> None:
        self._known = candidates
        self._look_up = cache(names.candidates)
        self.alias_candidates = cache(names.alias_candidates)

    def candidates(self, key: str) -> Sequence[str]:
        return self._known[key] if key in self._known else self._look_up(key)


def name_key(text: str) -> str:
    """The base name of a path or link target in the form in which names are compared.

    Without folders and `.md`, Unicode-normalised, without case. Only for comparing: a file is
    opened by its path as it is.
    """
    return _folded(_without_ending(text.rpartition("/")[2]))


def alias_key(text: str) -> str:
    """The `name_key` of an alias or title; empty if a link could only mean a folder by it."""
    return "" if "/" in text else name_key(text.strip())


def typed_keys(text: str) -> tuple[str, ...]:
    """The `name_key` of a path or name for somebody who types it without its accents, the one with
    bare letters first; see `as_typed`."""
    if text.isascii():
        return (name_key(text),)
    from amem_cli.language.lexicon import as_typed, fold

    return as_typed(fold(_without_ending(text.rpartition("/")[2]).strip()))


def is_linkable(path: str) -> bool:
    """Whether a wikilink can name the note: some characters in a file name break every link."""
    return not _UNLINKABLE.search(path) and all(
        part == part.strip() for part in _without_ending(path).split("/")
    )


def resolve(target: str, source: str, names: NoteNames) -> str | None:
    """Find the note that a link means.

    A target that is a whole path from the root comes first; then, among the notes whose path ends
    with the target, those in or below the folder of the source, then the shortest path. Case only
    decides between equals. `./` and `../` start from the folder of the source, `/` from the root.
    If no file has the name, the one note with that alias or title.

    Args:
        target: the part of a link before `|`, with or without `#heading` and `.md`.
        source: path of the note that holds the link, or empty.

    Returns:
        The path of the note; the source if the target is only a heading; None if no note or
        more than one alias fits, or the target is an attachment.
    """
    wanted = target.strip()
    if not wanted or wanted.startswith("#"):
        return source or None
    from amem_cli.markdown.links import is_attachment

    if is_attachment(wanted):
        return None
    # The whole target first: an alias may hold a `#`, and so may the name of a file.
    found = file_named(wanted, source, names) or _by_alias(wanted, names)
    if found is None and "#" in wanted and not wanted.lower().endswith(_ENDING):
        return resolve(wanted.partition("#")[0], source, names)
    return found


def shortest_target(path: str, names: NoteNames) -> str:
    """How to write a link to a note so that it means that note in every other note.

    Returns:
        The file name without `.md` if no other note has it; else the path from the root without
        `.md`, with a leading `/` for a note in the root folder; with `.md` only if the name
        would otherwise read as another kind of file.
    """
    is_unique = len(names.candidates(name_key(path))) == 1
    whole = path.rpartition("/")[2] if is_unique else (path if "/" in path else f"/{path}")
    short = _without_ending(whole)
    return short if resolve(short, "", names) == path else whole


def file_named(wanted: str, source: str, names: NoteNames) -> str | None:
    """Find the file, a note or any other, whose path a link means; see `resolve`."""
    location = _location(wanted, source)
    if location is None:
        return None
    key = _path_key(location)
    is_anchored = wanted.startswith(("/", "./", "../"))
    fitting = [
        path
        for path in names.candidates(name_key(location))
        if (path_key := _path_key(path)) == key
        or (not is_anchored and path_key.endswith(f"/{key}"))
    ]
    if len(fitting) < 2:
        return fitting[0] if fitting else None
    folder = _folded(source.rpartition("/")[0])

    def rank(path: str) -> tuple[int, int, int, str]:
        path_key = _path_key(path)
        is_near = not folder or path_key.startswith(f"{folder}/")
        nearness = 0 if path_key == key else 1 if is_near else 2
        return (nearness, _spelling(location, path), len(path), path)

    return min(fitting, key=rank)


def _by_alias(wanted: str, names: NoteNames) -> str | None:
    key = alias_key(wanted)
    paths = set(names.alias_candidates(key)) if key else set()
    return paths.pop() if len(paths) == 1 else None


def _location(wanted: str, source: str) -> str | None:
    """The target as a path without `.` and `..`, or None if it is not a path in the vault."""
    is_relative = wanted.startswith(("./", "../"))
    parts = source.split("/")[:-1] if is_relative else []
    if wanted.endswith("/"):
        return None
    for part in wanted.split("/"):
        if part == "..":
            if not parts:
                return None
            parts.pop()
        elif part not in ("", "."):
            parts.append(part)
    return "/".join(parts) or None


def _spelling(location: str, path: str) -> int:
    """How far the written name differs from the file's: 0 not, 1 in normalisation, 2 in case."""
    written, actual = location, path
    for distance in (0, 1):
        for ending in (actual, _without_ending(actual)):
            if f"/{ending}".endswith(f"/{written}"):
                return distance
        written, actual = _normalised(written), _normalised(actual)
    return 2


def _path_key(path: str) -> str:
    return _folded(_without_ending(path))


def _without_ending(path: str) -> str:
    return path[: -len(_ENDING)] if path.lower().endswith(_ENDING) else path


def _normalised(text: str) -> str:
    return unicodedata.normalize("NFC", text).replace("\u00a0", " ").replace("\u202f", " ")


def _folded(text: str) -> str:
    if text.isascii():
        return text.lower()
    # Folding case can take apart what was composed.
    return unicodedata.normalize("NFC", _normalised(text).casefold())


UNTITLED = "Untitled"
MAX_NAME_BYTES = 200

_OPENING = 10_000  # characters of a text in which a title is looked for
# A leading dot hides a file, a leading hyphen reads as an option, `name~` is an editor's backup.
_EDGES = " .-~"
# Letters, marks and symbols to Unicode, yet nothing of them can be seen.
_INVISIBLE = "\u034f\u115f\u1160\u17b4\u17b5\u2800\u3164\uffa0"
_ZERO_WIDTH_JOINER = "\u200d"
_COLON = re.compile(r":+(?=\s|\Z)")
_SEPARATOR = re.compile(r"[/\\|:]+")
_FORBIDDEN = re.compile(r"[?*\"<>#^\[\]`]+")
# `%%` begins a comment in Obsidian.
_PERCENTS = re.compile(r"%{2,}")
_RESERVED = re.compile(
    r"\A(con|prn|aux|nul|com[0-9¹²³]|lpt[0-9¹²³]|conin\$|conout\$)(?= *(?:\.|\Z))", re.IGNORECASE
)
# "Conflict" and "copy" in the languages of Dropbox, Maestral and others, which write both.
_OF_CONFLICT = (
    "conflic|conflit|konfli|mo[dt]s?trid|çakış|bercanggah|bertentang"
    "|конфл|競合|冲突|衝突|충돌|ขัดแย้ง"
)
_COPY = (
    r"\b(?:(?:cop(?:y|ie|ia)|cópia)\b|[^\W_]{0,20}(?:kop[iy]|eksemplar)|salinan|копи|копі)"
    "|コピー|副本|複本|사본|สำเนา"
)
_CONFLICT = re.compile(
    r"\.sync-conflict-[0-9]{8}-[0-9]{6}"
    rf"|\((?=[^()]*(?:{_OF_CONFLICT}))(?=[^()]*(?:{_COPY}))[^()]*(?:\([0-9]{{1,3}}\))?\)"
    r"|\(sfconflict [^()]*\)|\(# (?:edit conflict|name clash) [^()]*#\)"
    r"|\((?:case|unicode encoding|selective sync|white ?space|shared folder) conflict"
    r"(?: [0-9]{1,3})?\)|\(case clash from [^()]{1,100}\)|\[conflicted\]"
    r"|[-_]conflict-(?:(?:[^/]{1,60}-)?[0-9]{8}-[0-9]{6}|[0-9]{4}(?:-[0-9]{2}){2}(?:-[0-9]{4,6})?)"
    r"|_[^_/]{1,60}_[a-z]{3}-[0-9]{1,2}-[0-9]{4,6}-[0-9]{4}"
    r"_(?:case|whitespace|tailcharacter)?conflict(?:_[0-9]{1,3}| ?\([0-9]{1,3}\))?(?=\.)"
    r"|-(?:DESKTOP|LAPTOP)-[A-Z0-9]{7}(?:-[0-9]{1,3})?(?=\.[a-z]{1,5}\Z)",
    re.IGNORECASE,
)
# Syncthing also names the device.
_CONFLICT_PART = re.compile(rf"(?:{_CONFLICT.pattern})(?:-[A-Z0-9]{{7}}(?=\.))?", re.IGNORECASE)
# `4913` is the file with which Vim tries whether it may write in a folder.
_LEFTOVER = re.compile(r".*~|[0-9]{4,5}|#.*#|~\$.*|\.~lock\..*|.*\.(?:tmp|sw[a-z]|part|crdownload)")
_SENTENCE_END = re.compile(r"(?<=\w{4})\.(?=\s)|[!?…](?=\s)|[。！？]")
_CLAUSE_END = re.compile(r"[,;:](?=\s)|\s[–—(-](?=\s|\w)|[，；：、]")
_LOOSE_END = " \t,;:.。、，；：-–—|"


def file_name(title: str) -> str:
    """The file name of a note with this title, `.md` included.

    A single path component that Windows, macOS, Linux, git and Obsidian's links can all hold, NFC,
    at most 200 bytes of UTF-8; a name that is made stays as it is when it is made again. A title of
    which nothing is left gives `Untitled.md`.
    """
    visible = "".join(map(_visible, unicodedata.normalize("NFC", title)))
    spoken = _COLON.sub(" - ", _without_full_stop(visible.strip()))
    allowed = _PERCENTS.sub("%", _FORBIDDEN.sub("", _SEPARATOR.sub("-", spoken)))
    return _settle(unicodedata.normalize("NFC", allowed)) + _ENDING


def with_suffix(name: str, number: int) -> str:
    """The name with a number before its `.md`, such as `Name 2.md`, within 200 bytes."""
    suffix = f" {number}"
    stem = _cut_bytes(_without_full_stop(name), MAX_NAME_BYTES - len(_ENDING) - len(suffix))
    return (stem.strip(_EDGES) or UNTITLED) + suffix + _ENDING


def title_of(content: str, limit: int = 60, *, otherwise: str = "") -> str:
    """A title for a text without one: its heading, else `otherwise`, its first sentence or line.

    The heading is the one that opens the text, or the first of level 1. Without markup, at most
    `limit` characters, cut after a clause or else after a word that can end one; `Untitled` if the
    text has no words.
    """
    from amem_cli.markdown.plain_text import plain_text

    opening = content[:_OPENING]
    heading = _heading(opening)
    if otherwise and not _has_word(heading):
        return otherwise
    prose = plain_text(visible_text(opening, "fence", "indented").replace("\0", ""))
    for text in (heading, prose, plain_text(opening)):
        line = next((line for line in text.split("\n") if _has_word(line)), "")
        begin = next((at for at, letter in enumerate(line) if letter.isalnum()), 0)
        end = _SENTENCE_END.search(line, begin)
        title = _cut_title(line[: end.end()] if end else line, limit).strip(_LOOSE_END)
        if _has_word(title):
            return title
    return UNTITLED


def conflict_copy(name: str) -> bool:
    """Whether a file name is that of a sync conflict or of an editor's or a writer's leftover.

    Knows Syncthing, Dropbox in its languages, Maestral, Nextcloud, ownCloud, Seafile, Synology,
    pCloud, Proton Drive, Obsidian Sync, and OneDrive if the computer has its factory name. iCloud's
    `Name 2.md` cannot be told apart from a note's own name.
    """
    lowered = name.lower()
    # These alone decide most names, in a tenth of the time.
    suspect = (
        "(" in name or "conflict" in lowered or "-desktop-" in lowered or "-laptop-" in lowered
    )
    return bool(
        (suspect and _CONFLICT.search(unicodedata.normalize("NFC", name)))
        or _LEFTOVER.fullmatch(name)
    )


def without_conflict_mark(name: str) -> str:
    """The name of the file of which a synchronising program made a conflict copy."""
    stem = _CONFLICT_PART.sub("", unicodedata.normalize("NFC", name))
    return " ".join(_without_full_stop(stem).split()) + _ENDING


def _settle(stem: str) -> str:
    """Apply, until nothing changes, the rules of which one can bring another into play."""
    settled = _settle_once(stem)
    while settled != stem:
        stem, settled = settled, _settle_once(settled)
    return settled if _has_word(settled) else UNTITLED


def _settle_once(stem: str) -> str:
    limit = MAX_NAME_BYTES - len(_ENDING)
    stem = _cut_bytes(_without_full_stop(" ".join(stem.split()).strip(_EDGES)), limit).strip(_EDGES)
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
    from amem_cli.markdown.outline import headings

    visible = visible_text(content)
    for heading in headings(content):
        if heading.level == 1 or not visible[: heading.start].strip("\0 \t\r\n"):
            return heading.text
    return ""


def _without_full_stop(name: str) -> str:
    end = len(name)
    while name[max(0, end - len(_ENDING)) : end].lower() == _ENDING:
        end -= len(_ENDING)
    return name[:end]


def _cut_bytes(text: str, limit: int) -> str:
    encoded = text.encode("utf-8", "replace")
    return _cut(text, len(encoded[:limit].decode("utf-8", "ignore")))


def _cut_title(text: str, limit: int) -> str:
    from amem_cli.language.words import is_stopword, sentences

    if len(text) <= limit:
        return text
    # Less says too little of a long text.
    least = limit // 3
    # An abbreviation's full stop looks like a sentence's; short sentences end like that too.
    first = next(filter(_has_word, sentences(text)), text)
    if least < len(first) <= limit:
        return first
    cut = _cut(text, limit)
    clauses = [found.start() for found in _CLAUSE_END.finditer(cut) if found.start() > least]
    if clauses:
        return cut[: clauses[-1]]
    whole = cut.split(" ")
    while len(whole) > 1 and is_stopword(whole[-1].lower()):
        whole.pop()
    return " ".join(whole)


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
    """Whether no mark, modifier or joiner ties the letters before and after the position."""
    before, after = text[position - 1], text[position]
    tied = unicodedata.category(after)[0] == "M" or "\U0001f3fb" <= after <= "\U0001f3ff"
    return not (tied or _ZERO_WIDTH_JOINER in (before, after))
