"""The result cache: which calls share a result, how long, and what is never kept."""

from __future__ import annotations

from typing import Any

import pytest

from dovetail import Context, Middleware, Server, ToolAnnotations, ToolError, ToolResult
from dovetail.core.principal import Principal
from dovetail.errors import UsageError
from dovetail.middleware import ResultCache
from dovetail.testing import connect
from tests.unit.talk import ERAS, LEGACY, MODERN, OLDEST, call, refusal, run, text_of

READS = ToolAnnotations(read_only_hint=True)


class Clock:
    now = 0.0

    def __call__(self) -> float:
        return self.now


def make_server(cache: ResultCache, **how: Any) -> tuple[Server, list[str]]:
    server = Server("s", middleware=[cache], **how)
    runs: list[str] = []

    @server.tool(annotations=READS)
    async def read(key: str = "") -> dict[str, int]:
        runs.append(f"read {key}")
        return {"runs": len(runs)}

    @server.tool
    async def write(key: str = "") -> str:
        runs.append("write")
        return str(len(runs))

    @server.tool(annotations=READS)
    async def fail() -> str:
        runs.append("fail")
        raise ToolError("no")

    @server.tool(annotations=READS)
    async def complain() -> ToolResult:
        runs.append("complain")
        return ToolResult("no", is_error=True)

    @server.tool(annotations=READS, scopes={"deep"})
    async def secret() -> str:
        runs.append("secret")
        return "secret"

    @server.tool(annotations=READS)
    async def long(size: int) -> str:
        runs.append("long")
        return "x" * size

    return server, runs


@pytest.mark.parametrize("revision", [OLDEST, LEGACY, MODERN])
def test_a_read_only_tool_runs_once_for_equal_arguments(revision: str) -> None:
    server, runs = make_server(ResultCache())
    first = call(server, "read", {"key": "a"}, revision=revision)
    assert call(server, "read", {"key": "a"}, revision=revision) == first
    call(server, "read", {"key": "b"}, revision=revision)
    assert runs == ["read a", "read b"]


def test_revisions_have_their_own_results() -> None:
    server, runs = make_server(ResultCache())
    assert "structuredContent" not in call(server, "read", revision=OLDEST)
    assert "structuredContent" in call(server, "read", revision=LEGACY)
    assert len(runs) == 2


def test_tools_that_write_and_errors_are_not_cached() -> None:
    server, runs = make_server(ResultCache())
    for _ in range(2):
        call(server, "write")
        call(server, "fail")
        call(server, "complain")
    assert sorted(runs) == ["complain", "complain", "fail", "fail", "write", "write"]


def test_a_result_expires() -> None:
    clock = Clock()
    server, runs = make_server(ResultCache(10, clock=clock))
    for clock.now in (0.0, 9.9, 10.0, 15.0):
        call(server, "read")
    assert len(runs) == 2


@pytest.mark.parametrize(
    ("one", "other", "shared"),
    [
        (Principal("a"), Principal("a"), True),
        (Principal("a"), Principal("b"), False),
        (Principal("a"), None, False),
        (Principal("a"), Principal("a", ["deep"]), False),
        (Principal("a"), Principal("a", trusted=True), False),
        (Principal("a", claims={"tenant": 1}), Principal("a", claims={"tenant": 2}), False),
        (Principal("a", claims={"exp": 1}), Principal("a", claims={"exp": 2}), True),
    ],
)
def test_callers_do_not_share_results(one: Any, other: Any, shared: bool) -> None:
    server, runs = make_server(ResultCache())
    call(server, "read", principal=one)
    call(server, "read", principal=other)
    assert len(runs) == (1 if shared else 2)


def test_a_hidden_tool_stays_hidden() -> None:
    server, _ = make_server(ResultCache())
    assert text_of(call(server, "secret", principal=Principal("a", ["deep"]))) == "secret"
    for principal in (Principal("a"), Principal("b"), None):
        error = refusal(server, "tools/call", {"name": "secret"}, principal=principal)
        assert "Unknown tool" in error["message"]


def test_the_oldest_results_are_dropped() -> None:
    server, runs = make_server(ResultCache(max_entries=2))
    for key in ("a", "b", "a", "c", "a", "b"):
        call(server, "read", {"key": key})
    assert runs == ["read a", "read b", "read c", "read b"]


def test_bytes_are_bounded() -> None:
    cache = ResultCache(max_bytes=5000)
    server, runs = make_server(cache)
    for size in (2000, 2001, 2002, 9000, 9000, 2000):
        call(server, "long", {"size": size})
    assert len(runs) == 6
    assert cache._size <= 5000 and len(cache._entries) == 2


def test_named_tools_are_cached_instead() -> None:
    server, runs = make_server(ResultCache(tools=["write"]))
    for _ in range(2):
        call(server, "write")
        call(server, "read")
    assert runs == ["write", "read ", "read "]


def test_clear_forgets_everything() -> None:
    cache = ResultCache()
    server, runs = make_server(cache)
    call(server, "read")
    cache.clear()
    call(server, "read")
    assert len(runs) == 2


def test_a_cached_result_cannot_be_changed_from_outside() -> None:
    class Change(Middleware):
        async def call_tool(self, request: Any, call_next: Any) -> Any:
            result = await call_next(request)
            result.structured["runs"] = -1
            result.content.clear()
            return result

    cache = ResultCache()
    outer = Server("outer", middleware=[Change(), cache])

    @outer.tool(annotations=READS)
    async def read() -> dict[str, int]:
        return {"runs": 7}

    for _ in range(3):
        assert call(outer, "read")["structuredContent"] == {"runs": -1}
    [kept] = cache._entries.values()
    assert kept.result.structured == {"runs": 7}


def test_tools_of_mounted_servers_are_cached() -> None:
    inner = Server("inner")
    runs: list[int] = []

    @inner.tool(annotations=READS)
    async def read() -> str:
        runs.append(1)
        return "x"

    outer = Server("outer", middleware=[ResultCache()])
    outer.mount(inner, prefix="in")
    for _ in range(2):
        assert text_of(call(outer, "in_read")) == "x"
    assert len(runs) == 1


@pytest.mark.parametrize("mode", ERAS)
def test_questions_are_asked_every_time_until_there_is_a_result(mode: str) -> None:
    server = Server("s", middleware=[ResultCache()])
    asked: list[str] = []

    @server.tool(annotations=READS)
    async def greet(ctx: Context) -> str:
        answer = await ctx.elicit("Name?", {"type": "object", "properties": {"name": {}}})
        return str(answer.data)

    async def name(_: Any) -> dict[str, str]:
        asked.append("name")
        return {"name": "Anna"}

    async def scenario() -> None:
        async with connect(server, mode=mode, elicit=name) as client:
            for _ in range(2):
                assert (await client.call("greet")).text == "{'name': 'Anna'}"

    run(scenario())
    assert asked == ["name"]


@pytest.mark.parametrize("wrong", [{"ttl": 0}, {"max_entries": 0}, {"max_bytes": 0}])
def test_limits_are_positive(wrong: dict[str, Any]) -> None:
    with pytest.raises(UsageError, match="ResultCache needs"):
        ResultCache(**wrong)


def test_tools_is_a_collection() -> None:
    with pytest.raises(UsageError, match="a collection of names, got 'read'"):
        ResultCache(tools="read")
