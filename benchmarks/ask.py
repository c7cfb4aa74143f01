"""How well does `amem ask` answer, and does it refuse what the notes do not hold?

    python benchmarks/ask.py DATA_FOLDER
    python benchmarks/ask.py DATA_FOLDER --sets gold,locomo --groups 3 --questions 30
    python benchmarks/ask.py DATA_FOLDER --perfect
    python benchmarks/ask.py DATA_FOLDER --bundled --questions 10
    python benchmarks/ask.py DATA_FOLDER --model qwen3:4b --base-url http://127.0.0.1:11434/v1
    python benchmarks/ask.py DATA_FOLDER --model FILE.gguf

DATA_FOLDER is as for `benchmarks/retrieval.py`; the questions of `gold/VAULT/questions.jsonl` also
have an `answer`. Each vault is asked its own questions and those of the next three vaults, which
it cannot answer; of its own it cannot answer those without evidence (`none`) and, in LoCoMo, the
adversarial ones, which ask of one speaker what another said.

- held: share of the questions that were answered.
- cited recall, precision: share of the evidence that is cited, of the citations that are evidence.
- right: share of the answerable questions whose answer cites evidence.
- answer recall, F1: words of the gold answer within the answer and its quotations, and both ways
  within the answer alone.

Means in percent with the 95% interval of 2,000 bootstrap samples of the questions.
"""

from __future__ import annotations

import argparse
import json
import random
import sys
import tempfile
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from ask_figures import Asked, report
from retrieval_data import Group, data_sets

from amem_cli.ask.ask import Answer, ask, budget_of
from amem_cli.ask.prompt import MOST_CITED
from amem_cli.editing.add import add
from amem_cli.index.sync import embed_missing, synchronise
from amem_cli.models.ports import ModelAnswer, ModelRequest
from amem_cli.vault.template import adopt_vault
from amem_cli.workspace.workspace import Workspace

OF_ANOTHER = "of another vault"
# So many other persons ask a vault.
ASKED_BY_OTHERS = 3
UNANSWERABLE = ("none", "adversarial", OF_ANOTHER)


@dataclass(frozen=True)
class Design:
    """A way to answer: settings of a language model, none for quoting."""

    name: str
    overrides: dict[str, Any] = field(default_factory=dict)
    is_perfect: bool = False


class Vaults:
    """Every group as a vault on disk."""

    def __init__(self, folder: Path, root: Path, names: Sequence[str], most: int) -> None:
        self.asked: list[Asked] = []
        self.workspaces: dict[str, Workspace] = {}
        self.group_of: dict[str, Group] = {}
        self.set_of: dict[str, str] = {}
        self.paths: dict[str, dict[str, str]] = {}
        for data_set, groups in data_sets(folder, names):
            for group in groups[: most or None]:
                self.paths[group.name] = self._made(root / group.name, group)
                self.group_of[group.name], self.set_of[group.name] = group, data_set
        for name, group in self.group_of.items():
            for each in (*group.questions, *group.unanswerable):
                known = frozenset(self.paths[name][one] for one in each.gold)
                evidence = frozenset() if each.category in UNANSWERABLE else known
                said = (each.category, each.query, evidence, each.answer)
                self.asked.append(Asked(name, self.set_of[name], *said))
        self.asked += list(self._foreign())

    def _made(self, root: Path, group: Group) -> dict[str, str]:
        root.mkdir()
        adopt_vault(root)
        workspace = Workspace(
            root, overrides={"llm_backend": "none", "llm_judge": "off", "git_commit": "off"}
        )
        self.workspaces[group.name] = workspace
        synchronise(workspace.ports)
        known: dict[str, str] = {}
        for turn in group.turns:
            known[turn.id] = add(workspace.ports, turn.new)
        embed_missing(workspace.ports, workspace.encoder)
        return known

    def _foreign(self) -> Iterator[Asked]:
        names = list(self.group_of)
        for name in names:
            alike = [each for each in names if self.set_of[each] == self.set_of[name]]
            at = alike.index(name)
            for other in [*alike[at + 1 :], *alike[:at]][:ASKED_BY_OTHERS]:
                group = self.group_of[other]
                for each in (*group.questions, *group.unanswerable):
                    yield Asked(name, self.set_of[name], OF_ANOTHER, each.query, frozenset())


