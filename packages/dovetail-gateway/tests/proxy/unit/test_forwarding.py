"""What a call hears while it is at the upstream."""

from __future__ import annotations

import asyncio
import math
from collections.abc import Mapping
from typing import Any

from dovetail.core.call import Call, Peer
from dovetail.runtime.deadlines import TaskDeadline
from dovetail.spec.models import LogParams, ProgressParams
from dovetail_gateway.forwarding import Forwarding, current_forwarding
from tests.unit.fakes import drive, make_call, sent_by


class Echo:
    async def ask(self, call: Call, method: str, params: Mapping[str, Any]) -> dict[str, Any]:
        await asyncio.sleep(0)
        return {"method": method, **params}


def forwarding_of(call: Call, seconds: float | None = None) -> Forwarding:
    return Forwarding(call, "caller", Echo(), seconds)


def test_progress_gets_the_callers_token() -> None:
    call = make_call(params=b'{"name":"t","_meta":{"progressToken":"mine"}}')
    step = ProgressParams(progress_token=7, progress=1, total=2, message="half")
    forwarding_of(call).progressed(step)
    [message] = sent_by(call)
    assert message["params"] == {
        "progressToken": "mine",
        "progress": 1.0,
        "total": 2.0,
        "message": "half",
    }


def test_progress_without_a_token_and_log_messages_below_the_level_are_dropped() -> None:
    call = make_call(peer=Peer(None, {}, 4))
    forwarding = forwarding_of(call)
    forwarding.progressed(ProgressParams(progress_token=7, progress=1))
    forwarding.logged(LogParams(level="info", data="no"))
    forwarding.logged(LogParams(level="nonsense", data="no"))
    forwarding.logged(LogParams(level="error", data="yes"))
    assert [message["params"]["data"] for message in sent_by(call)] == ["yes"]


def test_the_time_limit_stops_while_the_caller_is_asked() -> None:
    async def scenario() -> None:
        forwarding = forwarding_of(make_call(), 1000.0)
        assert await forwarding.ask("roots/list", {"a": 1}) == {"method": "roots/list", "a": 1}
        limit = forwarding.limit = TaskDeadline(1000.0)
        asking = asyncio.ensure_future(forwarding.ask("roots/list", {}))
        await asyncio.sleep(0)
        assert limit.due == math.inf
        await asking
        assert limit.due < math.inf

    drive(scenario())
    assert current_forwarding.get() is None
