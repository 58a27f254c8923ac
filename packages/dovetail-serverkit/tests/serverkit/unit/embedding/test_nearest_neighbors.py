from __future__ import annotations

from dovetail_serverkit.embedding.embedder import Vectors
from dovetail_serverkit.embedding.nearest_neighbors import NearestNeighbors
from dovetail_serverkit.embedding.numeric import np


def some(count: int) -> Vectors:
    made = np.random.default_rng(3).normal(size=(count, 384)).astype(np.float32)
    normal: Vectors = made / np.linalg.norm(made, axis=1, keepdims=True)
    return normal


def test_all_vectors_are_yielded_by_descending_similarity() -> None:
    vectors = some(5_000)
    index = NearestNeighbors(384)
    # In parts, so that the arrays have to grow.
    for start in range(0, 5_000, 1_700):
        part = vectors[start : start + 1_700]
        index.add(range(start + 10, start + 10 + len(part)), part)
    batches = list(index.ranked(vectors[42]))
    assert len(batches) > 2 and len(batches[0]) < len(batches[1])
    ranked = [pair for batch in batches for pair in batch]
    assert sorted(key for key, _ in ranked) == list(range(10, 5_010))
    assert ranked[0][0] == 52
    found = [similarity for _, similarity in ranked]
    assert found == sorted(found, reverse=True)
    exact = vectors @ vectors[42]
    assert max(abs(similarity - exact[key - 10]) for key, similarity in ranked) < 0.005


def test_dropped_vectors_are_not_found_and_their_slots_are_reused() -> None:
    vectors = some(300)
    index = NearestNeighbors(384)
    index.add(range(300), vectors)
    index.drop([7, 299, 1_000])
    assert len(index) == 298
    index.add([500], vectors[7:8])
    [first, *_] = next(index.ranked(vectors[7]))
    assert first[0] == 500
    keys = {key for batch in index.ranked(vectors[0]) for key, _ in batch}
    assert keys == {*range(300), 500} - {7, 299}


def test_an_empty_index_yields_nothing() -> None:
    index = NearestNeighbors(384)
    assert list(index.ranked(some(1)[0])) == []
    index.drop([1])
    index.add([], some(0))
    assert len(index) == 0
