"""The extension io.modelcontextprotocol/tasks (SEP-2663).

The server decides which calls become tasks, so every tool that the policy allows is called. Tasks
that do not end are cancelled.
"""

from __future__ import annotations

import asyncio
import time
from collections.abc import Iterator
from typing import Any

from dovetail.spec import keys
from dovetail.spec.revisions import Family
from dovetail_check.calls import valid_calls
from dovetail_check.client_profiles import ClientProfile, capabilities_of
from dovetail_check.exchanges import Exchange
from dovetail_check.probe_client import ProbeClient
from dovetail_check.probing import probe
from dovetail_check.replies import accept, answer_input
from dovetail_check.task_traffic import (
    NO_SUCH_TASK,
    id_of,
    is_over,
    offers_extension,
    task_in,
)

__all__ = ["EXTRA_KEY"]

# A key without an input request.
EXTRA_KEY = "dovetail-check-extra"
_MAX_CALLS = 20
_MAX_TASKS = 5
# Seconds to wait for tasks, and limits for the time between two polls.
_TIMEOUT = 2.0
_SHORTEST, _LONGEST = 0.05, 1.0
_LISTENING = 1.0
_METHODS = ("tasks/get", "tasks/update", "tasks/cancel")


def _declared(client: ProbeClient, *, extension: bool) -> dict[str, Any]:
    """`_meta` of a client with all capabilities, with or without the extension."""
    able = capabilities_of(ClientProfile.FULL, client.revision)
    if not extension:
        able = {name: value for name, value in able.items() if name != "extensions"}
    return {keys.CLIENT_CAPABILITIES: able}


@probe("extension-tasks", era=Family.MODERN)
async def call_tools_that_become_tasks(client: ProbeClient) -> None:
    """Calls of a client with the extension, and requests about the tasks that they create.

    removed/tasks/result: a method that the extension does not have. create: the calls. For each
    task: get, listen (the first), poll until its end, update/extra and update if it requires
    input, cancel/ended, get/last; or cancel/running if it does not end. stopped: a call that is
    cancelled at once. plain: the same calls without the extension, and with-param: with the
    `task` parameter of 2025-11-25. unknown/METHOD: an unknown id. undeclared/METHOD: without the
    extension. name-mismatch: the header names another task (HTTP).
    """
    able = _declared(client, extension=True)
    params = {"taskId": NO_SUCH_TASK}
    await client.request("tasks/result", params, meta=able, variant="removed/tasks/result")
    if not offers_extension(client.context.capabilities):
        return
    calls = valid_calls(client, _MAX_CALLS)
    answers = await asyncio.gather(
        *(
            _call(client, call, "create", token=f"dovetail-check-x{n}")
            for n, call in enumerate(calls)
        )
    )
    made = [
        (call, id)
        for call, exchange in zip(calls, answers, strict=True)
        if (id := id_of(exchange)) is not None
    ]
    await asyncio.gather(
        *(_ask(client, method, NO_SUCH_TASK, f"unknown/{method}") for method in _METHODS),
        *(_follow(client, id, listens=index == 0) for index, (_, id) in enumerate(made)),
        *(_stop(client, call) for call, _ in made[:1]),
        *(_call_plainly(client, call) for call, _ in made[:_MAX_TASKS]),
        _misuse(client, [*(id for _, id in made), NO_SUCH_TASK][0]),
    )


def _wait(client: ProbeClient) -> float:
    return client.context.patience(min(_TIMEOUT, client.context.timeout))


async def _call(
    client: ProbeClient, call: dict[str, Any], variant: str, *, token: str | None = None
) -> Exchange:
    meta = {**_declared(client, extension=True), keys.PROGRESS_TOKEN: token}
    return await client.request(
        "tools/call", call, meta=meta, variant=variant, timeout=_wait(client)
    )


