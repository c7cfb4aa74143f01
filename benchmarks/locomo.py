"""How well are questions about long conversations answered, by A-MEM's measures?

    python benchmarks/locomo.py locomo10.json --model qwen3:4b \\
        --base-url http://127.0.0.1:11434/v1 --results runs/qwen3 --json figures.json
    python benchmarks/locomo.py DATA_FOLDER

DATA is a file in LoCoMo's shape (not part of this repository: CC BY-NC 4.0), or a folder with
`gold/*/questions.jsonl`. Without `--model` the answers are quotations. docs/locomo.md tells what
the rows and measures are, and how they differ from A-MEM's own harness. With `--results FOLDER` a
run that was killed goes on after its last answer.
"""

from __future__ import annotations

import argparse
import json
import os
import sys
import tempfile
from collections.abc import Collection, Sequence
from contextlib import nullcontext
from dataclasses import asdict, dataclass, replace
from pathlib import Path
from typing import Any

import numpy as np
from ask_figures import interval, print_tables, sample
from common import WITHOUT_MODEL, by_commas, parser_of, settings_of_model
from locomo_data import conversations, is_answerable
from locomo_scores import METRICS, similarities, text_scores
from memory_vault import Design, OpenVault, process
from remembered_vectors import RememberingEncoder
from retrieval_data import UNDATED, Asked, Group, Turn

from amem_cli.ask.ask import ATTEMPTS, ask, budget_of
from amem_cli.ask.prompt import OVERHEAD_TOKENS, answer_request, check_answer
from amem_cli.ask.sources import QuotedNote, labelled
from amem_cli.errors import ModelError
from amem_cli.index.records import NoteOutline, NoteSummary
from amem_cli.memory.ask_model import ask_once
from amem_cli.models.ports import Encoder
from amem_cli.models.prompt_text import estimated_tokens
from amem_cli.search.search import Filters
from amem_cli.workspace.workspace import Workspace

FAILURES_IN_A_ROW = 3
_HEADING_TOKENS = 24


@dataclass(frozen=True)
class Row:
    """A way to answer: a memory, and what of it the model is shown.

    Attributes:
        memory: `full`, `no-evolution`, or `raw`, which holds the bare turns.
        dense: only the k turns nearest by cosine of the bare text are shown.
        whole: the conversation itself is shown, and nothing is searched.
    """

    name: str
    memory: str
    links: bool = False
    dense: bool = False
    whole: bool = False


ROWS = (
    Row("amem", "full", links=True),
    Row("no-links", "full"),
    Row("no-evolution", "no-evolution", links=True),
    Row("plain-rag", "raw", dense=True),
    Row("full-context", "raw", whole=True),
)


@dataclass(frozen=True)
class Reply:
    """What one row said to one question, and what that cost.

    Attributes:
        held: it was said that the notes hold an answer.
        shown: ids of the turns that it was made from.
        problem: of a model that gave no answer.
    """

    row: str
    question: str
    said: str
    held: bool
    shown: tuple[str, ...] = ()
    calls: int = 0
    tokens: int = 0
    seconds: float = 0.0
    problem: str = ""


class WithoutLinks:
    """An index in which no note is linked to another."""

    def __init__(self, index: Any) -> None:
        self._index = index
        self.links = self.link_history = self

    def __getattr__(self, name: str) -> Any:
        return getattr(self._index, name)

    def written(self, path: str) -> list[Any]:
        return []

    outgoing = incoming = linked = written

    def all(self) -> Any:
        return iter(())

    def records(self, path: str | None = None) -> dict[Any, Any]:
        return {}

    def superseded(self, paths: Any = None) -> list[Any]:
        return []

    suggested = superseded


class OnlyThese(Filters):
    """Lets only these notes be found."""

    __slots__ = ("paths",)

    def __init__(self, paths: Collection[str]) -> None:
        super().__init__()
        object.__setattr__(self, "paths", frozenset(paths))

    def __bool__(self) -> bool:
        return True

    def admit(self, note: NoteOutline | NoteSummary) -> bool:
        return note.path in self.paths


