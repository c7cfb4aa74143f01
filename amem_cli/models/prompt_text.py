"""Text on its way into a language model, and out of one: bounded, harmless, on one line."""

from __future__ import annotations

import re
import unicodedata

from amem_cli.language.words import words

# Marks that mean something to Obsidian, to YAML, to templates or to a page.
_MARKUP = ("[[", "]]", "{{", "}}", "---", "-->", "%%", "://")
# A sign of comparison or an arrow is none of a tag.
_TAG_SIGN = re.compile(r"<(?![\s=\d-])|(?<![\s=\d-])>")
_BLANK_CATEGORIES = frozenset({"Zs", "Zl", "Zp", "Cc"})
_INVISIBLE_CATEGORIES = frozenset({"Cf", "Cs", "Co", "Cn"})
# Letters and marks that show nothing, though Unicode does not call them format characters.
_INVISIBLE = re.compile(
    "[\u034f\u115f\u1160\u17b4\u17b5\u180b-\u180f\u3164\ufe00-\ufe0f\uffa0\U000e0100-\U000e01ef]"
)
_EMPHASIS = re.compile(r"[*`]+")
_ANGLE = re.compile(r"<(?![\s=-])")
_BAR_ANGLE = re.compile(r"([|｜])>")
_BRACKETED_TOKEN = re.compile(r"\[(?=/?(?:[A-Z_]{2,32}|gMASK)\])")
_FENCE = re.compile(r'"{3,}')
_BLANK_LINES = re.compile(r"\n{2,}")
_LOOP = re.compile(r"([^\W\d]{1,8}?)\1{4}")
_NUMBER = re.compile(r"\d+")
_THOUSANDS = re.compile(r"(?<=\d)[ ,.'\u00a0\u2009\u202f](?=\d{3}(?!\d))")
_ASCII_WORD = re.compile(r"[A-Za-z]+")
_ASCII_SIGN = re.compile(r"[!-@\[-`{-~\n]")
_BEYOND_ASCII = re.compile(r"[^\x00-\x7f]")
_LETTERS_A_TOKEN = 4
# Chat templates read these as the end of a turn.
_CONTROL_STRINGS = (
    "<| <｜ [INST] [/INST] <<SYS>> <</SYS>> <start_of_turn> <end_of_turn> <s> </s> <bos> <eos>"
)
FENCE = '"""'
MOST_READ = 20


def clean_line(text: str, limit: int) -> str | None:
    """What a model wrote, as one line of at most `limit` characters for a property.

    Control characters and line breaks become blanks, invisible characters and emphasis marks go,
    blanks are single. None if nothing is left, the line is too long (nothing is cut), or it holds
    `[[`, `]]`, `{{`, `}}`, `---`, `-->`, `%%`, `://`, or a `<` or `>` that may be a tag's.
    """
    if len(text) > 10 * limit:
        return None
    composed = _INVISIBLE.sub("", unicodedata.normalize("NFC", text))
    line = " ".join(_EMPHASIS.sub("", "".join(map(_visible, composed))).split())
    if not line or len(line) > limit or _TAG_SIGN.search(line):
        return None
    if any(mark in line for mark in _MARKUP):
        return None
    return line


def _visible(character: str) -> str:
    category = unicodedata.category(character)
    if category in _BLANK_CATEGORIES:
        return " "
    return "" if category in _INVISIBLE_CATEGORIES else character


def quote_as_data(text: str, limit: int) -> str:
    """A note's text as a model sees it: data that can neither end its fence nor command.

    Invisible and control characters go, what looks like a control token of any chat format is
    broken up by a blank, `\"\"\"` becomes `'''`. A long text keeps its beginning and its end, with
    a line `…` between them.

    Args:
        limit: most UTF-8 bytes, which also bounds the tokens of every script.
    """
    lines = (
        _data_line(line) for line in _middle_cut(text, limit).replace("\r\n", "\n").split("\n")
    )
    data = _BLANK_LINES.sub("\n", "\n".join(lines)).strip()
    return data.encode("utf-8")[:limit].decode("utf-8", "ignore")


def without_control_strings(text: str) -> str:
    """Text that is only data, with a blank in all that a chat template reads as its own.

    A server or program may turn such strings into control tokens wherever they occur.
    """
    for control in _CONTROL_STRINGS.split():
        text = text.replace(control, f"{control[0]} {control[1:]}")
    return text.replace("|>", "| >")


def quote_line(text: str, limit: int) -> str:
    """The text as data on one line."""
    return " ".join(quote_as_data(text, limit).split())


def quote_opening(text: str, limit: int) -> str:
    """The beginning of a text as data on one line: `…` stands for all that has no room."""
    line = quote_line(text[:limit], 4 * limit)
    if len(line.encode("utf-8")) <= limit and len(text) <= limit:
        return line
    cut = line.encode("utf-8")[: limit - len(" …".encode())].decode("utf-8", "ignore")
    return f"{cut.rsplit(' ', 1)[0]} …" if " " in cut else f"{cut}…"


def _data_line(line: str) -> str:
    line = _INVISIBLE.sub("", "".join(map(_visible, line))).rstrip()
    line = _BRACKETED_TOKEN.sub("[ ", _BAR_ANGLE.sub(r"\1 >", _ANGLE.sub("< ", line)))
    return _FENCE.sub("'''", line)


def _middle_cut(text: str, limit: int) -> str:
    data = text.encode("utf-8", "ignore")
    if len(data) <= limit:
        return data.decode("utf-8")
    tail = limit // 4
    head = data[: limit - tail - len("\n…\n".encode())]
    return f"{head.decode('utf-8', 'ignore')}\n…\n{data[-tail:].decode('utf-8', 'ignore')}"


def numbers_in(text: str) -> frozenset[str]:
    """Runs of digits, without leading zeros; of "1 900" also "1900"."""
    runs = _NUMBER.findall(f"{text}\n{_THOUSANDS.sub('', text)}")
    return frozenset(number.lstrip("0") or "0" for number in runs)


def repeats_itself(text: str) -> bool:
    """Whether a text goes round in a loop, as weak models do: the same three words again and again,
    few different words, or the same few letters five times in a row."""
    spoken = words(text)
    triples = list(zip(spoken, spoken[1:], spoken[2:], strict=False))
    if len(triples) - len(set(triples)) >= 2:
        return True
    if len(spoken) >= 8 and len(set(spoken)) < 0.6 * len(spoken):
        return True
    return _LOOP.search(text[:2_000]) is not None


def texts_of(value: object) -> list[str]:
    """The texts among the first 20 items of a list, or nothing."""
    items = value[:MOST_READ] if isinstance(value, list) else []
    return [item for item in items if isinstance(item, str)]


def estimated_tokens(text: str) -> int:
    """About how many tokens a text takes, rather too many than too few.

    Models of small vocabularies spend one on four letters of German, up to two on one Chinese
    character.
    """
    latin = sum(-(-len(word) // _LETTERS_A_TOKEN) for word in _ASCII_WORD.findall(text))
    signs = len(_ASCII_SIGN.findall(text))
    return round(latin + signs + sum(map(_tokens_beyond_ascii, _BEYOND_ASCII.findall(text))))


def _tokens_beyond_ascii(character: str) -> float:
    point = ord(character)
    if point < 0x250:
        return 1.0
    return 1.3 if point < 0x900 else 2.2
