"""Legacy sessions that two processes serve: settings, answers, cancellation, the end."""

from __future__ import annotations

import asyncio
import json
import random
from collections.abc import AsyncIterator, Awaitable, Callable, Sequence
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any

import httpx
import pytest

from dovetail import Server
from dovetail.auth import ApiKeys, Guard
from dovetail.auth.api_keys import KeyFile
from dovetail.errors import StoreError
from tests.cluster.in_process import serving_cluster
from tests.cluster.legacy_client import INITIALIZE, LegacyClient, read_events
from tests.cluster.redis_server import RedisServer, running_redis
from tests.cluster.shop import make_shop
from tests.patience import CAP


@asynccontextmanager
async def two_processes(
    cluster_url: str, **options: Any
) -> AsyncIterator[tuple[LegacyClient, Sequence[Server]]]:
    async with (
        serving_cluster(make_shop, cluster_url, **options) as cluster,
        httpx.AsyncClient(timeout=CAP) as http,
    ):
        yield LegacyClient(http, cluster.urls), cluster.servers


def test_any_process_serves_a_session(cluster_url: str) -> None:
    async def run() -> None:
        async with two_processes(cluster_url) as (session, _):
            await session.start(0)
            await session.ready(1)
            for at in (0, 1):
                answer = await session.call(at, "add", a=1, b=2)
                assert answer.json()["result"]["structuredContent"] == {"result": 3}

    asyncio.run(run())


def test_a_session_ends_everywhere(cluster_url: str) -> None:
    async def run() -> None:
        async with two_processes(cluster_url) as (session, _):
            await session.start(0)
            await session.ready(1)
            await session.call(0, "add", a=1, b=2)
            url = session.urls[1]
            response = await session.http.delete(url, headers=session.headers)
            assert response.status_code == 204
            for at in (0, 1):
                assert (await session.call(at, "add", a=1, b=2)).status_code == 404

    asyncio.run(run())


def test_an_unknown_session_is_not_found(cluster_url: str) -> None:
    async def run() -> None:
        async with two_processes(cluster_url) as (session, _):
            session.headers["mcp-session-id"] = "unknown"
            assert (await session.call(0, "add", a=1, b=2)).status_code == 404

    asyncio.run(run())


def test_an_answer_reaches_the_process_that_asked(cluster_url: str) -> None:
    async def run() -> None:
        async with two_processes(cluster_url) as (session, _):
            await session.start(0, elicitation={})
            await session.ready(0)
            async with session.streamed_call(0, "order") as events:
                question = None
                async for _, data in events:
                    if '"elicitation/create"' in data:
                        question = httpx.Response(200, text=data).json()
                        result = {"action": "accept", "content": {"amount": 3}}
                        answer = {"id": question["id"], "result": result}
                        assert (await session.send(1, answer)).status_code == 202
                    elif '"result"' in data:
                        assert "3 ordered" in data
                        break
                assert question is not None

    asyncio.run(run())


async def ask_at_one_answer_at_the_other(
    session: LegacyClient, answer_it: Callable[[dict[str, Any]], Awaitable[None]]
) -> None:
    await session.start(0, elicitation={})
    await session.ready(0)
    async with asyncio.timeout(CAP), session.streamed_call(0, "order") as events:
        async for _, data in events:
            if '"elicitation/create"' in data:
                result = {"action": "accept", "content": {"amount": 3}}
                await answer_it({"id": json.loads(data)["id"], "result": result})
            elif '"result"' in data:
                assert "3 ordered" in data
                return


@pytest.mark.parametrize("method", ["set", "publish"])
def test_an_answer_that_cannot_be_stored_is_not_accepted(
    cluster_url: str, monkeypatch: pytest.MonkeyPatch, method: str
) -> None:
    async def run() -> None:
        async with two_processes(cluster_url) as (session, servers):

            async def fail(*_: object, **__: object) -> None:
                raise StoreError("test")

            async def answer_it(answer: dict[str, Any]) -> None:
                await session.call(1, "add", a=1, b=2)
                with monkeypatch.context() as patched:
                    patched.setattr(servers[1].engine.state.backend, method, fail)
                    refused = await session.send(1, answer)
                assert refused.status_code == 503
                assert refused.headers["retry-after"] == "1"
                # The client may send it again, and again.
                for _ in range(2):
                    assert (await session.send(1, answer)).status_code == 202

            await ask_at_one_answer_at_the_other(session, answer_it)

    asyncio.run(run())


@pytest.mark.parametrize(
    "fault", ["FLUSHALL", "CLIENT KILL TYPE pubsub", "CLIENT KILL TYPE normal"]
)
def test_an_answer_that_was_accepted_arrives(tmp_path: Path, fault: str) -> None:
    async def run(redis: RedisServer) -> None:
        async with two_processes(redis.url) as (session, _):

            async def answer_it(answer: dict[str, Any]) -> None:
                await session.call(1, "add", a=1, b=2)
                await asyncio.to_thread(redis.command, *fault.split())
                while (given := await session.send(1, answer)).status_code != 202:
                    assert given.status_code == 503
                    await asyncio.sleep(0.01)

            await ask_at_one_answer_at_the_other(session, answer_it)

    with running_redis(tmp_path) as redis:
        asyncio.run(run(redis))


def test_a_cancellation_reaches_the_process_that_runs_the_call(cluster_url: str) -> None:
    async def run() -> None:
        async with two_processes(cluster_url) as (session, _):
            await session.start(0)
            await session.ready(0)
            async with session.streamed_call(0, "count", number=1000, gap=CAP) as events:
                async for _, data in events:
                    if "progress" in data:
                        params = {"requestId": "call", "reason": "enough"}
                        body = {"method": "notifications/cancelled", "params": params}
                        assert (await session.send(1, body)).status_code == 202
                        break
                # The stream ends without a response.
                assert not [data async for _, data in events if '"result"' in data]

    asyncio.run(run())


