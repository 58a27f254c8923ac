"""Tasks of a proxy that another process of its cluster created.

A legacy upstream sends the questions of a task once, to the session that asked for it. The process
with this session answers for the task while it lives; its node is a part of the task's id.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Protocol

from msgspec import UNSET, Raw, Struct

from dovetail.compose.proxy.cluster_messages import (
    AskMessage,
    FailureMessage,
    read_asks,
    write_asks,
)
from dovetail.core.call import Call, Peer
from dovetail.core.principal import Principal, owner_of
from dovetail.core.tasks import Status, TaskView
from dovetail.errors import RpcError, StoreError, ToolError
from dovetail.runtime.engine import Engine
from dovetail.runtime.link import NULL_LINK
from dovetail.stores.cluster import Cluster
from dovetail.wire import codec

__all__ = ["TaskRoutes"]


_ABSENT = Raw()


class OwnTasks(Protocol):
    """The tasks that this process has created."""

    async def get(self, call: Call, id: str) -> TaskView:
        """Return a task."""

    async def answer(self, call: Call, id: str, answers: Mapping[str, Raw]) -> None:
        """Pass answers to a task."""

    def refuse(self, id: str, key: str, error: Exception) -> None:
        """Pass a refusal to answer on."""


class _TaskRequest(Struct, array_like=True):
    """A request about a task, with what is needed of its caller."""

    id: str
    # tasks/result waits for the outcome of a task, everything else needs its state.
    method: str
    revision: str
    owner: str | None
    capabilities: dict[str, Any]
    meta: Raw
    # None: to get the task.
    answers: dict[str, Raw] | None = None


class _Refusal(Struct, array_like=True):
    id: str
    key: str
    reason: str


class _View(Struct, omit_defaults=True):
    id: str
    status: Status
    created: float
    updated: float
    ttl_ms: int | None
    poll_ms: int
    message: str | None = None
    result: Raw = _ABSENT
    error: Raw = _ABSENT
    asks: dict[str, AskMessage] = {}


class _Reply(Struct, omit_defaults=True):
    view: _View | None = None
    failure: FailureMessage | None = None


class TaskRoutes:
    """Sends requests about tasks to the process that created them, and serves those of others."""

    def __init__(self, cluster: Cluster, topic: str, engine: Engine, tasks: OwnTasks) -> None:
        self.node = cluster.node
        self._cluster = cluster
        self._topic = topic
        self._engine = engine
        self._tasks = tasks
        cluster.on_request(f"{topic}:task", self._serve)
        cluster.on_message(f"{topic}:refusal", self._take_refusal)

    async def leads_to(self, node: str) -> bool:
        """Whether another process that lives has this name."""
        return node not in ("", self.node) and await self._cluster.is_alive(node)

    async def get(self, call: Call, node: str, id: str) -> TaskView:
        """Return a task of another process."""
        view = (await self._request(call, node, id)).view
        assert view is not None
        return TaskView(
            view.id,
            view.status,
            view.created,
            view.updated,
            view.ttl_ms,
            view.poll_ms,
            message=view.message,
            result=bytes(view.result) or None,
            error=bytes(view.error) or None,
            asks=read_asks(view.asks),
        )

    async def answer(self, call: Call, node: str, id: str, answers: Mapping[str, Raw]) -> None:
        """Pass answers to a task of another process."""
        await self._request(call, node, id, dict(answers))

    def refuse(self, node: str, id: str, key: str, reason: str) -> None:
        """Pass a refusal to answer to another process."""
        self._cluster.send(node, f"{self._topic}:refusal", codec.encode(_Refusal(id, key, reason)))

    async def _request(
        self, call: Call, node: str, id: str, answers: dict[str, Raw] | None = None
    ) -> _Reply:
        request = _TaskRequest(
            id,
            "tasks/result" if call.method == "tasks/result" else "tasks/get",
            call.era.revision.date,
            owner_of(call.principal),
            call.peer.capabilities,
            Raw(b"{}") if call.params.meta is UNSET else call.params.meta,
            answers,
        )
        raw = await self._cluster.request(node, f"{self._topic}:task", codec.encode(request))
        reply = codec.decode_as(_Reply, raw)
        if reply.failure is not None:
            raise reply.failure.to_error()
        return reply

    # -- in the process that created the task ---------------------------------------------------

    async def _serve(self, node: str, message: bytes) -> bytes:
        request = codec.decode_as(_TaskRequest, message)
        reply = _Reply()
        try:
            call = self._stand_in(request)
            if request.answers is None:
                reply.view = _write_view(await self._tasks.get(call, request.id))
            else:
                await self._tasks.answer(call, request.id, request.answers)
        except (RpcError, ToolError) as error:
            reply.failure = FailureMessage.from_error(error)
        return codec.encode(reply)

    def _stand_in(self, request: _TaskRequest) -> Call:
        """Return a call like the one that the other process got."""
        params = codec.encode({"taskId": request.id, "_meta": request.meta})
        found = self._engine.eras.reopen(request.revision, request.method, params)
        if found is None:
            raise StoreError(f"the process does not know the revision {request.revision}")
        peer = Peer(None, request.capabilities, None)
        call = Call(b"0", request.method, *found, peer)
        call.services = self._engine
        call.link = NULL_LINK
        call.principal = None if request.owner is None else Principal(request.owner)
        return call

    def _take_refusal(self, node: str, message: bytes) -> None:
        refusal = codec.decode_as(_Refusal, message)
        self._tasks.refuse(refusal.id, refusal.key, ToolError(refusal.reason))


def _write_view(view: TaskView) -> _View:
    return _View(
        view.id,
        view.status,
        view.created,
        view.updated,
        view.ttl_ms,
        view.poll_ms,
        view.message,
        _ABSENT if view.result is None else Raw(view.result),
        _ABSENT if view.error is None else Raw(view.error),
        write_asks(view.asks),
    )
