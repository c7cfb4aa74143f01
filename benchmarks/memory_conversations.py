"""What a conversation costs, a note a turn, and how well it is found again afterwards."""

from __future__ import annotations

from memory_units import cost_units
from memory_vault import OpenVault, process
from retrieval_data import Group


def conversation_units(vault: OpenVault, group: Group, most: int) -> dict[str, list[list[float]]]:
    """The rows of the costs, and `asked`, a row a question whose evidence is among the turns:
    share found at 5 and at 10, and among 5 hits with the neighbours below them.

    Args:
        most: only the first turns; 0 for all.
    """
    steps = []
    for turn in group.turns[: most or None]:
        vault.add(turn.id, turn.new)
        steps.append(process(vault, turn.id))
    asked = []
    for question in group.questions:
        wanted = set(question.gold)
        if wanted and wanted <= set(vault.path_of):
            ten = vault.found(question.query, 10, neighbors=False)
            both = vault.found(question.query, 5, neighbors=True)
            found = (ten[:5], ten, both)
            asked.append([len(wanted & set(each)) / len(wanted) for each in found])
    return {**cost_units(tuple(steps)), "asked": asked}
