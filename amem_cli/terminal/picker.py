"""A list on the terminal, to pick a line from by typing a few letters."""

from __future__ import annotations

import contextlib
import os
import signal
import sys
import unicodedata
from collections.abc import Iterator, Sequence
from typing import TYPE_CHECKING, Any, NamedTuple

from amem_cli.system.signals import ENDING

if TYPE_CHECKING:
    from prompt_toolkit.application import Application
    from prompt_toolkit.formatted_text import StyleAndTextTuples
    from prompt_toolkit.key_binding import KeyBindings

# How long Esc may still turn out to be the beginning of another key, in seconds.
ESCAPE_SECONDS = 0.05
MAX_QUERY = 200


class PickerEntry(NamedTuple):
    """What can be chosen, folded: what it is called, and all else by which it may be known."""

    title: str
    aside: str


class PickerItem(NamedTuple):
    """One line of the list, safe for a terminal; all of it is searched."""

    title: str
    aside: str = ""
    hidden_terms: str = ""


def can_pick() -> bool:
    """True on a terminal that can show a list."""
    at_terminal = sys.stdin.isatty() and sys.stderr.isatty()
    return at_terminal and os.environ.get("TERM", "") not in ("dumb", "unknown")


def pick(items: Sequence[PickerItem], prompt: str, *, color: bool = True) -> int | None:
    """The position of the item that the user picks; None if the user left without picking one.

    The list is drawn on stderr and gone afterwards.
    """
    return _Picker(items, prompt).run(color=color)


class _Picker:
    """The state of the list: what was typed, what matches, and the current line."""

    def __init__(self, items: Sequence[PickerItem], prompt: str) -> None:
        self._items = items
        self._prompt = f"{prompt}> "
        self._entries = [
            PickerEntry(folded(item.title), folded(f"{item.aside} {item.hidden_terms}"))
            for item in items
        ]
        self._matches: list[int] = list(range(len(items)))
        self._at = 0
        self._top = 0

    def run(self, *, color: bool) -> int | None:
        """Show the list until the user picks an item or leaves."""
        from prompt_toolkit.application import Application
        from prompt_toolkit.buffer import Buffer
        from prompt_toolkit.input import create_input
        from prompt_toolkit.output import ColorDepth, create_output

        buffer = Buffer(multiline=False, on_text_changed=lambda each: self._typed(each.text))
        app: Application[int | None] = Application(
            layout=self._layout(buffer),
            key_bindings=self._keys(),
            full_screen=True,
            input=create_input(sys.stdin),
            # stdout may go to a file or pipe, which gets the command's result alone.
            output=create_output(sys.stderr),
            color_depth=None if color else ColorDepth.MONOCHROME,
        )
        app.ttimeoutlen = ESCAPE_SECONDS
        with _ended_by_signals(app):
            return app.run()

    def _typed(self, query: str) -> None:
        self._matches = ranked(query[:MAX_QUERY], self._entries)
        self._at = self._top = 0

    def _layout(self, buffer: Any) -> Any:
        from prompt_toolkit.layout import HSplit, Layout, Window
        from prompt_toolkit.layout.controls import BufferControl, FormattedTextControl
        from prompt_toolkit.layout.processors import BeforeInput

        asked = BufferControl(buffer, input_processors=[BeforeInput(self._prompt, "bold")])
        rows = [
            Window(asked, height=1),
            Window(FormattedTextControl(self._rows), wrap_lines=False),
            Window(FormattedTextControl(self._status), height=1, style="reverse"),
        ]
        return Layout(HSplit(rows), focused_element=buffer)

    def _rows(self) -> StyleAndTextTuples:
        from prompt_toolkit.application import get_app

        height = max(get_app().output.get_size().rows - 2, 1)
        last = max(len(self._matches) - height, 0)
        self._top = max(min(self._top, self._at, last), self._at - height + 1)
        lines: StyleAndTextTuples = []
        for place in range(self._top, min(self._top + height, len(self._matches))):
            item = self._items[self._matches[place]]
            chosen = place == self._at
            mark = "class:selected reverse" if chosen else ""
            lines.append((mark, f"{'›' if chosen else ' '} {item.title}"))
            lines.append((mark or "fg:ansibrightblack", f"  {item.aside}" if item.aside else ""))
            lines.append(("", "\n"))
        return lines[:-1]

    def _status(self) -> str:
        count = f"{len(self._matches)} of {len(self._items)}"
        return f" {count}   Enter: choose   ↑ ↓: move   Esc: leave"

    def _move(self, by: int) -> None:
        self._at = max(0, min(self._at + by, len(self._matches) - 1))

    def _keys(self) -> KeyBindings:
        from prompt_toolkit.key_binding import KeyBindings, KeyPressEvent

        # Eager: default bindings that begin with Esc too would make the list wait for more keys.
        keys = KeyBindings()
        moves = {"up": -1, "c-p": -1, "down": 1, "c-n": 1, "pageup": -10, "pagedown": 10}
        for key, by in moves.items():

            @keys.add(key, eager=True)
            def _(event: KeyPressEvent, by: int = by) -> None:
                self._move(by)

        @keys.add("enter", eager=True)
        def _(event: KeyPressEvent) -> None:
            if self._matches:
                event.app.exit(result=self._matches[self._at])

        @keys.add("escape", eager=True)
        @keys.add("c-c", eager=True)
        @keys.add("c-d", eager=True)
        @keys.add("<sigint>", eager=True)
        def _(event: KeyPressEvent) -> None:
            event.app.exit(result=None)

        return keys


