"""What of a note is embedded: text and metadata together (A-MEM, arXiv 2502.12110, eq. 3)."""

from __future__ import annotations

from typing import TYPE_CHECKING

from amem_cli.core.wikilinks import plain_text

if TYPE_CHECKING:
    from amem_cli.core.index_records import NoteSummary
    from amem_cli.core.note import Note


def embedded_text(summary: NoteSummary | Note, passage: str) -> str:
    """The enhanced text of one passage: title, text, context, keywords and tags."""
    parts = [summary.title, plain_text(passage), summary.context]
    if summary.keywords:
        parts.append(", ".join(summary.keywords))
    if summary.tags:
        parts.append(" ".join(tag.replace("/", " ").replace("-", " ") for tag in summary.tags))
    return "\n".join(part for part in parts if part)
