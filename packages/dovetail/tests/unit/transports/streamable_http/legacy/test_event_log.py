"""Stream events: replay after an id."""

from __future__ import annotations

import pytest

from dovetail.transports.streamable_http.legacy.streams import MemoryEventLog


def filled(*messages: bytes, stream: str = "7", limit: int = 100) -> MemoryEventLog:
    log = MemoryEventLog(stream, limit)
    for message in messages:
        log.append(message)
    return log


def test_an_id_has_the_stream_and_the_position() -> None:
    log = MemoryEventLog("7", 100)
    assert [log.append(b"a"), log.append(b"b")] == [b"7_0", b"7_1"]


@pytest.mark.parametrize(
    ("id", "later"),
    [
        (b"7_0", [(b"7_1", b"b"), (b"7_2", b"c")]),
        (b"7_1", [(b"7_2", b"c")]),
        (b"7_2", []),
    ],
)
def test_later_events_are_returned(id: bytes, later: list[tuple[bytes, bytes]]) -> None:
    assert filled(b"a", b"b", b"c").after(id) == later


@pytest.mark.parametrize("id", [b"", b"7", b"8_0", b"7_3", b"7_x", b"7_-1", b"_0", b"7_\xff"])
def test_ids_of_other_streams_are_unknown(id: bytes) -> None:
    assert filled(b"a", b"b", b"c").after(id) is None


def test_the_oldest_events_are_dropped_beyond_the_limit() -> None:
    log = filled(b"a" * 40, b"b" * 40, b"c" * 40)
    assert log.after(b"7_0") == [(b"7_1", b"b" * 40), (b"7_2", b"c" * 40)]
    log.append(b"d" * 90)
    # Somebody who saw only the first has missed one that is gone.
    assert log.after(b"7_0") is None
    assert log.after(b"7_2") == [(b"7_3", b"d" * 90)]


def test_the_newest_event_is_always_kept() -> None:
    assert filled(b"a", b"b" * 1000).after(b"7_0") == [(b"7_1", b"b" * 1000)]


def test_an_empty_log_has_no_ids() -> None:
    assert filled().after(b"7_0") is None


def test_a_stream_may_be_named_anything() -> None:
    assert filled(b"a", b"b", stream="a_b").after(b"a_b_0") == [(b"a_b_1", b"b")]
