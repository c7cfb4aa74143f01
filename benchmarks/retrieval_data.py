"""Conversations and vaults with questions, as the benchmarks of retrieval and of answers read them.

`retrieval/SET/notes.jsonl` (`id, group, seq, date, speaker, text`) with `queries.jsonl` (`id,
group, category, query, gold`), and `gold/VAULT/notes.jsonl`, `questions.jsonl`, `links.jsonl`;
either folder may be missing.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from datetime import datetime, timedelta
from pathlib import Path

from memory_gold import rows

from amem_cli.editing.add import NewNote

DATE_FORMATS = (
    "%Y-%m-%dT%H:%M:%S", "%Y-%m-%d", "%I:%M %p on %d %B, %Y", "%d %B, %Y", "%Y/%m/%d (%a) %H:%M",
    "%B-%d-%Y",
)  # fmt: skip
UNDATED = datetime(2024, 1, 1)


@dataclass(frozen=True)
class Turn:
    """A note as the data give it; `bare` is its text without who said it."""

    id: str
    new: NewNote
    bare: str


@dataclass(frozen=True)
class Asked:
    """A question with the ids of the notes that hold its evidence.

    Attributes:
        group: the conversation or vault that is asked.
        answer: empty where there is none.
    """

    group: str
    category: str
    query: str
    gold: tuple[str, ...]
    answer: str = ""
    id: str = ""


@dataclass
class Group:
    """A conversation or vault with its questions; links are pairs of ids, later note first.

    Attributes:
        unanswerable: questions of a written vault whose answer no note holds.
        problems: what of the data could not be used, one line each.
    """

    name: str
    turns: list[Turn] = field(default_factory=list)
    questions: list[Asked] = field(default_factory=list)
    unanswerable: list[Asked] = field(default_factory=list)
    links: list[tuple[str, str]] = field(default_factory=list)
    problems: list[str] = field(default_factory=list)


def data_sets(folder: Path, names: Sequence[str]) -> Iterator[tuple[str, list[Group]]]:
    """Every set, or those named, with its groups."""
    for each in sorted((folder / "retrieval").glob("*/notes.jsonl")):
        if not names or each.parent.name in names:
            yield each.parent.name, conversations(each.parent)
    vaults = gold_vaults(folder)
    if vaults and (not names or "gold" in names):
        yield "gold", vaults


def conversations(folder: Path) -> list[Group]:
    """A turn is created at its date plus a second for each turn before it."""
    groups: dict[str, Group] = {}
    last: dict[str, datetime] = {}
    for row in sorted(rows(folder / "notes.jsonl"), key=lambda row: int(row["seq"])):
        name = row["group"]
        group = groups.setdefault(name, Group(name))
        # A turn without a date belongs to the day of the turn before.
        last[name] = moment_of(row.get("date", "")) or last.get(name, UNDATED)
        speaker, text = row.get("speaker", ""), row["text"]
        # A note without a speaker is no turn; its date stays as it is.
        created = last[name] + timedelta(seconds=int(row["seq"]) if speaker else 0)
        said = f"{speaker}: {text}" if speaker else text
        new = NewNote(said, created=created, folder=f"notes/{name}")
        group.turns.append(Turn(row["id"], new, text))
    for row in rows(folder / "queries.jsonl"):
        name = row["group"]
        asked = Asked(name, row["category"], row["query"], tuple(row["gold"]))
        groups[name].questions.append(asked)
    return list(groups.values())


def gold_vaults(folder: Path) -> list[Group]:
    """The written vaults that have questions."""
    return [_gold_vault(each.parent) for each in sorted(folder.glob("gold/*/questions.jsonl"))]


def _gold_vault(folder: Path) -> Group:
    name = folder.name
    group = Group(name)
    for row in rows(folder / "notes.jsonl"):
        new = NewNote(
            row["content"],
            title=row["title"],
            created=moment_of(row["created"]),
            folder=f"notes/{name}",
        )
        group.turns.append(Turn(row["id"], new, row["content"]))
    for row in rows(folder / "questions.jsonl"):
        told = row["type"], row["query"], tuple(row["gold"]), row["answer"]
        asked = Asked(name, *told, id=row["query_id"])
        (group.questions if asked.gold else group.unanswerable).append(asked)
    group.links = [(row["source"], row["target"]) for row in rows(folder / "links.jsonl")]
    return group


def moment_of(date: str) -> datetime | None:
    """A date as the data write it; None where it cannot be read."""
    for form in DATE_FORMATS:
        try:
            return datetime.strptime(date.strip(), form)
        except ValueError:
            continue
    return None
