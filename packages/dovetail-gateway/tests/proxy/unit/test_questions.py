"""Questions between eras, and calls that are kept for their answers."""

from __future__ import annotations

import asyncio
import json
from typing import Any

import pytest
from msgspec import Raw

from dovetail import Server
from dovetail.core.call import Call
from dovetail.errors import InternalError, InvalidParamsError, PeerError, RpcError
from dovetail.spec.keys import CLIENT_CAPABILITIES, PROTOCOL_VERSION
from dovetail.spec.revisions import LATEST_LEGACY, LEGACY, MODERN
from dovetail.wire import codec
from dovetail.wire.messages import Request
from dovetail_gateway.forwarding import Forwarding
from dovetail_gateway.questions import (
    CallLocation,
    KeptCall,
    KeptCalls,
    ask_in_retry,
    fit_question,
    pass_on_questions,
    read_answers,
)
from tests.unit.fakes import FakeLink, drive

SERVER = Server("p")
ANSWER = {"action": "decline"}


def modern_call(**params: Any) -> Call:
    meta = {PROTOCOL_VERSION: MODERN[-1].date, CLIENT_CAPABILITIES: {}}
    raw = Raw(codec.encode({"name": "t", "_meta": meta, **params}))
    call = SERVER.engine.eras.open(Request(b"1", "tools/call", raw), None)
    if isinstance(call, RpcError):
        raise call
    call.link = FakeLink()
    return call


def retry(body: bytes) -> Call:
    asked = json.loads(body)
    responses = dict.fromkeys(asked.get("inputRequests", {}), ANSWER)
    return modern_call(requestState=asked["requestState"], inputResponses=responses)


def test_questions_have_the_form_of_the_callers_revision() -> None:
    form = {"mode": "form", "message": "m", "requestedSchema": {}}
    assert b"mode" not in fit_question("elicitation/create", form, LEGACY[2])
    assert b"mode" in fit_question("elicitation/create", form, LATEST_LEGACY)
    page = {"mode": "url", "url": "u", "message": "m"}
    named = json.loads(fit_question("elicitation/create", page, LATEST_LEGACY))
    assert named["elicitationId"]
    kept = fit_question("elicitation/create", {**page, "elicitationId": "7"}, LATEST_LEGACY)
    assert json.loads(kept)["elicitationId"] == "7"
    assert b"elicitationId" not in fit_question("elicitation/create", named, MODERN[-1])


def test_questions_of_a_modern_upstream_and_their_answers() -> None:
    async def scenario() -> None:
        assert await read_answers(modern_call()) == {}
        asked = {"who": {"method": "elicitation/create", "params": {"message": "m"}}}
        first = pass_on_questions(modern_call(), asked, "their state")
        answers = await read_answers(retry(first.body))
        assert codec.decode_json(answers["requestState"]) == "their state"
        assert codec.decode_json(answers["inputResponses"]["who"]) == ANSWER
        with pytest.raises(InvalidParamsError):
            await read_answers(retry(first.body))
        waiting = pass_on_questions(modern_call(), None, "later")
        assert "inputRequests" not in json.loads(waiting.body)
        with pytest.raises(PeerError):
            pass_on_questions(modern_call(), None, None)

    drive(scenario())


def start(calls: KeptCalls) -> tuple[Call, KeptCall]:
    """A call whose upstream asks once and answers with the answer."""
    call = modern_call()
    forwarding = Forwarding(call, "caller", None, None)  # type: ignore[arg-type]
    kept = KeptCall(forwarding, None)
    forwarding.asker = kept
    kept.running = asyncio.ensure_future(forwarding.ask("roots/list", {}))
    return call, kept


def test_a_kept_call_goes_on_with_the_answer() -> None:
    async def scenario() -> None:
        calls = KeptCalls(1000.0, 10)
        call, kept = start(calls)
        asks = await kept.outcome()
        assert asks is not None
        calls.keep(kept)
        interim = ask_in_retry(call, CallLocation(kept.id, "n1"), asks)
        assert len(calls) == 1
        again = retry(interim.body)
        place = await calls.find(again)
        assert place is not None
        assert (place.id, place.node) == (kept.id, "n1")
        found = calls.take(place.id, None)
        assert found is kept
        assert len(calls) == 0
        found.answer("unknown", {})
        found.take(again)
        assert await found.outcome() is None
        assert kept.running is not None
        assert kept.running.result() == ANSWER
        assert await calls.find(modern_call()) is None

    drive(scenario())


def test_a_refusal_is_passed_to_the_upstream() -> None:
    async def scenario() -> None:
        _, kept = start(KeptCalls(1000.0, 10))
        asks = await kept.outcome()
        assert asks is not None
        [key] = asks
        kept.answer(key, InternalError("no"))
        assert await kept.outcome() is None
        assert kept.running is not None
        assert isinstance(kept.running.exception(), InternalError)

    drive(scenario())


def test_kept_calls_are_limited_and_expire() -> None:
    async def scenario() -> None:
        calls = KeptCalls(1000.0, 1)
        _, kept = start(calls)
        await kept.outcome()
        calls.keep(kept)
        _, other = start(calls)
        await other.outcome()
        with pytest.raises(InternalError, match="1 calls wait"):
            calls.keep(other)
        with pytest.raises(InvalidParamsError, match="not kept any more"):
            calls.take(kept.id, "eve")
        calls.close()
        assert len(calls) == 0
        with pytest.raises(InvalidParamsError, match="not kept any more"):
            calls.take(kept.id, None)
        assert kept.running is not None
        await asyncio.wait([kept.running])
        assert kept.running.cancelled()

    drive(scenario())
