"""A cluster in one event loop: several servers with one cluster URL, each at a port of its own.

    def make_server(url: str) -> Server:
        return Server("shop", options=Options(state=url))

    def test_something(cluster_url: str) -> None:
        async def run() -> None:
            async with serving_cluster(make_server, cluster_url) as cluster:
                async with Client(cluster.url) as client:       # a process at random per request
                    ...
                async with Client(cluster.urls[0]) as client:   # one process
                    ...
                cluster.servers[1].resource_updated("shop://news")

        asyncio.run(run())

Each server is a node of the cluster, as a process would be. The balancer's choice is repeatable
(`seed`), and a test that wants one certain process sets `cluster.balancer.choose`. Use processes
(processes.py) only for what one event loop cannot show: signals, kills, costs.
"""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Callable, Sequence
from contextlib import AsyncExitStack, asynccontextmanager, suppress
from dataclasses import dataclass
from typing import Any

from dovetail import Server
from dovetail.transports import serve_http
from tests.cluster.balancer import Balancer, balancing
from tests.patience import CAP

__all__ = ["ServedCluster", "serving", "serving_cluster"]


@dataclass(frozen=True, slots=True)
class ServedCluster:
    """The servers and the balancer in front of them."""

    servers: Sequence[Server]
    ports: Sequence[int]
    balancer: Balancer

    @property
    def url(self) -> str:
        """The URL of the balancer."""
        return self.balancer.url

    @property
    def urls(self) -> list[str]:
        """The URL of each server."""
        return [f"http://127.0.0.1:{port}/mcp" for port in self.ports]


@asynccontextmanager
async def serving(server: Server, **options: Any) -> AsyncIterator[int]:
    """Serve over HTTP until the block ends; yields the port."""
    ready: asyncio.Future[int] = asyncio.get_running_loop().create_future()
    task = asyncio.create_task(serve_http(server, port=0, on_ready=ready.set_result, **options))
    try:
        async with asyncio.timeout(CAP):
            await asyncio.wait((ready, task), return_when=asyncio.FIRST_COMPLETED)
        if not ready.done():
            await task
        yield ready.result()
    finally:
        task.cancel()
        with suppress(asyncio.CancelledError):
            await task


@asynccontextmanager
async def serving_cluster(
    make_server: Callable[[str], Server],
    cluster_url: str,
    *,
    count: int = 2,
    seed: int = 0,
    **options: Any,
) -> AsyncIterator[ServedCluster]:
    """Serve `count` servers and a balancer; the options are those of `serve_http`."""
    servers = [make_server(cluster_url) for _ in range(count)]
    # Closed in reverse order: the balancer passes on the last words of the servers, and each
    # server restores the signal handlers that it found.
    async with balancing(seed) as balancer, AsyncExitStack() as stack:
        for each in servers:
            balancer.add(await stack.enter_async_context(serving(each, **options)))
        yield ServedCluster(servers, balancer.ports, balancer)
