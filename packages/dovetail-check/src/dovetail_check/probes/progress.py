"""basic/utilities/progress, basic/patterns/progress."""

from __future__ import annotations

import asyncio

from dovetail.spec import keys
from dovetail.spec.revisions import Family
from dovetail_check.calls import fitting_calls
from dovetail_check.probing import probe
from dovetail_check.talk import GRACE, Talk

__all__: list[str] = []


@probe("progress", needs="tools")
async def ask_for_progress(talk: Talk) -> None:
    """string-token, number-token: what may be called, with a token of each kind."""
    calls = fitting_calls(talk)
    await asyncio.gather(
        *(
            talk.request("tools/call", call, meta={keys.PROGRESS_TOKEN: token}, variant=variant)
            for index, call in enumerate(calls)
            for variant, token in (
                ("string-token", f"dovetail-check-{index}"),
                ("number-token", 9_000_000 + index),
            )
        )
    )


# How often the state of a task is asked for before it is left alone.
_MOST_POLLS = 20


@probe("task-progress", needs="tasks.requests.tools.call", era=Family.LEGACY)
async def ask_for_progress_of_a_task(talk: Talk) -> None:
    """task: one tool that may be called as a task, with a token. poll: until it is over."""
    if not talk.revision.tasks:
        # Some servers declare tasks at every revision; to use them there would be our fault.
        return
    for call in fitting_calls(talk):
        if not _may_be_a_task(talk, call["name"]):
            continue
        token = {keys.PROGRESS_TOKEN: "dovetail-check-task"}
        params = {**call, "task": {"ttl": 60_000}}
        created = await talk.request("tools/call", params, meta=token, variant="task")
        task = (created.result or {}).get("task")
        if isinstance(task, dict) and isinstance(task.get("taskId"), str):
            await _poll(talk, task["taskId"])
        return


def _may_be_a_task(talk: Talk, name: str) -> bool:
    for tool in talk.catalogue.tools:
        execution = tool.get("execution")
        if tool.get("name") == name and isinstance(execution, dict):
            return execution.get("taskSupport") in ("optional", "required")
    return False


async def _poll(talk: Talk, id: str) -> None:
    for _ in range(_MOST_POLLS):
        polled = await talk.request("tasks/get", {"taskId": id}, variant="poll")
        if (polled.result or {}).get("status") not in ("working", "input_required"):
            break
        await talk.line.linger(GRACE / 3)
    await talk.fence()
    await talk.line.linger(GRACE)
