"""How well does `amem ask` answer, and does it refuse what the notes do not hold?

    python benchmarks/ask.py DATA_FOLDER --perfect
    python benchmarks/ask.py DATA_FOLDER --sets gold,locomo --groups 3 --questions 30
    python benchmarks/ask.py DATA_FOLDER --model FILE.gguf

DATA_FOLDER is as for `benchmarks/retrieval.py`; the questions of `gold/VAULT/questions.jsonl` also
have an `answer`. Each vault is asked its own questions and those of the next three vaults, which
it cannot answer; of its own it cannot answer those without evidence (`none`) and, in LoCoMo, the
adversarial ones, which ask of one speaker what another said.

- held: share of the questions that were answered.
- cited recall, precision: share of the evidence that is cited, of the citations that are evidence.
- right: share of the answerable questions whose answer cites evidence.
- quoted, quoted right: the same two, if quotations that may be no answer count, too.
- answer recall, F1: words of the gold answer within the answer and its quotations, and both ways
  within the answer alone.

Means in percent with the 95% interval of 2,000 bootstrap samples of the questions.
"""

from __future__ import annotations

import json
import tempfile
from collections.abc import Iterator, Sequence
from dataclasses import replace
from pathlib import Path

from ask_figures import report, sample
from common import by_commas, open_vault, parser_of, settings_of_model
from retrieval_data import Asked, Group, data_sets

from amem_cli.ask.ask import Answer, ask, budget_of
from amem_cli.ask.prompt import MOST_CITED
from amem_cli.editing.add import add
from amem_cli.index.sync import embed_missing
from amem_cli.models.ports import LanguageModel, ModelAnswer, ModelRequest
from amem_cli.workspace.workspace import Workspace

OF_ANOTHER = "of another vault"
# So many other persons ask a vault.
ASKED_BY_OTHERS = 3
UNANSWERABLE = ("none", "adversarial", OF_ANOTHER)


class Vaults:
    """Every group as a vault on disk.

    Attributes:
        asked: what is asked of them; the evidence of a question are paths here.
        set_of: the data set of each vault by its name.
    """

    def __init__(self, folder: Path, root: Path, names: Sequence[str], most: int) -> None:
        self.asked: list[Asked] = []
        self.workspaces: dict[str, Workspace] = {}
        self.set_of: dict[str, str] = {}
        self._groups: dict[str, Group] = {}
        for data_set, groups in data_sets(folder, names):
            for group in groups[: most or None]:
                self.set_of[group.name], self._groups[group.name] = data_set, group
                paths = self._made(root / group.name, group)
                for each in (*group.questions, *group.unanswerable):
                    known = () if each.category in UNANSWERABLE else each.gold
                    self.asked.append(replace(each, gold=tuple(paths[one] for one in known)))
        self.asked += list(self._foreign())

    def _made(self, root: Path, group: Group) -> dict[str, str]:
        root.mkdir()
        workspace = self.workspaces[group.name] = open_vault(root)
        known = {turn.id: add(workspace.ports, turn.new) for turn in group.turns}
        embed_missing(workspace.ports, workspace.encoder)
        return known

    def _foreign(self) -> Iterator[Asked]:
        for name, data_set in self.set_of.items():
            alike = [each for each in self.set_of if self.set_of[each] == data_set]
            at = alike.index(name)
            for other in [*alike[at + 1 :], *alike[:at]][:ASKED_BY_OTHERS]:
                group = self._groups[other]
                for each in (*group.questions, *group.unanswerable):
                    yield Asked(name, OF_ANOTHER, each.query, ())


class PerfectReader:
    """Gives the gold answer where a note of the evidence is shown, else says that it is not held:
    what search, budget and checks leave to the best of models."""

    name = "perfect reader"
    is_remote = False

    def __init__(self, vaults: Vaults) -> None:
        self._asked = {(each.group, each.query): each for each in vaults.asked}
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
            said["answer"] = asked.answer
        return ModelAnswer(json.dumps(said), True, 0, 0, 0.0)

    def close(self) -> None:
        pass


def run(
    vaults: Vaults, asked: Sequence[Asked], model: LanguageModel | None
) -> list[tuple[Asked, Answer]]:
    """Ask the vaults with a model, or without one."""
    results = []
    for each in asked:
        workspace = vaults.workspaces[each.group]
        if isinstance(model, PerfectReader):
            model.vault = each.group
        answer = ask(
            workspace.ports,
            each.query,
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
    parser = parser_of(__doc__)
    parser.add_argument("data", type=Path)
    parser.add_argument("--sets", default="gold", help="gold, and sets of retrieval/; by commas")
    parser.add_argument("--groups", type=int, default=0, help="only the first vaults of each set")
    parser.add_argument("--questions", type=int, default=0, help="so many of each kind and vault")
    parser.add_argument("--perfect", action="store_true", help="and a model that knows the answers")
    parser.add_argument("--bundled", action="store_true", help="ask the bundled model as well")
    parser.add_argument("--model", default="", help="a GGUF file, or a model of --base-url")
    parser.add_argument("--base-url", default="", help="an OpenAI-compatible server")
    options = parser.parse_args()
    with tempfile.TemporaryDirectory() as folder:
        vaults = Vaults(options.data, Path(folder), by_commas(options.sets), options.groups)
        asked = sample(vaults.asked, options.questions)
        report("quoting", run(vaults, asked, None), vaults.set_of)
        if options.perfect:
            report("perfect reader", run(vaults, asked, PerfectReader(vaults)), vaults.set_of)
        named = {"bundled model": settings_of_model("", "")} if options.bundled else {}
        if options.model:
            named[options.model] = settings_of_model(options.model, options.base_url)
        for name, settings in named.items():
            model = Workspace(Path(folder), overrides=settings).models.model
            report(name, run(vaults, asked, model), vaults.set_of)


if __name__ == "__main__":
    main()
