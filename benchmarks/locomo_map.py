"""Do memories of one subject lie together? A picture of their embeddings, and a figure.

    python benchmarks/locomo_map.py locomo10.json --conversations conv-26 --picture map.png \\
        --model qwen3:4b --base-url http://127.0.0.1:11434/v1 --results runs/qwen3
    python benchmarks/locomo_map.py DATA_FOLDER --backend perfect --conversations engineer

As in A-MEM's figure of memory embeddings, t-SNE places the same turns as amem remembers them and
as the base memory does, in which no newer note changes an older one (links are in no embedding);
beside them the bare turns, which `plain-rag` searches. The figure is measured before t-SNE: of the
pairs of turns that one question needs together, those that are among each other's ten nearest. With
the `--results` of `locomo.py` the memories are taken from there.
"""

from __future__ import annotations

import argparse
import os
from collections.abc import Mapping, Sequence
from itertools import combinations
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
from locomo import Run, arguments, results_folder, selected, settings_of
from locomo_data import Conversation, Question
from locomo_gold import conversations
from locomo_memory import FULL, NO_EVOLUTION, RAW
from locomo_results import Results

if TYPE_CHECKING:
    from amem_cli.models.ports import Encoder, Vectors

NEAREST = 10
COLOURS = {"amem": "tab:blue", "base": "tab:red", "bare turns": "tab:gray"}
MEMORIES = {"amem": FULL, "base": NO_EVOLUTION, "bare turns": RAW}
_PERPLEXITY = 30.0


def main(given: Sequence[str] | None = None, encoder: Encoder | None = None) -> None:
    """Print the figures, and write the picture if one is named.

    Args:
        given: the command line, with `--picture FILE` and the options of `locomo.py`.
        encoder: in place of that of the settings.
    """
    parser = argparse.ArgumentParser(description=__doc__.split("\n\n")[0], add_help=False)
    parser.add_argument("--picture", type=Path, help="PNG file for the t-SNE of all embeddings")
    own, rest = parser.parse_known_args(given)
    options = arguments(rest)
    embeddings: dict[str, dict[str, Vectors]] = {}
    with results_folder(options.results) as folder:
        run = Run(options, Results(folder, settings_of(options)), encoder)
        for conversation in selected(conversations(options.data), options.conversations):
            made = {name: _embedded(run, conversation, kind) for name, kind in MEMORIES.items()}
            embeddings[conversation.name] = made
            for name, vectors in made.items():
                near, pairs = together(conversation, vectors)
                told = f"{near} of {pairs} pairs among each other's {NEAREST} nearest"
                print(f"{conversation.name:<14} {name:<11} {len(vectors)} turns, {told}")
        run.close()
    if own.picture:
        draw(embeddings, own.picture)


def _embedded(run: Any, conversation: Conversation, memory: str) -> Vectors:
    """The embedding of each turn, in their order; of a long note the mean of its passages'."""
    if memory == RAW:
        bare: Vectors = run.encoder.encode([turn.text for turn in conversation.turns])
        return bare
    vault = run.memory(conversation, memory)
    vault.workspace.embed_missing()
    found = vault.workspace.index.vectors.of_all_notes()
    vault.close()
    return np.stack([found[vault.path_of[turn.id]] for turn in conversation.turns])


def together(conversation: Conversation, vectors: Vectors) -> tuple[int, int]:
    """How many pairs of turns that a question needs together are near, and how many there are."""
    place = {turn.id: at for at, turn in enumerate(conversation.turns)}
    pairs = {pair for question in conversation.questions for pair in _pairs(question, place)}
    unit = vectors / np.maximum(np.linalg.norm(vectors, axis=1, keepdims=True), 1e-9)
    cosines = unit @ unit.T
    np.fill_diagonal(cosines, -2.0)
    nearest = np.argsort(-cosines, axis=1, kind="stable")[:, :NEAREST]
    near = sum(two in nearest[one] and one in nearest[two] for one, two in pairs)
    return near, len(pairs)


def _pairs(question: Question, place: Mapping[str, int]) -> set[tuple[int, int]]:
    known = sorted(place[each] for each in set(question.evidence) if each in place)
    return set(combinations(known, 2)) if question.is_answerable else set()


def draw(embeddings: Mapping[str, Mapping[str, Vectors]], file: Path) -> None:
    """A panel for each conversation, with one t-SNE of all its embeddings."""
    from matplotlib.figure import Figure
    from sklearn.manifold import TSNE

    figure = Figure(figsize=(6 * len(embeddings), 6), layout="constrained")
    panels = figure.subplots(1, len(embeddings), squeeze=False)[0]
    for panel, (name, made) in zip(panels, embeddings.items(), strict=True):
        whole = np.concatenate(list(made.values()))
        perplexity = min(_PERPLEXITY, (len(whole) - 1) / 3)
        plane = TSNE(2, perplexity=perplexity, init="pca", random_state=0).fit_transform(whole)
        begin = 0
        for kind, vectors in made.items():
            part = plane[begin : begin + len(vectors)]
            begin += len(vectors)
            panel.scatter(*part.T, s=8, alpha=0.6, color=COLOURS[kind], label=kind)
        panel.set_title(name)
        panel.set_axis_off()
    panels[0].legend()
    figure.savefig(file, dpi=150)


if __name__ == "__main__":
    os.environ.setdefault("TOKENIZERS_PARALLELISM", "false")
    main()