def test_subscriptions_and_changes_reach_the_stream_of_the_session(cluster_url: str) -> None:
    async def run() -> None:
        async with two_processes(cluster_url) as (session, servers):
            await session.start(0)
            await session.ready(1)
            async with session.stream(0) as events:
                await session.post(1, "resources/subscribe", {"uri": "shop://news"})
                servers[1].resource_updated("shop://other")
                servers[1].resource_updated("shop://news")
                async for _, data in events:
                    if data:
                        assert "shop://news" in data
                        break

    asyncio.run(run())


def test_a_stream_is_resumed_in_another_process(cluster_url: str) -> None:
    async def run() -> None:
        async with two_processes(cluster_url) as (session, _):
            await session.start(0)
            await session.ready(0)
            got: list[str] = []
            last = ""
            async with session.streamed_call(0, "count", number=50, gap=0.01) as events:
                async for id, data in events:
                    last = id
                    if data:
                        got.append(data)
                    if len(got) == 5:
                        break
            at = 1
            while not any('"result"' in data for data in got):
                async with session.stream(at, **{"last-event-id": last}) as events:
                    async for id, data in events:
                        last = id
                        if data:
                            got.append(data)
                        if len(got) % 10 == 0:
                            break
                at = 1 - at
            numbers = [httpx.Response(200, text=data).json() for data in got]
            progress = [each["params"]["progress"] for each in numbers if "params" in each]
            assert progress == list(range(1, 51))

    asyncio.run(run())


@pytest.mark.parametrize("lost", ["some", "the last"])
def test_events_that_were_lost_on_the_way_are_sent_again(
    cluster_url: str, monkeypatch: pytest.MonkeyPatch, lost: str
) -> None:
    async def run() -> None:
        async with two_processes(cluster_url) as (session, servers), asyncio.timeout(CAP):
            shared = servers[0].engine.shared
            assert shared is not None
            send, sent, chance = shared.cluster.send, 0, random.Random(1)

            def drop(node: str, topic: str, message: bytes) -> None:
                nonlocal sent
                sent += 1
                is_lost = chance.random() < 0.3 if lost == "some" else sent in range(6, 20)
                if not is_lost:
                    send(node, topic, message)

            monkeypatch.setattr(shared.cluster, "send", drop)
            await session.start(0)
            await session.ready(0)
            async with session.streamed_call(0, "count", number=10, gap=0.05) as events:
                async for id, data in events:
                    if data:
                        last = id
                        break
            progress = [1]
            async with session.stream(1, **{"last-event-id": last}) as events:
                async for _, data in events:
                    if data and "params" in json.loads(data):
                        progress.append(json.loads(data)["params"]["progress"])
            assert "counted to 10" in data
            assert progress == list(range(1, 11))

    asyncio.run(run())


def test_messages_to_an_old_stream_may_arrive_at_any_process(cluster_url: str) -> None:
    async def run() -> None:
        async with two_processes(cluster_url, old_sse="/sse") as (session, _):
            roots = [url.removesuffix("/mcp") for url in session.urls]
            async with session.http.stream("GET", f"{roots[0]}/sse") as response:
                events = read_events(response)
                _, path = await anext(events)
                ping = {"jsonrpc": "2.0", "id": "ping", "method": "ping"}
                for root in reversed(roots):
                    posted = await session.http.post(f"{root}{path}", json=ping)
                    assert posted.status_code == 202
                    _, data = await anext(events)
                    assert '"ping"' in data
            wrong = path.replace("session_id=", "session_id=x")
            assert (await session.http.post(f"{roots[1]}{wrong}", json=ping)).status_code == 404

    asyncio.run(run())


def test_a_session_belongs_to_its_principal_in_every_process(
    cluster_url: str, tmp_path: Path
) -> None:
    keys = KeyFile(tmp_path / "keys.json")
    own, other = (keys.add(label)[1] for label in ("own", "other"))

    async def run() -> None:
        guard = Guard(ApiKeys(keys.path))
        async with two_processes(cluster_url, guard=guard) as (session, _):
            session.headers["authorization"] = f"Bearer {own}"
            await session.start(0)
            await session.ready(1)
            session.headers["authorization"] = f"Bearer {other}"
            for at in (0, 1):
                assert (await session.call(at, "add", a=1, b=2)).status_code == 404
                url = session.urls[at]
                for method in ("GET", "DELETE"):
                    headers = {**session.headers, "accept": "text/event-stream"}
                    response = await session.http.request(method, url, headers=headers)
                    assert response.status_code == 404
            session.headers["authorization"] = f"Bearer {own}"
            assert (await session.call(1, "add", a=1, b=2)).status_code == 200

    asyncio.run(run())


def test_the_limit_of_sessions_is_for_all_processes(cluster_url: str) -> None:
    async def run() -> None:
        async with two_processes(cluster_url, max_sessions=3) as (session, _):
            started = []
            for at in (0, 1, 0):
                await session.start(at)
                await session.ready(at)
                started.append(session.headers["mcp-session-id"])
            stranger = LegacyClient(session.http, session.urls)
            refused = await stranger.post(1, "initialize", INITIALIZE)
            # All belong to the same address, and none is idle.
            assert refused.status_code == 503
            for id in started:
                session.headers["mcp-session-id"] = id
                assert (await session.call(1, "add", a=1, b=2)).status_code == 200

    asyncio.run(run())
