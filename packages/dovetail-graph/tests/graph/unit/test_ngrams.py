from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from dovetail_graph.ngrams import HashedNgrams, cosine

grams = HashedNgrams()


def alike(one: str, other: str) -> float:
    return cosine(grams.weigh(one), grams.weigh(other))


@pytest.mark.parametrize(
    ("one", "other"),
    [("deployment", "deploying"), ("authentication", "autentication"), ("Zürich", "zurich")],
)
def test_forms_of_one_word_are_similar(one: str, other: str) -> None:
    assert alike(one, other) >= grams.min_similarity


@pytest.mark.parametrize(("one", "other"), [("deployment", "banana"), ("car", "automobile")])
def test_different_words_are_not_similar(one: str, other: str) -> None:
    assert alike(one, other) < grams.min_similarity


@given(st.text(max_size=50), st.text(max_size=50))
def test_similarity_is_symmetric_and_between_0_and_1(one: str, other: str) -> None:
    assert alike(one, other) == pytest.approx(alike(other, one))
    assert 0 <= alike(one, other) <= 1
    if grams.weigh(one):
        assert alike(one, one) == pytest.approx(1)
