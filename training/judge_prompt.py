"""What the judge of links is asked, word by word as it is trained."""

from __future__ import annotations

# The answers, by the relation that they stand for; "" is none. Each begins with another token.
ANSWERS = {
    "": " no",
    "related": " related",
    "supports": " supports",
    "contradicts": " contradicts",
    "supersedes": " replaces",
    "example_of": " example",
    "part_of": " part",
    "causes": " causes",
}
QUESTION = "\n\nHow are they related? Answer:"
GAP = " … "


def note_head(day: str, title: str) -> str:
    """What stands between "New note" or "Old note" and the text."""
    return f" ({day}): {title}\n"
