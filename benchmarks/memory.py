"""How good is the memory process, and what does it cost?

    python benchmarks/memory.py DATA_FOLDER
    python benchmarks/memory.py DATA_FOLDER --sets engineer --parts links,evolution --models none
    python benchmarks/memory.py DATA_FOLDER --models none,perfect --output figures.json --resume
    python benchmarks/memory.py DATA_FOLDER --models judge,judge+FILE.gguf
    python benchmarks/memory.py DATA_FOLDER --models none,qwen3:4b \\
        --base-url http://127.0.0.1:11434/v1 --without linking,evolution

DATA_FOLDER holds `gold/VAULT/`: hand-written vaults with gold metadata, links, changes and
questions. docs/memory.md tells what is measured. Figures come with the 95% interval of 2,000
bootstrap samples of notes, pairs, questions.
"""

from __future__ import annotations

import argparse
import contextlib
import json
import sys
import tempfile
from collections.abc import Callable, Iterator
from dataclasses import replace
from pathlib import Path
from typing import Any
from unittest.mock import patch

from common import WITHOUT_MODEL, by_commas, parser_of, settings_of_model, usual_encoder
from memory_gold import GoldVault, gold_vaults
from memory_perfect import PerfectModel
from memory_recorded import RecordedModel, write_recording
from memory_tables import differences, figures, joined, print_part
from memory_units import (
    beside,
    cost_units,
    evolution_units,
    link_units,
    metadata_units,
    question_rows,
)
from memory_vault import Design, MadeVault, OpenVault, describe, process_gold
from remembered_vectors import RememberingEncoder

from amem_cli.analyzer import link_choice

PARTS = ("links", "metadata", "evolution", "questions", "cost")
WITHOUT: dict[str, dict[str, Any]] = {
    "linking": {"evolution_max_links": 0},
    "evolution": {"evolution_mode": "off"},
}
# A model of a server that a user named is trusted.
_TRUSTED = settings_of_model("scripted", "http://127.0.0.1:1/v1")
RECORDINGS = Path(__file__).parent / "recordings"
BARE = Design("bare", WITHOUT_MODEL)


def designs(options: argparse.Namespace, vaults: list[GoldVault]) -> Iterator[Design]:
    """The models that were named, each with its ablations."""
    for name in by_commas(options.models):
        whole = _design(name, options, vaults)
        yield whole
        for step in by_commas(options.without):
            overrides = {**whole.overrides, **WITHOUT[step]}
            yield Design(f"{whole.name} without {step}", overrides, whole.model)


def _design(name: str, options: argparse.Namespace, vaults: list[GoldVault]) -> Design:
    if name == "none":
        return Design("none", WITHOUT_MODEL)
    if name == "judge":
        return Design("judge", {**WITHOUT_MODEL, "llm_judge": "on"})
    if name == "bundled":
        return Design("bundled", settings_of_model("", ""))
    if name == "perfect":
        return Design("perfect", _TRUSTED, PerfectModel(vaults))
    if name == "recorded":
        return Design("recorded", _TRUSTED, RecordedModel(RECORDINGS))
    if options.base_url:
        return Design(name, settings_of_model(name, options.base_url))
    file = name.removeprefix("judge+")
    own: dict[str, Any] = settings_of_model(file, "")
    if file == name:
        return Design(Path(file).stem, own)
    return Design(f"judge + {Path(file).stem}", {**own, "llm_judge": "on"})


