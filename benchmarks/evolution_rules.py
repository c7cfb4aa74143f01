"""How often each rule of `analyzer/cues` is right, on people's gold changes of older notes.

    python benchmarks/evolution_rules.py DATA_FOLDER --sets engineer,cafe

A rule is what the cue says and what points at the older note. It is right if the gold has a change
of that pair of notes. No rule is fitted: each was worded in view of other people than the sets that
a table is given for (docs/memory.md says which).
"""

from __future__ import annotations

import tempfile
from collections import defaultdict
from collections.abc import Iterator
from pathlib import Path
from typing import NamedTuple

from common import WITHOUT_MODEL, by_commas, parser_of, usual_encoder
from memory_gold import GoldVault, gold_vaults
from memory_vault import Design, OpenVault
from remembered_vectors import RememberingEncoder

from amem_cli.analyzer.link_choice import score_links
from amem_cli.analyzer.link_evidence import near_notes
from amem_cli.markdown.plain_text import plain_text
from amem_cli.memory.steps import WEIGHED
from amem_cli.notes.note import parse_note


class Said(NamedTuple):
    """One statement: its rule, whether it is applied unasked, whether the gold has the change, and
    whether the gold says that nothing changes."""

    rule: str
    sure: bool
    right: bool
    refused: bool


def statements_in(gold: GoldVault, encoder: RememberingEncoder) -> Iterator[Said]:
    """What the notes of a vault say of older ones, each as it is added, without their metadata."""
    with tempfile.TemporaryDirectory() as folder:
        vault = OpenVault(Path(folder) / "vault", Design("none", WITHOUT_MODEL), encoder)
        index, names = vault.workspace.index, vault.workspace.ports.names
        kept = {(case.trigger, case.target) for case in gold.cases if case.no_change}
        for each in gold.notes.values():
            path = vault.add(each.id, each.new)
            note = parse_note(path, vault.workspace.vault.read(path).raw, names)
            vector = index.vectors.of_note(path)
            if vector is None:
                continue
            older = near_notes(index, path, plain_text(note.body), vector, WEIGHED)
            _, made = score_links(
                note,
                older,
                document_frequency=index.text.document_frequency,
                total=index.notes.count(),
                minimum=1.0,
            )
            for said in made:
                pair = each.id, vault.id_of[older[said.older].path]
                right = gold.case(*pair) is not None
                yield Said(f"{said.kind}, by its {said.pointer}", said.sure, right, pair in kept)


def main() -> None:
    parser = parser_of(__doc__)
    parser.add_argument("data", type=Path, help="a folder with one vault in each of its folders")
    parser.add_argument("--sets", default="", help="vaults by commas; all where missing")
    parser.add_argument("--vectors", type=Path, help="file that keeps the vectors (.npz)")
    options = parser.parse_args()
    encoder = usual_encoder(options.vectors)
    vaults = gold_vaults(options.data, by_commas(options.sets))
    wanted = sum(not case.no_change for gold in vaults for case in gold.cases)
    kept = sum(case.no_change for gold in vaults for case in gold.cases)
    by_rule: dict[str, list[Said]] = defaultdict(list)
    for gold in vaults:
        for said in statements_in(gold, encoder):
            by_rule[said.rule].append(said)
            by_rule["all applied" if said.sure else "all proposed"].append(said)
            by_rule[f"{gold.name}, {'applied' if said.sure else 'proposed'}"].append(said)
    for rule, found in sorted(by_rule.items()):
        right, refused = sum(s.right for s in found), sum(s.refused for s in found)
        print(
            f"{rule:28} {right:3} of {len(found):3} right, {right / len(found):4.0%};"
            f" {right / max(1, wanted):4.0%} of {wanted} changes; {refused} of {kept} unwanted"
        )
    encoder.save()


if __name__ == "__main__":
    main()
