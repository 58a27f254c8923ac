from __future__ import annotations

import json
from typing import Any

from dovetail.spec.revisions import LATEST_LEGACY
from dovetail_check.askers import RequestListener, may_ask
from dovetail_check.exchanges import Exchange
from dovetail_check.lines.line import Line, Outgoing, Place
from dovetail_check.probe_client import AuditContext, Catalogue, ProbeClient
from dovetail_check.recording import Recording
from dovetail_check.replies import MOST_TURNS, REPLIES
from dovetail_check.safety import SafetyPolicy

READ_ONLY = {"readOnlyHint": True}


class Unplugged(Line):
    """A line that leads nowhere."""

    async def open(self) -> None: ...

    async def send(self, outgoing: Outgoing) -> Exchange:
        raise AssertionError(f"{outgoing} was sent")

    async def close(self) -> None: ...

    @property
    def is_open(self) -> bool:
        return False


def talk_about(catalogue: Catalogue) -> ProbeClient:
    recording = Recording()
    place = Place(recording, "stdio", "main")
    context = AuditContext(
        recording=recording,
        transport="stdio",
        revision=LATEST_LEGACY,
        policy=SafetyPolicy("readonly", is_local=True),
        connect=Unplugged,
        catalogue=catalogue,
    )
    return ProbeClient(context, Unplugged(place))


def test_only_tools_that_may_be_called_may_ask() -> None:
    schema = {"type": "object"}
    tools: list[dict[str, Any]] = [
        {"name": "look", "inputSchema": schema, "annotations": READ_ONLY},
        {"name": "erase", "inputSchema": schema},
    ]
    catalogue = Catalogue(tools=tools, resources=[{"uri": "note://a"}, {"uri": 5}])
    assert may_ask(talk_about(catalogue)) == [
        ("tools/call", {"name": "look", "arguments": {}}),
        ("resources/read", {"uri": "note://a"}),
    ]


def test_prompts_are_got_with_what_they_require() -> None:
    arguments = [{"name": "code", "required": True}, {"name": "tone"}, "x"]
    catalogue = Catalogue(prompts=[{"name": "review", "arguments": arguments}, {"name": 5}])
    [(method, params)] = may_ask(talk_about(catalogue))
    assert (method, params["arguments"]) == ("prompts/get", {"code": "sample"})


def test_an_ear_remembers_questions_and_gives_its_place_back() -> None:
    client = talk_about(Catalogue())
    before = client.reply_to
    with RequestListener(client, REPLIES["decline"]) as listener:
        answer = client.reply_to({"id": 1, "method": "elicitation/create"})
        client.reply_to({"id": 2, "method": "ping"})
        client.reply_to({"id": 3, "method": ["strange"]})
    assert json.loads(answer or b"")["result"] == {"action": "decline"}
    assert [one["id"] for one in listener.questions] == [1]
    assert client.reply_to == before


def test_a_model_has_had_enough_of_tools_at_some_time() -> None:
    client = talk_about(Catalogue())
    params = {"tools": [{"name": "add", "inputSchema": {"type": "object"}}]}
    asked = {"id": 1, "method": "sampling/createMessage", "params": params}
    with RequestListener(client, REPLIES["tool-use"]):
        said = [json.loads(client.reply_to(asked) or b"") for _ in range(MOST_TURNS + 1)]
    reasons = [one["result"]["stopReason"] for one in said]
    assert reasons == ["toolUse"] * MOST_TURNS + ["endTurn"]
