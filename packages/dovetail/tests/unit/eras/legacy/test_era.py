"""The legacy era: results as they are, questions on the back channel, refusals for the model."""

from __future__ import annotations

import asyncio
import json
from typing import Any

import pytest

from dovetail.core.call import Ask, Call
from dovetail.core.era import CacheHint
from dovetail.core.link import Outgoing
from dovetail.eras.legacy.back_channel import BackChannel
from dovetail.eras.legacy.era import LegacyEra, era_of
from dovetail.eras.legacy.session import LegacySession
from dovetail.errors import LimitError, ToolError, UsageError
from dovetail.spec.models import CallToolResult, TextContent
from dovetail.spec.revisions import LEGACY, V2025_11_25, Revision
from dovetail.wire import codec
from dovetail.wire.messages import Response
from tests.unit.fakes import FakeLink, drive, in_session, make_call

ASK = Ask("k", "elicitation/create", b"{}")


@pytest.mark.parametrize("revision", LEGACY, ids=str)
def test_there_is_one_era_for_each_revision(revision: Revision) -> None:
    era = era_of(revision)
    assert isinstance(era, LegacyEra)
    assert era.revision is revision
    assert era_of(revision) is era


@pytest.mark.parametrize("hint", [None, CacheHint(5, "private")])
def test_a_result_goes_out_as_it_is_without_any_hint(hint: CacheHint | None) -> None:
    era = era_of(V2025_11_25)
    result = CallToolResult(content=[TextContent(text="a")], meta={"k": 1})
    assert json.loads(era.complete(result, hint)) == {
        "content": [{"type": "text", "text": "a"}],
        "_meta": {"k": 1},
    }
    assert era.complete({}, hint) == b"{}"


@pytest.mark.parametrize(
    ("required", "spelled"),
    [
        ({"roots": {}}, "roots"),
        ({"elicitation": {"url": {}}}, "elicitation (url)"),
    ],
)
def test_what_a_client_lacks_is_told_to_the_model(required: dict[str, Any], spelled: str) -> None:
    error = era_of(V2025_11_25).undeclared(make_call(), required)
    assert isinstance(error, ToolError)
    assert str(error) == f"This needs a client that supports {spelled}; this one does not."


def test_an_answer_that_cannot_be_used_is_told_to_the_model() -> None:
    error = era_of(V2025_11_25).bad_answer("no form")
    assert type(error) is ToolError
    assert str(error) == "no form"


# -- asking -----------------------------------------------------------------------------------


class Client(FakeLink):
    """A client that answers every question at once with `answer`, or never."""

    def __init__(self, answer: Response | None, timeout: float | None = None) -> None:
        super().__init__()
        self.asked: list[Any] = []
        self._answer = answer
        self._channel = BackChannel(timeout)

    def send(self, message: Outgoing) -> None:
        self.asked.append(message.method)
        if self._answer is not None:
            asyncio.get_running_loop().call_soon(self._channel.resolve, self._answer)

    def call(self, *, ready: bool = True) -> Call:
        session = LegacySession(V2025_11_25, None, {}, None)
        session.back_channel = self._channel
        session.ready = ready
        call = make_call(era=era_of(V2025_11_25))
        self.session = session
        call.link = self
        return call


def answered(member: str, raw: bytes) -> Response:
    response = codec.decode(b'{"jsonrpc":"2.0","id":1,"%b":%b}' % (member.encode(), raw))
    assert isinstance(response, Response)
    return response


def ask(call: Call) -> bytes:
    return bytes(drive(call.era.ask(call, ASK)))


def test_a_question_goes_to_the_client_and_its_answer_comes_back() -> None:
    client = Client(answered("result", b'{"action":"accept"}'))
    assert ask(client.call()) == b'{"action":"accept"}'
    assert client.asked == ["elicitation/create"]


def test_what_a_function_was_told_the_next_one_is_told_too() -> None:
    client = Client(answered("result", b"{}"))
    call = client.call()
    assert ask(call) == ask(call) == b"{}"
    assert client.asked == ["elicitation/create"]


def test_the_handlers_clock_stands_still_while_the_user_thinks() -> None:
    call = Client(answered("result", b"{}")).call()
    held: list[bool] = []
    call.on_hold = lambda: held.append(call.holds > 0)
    ask(call)
    assert held == [True, False]


def test_a_refusal_by_the_client_is_told_to_the_model() -> None:
    client = Client(answered("error", b'{"code":-1,"message":"not now"}'))
    with pytest.raises(ToolError, match="The client refused elicitation/create: not now"):
        ask(client.call())


def test_no_answer_in_time_is_told_to_the_model() -> None:
    with pytest.raises(LimitError, match="did not answer"):
        ask(Client(None, timeout=0.001).call())


def test_nothing_is_asked_before_the_client_is_ready() -> None:
    client = Client(answered("result", b"{}"))
    with pytest.raises(ToolError, match="notifications/initialized"):
        ask(client.call(ready=False))
    assert client.asked == []


def test_a_question_needs_a_way_to_the_client() -> None:
    without_session = make_call(era=era_of(V2025_11_25))
    without_channel = make_call(era=era_of(V2025_11_25))
    in_session(without_channel, LegacySession(V2025_11_25, None, {}, None))
    for call in (without_session, without_channel):
        with pytest.raises(UsageError, match="needs a connection that the server can send"):
            ask(call)
