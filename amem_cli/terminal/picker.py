"""A note chosen on the terminal, by typing a part of what it is called."""

from __future__ import annotations

import os
import sys
from collections.abc import Iterator, Sequence
from typing import TYPE_CHECKING

from amem_cli.language.lexicon import as_typed, fold
from amem_cli.language.safe_text import on_one_line

if TYPE_CHECKING:
    from prompt_toolkit.completion import CompleteEvent, Completion
    from prompt_toolkit.document import Document

    from amem_cli.index.records import NoteSummary


def can_pick() -> bool:
    """True on a terminal that can show a list."""
    at_terminal = sys.stdin.isatty() and sys.stderr.isatty()
    return at_terminal and os.environ.get("TERM", "") not in ("dumb", "unknown")


def pick(notes: Sequence[NoteSummary], prompt: str, *, color: bool = True) -> NoteSummary:
    """The note that the user chooses from a list, which is drawn on stderr and gone afterwards.

    Enter without a choice takes the first note that holds all words typed.

    Raises:
        KeyboardInterrupt, EOFError: the user left without a choice.
    """
    from prompt_toolkit import PromptSession
    from prompt_toolkit.completion import Completer, Completion
    from prompt_toolkit.input import create_input
    from prompt_toolkit.output import ColorDepth, create_output
    from prompt_toolkit.validation import Validator

    known = {}
    for each in notes:
        shown = " ".join((each.title, each.path, each.made, *each.tags, *each.aliases))
        known[each.path] = " ".join(as_typed(fold(shown)))

    def matching(text: str) -> list[NoteSummary]:
        words = as_typed(fold(text))[0].split()
        found = [note for note in notes if all(word in known[note.path] for word in words)]
        return sorted(found, key=lambda note: note.path != text)

    class Titles(Completer):
        def get_completions(self, document: Document, event: CompleteEvent) -> Iterator[Completion]:
            for note in matching(document.text):
                tags = " ".join(f"#{tag}" for tag in note.tags)
                yield Completion(
                    note.path,
                    -len(document.text),
                    display=on_one_line(note.title),
                    display_meta=on_one_line(f"{note.made[:10]}  {tags}"),
                )

    session: PromptSession[str] = PromptSession(
        f"{prompt}> ",
        completer=Titles(),
        validator=Validator.from_callable(
            lambda text: bool(text.strip() and matching(text)),
            "no note is called so",
            move_cursor_to_end=True,
        ),
        validate_while_typing=False,
        erase_when_done=True,
        # stdout may go to a file or pipe, which gets the command's result alone.
        input=create_input(sys.stdin),
        output=create_output(sys.stderr),
        color_depth=None if color else ColorDepth.MONOCHROME,
    )
    text = session.prompt(pre_run=lambda: session.default_buffer.start_completion())
    return matching(text)[0]
