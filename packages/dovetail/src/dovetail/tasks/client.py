"""The client's half of tasks: calls whose result is fetched later, for both eras.

A `ClientTask` polls at the interval that the server sets, answers the task's input requests with
the client's callbacks, and returns the result. If a server or a tool does not support tasks, the
call returns a task that has already ended, so callers need no special case.
"""

from __future__ import annotations

import asyncio
import math
from abc import ABC, abstractmethod
from collections.abc import AsyncGenerator
from contextlib import aclosing
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

from msgspec import Raw, Struct

from dovetail.client.callbacks import InputRequest
from dovetail.client.modern import ModernClientEra
from dovetail.client.results import CallResult, decode_result
from dovetail.errors import PeerError, RpcError, ToolError
from dovetail.spec.keys import TASKS
from dovetail.spec.results import ListToolsResult

if TYPE_CHECKING:
    from dovetail.client.era import ClientEra

__all__ = ["ClientTask", "TaskCalls", "TaskState", "task_calls_of"]

_FINAL = ("completed", "failed", "cancelled")
# Seconds between two polls if the server sets no interval.
_DEFAULT_POLL = 1.0
_MIN_POLL = 0.01
_MAX_PAGES = 100
# Every modern request about tasks declares the extension, and its result may be a task.
_DECLARED: Any = {"extensions": {TASKS: {}}, "result_types": ("task",)}


@dataclass(frozen=True, slots=True)
class TaskState:
    """The state of a task at one moment."""

    id: str
    status: str
    message: str | None = None
    created_at: str = ""
    updated_at: str = ""
    # Milliseconds that the server keeps the task after its creation; None: forever.
    ttl_ms: float | None = None
    poll_ms: float | None = None
    # The input requests and the outcome, if the state includes them (modern).
    asks: dict[str, InputRequest] = field(default_factory=dict)
    result: Raw | None = None
    error: RpcError | None = None

    @property
    def is_final(self) -> bool:
        """Whether the task has ended."""
        return self.status in _FINAL


class TaskCalls(ABC):
    """The task requests of an era."""

    def follow(self, state: TaskState, tool: str) -> ClientTask:
        """Return a task of this connection."""
        return ClientTask(self, state, tool)

    @abstractmethod
    async def create(
        self, name: str, arguments: dict[str, Any], ttl: float | None, meta: dict[str, Any] | None
    ) -> TaskState:
        """Call a tool; an immediate result is returned as a task that has ended."""

    @abstractmethod
    async def get(self, id: str) -> TaskState:
        """The current state of a task."""

    @abstractmethod
    async def answer(self, state: TaskState) -> None:
        """Answer the input requests of the task, each one once."""

    @abstractmethod
    async def result(self, state: TaskState) -> Raw:
        """The result of a task that has ended; raises RpcError."""

    @abstractmethod
    async def cancel(self, id: str) -> None:
        """Ask the server to cancel a task."""


class ClientTask:
    """A task on the server: poll it, wait for its result, cancel it."""

    def __init__(self, calls: TaskCalls, state: TaskState, tool: str) -> None:
        self._calls = calls
        self.tool = tool
        # The last known state.
        self.state = state

    @property
    def id(self) -> str:
        """The task id, valid in other processes too; empty if the call created no task."""
        return self.state.id

    async def refresh(self) -> TaskState:
        """Fetch the state once; does not answer input requests."""
        if not self.state.is_final:
            self.state = await self._calls.get(self.id)
        return self.state

    async def updates(self) -> AsyncGenerator[TaskState, None]:
        """Yield each new state until the task ends, and answer its input requests."""
        yielded: TaskState | None = None
        while True:
            state = self.state
            if yielded is None or (state.status, state.message) != (
                yielded.status,
                yielded.message,
            ):
                yielded = state
                yield state
            if state.is_final:
                return
            if state.status == "input_required":
                await self._calls.answer(state)
            # The server sets the poll interval.
            pause = _DEFAULT_POLL if state.poll_ms is None else state.poll_ms / 1000
            await asyncio.sleep(max(pause, _MIN_POLL))
            await self.refresh()

    async def result(self, *, timeout: float | None = None) -> CallResult:
        """Wait for the result; raises RpcError, or ToolError for a cancelled task."""
        async with asyncio.timeout(timeout), aclosing(self.updates()) as updates:
            async for _ in updates:
                pass
            if self.state.status == "cancelled":
                raise ToolError(self.state.message or "The task was cancelled.")
            return CallResult.read(self.tool, await self._calls.result(self.state))

    async def cancel(self) -> None:
        """Ask the server to cancel the task; a task that has ended does not change."""
        if not self.state.is_final:
            await self._calls.cancel(self.id)
            await self.refresh()


