"""basic/utilities/tasks, the experiment of one revision.

Only tools that may be called are called, as a task or not. What has not ended is cancelled.
"""

from __future__ import annotations

import asyncio
import time
from typing import Any

from dovetail.spec import keys
from dovetail.spec.revisions import Family
from dovetail_check.calls import fitting_calls
from dovetail_check.exchanges import Exchange
from dovetail_check.personas import Persona
from dovetail_check.probe_client import ProbeClient
from dovetail_check.probes.pagination import NO_CURSOR
from dovetail_check.probes.walk import read_list
from dovetail_check.probing import probe
from dovetail_check.replies import answer_request
from dovetail_check.task_traffic import NO_SUCH_TASK, id_of, is_over

__all__ = ["OWN_ID"]

# The id that a client would like its task to have.
OWN_ID = "dovetail-check-own-task-id"
_CALLS = "tasks.requests.tools.call"
_MOST_TOOLS = 4
_MOST_QUESTIONS = 5
# Seconds that a task may take before it is cancelled.
_PATIENCE = 2.0
_WANTED = {"ttl": 60_000}
# More tools than a server has that can be checked in time.
_ALL = 1000


def _support(client: ProbeClient, name: Any) -> Any:
    """What the tool of that name says about tasks."""
    for tool in client.catalogue.tools:
        execution = tool.get("execution")
        if tool.get("name") == name and isinstance(execution, dict):
            return execution.get("taskSupport", "forbidden")
    return "forbidden"


def _calls(client: ProbeClient, *supports: str) -> list[dict[str, Any]]:
    """Calls that may go out, of tools that say one of these."""
    found = fitting_calls(client, _ALL)
    return [call for call in found if _support(client, call["name"]) in supports][:_MOST_TOOLS]


@probe("tasks", era=Family.LEGACY)
async def call_tools_as_tasks(client: ProbeClient) -> None:
    """What becomes of calls that ask for a task, and what is refused.

    create: a call as a task; then get, early-result (it may have to wait), get/after, and of what
    has ended late-result, cancel/ended, get/last; of what has not, cancel/running, get/stopped.
    own-id: a call that brings an id along. plain: the same call without a task, before and after.
    stopped: a call that is cancelled at once. required: a tool that is only for tasks, without
    one. forbidden: one that is not for tasks, with one. unknown/METHOD: an id that nobody gave
    out. related/other: a real id, and another one in the metadata; related/only: the other way
    round. list: all pages; list-cursor: a cursor that nobody gave out; list-other: another
    client; get/listed: what should have been listed.
    Where nothing of it is declared: undeclared/METHOD.
    """
    if not client.revision.tasks:
        return
    if not client.has(_CALLS):
        await _ignore_all(client)
        return
    calls = _calls(client, "optional", "required")
    optional = _calls(client, "optional")
    made, plain = await asyncio.gather(
        asyncio.gather(*(_follow(client, call) for call in calls)),
        asyncio.gather(*(_call(client, call, "plain") for call in optional)),
    )
    ids = [id for id in made if id is not None]
    again = [call for call, came in zip(optional, plain, strict=True) if came.answer is not None]
    await asyncio.gather(
        *(_call(client, call, "plain") for call in again),
        *(_stop(client, call) for call in calls[:1]),
        *(_bring_id(client, call) for call in calls[:1]),
        *(_call(client, call, "required") for call in _calls(client, "required")[:1]),
        *(_call(client, call, "forbidden", _WANTED) for call in _calls(client, "forbidden")[:1]),
        *(_ask(client, method, NO_SUCH_TASK, f"unknown/{method}") for method in _methods(client)),
        *(_contradict(client, id) for id in ids[:1]),
    )
    if client.has("tasks.list"):
        await _list(client, ids)


def _methods(client: ProbeClient) -> list[str]:
    """Requests about one task that the server has to know."""
    return ["tasks/get", "tasks/result", *(["tasks/cancel"] if client.has("tasks.cancel") else [])]


async def _call(
    client: ProbeClient, call: dict[str, Any], variant: str, task: Any = None
) -> Exchange:
    params = call if task is None else {**call, "task": task}
    timeout = min(_PATIENCE, client.at.timeout)
    return await client.request("tools/call", params, variant=variant, timeout=timeout)


