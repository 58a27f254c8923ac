"""Processes that exit, and URLs that go away, during a probe."""

from __future__ import annotations

from typing import Any, TypeAlias

from dovetail_check.crashes import find_crashes
from dovetail_check.frames import Frame, Kind

Event: TypeAlias = tuple[Kind, dict[str, Any]]


def frames(*given: Event, session: str = "stdio 2025-11-25") -> list[Frame]:
    return [
        Frame(n=n, at=n / 10, session=session, connection="main", kind=kind, **more)
        for n, (kind, more) in enumerate(given)
    ]


def test_a_process_that_exits_during_a_request_is_a_crash() -> None:
    [crash] = find_crashes(
        frames(
            ("started", {"text": "python server.py"}),
            ("sent", {"tag": "ping", "text": "{}"}),
            ("stderr", {"text": "Traceback"}),
            ("ended", {"status": 1}),
            ("failed", {"of": 1, "text": "the process exited with status 1"}),
        )
    )
    assert (crash.probe, crash.text) == ("ping", "the process exited with status 1")
    assert (crash.stderr_tail, crash.frames, crash.counts) == ("Traceback", (1, 3), True)


def test_a_crash_is_attributed_to_the_probe_before_a_fence() -> None:
    [crash] = find_crashes(
        frames(
            ("started", {}),
            ("sent", {"tag": "errors/truncated"}),
            ("sent", {"tag": "fence"}),
            ("ended", {"status": 1}),
        )
    )
    assert (crash.probe, crash.frames) == ("errors/truncated", (1, 3))


def test_an_exit_after_closing_stdin_is_not_a_crash() -> None:
    assert not find_crashes(
        frames(("started", {}), ("sent", {"tag": "x"}), ("closed", {}), ("ended", {"status": 0}))
    )


def test_a_restarted_process_can_crash_again() -> None:
    once: tuple[Event, ...] = (
        ("started", {}),
        ("sent", {"tag": "a"}),
        ("ended", {"status": -9}),
    )
    assert [crash.probe for crash in find_crashes(frames(*once, *once))] == ["a", "a"]


def test_a_crash_during_negotiation_does_not_count() -> None:
    [crash] = find_crashes(
        frames(("started", {}), ("sent", {}), ("ended", {"status": 2}), session="stdio survey")
    )
    assert not crash.counts
    assert crash.probe == "start"


def test_an_unreachable_url_is_one_crash_and_another_host_is_none() -> None:
    url = "http://127.0.0.1:1/mcp"
    refused = {"text": "no connection: refused"}
    given: tuple[Event, ...] = (
        ("started", {"text": url}),
        ("sent", {"tag": "auth", "url": "http://elsewhere/x"}),
        ("failed", {"of": 1, **refused}),
        ("sent", {"tag": "ping", "url": url}),
        ("failed", {"of": 3, **refused}),
        ("sent", {"tag": "ping", "url": url}),
        ("failed", {"of": 5, **refused}),
    )
    [crash] = find_crashes(frames(*given, session="http 2025-11-25"))
    assert (crash.probe, crash.frames) == ("ping", (3, 4))


def test_the_end_of_a_stream_is_not_a_crash() -> None:
    assert not find_crashes(frames(("started", {}), ("sent", {}), ("ended", {"of": 1})))


def test_a_flood_is_reported_once_and_not_as_a_crash_of_the_killed_process() -> None:
    [flood] = find_crashes(
        frames(
            ("started", {}),
            ("sent", {"tag": "ping"}),
            ("received", {"text": "{}"}),
            ("flooded", {"text": "the server sent 20,001 messages"}),
            ("ended", {"status": -9}),
        )
    )
    assert (flood.is_flood, flood.id) == (True, "flood/stdio 2025-11-25/ping")
    assert (flood.text, flood.frames) == ("the server sent 20,001 messages", (1, 2, 3))


def test_a_process_that_is_killed_at_the_time_limit_has_not_crashed() -> None:
    given: tuple[Event, ...] = (("stopped", {}), ("ended", {"status": -9}))
    assert not find_crashes(frames(("started", {}), ("sent", {"tag": "ping"}), *given))
