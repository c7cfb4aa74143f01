"""How well are questions about long conversations answered, by A-MEM's measures and harness?

    python benchmarks/locomo.py locomo10.json --model qwen3:4b \\
        --base-url http://127.0.0.1:11434/v1 --results runs/qwen3 --json figures.json
    python benchmarks/locomo.py DATA_FOLDER --backend none
    python benchmarks/locomo.py DATA_FOLDER --backend perfect
    python benchmarks/locomo.py DATA_FOLDER --conversations engineer --limit 2

DATA is a file in LoCoMo's shape (it is not part of this repository: CC BY-NC 4.0), or a folder with
`gold/*/questions.jsonl`. The rows share model, k, prompt and questions; docs/locomo.md tells what
they are, what is measured, and how that differs from A-MEM's own harness. With `--results FOLDER`
a run that was killed goes on after its last answer.
"""

from __future__ import annotations

import argparse
import json
import os
import random
import shutil
import sys
import tempfile
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import asdict, dataclass, field
from pathlib import Path
from typing import Any

import numpy as np
from locomo_data import CATEGORIES, Conversation, Question, conversations
from locomo_readers import (
    NOT_MENTIONED,
    ROWS,
    MeteredModel,
    PerfectReader,
    Reader,
    Reply,
    Row,
)
from locomo_scores import METRICS, TITLES, similarities, text_scores
from memory_gold import gold_vaults
from memory_perfect import PerfectModel
from memory_vault import Design, OpenVault, process
from remembered_vectors import RememberingEncoder

from amem_cli.editing.add import NewNote
from amem_cli.models.ports import Encoder
from amem_cli.settings import CONFIG_NAME, load_settings, user_config_folder
from amem_cli.workspace.workspace import Workspace

NO_MODEL = {"llm_backend": "none"}
BACKENDS = ("none", "perfect", "llama.cpp", "openai", "ollama")
BASE = "amem"
SAMPLES = 2000
FAILURES_IN_A_ROW = 3
COSTS = ("calls", "prompt_tokens", "answer_tokens", "seconds")


def arguments(given: Sequence[str] | None) -> argparse.Namespace:
    """The options, and what they leave open as in the user's settings of amem."""
    parser = argparse.ArgumentParser(description=__doc__.split("\n\n")[0])
    add = parser.add_argument
    add("data", type=Path, help="a file in LoCoMo's shape, or a folder with gold/*/questions.jsonl")
    add("--backend", choices=BACKENDS, default="", help="perfect: it knows the answers")
    add("--model", default="", help="a GGUF file, or a model of --base-url; else your own")
    add("--base-url", default="", help="an OpenAI-compatible server")
    add("--writer", choices=("same", "none"), default="same", help="none: memories without a model")
    add("--window", type=int, default=0, help="tokens that the model reads at once")
    add("--deadline", type=float, default=0.0, help="longest time for one answer, in seconds")
    add("--k", type=int, default=10, help="how many notes a search finds")
    add("--rows", default="", help=f"by commas; all: {','.join(row.name for row in ROWS)}")
    add("--conversations", default="", help="names by commas")
    add("--categories", default="", help="by commas, such as 1,2,3,4")
    add("--limit", type=int, default=0, help="so many of each conversation and category")
    add("--seed", type=int, default=0, help="of the sample, the intervals, the order of choices")
    add("--results", type=Path, help="folder of answers and vaults, to go on with later")
    add("--json", type=Path, help="file for all figures with all intervals")
    options = parser.parse_args(given)
    own, _ = load_settings(None, user_config_folder() / CONFIG_NAME, os.environ)
    if not (options.backend or options.model or options.base_url):
        options.backend, options.model = own.llm_backend, own.llm_model
        options.base_url = own.llm_base_url
    options.backend = options.backend or ("openai" if options.base_url else "llama.cpp")
    options.window = options.window or own.llm_context_tokens
    options.deadline = options.deadline or own.llm_deadline_seconds
    options.encoder = own.encoder_model
    options.candidates, options.max_links = own.evolution_candidates, own.evolution_max_links
    if options.k < 1:
        parser.error("--k is 1 or more")
    return options


