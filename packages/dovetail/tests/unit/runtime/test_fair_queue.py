"""Owners take turns; the items of one owner keep their order."""

from __future__ import annotations

import pytest

from dovetail.runtime.runner import FairQueue


def test_owners_take_turns() -> None:
    queue: FairQueue[int] = FairQueue()
    for number in range(4):
        queue.push("many", number)
    queue.push("one", 10)
    queue.push(None, 20)
    assert [queue.pop() for _ in range(len(queue))] == [0, 10, 20, 1, 2, 3]
    with pytest.raises(IndexError, match="no such item"):
        queue.pop()


def test_items_can_leave() -> None:
    queue: FairQueue[int] = FairQueue()
    queue.push("a", 1)
    queue.push("a", 2)
    queue.push("b", 3)
    assert queue.remove("a", 1) and not queue.remove("a", 1) and not queue.remove("c", 1)
    assert queue.remove("b", 3)
    assert len(queue) == 1 and queue.pop() == 2 and len(queue) == 0


def test_owners_that_are_not_allowed_keep_their_turn() -> None:
    queue: FairQueue[int] = FairQueue()
    for owner, item in (("a", 1), ("a", 2), ("b", 3), ("b", 4)):
        queue.push(owner, item)
    assert queue.pop(lambda owner: owner == "b") == 3
    with pytest.raises(IndexError):
        queue.pop(lambda owner: False)
    assert [queue.pop() for _ in range(len(queue))] == [1, 4, 2]
