"""A call: what it knows of its request, what it sends, and the record it keeps across runs."""

from __future__ import annotations

import asyncio
from contextvars import copy_context
from typing import Any

import pytest

from dovetail.core.call import Handler, Record, Sent, Style, current_call, find_run, nested_run
from dovetail.core.call_state import NEW, RUNNING, STOPPED
from dovetail.errors import InvalidParamsError, UsageError
from tests.unit.fakes import NOBODY, FakeLink, drive, make_call, sent_by


def test_a_call_starts_alone_alive_and_without_limits() -> None:
    call = make_call(id=b'"q"')
    assert (call.id, call.method, call.peer) == (b'"q"', "tools/call", NOBODY)
    assert call.phase is NEW
    assert {call.origin.scope, call.principal, call.request, call.failure} == {None}
    assert {call.interruption, call.on_activity, call.on_hold} == {None}
    assert not call.is_retried


def test_a_call_with_the_answers_of_an_earlier_round_is_a_retry() -> None:
    call = make_call()
    assert not call.record.answers and not call.is_retried
    call.record.retry_id = b"first"
    assert call.is_retried


# -- meta -------------------------------------------------------------------------------------


def test_the_meta_of_a_request_is_read_once_when_it_is_wanted() -> None:
    call = make_call(params=b'{"name":"t","_meta":{"progressToken":1,"traceparent":"00-a"}}')
    assert call.meta == {"progressToken": 1, "traceparent": "00-a"}
    assert call.meta is call.meta


def test_a_request_without_meta_has_an_empty_one() -> None:
    assert make_call().meta == {}
    assert make_call().progress_token is None


@pytest.mark.parametrize("raw", [b"[1]", b"null", b"7", b'{"a":1e999}'])
def test_a_meta_that_cannot_be_read_is_the_clients_mistake(raw: bytes) -> None:
    call = make_call(params=b'{"name":"t","_meta":%b}' % raw)
    with pytest.raises(InvalidParamsError, match="Invalid params: _meta"):
        _ = call.meta


@pytest.mark.parametrize(
    ("raw", "token"),
    [
        (b'"t"', "t"),
        (b'""', ""),
        (b"0", 0),
        (b"-3", -3),
        (b"true", None),
        (b"null", None),
        (b"1.5", None),
        (b"[1]", None),
        (b'{"a":1}', None),
    ],
)
def test_a_progress_token_is_a_string_or_an_integer_or_none_at_all(raw: bytes, token: Any) -> None:
    call = make_call(params=b'{"name":"t","_meta":{"progressToken":%b}}' % raw)
    assert call.progress_token == token
    assert type(call.progress_token) is type(token)


# -- sending ------------------------------------------------------------------------------------


def test_a_notification_goes_to_the_link_of_the_call() -> None:
    call = make_call()
    call.notify("notifications/progress", b'{"a":1}')
    assert sent_by(call) == [
        {"jsonrpc": "2.0", "method": "notifications/progress", "params": {"a": 1}}
    ]


@pytest.mark.parametrize("event", ["answered", "stopped", "withdrawn"])
def test_nothing_is_sent_for_a_call_that_is_answered_or_not_wanted(event: str) -> None:
    call = make_call()
    call.phase = getattr(call.phase, event)
    call.notify("notifications/progress", b"{}")
    assert sent_by(call) == []


def test_awaiting_what_was_sent_waits_for_a_slow_reader() -> None:
    call = make_call()
    link = call.link = FakeLink()

    async def run() -> None:
        sent = Sent(call)
        assert link.drained == 0
        await sent

    drive(run())
    assert link.drained == 1


# -- waiting for the client -----------------------------------------------------------------------


async def answer(value: int) -> int:
    return value


async def refuse() -> int:
    raise KeyError("no")


def test_the_clock_stands_still_while_the_client_is_asked() -> None:
    call = make_call()
    held: list[bool] = []
    call.on_hold = lambda: held.append(call.holds > 0)
    assert drive(call.waiting(answer(3))) == 3
    assert held == [True, False]


def test_the_clock_goes_on_when_the_client_refuses() -> None:
    call = make_call()
    held: list[bool] = []
    call.on_hold = lambda: held.append(call.holds > 0)
    with pytest.raises(KeyError):
        drive(call.waiting(refuse()))
    assert held == [True, False]


def test_a_call_without_a_clock_just_waits() -> None:
    assert drive(make_call().waiting(answer(3))) == 3


