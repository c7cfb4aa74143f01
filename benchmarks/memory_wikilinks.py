"""People's own wikilinks, taken out of their notes: does linking find them again?

Scored as links without direction over eligible sources: notes with at least 60 characters left and
1 to 25 links of their person. People do not make every good link, so precision is a lower bound.
"""

from __future__ import annotations

import random
import shutil
from collections import Counter
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

from memory_gold import rows
from memory_scores import paired, source_rows
from memory_vault import Design, OpenVault

from amem_cli.editing.edit import record_baseline
from amem_cli.index.sync import embed_missing
from amem_cli.models.ports import Encoder

if TYPE_CHECKING:
    Pair = tuple[str, str]

FEWEST_CHARACTERS = 60
MOST_LINKS_OF_A_SOURCE = 25
HEADER = "---\nid: '{id}'\ncreated: 2024-01-01T12:00:00\n---\n"
TEXTS = {"masked": "text_masked", "unlinked": "text_unlinked"}
_DESCRIBED = {"llm_backend": "none", "evolution_max_links": 0, "evolution_mode": "off"}


@dataclass(frozen=True)
class LinkedNotes:
    """One person's notes with the links that they made.

    Attributes:
        texts: title and text without links, by id.
        pairs: linked ids without direction that touch an eligible source.
        eligible: ids whose links are scored.
        described: ids of the notes that get metadata first.
    """

    name: str
    texts: Mapping[str, tuple[str, str]]
    pairs: frozenset[Pair]
    eligible: frozenset[str]
    described: frozenset[str]


def linked_notes(folder: Path, text: str, most: int) -> LinkedNotes:
    """Read one source.

    Args:
        text: `masked` also hides the words of the links, `unlinked` leaves them.
        most: so many eligible sources at most, the same ones each time; then only these are
            described, to save time. 0 for all.
    """
    notes = rows(folder / "notes.jsonl")
    gold = {paired(row["source"], row["target"]) for row in rows(folder / "links.jsonl")}
    gold = {ends for ends in gold if ends[0] != ends[1]}
    degree = Counter(end for ends in gold for end in ends)
    eligible = [
        row["id"]
        for row in notes
        if len(row["text_masked"] or "") >= FEWEST_CHARACTERS
        and 1 <= degree[row["id"]] <= MOST_LINKS_OF_A_SOURCE
    ]
    described = frozenset(row["id"] for row in notes)
    if most and len(eligible) > most:
        eligible = random.Random(0).sample(eligible, most)
        described = frozenset(eligible)
    texts = {row["id"]: (row["title"], row[TEXTS[text]] or "") for row in notes}
    chosen = frozenset(eligible)
    touching = frozenset(ends for ends in gold if not chosen.isdisjoint(ends))
    return LinkedNotes(folder.name, texts, touching, chosen, described)


def described_vault(root: Path, source: LinkedNotes, encoder: Encoder) -> None:
    """Make a vault of all notes, of one moment and without links, with the analyzer's metadata."""
    vault = OpenVault(root, Design("described", _DESCRIBED), encoder)
    for number, (note_id, (_, text)) in enumerate(source.texts.items(), 1):
        file = root / f"{note_id}.md"
        file.parent.mkdir(parents=True, exist_ok=True)
        file.write_text(HEADER.format(id=f"2024{number:010}") + text + "\n", encoding="utf-8")
    record_baseline(vault.workspace.ports)
    embed_missing(vault.workspace.ports, vault.workspace.encoder)
    for note_id in sorted(source.described):
        vault.workspace.process.run(f"{note_id}.md", asked=True)
    vault.close()


def link_rows(
    folder: Path, template: Path, source: LinkedNotes, design: Design, encoder: Encoder
) -> dict[str, list[list[float]]]:
    """Link the notes of a copy of the vault that are scored, and count: `pairs`, a row an
    eligible source: hits, predicted, wanted; `written`, a row a note that was given to linking."""
    shutil.copytree(template, folder)
    overrides = {**design.overrides, "evolution_mode": "off"}
    vault = OpenVault(folder, Design(design.name, overrides, design.model), encoder)
    vault.id_of = {f"{note_id}.md": note_id for note_id in source.texts}
    written = []
    for note_id in [each for each in source.texts if each in source.eligible]:
        vault.begin(note_id)
        outcome = vault.workspace.process.run(f"{note_id}.md", asked=True)
        written.append([float(len(outcome.links))])
    said = {paired(*ends) for ends in vault.links()}
    vault.close()
    return {"pairs": source_rows(said, source.pairs, source.eligible), "written": written}
