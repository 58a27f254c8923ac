from __future__ import annotations

import asyncio
from typing import Any

import pytest

from dovetail_check.connections.pending import PendingList
from dovetail_check.exchanges import Exchange
from dovetail_check.frames import Frame


def exchange(n: int) -> Exchange:
    return Exchange(Frame(n=n, at=0.0, session="stdio test", connection="main", kind="sent"))


def answer(id: Any) -> dict[str, Any]:
    return {"jsonrpc": "2.0", "id": id, "result": {}}


@pytest.mark.parametrize(
    ("value", "owner"),
    [
        (answer(1), 0),
        (answer("1"), 1),
        (answer(2), 2),
        (answer("2"), 2),
        (answer(None), 3),
        ([answer(2), answer(9)], 2),
        (answer(4), None),
        ({"jsonrpc": "2.0", "id": 1, "method": "ping"}, None),
        ([], None),
        ("text", None),
    ],
)
def test_a_response_is_matched_to_its_request(value: Any, owner: int | None) -> None:
    async def main() -> None:
        pending = PendingList()
        waits = [
            pending.add(exchange(n), ids, keep_open=False)
            for n, ids in enumerate([(1,), ("1",), (2,), None])
        ]
        assert pending.find(value) is (None if owner is None else waits[owner])

    asyncio.run(main())


def test_a_batch_is_done_after_all_its_responses() -> None:
    async def main() -> None:
        pending = PendingList()
        wait = pending.add(exchange(0), (1, 2), keep_open=False)
        pending.take(wait, answer(1))
        assert not wait.done.is_set()
        pending.take(wait, [answer(2)])
        assert wait.done.is_set()
        assert pending.find(answer(2)) is None

    asyncio.run(main())


def test_a_notification_is_not_pending() -> None:
    async def main() -> None:
        pending = PendingList()
        pending.add(exchange(0), (), keep_open=False)
        assert pending.drain() == []

    asyncio.run(main())


def test_a_response_after_the_timeout_still_belongs_to_its_request() -> None:
    async def main() -> None:
        pending = PendingList()
        late, other = (pending.add(exchange(n), (n,), keep_open=False) for n in (1, 2))
        pending.drop(late)
        assert pending.find(answer(1)) is late
        pending.take(late, answer(1))
        assert pending.find(answer(1)) is None
        assert pending.find(answer(2)) is other

    asyncio.run(main())
