"""Groups of closely linked notes, each named by what distinguishes it from the other notes."""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Collection, Iterable, Mapping, Sequence
from typing import TYPE_CHECKING, NamedTuple

from amem_cli.language.words import is_stopword, words

if TYPE_CHECKING:
    from amem_cli.graph.graph import Graph
    from amem_cli.index.records import NoteSummary

# A tag names a cluster if half of its notes have it, this many times as often as other notes.
_SHARE_OF_A_TAG = 0.5
_LIFT_OF_A_TAG = 2.0
# A note names a cluster if this share of the others is linked with it.
_SHARE_OF_A_CENTRE = 0.4
_LEAST_SHARE_OF_A_TERM = 0.15
_LIFT_OF_A_TERM = 3.0
_TERMS_IN_A_NAME = 3
# Titles that give a note's purpose, not its subject.
_NAMELESS = frozenset({"index", "readme", "home", "untitled", "moc", "inbox", "note", "notes"})


class Cluster(NamedTuple):
    """Notes that belong together, most linked first; no two clusters share a name."""

    name: str
    paths: list[str]


def clusters(graph: Graph) -> list[Cluster]:
    """Groups of closely linked notes, largest first; notes without links are in none.

    Louvain communities (Blondel et al. 2008) with a fixed seed: the same vault gives the same
    clusters.
    """
    import networkx

    groups = networkx.community.louvain_communities(graph.network(), seed=0)
    return named(graph, [group for group in groups if len(group) > 1])


def named(graph: Graph, groups: Iterable[Collection[str]]) -> list[Cluster]:
    """Groups of notes as clusters with a name each, largest first."""
    near = graph.neighbours()
    everywhere = _Terms(graph.nodes.values())
    named_clusters: list[Cluster] = []
    taken: set[str] = set()
    for group in sorted(map(set, groups), key=lambda group: (-len(group), min(group))):
        # Links to notes outside of the group say nothing about it.
        degrees = {path: sum(other in group for other in near[path]) for path in group}
        paths = sorted(group, key=lambda path: (-degrees[path], path))
        names = _names(graph, paths, degrees, everywhere)
        name = next(name for name in names if name.casefold() not in taken)
        taken.add(name.casefold())
        named_clusters.append(Cluster(name, paths))
    return named_clusters


def cluster_of(clusters: Sequence[Cluster]) -> dict[str, int]:
    """The number of each note's cluster by the note's path."""
    return {path: number for number, cluster in enumerate(clusters) for path in cluster.paths}


class _Terms:
    """In how many notes tags and words occur, both folded, and how each is written."""

    def __init__(self, notes: Iterable[NoteSummary]) -> None:
        self.tags: Counter[str] = Counter()
        self.words: Counter[str] = Counter()
        self.spelling: dict[str, str] = {}
        self.count = 0
        for note in notes:
            self.count += 1
            tags = [tag.split("/") for tag in note.tags]
            # A nested tag also counts for the general ones that it belongs to.
            self.tags.update(
                self._folded("/".join(tag[: at + 1]) for tag in tags for at in range(len(tag)))
            )
            title = [
                word
                for word in words(note.title)
                if len(word) > 2 and not word[0].isdigit() and not is_stopword(word)
            ]
            self.words.update(self._folded((*title, *(k for k in note.keywords if len(k) > 2))))

    def _folded(self, terms: Iterable[str]) -> set[str]:
        keys = set()
        for term in terms:
            keys.add(key := term.casefold())
            self.spelling.setdefault(key, term)
        return keys


def _names(
    graph: Graph, paths: Sequence[str], degrees: Mapping[str, int], everywhere: _Terms
) -> Iterable[str]:
    """Names for a cluster, the best first; the last is one that no other cluster has."""
    here = _Terms(graph.nodes[path] for path in paths)
    size = len(paths)
    tags = _distinctive(here.tags, everywhere.tags, size, everywhere.count, _LIFT_OF_A_TAG)
    for tag in tags:
        if here.tags[tag] >= _SHARE_OF_A_TAG * size:
            yield f"#{here.spelling[tag]}"
    titles = [graph.nodes[path].title for path in paths]
    first, second = (*(degrees[path] for path in paths[:2]), 0)[:2]
    if _is_subject(titles[0]) and first > second and first >= _SHARE_OF_A_CENTRE * (size - 1):
        yield titles[0]
    terms = _distinctive(here.words, everywhere.words, size, everywhere.count, _LIFT_OF_A_TERM)
    terms = _without_repeats([here.spelling[word] for word in terms])
    if len(terms) > 1:
        yield ", ".join(terms)
    for tag in tags:
        yield f"#{here.spelling[tag]}"
    yield from filter(_is_subject, titles)
    yield from paths


def _is_subject(title: str) -> bool:
    """Whether a title is neither a date nor a name that many vaults have."""
    return not title[:1].isdigit() and not _NAMELESS.issuperset(words(title))


def _distinctive(
    here: Mapping[str, int], everywhere: Mapping[str, int], size: int, total: int, least: float
) -> list[str]:
    """Terms that distinguish a cluster, the most distinctive first.

    By what a term adds to the divergence (Kullback and Leibler 1951) of the cluster from the rest.
    """
    worth: dict[str, float] = {}
    for term, count in here.items():
        share = count / size
        elsewhere = (everywhere[term] - count + 0.5) / (total - size + 1)
        if count > 1 and share >= _LEAST_SHARE_OF_A_TERM and share >= least * elsewhere:
            worth[term] = share * math.log(share / elsewhere)
    return sorted(worth, key=lambda term: (-worth[term], term))


def _without_repeats(terms: Iterable[str]) -> list[str]:
    """The first few that do not repeat one another's words."""
    chosen: list[str] = []
    used: set[str] = set()
    for term in terms:
        own = set(words(term))
        if own and not own & used:
            chosen.append(term)
            used |= own
    return chosen[:_TERMS_IN_A_NAME]
