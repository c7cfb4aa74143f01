"""An owner who looks through the machine's links now and then, and what it learns of it."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace

from memory_gold import GoldVault
from memory_scores import paired
from memory_vault import MadeVault, OpenVault, Step

from amem_cli.editing.edit import link, unlink


@dataclass
class Owner:
    """Makes the right links theirs and takes out the others, after every few notes.

    Attributes:
        every: after so many notes.
        seen: notes so far.
    """

    vault: OpenVault
    gold: GoldVault
    every: int
    seen: int = 0

    def __call__(self, step: Step) -> None:
        self.seen += 1
        if self.seen % self.every == 0:
            self._decide()

    def _decide(self) -> None:
        wanted = {paired(each.source, each.target) for each in self.gold.links}
        workspace = self.vault.workspace
        for ends in self.vault.links():
            source, target = (
                workspace.index.notes.summary(self.vault.path_of[each]) for each in ends
            )
            if source is None or target is None:
                raise RuntimeError(f"a note of {ends} is gone")
            if paired(*ends) in wanted:
                link(workspace.ports, source, target)
            else:
                unlink(workspace.ports, source, target)


def second_half(
    gold: GoldVault, made: MadeVault, id_of: Mapping[str, str]
) -> tuple[GoldVault, MadeVault]:
    """The links of the later half of the notes, as they were made; by then the owner has spoken."""
    notes = dict(list(gold.notes.items())[len(gold.notes) // 2 :])
    links = tuple(each for each in gold.links if each.source in notes)
    order = list(gold.notes)
    negatives = tuple(each for each in gold.negatives if max(each, key=order.index) in notes)
    told = {
        (step.note, id_of[each.path]): each.relation
        for step in made.steps
        if step.note in notes
        for each in step.outcome.links
    }
    return replace(gold, notes=notes, links=links, negatives=negatives), replace(made, links=told)
