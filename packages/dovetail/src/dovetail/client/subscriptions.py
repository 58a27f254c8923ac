"""Subscriptions to changes, for both eras.

A subscription is opened with `async with` and read with `async for`. Equal changes that have not
been read yet are delivered once, so a slow reader needs little memory.
"""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Sequence
from dataclasses import dataclass
from types import TracebackType
from typing import Literal, Protocol

from dovetail.spec.models import SubscriptionFilter

__all__ = ["Change", "ChangeSource", "Interest", "Subscription", "change_from"]

_KINDS: dict[str, Literal["tools", "prompts", "resources"]] = {
    "notifications/tools/list_changed": "tools",
    "notifications/prompts/list_changed": "prompts",
    "notifications/resources/list_changed": "resources",
}


@dataclass(frozen=True, slots=True)
class Change:
    """A change of a list or of one resource; only the latter has a URI."""

    kind: Literal["tools", "prompts", "resources", "resource"]
    uri: str | None = None


@dataclass(frozen=True, slots=True)
class Interest:
    """The requested changes, or those that a server agreed to send."""

    tools: bool = False
    prompts: bool = False
    resources: bool = False
    uris: tuple[str, ...] = ()

    def covers(self, change: Change) -> bool:
        """Whether it includes a change."""
        if change.kind == "tools":
            return self.tools
        if change.kind == "prompts":
            return self.prompts
        if change.kind == "resources":
            return self.resources
        # The URI may be below the URI of the subscription (2025-11-25 schema,
        # ResourceUpdatedNotification).
        uri = change.uri or ""
        return any(uri == own or uri.startswith(own.rstrip("/") + "/") for own in self.uris)

    def to_filter(self) -> SubscriptionFilter:
        """The filter for subscriptions/listen."""
        return SubscriptionFilter(
            tools_list_changed=self.tools,
            prompts_list_changed=self.prompts,
            resources_list_changed=self.resources,
            resource_subscriptions=list(self.uris) or None,
        )

    @classmethod
    def from_filter(cls, filter: SubscriptionFilter) -> Interest:
        """The interest that a server acknowledged."""
        return cls(
            filter.tools_list_changed,
            filter.prompts_list_changed,
            filter.resources_list_changed,
            tuple(filter.resource_subscriptions or ()),
        )


def change_from(method: str, uri: str | None) -> Change | None:
    """The change that a notification reports, if any."""
    if method == "notifications/resources/updated":
        return None if uri is None else Change("resource", uri)
    kind = _KINDS.get(method)
    return None if kind is None else Change(kind)


class ChangeSource(Protocol):
    """Delivers changes to a subscription; implemented by the eras."""

    async def open_feed(self, subscription: Subscription) -> Interest:
        """Start pushing changes; returns what the server agreed to send."""

    async def close_feed(self, subscription: Subscription) -> None:
        """Stop pushing changes."""


class Subscription:
    """`async with client.subscribe(...) as changes: async for change in changes: ...`."""

    def __init__(self, source: ChangeSource, interest: Interest) -> None:
        self.interest = interest
        self._source = source
        self._acknowledged: Interest | None = None
        # A dict keeps the order and removes duplicates.
        self._unread: dict[Change, None] = {}
        self._wakeup = asyncio.Event()
        self._ended = False
        self._error: Exception | None = None

    @property
    def acknowledged(self) -> Interest:
        """The changes that the server agreed to send; may be fewer than requested."""
        return self._acknowledged or Interest()

    @property
    def refused(self) -> Sequence[str]:
        """The requested changes that the server will not send, by name or URI."""
        got = self.acknowledged
        names = [
            name
            for name in ("tools", "prompts", "resources")
            if getattr(self.interest, name) and not getattr(got, name)
        ]
        return (*names, *(uri for uri in self.interest.uris if uri not in got.uris))

    def push(self, change: Change) -> None:
        """Add a change."""
        self._unread[change] = None
        self._wakeup.set()

    def end(self, error: Exception | None = None) -> None:
        """End the subscription; iteration raises `error` if it is not None."""
        self._ended = True
        self._error = self._error or error
        self._wakeup.set()

    async def __aenter__(self) -> Subscription:
        self._acknowledged = await self._source.open_feed(self)
        return self

    async def __aexit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        traceback: TracebackType | None,
    ) -> None:
        self.end()
        await self._source.close_feed(self)

    def __aiter__(self) -> AsyncIterator[Change]:
        return self

    async def __anext__(self) -> Change:
        while not self._unread:
            if self._ended:
                if self._error is not None:
                    raise self._error
                raise StopAsyncIteration
            self._wakeup.clear()
            await self._wakeup.wait()
        change = next(iter(self._unread))
        del self._unread[change]
        return change
