"""The cards of a JSON Canvas: which files they show, and how these are changed in place."""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Iterator

from amem_cli.markdown.regions import Cut, spliced

ENDING = ".canvas"

_TOKEN = re.compile(r'"(?:[^"\\]|\\.)*"|[{}\[\]:,]')
_IN_NODES = ["{", "[", "{"]


def card_files(raw: bytes) -> list[str]:
    return [_read(text, card["file"]) for text, card in _cards(raw) if "file" in card]


def card_texts(raw: bytes) -> list[str]:
    return [_read(text, card["text"]) for text, card in _cards(raw) if "text" in card]


def redirected_cards(
    raw: bytes, new_file: Callable[[str], str | None], in_text: Callable[[str], str]
) -> bytes:
    """A canvas whose cards show other files; all else keeps its bytes.

    Args:
        new_file: for the path of a card the one to show; None leaves it.
        in_text: gives a text with its links as they are to be.
    """
    cuts: list[Cut] = []
    for text, card in _cards(raw):
        for name, change in (("file", new_file), ("text", in_text)):
            if name not in card:
                continue
            start, end = card[name]
            before = _read(text, card[name])
            after = change(before)
            if after is None or after == before:
                continue
            # As it is written now, unless that would say something else.
            written = in_text(text[start:end])
            if name == "file" or not _says(written, after):
                written = json.dumps(after, ensure_ascii=False)
            cuts.append(Cut(start, end, written))
    return spliced(raw.decode("utf-8"), cuts).encode("utf-8") if cuts else raw


def _cards(raw: bytes) -> Iterator[tuple[str, dict[str, tuple[int, int]]]]:
    """Each card with the slices of its strings by their names; none of what is no JSON."""
    try:
        text = raw.decode("utf-8")
        json.loads(text.removeprefix("\ufeff"))
    except (ValueError, RecursionError):
        return
    opened: list[str] = []
    card: dict[str, tuple[int, int]] = {}
    part = name = ""
    last = 0, 0
    for token in _TOKEN.finditer(text):
        mark = token[0]
        is_card = opened == _IN_NODES and part == "nodes"
        if mark in "{[":
            opened.append(mark)
            card = card if len(opened) > len(_IN_NODES) else {}
            name = ""
        elif mark in "}]":
            if is_card:
                yield text, card
            opened.pop()
            name = ""
        elif mark == ":":
            name = _read(text, last)
            part = name if len(opened) == 1 else part
        elif mark == ",":
            name = ""
        else:
            last = token.span()
            if is_card and name:
                card[name] = last


def _read(text: str, place: tuple[int, int]) -> str:
    return str(json.loads(text[slice(*place)], strict=False))


def _says(written: str, wanted: str) -> bool:
    try:
        return bool(json.loads(written) == wanted)
    except ValueError:
        return False
