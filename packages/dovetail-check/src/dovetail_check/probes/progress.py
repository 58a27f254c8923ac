"""basic/utilities/progress, basic/patterns/progress."""

from __future__ import annotations

import asyncio

from dovetail.spec import keys
from dovetail.spec.revisions import Family
from dovetail_check.calls import valid_calls
from dovetail_check.probe_client import GRACE, ProbeClient
from dovetail_check.probing import probe

__all__: list[str] = []


@probe("progress", needs="tools")
async def request_progress(client: ProbeClient) -> None:
    """string-token, number-token: tool calls with a token of each type."""
    calls = valid_calls(client)
    await asyncio.gather(
        *(
            client.request("tools/call", call, meta={keys.PROGRESS_TOKEN: token}, variant=variant)
            for index, call in enumerate(calls)
            for variant, token in (
                ("string-token", f"dovetail-check-{index}"),
                ("number-token", 9_000_000 + index),
            )
        )
    )


# The maximum number of polls for one task.
_MAX_POLLS = 20


@probe("task-progress", needs="tasks.requests.tools.call", era=Family.LEGACY)
async def request_progress_of_a_task(client: ProbeClient) -> None:
    """task: one call as a task, with a token. poll: until the task has ended."""
    if not client.revision.tasks:
        # Some servers declare tasks at every revision, but only this one allows their use.
        return
    for call in valid_calls(client):
        if not _may_be_a_task(client, call["name"]):
            continue
        token = {keys.PROGRESS_TOKEN: "dovetail-check-task"}
        params = {**call, "task": {"ttl": 60_000}}
        created = await client.request("tools/call", params, meta=token, variant="task")
        task = (created.result or {}).get("task")
        if isinstance(task, dict) and isinstance(task.get("taskId"), str):
            await _poll(client, task["taskId"])
        return


def _may_be_a_task(client: ProbeClient, name: str) -> bool:
    for tool in client.catalogue.tools:
        execution = tool.get("execution")
        if tool.get("name") == name and isinstance(execution, dict):
            return execution.get("taskSupport") in ("optional", "required")
    return False


async def _poll(client: ProbeClient, id: str) -> None:
    for _ in range(_MAX_POLLS):
        polled = await client.request("tasks/get", {"taskId": id}, variant="poll")
        if (polled.result or {}).get("status") not in ("working", "input_required"):
            break
        await client.connection.keep_listening(GRACE / 3)
    await client.fence()
    await client.connection.keep_listening(client.context.patience(GRACE))
