"""A list on the terminal from which a person chooses by typing a few letters."""

from __future__ import annotations

import contextlib
import os
import signal
import sys
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from amem_cli.language.fuzzy_match import Entry, folded, ranked

if TYPE_CHECKING:
    from prompt_toolkit.application import Application
    from prompt_toolkit.formatted_text import StyleAndTextTuples
    from prompt_toolkit.key_binding import KeyBindings

# How long a lone Esc may still be the beginning of a key's sequence, in seconds.
ESCAPE_SECONDS = 0.05
MAX_QUERY = 200


@dataclass(frozen=True, slots=True)
class Choice:
    """One line of the list, safe for a terminal.

    Attributes:
        aside: what else is shown and found by.
        known_by: what it is found by without being shown.
    """

    title: str
    aside: str = ""
    known_by: str = ""


def can_pick() -> bool:
    """Whether a person sits at a terminal that can show a list."""
    at_terminal = sys.stdin.isatty() and sys.stderr.isatty()
    return at_terminal and os.environ.get("TERM", "") not in ("dumb", "unknown")


def pick(choices: Sequence[Choice], prompt: str, *, color: bool = True) -> int | None:
    """Let a person choose; the list is drawn on stderr and gone afterwards.

    Args:
        prompt: what is asked for, in a word or two.

    Returns:
        The position of the choice, None where there was none.
    """
    return _Picker(choices, prompt).run(color=color)


class _Picker:
    """The state of the list: what was typed, what it finds, and what is chosen."""

    def __init__(self, choices: Sequence[Choice], prompt: str) -> None:
        self._choices = choices
        self._prompt = f"{prompt}> "
        self._entries = [
            Entry(folded(each.title), folded(f"{each.aside} {each.known_by}")) for each in choices
        ]
        self._found: list[int] = list(range(len(choices)))
        self._at = 0
        self._top = 0
        self._known: dict[str, list[int]] = {}

    def run(self, *, color: bool) -> int | None:
        """Show the list until a choice is made."""
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
            output=create_output(sys.stderr),
            color_depth=None if color else ColorDepth.MONOCHROME,
        )
        app.ttimeoutlen = ESCAPE_SECONDS
        with _ended_by_signals(app):
            return app.run()

    def _typed(self, query: str) -> None:
        query = query[:MAX_QUERY]
        if query not in self._known:
            # What a beginning of the query found is all that the rest has to be looked for in.
            beginnings = (query[:end] for end in range(len(query) - 1, 0, -1))
            among = next((self._known[each] for each in beginnings if each in self._known), None)
            self._known[query] = ranked(query, self._entries, among)
        self._found = self._known[query]
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
        last = max(len(self._found) - height, 0)
        self._top = max(min(self._top, self._at, last), self._at - height + 1)
        lines: StyleAndTextTuples = []
        for place in range(self._top, min(self._top + height, len(self._found))):
            choice = self._choices[self._found[place]]
            chosen = place == self._at
            mark = "class:selected reverse" if chosen else ""
            lines.append((mark, f"{'›' if chosen else ' '} {choice.title}"))
            lines.append(
                (mark or "fg:ansibrightblack", f"  {choice.aside}" if choice.aside else "")
            )
            lines.append(("", "\n"))
        return lines[:-1]

    def _status(self) -> str:
        count = f"{len(self._found)} of {len(self._choices)}"
        return f" {count}   Enter: choose   ↑ ↓: move   Esc: leave"

    def _move(self, by: int) -> None:
        self._at = max(0, min(self._at + by, len(self._found) - 1))

    def _keys(self) -> KeyBindings:
        from prompt_toolkit.key_binding import KeyBindings, KeyPressEvent

        keys = KeyBindings()
        moves = {"up": -1, "c-p": -1, "down": 1, "c-n": 1, "pageup": -10, "pagedown": 10}
        for key, by in moves.items():

            @keys.add(key, eager=True)
            def _(event: KeyPressEvent, by: int = by) -> None:
                self._move(by)

        @keys.add("enter", eager=True)
        def _(event: KeyPressEvent) -> None:
            if self._found:
                event.app.exit(result=self._found[self._at])

        @keys.add("escape", eager=True)
        @keys.add("c-c", eager=True)
        @keys.add("c-d", eager=True)
        @keys.add("<sigint>", eager=True)
        def _(event: KeyPressEvent) -> None:
            event.app.exit(result=None)

        return keys


@contextlib.contextmanager
def _ended_by_signals(app: Application[int | None]) -> Iterator[None]:
    """The signals that end a process end the list as Esc does, so that it cleans up the screen."""

    def end(number: int, frame: object) -> None:
        if app.loop is None:
            raise KeyboardInterrupt
        # Not from here: the list may be in the middle of drawing.
        app.loop.call_soon_threadsafe(leave)

    def leave() -> None:
        if app.is_running and not app.is_done:
            app.exit(result=None)

    found = (getattr(signal, name, None) for name in ("SIGTERM", "SIGHUP"))
    former = {number: signal.signal(number, end) for number in found if number is not None}
    try:
        yield
    finally:
        for number, handler in former.items():
            signal.signal(number, handler)
