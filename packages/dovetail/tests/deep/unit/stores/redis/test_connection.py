"""One connection to Redis."""

from __future__ import annotations

import asyncio
import socket
from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any

import pytest

from dovetail.errors import StoreError
from dovetail.state.redis_url import RedisUrl, parse_url
from dovetail.stores.redis import connection as connection_module
from dovetail.stores.redis.connection import RedisConnection, connect
from tests.certificate import make_certificate
from tests.cluster.processes import free_port
from tests.cluster.redis_server import RedisServer, running_redis
from tests.patience import CAP, pass_time
from tests.unit.fakes import drive, settle


@asynccontextmanager
async def fake_redis(answer: Callable[[asyncio.StreamWriter], None]) -> AsyncIterator[RedisUrl]:
    """A port that reacts to the first bytes of a client, and then waits for its end."""

    async def serve(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        await reader.read(100)
        answer(writer)
        await reader.read()
        writer.close()

    async with await asyncio.start_server(serve, "127.0.0.1", 0) as server:
        yield RedisUrl(port=server.sockets[0].getsockname()[1])


async def refusal(url: RedisUrl, timeout: float = CAP) -> str:
    """Why there is no connection."""
    with pytest.raises(StoreError) as caught:
        await connect(url, timeout)
    return caught.value.reason


def test_commands_are_answered_in_order(redis_server: RedisServer) -> None:
    async def run() -> None:
        connection = await connect(parse_url(redis_server.url), CAP)
        answers = [connection.send(("ECHO", number)) for number in range(100)]
        connection.post(("ECHO", "nobody waits"))
        failing = connection.send(("INCR",))
        cancelled = connection.send(("PING",))
        cancelled.cancel()
        last = connection.send(("PING",))
        assert await asyncio.gather(*answers) == [b"%d" % number for number in range(100)]
        with pytest.raises(StoreError, match="Redis answered: ERR wrong number of arguments"):
            await failing
        assert await last == b"PONG"
        await connection.close("enough")
        with pytest.raises(StoreError, match="the connection was lost: enough"):
            connection.post(("PING",))

    drive(run())


def test_commands_without_an_answer_fail_with_the_connection(tmp_path: Path) -> None:
    async def run(server: RedisServer) -> None:
        connection = await connect(parse_url(server.url), CAP)
        server.pause()
        answer = connection.send(("PING",))
        connection.abort_if_silent(60)
        assert not answer.done()
        pass_time(61)
        connection.abort_if_silent(60)
        with pytest.raises(StoreError, match="no answer within 60 seconds"):
            await answer
        await connection.closed

    with running_redis(tmp_path) as server:
        drive(run(server))


def test_a_silent_connection_without_commands_is_not_closed(redis_server: RedisServer) -> None:
    async def run() -> None:
        connection = await connect(parse_url(redis_server.url), CAP)
        pass_time(100)
        connection.abort_if_silent(60)
        assert await connection.send(("PING",)) == b"PONG"
        await connection.close("enough")

    drive(run())


def test_unsent_commands_are_limited(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(connection_module, "_MAX_UNSENT_BYTES", 100_000)

    async def run(server: RedisServer) -> None:
        connection = await connect(parse_url(server.url), CAP)
        server.pause()
        sent = 0
        with pytest.raises(StoreError, match="too much data waits"):
            while sent < 100 * 1024 * 1024:
                connection.post(("SET", "key", bytes(10_000)))
                sent += 10_000
        await connection.close("enough")

    with running_redis(tmp_path) as server:
        drive(run(server))


# -- connecting ---------------------------------------------------------------------------------


def test_the_login_and_the_database_of_the_url_are_used(tmp_path: Path) -> None:
    async def run(port: int) -> None:
        connection = await connect(parse_url(f"redis://:s%40cret@127.0.0.1:{port}/3"), CAP)
        assert b"db=3" in await connection.send(("CLIENT", "INFO"))
        await connection.close("enough")
        assert "WRONGPASS" in await refusal(parse_url(f"redis://:no@127.0.0.1:{port}"))
        assert "NOAUTH" in await refusal(parse_url(f"redis://127.0.0.1:{port}"))

    with running_redis(tmp_path, "--requirepass", "s@cret") as server:
        drive(run(server.port))


def test_a_unix_socket_is_used(tmp_path: Path) -> None:
    async def run() -> None:
        connection = await connect(parse_url(f"unix://{tmp_path}/socket?db=1"), CAP)
        assert await connection.send(("PING",)) == b"PONG"
        await connection.close("enough")
        assert "No such file" in await refusal(parse_url(f"unix://{tmp_path}/none"))

    with running_redis(tmp_path, "--unixsocket", f"{tmp_path}/socket"):
        drive(run())


def test_tls_needs_a_trusted_certificate(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    file = str(make_certificate(tmp_path))
    port = free_port()
    url = parse_url(f"rediss://127.0.0.1:{port}")

    async def use() -> None:
        connection = await connect(url, CAP)
        assert await connection.send(("PING",)) == b"PONG"
        await connection.close("enough")

    # fmt: off
    settings = (
        "--tls-port", str(port), "--tls-cert-file", file, "--tls-key-file", file,
        "--tls-auth-clients", "no",
    )
    # fmt: on
    with running_redis(tmp_path, *settings):
        assert "certificate verify failed" in drive(refusal(url)).lower().replace("_", " ")
        monkeypatch.setenv("SSL_CERT_FILE", file)
        drive(use())


def test_an_unusable_address_is_refused_with_the_reason() -> None:
    refused = RedisUrl(port=free_port())
    assert drive(refusal(refused)).startswith(f"cannot connect to {refused}: ")
    assert "a..b" in drive(refusal(RedisUrl("a..b")))


def test_a_server_that_does_not_answer_is_given_up(monkeypatch: pytest.MonkeyPatch) -> None:
    with socket.create_server(("127.0.0.1", 0)) as silent:
        url = RedisUrl(port=silent.getsockname()[1])
        assert drive(refusal(url, timeout=0.05)) == f"{url} does not answer"


@pytest.mark.parametrize(
    ("said", "reason"),
    [
        (b"HTTP/1.1 400 Bad Request\r\n\r\n", "not in the Redis protocol"),
        (b"+OK\r\n+OK\r\n", "unexpected answer"),
        (b"", "closed by Redis"),
    ],
)
def test_a_server_that_does_not_speak_the_protocol_is_left(said: bytes, reason: str) -> None:
    async def run() -> None:
        problems: list[dict[str, Any]] = []
        asyncio.get_running_loop().set_exception_handler(lambda _, each: problems.append(each))

        def answer(writer: asyncio.StreamWriter) -> None:
            writer.write(said)
            if not said:
                writer.close()

        async with fake_redis(answer) as url:
            try:
                connection = await connect(url, CAP)
                await connection.closed
                assert reason in connection.reason
            except StoreError as error:
                assert reason in error.reason
        assert not problems

    drive(run())


@pytest.mark.parametrize("fails", [True, False], ids=["a failed", "a cancelled"])
def test_an_attempt_closes_its_connection(fails: bool, redis_server: RedisServer) -> None:
    async def run() -> None:
        seen: list[RedisConnection] = []
        started = asyncio.Event()

        async def prepare(connection: RedisConnection) -> None:
            seen.append(connection)
            started.set()
            if fails:
                raise StoreError("not this one")
            await asyncio.Event().wait()

        task = asyncio.create_task(connect(parse_url(redis_server.url), CAP, prepare))
        await started.wait()
        await settle()
        task.cancel()
        with pytest.raises((StoreError, asyncio.CancelledError)):
            await task
        await seen[0].closed

    drive(run())


def test_all_answers_of_a_failed_login_are_looked_at(tmp_path: Path) -> None:
    """Retrieve the exceptions; otherwise asyncio logs them as never retrieved."""

    async def run(port: int) -> list[Any]:
        problems: list[Any] = []
        asyncio.get_running_loop().set_exception_handler(lambda _, each: problems.append(each))
        await refusal(parse_url(f"redis://:no@127.0.0.1:{port}/2"))
        return problems

    with running_redis(tmp_path, "--requirepass", "secret") as server:
        assert drive(run(server.port)) == []
