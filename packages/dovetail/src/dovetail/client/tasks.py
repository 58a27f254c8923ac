"""Tasks: calls whose result is fetched later, for both eras.

A `ClientTask` polls at the interval that the server sets, answers the task's input requests with
the client's callbacks, and returns the result. If a server or a tool does not support tasks, the
call returns a task that has already ended, so callers need no special case.
"""

from __future__ import annotations

import asyncio
from abc import ABC, abstractmethod
from collections.abc import AsyncGenerator
from contextlib import aclosing
from dataclasses import dataclass, field
from typing import Any

import msgspec
from msgspec import Raw, Struct

from dovetail.client.results import CallResult
from dovetail.errors import RpcError, ToolError

__all__ = ["ClientTask", "InputRequest", "TaskCalls", "TaskState"]

_FINAL = ("completed", "failed", "cancelled")
# Seconds between two polls if the server sets no interval.
_DEFAULT_POLL = 1.0
_MIN_POLL = 0.01


class InputRequest(Struct):
    """A request for input from the client."""

    method: str
    params: dict[str, Any] = msgspec.field(default_factory=dict)


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
