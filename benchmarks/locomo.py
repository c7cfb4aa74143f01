"""How well are questions about long conversations answered, by A-MEM's measures and harness?

    python benchmarks/locomo.py locomo10.json --model qwen3:4b \\
        --base-url http://127.0.0.1:11434/v1 --results runs/qwen3 --json figures.json
    python benchmarks/locomo.py DATA_FOLDER --backend none
    python benchmarks/locomo.py DATA_FOLDER --backend perfect
    python benchmarks/locomo.py DATA_FOLDER --conversations engineer --limit 2

DATA is a file in LoCoMo's shape (it is not part of this repository: CC BY-NC 4.0), or a folder with
`gold/*/questions.jsonl`. The rows share model, k, prompt and questions; docs/locomo.md tells what
they are, what is measured, and how that differs from A-MEM's own harness. With `--results FOLDER`
a run that was killed goes on where it was.
"""

from __future__ import annotations

import argparse
import json
import os
import random
import sys
import tempfile
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from locomo_data import Conversation, Question
from locomo_gold import conversations
from locomo_memory import RAW, remembered
from locomo_models import MeteredModel, PerfectReader
from locomo_results import Breaker, Results, as_row
from locomo_rows import ROWS, Reader, Row
from locomo_tables import DEVELOPED_ON, Figures, print_tables, writing_cost
from memory_gold import gold_vaults
from memory_perfect import PerfectModel
from memory_vault import Design, OpenVault
from remembered_vectors import RememberingEncoder

from amem_cli.models.ports import Encoder
from amem_cli.settings import CONFIG_NAME, load_settings, user_config_folder
from amem_cli.workspace.workspace import Workspace

NO_MODEL = {"llm_backend": "none"}
BACKENDS = ("none", "perfect", "llama.cpp", "openai", "ollama")


def arguments(given: Sequence[str] | None) -> argparse.Namespace:
    parser = argparse.ArgumentParser(description=__doc__.split("\n\n")[0])
    add = parser.add_argument
    add("data", type=Path, help="a file in LoCoMo's shape, or a folder with gold/*/questions.jsonl")
    add("--backend", choices=BACKENDS, default="", help="perfect: it knows the answers")
    add("--model", default="", help="a GGUF file, or a model of --base-url; else your own")
    add("--base-url", default="", help="an OpenAI-compatible server")
    add("--writer", choices=("same", "none"), default="same", help="none: memories without a model")
    add("--window", type=int, default=0, help="tokens that the model reads at once")
    add("--deadline", type=float, default=0.0, help="longest time for one answer, in seconds")
    add("--k", type=numbers, default=[10], help="how many notes a search finds; several by commas")
    add("--prompt", choices=("amem", "paper"), default="amem", help="of every row but `ask`")
    add("--rows", default="", help=f"by commas; all: {','.join(row.name for row in ROWS)}")
    add("--conversations", default="", help="names by commas; `dev` and `test` name the splits")
    add("--categories", default="", help="by commas, such as 1,2,3,4")
    add("--limit", type=int, default=0, help="so many of each conversation and category")
    add("--seed", type=int, default=0, help="of the sample, the intervals, the order of choices")
    add(
        "--paper-adversarial", action="store_true", help="category 5 as the paper scores it as well"
    )
    add("--results", type=Path, help="folder of answers and vaults, to go on with later")
    add("--json", type=Path, help="file for all figures with all intervals")
    return with_own_settings(parser.parse_args(given))


def numbers(given: str) -> list[int]:
    """Numbers of 1 or more, by commas, each once."""
    found = list(dict.fromkeys(map(int, given.split(","))))
    if min(found) < 1:
        raise ValueError(given)
    return found


def with_own_settings(options: argparse.Namespace) -> argparse.Namespace:
    """The options, and what they leave open as in the user's settings of amem."""
    own, _ = load_settings(None, user_config_folder() / CONFIG_NAME, os.environ)
    if not (options.backend or options.model or options.base_url):
        options.backend, options.model = own.llm_backend, own.llm_model
        options.base_url = own.llm_base_url
    options.backend = options.backend or ("openai" if options.base_url else "llama.cpp")
    options.window = options.window or own.llm_context_tokens
    options.deadline = options.deadline or own.llm_deadline_seconds
    options.encoder, options.reranker = own.encoder_model, own.search_reranker
    options.candidates, options.max_links = own.evolution_candidates, own.evolution_max_links
    return options


