"""Search by vectors finds what comparing with every vector finds, also in a large index."""

from __future__ import annotations

import shutil
from collections.abc import Iterator, Sequence
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from numpy.typing import NDArray

from amem_cli.index.bit_codes import sign_codes, sign_differences
from amem_cli.index.memory_index import MemoryIndex
from amem_cli.index.records import KnownFile, NoteRecord
from amem_cli.notes.note import Note
from tests.index_dump import canonical_dump

COUNT = 5000
DIMENSION = 384
Floats = NDArray[np.float32]


def text_like(count: int, seed: int, dimension: int = DIMENSION) -> Floats:
    """Unit vectors as models give them for texts.

    They lie in clusters of many sizes, all in one corner of the space, and vary in few directions
    much and in most of them little.
    """
    fixed = np.random.default_rng(1)
    corner = fixed.normal(size=dimension) / np.sqrt(dimension)
    directions = np.linalg.qr(fixed.normal(size=(dimension, dimension)))[0]
    directions *= (np.arange(dimension)[:, np.newaxis] + 1) ** -0.5
    topics = fixed.normal(size=(300, dimension)) @ directions
    random = np.random.default_rng(seed)
    chosen = topics[np.minimum(random.geometric(0.01, count), 300) - 1]
    return unit(4 * corner + chosen + random.normal(size=(count, dimension)) @ directions)


def unit(vectors: NDArray[np.floating]) -> Floats:
    lengths = np.linalg.norm(vectors, axis=-1, keepdims=True)
    scaled: Floats = (vectors / lengths).astype(np.float32)
    return scaled


def path_of(number: int) -> str:
    return f"{number:05}.md"


def a_record(path: str, passages: Sequence[str] = ("text",)) -> NoteRecord:
    note = Note(path=path, id=None, title=path, body="text")
    file = KnownFile(4, 1, 1, 1, 10, f"sha-{path}-{passages}", None)
    return NoteRecord(note, file, f"hash-{path}", "2026-01-01T00:00:00+00:00", (), tuple(passages))


def test_tokens_of_a_question_are_held_against_the_nearest_passages(tmp_path: Path) -> None:
    index = MemoryIndex(tmp_path / "index.db")
    random = np.random.default_rng(3)
    with index.changing():
        for path, passages in (("a.md", 5), ("b.md", 1), ("none.md", 1)):
            index.files.store(a_record(path, [f"{path} {number}" for number in range(passages)]))
    jobs = index.vectors.passages_to_embed()
    vectors = unit(random.normal(size=(len(jobs), DIMENSION)))
    states = [unit(random.normal(size=(7, DIMENSION))) for _ in jobs]
    index.vectors.use_encoder("test", DIMENSION)
    signs = [np.packbits(each > 0, axis=1).tobytes() for each in states[:-1]]
    index.vectors.store([job.passage for job in jobs], vectors, [*signs, b""])
    tokens = np.stack([states[0][2], states[5][6]])
    found = index.vectors.token_scores(vectors[0], tokens, ["a.md", "b.md", "none.md"])

    def score(places: Sequence[int]) -> float:
        rows = np.sign(np.concatenate([states[place] for place in places])) / DIMENSION**0.5
        return float((tokens @ rows.T).max(axis=1).mean() - 0.02 * np.log(len(rows)))

    nearest = np.argsort(-(vectors[:5] @ vectors[0]))[:3]
    assert found == pytest.approx({"a.md": score([*nearest]), "b.md": score([5])}, abs=1e-4)
    # An index may be damaged, or come from somebody else.
    index.vectors._file.rows(
        "UPDATE tokens SET signs = zeroblob(50) WHERE passage = ?", (jobs[5].passage,)
    )
    assert [*index.vectors.token_scores(vectors[0], tokens, ["a.md", "b.md"])] == ["a.md"]
    index.files.forget("b.md")
    assert "b.md" not in index.vectors.token_scores(vectors[0], tokens, ["a.md", "b.md"])
    index.close()


def fill(index: MemoryIndex, vectors: Floats, first: int = 0, model: str = "test") -> None:
    with index.changing():
        for number in range(first, first + len(vectors)):
            index.files.store(a_record(path_of(number)))
    embed(index, {path_of(first + place): vector for place, vector in enumerate(vectors)}, model)


def embed(index: MemoryIndex, vectors: dict[str, Floats], model: str = "test") -> None:
    index.vectors.use_encoder(model, len(next(iter(vectors.values()))))
    jobs = index.vectors.passages_to_embed()
    for start in range(0, len(jobs), 500):
        chunk = jobs[start : start + 500]
        stacked = np.array([vectors[job.summary.path] for job in chunk])
        index.vectors.store([job.passage for job in chunk], stacked)


def exact(vectors: Floats, query: Floats, limit: int) -> list[str]:
    return [path_of(int(place)) for place in np.argsort(-(vectors @ query), kind="stable")[:limit]]


def recall(index: MemoryIndex, vectors: Floats, queries: Floats, limit: int) -> float:
    shares = []
    for query in queries:
        wanted = set(exact(vectors, query, limit))
        shares.append(len(wanted & set(index.vectors.scores(query, limit))) / limit)
    return float(np.mean(shares))


