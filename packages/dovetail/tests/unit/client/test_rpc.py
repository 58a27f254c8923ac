"""JSON-RPC requests and responses of a client: timeouts, cancellation, unexpected messages."""

from __future__ import annotations

import asyncio
import math
from typing import Any

import pytest

from dovetail.client import Client
from dovetail.errors import InternalError, MethodNotFoundError, PeerError, RpcError, TransportError
from tests.patience import CAP, pass_time
from tests.peers.scripted import DISCOVERED, INITIALIZED, Script, ScriptedServer, run

DONE = {"content": [{"type": "text", "text": "done"}]}


def modern(script: Script) -> ScriptedServer:
    return ScriptedServer({"server/discover": DISCOVERED, **script})


async def call(server: ScriptedServer, **options: Any) -> str:
    async with Client(server) as client:
        return (await client.call("tool", **options)).text


def test_a_timeout_cancels_the_request() -> None:
    server = modern({})

    async def wait() -> None:
        async with Client(server) as client:
            with pytest.raises(TimeoutError, match=r"did not answer tools/call within 0\.01 s"):
                await client.call("tool", timeout=0.01)
            cancelled = await server.until_method("notifications/cancelled")
            assert cancelled["params"]["requestId"] == server.last("tools/call")["id"]

    run(wait())


async def _wait_with_progress(
    server: ScriptedServer, seconds: list[float], last: float = 1100
) -> None:
    """Call with a limit of 1000 s; progress arrives when so much time has passed, then nothing."""
    reported = asyncio.Event()
    async with Client(server) as client:
        waiting = asyncio.ensure_future(
            client.call("tool", timeout=1000, progress=lambda _: reported.set())
        )
        asked = await server.until_method("tools/call")
        token = asked["params"]["_meta"]["progressToken"]
        for number, passed in enumerate(seconds, 1):
            pass_time(passed)
            params = {"progressToken": token, "progress": number}
            server.tell("notifications/progress", params)
            await reported.wait()
            reported.clear()
        pass_time(last)
        async with asyncio.timeout(CAP):
            await waiting


def test_progress_starts_the_time_limit_again() -> None:
    with pytest.raises(TimeoutError, match=r"within 1000 s of its last progress$"):
        # Not `run`, whose own limit would end it.
        asyncio.run(_wait_with_progress(modern({}), [900, 900, 900]))


def test_progress_does_not_extend_the_time_limit_for_ever() -> None:
    # An hour has almost passed: what is left of it is less than the limit.
    with pytest.raises(TimeoutError, match="within 1000 s of its last progress"):
        asyncio.run(_wait_with_progress(modern({}), [900, 900, 900, 800], last=200))


def test_a_timeout_error_shows_unexpected_messages() -> None:
    server = modern({})

    async def wait() -> None:
        async with Client(server) as client:
            server.say_raw(b"Listening on port 80")
            await client.call("tool", timeout=0.01)

    with pytest.raises(TimeoutError, match="it sent instead: Listening on port 80"):
        run(wait())


def test_cancelling_a_task_cancels_its_request() -> None:
    server = modern({})

    async def give_up() -> None:
        async with Client(server) as client:
            waiting = asyncio.ensure_future(client.call("tool"))
            request = await server.until_method("tools/call")
            waiting.cancel()
            with pytest.raises(asyncio.CancelledError):
                await waiting
            cancelled = await server.until_method("notifications/cancelled")
            assert cancelled["params"]["requestId"] == request["id"]

    run(give_up())


def test_initialize_is_never_cancelled() -> None:
    server = ScriptedServer({})

    async def wait() -> None:
        with pytest.raises(TimeoutError):
            async with Client(server, mode="legacy", timeout=0.01):
                pytest.fail("was opened")

    run(wait())
    assert server.methods() == ["initialize"]


def test_late_and_duplicate_responses_are_ignored() -> None:
    server = modern({"prompts/get": {"messages": []}})

    async def wait() -> None:
        async with Client(server, timeout=CAP) as client:
            with pytest.raises(TimeoutError):
                await client.call("tool", timeout=0.01)
            late = server.last("tools/call")["id"]
            server.say({"id": late, "result": DONE})
            server.say({"id": "never asked", "result": {}})
            await client.get_prompt("p")

    run(wait())


