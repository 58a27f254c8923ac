"""Legacy sessions that two processes serve: settings, answers, cancellation, the end."""

from __future__ import annotations

import asyncio
import json
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
from dovetail_redis import RedisBackend
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


def test_servers_with_other_names_in_the_url_share_nothing(cluster_url: str) -> None:
    names = iter(("one", "other"))

    async def run() -> None:
        async with (
            serving_cluster(lambda url: make_shop(f"{url}-{next(names)}"), cluster_url) as cluster,
            httpx.AsyncClient(timeout=CAP) as http,
        ):
            session = LegacyClient(http, cluster.urls)
            await session.start(0)
            await session.ready(0)
            assert (await session.call(0, "add", a=1, b=2)).status_code == 200
            assert (await session.call(1, "add", a=1, b=2)).status_code == 404

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


@pytest.mark.parametrize("fault", ["CLIENT KILL TYPE pubsub", "CLIENT KILL TYPE normal"])
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


async def first_event(events: AsyncIterator[tuple[str, str]]) -> tuple[str, str]:
    """The id and the data of the first event with data."""
    async for id, data in events:
        if data:
            return id, data
    raise AssertionError("the stream ended without an event")


class CutOff(RedisBackend):
    """A backend that can be cut off from Redis."""

    away = False

    async def _run(self, *given: Any) -> Any:
        if self.away:
            raise StoreError("cut off")
        return await super()._run(*given)


async def cut_stream(
    url: str, at: int, until: int, *, progress: int = 20, gap: float = 0.05
) -> tuple[list[int], dict[str, Any]]:
    """The progress and the answer of a call whose process is cut off from event `at` to `until`.

    The stream is read at the other process from the first event on.
    """
    backends: list[CutOff] = []

    def make(url: str) -> Server:
        backends.append(CutOff(url))
        return make_shop(backends[-1])  # type: ignore[arg-type]

    async with (
        asyncio.timeout(CAP),
        serving_cluster(make, url) as cluster,
        httpx.AsyncClient(timeout=CAP) as http,
    ):
        session = LegacyClient(http, cluster.urls)
        await session.start(0)
        await session.ready(0)
        told: list[int] = []
        async with session.streamed_call(0, "count", number=progress, gap=gap) as direct:
            id, data = await first_event(direct)
            told.append(json.loads(data)["params"]["progress"])
            async with session.stream(1, **{"last-event-id": id}) as events:
                async for _, data in events:
                    if not data:
                        continue
                    message = json.loads(data)
                    if "params" not in message:
                        return told, message
                    told.append(message["params"]["progress"])
                    if told[-1] == at:
                        backends[0].away = True
                        loop = asyncio.get_running_loop()
                        loop.call_later((until - at) * gap, setattr, backends[0], "away", False)
            raise AssertionError(f"the stream ended without an answer after {told}")


@pytest.mark.parametrize(("at", "until"), [(5, 10), (15, 40)], ids=["between", "at the end"])
def test_a_process_that_is_cut_off_for_a_moment_leaves_no_gap(
    cluster_url: str, at: int, until: int
) -> None:
    told, answer = asyncio.run(cut_stream(cluster_url, at, until))
    assert told == list(range(1, 21))
    assert "counted to 20" in json.dumps(answer)


def test_a_process_that_is_cut_off_for_long_tells_that_events_are_lost(cluster_url: str) -> None:
    told, answer = asyncio.run(cut_stream(cluster_url, 5, 150))
    assert told == list(range(1, len(told) + 1))
    assert answer["id"] == "call"
    assert "were lost" in answer["error"]["message"]


@pytest.mark.parametrize("fault", ["bounce", "CLIENT KILL TYPE pubsub", "CLIENT KILL TYPE normal"])
def test_a_resumed_stream_has_no_gap_after_a_fault_of_redis(tmp_path: Path, fault: str) -> None:
    def inflict(redis: RedisServer) -> None:
        if fault == "bounce":
            redis.kill()
            redis.start()
        else:
            redis.command(*fault.split())

    async def run(redis: RedisServer) -> None:
        async with two_processes(redis.url) as (session, _), asyncio.timeout(CAP):
            await session.start(0)
            await session.ready(0)
            async with session.streamed_call(0, "count", number=40, gap=0.05) as events:
                id, _ = await first_event(events)
            told = [1]
            async with session.stream(1, **{"last-event-id": id}) as events:
                async for _, data in events:
                    message = json.loads(data or "{}")
                    if "params" in message:
                        told.append(message["params"]["progress"])
                    if told[-1] in (5, 15):
                        await asyncio.to_thread(inflict, redis)
            assert told == list(range(1, 41))
            assert "counted to 40" in data

    with running_redis(tmp_path, "--appendonly", "yes", "--appendfsync", "always") as redis:
        asyncio.run(run(redis))


def test_after_redis_has_lost_its_contents_sessions_are_unknown(tmp_path: Path) -> None:
    async def run(redis: RedisServer) -> None:
        async with two_processes(redis.url) as (session, _), asyncio.timeout(CAP):
            await session.start(0)
            await session.ready(0)
            async with session.streamed_call(0, "count", number=1000, gap=0.05) as events:
                id, _ = await first_event(events)
                async with session.stream(1, **{"last-event-id": id}) as resumed:
                    await asyncio.to_thread(redis.command, "FLUSHALL")
                    rest = [data async for _, data in resumed if data]
                # The call ends with its session.
                rest += [data async for _, data in events]
                assert not any('"result"' in data for data in rest)
            assert (await session.call(0, "add", a=1, b=2)).status_code == 404
            del session.headers["mcp-session-id"]
            await session.start(1)
            await session.ready(0)
            assert (await session.call(1, "add", a=1, b=2)).status_code == 200

    with running_redis(tmp_path) as redis:
        asyncio.run(run(redis))


def test_two_processes_share_sessions_in_a_file(tmp_path: Path) -> None:
    async def run() -> None:
        url = f"sqlite:///{tmp_path / 'state'}"
        async with two_processes(url) as (session, servers), asyncio.timeout(CAP):
            await session.start(0, elicitation={})
            await session.ready(1)
            async with session.stream(0) as events:
                await session.post(1, "resources/subscribe", {"uri": "shop://news"})
                servers[1].resource_updated("shop://news")
                async for _, data in events:
                    if "shop://news" in data:
                        break
            async with session.streamed_call(0, "count", number=20, gap=0.02) as events:
                id, _ = await first_event(events)
            async with session.stream(1, **{"last-event-id": id}) as events:
                told = [json.loads(data) async for _, data in events if data]
            progress = [each["params"]["progress"] for each in told if "params" in each]
            assert progress == list(range(2, 21))
            assert "result" in told[-1]

    asyncio.run(run())


def test_messages_to_an_old_stream_may_arrive_at_any_process(
    cluster_url: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    async def run() -> None:
        async with two_processes(cluster_url, old_sse="/sse") as (session, servers):
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
            with monkeypatch.context() as patched:

                async def fail(*_: object, **__: object) -> None:
                    raise StoreError("test")

                patched.setattr(servers[1].engine.state.backend, "append", fail)
                refused = await session.http.post(f"{roots[1]}{path}", json=ping)
                assert refused.status_code == 503
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
