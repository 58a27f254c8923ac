"""Questions to a legacy caller."""

from __future__ import annotations

import asyncio
import json
from typing import Any

import pytest
from msgspec import Raw

from dovetail.eras.legacy.back_channel import BackChannel
from dovetail.eras.legacy.session import LegacySession
from dovetail.errors import MethodNotFoundError, ToolError
from dovetail.spec.revisions import LATEST_LEGACY
from dovetail.wire import codec
from dovetail.wire.messages import Notification, Response
from dovetail_gateway.back_channel import SessionAsker, ask_all
from tests.unit.fakes import drive, in_session, make_call, sent_by

QUESTIONS: dict[str, dict[str, Any]] = {
    "a": {"method": "roots/list"},
    "b": {"method": "roots/list", "params": {}},
}


def asked_call() -> Any:
    call = make_call()
    session = in_session(call, LegacySession(LATEST_LEGACY, None, {}, None))
    session.back_channel = BackChannel(None)
    session.ready = True
    return call, session.back_channel


def test_all_questions_are_asked_at_once() -> None:
    async def scenario() -> None:
        call, channel = asked_call()
        asking = asyncio.ensure_future(ask_all(call, QUESTIONS))
        await asyncio.sleep(0)
        await asyncio.sleep(0)
        for message in sent_by(call):
            channel.resolve(Response(codec.encode_id(message["id"]), Raw(b'{"roots":[]}')))
        assert await asking == {"a": {"roots": []}, "b": {"roots": []}}

    drive(scenario())


def test_a_refusal_ends_the_call() -> None:
    async def scenario() -> None:
        call, channel = asked_call()
        asking = asyncio.ensure_future(ask_all(call, QUESTIONS))
        await asyncio.sleep(0)
        await asyncio.sleep(0)
        error = Raw(b'{"code":-1,"message":"not today"}')
        channel.resolve(Response(b"1", error=error))
        with pytest.raises(ToolError, match="refused the question: not today"):
            await asking

    drive(scenario())


def test_a_caller_without_a_session_cannot_be_asked() -> None:
    with pytest.raises(MethodNotFoundError, match="needs a session"):
        drive(SessionAsker().ask(make_call(), "roots/list", {}))


def test_the_caller_hears_that_it_has_visited_the_page() -> None:
    async def scenario() -> None:
        call, channel = asked_call()
        asker = SessionAsker()
        page = {"mode": "url", "url": "u", "message": "m", "elicitationId": "e1"}
        asking = asyncio.ensure_future(asker.ask(call, "elicitation/create", page))
        await asyncio.sleep(0)
        channel.resolve(Response(b"1", Raw(b'{"action":"accept"}')))
        await asking
        method = "notifications/elicitation/complete"
        for params in (b"{}", b'{"elicitationId":"other"}', b'{"elicitationId":"e1"}'):
            asker.complete(Notification(method, Raw(params)))
        # Once is enough.
        asker.complete(Notification(method, Raw(b'{"elicitationId":"e1"}')))
        [told] = [json.loads(message) for message in call.link.unrelated]
        assert told["params"] == {"elicitationId": "e1"}

    drive(scenario())