def test_a_request_may_wait_forever() -> None:
    assert run(call(modern({"tools/call": DONE}), timeout=math.inf)) == "done"


def test_progress_is_delivered_before_the_call_returns_and_only_to_its_call() -> None:
    def report(message: dict[str, Any]) -> dict[str, Any]:
        token = message["params"]["_meta"]["progressToken"]
        for progress in (1, 2.5):
            params = {"progressToken": token, "progress": progress, "total": 3, "message": "m"}
            server.tell("notifications/progress", params)
        server.tell("notifications/progress", {"progressToken": "else", "progress": 9})
        server.tell("notifications/progress", {"progressToken": token})
        return DONE

    server = modern({"tools/call": report})
    heard: list[tuple[float, float | None]] = []

    async def listen(progress: Any) -> None:
        await asyncio.sleep(0)
        heard.append((progress.progress, progress.total))

    assert run(call(server, progress=listen)) == "done"
    assert heard == [(1, 3), (2.5, 3)]


def test_an_exception_of_a_progress_callback_reaches_the_caller() -> None:
    def report(message: dict[str, Any]) -> dict[str, Any]:
        token = message["params"]["_meta"]["progressToken"]
        server.tell("notifications/progress", {"progressToken": token, "progress": 1})
        return DONE

    def fail(_: object) -> None:
        raise LookupError("no screen")

    server = modern({"tools/call": report})
    with pytest.raises(LookupError, match="no screen"):
        run(call(server, progress=fail))


@pytest.mark.parametrize(
    ("error", "kind"),
    [
        (MethodNotFoundError("x"), MethodNotFoundError),
        (InternalError("x", {"a": 1}), InternalError),
        (RpcError("x", [1], code=77), RpcError),
    ],
)
def test_an_error_becomes_its_exception(error: RpcError, kind: type[RpcError]) -> None:
    with pytest.raises(kind) as caught:
        run(call(modern({"tools/call": error})))
    assert (caught.value.code, caught.value.message, caught.value.data) == (
        error.code,
        "x",
        error.data,
    )


@pytest.mark.parametrize(
    ("answer", "problem"),
    [
        ({"error": {"code": "x", "message": "m"}}, "is not valid JSON-RPC"),
        ({"error": "no"}, "is not valid JSON-RPC"),
        ({}, "is not valid JSON-RPC"),
    ],
)
def test_an_invalid_response_raises_peer_error(answer: dict[str, Any], problem: str) -> None:
    def reply(message: dict[str, Any]) -> None:
        server.say({"id": message["id"], **answer})

    server = modern({"tools/call": reply})
    with pytest.raises(PeerError, match=problem):
        run(call(server))


def test_an_error_without_an_id_answers_the_only_pending_request() -> None:
    def reply(_: dict[str, Any]) -> None:
        server.say({"id": None, "error": {"code": -32700, "message": "Parse error"}})

    server = modern({"tools/call": reply})
    with pytest.raises(RpcError, match="Parse error"):
        run(call(server))


def test_a_batch_of_responses_is_split() -> None:
    def reply(message: dict[str, Any]) -> None:
        log = b'{"jsonrpc":"2.0","method":"notifications/message"}'
        done = b'{"jsonrpc":"2.0","id":%d,"result":{"content":[]}}' % message["id"]
        server.say_raw(b"[%b,%b]" % (log, done))

    answers: Script = {
        "initialize": {**INITIALIZED, "protocolVersion": "2025-03-26"},
        "tools/call": reply,
    }
    server = ScriptedServer(answers)

    async def call_it() -> str:
        async with Client(server, mode="2025-03-26") as client:
            return (await client.call("tool")).text

    assert run(call_it()) == ""


def test_pending_requests_fail_when_the_client_closes() -> None:
    server = modern({})

    async def close() -> None:
        async with Client(server) as client:
            waiting = asyncio.ensure_future(client.call("tool"))
            await server.until_method("tools/call")
        with pytest.raises(TransportError, match="The client is closed"):
            await waiting

    run(close())
