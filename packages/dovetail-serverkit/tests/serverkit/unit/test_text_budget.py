from __future__ import annotations

from dovetail_serverkit.text_budget import Budget


def test_a_tenth_is_reserved_and_never_more_than_two_thousand() -> None:
    # The quotes and the comma after the value count too.
    assert Budget(1_000).take("x" * 897) and not Budget(1_000).take("x" * 898)
    assert Budget(80_000).take("x" * 77_997) and not Budget(80_000).take("x" * 77_998)


def test_a_value_that_does_not_fit_is_not_subtracted() -> None:
    budget = Budget(100)
    assert budget.take("x" * 50)
    assert not budget.take("x" * 50)
    assert budget.take("x" * 30)


def test_characters_are_counted_not_bytes() -> None:
    assert Budget(100).take("ä" * 80)
