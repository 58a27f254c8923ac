"""The table of a call's states: what holds on every path through it."""

from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st

from dovetail.core.call_state import ANSWERED, NEW, RUNNING, STOPPED, CallState

EVENTS = ("begun", "left", "stopped", "withdrawn", "answered")


def after(*events: str, state: CallState = NEW) -> CallState:
    for event in events:
        state = getattr(state, event)
    return state


def test_a_call_that_is_served_is_answered() -> None:
    assert after("begun") is RUNNING
    assert after("begun", "left", "answered") is ANSWERED


def test_a_state_is_shown_by_its_name() -> None:
    assert [repr(NEW), repr(RUNNING), repr(ANSWERED)] == ["new", "running", "answered"]


def test_a_call_that_is_stopped_can_still_be_answered_but_sends_nothing_else() -> None:
    assert after("stopped") is STOPPED
    stopping = after("begun", "stopped")
    assert (stopping.is_running, stopping.is_cancelled) == (True, True)
    assert (stopping.is_withdrawn, stopping.is_open) == (False, False)


@given(st.lists(st.sampled_from(EVENTS)), st.lists(st.sampled_from(EVENTS)))
def test_what_has_ended_never_opens_again(before: list[str], later: list[str]) -> None:
    for last in ("stopped", "withdrawn", "answered"):
        ended = after(*before, last)
        assert not ended.is_open
        assert not after(*later, state=ended).is_open


@given(st.lists(st.sampled_from(EVENTS)), st.lists(st.sampled_from(EVENTS)))
def test_a_function_that_should_stop_is_told_so_until_the_end(
    before: list[str], later: list[str]
) -> None:
    state = after(*before)
    if state is not ANSWERED:
        assert after("withdrawn", *later, state=state).is_withdrawn
        assert after("stopped", *later, state=state).is_cancelled


@given(st.lists(st.sampled_from(EVENTS)))
def test_a_function_runs_between_its_begin_and_its_end(events: list[str]) -> None:
    state = after(*events)
    assert not after("left", state=state).is_running
    assert state is ANSWERED or after("begun", state=state).is_running