class Run:
    """Answers questions row by row, and keeps every answer at once."""

    def __init__(self, options: argparse.Namespace, folder: Path, encoder: Encoder | None) -> None:
        self.options, self.folder = options, folder
        self.settings = WITHOUT_MODEL
        if options.model:
            self.settings = settings_of_model(options.model, options.base_url)
        self.reading = Workspace(folder, overrides=self.settings)
        own = encoder or self.reading.models.encoder
        self._refuse_other_settings(own.model_id)
        self.encoder = RememberingEncoder(own, folder / "vectors.npz")
        self.model = self.reading.models.model if options.model else None
        self.file = folder / "answers.jsonl"
        lines = self.file.read_text(encoding="utf-8").splitlines() if self.file.exists() else ()
        replies = [Reply(**json.loads(line)) for line in lines]
        self.replies = {(each.row, each.question): each for each in replies}
        self.failures = 0

    def _refuse_other_settings(self, encoder: str) -> None:
        """Raises:
        SystemExit: the folder holds answers of another model, encoder or k.
        """
        options, file = self.options, self.folder / "settings.json"
        text = json.dumps([options.data.name, options.model, options.writer, options.k, encoder])
        if file.exists() and file.read_text(encoding="utf-8") != text:
            raise SystemExit(f"{self.folder} holds answers of other settings; name another folder")
        file.write_text(text, encoding="utf-8")

    def answer(self, conversation: Group, asked: Sequence[Asked], rows: Sequence[Row]) -> None:
        """Put the questions to every row that has not answered them yet."""
        for memory in dict.fromkeys(row.memory for row in rows):
            vault = self._memory(conversation, memory)
            for row in [row for row in rows if row.memory == memory]:
                for question in asked:
                    if (row.name, question.id) not in self.replies:
                        self._keep(self._reply(row, vault, conversation, question))
                print(f"{conversation.name}, {row.name} is done", file=sys.stderr)
            vault.close()
        self.encoder.save()

    def _keep(self, reply: Reply) -> None:
        """Keep an answer, but none of a model that failed: the next run asks again.

        Raises:
            SystemExit: the model failed several times in a row.
        """
        self.replies[reply.row, reply.question] = reply
        self.failures = self.failures + 1 if reply.problem else 0
        if self.failures >= FAILURES_IN_A_ROW:
            raise SystemExit(f"the model failed {self.failures} times in a row: {reply.problem}")
        if not reply.problem:
            with self.file.open("a", encoding="utf-8") as file:
                file.write(json.dumps(asdict(reply), ensure_ascii=False) + "\n")

    def _memory(self, conversation: Group, kind: str) -> OpenVault:
        """A conversation remembered in one way; goes on where an earlier run stopped."""
        writes = kind != "raw" and self.options.writer == "same"
        overrides = self.settings if writes else WITHOUT_MODEL
        overrides = overrides | ({"evolution_mode": "off"} if kind == "no-evolution" else {})
        root = self.folder / "vaults" / f"{conversation.name}-{kind}"
        design = Design(kind, overrides, self.model if writes else None)
        vault = OpenVault(root, design, self.encoder)
        turn_of = {_created(turn): turn for turn in conversation.turns}
        for note in vault.workspace.index.notes.summaries():
            if turn := turn_of.get(note.created[:19]):
                vault.path_of[turn.id], vault.id_of[note.path] = note.path, turn.id
        for turn in conversation.turns:
            if turn.id not in vault.path_of:
                vault.add(turn.id, turn.new)
                if kind != "raw":
                    process(vault, turn.id)
        return vault

    def _reply(self, row: Row, vault: OpenVault, conversation: Group, asked: Asked) -> Reply:
        if row.whole:
            return self._of_whole(row, vault, conversation, asked)
        ports = vault.workspace.ports
        index: Any = ports.index if row.links else WithoutLinks(ports.index)
        filters = self._nearest(vault, conversation, asked) if row.dense else Filters()
        answer = ask(
            replace(ports, index=index),
            asked.query,
            encoder=self.encoder,
            model=self.model,
            budget=budget_of(self.reading.settings),
            deadline=self.reading.settings.llm_deadline_seconds,
            limit=self.options.k,
            filters=filters,
        )
        quotes = " ".join(each.quote for each in answer.citations)
        said = (answer.text if answer.how == "model" else quotes) if answer.held else ""
        use = answer.use
        return Reply(
            row.name,
            asked.id,
            said,
            answer.held,
            shown=tuple(vault.id_of[each.path] for each in answer.shown),
            calls=use.calls,
            tokens=use.prompt_tokens + use.answer_tokens,
            seconds=round(use.seconds, 3),
            problem="; ".join(answer.problems) if self.model and not use.calls else "",
        )

    def _nearest(self, vault: OpenVault, conversation: Group, asked: Asked) -> OnlyThese:
        turns = conversation.turns
        near = self.encoder.encode([turn.new.content for turn in turns])
        cosines = near @ self.encoder.encode([asked.query], query=True)[0]
        best = np.argsort(-cosines, kind="stable")[: self.options.k]
        return OnlyThese([vault.path_of[turns[at].id] for at in best])

    def _of_whole(self, row: Row, vault: OpenVault, conversation: Group, asked: Asked) -> Reply:
        """Ask as `amem ask` does, with as many of the latest turns as the window holds."""
        assert self.model is not None
        settings = self.reading.settings
        left, chosen = settings.llm_context_tokens - OVERHEAD_TOKENS, list[QuotedNote]()
        for turn in reversed(conversation.turns):
            text = turn.new.content
            left -= estimated_tokens(text) + _HEADING_TOKENS
            if left < 0:
                break
            path, title = vault.path_of[turn.id], turn.new.title or turn.id
            told = QuotedNote("", path, turn.id, title, _created(turn), None, False, (text,))
            chosen.append(told)
        sources, fault = labelled(chosen[::-1]), ""
        reply = Reply(row.name, asked.id, "", False, tuple(each.id or "" for each in sources))
        for _ in range(ATTEMPTS):
            request = answer_request(
                asked.query, sources, deadline=settings.llm_deadline_seconds, remark=fault
            )
            try:
                said, fault, use = ask_once(self.model, request)
            except ModelError as error:
                return replace(reply, problem=error.message)
            tokens = reply.tokens + use.prompt_tokens + use.answer_tokens
            seconds = reply.seconds + use.seconds
            reply = replace(reply, calls=reply.calls + use.calls, tokens=tokens, seconds=seconds)
            if said is not None:
                checked = check_answer(said, asked.query, sources)
                if not checked.fault:
                    return replace(reply, said=checked.text, held=checked.held)
                fault = checked.fault
        return reply

    def figures(self, asked: Sequence[Asked], rows: Sequence[Row]) -> dict[str, Any]:
        """All figures, in percent, each with the bounds of its 95 % interval."""
        known = [each for each in asked if is_answerable(each)]
        scores = {row.name: self._scores(row, known) for row in rows}
        category = np.array([each.category for each in known])
        parts = {"answerable": category != ""}
        parts |= {f"category {name}": category == name for name in dict.fromkeys(category)}
        found: dict[str, Any] = {title: {} for title in parts}
        first = rows[0].name
        for row, own in scores.items():
            for title, part in parts.items():
                found[title][row] = {name: interval(values[part]) for name, values in own.items()}
            if row != first:
                less = {
                    name: interval(own[name] - values) for name, values in scores[first].items()
                }
                found.setdefault(f"less {first}", {})[row] = less
        unknown = [each.id for each in asked if not is_answerable(each)]
        for row in scores if unknown else ():
            refused = interval(not self.replies[row, each].held for each in unknown)
            found.setdefault("without an answer", {})[row] = {"refused": refused}
        found["a question"] = {row.name: self._cost(row, asked) for row in rows}
        return found

    def _scores(self, row: Row, known: Sequence[Asked]) -> dict[str, Any]:
        replies = [self.replies[row.name, each.id] for each in known]
        pairs = [(reply.said, each.answer) for reply, each in zip(replies, known, strict=True)]
        texts = [text_scores(*pair) for pair in pairs]
        found = {"answered": [reply.held for reply in replies]}
        found |= {metric: [each[metric] for each in texts] for metric in METRICS}
        found["sbert"] = similarities(pairs, self.encoder)
        return {metric: np.array(values, float) for metric, values in found.items()}

    def _cost(self, row: Row, asked: Sequence[Asked]) -> dict[str, float]:
        """Means of a question, and the share of the evidence that was shown, in percent."""
        own = [self.replies[row.name, each.id] for each in asked]
        shares = [
            len({*each.gold} & {*reply.shown}) / len(each.gold)
            for each, reply in zip(asked, own, strict=True)
            if is_answerable(each) and each.gold
        ]
        means = {"notes": [float(len(each.shown)) for each in own]}
        means |= {n: [float(getattr(e, n)) for e in own] for n in ("calls", "tokens", "seconds")}
        means["evidence"] = [100 * share for share in shares]
        return {name: round(float(np.mean(values)), 2) for name, values in means.items()}


