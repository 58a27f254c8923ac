"""Task requests of revision 2025-11-25."""

from __future__ import annotations

import asyncio
import math
from typing import TYPE_CHECKING, Any

from msgspec import Raw, Struct

from dovetail.client.results import decode_result
from dovetail.client.tasks import TaskCalls, TaskState
from dovetail.spec.results import ListToolsResult

if TYPE_CHECKING:
    from dovetail.client.legacy import LegacyClientEra

__all__ = ["LegacyTaskCalls"]

_MAX_PAGES = 100


class _Task(Struct, rename="camel"):
    task_id: str
    status: str
    status_message: str | None = None
    created_at: str = ""
    last_updated_at: str = ""
    ttl: float | None = None
    poll_interval: float | None = None

    def read(self) -> TaskState:
        return TaskState(
            id=self.task_id,
            status=self.status,
            message=self.status_message,
            created_at=self.created_at,
            updated_at=self.last_updated_at,
            ttl_ms=self.ttl,
            poll_ms=self.poll_interval,
        )


class _Created(Struct):
    task: _Task


class LegacyTaskCalls(TaskCalls):
    """The client requests a task if the server and the tool declare support for tasks."""

    def __init__(self, era: LegacyClientEra) -> None:
        self._era = era
        # The `taskSupport` of the tools that were listed.
        self._supports: dict[str, str] = {}
        # Pending tasks/result requests; a task can send requests while one is pending.
        self._waiting: dict[str, asyncio.Task[Raw]] = {}

    async def create(
        self, name: str, arguments: dict[str, Any], ttl: float | None, meta: dict[str, Any] | None
    ) -> TaskState:
        """Call a tool, as a task if it supports tasks."""
        params: dict[str, Any] = {"name": name, "arguments": arguments}
        if await self.find_support(name) in ("optional", "required"):
            params["task"] = {} if ttl is None else {"ttl": round(ttl * 1000)}
        raw = await self._era.request("tools/call", params, meta=meta)
        if "task" not in params:
            return TaskState(id="", status="completed", result=raw)
        return decode_result(_Created, raw, "tools/call").task.read()

    async def find_support(self, name: str) -> str:
        """The `taskSupport` of a tool: forbidden, optional or required."""
        # tasks.tool.no-request-capability (2025-11-25 basic/utilities/tasks): without the
        # capability, the tool's declaration is ignored
        declared = self._era.facts.capabilities.get("tasks", {})
        if "call" not in declared.get("requests", {}).get("tools", {}):
            return "forbidden"
        if name not in self._supports:
            await self._list_tools()
        return self._supports.get(name, "forbidden")

    async def _list_tools(self) -> None:
        cursor: str | None = None
        for _ in range(_MAX_PAGES):
            params = None if cursor is None else {"cursor": cursor}
            raw = await self._era.request("tools/list", params)
            page = decode_result(ListToolsResult, raw, "tools/list")
            for tool in page.tools:
                execution = tool.execution
                support = None if execution is None else execution.task_support
                self._supports[tool.name] = support or "forbidden"
            cursor = page.next_cursor
            if cursor is None:
                return

    async def get(self, id: str) -> TaskState:
        """The current state of a task."""
        raw = await self._era.request("tasks/get", {"taskId": id})
        return decode_result(_Task, raw, "tasks/get").read()

    async def answer(self, state: TaskState) -> None:
        """Keep a tasks/result request pending, during which the server sends its requests."""
        waiting = self._waiting.get(state.id)
        if waiting is None or waiting.done():
            self._waiting[state.id] = self._era.rpc.request_tasks.start(self._fetch(state.id))

    async def _fetch(self, id: str) -> Raw:
        return await self._era.request("tasks/result", {"taskId": id}, timeout=math.inf)

    async def result(self, state: TaskState) -> Raw:
        """The result, from the pending tasks/result request if there is one."""
        if state.result is not None:
            return state.result
        waiting = self._waiting.pop(state.id, None)
        if waiting is not None:
            return await waiting
        return await self._fetch(state.id)

    async def cancel(self, id: str) -> None:
        """Cancel a task."""
        waiting = self._waiting.pop(id, None)
        await self._era.request("tasks/cancel", {"taskId": id})
        if waiting is not None:
            # The pending request fails because the task is cancelled; the error is expected.
            await asyncio.gather(waiting, return_exceptions=True)
