"""What is asked before there is a task."""

from __future__ import annotations

from typing import Any

import pytest

from dovetail import Context, Options, Server
from dovetail.errors import UsageError
from dovetail.features.handlers import inspect_handler
from dovetail.tasks.tools import inspect_pre_task
from tests.unit.fakes import make_call
from tests.unit.talk import LEGACY, MODERN, answer, run

FORM: dict[str, Any] = {"type": "object", "properties": {"n": {"type": "integer"}}}


async def tool(wall: str, colour: str, ctx: Context) -> str:
    return wall


async def pre_task(colour: str, ctx: Context) -> None: ...


async def without_context(colour: str) -> None: ...


def not_async(ctx: Context) -> None: ...


async def stranger(size: int, ctx: Context) -> None: ...


def test_it_gets_the_arguments_that_it_names() -> None:
    found = inspect_pre_task(pre_task, inspect_handler(tool, kind="tool"))
    arguments = found.arguments(make_call(), {"wall": "w", "colour": "c"})
    assert arguments.keys() == {"colour", "ctx"}
    assert found.handler.function is pre_task


@pytest.mark.parametrize(
    ("function", "text"),
    [
        (without_context, "an async function with a Context"),
        (not_async, "an async function with a Context"),
        (stranger, "takes size, which is not a parameter of the tool"),
    ],
)
def test_what_cannot_stand_before_a_tool_is_refused(function: Any, text: str) -> None:
    with pytest.raises(UsageError, match=text):
        inspect_pre_task(function, inspect_handler(tool, kind="tool"))


@pytest.mark.parametrize("revision", [LEGACY, MODERN])
def test_one_that_does_not_ask_is_run_before_every_call(revision: str) -> None:
    server = Server("s", options=Options(state="memory://"))
    ran: list[str] = []

    async def first(ctx: Context) -> None:
        ran.append("first")

    @server.tool(task="optional", before_task=first)
    async def second(size: int, ctx: Context) -> str:
        ran.append("second")
        return "done"

    def result(arguments: dict[str, Any]) -> dict[str, Any]:
        params = {"name": "second", "arguments": arguments}
        response = run(answer(server, "tools/call", params, revision=revision))
        found: dict[str, Any] = response["result"]
        return found

    assert result({"size": 1})["content"][0]["text"] == "done"
    assert ran == ["first", "second"]
    assert result({"size": "x"})["isError"] is True
    assert ran == ["first", "second"]
