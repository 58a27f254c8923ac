from __future__ import annotations

from dovetail_serverkit.answer_size import AnswerBudget, answer_size, json_size


def test_an_answer_has_its_data_twice_and_the_text_is_escaped() -> None:
    assert json_size({"a": "ä"}) == len('{"a":"ä"}')
    assert answer_size({"a": "ä"}) == len('{"a":"ä"}') + len(r'"{\"a\":\"ä\"}"')


def test_half_is_reserved_and_never_more_than_three_thousand() -> None:
    # The value twice, its quotes, and the escaped quotes of the text.
    assert AnswerBudget(1_000).take("x" * 246) and not AnswerBudget(1_000).take("x" * 247)
    assert AnswerBudget(83_000).take("x" * 39_996) and not AnswerBudget(83_000).take("x" * 39_997)


def test_a_value_that_does_not_fit_is_not_subtracted() -> None:
    budget = AnswerBudget(400, overhead=10)
    assert budget.take("x" * 50)
    assert not budget.take("x" * 50)
    assert budget.take("x" * 20)


def test_the_first_items_that_fit() -> None:
    items = ["x" * 100] * 10
    assert AnswerBudget(1_000).fitting(items) == items[:2]
    assert AnswerBudget(100).fitting(items) == []
    assert AnswerBudget(100).fitting(items, least=1) == items[:1]
