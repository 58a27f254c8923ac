"""A handler that asks, message by message: what is not asked, and what travels in `requestState`.

That both eras agree on what happened, on every transport, is in test_interaction.py.
"""

from __future__ import annotations

import asyncio
import json
from typing import Any

from dovetail import Context, Options, Server
from dovetail.spec.keys import CLIENT_CAPABILITIES, PROTOCOL_VERSION
from tests.interaction.agency import KEY, Agency, Consent, Destination
from tests.patience import CAP


def test_a_legacy_client_is_not_asked_for_what_it_has_not_declared() -> None:
    sent: list[dict[str, Any]] = []

    async def scenario() -> None:
        connection = Agency().server.connect(lambda raw: sent.append(json.loads(raw)))
        hello = {
            "protocolVersion": "2025-11-25",
            "capabilities": {"sampling": {}},
            "clientInfo": {"name": "c", "version": "1"},
        }
        call = {"name": "book", "arguments": {"traveller": "Ada"}}
        for message in (
            {"jsonrpc": "2.0", "id": 1, "method": "initialize", "params": hello},
            {"jsonrpc": "2.0", "method": "notifications/initialized"},
            {"jsonrpc": "2.0", "id": 2, "method": "tools/call", "params": call},
        ):
            connection.receive(json.dumps(message).encode())
        await connection.close(5)

    asyncio.run(scenario())
    assert [message["id"] for message in sent] == [1, 2]  # two answers and no request
    assert sent[1]["result"]["isError"] is True
    assert "supports elicitation (form)" in sent[1]["result"]["content"][0]["text"]


def test_a_modern_client_is_not_asked_for_what_it_has_not_declared() -> None:
    agency = Agency()
    message = json.loads(request(CALL))
    message["params"]["_meta"][CLIENT_CAPABILITIES] = {"sampling": {}}
    raw = asyncio.run(agency.server.handle(json.dumps(message)))
    assert raw is not None
    error = json.loads(raw)["error"]
    assert error["code"] == -32021
    assert error["data"] == {"requiredCapabilities": {"elicitation": {"form": {}}}}


# -- requestState --------------------------------------------------------------------------


def request(params: dict[str, Any], id: int = 1) -> bytes:
    meta = {
        PROTOCOL_VERSION: "2026-07-28",
        CLIENT_CAPABILITIES: {"elicitation": {"form": {}}, "sampling": {}},
    }
    message = {
        "jsonrpc": "2.0",
        "id": id,
        "method": "tools/call",
        "params": {**params, "_meta": meta},
    }
    return json.dumps(message).encode()


def send(agency: Agency, params: dict[str, Any], principal: str | None = None) -> dict[str, Any]:
    async def run() -> bytes | None:
        async with asyncio.timeout(CAP):
            return await agency.server.handle(request(params), principal=principal)

    raw = asyncio.run(run())
    assert raw is not None
    reply: dict[str, Any] = json.loads(raw)
    return reply


CALL = {"name": "book", "arguments": {"traveller": "Ada"}}
WHERE = {"where": {"action": "accept", "content": {"city": "Kyoto"}}}


def first_round(agency: Agency, principal: str | None = None) -> str:
    result = send(agency, CALL, principal)["result"]
    assert result["resultType"] == "input_required"
    assert list(result["inputRequests"]) == ["where"]
    state: str = result["requestState"]
    return state


def retry(state: str, **changes: Any) -> dict[str, Any]:
    return {**CALL, "inputResponses": WHERE, "requestState": state, **changes}


def test_a_state_takes_the_request_one_round_further() -> None:
    agency = Agency()
    result = send(agency, retry(first_round(agency)))["result"]
    assert list(result["inputRequests"]) == ["poem"]
    assert agency.reservations == ["Kyoto"]


def test_another_process_with_the_same_key_takes_the_request_over() -> None:
    state = first_round(Agency())
    other = Agency()
    assert list(send(other, retry(state))["result"]["inputRequests"]) == ["poem"]


def test_a_tampered_state_is_refused_before_the_handler_runs() -> None:
    agency = Agency()
    state = first_round(agency)
    assert send(agency, retry(state + "-TAMPERED"))["error"]["code"] == -32602
    assert send(agency, retry(state[:-2] + "AA"))["error"]["code"] == -32602
    assert agency.runs == 1


def test_an_expired_state_is_refused_and_the_client_is_told_so() -> None:
    agency = Agency(state_lifetime=1e-9)
    error = send(agency, retry(first_round(agency)))["error"]
    assert error["code"] == -32602
    assert "expired" in error["message"]


def test_a_state_is_refused_on_other_arguments() -> None:
    agency = Agency()
    state = first_round(agency)
    error = send(agency, retry(state, arguments={"traveller": "Eve"}))["error"]
    assert error["code"] == -32602


def test_a_state_is_refused_for_another_principal() -> None:
    agency = Agency()
    state = first_round(agency, "ada")
    assert send(agency, retry(state), "eve")["error"]["code"] == -32602
    assert send(agency, retry(state), None)["error"]["code"] == -32602
    assert "result" in send(agency, retry(state), "ada")


def test_missing_answers_are_asked_for_again() -> None:
    agency = Agency()
    result = send(agency, retry(first_round(agency), inputResponses={}))["result"]
    assert list(result["inputRequests"]) == ["where"]


def test_questions_asked_together_go_out_in_one_round() -> None:
    server = Server("survey", options=Options(state_keys=[KEY]))

    @server.tool
    async def both(ctx: Context) -> str:
        one, two = await asyncio.gather(
            ctx.elicit("Where?", Destination, key="a"), ctx.elicit("Sure?", Consent, key="b")
        )
        return f"{one.data} {two.data}"

    raw = asyncio.run(server.handle(request({"name": "both"})))
    assert raw is not None
    assert list(json.loads(raw)["result"]["inputRequests"]) == ["a", "b"]


def test_a_handler_cannot_swallow_the_end_of_its_run() -> None:
    server = Server("stubborn")

    @server.tool
    async def stubborn(ctx: Context) -> str:
        try:
            await ctx.elicit("Where?", Destination)
        except Exception:  # noqa: BLE001 - what authors write
            return "swallowed"
        finally:
            await asyncio.sleep(0)
        return "answered"

    raw = asyncio.run(server.handle(request({"name": "stubborn"})))
    assert raw is not None
    assert json.loads(raw)["result"]["resultType"] == "input_required"
