"""client/elicitation, client/sampling, client/roots in the legacy era: be asked, and answer."""

from __future__ import annotations

import asyncio
from typing import Any

from dovetail.spec.revisions import Family
from dovetail_check.askers import RequestListener, Wanted, may_ask
from dovetail_check.personas import Persona, capabilities_of
from dovetail_check.probe_client import ProbeClient
from dovetail_check.probing import probe
from dovetail_check.replies import REPLIES, accept, is_tool_sampling

__all__: list[str] = []

_MOST_ASKERS = 4
# Seconds that the stream for requests of the server has to begin.
_PATIENCE = 1.0


@probe("asking", era=Family.LEGACY, persona=Persona.CAPABLE)
async def be_asked(client: ProbeClient) -> None:
    """Send what may lead to questions as a client that can be asked for everything.

    listening: the stream on which a server may ask. accept: everything at once, with fitting
    answers. Where anything was asked: decline, cancel, misfit, fail, tool-use, one after the
    other, so that it is clear which question belongs to which request; the answers are those of
    `replies.REPLIES`.
    """
    if client.is_http:
        await client.fetch("GET", variant="listening", holds=True, timeout=_PATIENCE)
    wanted = may_ask(client)
    with RequestListener(client, accept) as listener:
        came = await asyncio.gather(*(client.request(*one, variant="accept") for one in wanted))
    if not listener.questions:
        return
    answered = [one for one, exchange in zip(wanted, came, strict=True) if exchange.answer]
    askers = []
    for one in answered:
        questions = await _ask(client, one, "decline")
        if questions:
            askers.append((one, questions))
    for one, questions in askers[:_MOST_ASKERS]:
        for variant in _variants(questions):
            await _ask(client, one, variant)


async def _ask(client: ProbeClient, one: Wanted, variant: str) -> list[dict[str, Any]]:
    with RequestListener(client, REPLIES[variant]) as listener:
        await client.request(*one, variant=variant)
    return listener.questions


def _variants(questions: list[dict[str, Any]]) -> list[str]:
    """The answers that mean something to one of the questions."""
    methods = [question.get("method") for question in questions]
    is_form = "elicitation/create" in methods
    found = ["fail"]
    if is_form:
        found.append("cancel")
    if is_form or "sampling/createMessage" in methods:
        found.append("misfit")
    if any(is_tool_sampling(one.get("method"), one.get("params")) for one in questions):
        found.append("tool-use")
    return found


@probe("asking-plainly", era=Family.LEGACY, transports=("http", "sse"))
async def be_asked_for_less(client: ProbeClient) -> None:
    """The same requests from a client that declares each capability without its options.

    Over stdio that would take one more process for little.
    """
    plain = capabilities_of(Persona.PLAIN, client.revision)
    has_options = capabilities_of(Persona.CAPABLE, client.revision)["sampling"] != plain["sampling"]
    wanted = may_ask(client)
    if not wanted or not has_options:
        return
    async with client.another("plain", persona=Persona.PLAIN) as other:
        await asyncio.gather(*(other.request(*one) for one in wanted))
