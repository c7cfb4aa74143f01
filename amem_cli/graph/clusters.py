"""Groups of closely linked notes, each named by what sets it apart from the rest of the vault."""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Collection, Iterable, Mapping, Sequence
from typing import TYPE_CHECKING, NamedTuple

from amem_cli.language.words import is_stopword, words

if TYPE_CHECKING:
    from amem_cli.graph.graph import Graph
    from amem_cli.index.records import NoteSummary

# A tag names a cluster that half of its notes carry, and this many times as often as the others.
_SHARE_OF_A_TAG = 0.5
_LIFT_OF_A_TAG = 2.0
# A note names a cluster where this share of the others is linked with it.
_SHARE_OF_A_CENTRE = 0.4
_LEAST_SHARE_OF_A_TERM = 0.15
_LIFT_OF_A_TERM = 3.0
_TERMS_IN_A_NAME = 3
# Titles that say of a note what it is for, not what it is about.
_NAMELESS = frozenset({"index", "readme", "home", "untitled", "moc", "inbox", "note", "notes"})


class Cluster(NamedTuple):
    """Notes that belong together.

    Attributes:
        name: a tag with `#`, the title of a note, or a few words; no two clusters share one.
        paths: the most linked within the cluster first.
    """

    name: str
    paths: list[str]


def clusters(graph: Graph) -> list[Cluster]:
    """Groups of closely linked notes, largest first; notes without company are in none.

    Louvain communities (Blondel et al. 2008) with a fixed seed, so that the answer is the same for
    the same vault.
    """
    import networkx

    network = networkx.Graph()
    network.add_nodes_from(sorted(graph.nodes))
    network.add_edges_from(sorted((edge.source, edge.target) for edge in graph.edges))
    groups = networkx.community.louvain_communities(network, seed=0)
    return named(graph, [group for group in groups if len(group) > 1])


def named(graph: Graph, groups: Iterable[Collection[str]]) -> list[Cluster]:
    """Groups of notes as clusters with a name each, largest first."""
    inner = _inner_degrees(graph, groups)
    inner.sort(key=lambda degrees: (-len(degrees), min(degrees)))
    everywhere = _Terms(graph.nodes.values())
    found: list[Cluster] = []
    taken: set[str] = set()
    for degrees in inner:
        paths = sorted(degrees, key=lambda path: (-degrees[path], path))
        name = next(
            name
            for name in _names(graph, paths, degrees, everywhere)
            if name.casefold() not in taken
        )
        taken.add(name.casefold())
        found.append(Cluster(name, paths))
    return found


def cluster_of(found: Sequence[Cluster]) -> dict[str, int]:
    """The number of each note's cluster by the note's path."""
    return {path: number for number, cluster in enumerate(found) for path in cluster.paths}


def _inner_degrees(graph: Graph, groups: Iterable[Collection[str]]) -> list[dict[str, int]]:
    """With how many others of its group each note is linked."""
    near = graph.neighbours()
    return [
        {path: sum(other in members for other in near[path]) for path in members}
        for members in map(set, groups)
    ]


class _Terms:
    """In how many notes tags and words occur.

    Attributes:
        shown: how a term is written.
    """

    def __init__(self, notes: Iterable[NoteSummary]) -> None:
        self.tags: Counter[str] = Counter()
        self.words: Counter[str] = Counter()
        self.shown: dict[str, str] = {}
        self.count = 0
        for note in notes:
            self.count += 1
            self.tags.update(self._tags(note))
            self.words.update(self._words(note))

    def _tags(self, note: NoteSummary) -> set[str]:
        """Folded tags with the general ones that they belong to."""
        found = set()
        for tag in note.tags:
            parts = tag.split("/")
            for length in range(1, len(parts) + 1):
                shown = "/".join(parts[:length])
                found.add(self._known(shown))
        return found

    def _words(self, note: NoteSummary) -> set[str]:
        """Folded keywords, and the words of the title that are about something."""
        about = {
            self._known(word)
            for word in words(note.title)
            if len(word) > 2 and not word[0].isdigit() and not is_stopword(word)
        }
        return about | {self._known(keyword) for keyword in note.keywords if len(keyword) > 2}

    def _known(self, text: str) -> str:
        key = text.casefold()
        self.shown.setdefault(key, text)
        return key


def _names(
    graph: Graph, paths: Sequence[str], degrees: Mapping[str, int], everywhere: _Terms
) -> Iterable[str]:
    """Names for a cluster, the best first; the last is one that no other cluster has."""
    here = _Terms(graph.nodes[path] for path in paths)
    size = len(paths)
    tags = _telling(here.tags, everywhere.tags, size, everywhere.count, _LIFT_OF_A_TAG)
    for tag in tags:
        if here.tags[tag] >= _SHARE_OF_A_TAG * size:
            yield f"#{here.shown[tag]}"
    titles = [graph.nodes[path].title for path in paths]
    first, second = (*(degrees[path] for path in paths[:2]), 0)[:2]
    if _is_subject(titles[0]) and first > second and first >= _SHARE_OF_A_CENTRE * (size - 1):
        yield titles[0]
    said = _telling(here.words, everywhere.words, size, everywhere.count, _LIFT_OF_A_TERM)
    terms = _distinct([here.shown[word] for word in said])
    if len(terms) > 1:
        yield ", ".join(terms)
    for tag in tags:
        yield f"#{here.shown[tag]}"
    yield from filter(_is_subject, titles)
    yield from paths


def _is_subject(title: str) -> bool:
    """Not a date, and no name that many vaults have."""
    return not title[:1].isdigit() and not _NAMELESS.issuperset(words(title))


def _telling(
    here: Mapping[str, int], everywhere: Mapping[str, int], size: int, total: int, least: float
) -> list[str]:
    """Terms that set a cluster apart, the most telling first.

    What a term adds to the divergence (Kullback and Leibler 1951) of the cluster from the rest.
    """
    worth: dict[str, float] = {}
    for term, count in here.items():
        share = count / size
        elsewhere = (everywhere[term] - count + 0.5) / (total - size + 1)
        if count > 1 and share >= _LEAST_SHARE_OF_A_TERM and share >= least * elsewhere:
            worth[term] = share * math.log(share / elsewhere)
    return sorted(worth, key=lambda term: (-worth[term], term))


def _distinct(terms: Iterable[str]) -> list[str]:
    """The first few that do not repeat one another's words."""
    chosen: list[str] = []
    said: set[str] = set()
    for term in terms:
        own = set(words(term))
        if own and not own & said:
            chosen.append(term)
            said |= own
        if len(chosen) == _TERMS_IN_A_NAME:
            break
    return chosen
