"""Task requests of the modern era: the extension io.modelcontextprotocol/tasks."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from msgspec import Raw, Struct

from dovetail.client.results import decode_result
from dovetail.client.tasks import InputRequest, TaskCalls, TaskState
from dovetail.errors import PeerError, RpcError

if TYPE_CHECKING:
    from dovetail.client.modern import ModernClientEra

__all__ = ["ModernTaskCalls"]


class _Error(Struct):
    code: int
    message: str
    data: Any = None


class _Task(Struct, rename="camel"):
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
        raw = await self._era.request("tools/call", params, meta=meta, tasks=True)
        head = decode_result(_Task, raw, "tools/call")
        if head.result_type == "task":
            return head.read()
        return TaskState(id="", status="completed", result=raw)

    async def get(self, id: str) -> TaskState:
        """The current state of a task."""
        raw = await self._era.request("tasks/get", {"taskId": id}, tasks=True)
        state = decode_result(_Task, raw, "tasks/get").read()
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
        await self._era.request("tasks/update", params, tasks=True)

    async def result(self, state: TaskState) -> Raw:
        """The result in the final state."""
        if state.error is not None:
            raise state.error
        if state.result is None:
            raise PeerError(f"The task is {state.status} and has neither result nor error")
        return state.result

    async def cancel(self, id: str) -> None:
        """Cancel a task."""
        await self._era.request("tasks/cancel", {"taskId": id}, tasks=True)
