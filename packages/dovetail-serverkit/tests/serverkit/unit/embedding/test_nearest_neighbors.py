from __future__ import annotations

from dovetail_serverkit.embedding.embedder import Vectors
from dovetail_serverkit.embedding.nearest import Nearest
from dovetail_serverkit.embedding.numeric import np


def some(count: int) -> Vectors:
    made = np.random.default_rng(3).normal(size=(count, 384)).astype(np.float32)
    normal: Vectors = made / np.linalg.norm(made, axis=1, keepdims=True)
    return normal


def test_all_rows_come_in_the_order_of_their_likeness() -> None:
    vectors = some(5_000)
    nearest = Nearest(384)
    # In parts, so that the room has to grow.
    for start in range(0, 5_000, 1_700):
        part = vectors[start : start + 1_700]
        nearest.add(range(start + 10, start + 10 + len(part)), part)
    portions = list(nearest.ranked(vectors[42]))
    assert len(portions) > 2 and len(portions[0]) < len(portions[1])
    ranked = [pair for portion in portions for pair in portion]
    assert sorted(key for key, _ in ranked) == list(range(10, 5_010))
    assert ranked[0][0] == 52
    found = [likeness for _, likeness in ranked]
    assert found == sorted(found, reverse=True)
    exact = vectors @ vectors[42]
    assert max(abs(likeness - exact[key - 10]) for key, likeness in ranked) < 0.005


def test_what_is_dropped_is_not_found_and_its_place_is_used_again() -> None:
    vectors = some(300)
    nearest = Nearest(384)
    nearest.add(range(300), vectors)
    nearest.drop([7, 299, 1_000])
    assert len(nearest) == 298
    nearest.add([500], vectors[7:8])
    [first, *_] = next(nearest.ranked(vectors[7]))
    assert first[0] == 500
    keys = {key for portion in nearest.ranked(vectors[0]) for key, _ in portion}
    assert keys == {*range(300), 500} - {7, 299}


def test_nothing_is_nearest_to_nothing() -> None:
    nearest = Nearest(384)
    assert list(nearest.ranked(some(1)[0])) == []
    nearest.drop([1])
    nearest.add([], some(0))
    assert len(nearest) == 0