def main(given: Sequence[str] | None = None, encoder: Encoder | None = None) -> None:
    """Run the benchmark.

    Args:
        given: the command line; None for the program's own.
        encoder: in place of that of the settings.
    """
    options = arguments(given)
    chosen = list(selected(conversations(options.data), options.conversations))
    for problem in (each for one in chosen for each in one.problems):
        print(f"! {problem}", file=sys.stderr)
    asked = {each.name: sample(each, options) for each in chosen}
    questions = [question for each in chosen for question in asked[each.name]]
    if not questions:
        raise SystemExit("no question is left")
    rows = chosen_rows(options)
    with results_folder(options.results) as folder:
        run = Run(options, Results(folder, settings_of(options)), encoder)
        for conversation in chosen:
            run.answer(conversation, asked[conversation.name], rows)
        document = run.document(chosen, questions, rows)
        run.close()
    print_tables(document)
    if options.json:
        options.json.write_text(json.dumps(document, indent=1) + "\n", encoding="utf-8")


def settings_of(options: argparse.Namespace) -> dict[str, Any]:
    """All that decides what is answered."""
    names = ("backend", "model", "writer", "window", "prompt", "seed")
    names += ("encoder", "reranker", "candidates", "max_links")
    data = options.data.resolve()
    # Answers of the first form do not tell their k.
    return {"data": data.name, "form": 2, **{name: getattr(options, name) for name in names}}


@contextmanager
def results_folder(named: Path | None) -> Iterator[Path]:
    """The folder that was named, else one that goes again."""
    if named is not None:
        yield named
        return
    with tempfile.TemporaryDirectory() as folder:
        yield Path(folder)


def selected(found: Sequence[Conversation], named: str) -> Iterator[Conversation]:
    """The conversations that are named, or all.

    Raises:
        SystemExit: one is not there.
    """
    names = [name for name in named.split(",") if name]
    for name in names:
        if name not in ("dev", "test") and name not in [each.name for each in found]:
            raise SystemExit(
                f"no conversation {name}; there are: {', '.join(c.name for c in found)}"
            )
    for each in found:
        split = "dev" if each.name in DEVELOPED_ON else "test"
        if not names or each.name in names or split in names:
            yield each


def sample(conversation: Conversation, options: argparse.Namespace) -> list[Question]:
    """The questions to ask, in the data's order; the same ones for the same seed."""
    wanted = [name for name in options.categories.split(",") if name]
    known = [q for q in conversation.questions if not wanted or q.category in wanted]
    if not options.limit:
        return known
    chance = random.Random(options.seed)
    chosen: set[str] = set()
    for category in dict.fromkeys(each.category for each in known):
        part = [each.id for each in known if each.category == category]
        chosen.update(chance.sample(part, min(options.limit, len(part))))
    return [each for each in known if each.id in chosen]


def chosen_rows(options: argparse.Namespace) -> list[Row]:
    """The rows that are named, or all that the model allows.

    Raises:
        SystemExit: one is not known.
    """
    names = [name for name in options.rows.split(",") if name]
    known = {row.name: row for row in ROWS}
    for name in names:
        if name not in known:
            raise SystemExit(f"no row {name}; there are: {', '.join(known)}")
    rows = [known[name] for name in names] or list(ROWS)
    if options.backend == "none":
        left_out = [row.name for row in rows if row.needs_model]
        if left_out:
            print(f"without a model there is no {', '.join(left_out)}", file=sys.stderr)
        rows = [row for row in rows if not row.needs_model]
    if options.prompt == "paper":
        # It would be the row `amem` again.
        rows = [row for row in rows if not row.paper or len(rows) == 1]
    if not rows:
        raise SystemExit("no row is left")
    return rows


