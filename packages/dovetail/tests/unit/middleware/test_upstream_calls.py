"""Retries and circuit breakers around tools that call other services."""

from __future__ import annotations

from typing import Any

import pytest

from dovetail import Proxy, Server, ToolError
from dovetail.errors import RpcError, UpstreamError, UsageError
from dovetail.middleware import CircuitBreaker, Retry, upstream_calls
from dovetail.testing import connect
from tests.unit.talk import ERAS, ask, call, refusal, run, text_of


class Service:
    """Fails some times, then answers."""

    def __init__(self, failures: int, error: Exception | None = None) -> None:
        self.failures = failures
        self.error = error or ConnectionError("refused")
        self.calls = 0

    def __call__(self) -> str:
        self.calls += 1
        if self.calls <= self.failures:
            raise self.error
        return "ok"


def make_server(service: Service, *middleware: Any) -> Server:
    server = Server("s", middleware=middleware)

    @server.tool(annotations={"readOnlyHint": True})
    async def read() -> str:
        return service()

    @server.tool(annotations={"idempotentHint": True})
    async def put() -> str:
        return service()

    @server.tool
    async def post() -> str:
        return service()

    @server.prompt
    async def prompt() -> str:
        return service()

    @server.resource("notes://a")
    async def note() -> str:
        return service()

    return server


@pytest.mark.parametrize("revision", ERAS)
@pytest.mark.parametrize("name", ["read", "put"])
def test_tools_that_may_be_repeated_are_retried(revision: str, name: str) -> None:
    service = Service(2)
    server = make_server(service, Retry(3, pause=0))
    assert text_of(call(server, name, revision=revision)) == "ok"
    assert service.calls == 3


def test_prompts_and_resources_are_retried() -> None:
    server = make_server(Service(1), Retry(pause=0))
    assert ask(server, "prompts/get", {"name": "prompt"})["messages"]
    server = make_server(Service(1), Retry(pause=0))
    assert ask(server, "resources/read", {"uri": "notes://a"})["contents"]


def test_other_tools_are_called_once() -> None:
    service = Service(1)
    assert call(make_server(service, Retry(pause=0)), "post")["isError"] is True
    assert service.calls == 1
    service = Service(1)
    assert text_of(call(make_server(service, Retry(pause=0, tools=["post"])), "post")) == "ok"


def test_other_errors_are_not_retried() -> None:
    service = Service(1, ToolError("wrong city"))
    assert text_of(call(make_server(service, Retry(pause=0)), "read")) == "wrong city"
    assert service.calls == 1


def test_the_last_error_is_reported() -> None:
    service = Service(9, UpstreamError("weather", "is unavailable"))
    result = call(make_server(service, Retry(2, pause=0)), "read")
    assert text_of(result) == "The upstream server 'weather' is unavailable"
    assert service.calls == 2


def test_settings_are_checked() -> None:
    with pytest.raises(UsageError, match="attempts >= 1"):
        Retry(0)
    with pytest.raises(UsageError, match="failures >= 1"):
        CircuitBreaker(failures=0)


def test_an_open_circuit_answers_at_once_and_does_not_hurt_other_tools() -> None:
    service = Service(99)
    server = make_server(service, CircuitBreaker(failures=2))
    for _ in range(5):
        assert call(server, "read")["isError"] is True
    assert service.calls == 2
    assert text_of(call(server, "read")) == "read is unavailable; try again in 30 s"
    call(server, "put")
    assert service.calls == 3


def test_a_circuit_closes_after_a_rest() -> None:
    service = Service(2)
    server = make_server(service, CircuitBreaker(failures=2, rest=0))
    for _ in range(2):
        assert call(server, "read")["isError"] is True
    assert text_of(call(server, "read")) == "ok"


def test_groups_share_a_circuit() -> None:
    service = Service(99)
    server = make_server(service, CircuitBreaker(failures=1, group=lambda name: "weather"))
    call(server, "read")
    assert text_of(call(server, "put")).startswith("weather is unavailable")
    error = refusal(server, "prompts/get", {"name": "prompt"})
    assert "weather is unavailable" in error["message"]
    error = refusal(server, "resources/read", {"uri": "notes://a"})
    assert "weather is unavailable" in error["message"]
    assert service.calls == 1


def test_unknown_names_neither_count_nor_fill_the_memory() -> None:
    breaker = CircuitBreaker(failures=1)
    server = make_server(Service(1), breaker)
    call(server, "read")
    for number in range(1100):
        refusal(server, "tools/call", {"name": f"t{number}"})
    assert len(breaker._circuits) <= 1000
    assert "unavailable" in text_of(call(server, "read"))


def test_circuits_that_failed_are_bounded_too(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(upstream_calls, "_MOST_CIRCUITS", 20)
    breaker = CircuitBreaker(failures=1)
    server = Server("s", middleware=[breaker])

    @server.resource("notes://{number}")
    async def note(number: int) -> str:
        raise ConnectionError("refused")

    async def scenario() -> None:
        async with connect(server, mode="2026-07-28") as client:
            for number in range(25):
                with pytest.raises(RpcError):
                    await client.read(f"notes://{number}")

    run(scenario())
    assert len(breaker._circuits) == 20


def test_a_breaker_inside_a_retry_counts_each_attempt() -> None:
    service = Service(99)
    server = make_server(service, Retry(5, pause=0), CircuitBreaker(failures=3))
    assert "unavailable" in text_of(call(server, "read"))
    assert service.calls == 3


def test_a_proxy_whose_upstream_is_unavailable_opens_a_circuit() -> None:
    outer = Server("outer", middleware=[CircuitBreaker(failures=1)])
    outer.mount(Proxy(["/nonexistent/command"]), prefix="up")
    first, second = call(outer, "up_tool"), call(outer, "up_tool")
    assert "upstream" in text_of(first)
    assert text_of(second).startswith("up_tool is unavailable")
