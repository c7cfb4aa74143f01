"""How much of the evidence does a search find, beside the simple ways of searching?

    python benchmarks/retrieval.py DATA_FOLDER
    python benchmarks/retrieval.py DATA_FOLDER --sets locomo,gold
    python benchmarks/retrieval.py DATA_FOLDER --sets gold --links given
    python benchmarks/retrieval.py DATA_FOLDER --guard

`benchmarks/retrieval_data.py` tells what DATA_FOLDER holds. Each group becomes a vault of its own,
made by the program's services as a person would: a turn is the text "Speaker: …", in a folder
named after the group.

`--guard` searches a fixed part of the data and fails if less is found than `retrieval_guard.json`
says, beyond chance; `--guard --update` makes what is found now the measure.

The baselines run in the same vault with the same encoder. Figures are means over the questions in
percent, with the 95% interval of 2,000 bootstrap samples of the questions.
"""

from __future__ import annotations

import tempfile
import time
from collections.abc import Callable, Sequence
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
import retrieval_guard
from common import by_commas, open_vault, parser_of, usual_encoder
from memory_scores import column_share, estimate
from remembered_vectors import RememberingEncoder
from retrieval_data import Asked, Group, data_sets

from amem_cli.editing.add import add
from amem_cli.index.sync import embed_missing
from amem_cli.memory.batch import EvolveBatch
from amem_cli.search.scoring import fused
from amem_cli.search.search import search

if TYPE_CHECKING:
    from amem_cli.models.ports import Encoder, Vectors

DEPTHS = (1, 3, 5, 10, 20)
METRICS = (*(f"recall@{depth}" for depth in DEPTHS), "ndcg@10", "mrr")
SHOWN = 20
ALL = 10_000
BASELINE = "convex fusion"
PRODUCT = "amem hybrid"


class Searches:
    """One group in a vault of its own, and every way to search it."""

    def __init__(self, root: Path, group: Group, encoder: Encoder, links: str) -> None:
        self.workspace, self.encoder = open_vault(root, encoder), encoder
        ports = self.workspace.ports
        targets: dict[str, list[str]] = {}
        for source, target in group.links if links == "given" else ():
            targets.setdefault(source, []).append(target)
        self.path_of: dict[str, str] = {}
        for turn in group.turns:
            known = [self.path_of[each] for each in targets.get(turn.id, ())]
            linked = [f"[[{path.removesuffix('.md')}]]" for path in known]
            self.path_of[turn.id] = add(ports, replace(turn.new, links=linked))
        embed_missing(ports, encoder)
        if links == "made":
            paths = list(self.path_of.values())
            EvolveBatch(self.workspace.process, paths, asked=True).all_outcomes()
            embed_missing(ports, encoder)
        self.bare = encoder.encode([turn.bare for turn in group.turns])
        self.said = encoder.encode([turn.new.content for turn in group.turns])
        self.seconds: list[float] = []
        self.known: tuple[str, dict[str, float], dict[str, float]] | None = None

    def designs(self) -> dict[str, Callable[[str], list[str]]]:
        return {
            "A-MEM, content only": lambda query: self.dense(query, self.bare),
            "A-MEM, speaker + content": lambda query: self.dense(query, self.said),
            "BM25": lambda query: list(self.legs(query)[1])[:SHOWN],
            "RRF, k=60": self.reciprocal,
            BASELINE: lambda query: list(fused(*self.legs(query)))[:SHOWN],
            "amem keyword": lambda query: self.product(query, "keyword"),
            "amem semantic": lambda query: self.product(query, "semantic"),
            PRODUCT: lambda query: self.product(query, "hybrid"),
        }

    def wanted(self, asked: Asked) -> list[str]:
        """Paths of the evidence; what is not there is not found."""
        return [self.path_of.get(each, each) for each in asked.gold]

    def dense(self, query: str, vectors: Vectors) -> list[str]:
        cosines = vectors @ self.encoder.encode([query], query=True)[0]
        paths = list(self.path_of.values())
        return [paths[i] for i in np.argsort(-cosines, kind="stable")[:SHOWN]]

    def legs(self, query: str) -> tuple[dict[str, float], dict[str, float]]:
        """Cosine and BM25 of every note; the last query's are kept for the next baseline."""
        if self.known is None or self.known[0] != query:
            index, paths = self.workspace.index, list(self.path_of.values())
            vector = self.encoder.encode([query], query=True)[0]
            words = index.text.keyword_scores(index.text.search_terms(query), ALL)
            self.known = query, index.vectors.scores(vector, ALL, paths), words
        return self.known[1:]

    def reciprocal(self, query: str) -> list[str]:
        scores: dict[str, float] = {}
        for leg in self.legs(query):
            for rank, path in enumerate(leg, 1):
                scores[path] = scores.get(path, 0.0) + 1 / (60 + rank)
        return sorted(scores, key=lambda path: (-scores[path], path))[:SHOWN]

    def product(self, query: str, mode: Any) -> list[str]:
        self.encoder.encode_question(query)
        started = time.perf_counter()
        options: dict[str, Any] = {"mode": mode, "limit": SHOWN, "neighbors": False}
        hits = search(self.workspace.index, query, encoder=self.encoder, **options)
        if mode == "hybrid":
            self.seconds.append(time.perf_counter() - started)
        return [hit.note.path for hit in hits]