class _LegacyTask(Struct, rename="camel"):
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
    task: _LegacyTask


class LegacyTaskCalls(TaskCalls):
    """The client requests a task if the server and the tool declare support for tasks."""

    def __init__(self, era: ClientEra) -> None:
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
        return decode_result(_LegacyTask, raw, "tasks/get").read()

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


class _Error(Struct):
    code: int
    message: str
    data: Any = None


class _ModernTask(Struct, rename="camel"):
    """CreateTaskResult, the result of tasks/get, or any other result."""

    result_type: str = "complete"
    task_id: str = ""
    status: str = "completed"
    status_message: str | None = None
    created_at: str = ""
    last_updated_at: str = ""
    ttl_ms: int | None = None
    poll_interval_ms: int | None = None
    input_requests: dict[str, InputRequest] = {}
    result: Raw = Raw(b"")
    error: _Error | None = None

    def read(self) -> TaskState:
        error = self.error
        return TaskState(
            id=self.task_id,
            status=self.status,
            message=self.status_message,
            created_at=self.created_at,
            updated_at=self.last_updated_at,
            ttl_ms=self.ttl_ms,
            poll_ms=self.poll_interval_ms,
            asks=self.input_requests,
            result=self.result if bytes(self.result) else None,
            error=None
            if error is None
            else RpcError.from_wire(error.code, error.message, error.data),
        )


class ModernTaskCalls(TaskCalls):
    """The client declares support for tasks in every request."""

    def __init__(self, era: ModernClientEra) -> None:
        self._era = era
        # The keys of input requests that have been answered, by task.
        self._answered: dict[str, set[str]] = {}

    async def create(
        self, name: str, arguments: dict[str, Any], ttl: float | None, meta: dict[str, Any] | None
    ) -> TaskState:
        """Call a tool; the server decides whether it becomes a task, and for how long."""
        params = {"name": name, "arguments": arguments}
        raw = await self._era.request("tools/call", params, meta=meta, **_DECLARED)
        head = decode_result(_ModernTask, raw, "tools/call")
        if head.result_type == "task":
            return head.read()
        return TaskState(id="", status="completed", result=raw)

    async def get(self, id: str) -> TaskState:
        """The current state of a task."""
        raw = await self._era.request("tasks/get", {"taskId": id}, **_DECLARED)
        state = decode_result(_ModernTask, raw, "tasks/get").read()
        if state.is_final:
            self._answered.pop(id, None)
        return state

    async def answer(self, state: TaskState) -> None:
        """Run the callbacks for new input requests and send their results."""
        answered = self._answered.setdefault(state.id, set())
        wanted = {key: ask for key, ask in state.asks.items() if key not in answered}
        if not wanted:
            return
        answered.update(wanted)
        responses = await self._era.answer_all(wanted)
        params = {"taskId": state.id, "inputResponses": responses}
        await self._era.request("tasks/update", params, **_DECLARED)

    async def result(self, state: TaskState) -> Raw:
        """The result in the final state."""
        if state.error is not None:
            raise state.error
        if state.result is None:
            raise PeerError(f"The task is {state.status} and has neither result nor error")
        return state.result

    async def cancel(self, id: str) -> None:
        """Cancel a task."""
        await self._era.request("tasks/cancel", {"taskId": id}, **_DECLARED)


def task_calls_of(era: ClientEra) -> TaskCalls:
    """Return the task requests of an open connection."""
    return ModernTaskCalls(era) if isinstance(era, ModernClientEra) else LegacyTaskCalls(era)
