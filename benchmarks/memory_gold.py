"""The gold vaults as the benchmark of the memory process reads them."""

from __future__ import annotations

import json
from dataclasses import dataclass, fields
from datetime import datetime
from pathlib import Path
from typing import Any, TypeVar

from amem_cli.editing.add import NewNote

_Kind = TypeVar("_Kind", "GoldNote", "GoldLink", "Case")


@dataclass(frozen=True)
class GoldNote:
    """A note with the metadata that a person would write with the note alone."""

    id: str
    created: str
    title: str
    content: str
    keywords: tuple[str, ...]
    tags: tuple[str, ...]
    context: str

    @property
    def new(self) -> NewNote:
        """The note as its author adds it, without metadata."""
        created = datetime.fromisoformat(self.created)
        return NewNote(self.content, title=self.title, created=created)


@dataclass(frozen=True)
class GoldLink:
    """A truly related pair, later note first."""

    source: str
    target: str
    relation: str
    strength: str
    reason: str

    @property
    def strong(self) -> bool:
        return self.strength == "strong"


@dataclass(frozen=True)
class Case:
    """What adding the trigger should do to the target; nothing where `no_change`."""

    trigger: str
    target: str
    no_change: bool = False
    context_after: str = ""
    tags_add: tuple[str, ...] = ()
    tags_drop: tuple[str, ...] = ()
    keywords_add: tuple[str, ...] = ()
    why: str = ""


@dataclass(frozen=True)
class GoldVault:
    """One person's vault.

    Attributes:
        notes: by id, in time order.
        negatives: pairs of ids that look alike and are not related.
        questions: text and ids of the notes that answer it; those that none answers are left out.
    """

    name: str
    notes: dict[str, GoldNote]
    links: tuple[GoldLink, ...]
    negatives: tuple[tuple[str, str], ...]
    cases: tuple[Case, ...]
    questions: tuple[tuple[str, tuple[str, ...]], ...]

    def case(self, trigger: str, target: str) -> Case | None:
        """The change that the trigger should make in the target."""
        found = (each for each in self.cases if (each.trigger, each.target) == (trigger, target))
        return next((each for each in found if not each.no_change), None)

    def links_of(self, source: str) -> dict[str, GoldLink]:
        """By target, the links that the note should get when it is added."""
        return {link.target: link for link in self.links if link.source == source}


def gold_vaults(folder: Path, names: list[str]) -> list[GoldVault]:
    """The vaults of a folder, or those named.

    Raises:
        SystemExit: one that was named is not there.
    """
    known = sorted(each.parent.name for each in folder.glob("*/notes.jsonl"))
    for name in names:
        if name not in known:
            raise SystemExit(f"no gold vault {name} in {folder}")
    return [_vault(folder / name) for name in names or known]


def rows(file: Path) -> list[dict[str, Any]]:
    """The objects of a file with one a line; none of a file that is missing."""
    lines = file.read_text(encoding="utf-8").split("\n") if file.exists() else []
    return [json.loads(line) for line in lines if line.strip()]


def _vault(folder: Path) -> GoldVault:
    notes = {row["id"]: _made(GoldNote, row) for row in rows(folder / "notes.jsonl")}
    links = tuple(_made(GoldLink, row) for row in rows(folder / "links.jsonl"))
    negatives = tuple((row["source"], row["target"]) for row in rows(folder / "negatives.jsonl"))
    cases = tuple(_made(Case, row) for row in rows(folder / "evolution.jsonl"))
    asked = rows(folder / "questions.jsonl")
    questions = tuple((row["query"], tuple(row["gold"])) for row in asked if row["gold"])
    return GoldVault(folder.name, notes, links, negatives, cases, questions)


def _made(kind: type[_Kind], row: dict[str, Any]) -> _Kind:
    """What a row says of the fields of a dataclass; lists become tuples."""
    told = {each.name: row[each.name] for each in fields(kind) if each.name in row}
    return kind(**{n: tuple(each) if isinstance(each, list) else each for n, each in told.items()})