class PerfectReader:
    """Gives the gold answer where a note of the evidence is shown, else says that it is not held:
    what search, budget and checks leave to the best of models."""

    name = "perfect reader"
    is_remote = False

    def __init__(self, vaults: Vaults) -> None:
        self._asked = {(each.vault, each.question): each for each in vaults.asked}
        self._vaults = vaults
        self.vault = ""

    def answer(self, request: ModelRequest) -> ModelAnswer:
        lines = request.text.splitlines()
        question = next(one for one in reversed(lines) if one.startswith("Question: "))
        asked = self._asked.get((self.vault, question.removeprefix("Question: ")))
        labels = []
        for path in asked.gold if asked is not None else ():
            note = self._vaults.workspaces[self.vault].index.notes.summary(path)
            title = f" {note.title}" if note is not None else "\n"
            labels += [
                line.split(" ")[0] for line in lines if line.partition(" (")[0].endswith(title)
            ]
        said = {"sources": labels[:MOST_CITED], "held": bool(labels), "answer": ""}
        if asked is not None and labels:
            said["answer"] = asked.wanted
        return ModelAnswer(json.dumps(said), True, 0, 0, 0.0)

    def close(self) -> None:
        pass


def run(vaults: Vaults, asked: Sequence[Asked], design: Design) -> list[tuple[Asked, Answer]]:
    results = []
    model: Any = PerfectReader(vaults) if design.is_perfect else None
    for number, each in enumerate(asked):
        if number % 50 == 49:
            print(f"{number + 1} of {len(asked)}", file=sys.stderr)
        workspace = vaults.workspaces[each.vault]
        if design.overrides and model is None:
            model = Workspace(workspace.root, overrides=design.overrides).models.model
        if design.is_perfect:
            model.vault = each.vault
        answer = ask(
            workspace.ports,
            each.question,
            encoder=workspace.encoder,
            model=model,
            budget=budget_of(workspace.settings),
            deadline=workspace.settings.llm_deadline_seconds,
        )
        results.append((each, answer))
    if model is not None:
        model.close()
    return results


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.split("\n\n")[0])
    parser.add_argument("data", type=Path)
    parser.add_argument("--sets", default="gold", help="gold, and sets of retrieval/; by commas")
    parser.add_argument("--groups", type=int, default=0, help="only the first vaults of each set")
    parser.add_argument("--questions", type=int, default=0, help="so many of each kind and vault")
    parser.add_argument("--perfect", action="store_true", help="and a model that knows the answers")
    parser.add_argument("--bundled", action="store_true", help="ask the bundled model as well")
    parser.add_argument("--model", default="", help="a GGUF file, or a model of --base-url")
    parser.add_argument("--base-url", default="", help="an OpenAI-compatible server")
    parser.add_argument("--json", type=Path, help="file for all figures")
    options = parser.parse_args()
    designs = [Design("quoting")]
    if options.perfect:
        designs.append(Design("perfect reader", is_perfect=True))
    if options.bundled:
        designs.append(Design("bundled model", {"llm_backend": "llama.cpp"}))
    if options.model:
        backend = "openai" if options.base_url else "llama.cpp"
        named = {"llm_backend": backend, "llm_model": options.model}
        designs.append(Design(options.model, named | {"llm_base_url": options.base_url}))
    with tempfile.TemporaryDirectory() as folder:
        vaults = Vaults(options.data, Path(folder), options.sets.split(","), options.groups)
        asked = sample(vaults.asked, options.questions)
        documents = {}
        for design in designs:
            results = run(vaults, asked, design)
            documents[design.name] = report(design.name, results)
    if options.json:
        options.json.write_text(json.dumps(documents, indent=1) + "\n", encoding="utf-8")


def sample(asked: Sequence[Asked], most: int) -> list[Asked]:
    """At most so many of each vault and kind, the same ones each time."""
    if not most:
        return list(asked)
    parts: dict[tuple[str, str], list[Asked]] = {}
    for each in asked:
        parts.setdefault((each.vault, each.kind), []).append(each)
    chance = random.Random(0)
    return [one for part in parts.values() for one in chance.sample(part, min(most, len(part)))]


if __name__ == "__main__":
    main()
