"""Requests that outlast the grace period are cancelled."""

from __future__ import annotations

import asyncio

from dovetail.transports.asgi.in_flight import RequestTasks
from tests.patience import CAP


def test_requests_finish_within_the_grace_period_or_are_cancelled() -> None:
    async def run() -> None:
        requests = RequestTasks()
        await requests.finish(CAP)
        release = asyncio.Event()

        async def serve(gate: asyncio.Event) -> None:
            with requests.track():
                await gate.wait()

        short = asyncio.create_task(serve(release))
        await asyncio.sleep(0)
        finishing = asyncio.create_task(requests.finish(CAP))
        await asyncio.sleep(0)
        release.set()
        await finishing
        assert short.done()
        assert not short.cancelled()
        long = asyncio.create_task(serve(asyncio.Event()))
        await asyncio.sleep(0)
        await requests.finish(0.0)
        await asyncio.wait([long])
        assert long.cancelled()
        await requests.finish(CAP)

    asyncio.run(run())
