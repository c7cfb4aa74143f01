"""What does the memory process do with a conversation, and what does it cost?

    python benchmarks/conversation.py NOTES.jsonl QUERIES.jsonl --group conv-26 --backend none
    python benchmarks/conversation.py NOTES.jsonl QUERIES.jsonl --group conv-26 --backend llama.cpp

Imports one group of notes (`id, group, seq, speaker, date, text`) into a new vault, runs the
process over it, asks the group's questions, and prints calls, tokens and seconds a note, how the
answers of the model fared, and the recall of the evidence with links and without.
"""

from __future__ import annotations

import argparse
import tempfile
import time
from collections import Counter
from pathlib import Path
from typing import Any

from memory_gold import rows

from amem_cli.editing.add import NewNote, add
from amem_cli.graph.stats import stats
from amem_cli.index.sync import embed_missing, synchronise
from amem_cli.language.dates import parse_moment
from amem_cli.memory.batch import EvolveBatch
from amem_cli.search.search import search
from amem_cli.vault.template import adopt_vault
from amem_cli.workspace.workspace import Workspace


def of_group(path: Path, group: str) -> list[dict[str, Any]]:
    return [row for row in rows(path) if row["group"] == group]


def moment(row: dict[str, Any]) -> Any:
    try:
        return parse_moment(str(row["date"]))
    except ValueError:
        return None


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("notes", type=Path)
    parser.add_argument("queries", type=Path)
    parser.add_argument("--group", required=True)
    parser.add_argument("--backend", default="none")
    parser.add_argument("--model", default="")
    parser.add_argument("--limit", type=int, default=0, help="only the first notes")
    options = parser.parse_args()
    with tempfile.TemporaryDirectory() as folder:
        root = Path(folder)
        adopt_vault(root)
        overrides = {"llm_backend": options.backend, "llm_model": options.model}
        workspace = Workspace(root, overrides=overrides)
        run(workspace, options)
        workspace.close()


def run(workspace: Workspace, options: argparse.Namespace) -> None:
    ports = workspace.ports
    synchronise(ports)
    paths: dict[str, str] = {}
    started = time.perf_counter()
    turns = of_group(options.notes, options.group)
    for row in turns[: options.limit or None]:
        text = f"{row['speaker']}: {row['text']}"
        new = NewNote(text, title=f"{row['id']} {row['speaker']}", created=moment(row))
        paths[add(ports, new)] = row["id"]
    added = time.perf_counter() - started
    embed_missing(ports, workspace.encoder)
    started = time.perf_counter()
    outcomes = EvolveBatch(workspace.process, list(paths), asked=True).all_outcomes()
    seconds = time.perf_counter() - started
    figures = stats(workspace.index)
    count = len(paths)
    print(f"{options.group}: {count} notes, backend {options.backend}")
    print(f"  added          {added / count * 1000:8.1f} ms a note")
    print(f"  process        {seconds / count * 1000:8.1f} ms a note, all told")
    print(f"  model          {figures.calls_per_note:8.2f} calls,")
    print(f"                 {figures.tokens_per_note:8.0f} tokens,")
    print(f"                 {figures.seconds_per_note:8.2f} s a note")
    print(f"  links          {sum(len(each.links) for each in outcomes):8d} made")
    print(f"  evolved        {sum(len(each.evolved) for each in outcomes):8d} notes")
    print(f"  pending        {sum(each.pending for each in outcomes):8d}")
    replaced = Counter(problem.split(":")[0] for each in outcomes for problem in each.problems)
    print(f"  replaced by the analyzer: {dict(replaced)}")
    ask(workspace, paths, of_group(options.queries, options.group))


def ask(workspace: Workspace, paths: dict[str, str], queries: list[dict[str, Any]]) -> None:
    known = set(paths.values())
    queries = [query for query in queries if set(query["gold"]) <= known]
    if not queries:
        return
    totals: Counter[str] = Counter()
    times = []
    for query in queries:
        gold = set(query["gold"])
        started = time.perf_counter()
        hits = search(workspace.index, query["query"], encoder=workspace.encoder, limit=10)
        times.append(time.perf_counter() - started)
        direct = {paths[hit.note.path] for hit in hits if hit.via is None}
        every = {paths[hit.note.path] for hit in hits}
        totals["direct"] += len(gold & direct) / len(gold)
        totals["neighbours"] += len(gold & every) / len(gold)
    times.sort()
    print(f"  {len(queries)} questions: recall@10 {totals['direct'] / len(queries):.3f},")
    print(f"                 with the linked notes {totals['neighbours'] / len(queries):.3f};")
    print(f"                 median {times[len(times) // 2] * 1000:.1f} ms a search")


if __name__ == "__main__":
    main()