@pytest.fixture(scope="module")
def vectors() -> Floats:
    return text_like(COUNT, seed=3)


@pytest.fixture(scope="module")
def large_file(tmp_path_factory: pytest.TempPathFactory, vectors: Floats) -> Path:
    path = tmp_path_factory.mktemp("large") / "index.db"
    index = MemoryIndex(path)
    fill(index, vectors)
    index.close()
    return path


@pytest.fixture
def large(large_file: Path, tmp_path: Path) -> Iterator[MemoryIndex]:
    shutil.copy(large_file, tmp_path / "index.db")
    index = MemoryIndex(tmp_path / "index.db")
    yield index
    index.close()


@pytest.mark.parametrize("limit", [1, 10, 100])
def test_the_nearest_of_thousands_are_found(
    large: MemoryIndex, vectors: Floats, limit: int
) -> None:
    assert recall(large, vectors, text_like(40, seed=4), limit) >= 0.99


def test_scores_are_exact_cosines_best_first(large: MemoryIndex, vectors: Floats) -> None:
    query = text_like(1, seed=5)[0]
    scores = large.vectors.scores(query * 7, 50)
    assert list(scores.values()) == sorted(scores.values(), reverse=True)
    for path, score in scores.items():
        assert score == pytest.approx(float(vectors[int(path[:5])] @ query), abs=1e-5)


def test_given_paths_are_compared_one_by_one(large: MemoryIndex, vectors: Floats) -> None:
    query = -text_like(1, seed=6)[0]
    some = list(range(0, COUNT, 7))
    found = large.vectors.scores(query, 20, [path_of(place) for place in some])
    order = np.argsort(-(vectors[some] @ query), kind="stable")[:20]
    assert list(found) == [path_of(some[int(place)]) for place in order]


def test_deleted_and_changed_notes_leave_no_ghosts(large: MemoryIndex, vectors: Floats) -> None:
    query = vectors[17]
    gone = exact(vectors, query, 1500)
    with large.changing():
        for path in gone[:-1]:
            large.files.forget(path)
        large.files.store(a_record(gone[-1], ("another text",)))
    rest = vectors.copy()
    rest[[int(path[:5]) for path in gone]] = -query
    assert recall(large, rest, text_like(40, seed=7), 10) >= 0.99
    assert set(large.vectors.scores(query, COUNT)) == set(map(path_of, range(COUNT))) - set(gone)
    embed(large, {gone[-1]: query})
    assert next(iter(large.vectors.scores(query, 10))) == gone[-1]


def test_what_was_never_committed_is_never_found(large: MemoryIndex, vectors: Floats) -> None:
    query = vectors[23]
    before = large.vectors.scores(query, 10)
    with pytest.raises(KeyboardInterrupt), large.changing():
        large.files.forget(path_of(23))
        fill(large, query[np.newaxis], first=COUNT)
        raise KeyboardInterrupt
    assert large.vectors.scores(query, 10) == before


def test_as_many_notes_as_asked_for_come_in_spite_of_long_ones(
    large: MemoryIndex, vectors: Floats
) -> None:
    query = text_like(1, seed=10)[0]
    with large.changing():
        for name in ("a.md", "b.md", "c.md", "d.md"):
            large.files.store(a_record(name, [f"passage {number}" for number in range(200)]))
    embed(large, dict.fromkeys(("a.md", "b.md", "c.md", "d.md"), query))
    found = large.vectors.scores(query, 14)
    assert list(found) == ["a.md", "b.md", "c.md", "d.md", *exact(vectors, query, 10)]


def test_an_index_that_grew_equals_one_made_at_once(
    large: MemoryIndex, vectors: Floats, tmp_path: Path
) -> None:
    added = text_like(300, seed=15)
    fill(large, added, first=COUNT)
    with large.changing():
        for number in range(100):
            large.files.forget(path_of(number))
    anew = MemoryIndex(tmp_path / "anew.db")
    fill(anew, np.concatenate([vectors, added])[100:], first=100)
    assert canonical_dump(anew) == canonical_dump(large)
    anew.close()


def test_a_vector_of_zeros_stands_in_nobodys_way(large: MemoryIndex, vectors: Floats) -> None:
    fill(large, np.zeros((5, DIMENSION), dtype=np.float32), first=COUNT)
    assert recall(large, vectors, text_like(20, seed=16), 10) >= 0.99


@given(st.integers(1, 130), st.integers(0, 2**32 - 1))
def test_bits_that_differ_are_counted(dimension: int, seed: int) -> None:
    random = np.random.default_rng(seed)
    vectors = random.normal(size=(9, dimension)).astype(np.float32)
    centre = np.zeros(dimension, dtype=np.float32)
    codes = sign_codes(vectors, centre)
    expected = [int(((vectors[0] > 0) != (other > 0)).sum()) for other in vectors]
    blocks = np.ascontiguousarray(codes.T)[np.newaxis]
    assert sign_differences(blocks, codes[0]).tolist() == [expected]