# -- the record -----------------------------------------------------------------------------------


def test_a_question_without_a_key_gets_one_counted_for_its_kind() -> None:
    record = Record()
    keys = [record.claim(None, kind) for kind in ("elicit", "sample", "elicit", "roots")]
    assert keys == ["elicit-1", "sample-1", "elicit-2", "roots-1"]
    assert list(record.asked) == keys


def test_an_authors_own_key_is_kept_and_not_counted() -> None:
    record = Record()
    assert record.claim("mine", "elicit") == "mine"
    assert record.claim(None, "elicit") == "elicit-1"


@pytest.mark.parametrize(("first", "second"), [("a", "a"), (None, "elicit-1"), ("elicit-1", None)])
def test_two_questions_of_one_call_cannot_share_a_key(
    first: str | None, second: str | None
) -> None:
    record = Record()
    key = record.claim(first, "elicit")
    with pytest.raises(UsageError, match=f"the key '{key}' is used for two questions"):
        record.claim(second, "elicit")


def test_effects_are_known_by_their_keys_and_the_last_one_to_end_is_told() -> None:
    record = Record()
    ended: list[int] = []
    record.when_idle = lambda: ended.append(len(record.busy))
    with record.effect("a"):
        with record.effect("b"):
            assert list(record.busy) == ["a", "b"]
        assert list(record.busy) == ["a"]
        assert ended == []
    assert ended == [0]


def test_an_effect_cannot_be_had_twice_at_the_same_time() -> None:
    record = Record()
    with (
        record.effect("a"),
        pytest.raises(UsageError, match=r"once\('a'\) is already running in this call"),
        record.effect("a"),
    ):
        raise AssertionError("unreachable")
    assert not record.busy


def test_an_effect_that_fails_is_over_too() -> None:
    record = Record()
    with pytest.raises(KeyError), record.effect("a"):
        raise KeyError
    assert not record.busy


def test_a_call_that_waits_can_be_cancelled() -> None:
    call = make_call()
    held: list[bool] = []
    call.on_hold = lambda: held.append(call.holds > 0)

    async def run() -> None:
        waiting = asyncio.ensure_future(call.waiting(asyncio.get_running_loop().create_future()))
        await asyncio.sleep(0)
        waiting.cancel()
        with pytest.raises(asyncio.CancelledError):
            await waiting

    drive(run())
    assert held == [True, False]


# -- the running handler ----------------------------------------------------------------------


def test_a_context_without_a_handler_runs_nothing() -> None:
    def scenario() -> None:
        assert find_run() is None
        current_call.set(make_call())
        assert find_run() is None

    copy_context().run(scenario)


def test_the_call_that_runs_is_the_last_that_has_not_ended() -> None:
    handler = Handler(len, Style.INLINE, "tool 'len'")
    first, second, third = make_call(), make_call(), make_call()
    for each in (first, second, third):
        each.handler = handler

    def scenario() -> None:
        first.become_current()
        first.phase = second.phase = RUNNING
        second.become_current()
        assert find_run() == (second, handler)
        second.phase = NEW
        assert find_run() == (first, handler)
        # Calls that have ended are not kept.
        third.become_current()
        assert third.outer is first
        # The function of a task starts after the one that asks the client first.
        third.become_current()
        assert third.outer is first

    copy_context().run(scenario)


def test_a_thread_that_was_cancelled_still_finds_its_call() -> None:
    call = make_call()
    call.handler = Handler(len, Style.THREAD, "tool 'len'")
    call.phase = STOPPED
    assert call.find_running() is call


def test_a_resource_that_a_handler_reads_is_the_handler_that_runs() -> None:
    call, other = make_call(), make_call()
    call.handler = Handler(len, Style.ASYNC, "tool 'len'")
    inner = Handler(len, Style.THREAD, "resource 'len'")
    call.phase = RUNNING

    def scenario() -> None:
        current_call.set(call)
        nested_run.set((call, inner))
        assert find_run() == (call, inner)
        nested_run.set((other, inner))
        assert find_run() == (call, call.handler)

    copy_context().run(scenario)


def test_a_call_is_described_by_its_handler_once_that_runs() -> None:
    call = make_call()
    assert call.describe() == "tools/call"
    call.handler = Handler(print, Style.ASYNC, "tool 'a'", where="tool 'a' (shop.py:3)")
    assert call.describe() == "tool 'a' (shop.py:3)"