def main(given: Sequence[str] | None = None, encoder: Encoder | None = None) -> None:
    """Run the benchmark.

    Args:
        given: the command line; None for the program's own.
        encoder: in place of that of the settings.
    """
    options = arguments(given)
    chosen = named(conversations(options.data), options.conversations, "conversation")
    for problem in (each for one in chosen for each in one.problems):
        print(f"! {problem}", file=sys.stderr)
    rows = chosen_rows(options)
    asked = {each.name: sample(each, options) for each in chosen}
    questions = [question for each in chosen for question in asked[each.name]]
    if not questions:
        raise SystemExit("no question is left")
    with results_folder(options) as folder:
        run = Run(options, folder, encoder)
        for conversation in chosen:
            run.answer(conversation, asked[conversation.name], rows)
        document = run.figures(questions, rows)
        run.close()
    print_tables(document)
    if options.json:
        options.json.write_text(json.dumps(document, indent=1) + "\n", encoding="utf-8")


def named(found: Sequence[Any], names: str, what: str) -> list[Any]:
    """What is named by commas, or all.

    Raises:
        SystemExit: one is not there.
    """
    known = {each.name: each for each in found}
    wanted = [name for name in names.split(",") if name]
    for name in wanted:
        if name not in known:
            raise SystemExit(f"no {what} {name}; there are: {', '.join(known)}")
    return [known[name] for name in wanted] or list(found)


def chosen_rows(options: argparse.Namespace) -> list[Row]:
    """The rows that are named, or all that the model allows."""
    rows: list[Row] = named(ROWS, options.rows, "row")
    left_out = [row.name for row in rows if row.needs_model and options.backend == "none"]
    if left_out:
        print(f"without a model there is no {', '.join(left_out)}", file=sys.stderr)
    rows = [row for row in rows if row.name not in left_out]
    if not rows:
        raise SystemExit("no row is left")
    return rows


def sample(conversation: Conversation, options: argparse.Namespace) -> list[Question]:
    """The questions to ask, in the data's order; the same ones for the same seed."""
    wanted = [name for name in options.categories.split(",") if name]
    known = [q for q in conversation.questions if not wanted or q.category in wanted]
    if not options.limit:
        return known
    chance, chosen = random.Random(options.seed), set[str]()
    for category in dict.fromkeys(each.category for each in known):
        part = [each.id for each in known if each.category == category]
        chosen.update(chance.sample(part, min(options.limit, len(part))))
    return [each for each in known if each.id in chosen]


@contextmanager
def results_folder(options: argparse.Namespace) -> Iterator[Path]:
    """The folder that was named, else one that goes again.

    Raises:
        SystemExit: it holds answers of other settings.
    """
    if options.results is None:
        with tempfile.TemporaryDirectory() as folder:
            yield Path(folder)
        return
    file = options.results / "settings.json"
    names = ("backend", "model", "writer", "window", "k", "seed", "encoder")
    names += ("candidates", "max_links")
    settings = {"data": options.data.name, **{name: getattr(options, name) for name in names}}
    if file.exists():
        former = json.loads(file.read_text(encoding="utf-8"))
        for name in settings:
            if former.get(name) != settings[name]:
                other = f"{name} {former.get(name)!r}"
                raise SystemExit(f"{file.parent} is of {other}; name another folder")
    else:
        write_whole(file, json.dumps(settings, indent=1))
    yield options.results


def read_lines(file: Path) -> list[dict[str, Any]]:
    """JSON objects, a line each; from the first broken line on, the file is cut off."""
    rows, whole = [], 0
    for line in file.read_bytes().splitlines(keepends=True) if file.exists() else ():
        try:
            row = json.loads(line)
        except ValueError:
            break
        if not line.endswith(b"\n"):
            break
        rows.append(row)
        whole += len(line)
    if file.exists():
        os.truncate(file, whole)
    return rows


