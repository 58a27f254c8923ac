"""basic/patterns/mrtr: get input_required, and retry the request.

In this era each request declares its capabilities, so the main connection can act as any client.
"""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Mapping
from itertools import islice
from typing import Any

from dovetail.spec import keys
from dovetail.spec.revisions import Family, Revision
from dovetail_check.client_profiles import ClientProfile, capabilities_of, narrow_capabilities
from dovetail_check.exchanges import Exchange
from dovetail_check.probe_client import ProbeClient
from dovetail_check.probing import probe
from dovetail_check.questions import input_requests, is_asking
from dovetail_check.replies import (
    MAX_TURNS,
    MISFIT,
    REPLIES,
    accept,
    answer_input,
    is_tool_sampling,
)
from dovetail_check.samples import samples
from dovetail_check.server_requests import MethodCall, triggering_requests

__all__: list[str] = []

EXTRA = "dovetail-check-extra"
_MAX_ASKERS = 4
_MAX_ROUNDS = 5
_ABANDONED = 3
_OVERSIZED = "A" * 200_000

Answers = dict[str, Any]


@probe("input-rounds", era=Family.MODERN)
async def answer_input_requests(client: ProbeClient) -> None:
    """Send what may trigger input requests with all capabilities, and retries.

    ask: the first request of each attempt. follow: retries with valid answers, until the result
    is complete. One retry each: decline, cancel, misfit; empty, partial: missing answers; extra:
    one additional answer; no-map, no-answer: malformed answers; flipped, random, oversized: a
    changed requestState; elsewhere: the requestState of another request. tool-use: the model
    requests tools. narrow/...: the request with one capability at a time. unasked: an answer
    without an input request. A fence request follows abandoned and forged ones.
    """
    wanted = triggering_requests(client)
    first = await asyncio.gather(*(_ask(client, one) for one in wanted))
    pairs = list(zip(wanted, first, strict=True))
    askers = [(one, exchange) for one, exchange in pairs if is_asking(exchange)][:_MAX_ASKERS]
    for (method, params), exchange in pairs:
        if exchange.result is not None and not is_asking(exchange):
            more = {"inputResponses": {EXTRA: {"action": "accept"}}}
            await _send(client, (method, {**params, **more}), "unasked")
            break
    await asyncio.gather(*(_pursue(client, *asker) for asker in askers))
    await _present_elsewhere(client, askers)
    for one, exchange in askers:
        if _has_tools(exchange):
            await _follow(client, one, "tool-use", MAX_TURNS)
            break
    if askers:
        await client.fence()


async def _pursue(client: ProbeClient, one: MethodCall, exchange: Exchange) -> None:
    await _follow(client, one, "follow", _MAX_ROUNDS)
    for variant, make in _RETRIES.items():
        if make(input_requests(exchange), _state_of(exchange)) is None:
            continue
        # A state may be valid for one use only.
        again = await _ask(client, one)
        answers = make(input_requests(again), _state_of(again))
        if is_asking(again) and answers is not None:
            await _send(client, (one[0], {**one[1], **answers}), variant)
    for variant, declared in narrow_capabilities().items():
        await _send(client, one, f"narrow/{variant}", declared)
    for _ in range(_ABANDONED):
        await _ask(client, one)


async def _follow(client: ProbeClient, one: MethodCall, variant: str, most: int) -> None:
    method, params = one
    reply = REPLIES.get(variant, accept)
    exchange = await _ask(client, one)
    for _ in range(most):
        if not is_asking(exchange):
            return
        answers = {"inputResponses": _answers(exchange, reply), **_state_of(exchange)}
        exchange = await _send(client, (method, {**params, **answers}), variant)


async def _present_elsewhere(
    client: ProbeClient, askers: list[tuple[MethodCall, Exchange]]
) -> None:
    """Send the state of one request with another request that also requires input."""
    for one, exchange in askers:
        for other in _others(client, one, [wanted for wanted, _ in askers]):
            state = _state_of(exchange)
            there = await _ask(client, other)
            if state and is_asking(there):
                given = {**_answers(exchange, accept), **_answers(there, accept)}
                answers = {"inputResponses": given, **state}
                await _send(client, (other[0], {**other[1], **answers}), "elsewhere")
                return


