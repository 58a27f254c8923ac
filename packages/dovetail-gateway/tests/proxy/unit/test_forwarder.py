"""Forwarding: who the caller is, what is repeated, and what is not."""

from __future__ import annotations

from typing import Any

import pytest

from dovetail import Client, Options, Proxy
from dovetail.client.channel import Channel
from dovetail.client.targets import MemoryChannel
from dovetail.eras.legacy.session import LegacySession
from dovetail.errors import AccessDeniedError, RpcError, TransportError, UnreachableError
from dovetail.spec.revisions import LATEST_LEGACY
from dovetail_gateway.forwarder import Forwarder
from tests.peers.scripted import DISCOVERED, ScriptedServer, run
from tests.unit.fakes import in_session, make_call

SCRIPT: dict[str, Any] = {
    "server/discover": DISCOVERED,
    "tools/list": {"resultType": "complete", "tools": []},
    "tools/call": {"resultType": "complete", "content": []},
}


def make_forwarder() -> Forwarder:
    return Forwarder(None, Options(), {}, 1)  # type: ignore[arg-type]


def test_the_caller_is_the_session_or_else_the_call() -> None:
    forwarder = make_forwarder()
    session = LegacySession(LATEST_LEGACY, None, {"roots": {}}, None)
    calls = [make_call(), make_call(), make_call()]
    for call in calls[:2]:
        in_session(call, session)
    one, two, three = (forwarder.caller_of(call).key for call in calls)
    assert one is two
    assert three is calls[2]


class Flaky(MemoryChannel):
    """Fails when a given method is sent."""

    def __init__(self, server: Any, failures: list[tuple[bytes, Exception]]) -> None:
        super().__init__(server)
        self._failures = failures

    async def send(self, data: bytes) -> None:
        for failure in self._failures:
            method, error = failure
            if method in data:
                self._failures.remove(failure)
                raise error
        await super().send(data)


def called(
    monkeypatch: pytest.MonkeyPatch, method: str, *failures: tuple[bytes, Exception]
) -> tuple[ScriptedServer, Any]:
    """What the upstream heard and the client got if the connection fails like this."""
    server = ScriptedServer(SCRIPT)
    left = list(failures)

    def open_flaky(target: Any, **_: Any) -> Channel:
        return Flaky(target, left)

    monkeypatch.setattr("dovetail_gateway.proxy.open_target", open_flaky)

    async def scenario() -> Any:
        proxy = Proxy(server, name="shop")
        try:
            async with Client(proxy, mode="modern") as client:
                return await client.request(method, {"name": "t"} if "call" in method else None)
        except RpcError as error:
            return error
        finally:
            await proxy.close()

    return server, run(scenario())


def test_a_tool_that_may_have_run_is_not_called_again(monkeypatch: pytest.MonkeyPatch) -> None:
    server, got = called(monkeypatch, "tools/call", (b"tools/call", TransportError("cut off")))
    assert got["isError"]
    assert "'shop' is unavailable: cut off" in got["content"][0]["text"]
    assert "tools/call" not in server.methods()


@pytest.mark.parametrize(
    ("method", "error"),
    [
        ("tools/list", TransportError("cut off")),
        ("tools/call", UnreachableError("refused")),
        ("tools/call", AccessDeniedError("401")),
    ],
)
def test_what_is_safe_is_sent_again_once(
    monkeypatch: pytest.MonkeyPatch, method: str, error: Exception
) -> None:
    server, got = called(monkeypatch, method, (method.encode(), error))
    assert got["resultType"] == "complete"
    assert server.methods().count(method) == 1
    is_denied = isinstance(error, AccessDeniedError)
    assert server.connections == (2 if is_denied else 1)
    twice = [(method.encode(), error), (method.encode(), error)]
    _, got = called(monkeypatch, method, *twice)
    assert isinstance(got, RpcError) or got["isError"]