def write_whole(file: Path, text: str) -> None:
    """A file that is there whole or not at all."""
    file.parent.mkdir(parents=True, exist_ok=True)
    part = file.with_suffix(".part")
    part.write_text(text, encoding="utf-8")
    part.replace(file)


@dataclass
class Run:
    """Answers questions row by row, and keeps every answer at once."""

    options: argparse.Namespace
    folder: Path
    chosen_encoder: Encoder | None = None
    costs: dict[str, list[dict[str, float]]] = field(default_factory=dict)
    # Failures that no success has followed yet.
    _held_back: list[Reply] = field(default_factory=list)
    _failed_notes: int = 0

    def __post_init__(self) -> None:
        options = self.options
        self.overrides: dict[str, Any] = dict(NO_MODEL)
        if options.backend == "perfect":
            # A model that a user named is trusted.
            self.overrides = {"llm_backend": "llama.cpp", "llm_model": "perfect"}
        elif options.backend != "none":
            self.overrides = {"llm_backend": options.backend, "llm_model": options.model}
            self.overrides |= {"llm_base_url": options.base_url}
        self.overrides["llm_context_tokens"] = options.window
        self.overrides["llm_deadline_seconds"] = options.deadline
        self.reading = Workspace(self.folder, overrides=self.overrides)
        own = self.chosen_encoder or self.reading.models.encoder
        self.encoder = RememberingEncoder(own, self.folder / "vectors.npz")
        model: Any = None
        self.has_gold = (options.data / "gold").is_dir()
        if options.backend == "perfect":
            writer = PerfectModel(gold_vaults(options.data / "gold", [])) if self.has_gold else None
            model = PerfectReader(writer)
        elif options.backend != "none":
            model = self.reading.model
        self.model = MeteredModel(model) if model is not None else None
        self.answers = self.folder / "answers.jsonl"
        self.replies = {
            (row["row"], row["question"]): Reply(**{**row, "shown": tuple(row["shown"])})
            for row in read_lines(self.answers)
        }

    def answer(
        self, conversation: Conversation, questions: Sequence[Question], rows: Sequence[Row]
    ) -> None:
        """Put the questions to every row that has not answered them yet."""
        for memory in dict.fromkeys(row.memory for row in rows):
            own = [row for row in rows if row.memory == memory]
            due = [
                (row, q) for row in own for q in questions if (row.name, q.id) not in self.replies
            ]
            vault = self.memory(conversation, memory)
            for at, (row, question) in enumerate(due, 1):
                options = self.options
                reader = Reader(
                    row, conversation, vault, self.model, self.reading, options.k, options.seed
                )
                self._keep(reader.reply(question))
                if at % 10 == 0 or at == len(due):
                    print(f"{conversation.name}, {row.name}: {at} of {len(due)}", file=sys.stderr)
            vault.close()

    def _keep(self, reply: Reply) -> None:
        """Keep an answer; of failures only those that a success follows.

        Raises:
            SystemExit: the model failed several times in a row.
        """
        self._held_back.append(reply)
        if reply.failed and len(self._held_back) >= FAILURES_IN_A_ROW:
            raise SystemExit(
                f"the model failed {FAILURES_IN_A_ROW} times in a row: {reply.problem}\n"
                "What was answered before is kept where --results names a folder."
            )
        if not reply.failed:
            self._flush()

    def _flush(self) -> None:
        with self.answers.open("a", encoding="utf-8") as file:
            for reply in self._held_back:
                self.replies[reply.row, reply.question] = reply
                file.write(json.dumps(asdict(reply), ensure_ascii=False) + "\n")
        self._held_back.clear()

    def memory(self, conversation: Conversation, kind: str) -> OpenVault:
        """A conversation remembered in one way; made anew unless that was finished."""
        writes = self.options.writer == "same" and kind != "raw" and self.model is not None
        # What is to be remembered is known of the hand-written vaults alone.
        writes = writes and (self.options.backend != "perfect" or self.has_gold)
        overrides = dict(self.overrides if writes else NO_MODEL)
        overrides |= {"evolution_mode": "off"} if kind == "no-evolution" else {}
        model = self.model.model if writes and self.model is not None else None
        safe = "".join(
            sign if sign.isalnum() or sign in "-_" else "-" for sign in conversation.name
        )
        root = self.folder / "vaults" / f"{safe}-{kind}"
        finished = root.with_suffix(".json")
        if not finished.exists():
            shutil.rmtree(root, ignore_errors=True)
            root.parent.mkdir(parents=True, exist_ok=True)
        vault = OpenVault(root, Design(kind, overrides, model), self.encoder)
        if finished.exists():
            made = json.loads(finished.read_text(encoding="utf-8"))
            vault.path_of.update(made["paths"])
            vault.id_of.update({path: turn for turn, path in made["paths"].items()})
        else:
            costs = [self._written(vault, turn, kind) for turn in conversation.turns]
            made = {"paths": vault.path_of, "costs": [each for each in costs if each]}
            write_whole(finished, json.dumps(made))
        self.costs.setdefault(kind, []).extend(made["costs"])
        self.encoder.save()
        return vault

    def _written(self, vault: OpenVault, turn: Any, kind: str) -> dict[str, float]:
        """Remember one turn; what that cost."""
        vault.add(turn.id, NewNote(turn.text, title=turn.title, created=turn.created))
        if kind == "raw":
            return {}
        vault.clock.present = turn.created.astimezone()
        step = process(vault, turn.id)
        use, outcome = step.outcome.use, step.outcome
        self._failed_notes = self._failed_notes + 1 if outcome.failed else 0
        if self._failed_notes >= FAILURES_IN_A_ROW:
            why = (outcome.problems or ("no answer",))[0]
            raise SystemExit(f"the model failed {FAILURES_IN_A_ROW} times in a row: {why}")
        return {
            "calls": use.calls,
            "prompt_tokens": use.prompt_tokens,
            "answer_tokens": use.answer_tokens,
            "seconds": round(step.seconds, 3),
            "links": len(outcome.links),
            "evolved": len(outcome.evolved),
        }

    def figures(self, questions: Sequence[Question], rows: Sequence[Row]) -> dict[str, Any]:
        """All figures, in percent, each with the bounds of its 95% interval."""
        if self._held_back:
            self._flush()
        scores = self._scores(questions, rows)

        def interval(values: Sequence[float]) -> list[float]:
            drawn = np.random.default_rng(self.options.seed)
            means = drawn.choice(np.array(values), (SAMPLES, len(values))).mean(axis=1)
            bounds = (float(np.mean(values)), *np.percentile(means, (2.5, 97.5)))
            # Nothing is -0.0.
            return [round(100 * float(each), 1) + 0.0 for each in bounds]

        def of(row: Row, part: Sequence[Question], metric: str) -> list[float]:
            return [scores[row.name, question.id][metric] for question in part]

        known = [each for each in questions if each.is_answerable]
        unknown = [each for each in questions if not each.is_answerable]
        parts = {"answerable": known} if known else {}
        for category in dict.fromkeys(each.category for each in known):
            also = f" ({CATEGORIES[category]})" if category in CATEGORIES else ""
            parts[f"category {category}{also}"] = [e for e in known if e.category == category]
        base = next((row for row in rows if row.name == BASE), None)
        less = {
            row.name: {
                metric: interval(np.subtract(of(row, known, metric), of(base, known, metric)))
                for metric in ("f1", "sbert", "held")
            }
            for row in rows
            if base is not None and known and row is not base
        }
        return {
            "scores": {
                name: {
                    "questions": len(part),
                    "rows": {
                        row.name: {m: interval(of(row, part, m)) for m in ("held", *METRICS)}
                        for row in rows
                    },
                }
                for name, part in parts.items()
            },
            "unanswerable": {
                "questions": len(unknown),
                "rows": {
                    row.name: {"refused": interval(of(row, unknown, "refused"))} for row in rows
                },
            }
            if unknown
            else {},
            "differences": less,
            "cost": {row.name: self._cost(row, questions) for row in rows},
            "writing": {
                kind: {**_means(costs, costs[0]), "notes": len(costs)}
                for kind, costs in self.costs.items()
                if costs
            },
            "settings": {"model": self.options.model, "k": self.options.k},
        }

    def _scores(
        self, questions: Sequence[Question], rows: Sequence[Row]
    ) -> dict[tuple[str, str], dict[str, float]]:
        scores: dict[tuple[str, str], dict[str, float]] = {}
        pairs = []
        for question in questions:
            for row in rows:
                reply = self.replies[row.name, question.id]
                said, wanted = reply.said if reply.held else "", question.answer
                if not question.is_answerable:
                    said, wanted = reply.said or NOT_MENTIONED, question.trap
                pairs.append((said, wanted))
                found = text_scores(said, wanted, question.category)
                found |= {"held": float(reply.held), "refused": float(reply.refused)}
                scores[row.name, question.id] = found
        for found, cosine in zip(scores.values(), similarities(pairs, self.encoder), strict=True):
            found["sbert"] = cosine
        return scores

    def _cost(self, row: Row, questions: Sequence[Question]) -> dict[str, float]:
        """Means of a question."""
        own = [self.replies[row.name, question.id] for question in questions]
        shares = [
            len({*each.evidence} & {*reply.shown}) / len(each.evidence)
            for each, reply in zip(questions, own, strict=True)
            if each.is_answerable and each.evidence
        ]
        found = _means([asdict(reply) for reply in own], COSTS)
        return found | {
            "notes_shown": sum(len(each.shown) for each in own) / len(own),
            "share_shown": 100 * sum(each.whole for each in own) / len(own),
            "evidence_shown": 100 * sum(shares) / max(1, len(shares)),
        }

    def close(self) -> None:
        self.encoder.save()
        if self.model is not None:
            self.model.close()


