"""How much of the evidence does a search find, beside the simple ways of searching?

    python benchmarks/retrieval.py DATA_FOLDER
    python benchmarks/retrieval.py DATA_FOLDER --sets locomo,gold --json figures.json
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

import argparse
import json
import os
import tempfile
import time
from collections.abc import Callable, Sequence
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
import retrieval_guard
from remembered_vectors import RememberingEncoder
from retrieval_data import Group, data_sets

from amem_cli.editing.add import add
from amem_cli.index.sync import embed_missing, synchronise
from amem_cli.memory.batch import EvolveBatch
from amem_cli.search.scoring import fused
from amem_cli.search.search import search
from amem_cli.vault.template import adopt_vault
from amem_cli.workspace.workspace import Workspace

if TYPE_CHECKING:
    from amem_cli.models.ports import Encoder, Vectors

DEPTHS = (1, 3, 5, 10, 20)
METRICS = (*(f"recall@{depth}" for depth in DEPTHS), "ndcg@10", "mrr")
SHOWN = 20
ALL = 10_000
SAMPLES = 2000
BASELINE = "convex fusion"
PRODUCT = "amem hybrid"


class Searches:
    """One group in a vault of its own, and every way to search it."""

    def __init__(self, root: Path, group: Group, encoder: Encoder, links: str) -> None:
        adopt_vault(root)
        overrides = {"llm_backend": "none", "llm_judge": "off", "git_commit": "off"}
        self.workspace = Workspace(root, overrides=overrides)
        self.workspace.models.encoder = encoder
        self.encoder = encoder
        ports = self.workspace.ports
        synchronise(ports)
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
            EvolveBatch(
                self.workspace.process, list(self.path_of.values()), asked=True
            ).all_outcomes()
            embed_missing(ports, encoder)
        self.bare = encoder.encode([turn.bare for turn in group.turns])
        self.said = encoder.encode([turn.new.content for turn in group.turns])
        self.seconds: list[float] = []
        self.known: tuple[str, dict[str, float], dict[str, float]] | None = None

    def designs(self) -> dict[str, Callable[[str], list[str]]]:
        return {
            "A-MEM, content only": lambda query: self.dense(query, self.bare),
            "A-MEM, speaker + content": lambda query: self.dense(query, self.said),
            "BM25": lambda query: list(self.words(query))[:SHOWN],
            "RRF, k=60": self.reciprocal,
            BASELINE: lambda query: list(fused(self.cosines(query), self.words(query)))[:SHOWN],
            "amem keyword": lambda query: self.product(query, "keyword"),
            "amem semantic": lambda query: self.product(query, "semantic"),
            PRODUCT: lambda query: self.product(query, "hybrid"),
        }

    def dense(self, query: str, vectors: Vectors) -> list[str]:
        cosines = vectors @ self.encoder.encode([query], query=True)[0]
        paths = list(self.path_of.values())
        return [paths[i] for i in np.argsort(-cosines, kind="stable")[:SHOWN]]

    def cosines(self, query: str) -> dict[str, float]:
        return self.legs(query)[0]

    def words(self, query: str) -> dict[str, float]:
        return self.legs(query)[1]

    def legs(self, query: str) -> tuple[dict[str, float], dict[str, float]]:
        """Cosine and BM25 of every note; the last query's are kept for the next baseline."""
        if self.known is None or self.known[0] != query:
            index, paths = self.workspace.index, list(self.path_of.values())
            vector = self.encoder.encode([query], query=True)[0]
            near = index.vectors.scores(vector, ALL, paths)
            self.known = (
                query,
                near,
                index.text.keyword_scores(index.text.search_terms(query), ALL),
            )
        return self.known[1:]

    def reciprocal(self, query: str) -> list[str]:
        scores: dict[str, float] = {}
        for leg in (self.cosines(query), self.words(query)):
            for rank, path in enumerate(leg, 1):
                scores[path] = scores.get(path, 0.0) + 1 / (60 + rank)
        return sorted(scores, key=lambda path: (-scores[path], path))[:SHOWN]

    def product(self, query: str, mode: Any) -> list[str]:
        self.encoder.encode([query], query=True)
        started = time.perf_counter()
        hits = search(
            self.workspace.index,
            query,
            encoder=self.encoder,
            mode=mode,
            limit=SHOWN,
            neighbors=False,
        )
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
    count = len(values)
    random = np.random.default_rng(0)
    # How often each question is drawn in each sample: the means are one matrix product.
    drawn = random.multinomial(count, np.full(count, 1 / count), size=SAMPLES)
    low, high = np.percentile(drawn @ values / count, (2.5, 97.5), axis=0)
    cells = 100 * np.stack((values.mean(axis=0), low, high), axis=1)
    return {
        name: [round(float(x), 2) for x in row] for name, row in zip(METRICS, cells, strict=True)
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
                wanted = [searches.path_of.get(each, each) for each in asked.gold]
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
    encoders: dict[bool, RememberingEncoder] = {}

    def opened(is_multilingual: bool) -> RememberingEncoder:
        if is_multilingual not in encoders:
            overrides = {"encoder_model": "multilingual"} if is_multilingual else {}
            with tempfile.TemporaryDirectory() as root:
                encoder = Workspace(Path(root), overrides=overrides).encoder
                encoders[is_multilingual] = RememberingEncoder(encoder, vectors)
        return encoders[is_multilingual]

    def values_of(group: Group, is_multilingual: bool) -> Any:
        columns = [METRICS.index(name) for name in retrieval_guard.METRICS]
        with tempfile.TemporaryDirectory() as root:
            searches = Searches(Path(root), group, opened(is_multilingual), "none")
            rows = [
                scores(
                    searches.product(asked.query, "hybrid"),
                    [searches.path_of.get(each, each) for each in asked.gold],
                )
                for asked in group.questions
            ]
            searches.workspace.close()
        return np.array(rows)[:, columns]

    return retrieval_guard.guard(folder, values_of, update)


def report(title: str, values: dict[str, Any], slices: dict[str, list[str]]) -> dict[str, Any]:
    """Print a set's figures and give them as a document."""
    document: dict[str, Any] = {"questions": len(values[PRODUCT])}
    print(f"\n{title}: {document['questions']} questions")
    print(f"{'':26}" + "".join(f"{name:>10}" for name in METRICS) + "   recall@10 within")
    document["designs"] = {}
    for name, each in values.items():
        cells = document["designs"][name] = figures(each)
        low, high = cells["recall@10"][1:]
        means = "".join(f"{cell[0]:10.1f}" for cell in cells.values())
        print(f"{name:26}{means}   {low:.1f} to {high:.1f}")
    document["gain"] = figures(values[PRODUCT] - values[BASELINE])
    shown = "  ".join(
        f"{metric} {mean:+.1f} ({low:+.1f} to {high:+.1f})"
        for metric, (mean, low, high) in document["gain"].items()
        if metric in ("recall@10", "ndcg@10", "mrr")
    )
    print(f"{PRODUCT} less {BASELINE}, paired: {shown}")
    for label, kinds in slices.items():
        document[label] = {}
        for kind in dict.fromkeys(kinds):
            chosen = np.array([each == kind for each in kinds])
            part = {name: figures(each[chosen]) for name, each in values.items()}
            document[label][kind] = {"questions": int(chosen.sum()), "designs": part}
            if len(set(kinds)) > 1:
                means = "".join(f"{cell[0]:10.1f}" for cell in part[PRODUCT].values())
                print(f"  {kind[:23]:24}{means}   of {chosen.sum()}")
    return document


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.split("\n\n")[0])
    parser.add_argument("data", type=Path)
    parser.add_argument("--sets", default="", help="names separated by commas; all where missing")
    parser.add_argument("--groups", type=int, default=0, help="only the first groups of each set")
    parser.add_argument("--links", choices=("none", "given", "made"), default="none",
                        help="those of links.jsonl, or those amem makes")  # fmt: skip
    parser.add_argument("--encoder", default="", help="name or folder; the usual one if missing")
    parser.add_argument("--vectors", type=Path, help="file that keeps the vectors (.npz)")
    parser.add_argument("--json", type=Path, help="file for all figures")
    parser.add_argument("--guard", action="store_true", help="is as much found as before?")
    parser.add_argument("--update", action="store_true", help="from now on hold against this")
    options = parser.parse_args()
    if options.guard:
        raise SystemExit(not guarded(options.data, options.vectors, update=options.update))
    if options.encoder:
        os.environ["AMEM_ENCODER_MODEL"] = options.encoder
    with tempfile.TemporaryDirectory() as folder:
        encoder = RememberingEncoder(Workspace(Path(folder)).encoder, options.vectors)
    documents: dict[str, Any] = {}
    together: dict[str, list[Any]] = {}
    for name, groups in data_sets(options.data, [each for each in options.sets.split(",") if each]):
        groups = groups[: options.groups or None]
        values, categories, members, seconds = run_set(groups, encoder, options.links)
        slices = {"category": categories, "group": members}
        documents[name] = report(name, values, slices)
        documents[name]["median_ms"] = round(1000 * float(np.median(seconds)), 2)
        print(f"  median {documents[name]['median_ms']} ms a hybrid search, encoding apart")
        for design, each in values.items():
            together.setdefault(design, []).append(each)
    if len(documents) > 1:
        stacked = {name: np.vstack(each) for name, each in together.items()}
        documents["all"] = report("all questions", stacked, {})
    if options.json:
        text = json.dumps({"links": options.links, "sets": documents}, indent=1)
        options.json.write_text(text + "\n", encoding="utf-8")


if __name__ == "__main__":
    main()
