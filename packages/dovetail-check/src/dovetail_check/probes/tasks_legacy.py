"""basic/utilities/tasks, experimental in 2025-11-25.

Only tools that the policy allows are called, as a task or not. Tasks that do not end are cancelled.
"""

from __future__ import annotations

import asyncio
import time
from typing import Any

from dovetail.spec import keys
from dovetail.spec.revisions import Family
from dovetail_check.calls import valid_calls
from dovetail_check.client_profiles import ClientProfile
from dovetail_check.exchanges import Exchange
from dovetail_check.probe_client import ProbeClient
from dovetail_check.probes.pagination import NO_CURSOR
from dovetail_check.probes.walk import read_list
from dovetail_check.probing import probe
from dovetail_check.replies import answer_request
from dovetail_check.task_traffic import NO_SUCH_TASK, SLOW, id_of, is_over

__all__ = ["OWN_ID"]

# An id that the client chooses for its task.
OWN_ID = "dovetail-check-own-task-id"
_CALLS = "tasks.requests.tools.call"
_MAX_TOOLS = 4
_MAX_QUESTIONS = 5
# Seconds to wait for a task before it is cancelled.
_TIMEOUT = 2.0
_WANTED = {"ttl": 60_000}
# No practical limit on the number of tools.
_ALL = 1000


def _support(client: ProbeClient, name: Any) -> Any:
    """taskSupport of the tool with that name."""
    for tool in client.catalogue.tools:
        execution = tool.get("execution")
        if tool.get("name") == name and isinstance(execution, dict):
            return execution.get("taskSupport", "forbidden")
    return "forbidden"


def _calls(client: ProbeClient, *supports: str) -> list[dict[str, Any]]:
    """Allowed calls of tools with one of these values of taskSupport."""
    found = valid_calls(client, _ALL)
    return [call for call in found if _support(client, call["name"]) in supports][:_MAX_TOOLS]


@probe("tasks", era=Family.LEGACY)
async def call_tools_as_tasks(client: ProbeClient) -> None:
    """Calls as tasks, and requests that must be rejected.

    create: a call as a task; then get, early-result (it may block), get/after, and for ended
    tasks late-result, cancel/ended, get/last; for running tasks cancel/running, get/stopped.
    own-id: a call with a client-chosen id. plain: the same call without a task, before and after.
    stopped: a call that is cancelled at once, of each tool whose task was returned late, or of one.
    required: a plain call of a tool that requires a task. forbidden: a call as a task of a tool
    without tasks. unknown/METHOD: an unknown id.
    related/other: a valid id, and an unknown one in `_meta`; related/only: the other way round.
    list: all pages; list-cursor: an invalid cursor; list-other: another client; get/listed: tasks
    that must be in the list.
    If tasks is not declared: undeclared/METHOD.
    """
    if not client.revision.tasks:
        return
    if not client.has(_CALLS):
        await _send_undeclared(client)
        return
    calls = _calls(client, "optional", "required")
    optional = _calls(client, "optional")
    made, plain = await asyncio.gather(
        asyncio.gather(*(_follow(client, call) for call in calls)),
        asyncio.gather(*(_call(client, call, "plain") for call in optional)),
    )
    ids = [id for id in map(id_of, made) if id is not None]
    late = [call for call, one in zip(calls, made, strict=True) if (one.seconds or 0.0) > SLOW]
    again = [call for call, one in zip(optional, plain, strict=True) if one.answer is not None]
    await asyncio.gather(
        *(_call(client, call, "plain") for call in again),
        *(_stop(client, call) for call in late or calls[:1]),
        *(_call_with_own_id(client, call) for call in calls[:1]),
        *(_call(client, call, "required") for call in _calls(client, "required")[:1]),
        *(_call(client, call, "forbidden", _WANTED) for call in _calls(client, "forbidden")[:1]),
        *(_ask(client, method, NO_SUCH_TASK, f"unknown/{method}") for method in _methods(client)),
        *(_contradict(client, id) for id in ids[:1]),
    )
    if client.has("tasks.list"):
        await _list(client, ids)


def _methods(client: ProbeClient) -> list[str]:
    """Methods for one task that the server must support."""
    return ["tasks/get", "tasks/result", *(["tasks/cancel"] if client.has("tasks.cancel") else [])]


async def _call(
    client: ProbeClient, call: dict[str, Any], variant: str, task: Any = None
) -> Exchange:
    params = call if task is None else {**call, "task": task}
    timeout = client.context.patience(min(_TIMEOUT, client.context.timeout))
    return await client.request("tools/call", params, variant=variant, timeout=timeout)


async def _ask(
    client: ProbeClient,
    method: str,
    id: str,
    variant: str,
    related: str | None = None,
    timeout: float = _TIMEOUT,
) -> Exchange:
    meta = None if related is None else {keys.RELATED_TASK: {"taskId": related}}
    timeout = client.context.patience(min(timeout, client.context.timeout))
    return await client.request(method, {"taskId": id}, meta=meta, variant=variant, timeout=timeout)