def _means(
    rows: Sequence[Mapping[str, float]], names: Sequence[str] | Mapping[str, Any]
) -> dict[str, float]:
    return {name: round(sum(row[name] for row in rows) / len(rows), 2) for name in names}


def print_tables(document: Mapping[str, Any]) -> None:
    """The tables on standard output; all intervals are in the document alone."""
    for name, part in document["scores"].items():
        titles = ["answered", *(TITLES[each] for each in METRICS)]
        table(f"{name}: {part['questions']} questions, in percent", titles, part["rows"])
    if part := document["unanswerable"]:
        title = f"without an answer (category 5, none): {part['questions']} questions, in percent"
        table(title, ["refused"], part["rows"])
    if document["differences"]:
        title = f"less `{BASE}`, the same answerable questions, in points"
        table(title, ["F1", "SBERT", "answered"], document["differences"])
    for title, rows in (("a question", document["cost"]), ("a note", document["writing"])):
        if rows:
            table(title, list(next(iter(rows.values()))), rows)


def table(title: str, columns: Sequence[str], rows: Mapping[str, Mapping[str, Any]]) -> None:
    """A table of rows of figures: numbers, or a mean with the bounds of its interval."""
    print(f"\n{title}")
    cells = [["row", *columns]]
    for name, figures in rows.items():
        shown = [
            "{:.1f} ({:.1f} to {:.1f})".format(*each) if isinstance(each, list) else f"{each:g}"
            for each in figures.values()
        ]
        cells.append([name, *shown])
    widths = [max(map(len, column)) for column in zip(*cells, strict=True)]
    for row in cells:
        print(
            "  "
            + "  ".join(
                f"{cell:<{width}}" for cell, width in zip(row, widths, strict=True)
            ).rstrip()
        )


if __name__ == "__main__":
    os.environ.setdefault("TOKENIZERS_PARALLELISM", "false")
    main()
