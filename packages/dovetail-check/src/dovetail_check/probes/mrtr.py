"""basic/patterns/mrtr: be asked for input, and send the request once more.

Capabilities travel with each request of this era, so the main line can be a client of any kind.
"""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Mapping
from itertools import islice
from typing import Any

from dovetail.spec import keys
from dovetail.spec.revisions import Family, Revision
from dovetail_check.askers import Wanted, may_ask
from dovetail_check.exchanges import Exchange
from dovetail_check.personas import Persona, capabilities_of, narrow_capabilities
from dovetail_check.probe_client import ProbeClient
from dovetail_check.probing import probe
from dovetail_check.questions import input_requests, is_asking
from dovetail_check.replies import (
    MISFIT,
    MOST_TURNS,
    REPLIES,
    accept,
    answer_input,
    is_tool_sampling,
)
from dovetail_check.samples import samples

__all__: list[str] = []

EXTRA = "dovetail-check-extra"
_MOST_ASKERS = 4
_MOST_ROUNDS = 5
_ABANDONED = 3
_OVERSIZED = "A" * 200_000

Answers = dict[str, Any]


@probe("input-rounds", era=Family.MODERN)
async def be_asked_for_input(client: ProbeClient) -> None:
    """Send what may lead to questions with all capabilities, and what they lead to.

    ask: the first request of each try. follow: retries with fitting answers, until the result is
    complete. One retry each: decline, cancel, misfit; empty, partial: answers are missing; extra:
    one too many; no-map, no-answer: malformed; flipped, random, oversized: requestState is not
    what it was; elsewhere: it is presented with another request. tool-use: the model wants tools
    called. narrow/...: the request with one capability at a time. unasked: an answer that nobody
    asked for. A fence stands behind what was abandoned or forged.
    """
    wanted = may_ask(client)
    first = await asyncio.gather(*(_ask(client, one) for one in wanted))
    pairs = list(zip(wanted, first, strict=True))
    askers = [(one, came) for one, came in pairs if is_asking(came)][:_MOST_ASKERS]
    for (method, params), came in pairs:
        if came.result is not None and not is_asking(came):
            more = {"inputResponses": {EXTRA: {"action": "accept"}}}
            await _send(client, (method, {**params, **more}), "unasked")
            break
    await asyncio.gather(*(_pursue(client, *asker) for asker in askers))
    await _present_elsewhere(client, askers)
    for one, came in askers:
        if _has_tools(came):
            await _follow(client, one, "tool-use", MOST_TURNS)
            break
    if askers:
        await client.fence()


async def _pursue(client: ProbeClient, one: Wanted, came: Exchange) -> None:
    await _follow(client, one, "follow", _MOST_ROUNDS)
    for variant, make in _RETRIES.items():
        if make(input_requests(came), _state_of(came)) is None:
            continue
        # A state may be good for one use only.
        again = await _ask(client, one)
        answers = make(input_requests(again), _state_of(again))
        if is_asking(again) and answers is not None:
            await _send(client, (one[0], {**one[1], **answers}), variant)
    for variant, declared in narrow_capabilities().items():
        await _send(client, one, f"narrow/{variant}", declared)
    for _ in range(_ABANDONED):
        await _ask(client, one)


async def _follow(client: ProbeClient, one: Wanted, variant: str, most: int) -> None:
    method, params = one
    reply = REPLIES.get(variant, accept)
    came = await _ask(client, one)
    for _ in range(most):
        if not is_asking(came):
            return
        answers = {"inputResponses": _answers(came, reply), **_state_of(came)}
        came = await _send(client, (method, {**params, **answers}), variant)


async def _present_elsewhere(client: ProbeClient, askers: list[tuple[Wanted, Exchange]]) -> None:
    """The state of one request with another one that asks as well."""
    for one, came in askers:
        for other in _others(client, one, [wanted for wanted, _ in askers]):
            state = _state_of(came)
            there = await _ask(client, other)
            if state and is_asking(there):
                given = {**_answers(came, accept), **_answers(there, accept)}
                answers = {"inputResponses": given, **state}
                await _send(client, (other[0], {**other[1], **answers}), "elsewhere")
                return


def _others(client: ProbeClient, one: Wanted, askers: list[Wanted]) -> list[Wanted]:
    """Other requests that ask, and the same one with other arguments."""
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


async def _ask(client: ProbeClient, one: Wanted) -> Exchange:
    return await _send(client, one, "ask")


async def _send(
    client: ProbeClient, one: Wanted, variant: str, declared: dict[str, Any] | None = None
) -> Exchange:
    able = _everything(client.revision) if declared is None else declared
    return await client.request(*one, variant=variant, meta={keys.CLIENT_CAPABILITIES: able})


def _everything(revision: Revision) -> dict[str, Any]:
    """Everything that can be asked for; without extensions, which answer in other ways."""
    declared = capabilities_of(Persona.CAPABLE, revision)
    return {name: value for name, value in declared.items() if name != "extensions"}


# -- retries ---------------------------------------------------------------------------------------


def _answers(came: Exchange, reply: Any) -> Answers:
    return _replies(input_requests(came), reply)


def _replies(asked: Mapping[str, Any], reply: Any) -> Answers:
    found: Answers = {}
    for key, question in asked.items():
        if isinstance(question, dict):
            answer = answer_input(question.get("method"), question.get("params"), reply)
            if answer is not None:
                found[key] = answer
    return found


def _state_of(came: Exchange) -> dict[str, Any]:
    state = (came.result or {}).get("requestState")
    return {"requestState": state} if isinstance(state, str) else {}


def _has_tools(came: Exchange) -> bool:
    return any(
        is_tool_sampling(asked.get("method"), asked.get("params"))
        for asked in input_requests(came).values()
        if isinstance(asked, dict)
    )


def _asks_for(asked: Mapping[str, Any], *methods: str) -> bool:
    return any(isinstance(one, dict) and one.get("method") in methods for one in asked.values())


# Makes the members of a retry from what was asked and the state; None where it means nothing.
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
    """Another letter in the middle: the last one of base64 may carry bits that nobody reads."""
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
