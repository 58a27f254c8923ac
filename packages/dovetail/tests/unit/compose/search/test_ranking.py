"""BM25F: weights, rarity, and the words that stand in for others."""

from __future__ import annotations

from collections.abc import Iterable

from dovetail.compose.search.ranking import Field, Ranking

FIELDS = {"name": Field(3.0, 0.5), "text": Field(1.0, 0.5)}


def ranking_of(*documents: tuple[str, str]) -> Ranking:
    return Ranking(
        [{"name": name.split(), "text": text.split()} for name, text in documents], FIELDS
    )


def find(ranking: Ranking, terms: Iterable[str]) -> list[int]:
    return ranking.find(dict.fromkeys(terms, 1.0))


def test_a_field_with_more_weight_counts_more() -> None:
    ranking = ranking_of(("other", "invoice"), ("invoice", "other"), ("third", "thing"))
    assert find(ranking, ["invoic", "invoice"]) == [1, 0]


def test_a_rare_term_counts_more_than_a_common_one() -> None:
    ranking = ranking_of(("file a", ""), ("file b", ""), ("file c", ""), ("zebra d", ""))
    assert find(ranking, ["file", "zebra"])[0] == 3


def test_synonyms_and_beginnings_are_found_after_the_word_itself() -> None:
    ranking = ranking_of(("delet x", ""), ("remov x", ""), ("removable x", ""))
    assert find(ranking, ["remov"])[0] == 1
    assert set(find(ranking, ["remov"])) == {0, 1, 2}


def test_an_unknown_word_finds_one_that_is_spelled_nearly_the_same() -> None:
    ranking = ranking_of(("calendar", ""), ("category", ""))
    assert find(ranking, ["calender"]) == [0]
    assert find(ranking, ["xyz"]) == []


def test_equal_documents_keep_their_order() -> None:
    assert find(ranking_of(("a b", ""), ("a b", "")), ["a"]) == [0, 1]


def test_nothing_is_found_among_nothing() -> None:
    assert find(Ranking((), FIELDS), ["file"]) == []


def test_a_long_question_is_cut() -> None:
    ranking = ranking_of(("last", ""))
    assert find(ranking, [f"word{number}" for number in range(10_000)] + ["last"]) == []
