"""Ends that nobody asked for."""

from __future__ import annotations

from typing import Any, TypeAlias

from dovetail_check.crashes import find_crashes
from dovetail_check.frames import Frame, Kind

Happening: TypeAlias = tuple[Kind, dict[str, Any]]


def frames(*given: Happening, session: str = "stdio 2025-11-25") -> list[Frame]:
    return [
        Frame(n=n, at=n / 10, session=session, line="main", kind=kind, **more)
        for n, (kind, more) in enumerate(given)
    ]


def test_a_process_that_ends_while_it_is_asked_is_a_death() -> None:
    [crash] = find_crashes(
        frames(
            ("started", {"text": "python server.py"}),
            ("sent", {"tag": "ping", "text": "{}"}),
            ("stderr", {"text": "Traceback"}),
            ("ended", {"status": 1}),
            ("failed", {"of": 1, "text": "the process ended with status 1"}),
        )
    )
    assert (crash.probe, crash.text) == ("ping", "the process ended with status 1")
    assert (crash.last_words, crash.frames, crash.counts) == ("Traceback", (1, 3), True)


def test_the_probe_is_to_blame_and_not_the_harmless_request_behind_it() -> None:
    [crash] = find_crashes(
        frames(
            ("started", {}),
            ("sent", {"tag": "errors/truncated"}),
            ("sent", {"tag": "fence"}),
            ("ended", {"status": 1}),
        )
    )
    assert (crash.probe, crash.frames) == ("errors/truncated", (1, 3))


def test_a_process_that_was_let_go_did_not_die() -> None:
    assert not find_crashes(
        frames(("started", {}), ("sent", {"tag": "x"}), ("closed", {}), ("ended", {"status": 0}))
    )


def test_a_process_that_is_started_again_can_die_again() -> None:
    once: tuple[Happening, ...] = (
        ("started", {}),
        ("sent", {"tag": "a"}),
        ("ended", {"status": -9}),
    )
    assert [crash.probe for crash in find_crashes(frames(*once, *once))] == ["a", "a"]


def test_a_death_at_an_offer_is_told_and_does_not_count() -> None:
    [crash] = find_crashes(
        frames(("started", {}), ("sent", {}), ("ended", {"status": 2}), session="stdio survey")
    )
    assert not crash.counts
    assert crash.probe == "start"


def test_a_url_that_is_gone_is_a_death_once_and_another_host_is_none() -> None:
    url = "http://127.0.0.1:1/mcp"
    refused = {"text": "no connection: refused"}
    given: tuple[Happening, ...] = (
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


def test_an_end_of_a_stream_is_no_death() -> None:
    assert not find_crashes(frames(("started", {}), ("sent", {}), ("ended", {"of": 1})))
