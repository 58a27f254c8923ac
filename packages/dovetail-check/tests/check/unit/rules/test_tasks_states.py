"""Estimated entropy of task ids."""

from __future__ import annotations

import uuid

import pytest

from dovetail_check.rules.tasks_states import guess_bits


@pytest.mark.parametrize(
    "ids",
    [
        ["1", "2", "3"],
        ["1001", "1007"],
        ["task-1", "task-2", "task-10"],
        ["survey-a-done", "survey-b-done"],
        ["same", "same"],
        ["", "x"],
    ],
)
def test_counters_and_names_can_be_guessed(ids: list[str]) -> None:
    assert guess_bits(ids) < 32


@pytest.mark.parametrize(
    "ids",
    [
        [str(uuid.UUID(int=n * 0x1234_5678_9ABC_DEF1_2345_6789)) for n in (11, 12_345, 999_999)],
        ["VTrwfJc8ZGGj4hV0tQq_diRkEx8v", "B-Lz-q9O-ZS01Ts9aYJe4OFtDYyd"],
        ["task-9f86d081884c7d659a2feaa0c55ad015", "task-60303ae22b998861bce3b28f33eec1be"],
    ],
)
def test_long_random_ids_cannot_be_guessed(ids: list[str]) -> None:
    assert guess_bits(ids) >= 64