def _created(turn: Turn) -> str:
    return (turn.new.created or UNDATED).isoformat(timespec="seconds")


def main(given: Sequence[str] | None = None, encoder: Encoder | None = None) -> None:
    """Run the benchmark.

    Args:
        given: the command line; None for the program's own.
        encoder: in place of that of the settings.
    """
    parser = parser_of(__doc__)
    add = parser.add_argument
    add("data", type=Path, help="a file in LoCoMo's shape, or a folder with gold/*/questions.jsonl")
    add("--model", default="", help="a GGUF file, or a model of --base-url")
    add("--base-url", default="", help="an OpenAI-compatible server")
    add("--writer", choices=("same", "none"), default="same", help="none: memories without a model")
    add("--k", type=int, default=10, help="how many notes a search finds")
    add("--rows", default="", help=f"by commas; all: {','.join(row.name for row in ROWS)}")
    add("--conversations", default="", help="names by commas")
    add("--limit", type=int, default=0, help="so many of each conversation and category")
    add("--results", type=Path, help="folder of answers and vaults, to go on with later")
    add("--json", type=Path, help="file for all figures with all intervals")
    options = parser.parse_args(given)
    rows = [
        row
        for row in ROWS
        if (options.model or not row.whole) and row.name in (by_commas(options.rows) or [row.name])
    ]
    wanted = by_commas(options.conversations)
    chosen = [each for each in conversations(options.data) if not wanted or each.name in wanted]
    for problem in (problem for each in chosen for problem in each.problems):
        print(f"! {problem}", file=sys.stderr)
    asked = [one for each in chosen for one in sample(each.questions, options.limit)]
    if not asked or not rows:
        raise SystemExit("no question or row is left")
    with (
        nullcontext(options.results) if options.results else tempfile.TemporaryDirectory() as folder
    ):
        Path(folder).mkdir(parents=True, exist_ok=True)
        run = Run(options, Path(folder), encoder)
        for conversation in chosen:
            run.answer(conversation, [e for e in asked if e.group == conversation.name], rows)
        document = run.figures(asked, rows)
        if run.model is not None:
            run.model.close()
    print_tables(document)
    if options.json:
        options.json.write_text(json.dumps(document, indent=1) + "\n", encoding="utf-8")


if __name__ == "__main__":
    os.environ.setdefault("TOKENIZERS_PARALLELISM", "false")
    main()