async def _ask(
    client: ProbeClient, method: str, id: str, variant: str, *, extension: bool = True, **more: Any
) -> Exchange:
    params = {"taskId": id}
    if method == "tasks/update":
        params["inputResponses"] = more.pop("answers", {})
    meta = _declared(client, extension=extension)
    return await client.request(method, params, meta=meta, variant=variant, **more)


async def _follow(client: ProbeClient, id: str, *, listens: bool) -> None:
    """Follow one task to its end."""
    exchange = await _ask(client, "tasks/get", id, "get")
    if listens:
        await _listen(client, id, "listen", extension=True)
    until = time.monotonic() + client.context.patience(_TIMEOUT)
    answered: set[str] = set()
    while not is_over(exchange) and exchange.result is not None and time.monotonic() < until:
        await _answer(client, id, exchange, answered)
        await client.connection.keep_listening(_interval(exchange))
        exchange = await _ask(client, "tasks/get", id, "poll")
    variant = "cancel/ended" if is_over(exchange) else "cancel/running"
    await _ask(client, "tasks/cancel", id, variant)
    await _ask(client, "tasks/get", id, "get/last")


def _interval(exchange: Exchange) -> float:
    """The poll interval that the server suggests, within limits."""
    wanted = (task_in(exchange) or {}).get("pollIntervalMs")
    if isinstance(wanted, bool) or not isinstance(wanted, int | float):
        return _SHORTEST
    return max(min(wanted, 1000 * _LONGEST) / 1000, _SHORTEST)


async def _answer(client: ProbeClient, id: str, exchange: Exchange, answered: set[str]) -> None:
    """Answer the input requests of a task that were not answered before."""
    answers = dict(_answers(exchange, answered))
    if not answers:
        return
    if not answered:
        extra = {EXTRA_KEY: {"action": "accept"}}
        await _ask(client, "tasks/update", id, "update/extra", answers=extra)
    answered |= answers.keys()
    await _ask(client, "tasks/update", id, "update", answers=answers)


def _answers(exchange: Exchange, answered: set[str]) -> Iterator[tuple[str, dict[str, Any]]]:
    asked = (exchange.result or {}).get("inputRequests")
    for key, question in asked.items() if isinstance(asked, dict) else ():
        if key in answered or not isinstance(question, dict):
            continue
        answer = answer_input(question.get("method"), question.get("params"), accept)
        if answer is not None:
            yield key, answer


async def _stop(client: ProbeClient, call: dict[str, Any]) -> None:
    id = id_of(await _call(client, call, "stopped"))
    if id is not None:
        await _ask(client, "tasks/cancel", id, "cancel/running")
        await _ask(client, "tasks/get", id, "get/stopped")


async def _call_plainly(client: ProbeClient, call: dict[str, Any]) -> None:
    meta = _declared(client, extension=False)
    timeout = _wait(client)
    exchange = await client.request("tools/call", call, meta=meta, variant="plain", timeout=timeout)
    if exchange.answer is not None:
        params = {**call, "task": {"ttl": 60_000}}
        await client.request("tools/call", params, meta=meta, variant="with-param", timeout=timeout)


async def _misuse(client: ProbeClient, id: str) -> None:
    for method in _METHODS:
        await _ask(client, method, id, f"undeclared/{method}", extension=False)
    await _listen(client, id, "undeclared/listen", extension=False)
    if client.is_http and id != NO_SUCH_TASK:
        # The other id is also unknown, so the server cannot find a task for it.
        await _ask(
            client, "tasks/get", id, "name-mismatch", headers={"Mcp-Name": "dovetail-check-other"}
        )


async def _listen(client: ProbeClient, id: str, variant: str, *, extension: bool) -> None:
    await client.request(
        "subscriptions/listen",
        {"notifications": {"taskIds": [id]}},
        meta=_declared(client, extension=extension),
        variant=variant,
        keep_open=True,
        timeout=client.context.patience(_LISTENING),
    )
