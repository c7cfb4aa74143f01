"""How well does `amem ask` answer, and does it refuse what the notes do not hold?

    python benchmarks/ask.py DATA_FOLDER
    python benchmarks/ask.py DATA_FOLDER --sets gold,locomo --fit
    python benchmarks/ask.py DATA_FOLDER --bundled --questions 10
    python benchmarks/ask.py DATA_FOLDER --model qwen3:4b --base-url http://127.0.0.1:11434/v1
    python benchmarks/ask.py DATA_FOLDER --model FILE.gguf

DATA_FOLDER is as for `benchmarks/retrieval.py`; the questions of `gold/VAULT/questions.jsonl` also
have an `answer`. Each vault is asked its own questions and as many of the next vault, which it
cannot answer; of its own it cannot answer those without evidence (`none`) and, in LoCoMo, the
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
import os
import random
import tempfile
from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import numpy as np
from retrieval_data import Asked as Question
from retrieval_data import Group, conversations, gold_vault

from amem_cli.adapters.vault_template import adopt_vault
from amem_cli.core.answering import check_answer
from amem_cli.core.model_text import subject_stems
from amem_cli.core.sources import Source
from amem_cli.services.add import add
from amem_cli.services.ask import Answer, AskSettings, ask
from amem_cli.services.sync import embed_missing, synchronise
from amem_cli.wiring import Workspace

SAMPLES = 2000
UNANSWERABLE = ("none", "adversarial", "of another vault")


@dataclass(frozen=True)
class Asked:
    """A question put to a vault; `gold` are paths of the evidence, none where it has none."""

    vault: str
    data_set: str
    kind: str
    question: str
    gold: frozenset[str]
    wanted: str = ""


def groups(folder: Path, names: Sequence[str]) -> Iterator[tuple[str, Group, dict[str, str]]]:
    """Data set, vault and gold answers by question."""
    if "gold" in names:
        for file in sorted((folder / "gold").glob("*/questions.jsonl")):
            group = gold_vault(file.parent)
            lines = [json.loads(line) for line in file.read_text(encoding="utf-8").splitlines()]
            group.questions = [
                Question(group.name, row["type"], row["query"], tuple(row["gold"])) for row in lines
            ]
            yield "gold", group, {row["query"]: row["answer"] for row in lines}
    for name in names:
        if name != "gold":
            for group in conversations(folder / "retrieval" / name):
                yield name, group, {}


class Vaults:
    """Every group as a vault on disk."""

    def __init__(self, folder: Path, root: Path, names: Sequence[str]) -> None:
        self.asked: list[Asked] = []
        self.workspaces: dict[str, Workspace] = {}
        self.group_of: dict[str, Group] = {}
        answers: dict[str, dict[str, str]] = {}
        self.set_of: dict[str, str] = {}
        self.paths: dict[str, dict[str, str]] = {}
        for data_set, group, wanted in groups(folder, names):
            self.paths[group.name] = self._made(root / group.name, group)
            self.group_of[group.name], answers[group.name] = group, wanted
            self.set_of[group.name] = data_set
        for name, group in self.group_of.items():
            for each in group.questions:
                known = frozenset(self.paths[name][one] for one in each.gold)
                evidence = frozenset() if each.category in UNANSWERABLE else known
                wanted = answers[name].get(each.query, "")
                data_set = self.set_of[name]
                self.asked.append(
                    Asked(name, data_set, each.category, each.query, evidence, wanted)
                )
        self.asked += list(self._foreign())

    def _made(self, root: Path, group: Group) -> dict[str, str]:
        root.mkdir()
        adopt_vault(root)
        workspace = Workspace(root, overrides={"llm_backend": "none", "git_commit": "off"})
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
            others = [each for each in names if self.set_of[each] == self.set_of[name]]
            other = others[(others.index(name) + 1) % len(others)]
            for each in self.group_of[other].questions if other != name else ():
                yield Asked(name, self.set_of[name], UNANSWERABLE[2], each.query, frozenset())


def overlap(said: str, wanted: str) -> tuple[float, float]:
    """Recall of the wanted answer's subject words and numbers, and F1."""
    own, gold = Counter(subject_stems(said)), Counter(subject_stems(wanted))
    shared = sum((own & gold).values())
    recall = shared / max(1, sum(gold.values()))
    precision = shared / max(1, sum(own.values()))
    return recall, 2 * precision * recall / (precision + recall) if shared else 0.0


