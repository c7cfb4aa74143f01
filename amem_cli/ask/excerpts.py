"""The pieces of notes that a question is answered from, chosen to fit a budget of tokens."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace

from amem_cli.models.prompt_text import estimated_tokens, quote_as_data, quote_line

# Relations as they read from the note that has the link, and from the other end of it.
_OUTWARD = {
    "related": "related to",
    "supports": "supports",
    "contradicts": "contradicts",
    "supersedes": "supersedes",
    "example_of": "an example of",
    "part_of": "part of",
    "causes": "causes",
}
_INWARD = {
    "related": "related to",
    "supports": "supported by",
    "contradicts": "contradicted by",
    "supersedes": "superseded by",
    "example_of": "has the example",
    "part_of": "has the part",
    "causes": "caused by",
}
_TITLE_BYTES = 160
_GAP = "\n…\n"
_LEAST_TOKENS = 24


@dataclass(frozen=True, slots=True)
class Excerpt:
    """A passage of a note that was found.

    Attributes:
        place: number of the passage within its note.
        text: as a reader sees it, without markup.
        value: how much it promises for the question; higher is better.
        rank: place of its note among the hits, which decides between equals.
    """

    path: str
    place: int
    text: str
    value: float
    rank: int = 0


@dataclass(frozen=True, slots=True)
class Tie:
    """A link between two notes that are shown.

    Attributes:
        other: path of the other note.
        relation: empty for a link that says none.
        outward: False where the other note has the link.
    """

    other: str
    relation: str = ""
    outward: bool = True


@dataclass(frozen=True, slots=True)
class Source:
    """A note as it is shown, with the passages that were chosen.

    Attributes:
        label: its name in the question, such as `n1`.
        key: its id, or its path where it has none.
        via: key of the note whose link brought it in, or None.
        texts: passages in the note's order.
    """

    label: str
    path: str
    id: str | None
    title: str
    created: str
    via: str | None
    private: bool
    texts: tuple[str, ...]
    ties: tuple[Tie, ...] = ()

    @property
    def key(self) -> str:
        """The id, or the path of a note without one."""
        return self.id or self.path

    @property
    def text(self) -> str:
        """The passages, with a mark where something between them is left out."""
        return _GAP.join(self.texts)

    @property
    def evidence(self) -> str:
        """All that an answer may take from this note."""
        return f"{self.title}\n{self.created[:10]}\n{self.text}"


def chosen_excerpts(excerpts: Iterable[Excerpt], budget: int) -> list[Excerpt]:
    """The most promising passages that fit a budget, best first; the best one always, cut to it.

    Args:
        budget: tokens, as `estimated_tokens` counts them, with a line for each note's title.
    """
    chosen: list[Excerpt] = []
    told: set[str] = set()
    left = budget
    for excerpt in sorted(excerpts, key=_by_promise):
        head = 0 if excerpt.path in told else _LEAST_TOKENS
        cost = estimated_tokens(excerpt.text) + head
        if cost > left and not chosen:
            share = max(1, left - head) / max(1, cost - head)
            size = max(_LEAST_TOKENS, int(len(excerpt.text.encode("utf-8", "ignore")) * share))
            excerpt = replace(excerpt, text=quote_as_data(excerpt.text, size))
            cost = left
        if cost <= left:
            chosen.append(excerpt)
            told.add(excerpt.path)
            left -= cost
        if left < _LEAST_TOKENS:
            break
    return chosen


def _by_promise(excerpt: Excerpt) -> tuple[float, int, str, int]:
    return -excerpt.value, excerpt.rank, excerpt.path, excerpt.place


def heading(source: Source, labels: dict[str, str]) -> str:
    """One line that names a source, its day, and how it is tied to others that are shown.

    Args:
        labels: of the shown notes, by path.
    """
    day = f" ({source.created[:10]})" if source.created else ""
    ties = [_tie(tie, labels[tie.other]) for tie in source.ties if tie.other in labels]
    told = f" [{'; '.join(ties)}]" if ties else ""
    return f"{source.label} {quote_line(source.title, _TITLE_BYTES)}{day}{told}"


def _tie(tie: Tie, label: str) -> str:
    names = _OUTWARD if tie.outward else _INWARD
    return f"{names.get(tie.relation, 'linked with')} {label}"


def labelled(sources: Sequence[Source]) -> list[Source]:
    """The same sources as `n1`, `n2`, … in their order."""
    return [replace(source, label=f"n{at}") for at, source in enumerate(sources, 1)]