async def _follow(client: ProbeClient, call: dict[str, Any]) -> Exchange:
    """Follow one task from creation to its end; returns the exchange that created it."""
    created = await _call(client, call, "create", _WANTED)
    id = id_of(created)
    if id is None:
        return created
    await _ask(client, "tasks/get", id, "get")
    await _ask(client, "tasks/result", id, "early-result")
    after = await _ask(client, "tasks/get", id, "get/after")
    if not is_over(after):
        await _cancel(client, id, "running")
        await _ask(client, "tasks/get", id, "get/stopped")
        return created
    await _ask(client, "tasks/result", id, "late-result")
    await _cancel(client, id, "ended")
    await _ask(client, "tasks/get", id, "get/last")
    return created


async def _cancel(client: ProbeClient, id: str, variant: str) -> None:
    if client.has("tasks.cancel"):
        await _ask(client, "tasks/cancel", id, f"cancel/{variant}")


async def _stop(client: ProbeClient, call: dict[str, Any]) -> None:
    id = id_of(await _call(client, call, "stopped", _WANTED))
    if id is not None:
        await _cancel(client, id, "running")
        await _ask(client, "tasks/get", id, "get/stopped")


async def _call_with_own_id(client: ProbeClient, call: dict[str, Any]) -> None:
    id = id_of(await _call(client, call, "own-id", {**_WANTED, "taskId": OWN_ID}))
    if id is not None:
        await _cancel(client, id, "own-id")


async def _contradict(client: ProbeClient, id: str) -> None:
    await _ask(client, "tasks/get", id, "related/other", NO_SUCH_TASK)
    await _ask(client, "tasks/get", NO_SUCH_TASK, "related/only", id)


async def _list(client: ProbeClient, ids: list[str]) -> None:
    await read_list(client, "tasks/list", "tasks", variant="list")
    await client.request("tasks/list", {"cursor": NO_CURSOR}, variant="list-cursor")
    await asyncio.gather(*(_ask(client, "tasks/get", id, "get/listed") for id in ids))
    if client.is_http:
        async with client.open_client("other-tasks") as other:
            if other.is_ready:
                await read_list(other, "tasks/list", "tasks", variant="list-other")


async def _send_undeclared(client: ProbeClient) -> None:
    """Send task requests to a server that does not declare tasks."""
    # Tools with taskSupport come first: they may work as tasks.
    for call in [*_calls(client, "optional", "required"), *valid_calls(client)][:2]:
        id = id_of(await _call(client, call, "undeclared/tools/call", _WANTED))
        if id is not None:
            await _ask(client, "tasks/cancel", id, "undeclared/tasks/cancel")
    await client.request("tasks/list", {}, variant="undeclared/tasks/list")


# -- tasks that request input ----------------------------------------------------------------------


class _HeldRequests:
    """Holds server requests until `answer` is called: `with _HeldRequests(client) as held`."""

    def __init__(self, client: ProbeClient) -> None:
        self._client = client
        self._before = client.reply_to
        self.questions: list[dict[str, Any]] = []
        self.arrived = asyncio.Event()

    def __enter__(self) -> _HeldRequests:
        self._client.reply_to = self._keep
        return self

    def __exit__(self, *_: object) -> None:
        self._client.reply_to = self._before

    def _keep(self, message: dict[str, Any]) -> bytes | None:
        if message.get("method") == "ping":
            return answer_request(message)
        self.questions.append(message)
        self.arrived.set()
        return None

    async def answer(self) -> None:
        """Send a valid answer to every held request."""
        asked, self.questions = self.questions, []
        self.arrived.clear()
        for message in asked:
            data = answer_request(message)
            if data is not None:
                await self._client.send(data, ids=(), tag="answer")


@probe("task-questions", era=Family.LEGACY, profile=ClientProfile.FULL, needs=_CALLS)
async def answer_requests_of_tasks(client: ProbeClient) -> None:
    """Tasks of a client with all capabilities, one after the other.

    create: the call. result: blocks until the end. get/asked: while a server request is
    unanswered. get/after: after the result. cancel: for tasks that do not end.
    """
    if not client.revision.tasks:
        return
    until = time.monotonic() + client.context.patience(_TIMEOUT)
    for call in _calls(client, "optional", "required"):
        left = until - time.monotonic()
        if left > 0:
            await _answer_task(client, call, left)


async def _answer_task(client: ProbeClient, call: dict[str, Any], seconds: float) -> None:
    with _HeldRequests(client) as held:
        id = id_of(await _call(client, call, "create", _WANTED))
        if id is None:
            await held.answer()
            return
        waiting = asyncio.create_task(_ask(client, "tasks/result", id, "result", timeout=seconds))
        for _ in range(_MAX_QUESTIONS):
            asked = asyncio.create_task(held.arrived.wait())
            await asyncio.wait({waiting, asked}, return_when=asyncio.FIRST_COMPLETED)
            asked.cancel()
            if not held.questions:
                break
            await _ask(client, "tasks/get", id, "get/asked")
            await held.answer()
        await waiting
        if not is_over(await _ask(client, "tasks/get", id, "get/after")):
            await _cancel(client, id, "running")
        await held.answer()
