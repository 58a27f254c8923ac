from __future__ import annotations

from dovetail_serverkit.budget import Budget


def test_a_tenth_is_kept_and_never_more_than_two_thousand() -> None:
    # Quotes and the comma behind it count as well.
    assert Budget(1_000).take("x" * 897) and not Budget(1_000).take("x" * 898)
    assert Budget(80_000).take("x" * 77_997) and not Budget(80_000).take("x" * 77_998)


def test_what_does_not_fit_costs_nothing() -> None:
    budget = Budget(100)
    assert budget.take("x" * 50)
    assert not budget.take("x" * 50)
    assert budget.take("x" * 30)


def test_characters_are_counted_not_bytes() -> None:
    assert Budget(100).take("ä" * 80)
