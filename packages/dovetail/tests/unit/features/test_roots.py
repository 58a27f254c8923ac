"""The client's folders."""

from __future__ import annotations

from typing import Any

import pytest

from dovetail import Context, Server
from tests.unit.talk import LEGACY, MODERN, Json, Wire, complaint_of, run, text_of


def server_with_roots() -> Server:
    server = Server("s")

    @server.tool
    async def roots(ctx: Context) -> str:
        return " ".join(f"{root.uri}={root.name}" for root in await ctx.roots(key="folders"))

    return server


def exchange(reply: Any, revision: str) -> Json:
    async def scenario() -> Json:
        wire = await Wire(server_with_roots(), revision, {"roots": {}}).open()
        if revision == MODERN:
            first = (await wire.call("roots"))["result"]
            assert first["inputRequests"] == {"folders": {"method": "roots/list"}}
            params = {
                "name": "roots",
                "arguments": {},
                "requestState": first["requestState"],
                "inputResponses": {"folders": reply},
            }
            response = await wire.ask("tools/call", params)
        else:
            id = wire.put_call("roots")
            question = await wire.asked("roots/list")
            assert "params" not in question
            wire.reply(question["id"], reply)
            response = await wire.response(id)
        await wire.connection.close()
        return response

    return run(scenario())


@pytest.mark.parametrize("revision", [LEGACY, MODERN])
def test_roots_come_with_their_names(revision: str) -> None:
    reply = {"roots": [{"uri": "file:///a", "name": "A"}, {"uri": "file:///b"}]}
    result = exchange(reply, revision)["result"]
    assert text_of(result) == "file:///a=A file:///b=None"


@pytest.mark.parametrize("revision", [LEGACY, MODERN])
@pytest.mark.parametrize("reply", [{}, {"roots": [{}]}, {"roots": {"uri": "file:///a"}}])
def test_what_is_no_list_of_roots_is_refused(revision: str, reply: Any) -> None:
    complaint = complaint_of(exchange(reply, revision), revision)
    assert "The answer to 'folders' is no list of roots" in complaint
