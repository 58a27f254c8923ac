"""What is known of an author's function."""

from __future__ import annotations

from dataclasses import FrozenInstanceError

import pytest

from dovetail.core.call import Handler, Style


def test_a_handler_uses_the_limits_of_the_server_unless_it_has_its_own() -> None:
    handler = Handler(len, Style.INLINE, "tool 'len'")
    assert (handler.timeout, handler.idle_timeout) == (None, None)
    assert Handler(len, Style.THREAD, "tool 'len'", timeout=3).timeout == 3


def test_a_handler_cannot_be_changed() -> None:
    handler = Handler(len, Style.INLINE, "tool 'len'")
    with pytest.raises(FrozenInstanceError):
        handler.label = "other"  # type: ignore[misc]


def test_there_are_three_places_to_run_in() -> None:
    assert set(Style) == {Style.ASYNC, Style.THREAD, Style.INLINE}
