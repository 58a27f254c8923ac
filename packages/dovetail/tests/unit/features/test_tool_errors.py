"""Exceptions that `Options.tool_errors` lists reach the model with their text."""

from __future__ import annotations

import asyncio
from dataclasses import dataclass
from typing import Any

import pytest

from dovetail import Client, Context, Depends, Options, Server, ToolError, ToolResult, UsageError
from dovetail.middleware import CallNext, CallTool


@dataclass
class Form:
    name: str


def provide() -> int:
    raise ValueError("of the provider")


def make_server(seen: list[Exception]) -> Server:
    async def watch(request: CallTool, call_next: CallNext[ToolResult]) -> ToolResult:
        try:
            return await call_next(request)
        except ToolError as error:
            seen.append(error)
            raise

    options = Options(tool_errors=(ValueError, LookupError))
    server = Server("s", options=options, middleware=[watch])

    @server.tool
    async def later() -> str:
        await asyncio.sleep(0)
        raise ValueError("later")

    @server.tool
    def threaded() -> str:
        raise ValueError("threaded")

    @server.tool(blocking=False)
    def inline() -> str:
        raise KeyError

    @server.tool
    def depends(value: int = Depends(provide)) -> str:
        return ""

    @server.tool
    def other() -> str:
        raise TypeError("secret")

    @server.resource("a://b")
    def resource() -> str:
        raise ValueError("secret")

    return server


@pytest.mark.parametrize("mode", ["2025-11-25", "2026-07-28"])
def test_the_text_is_sent(mode: str) -> None:
    seen: list[Exception] = []
    server = make_server(seen)

    async def main() -> None:
        async with Client(server, mode=mode) as client:
            for name, text in {
                "later": "later",
                "threaded": "threaded",
                "inline": "KeyError",
                "depends": "of the provider",
            }.items():
                result = await client.call(name)
                assert (result.is_error, result.text) == (True, text)
            assert "reference" in (await client.call("other")).text
            with pytest.raises(Exception, match="reference"):
                await client.read("a://b")

    asyncio.run(main())
    assert len(seen) == 4 and isinstance(seen[0].__cause__, ValueError)


@pytest.mark.parametrize("mode", ["2025-11-25", "2026-07-28"])
def test_all_exceptions_may_be_listed(mode: str) -> None:
    server = Server("s", options=Options(tool_errors=(Exception,)))

    @server.tool
    async def ask(ctx: Context) -> str:
        answer = await ctx.elicit("Who?", Form)
        return answer.data.name if answer.data else answer.action

    @server.tool
    async def fail(ctx: Context) -> None:
        raise ToolError("own")

    async def main() -> None:
        async with Client(server, mode=mode, elicit=lambda request: {"name": "Ann"}) as client:
            assert (await client.call("ask")).text == "Ann"
            assert (await client.call("fail")).text == "own"

    asyncio.run(main())


@pytest.mark.parametrize(
    "wrong", [ValueError, (1,), [ValueError], (BaseException,), ("ValueError",)]
)
def test_what_is_no_tuple_of_exceptions_is_refused(wrong: Any) -> None:
    with pytest.raises(UsageError, match=r"must be a tuple of exception classes, such as"):
        Options(tool_errors=wrong)


def test_names_that_other_frameworks_use() -> None:
    server = Server("s")

    @server.tool
    async def work(ctx: Context) -> str:
        await ctx.report_progress(1, 2, "half")
        await ctx.debug("a")
        await ctx.info("b", step=1)
        await ctx.warning("c", logger="own")
        await ctx.error("d")
        return ""

    async def main() -> None:
        logs: list[tuple[str, Any]] = []
        progress = []
        async with Client(
            server, mode="2025-11-25", on_log=lambda log: logs.append((log.level, log.data))
        ) as client:
            await client.set_log_level("debug")
            await client.call("work", progress=lambda update: progress.append(update.message))
        assert progress == ["half"]
        assert logs == [
            ("debug", "a"),
            ("info", {"message": "b", "step": 1}),
            ("warning", "c"),
            ("error", "d"),
        ]

    asyncio.run(main())
