from __future__ import annotations

from dovetail_design.examples import EXAMPLES
from dovetail_design.result_views import fit_budget
from dovetail_serverkit.answer_size import AnswerBudget


def test_a_budget_is_spent_and_not_overdrawn() -> None:
    budget = AnswerBudget(1_000)
    items = [{"word": "x" * 80}] * 50
    shown = fit_budget(items, budget)
    assert 0 < len(shown) < 50 and len(str(shown)) < 1_100
    assert not budget.take(items[0])


def test_examples_say_nothing_of_keys() -> None:
    assert not [name for name, example in EXAMPLES.items() if "apiKey" in str(example)]
