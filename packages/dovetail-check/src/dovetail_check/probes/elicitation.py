"""client/elicitation, client/sampling, client/roots in the legacy era: answer server requests."""

from __future__ import annotations

import asyncio
from typing import Any

from dovetail.spec.revisions import Family
from dovetail_check.client_profiles import ClientProfile, capabilities_of
from dovetail_check.probe_client import ProbeClient
from dovetail_check.probing import probe
from dovetail_check.replies import REPLIES, accept, is_tool_sampling
from dovetail_check.server_requests import MethodCall, RequestListener, triggering_requests

__all__: list[str] = []

_MAX_ASKERS = 4
# Seconds to wait for the stream of server requests to open.
_TIMEOUT = 1.0


@probe("asking", era=Family.LEGACY, profile=ClientProfile.FULL)
async def answer_server_requests(client: ProbeClient) -> None:
    """Send what may trigger server requests, as a client with all capabilities.

    listening: the stream for server requests. accept: all requests at once, with valid answers.
    For requests that triggered any: decline, cancel, misfit, fail, tool-use, one after the other,
    so that each server request can be matched. The answers are those of `replies.REPLIES`.
    """
    if client.is_http:
        timeout = client.context.patience(_TIMEOUT)
        await client.fetch("GET", variant="listening", keep_open=True, timeout=timeout)
    wanted = triggering_requests(client)
    with RequestListener(client, accept) as listener:
        exchanges = await asyncio.gather(
            *(client.request(*one, variant="accept") for one in wanted)
        )
    if not listener.questions:
        return
    answered = [one for one, exchange in zip(wanted, exchanges, strict=True) if exchange.answer]
    askers = []
    for one in answered:
        questions = await _ask(client, one, "decline")
        if questions:
            askers.append((one, questions))
    for one, questions in askers[:_MAX_ASKERS]:
        for variant in _variants(questions):
            await _ask(client, one, variant)


async def _ask(client: ProbeClient, one: MethodCall, variant: str) -> list[dict[str, Any]]:
    with RequestListener(client, REPLIES[variant]) as listener:
        await client.request(*one, variant=variant)
    return listener.questions


def _variants(questions: list[dict[str, Any]]) -> list[str]:
    """The kinds of answer that apply to one of the server requests."""
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
async def answer_with_basic_capabilities(client: ProbeClient) -> None:
    """The same requests from a client that declares each capability without its options.

    Not over stdio, where it would need one more process.
    """
    plain = capabilities_of(ClientProfile.BASIC, client.revision)
    has_options = (
        capabilities_of(ClientProfile.FULL, client.revision)["sampling"] != plain["sampling"]
    )
    wanted = triggering_requests(client)
    if not wanted or not has_options:
        return
    async with client.open_client("plain", profile=ClientProfile.BASIC) as other:
        await asyncio.gather(*(other.request(*one) for one in wanted))
