"""An answer with its sources, as text and as JSON."""

from __future__ import annotations

from dataclasses import asdict
from typing import TYPE_CHECKING, Any

from amem_cli.rendering.console import Styled
from amem_cli.rendering.output import on_one_line
from amem_cli.services.ask import NEAREST, Answer

if TYPE_CHECKING:
    from amem_cli.rendering.console import Console

_MOST_LOOKED_AT = 3


def answer_document(answer: Answer) -> dict[str, Any]:
    """One answer; `sources` are empty where the notes do not hold it."""
    return {
        "question": answer.question,
        "answer": answer.text,
        "held": answer.held,
        "how": answer.how,
        "sources": [asdict(each) for each in answer.citations],
        "shown": [asdict(each) for each in answer.shown],
        "model": answer.model or None,
        "calls": answer.use.calls,
        "tokens": answer.use.prompt_tokens + answer.use.answer_tokens,
        "seconds": round(answer.use.seconds, 3),
        "problems": list(answer.problems),
    }


def show_answer(console: Console, answer: Answer) -> None:
    """The answer, then the numbered notes that it rests on with their words."""
    # The words of an extract stand below, each with its note.
    console.print(Styled(NEAREST if answer.how == "extract" else answer.text))
    if not answer.held:
        for note in answer.shown[:_MOST_LOOKED_AT]:
            place = f"  {on_one_line(note.path)}"
            console.print(Styled(("looked at ", "cyan"), on_one_line(note.title), (place, "dim")))
    for number, citation in enumerate(answer.citations, 1):
        line = f":{citation.line}" if citation.line else ""
        day = f"  {citation.created[:10]}" if citation.created else ""
        linked = "  ↳ linked" if citation.via else ""
        console.print(
            Styled(
                (f"\n[{number}] ", "green"),
                (on_one_line(citation.title), "bold"),
                (f"  {on_one_line(citation.path)}{line}{day}", "dim"),
                (linked, "cyan"),
            )
        )
        if citation.quote:
            console.print(Styled(f"    “{citation.quote}”"))