def mean(values: Sequence[float]) -> list[float]:
    """Mean and its interval, in percent."""
    if not values:
        return []
    sample = np.array(values)
    drawn = np.random.default_rng(0).choice(sample, (SAMPLES, len(sample))).mean(axis=1)
    return [round(100 * float(x), 1) for x in (sample.mean(), *np.percentile(drawn, (2.5, 97.5)))]


def measured(asked: Asked, answer: Answer) -> dict[str, float]:
    cited = {each.path for each in answer.citations}
    figures = {"held": float(answer.held)}
    if not asked.gold:
        return figures
    figures["right"] = float(bool(cited & asked.gold))
    figures["cited recall"] = len(cited & asked.gold) / len(asked.gold)
    if cited:
        figures["cited precision"] = len(cited & asked.gold) / len(cited)
    if asked.wanted:
        quotes = " ".join(each.quote for each in answer.citations)
        said = answer.text if answer.how == "model" else ""
        figures["answer recall"] = overlap(f"{said} {quotes}", asked.wanted)[0]
        figures["answer F1"] = overlap(said or quotes, asked.wanted)[1]
    return figures


def report(title: str, results: Sequence[tuple[Asked, Answer]]) -> dict[str, Any]:
    document: dict[str, Any] = {}
    for data_set in dict.fromkeys(asked.data_set for asked, _ in results):
        own = [each for each in results if each[0].data_set == data_set]
        slices = {"answerable": [each for each in own if each[0].gold]}
        for kind in dict.fromkeys(asked.kind for asked, _ in own):
            slices[kind] = [each for each in own if each[0].kind == kind]
        for name, part in slices.items():
            if not part:
                continue
            rows_of = [measured(asked, answer) for asked, answer in part]
            figures = {
                key: mean([row[key] for row in rows_of if key in row])
                for key in dict.fromkeys(key for row in rows_of for key in row)
            }
            if any(answer.model for _, answer in part):
                by_model = [float(answer.how == "model") for _, answer in part]
                figures["in its words"] = mean(by_model)
            document[f"{data_set}: {name}"] = {"questions": len(part), **figures}
            shown = "  ".join(
                f"{key} {values[0]} ({values[1]} to {values[2]})" for key, values in figures.items()
            )
            print(f"{title}, {data_set}, {name}, {len(part)} questions: {shown}")
    calls = [answer.use for _, answer in results if answer.use.calls]
    if calls:
        tokens = sum(use.prompt_tokens + use.answer_tokens for use in calls) / len(calls)
        seconds = sum(use.seconds for use in calls) / len(calls)
        each = sum(use.calls for use in calls) / len(calls)
        print(f"{title}: {each:.2f} calls, {tokens:.0f} tokens, {seconds:.1f} s an asked question")
    faults = Counter(problem for _, answer in results for problem in answer.problems)
    for problem, count in faults.most_common(5):
        print(f"  {count} x {problem}")
    return document


def run(vaults: Vaults, asked: Sequence[Asked], options: dict[str, Any], *, words: bool) -> Any:
    results = []
    model: Any = None
    for each in asked:
        workspace = vaults.workspaces[each.vault]
        if options and model is None:
            root, environment = workspace.root, dict(os.environ)
            model = Workspace(root, overrides=options, environment=environment).model
        settings = replace(AskSettings.of(workspace.settings), trusted=True)
        answer = ask(
            workspace.ports,
            each.question,
            encoder=None if words else workspace.encoder,
            model=model,
            settings=settings,
        )
        results.append((each, answer))
    if model is not None:
        model.close()
    return results


def checks(vaults: Vaults) -> None:
    """How often the checks let pass the gold answer, and one of another question, with the
    evidence cited."""
    chance = random.Random(0)
    right, wrong = [], []
    for name, workspace in vaults.workspaces.items():
        own = [each for each in vaults.asked if each.vault == name and each.gold and each.wanted]
        for each in own:
            sources = [
                source_of(workspace, path, at) for at, path in enumerate(sorted(each.gold), 1)
            ]
            labels = [source.label for source in sources][:6]
            for wanted, passed in ((each.wanted, right), (chance.choice(own).wanted, wrong)):
                said = {"held": True, "sources": labels, "answer": wanted}
                passed.append(float(bool(check_answer(said, each.question, sources).text)))
    for title, passed in (("the gold answer", right), ("the answer of another question", wrong)):
        if passed:
            figure = mean(passed)
            print(f"the checks let pass {title}: {figure[0]} ({figure[1]} to {figure[2]})")


