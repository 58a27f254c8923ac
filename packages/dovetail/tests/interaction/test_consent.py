"""A consent counts for the question that the user saw, and once: a real server in a process."""

from __future__ import annotations

import asyncio
import sys
from pathlib import Path
from typing import Any

import httpx

from dovetail.client import Client, ElicitRequest, ElicitResponse
from dovetail.spec.keys import CLIENT_CAPABILITIES, PROTOCOL_VERSION
from tests.driving import serving_http
from tests.patience import CAP

SERVER = [sys.executable, "-m", "dovetail", "run", str(Path(__file__).with_name("cashier.py"))]
AGREED = {"action": "accept", "content": {"agreed": True}}


def test_a_user_is_asked_again_when_the_question_changes() -> None:
    asked: list[str] = []

    async def answer(request: ElicitRequest) -> ElicitResponse:
        asked.append(request.message)
        return ElicitResponse("accept", {"agreed": len(asked) == 1})

    async def run() -> None:
        async with Client(SERVER, mode="modern", timeout=CAP, elicit=answer) as client:
            assert (await client.call("pay")).text == "did not pay 1000"
            assert (await client.call("list_payments")).data == []

    asyncio.run(run())
    assert asked == ["Pay 1 EUR?", "Pay 1000 EUR?"]


class Wire:
    """Sends requests of 2026-07-28 as they are given."""

    def __init__(self, url: str, client: httpx.AsyncClient) -> None:
        self._url = url
        self._client = client

    async def call(self, name: str, **params: Any) -> dict[str, Any]:
        meta = {
            PROTOCOL_VERSION: "2026-07-28",
            CLIENT_CAPABILITIES: {"elicitation": {"form": {}}},
        }
        message = {
            "jsonrpc": "2.0",
            "id": 1,
            "method": "tools/call",
            "params": {"name": name, "arguments": {}, **params, "_meta": meta},
        }
        headers = {
            "accept": "application/json, text/event-stream",
            "mcp-protocol-version": "2026-07-28",
            "mcp-method": "tools/call",
            "mcp-name": name,
        }
        reply = (await self._client.post(self._url, json=message, headers=headers)).json()
        result: dict[str, Any] = reply.get("result", reply)
        return result

    async def list_payments(self) -> list[int]:
        found: list[int] = (await self.call("list_payments"))["structuredContent"]
        return found


def read_question(result: dict[str, Any]) -> tuple[str, str]:
    """The key and the text of the only question of a result."""
    [(key, question)] = result["inputRequests"].items()
    return key, question["params"]["message"]


def test_an_answer_is_bound_to_its_question_and_used_once() -> None:
    async def run(wire: Wire) -> None:
        first = await wire.call("pay")
        key, text = read_question(first)
        assert text == "Pay 1 EUR?"
        # The question of the second run is another one.
        second = await wire.call(
            "pay", inputResponses={key: AGREED}, requestState=first["requestState"]
        )
        assert read_question(second) == (key, "Pay 1000 EUR?")
        assert await wire.list_payments() == []
        # An answer to a question that was not asked reaches no handler.
        unasked = await wire.call("pay", inputResponses={key: AGREED})
        assert read_question(unasked) == (key, "Pay 1000 EUR?")
        assert await wire.list_payments() == []
        last = {"inputResponses": {key: AGREED}, "requestState": second["requestState"]}
        assert (await wire.call("pay", **last))["content"][0]["text"] == "paid 1000"
        for _ in range(3):
            assert "content" not in await wire.call("pay", **last)
        assert await wire.list_payments() == [1000]

    async def serve() -> None:
        async with (
            asyncio.timeout(CAP),
            serving_http([*SERVER, "--http", "0"]) as [url],
            httpx.AsyncClient(timeout=CAP) as client,
        ):
            await run(Wire(url, client))

    asyncio.run(serve())
