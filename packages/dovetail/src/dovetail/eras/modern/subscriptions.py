"""subscriptions/listen: a request that opens a stream of change notifications.

The acknowledgement comes first and lists what will be delivered. Every message of the stream
contains the id of the request. The stream ends when the client cancels it, or with a result
when the server ends it.
"""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from typing import Any

from msgspec import Raw, Struct, field

from dovetail.core.call import Call
from dovetail.core.changes import ChangeEvent, ChangeKind
from dovetail.core.dispatch import MethodHandler
from dovetail.errors import MethodNotFoundError
from dovetail.spec.keys import SUBSCRIPTION_ID
from dovetail.spec.models import AcknowledgedParams, ListenParams, SubscriptionFilter
from dovetail.wire import codec
from dovetail.wire.messages import Notification

__all__ = ["ListenStream", "listen_methods"]

# Maximum ids in one filter; each is looked up before the stream starts.
_MAX_ITEMS = 1000


class ListenStream:
    """One open subscriptions/listen request."""

    def __init__(self, call: Call, wanted: SubscriptionFilter) -> None:
        self.id: bytes = call.id
        self.wanted = wanted
        self.ended: asyncio.Future[None] = asyncio.get_running_loop().create_future()
        self._lists = {
            ChangeKind.TOOLS: wanted.tools_list_changed,
            ChangeKind.PROMPTS: wanted.prompts_list_changed,
            ChangeKind.RESOURCES: wanted.resources_list_changed,
        }
        self.uris: frozenset[str] = frozenset(wanted.resource_subscriptions or ())
        self._items = frozenset(wanted.task_ids or ())
        self._revision = call.era.revision
        # subs.id-on-all: the id as the client wrote it, in type and value
        self.meta: dict[str, Raw] = {SUBSCRIPTION_ID: Raw(call.id)}
        self._raw_meta = codec.encode(self.meta)

    def wants(self, change: ChangeEvent) -> bool:
        """Whether the client asked for this change."""
        # subs.only-requested (2026-07-28 basic/patterns/subscriptions)
        if change.item is not None:
            return change.item.id in self._items
        if change.what is ChangeKind.RESOURCE:
            return change.uri in self.uris
        return bool(self._lists[change.what])

    def announce(self, change: ChangeEvent) -> Notification | None:
        """The notification for this stream, or None if the client did not ask for it."""
        if not self.wants(change):
            return None
        if change.item is not None:
            method, members = change.item.notification(self._revision)
            return Notification(method, Raw(codec.encode({"_meta": self.meta, **members})))
        if change.what is ChangeKind.RESOURCE:
            params = b'{"_meta":%b,"uri":%b}' % (self._raw_meta, codec.encode(change.uri))
        else:
            params = b'{"_meta":%b}' % self._raw_meta
        return Notification(change.what.value, Raw(params))

    def cancellation(self, reason: str) -> Notification:
        """The notification that tells the client that the server ends the stream."""
        # cancel.server-listen-teardown (2026-07-28 basic/patterns/cancellation); and
        # subs.id-on-all (2026-07-28 basic/patterns/subscriptions): it belongs to the stream
        params = b'{"_meta":%b,"requestId":%b,"reason":%b}' % (
            self._raw_meta,
            self.id,
            codec.encode(reason),
        )
        return Notification("notifications/cancelled", Raw(params))

    def end(self) -> None:
        """End the stream from the server's side."""
        if not self.ended.done():
            self.ended.set_result(None)


class _ListenResult(Struct, omit_defaults=True):
    meta: dict[str, Any] | None = field(default=None, name="_meta")


def listen_methods(
    capabilities: Callable[[], dict[str, Any]],
    is_hidden: Callable[[Call, str], bool] = lambda call, uri: False,
) -> dict[str, MethodHandler]:
    """The method handler of subscriptions/listen."""

    async def listen(call: Call) -> _ListenResult:
        params: ListenParams = call.params  # type: ignore[assignment]
        if not call.link.channels.changes:
            raise MethodNotFoundError(
                "Method not found: 'subscriptions/listen' is not served here: this server answers "
                "without streams"
            )
        wanted = honoured(params.notifications, capabilities())
        if wanted.resource_subscriptions is not None:
            # Callers are not notified of resources that they may not read.
            wanted.resource_subscriptions = [
                uri for uri in wanted.resource_subscriptions if not is_hidden(call, uri)
            ]
        if params.notifications.task_ids is not None:
            ids = list(dict.fromkeys(params.notifications.task_ids[:_MAX_ITEMS]))
            wanted.task_ids = await call.services.tasks.keeper.followed(call, ids) or None
        stream = ListenStream(call, wanted)
        acknowledged = AcknowledgedParams(meta=stream.meta, notifications=stream.wanted)
        # subs.ack-first: nothing is delivered before this
        call.notify("notifications/subscriptions/acknowledged", codec.encode(acknowledged))
        call.link.open_stream(stream)
        try:
            await stream.ended
        finally:
            call.link.close_stream(stream)
        return _ListenResult(stream.meta)

    return {"subscriptions/listen": MethodHandler(listen, needs_task=True)}


def honoured(wanted: SubscriptionFilter, capabilities: dict[str, Any]) -> SubscriptionFilter:
    """The part of a filter that this server can deliver (subs.ack-subset)."""
    resources = capabilities.get("resources", {})
    return SubscriptionFilter(
        tools_list_changed=wanted.tools_list_changed
        and bool(capabilities.get("tools", {}).get("listChanged")),
        prompts_list_changed=wanted.prompts_list_changed
        and bool(capabilities.get("prompts", {}).get("listChanged")),
        resources_list_changed=wanted.resources_list_changed and bool(resources.get("listChanged")),
        resource_subscriptions=wanted.resource_subscriptions
        if resources.get("subscribe")
        else None,
    )