@dataclass
class Run:
    """Answers questions row by row, and keeps every answer at once."""

    options: argparse.Namespace
    results: Results
    chosen_encoder: Encoder | None = None

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
        self.reading = Workspace(self.results.folder, overrides=self.overrides)
        vectors = self.results.folder / "vectors.npz"
        self.encoder = RememberingEncoder(
            self.chosen_encoder or self.reading.models.encoder, vectors
        )
        model: Any = None
        if options.backend == "perfect":
            model = PerfectReader(self._perfect_writer())
        elif options.backend != "none":
            model = self.reading.model
        self.model = MeteredModel(model) if model is not None else None
        self.replies = self.results.replies()
        # One for all conversations: of a dead model each would see too few failures to stop.
        self.breaker = Breaker(self.results.answers)

    def _perfect_writer(self) -> PerfectModel | None:
        folder = self.options.data / "gold"
        return PerfectModel(gold_vaults(folder, [])) if folder.is_dir() else None

    def _design(self, memory: str) -> Design:
        """How a kind of memory is written: by the model that answers, or without any."""
        writes = self.options.writer == "same" and memory != RAW and self._can_write
        if not writes or self.model is None:
            return Design(memory, NO_MODEL)
        return Design(memory, self.overrides, self.model.model)

    @property
    def _can_write(self) -> bool:
        # What is to be remembered is known of the hand-written vaults alone.
        return self.options.backend != "perfect" or (self.options.data / "gold").is_dir()

    def answer(
        self, conversation: Conversation, questions: Sequence[Question], rows: Sequence[Row]
    ) -> None:
        """Put the questions to every row that has not answered them yet."""
        for memory in dict.fromkeys(row.memory for row in rows):
            own = [row for row in rows if row.memory == memory]
            due = [
                (row, question, k)
                for row in own
                for k in {row.k_of(each): each for each in reversed(self.options.k)}.values()
                for question in questions
                if (row.name, question.id, row.k_of(k)) not in self.replies
            ]
            if due:
                self._answer(conversation, memory, due)

    def memory(self, conversation: Conversation, kind: str) -> OpenVault:
        """A conversation remembered in one way; made first where it is not yet."""
        vault = remembered(self.results, conversation, kind, self._design(kind), self.encoder)
        self.encoder.save()
        return vault

    def _answer(
        self, conversation: Conversation, memory: str, due: Sequence[tuple[Row, Question, int]]
    ) -> None:
        vault = self.memory(conversation, memory)
        options = self.options
        paper = options.prompt == "paper"
        for at, (row, question, k) in enumerate(due, 1):
            reader = Reader(
                row, conversation, vault, self.model, self.reading, k, paper, options.seed
            )
            reply = reader.reply(question)
            why = reply.problems[0] if reply.problems else "no answer"
            self.breaker.write(as_row(reply), failed=reply.failed, why=why)
            if at % 10 == 0 or at == len(due):
                place = f"{conversation.name}, {row.name}"
                print(f"{place}: {at} of {len(due)} answers ({memory})", file=sys.stderr)
        vault.close()

    def document(
        self, chosen: Sequence[Conversation], questions: Sequence[Question], rows: Sequence[Row]
    ) -> dict[str, Any]:
        """All figures of the run."""
        self.breaker.flush()
        replies = self.results.replies()
        by_k = {}
        for k in self.options.k:
            own = {
                (row.name, question.id): replies[row.name, question.id, row.k_of(k)]
                for row in rows
                for question in questions
            }
            figures = Figures(
                questions, rows, own, self.encoder,
                seed=self.options.seed, paper_adversarial=self.options.paper_adversarial,
            )  # fmt: skip
            by_k[k] = figures.document()
        made = dict(by_k[self.options.k[0]])
        made["by_k"] = by_k if len(by_k) > 1 else {}
        made["settings"] = {**settings_of(self.options), "k": self.options.k}
        made["rows"] = {row.name: row.about for row in rows}
        made["writing"] = writing_cost(
            self.results, chosen, list(dict.fromkeys(r.memory for r in rows))
        )
        return made

    def close(self) -> None:
        self.encoder.save()
        if self.model is not None:
            self.model.close()


if __name__ == "__main__":
    os.environ.setdefault("TOKENIZERS_PARALLELISM", "false")
    main()