@contextlib.contextmanager
def _ended_by_signals(app: Application[int | None]) -> Iterator[None]:
    """SIGTERM and SIGHUP end the list like Esc, so that it restores the screen."""

    def end(number: int, frame: object) -> None:
        # The list has not begun yet, so there is no screen to restore.
        if app.loop is None:
            raise KeyboardInterrupt
        # Not from here: the signal may interrupt drawing.
        app.loop.call_soon_threadsafe(leave)

    def leave() -> None:
        if app.is_running and not app.is_done:
            app.exit(result=None)

    # Ctrl-C is a key of the list's own.
    numbers = [number for number in ENDING if number != signal.SIGINT]
    former = {number: signal.signal(number, end) for number in numbers}
    try:
        yield
    finally:
        for number, handler in former.items():
            signal.signal(number, handler)


# Of a place, how much a word there counts.
_WHOLE, _IN_TITLE, _ASIDE, _SPREAD, _SPREAD_ASIDE = 1000, 600, 400, 200, 100
_AT_THE_START, _AT_A_WORD = 200, 100
# So little that the worst match in a title still beats the best outside of it.
_FARTHEST = 90


def folded(text: str) -> str:
    """A text without case, accents and compatibility forms, as it is compared."""
    if text.isascii():
        return text.lower()
    parts = unicodedata.normalize("NFKD", text.casefold())
    return "".join(char for char in parts if not unicodedata.combining(char))


def ranked(query: str, entries: Sequence[PickerEntry]) -> list[int]:
    """Positions of the entries that hold every word of a query, best first.

    A word is held by letters in its order, however far apart; those that are together, at the
    start of a title or of a word in it count more. Equals keep their order.
    """
    words = folded(query).split()
    found = []
    for place, entry in enumerate(entries):
        scores = [_word_score(word, entry) for word in words]
        if 0 not in scores:
            found.append((-sum(scores), place))
    return [place for _, place in sorted(found)]


def _word_score(word: str, entry: PickerEntry) -> int:
    """How well a word fits; 0 if it does not."""
    title, aside = entry
    at = title.find(word)
    if at >= 0:
        if word == title:
            return _WHOLE
        # The start of a later word counts more than an earlier place within a word.
        inner = at and title.find(f" {word}")
        if inner > 0:
            at = inner + 1
        start = _AT_THE_START if at == 0 else _AT_A_WORD if not title[at - 1].isalnum() else 0
        return _IN_TITLE + start - min(at, _FARTHEST)
    at = aside.find(word)
    if at >= 0:
        return _ASIDE + (_AT_A_WORD if at == 0 or not aside[at - 1].isalnum() else 0)
    spread = _spread(word, title)
    if spread is not None:
        return _SPREAD - min(spread, _FARTHEST)
    spread = _spread(word, aside)
    return 0 if spread is None else _SPREAD_ASIDE - min(spread, _FARTHEST)


def _spread(word: str, text: str) -> int | None:
    """How many other letters are between those of a word; None if they are not all there."""
    first = at = text.find(word[0])
    for char in word[1:]:
        if at < 0:
            return None
        at = text.find(char, at + 1)
    return None if at < 0 else at - first + 1 - len(word)
