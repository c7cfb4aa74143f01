"""An answer with its sources, as text and as JSON."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from amem_cli.rendering.output import on_one_line
from amem_cli.rendering.text import styled
from amem_cli.services.ask import NEAREST, Answer, Citation

if TYPE_CHECKING:
    from rich.console import Console


def answer_document(answer: Answer) -> dict[str, Any]:
    """One answer; `sources` are empty where the notes do not hold it."""
    return {
        "question": answer.question,
        "answer": answer.text,
        "held": answer.held,
        "how": answer.how,
        "sources": [_citation_document(each) for each in answer.citations],
        "shown": list(answer.shown),
        "model": answer.model or None,
        "calls": answer.use.calls,
        "tokens": answer.use.prompt_tokens + answer.use.answer_tokens,
        "seconds": round(answer.use.seconds, 3),
        "problems": list(answer.problems),
    }


def _citation_document(citation: Citation) -> dict[str, Any]:
    return {
        "id": citation.id,
        "path": citation.path,
        "title": citation.title,
        "created": citation.created,
        "quote": citation.quote,
        "line": citation.line,
        "via": citation.via,
    }


def show_answer(console: Console, answer: Answer) -> None:
    """The answer, then the numbered notes that it rests on with their words."""
    # The words of an extract stand below, each with its note.
    console.print(styled(NEAREST if answer.how == "extract" else answer.text))
    for number, citation in enumerate(answer.citations, 1):
        line = f":{citation.line}" if citation.line else ""
        day = f"  {citation.created[:10]}" if citation.created else ""
        linked = "  ↳ linked" if citation.via else ""
        console.print(
            styled(
                (f"\n[{number}] ", "green"),
                (on_one_line(citation.title), "bold"),
                (f"  {on_one_line(citation.path)}{line}{day}", "dim"),
                (linked, "cyan"),
            )
        )
        if citation.quote:
            console.print(styled(f"    “{citation.quote}”"))
