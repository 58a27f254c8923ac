"""Tasks in words of no era."""

from __future__ import annotations

import pytest

from dovetail.tasks.views import Status, TaskView, spell_time


@pytest.mark.parametrize(
    ("status", "is_final"),
    [
        (Status.WORKING, False),
        (Status.INPUT_REQUIRED, False),
        (Status.COMPLETED, True),
        (Status.FAILED, True),
        (Status.CANCELLED, True),
    ],
)
def test_three_statuses_stay(status: Status, is_final: bool) -> None:
    assert status.is_final is is_final


@pytest.mark.parametrize(
    ("seconds", "spelled"),
    [(0.0, "1970-01-01T00:00:00.000Z"), (1785196800.0625, "2026-07-28T00:00:00.062Z")],
)
def test_times_are_spelled_as_the_protocol_wants(seconds: float, spelled: str) -> None:
    assert spell_time(seconds) == spelled


def test_two_looks_at_a_task_are_two_things() -> None:
    one, other = (TaskView("a", Status.WORKING, 0, 0, None, 1) for _ in range(2))
    assert one != other
    assert len({one, other}) == 2