def scores(found: Sequence[str], gold: Sequence[str]) -> list[float]:
    """The metrics of one question, each in 0..1, in the order of METRICS."""
    wanted = set(gold)
    places = [place for place, path in enumerate(found) if path in wanted]
    recalls = [sum(place < depth for place in places) / len(wanted) for depth in DEPTHS]
    ideal = sum(1 / np.log2(place + 2) for place in range(min(len(wanted), 10)))
    gain = sum(1 / np.log2(place + 2) for place in places if place < 10)
    return [*recalls, gain / ideal, 1 / (places[0] + 1) if places else 0.0]


def figures(values: Any) -> dict[str, list[float]]:
    """Mean and its 95% percentile interval by metric, in percent; `values` has a row a question."""
    rows = np.hstack([values, np.ones((len(values), 1))])
    found = [estimate(rows, column_share(column, -1)) for column in range(len(METRICS))]
    return {
        name: [round(100 * each, 2) for each in cells]
        for name, cells in zip(METRICS, found, strict=True)
    }


def run_set(
    groups: Sequence[Group], encoder: RememberingEncoder, links: str
) -> tuple[dict[str, Any], list[str], list[str], list[float]]:
    """Metrics of each question by design, with its category and group, and seconds a search."""
    values: dict[str, list[list[float]]] = {}
    categories, names, seconds = [], [], []
    for group in groups:
        if not group.questions:
            continue
        with tempfile.TemporaryDirectory() as folder:
            searches = Searches(Path(folder), group, encoder, links)
            for asked in group.questions:
                wanted = searches.wanted(asked)
                for name, find in searches.designs().items():
                    values.setdefault(name, []).append(scores(find(asked.query), wanted))
                categories.append(asked.category)
                names.append(asked.group)
            seconds += searches.seconds
            searches.workspace.close()
        encoder.save()
    return {name: np.array(each) for name, each in values.items()}, categories, names, seconds


def guarded(folder: Path, vectors: Path | None, *, update: bool) -> bool:
    """Whether the fixed part is searched as well as before; see `retrieval_guard.guard`."""
    encoders = usual_encoder(vectors), usual_encoder(vectors, "multilingual")
    columns = [METRICS.index(name) for name in retrieval_guard.METRICS]

    def values_of(group: Group, is_multilingual: bool) -> Any:
        with tempfile.TemporaryDirectory() as root:
            searches = Searches(Path(root), group, encoders[is_multilingual], "none")
            found = [searches.product(asked.query, "hybrid") for asked in group.questions]
            pairs = zip(found, map(searches.wanted, group.questions), strict=True)
            searches.workspace.close()
        return np.array([scores(*pair) for pair in pairs])[:, columns]

    return retrieval_guard.guard(folder, values_of, update)


def report(title: str, values: dict[str, Any], slices: Sequence[Sequence[str]]) -> None:
    """Print a set's figures, those of each design and of the product by category and by group.

    Args:
        values: `METRICS` of each question, by design.
        slices: ways to divide the questions, each with the name of a part for every question.
    """
    print(f"\n{title}: {len(values[PRODUCT])} questions")
    print(f"{'':26}" + "".join(f"{name:>10}" for name in METRICS) + "   recall@10 within")
    for name, each in values.items():
        cells = figures(each)
        low, high = cells["recall@10"][1:]
        print(f"{name:26}{_means(cells)}   {low:.1f} to {high:.1f}")
    gain = figures(values[PRODUCT] - values[BASELINE])
    told = "  ".join(
        "{} {:+.1f} ({:+.1f} to {:+.1f})".format(metric, *gain[metric])
        for metric in ("recall@10", "ndcg@10", "mrr")
    )
    print(f"{PRODUCT} less {BASELINE}, paired: {told}")
    for kinds in slices:
        for kind in dict.fromkeys(kinds) if len(set(kinds)) > 1 else ():
            chosen = np.array([each == kind for each in kinds])
            cells = figures(values[PRODUCT][chosen])
            print(f"  {kind[:23]:24}{_means(cells)}   of {chosen.sum()}")


def _means(cells: dict[str, list[float]]) -> str:
    return "".join(f"{cell[0]:10.1f}" for cell in cells.values())


def main() -> None:
    parser = parser_of(__doc__)
    parser.add_argument("data", type=Path)
    parser.add_argument("--sets", default="", help="names separated by commas; all where missing")
    parser.add_argument("--groups", type=int, default=0, help="only the first groups of each set")
    parser.add_argument("--links", choices=("none", "given", "made"), default="none",
                        help="those of links.jsonl, or those amem makes")  # fmt: skip
    parser.add_argument("--encoder", default="", help="name or folder; the usual one if missing")
    parser.add_argument("--vectors", type=Path, help="file that keeps the vectors (.npz)")
    parser.add_argument("--guard", action="store_true", help="is as much found as before?")
    parser.add_argument("--update", action="store_true", help="from now on hold against this")
    options = parser.parse_args()
    if options.guard:
        raise SystemExit(not guarded(options.data, options.vectors, update=options.update))
    encoder = usual_encoder(options.vectors, options.encoder)
    together: list[dict[str, Any]] = []
    for name, groups in data_sets(options.data, by_commas(options.sets)):
        groups = groups[: options.groups or None]
        values, categories, members, seconds = run_set(groups, encoder, options.links)
        report(name, values, [categories, members])
        print(f"  median {1000 * np.median(seconds):.2f} ms a hybrid search, encoding apart")
        together.append(values)
    if len(together) > 1:
        designs = together[0]
        stacked = {name: np.vstack([each[name] for each in together]) for name in designs}
        report("all questions", stacked, [])


if __name__ == "__main__":
    main()