async def _ask(
    client: ProbeClient,
    method: str,
    id: str,
    variant: str,
    related: str | None = None,
    timeout: float = _PATIENCE,
) -> Exchange:
    meta = None if related is None else {keys.RELATED_TASK: {"taskId": related}}
    timeout = min(timeout, client.at.timeout)
    return await client.request(method, {"taskId": id}, meta=meta, variant=variant, timeout=timeout)


async def _follow(client: ProbeClient, call: dict[str, Any]) -> str | None:
    """One task from its beginning to its end; its id."""
    id = id_of(await _call(client, call, "create", _WANTED))
    if id is None:
        return None
    await _ask(client, "tasks/get", id, "get")
    await _ask(client, "tasks/result", id, "early-result")
    after = await _ask(client, "tasks/get", id, "get/after")
    if not is_over(after):
        await _cancel(client, id, "running")
        await _ask(client, "tasks/get", id, "get/stopped")
        return id
    await _ask(client, "tasks/result", id, "late-result")
    await _cancel(client, id, "ended")
    await _ask(client, "tasks/get", id, "get/last")
    return id


async def _cancel(client: ProbeClient, id: str, variant: str) -> None:
    if client.has("tasks.cancel"):
        await _ask(client, "tasks/cancel", id, f"cancel/{variant}")


async def _stop(client: ProbeClient, call: dict[str, Any]) -> None:
    id = id_of(await _call(client, call, "stopped", _WANTED))
    if id is not None:
        await _cancel(client, id, "running")
        await _ask(client, "tasks/get", id, "get/stopped")


async def _bring_id(client: ProbeClient, call: dict[str, Any]) -> None:
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
        async with client.another("other-tasks") as other:
            if other.is_at_work:
                await read_list(other, "tasks/list", "tasks", variant="list-other")


async def _ignore_all(client: ProbeClient) -> None:
    """What a server without tasks does with them."""
    # Tools that promise tasks first: they may keep the promise.
    for call in [*_calls(client, "optional", "required"), *fitting_calls(client)][:2]:
        id = id_of(await _call(client, call, "undeclared/tools/call", _WANTED))
        if id is not None:
            await _ask(client, "tasks/cancel", id, "undeclared/tasks/cancel")
    await client.request("tasks/list", {}, variant="undeclared/tasks/list")


# -- tasks that ask --------------------------------------------------------------------------------


class _Held:
    """Keeps what the server asks until it is to be answered: `with _Held(talk) as held`."""

    def __init__(self, client: ProbeClient) -> None:
        self._talk = client
        self._before = client.reply_to
        self.questions: list[dict[str, Any]] = []
        self.came = asyncio.Event()

    def __enter__(self) -> _Held:
        self._talk.reply_to = self._keep
        return self

    def __exit__(self, *_: object) -> None:
        self._talk.reply_to = self._before

    def _keep(self, message: dict[str, Any]) -> bytes | None:
        if message.get("method") == "ping":
            return answer_request(message)
        self.questions.append(message)
        self.came.set()
        return None

    async def answer(self) -> None:
        """Give a fitting answer to everything that was asked until now."""
        asked, self.questions = self.questions, []
        self.came.clear()
        for message in asked:
            data = answer_request(message)
            if data is not None:
                await self._talk.send(data, ids=(), tag="answer")


@probe("task-questions", era=Family.LEGACY, persona=Persona.CAPABLE, needs=_CALLS)
async def be_asked_by_tasks(client: ProbeClient) -> None:
    """Tasks of a client that can be asked for everything, one after the other.

    create: the call. result: waits for its end. get/asked: while a question is open. get/after:
    when there is a result. cancel: where there is none.
    """
    if not client.revision.tasks:
        return
    until = time.monotonic() + _PATIENCE
    for call in _calls(client, "optional", "required"):
        left = until - time.monotonic()
        if left > 0:
            await _be_asked(client, call, left)


async def _be_asked(client: ProbeClient, call: dict[str, Any], seconds: float) -> None:
    with _Held(client) as held:
        id = id_of(await _call(client, call, "create", _WANTED))
        if id is None:
            await held.answer()
            return
        waiting = asyncio.create_task(_ask(client, "tasks/result", id, "result", timeout=seconds))
        for _ in range(_MOST_QUESTIONS):
            asked = asyncio.create_task(held.came.wait())
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
