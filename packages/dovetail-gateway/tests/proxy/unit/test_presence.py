"""The log says once that an upstream is unavailable, and once that it is back."""

from __future__ import annotations

import pytest

from dovetail_gateway.upstream import Presence


def test_each_change_is_logged_once(caplog: pytest.LogCaptureFixture) -> None:
    presence = Presence("shop")
    presence.found()
    assert not caplog.messages
    presence.lost(ConnectionError("refused"))
    presence.lost(TimeoutError())
    assert presence.is_unavailable
    assert presence.reason == "TimeoutError"
    presence.found()
    presence.found()
    assert not presence.is_unavailable
    assert caplog.messages == [
        "the upstream server 'shop' is unavailable: refused",
        "the upstream server 'shop' is back",
    ]


def test_changes_are_reported() -> None:
    presence = Presence("shop")
    seen: list[bool] = []
    presence.on_change.append(lambda: seen.append(presence.is_unavailable))
    for _ in range(2):
        presence.lost(ConnectionError())
        presence.lost(ConnectionError())
        presence.found()
    assert seen == [True, False] * 2
