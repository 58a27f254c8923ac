"""Exchanges that show nothing: the server was busy, gone, or died once."""

from __future__ import annotations

import pytest

from dovetail_check.frames import Frame
from dovetail_check.unobserved import observed
from tests.check.unit.test_crashes import Event, frames

URL = "http://127.0.0.1:8000/mcp"
REFUSED = "no connection: [Errno 111] Connect call failed"


def shown(*given: Event, session: str = "http 2025-11-25") -> list[int]:
    """The numbers of the requests that rules see."""
    found: list[Frame] = observed(frames(*given, session=session))
    return [frame.n for frame in found if frame.kind == "sent"]


def sent(tag: str = "ping", url: str | None = URL) -> Event:
    return "sent", {"tag": tag, "text": '{"jsonrpc":"2.0","id":1,"method":"ping"}', "url": url}


def received(of: int, status: int = 200, **headers: str) -> Event:
    head = tuple((name.replace("_", "-"), value) for name, value in headers.items())
    body = '{"jsonrpc":"2.0","id":1,"result":{}}'
    return "received", {"of": of, "status": status, "headers": head, "text": body}


@pytest.mark.parametrize(
    ("response", "is_shown"),
    [
        (received(1), True),
        (received(1, 429), False),
        (received(1, 503), True),
        (received(1, 503, retry_after="1"), False),
        (("received", {"of": 1, "text": '{"id":1,"error":{"code":429,"message":"x"}}'}), False),
    ],
)
def test_a_busy_server_shows_nothing(response: Event, is_shown: bool) -> None:
    assert shown(("started", {"text": URL}), sent(), response) == ([1] if is_shown else [])


def test_a_refused_connection_shows_nothing_nor_what_was_in_flight() -> None:
    assert shown(
        ("started", {"text": URL}),
        sent(),
        received(1),
        sent("in-flight"),
        ("failed", {"of": 3, "text": "EOFError: the connection was closed"}),
        sent("later"),
        ("failed", {"of": 5, "text": REFUSED}),
    ) == [1]


def test_a_failure_of_a_server_that_lives_on_is_shown() -> None:
    cut: Event = ("failed", {"of": 1, "text": "EOFError: closed"})
    assert shown(("started", {"text": URL}), sent(), cut, sent(), received(3)) == [1, 3]


def test_another_address_may_refuse() -> None:
    other: Event = ("failed", {"of": 1, "text": REFUSED})
    assert shown(("started", {"text": URL}), sent(url="http://10.0.0.1:8000/mcp"), other) == [1]


START: Event = ("started", {"text": "python server.py"})
EXIT: Event = ("ended", {"status": 1})


def test_a_process_that_exits_once_shows_nothing_in_that_probe() -> None:
    first = (START, sent("ids", None), sent("errors", None), sent("fence", None), EXIT)
    again = (START, sent("errors", None), sent("fence", None))
    assert shown(*first, *again, session="stdio 2025-11-25") == [1, 6, 7]


def test_a_process_that_exits_twice_in_a_probe_shows_both() -> None:
    attempt = (START, sent("errors", None), sent("fence", None), EXIT)
    assert shown(*attempt, *attempt, session="stdio 2025-11-25") == [1, 2, 5, 6]


def test_an_exit_that_the_checker_caused_hides_nothing() -> None:
    closed: Event = ("closed", {"text": "stdin"})
    assert shown(START, sent("ids", None), closed, EXIT, session="stdio 2025-11-25") == [1]


def test_a_probe_that_was_not_finished_shows_nothing() -> None:
    given = (sent("ids"), received(1), sent("errors/unknown"), received(3), sent("ids/other"))
    stopped: Event = ("stopped", {"tag": "errors", "text": "the time limit has passed"})
    assert shown(("started", {"text": URL}), *given, stopped) == [1, 5]


def test_only_the_start_of_a_flood_is_read() -> None:
    flood: tuple[Event, ...] = (("received", {"text": "{}"}),) * 600
    flooded: Event = ("flooded", {"text": "too much"})
    found = observed(frames(START, sent("ids", None), received(1), *flood, flooded))
    assert [frame.n for frame in found if frame.kind == "received"] == [2, *range(3, 503)]
    assert len(observed(frames(START, *flood))) == 601
