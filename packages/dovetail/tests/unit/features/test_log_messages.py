"""Log messages: levels, who wants which, and payloads of every kind."""

from __future__ import annotations

import asyncio
import json
from typing import Any

import pytest

from dovetail import Context, Options, Server
from dovetail.errors import InvalidParamsError
from dovetail.features.log_messages import rank_of
from dovetail.spec import keys
from tests.patience import pass_time
from tests.unit.fakes import settle
from tests.unit.talk import ERAS, LEGACY, MODERN, Wire, call, run, text_of

LEVELS = ("debug", "info", "notice", "warning", "error", "critical", "alert", "emergency")


def logging_server(**options: Any) -> Server:
    server = Server("s", options=Options(**options))

    @server.tool
    async def speak(ctx: Context) -> str:
        for level in LEVELS:
            getattr(ctx.log, level)(f"a {level}")
        return "ok"

    return server


def levels_of(messages: list[dict[str, Any]]) -> list[str]:
    return [message["params"]["level"] for message in messages]


def test_levels_rank_from_debug_to_emergency() -> None:
    assert [rank_of(level) for level in LEVELS] == list(range(8))


@pytest.mark.parametrize("level", ["", "INFO", "trace", 3, None, ["info"]])
def test_other_levels_are_refused_with_those_there_are(level: Any) -> None:
    with pytest.raises(InvalidParamsError, match="is not a log level; levels are debug, info"):
        rank_of(level)


@pytest.mark.parametrize("wanted", LEVELS)
def test_a_legacy_session_gets_what_it_set_and_above(wanted: str) -> None:
    async def scenario() -> list[str]:
        wire = await Wire(logging_server()).open()
        await wire.ask("logging/setLevel", {"level": wanted})
        await wire.call("speak")
        await wire.connection.close()
        return levels_of(wire.heard("notifications/message"))

    assert run(scenario()) == list(LEVELS[LEVELS.index(wanted) :])


@pytest.mark.parametrize("mildest", ["debug", "info", "error"])
def test_a_legacy_session_that_set_nothing_gets_what_the_operator_says(mildest: str) -> None:
    async def scenario() -> list[str]:
        wire = await Wire(logging_server(log_level=mildest)).open()
        await wire.call("speak")
        await wire.connection.close()
        return levels_of(wire.heard("notifications/message"))

    assert run(scenario()) == list(LEVELS[LEVELS.index(mildest) :])


def test_a_modern_request_gets_what_its_meta_asks_for_and_nothing_without() -> None:
    sent: list[Any] = []
    server = logging_server()

    def send(message: bytes) -> None:
        sent.append(json.loads(message))

    call(server, "speak", revision=MODERN, send=send)
    assert sent == []
    call(server, "speak", revision=MODERN, send=send, meta={keys.LOG_LEVEL: "alert"})
    assert levels_of(sent) == ["alert", "emergency"]


class Opaque:
    def __str__(self) -> str:
        return "opaque thing"


@pytest.mark.parametrize(
    ("message", "options", "params"),
    [
        ("plain", {}, {"data": "plain"}),
        ({"a": 1}, {}, {"data": {"a": 1}}),
        ("with data", {"n": 1, "why": "x"}, {"data": {"message": "with data", "n": 1, "why": "x"}}),
        ("named", {"logger": "db"}, {"logger": "db", "data": "named"}),
        (Opaque(), {}, {"data": "opaque thing"}),
        ("\udc80.txt", {}, {"data": "\\udc80.txt"}),
        (None, {}, {"data": None}),
    ],
)
def test_payloads_of_every_kind_are_sent_and_none_brings_the_handler_down(
    message: Any, options: dict[str, Any], params: dict[str, Any]
) -> None:
    server = Server("s")

    @server.tool
    def speak(ctx: Context) -> str:
        ctx.log.warning(message, **options)
        return "ok"

    sent: list[Any] = []
    result = call(server, "speak", send=lambda m: sent.append(json.loads(m)), revision=LEGACY)
    assert "isError" not in result
    assert [m["params"] for m in sent] == [{"level": "warning", **params}]
    assert sent[0]["method"] == "notifications/message"


def test_a_value_that_holds_itself_is_shown_as_text() -> None:
    server = Server("s")

    @server.tool
    def speak(ctx: Context) -> str:
        loop: list[Any] = []
        loop.append(loop)
        ctx.log.info(loop)
        return "ok"

    sent: list[Any] = []
    call(server, "speak", send=lambda m: sent.append(json.loads(m)))
    assert sent[0]["params"]["data"] == "[[...]]"


@pytest.mark.parametrize("level", ["debug", "error"])
@pytest.mark.parametrize("revision", ERAS)
def test_a_tool_that_logs_is_not_idle(level: str, revision: str) -> None:
    async def scenario() -> str:
        server, steps, logged = Server("s"), asyncio.Queue[None](), asyncio.Queue[None]()

        @server.tool(idle_timeout=130.0)
        async def work(ctx: Context) -> str:
            for _ in range(2):
                await steps.get()
                # Also if the client does not want this level.
                getattr(ctx.log, level)("still here")
                logged.put_nowait(None)
            return "done"

        wire = await Wire(server, revision).open()
        id = wire.put_call("work")
        for _ in range(2):
            await settle()
            pass_time(100)
            await settle()
            steps.put_nowait(None)
            await logged.get()
        return text_of((await wire.response(id))["result"])

    assert run(scenario()) == "done"
