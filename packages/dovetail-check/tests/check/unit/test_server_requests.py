from __future__ import annotations

import json
from typing import Any

from dovetail.spec.revisions import LATEST_LEGACY
from dovetail_check.connections.base import Connection, Outgoing, Recorder
from dovetail_check.exchanges import Exchange
from dovetail_check.probe_client import AuditContext, Catalogue, ProbeClient
from dovetail_check.recording import Recording
from dovetail_check.replies import MAX_TURNS, REPLIES
from dovetail_check.safety import SafetyPolicy
from dovetail_check.server_requests import RequestListener, triggering_requests

READ_ONLY = {"readOnlyHint": True}


class Unplugged(Connection):
    """A connection that must not be used."""

    async def open(self) -> None: ...

    async def send(self, outgoing: Outgoing) -> Exchange:
        raise AssertionError(f"{outgoing} was sent")

    async def close(self) -> None: ...

    @property
    def is_open(self) -> bool:
        return False


def client_with(catalogue: Catalogue) -> ProbeClient:
    recording = Recording()
    recorder = Recorder(recording, "stdio", "main")
    context = AuditContext(
        recording=recording,
        transport="stdio",
        revision=LATEST_LEGACY,
        policy=SafetyPolicy("readonly", is_local=True),
        connect=Unplugged,
        catalogue=catalogue,
    )
    return ProbeClient(context, Unplugged(recorder))


def test_only_callable_tools_are_called() -> None:
    schema = {"type": "object"}
    tools: list[dict[str, Any]] = [
        {"name": "look", "inputSchema": schema, "annotations": READ_ONLY},
        {"name": "erase", "inputSchema": schema},
    ]
    catalogue = Catalogue(tools=tools, resources=[{"uri": "note://a"}, {"uri": 5}])
    assert triggering_requests(client_with(catalogue)) == [
        ("tools/call", {"name": "look", "arguments": {}}),
        ("resources/read", {"uri": "note://a"}),
    ]


def test_prompts_get_their_required_arguments() -> None:
    arguments = [{"name": "code", "required": True}, {"name": "tone"}, "x"]
    catalogue = Catalogue(prompts=[{"name": "review", "arguments": arguments}, {"name": 5}])
    [(method, params)] = triggering_requests(client_with(catalogue))
    assert (method, params["arguments"]) == ("prompts/get", {"code": "sample"})


def test_a_listener_records_questions_and_restores_the_handler() -> None:
    client = client_with(Catalogue())
    before = client.reply_to
    with RequestListener(client, REPLIES["decline"]) as listener:
        answer = client.reply_to({"id": 1, "method": "elicitation/create"})
        client.reply_to({"id": 2, "method": "ping"})
        client.reply_to({"id": 3, "method": ["strange"]})
    assert json.loads(answer or b"")["result"] == {"action": "decline"}
    assert [one["id"] for one in listener.questions] == [1]
    assert client.reply_to == before


def test_a_model_stops_requesting_tools() -> None:
    client = client_with(Catalogue())
    params = {"tools": [{"name": "add", "inputSchema": {"type": "object"}}]}
    asked = {"id": 1, "method": "sampling/createMessage", "params": params}
    with RequestListener(client, REPLIES["tool-use"]):
        said = [json.loads(client.reply_to(asked) or b"") for _ in range(MAX_TURNS + 1)]
    reasons = [one["result"]["stopReason"] for one in said]
    assert reasons == ["toolUse"] * MAX_TURNS + ["endTurn"]