def _others(client: ProbeClient, one: MethodCall, askers: list[MethodCall]) -> list[MethodCall]:
    """Other requests that require input, and the same one with other arguments."""
    method, params = one
    found = [other for other in askers if other != one]
    for tool in client.callable_tools() if method == "tools/call" else ():
        if tool.get("name") == params["name"]:
            found += [
                (method, {**params, "arguments": arguments})
                for arguments in islice(samples(tool.get("inputSchema")), 5)
                if isinstance(arguments, dict) and arguments != params["arguments"]
            ]
    return found[:3]


async def _ask(client: ProbeClient, one: MethodCall) -> Exchange:
    return await _send(client, one, "ask")


async def _send(
    client: ProbeClient, one: MethodCall, variant: str, declared: dict[str, Any] | None = None
) -> Exchange:
    able = _everything(client.revision) if declared is None else declared
    return await client.request(*one, variant=variant, meta={keys.CLIENT_CAPABILITIES: able})


def _everything(revision: Revision) -> dict[str, Any]:
    """All capabilities except extensions, which change the results."""
    declared = capabilities_of(ClientProfile.FULL, revision)
    return {name: value for name, value in declared.items() if name != "extensions"}


# -- retries ---------------------------------------------------------------------------------------


def _answers(exchange: Exchange, reply: Any) -> Answers:
    return _replies(input_requests(exchange), reply)


def _replies(asked: Mapping[str, Any], reply: Any) -> Answers:
    found: Answers = {}
    for key, question in asked.items():
        if isinstance(question, dict):
            answer = answer_input(question.get("method"), question.get("params"), reply)
            if answer is not None:
                found[key] = answer
    return found


def _state_of(exchange: Exchange) -> dict[str, Any]:
    state = (exchange.result or {}).get("requestState")
    return {"requestState": state} if isinstance(state, str) else {}


def _has_tools(exchange: Exchange) -> bool:
    return any(
        is_tool_sampling(asked.get("method"), asked.get("params"))
        for asked in input_requests(exchange).values()
        if isinstance(asked, dict)
    )


def _asks_for(asked: Mapping[str, Any], *methods: str) -> bool:
    return any(isinstance(one, dict) and one.get("method") in methods for one in asked.values())


# Makes the members of a retry from the input requests and the state; None if it does not apply.
Retry = Callable[[Mapping[str, Any], dict[str, Any]], Answers | None]


def _replying(variant: str, *methods: str) -> Retry:
    def make(asked: Mapping[str, Any], state: dict[str, Any]) -> Answers | None:
        if not _asks_for(asked, *methods):
            return None
        return {"inputResponses": _replies(asked, REPLIES[variant]), **state}

    return make


def _changing(change: Callable[[Answers], Any]) -> Retry:
    def make(asked: Mapping[str, Any], state: dict[str, Any]) -> Answers | None:
        if not asked:
            return None
        return {"inputResponses": change(_replies(asked, accept)), **state}

    return make


def _partial(asked: Mapping[str, Any], state: dict[str, Any]) -> Answers | None:
    given = _replies(asked, accept)
    if len(given) <= 1:
        return None
    return {"inputResponses": dict(list(given.items())[:-1]), **state}


def _forging(forge: Callable[[str], str]) -> Retry:
    def make(asked: Mapping[str, Any], state: dict[str, Any]) -> Answers | None:
        if not state:
            return None
        given = {"inputResponses": _replies(asked, accept)} if asked else {}
        return {**given, **{name: forge(text) for name, text in state.items()}}

    return make


def _flip(text: str) -> str:
    """Change a character in the middle: the last one of base64 may have unused bits."""
    middle = len(text) // 2
    return text[:middle] + ("A" if text[middle : middle + 1] != "A" else "B") + text[middle + 1 :]


_ELICIT, _SAMPLE = "elicitation/create", "sampling/createMessage"
_RETRIES: dict[str, Retry] = {
    "decline": _replying("decline", _ELICIT),
    "cancel": _replying("cancel", _ELICIT),
    "misfit": _replying("misfit", _ELICIT, _SAMPLE),
    "empty": _changing(lambda _: {}),
    "partial": _partial,
    "extra": _changing(lambda given: {**given, EXTRA: {"action": "accept"}}),
    "no-map": _changing(lambda _: [MISFIT]),
    "no-answer": _changing(lambda given: dict.fromkeys(given, MISFIT)),
    "flipped": _forging(_flip),
    "random": _forging(lambda _: "ZG92ZXRhaWwtY2hlY2s"),
    "oversized": _forging(lambda _: _OVERSIZED),
}