def source_of(workspace: Workspace, path: str, at: int) -> Source:
    note = workspace.index.summary(path)
    assert note is not None
    texts = tuple(workspace.index.passages(path))
    return Source(f"n{at}", path, note.id, note.title, note.created, None, note.private, texts)


def fit(results: Sequence[tuple[Asked, Answer]], *, words: bool) -> None:
    """Fit anew what decides on “near enough”, each vault judged by the others."""
    known = [each for each in results if each[0].gold or each[0].kind == UNANSWERABLE[2]]
    table = np.array([features(answer, words) for _, answer in known])
    is_held = np.array([bool(asked.gold) for asked, _ in known])
    vault = np.array([asked.vault for asked, _ in known])
    data_set = np.array([asked.data_set for asked, _ in known])
    verdict = np.zeros(len(known), bool)
    for name in dict.fromkeys(vault):
        others = vault != name
        weights = logistic(table[others], is_held[others], data_set[others])
        verdict[~others] = np.c_[table[~others], np.ones((~others).sum())] @ weights >= 0
    print("\nfitted on all:", np.round(logistic(table, is_held, data_set), 2))
    for name in dict.fromkeys(data_set):
        for label, part in (("answerable", is_held), (UNANSWERABLE[2], ~is_held)):
            figure = mean(list(verdict[part & (data_set == name)].astype(float)))
            print(f"left out, {name}, {label}: held {figure[0]} ({figure[1]} to {figure[2]})")


def features(answer: Answer, words: bool) -> list[float]:
    near = answer.near
    assert near is not None
    if words or near.note_cosine is None:
        return [near.coverage]
    return [near.note_cosine - near.chance, near.sentence_cosine - near.chance, near.coverage]


def logistic(table: Any, is_held: Any, data_set: Any) -> Any:
    """Logistic regression with a little shrinkage; sets and both kinds of question weigh alike."""
    middle, spread = table.mean(axis=0), table.std(axis=0) + 1e-9
    scaled = np.c_[(table - middle) / spread, np.ones(len(table))]
    weight = np.zeros(len(table))
    for name in dict.fromkeys(data_set):
        for kind in (True, False):
            part = (data_set == name) & (is_held == kind)
            weight[part] = 1 / max(1, part.sum())
    weight /= weight.sum()
    slope = np.zeros(scaled.shape[1])
    for _ in range(5_000):
        error = 1 / (1 + np.exp(-scaled @ slope)) - is_held
        slope -= 0.5 * (scaled.T @ (error * weight) + 1e-3 * np.r_[slope[:-1], 0])
    inner = slope[:-1] / spread
    return np.r_[inner, slope[-1] - (inner * middle).sum()]


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.split("\n\n")[0])
    parser.add_argument("data", type=Path)
    parser.add_argument("--sets", default="gold", help="gold, and sets of retrieval/; by commas")
    parser.add_argument("--questions", type=int, default=0, help="so many of each kind and vault")
    parser.add_argument("--bundled", action="store_true", help="ask the bundled model as well")
    parser.add_argument("--model", default="", help="a GGUF file, or a model of --base-url")
    parser.add_argument("--base-url", default="", help="an OpenAI-compatible server")
    parser.add_argument("--words", action="store_true", help="without an encoder as well")
    parser.add_argument("--fit", action="store_true", help="fit what is near enough anew")
    parser.add_argument("--json", type=Path, help="file for all figures")
    options = parser.parse_args()
    designs: dict[str, dict[str, Any]] = {"quoting": {}}
    if options.words:
        designs["quoting, by words"] = {}
    if options.bundled:
        designs["bundled model"] = {"llm_backend": "llama.cpp"}
    if options.model:
        backend = "openai" if options.base_url else "llama.cpp"
        named = {"llm_backend": backend, "llm_model": options.model}
        designs[options.model] = named | {"llm_base_url": options.base_url}
    with tempfile.TemporaryDirectory() as folder:
        vaults = Vaults(options.data, Path(folder), options.sets.split(","))
        checks(vaults)
        asked = sample(vaults.asked, options.questions)
        documents = {}
        for name, chosen in designs.items():
            words = name.endswith("by words")
            results = run(vaults, asked, chosen, words=words)
            documents[name] = report(name, results)
            if options.fit and not chosen:
                fit(results, words=words)
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