class Benchmark:
    """Runs designs over vaults and keeps what was counted, in a file where one is named."""

    def __init__(self, options: argparse.Namespace, encoder: RememberingEncoder) -> None:
        self.options = options
        self.encoder = encoder
        self.parts = by_commas(options.parts)
        self.units: dict[str, Any] = {}
        self._known: dict[str, tuple[Any, ...]] = {}
        if options.resume and options.output and options.output.exists():
            self.units = json.loads(options.output.read_text(encoding="utf-8"))["units"]

    def gold(self, design: Design, gold: GoldVault) -> None:
        """Count everything of one design in one vault, unless an earlier run did."""
        counted = self.units.setdefault(design.name, {}).setdefault(gold.name, {})
        missing = [part for part in PARTS if part in self.parts and part not in counted]
        if not missing:
            return
        print(f"{design.name}, {gold.name} …", file=sys.stderr)
        with tempfile.TemporaryDirectory() as folder, self._fitted_without(gold.name):
            vault = OpenVault(Path(folder) / "vault", design, self.encoder)
            made = process_gold(vault, gold, adopted=self.options.way == "adopted")
            if self.options.record is not None:
                write_recording(self.options.record / f"{gold.name}.jsonl", made.steps)
            units_of: dict[str, Callable[[], Any]] = {
                "links": lambda: link_units(gold, made),
                "metadata": lambda: metadata_units(gold, made, self.encoder),
                "evolution": lambda: evolution_units(gold, made, self.encoder),
                "questions": lambda: {"asked": self._questions(gold, made, vault)},
                "cost": lambda: cost_units(made.steps),
            }
            counted |= {part: units_of[part]() for part in missing}
            vault.close()
        self.encoder.save()
        self.save()

    def _fitted_without(self, person: str) -> contextlib.AbstractContextManager[Any]:
        """Links weighed as other people's notes suggest."""
        if self.options.strengths is None:
            return contextlib.nullcontext()
        fitted = json.loads(self.options.strengths.read_text(encoding="utf-8"))[person]
        own = {"_INTERCEPT": fitted["intercept"], "_WEIGHTS": fitted["weights"]}
        return patch.multiple(link_choice, **own)

    def _questions(self, gold: GoldVault, made: MadeVault, vault: OpenVault) -> Any:
        """Questions of bare notes, of those that the process described, of these with its links,
        of gold metadata, and of that with gold links."""
        if gold.name not in self._known:
            notes = list(gold.notes.values())
            plain = [replace(note, keywords=(), tags=(), context="") for note in notes]
            links = [(link.source, link.target) for link in gold.links]
            known = self._described(gold, plain), self._described(gold, notes)
            self._known[gold.name] = *known, self._described(gold, notes, links)
        bare, *best = self._known[gold.name]
        described = self._described(gold, made.described.values())
        return beside(bare, described, question_rows(gold, vault), *best)

    def _described(self, gold: GoldVault, notes: Any, links: Any = ()) -> Any:
        with tempfile.TemporaryDirectory() as folder:
            vault = OpenVault(Path(folder) / "vault", BARE, self.encoder)
            describe(vault, list(notes), links)
            rows = question_rows(gold, vault)
            vault.close()
        return rows

    def figures(self) -> dict[str, dict[tuple[str, str], dict[str, list[float]]]]:
        """By part, and by design and vault; every design also less the first one, paired."""
        found: dict[str, dict[tuple[str, str], dict[str, list[float]]]] = {}
        for part in self.parts:
            table = found.setdefault(part, {})
            first: tuple[str, list[str], Any] | None = None
            for design, vaults in self.units.items():
                own = {name: units[part] for name, units in vaults.items() if part in units}
                table.update({(design, name): figures(part, each) for name, each in own.items()})
                whole = joined(list(own.values()))
                name = "all" if len(own) > 1 else "".join(own)
                if len(own) > 1:
                    table[design, name] = figures(part, whole)
                if first is not None and first[1] == list(own):
                    less = differences(part, whole, first[2])
                    table[f"{design} less {first[0]}", name] = less
                elif own and first is None:
                    first = design, list(own), whole
        return found

    def save(self) -> None:
        """Write what was counted."""
        if self.options.output is None:
            return
        text = json.dumps({"command": sys.argv[1:], "units": self.units}, ensure_ascii=False)
        self.options.output.write_text(f"{text}\n", encoding="utf-8")


def main() -> None:
    parser = parser_of(__doc__)
    parser.add_argument("data", type=Path)
    parser.add_argument("--sets", default="", help="gold vaults by commas; all where missing")
    parser.add_argument("--parts", default=",".join(PARTS), help=f"of {', '.join(PARTS)}")
    parser.add_argument("--models", default="none,bundled",
                        help="none, bundled, perfect, recorded, GGUF files, names of"
                        " --base-url")  # fmt: skip
    parser.add_argument("--base-url", default="", help="an OpenAI-compatible server")
    parser.add_argument("--record", type=Path, help="folder to write what the model says to")
    parser.add_argument("--without", default="", help=f"ablations: {', '.join(WITHOUT)}")
    parser.add_argument("--way", choices=("added", "adopted"), default="added",
                        help="process each note when it is added, or all in the end")  # fmt: skip
    parser.add_argument("--strengths", type=Path,
                        help="weights fitted without each person, by link_strength.py")  # fmt: skip
    parser.add_argument("--vectors", type=Path, help="file that keeps the vectors (.npz)")
    parser.add_argument("--output", type=Path, help="file for all that was counted, as JSON")
    parser.add_argument("--resume", action="store_true", help="keep what --output has already")
    options = parser.parse_args()
    vaults = gold_vaults(options.data / "gold", by_commas(options.sets))
    benchmark = Benchmark(options, usual_encoder(options.vectors))
    for design in designs(options, vaults):
        for gold in vaults:
            benchmark.gold(design, gold)
    benchmark.save()
    for part, table in benchmark.figures().items():
        print_part(part, table)


if __name__ == "__main__":
    main()
