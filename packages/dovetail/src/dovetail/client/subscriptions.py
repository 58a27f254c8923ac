"""Being told of changes, the same way in both eras.

A subscription is opened by entering it and read by iterating it. Changes that say the
same and have not been read yet are told once: "the list changed" twice in a row
means no more than once, and a reader that falls behind costs no memory.
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
    """A list changed, or one resource did; only the latter has a URI."""

    kind: Literal["tools", "prompts", "resources", "resource"]
    uri: str | None = None


@dataclass(frozen=True, slots=True)
class Interest:
    """Which changes are wanted, or which of them a server agreed to tell."""

    tools: bool = False
    prompts: bool = False
    resources: bool = False
    uris: tuple[str, ...] = ()

    def covers(self, change: Change) -> bool:
        """Whether this change is one of them."""
        if change.kind == "tools":
            return self.tools
        if change.kind == "prompts":
            return self.prompts
        if change.kind == "resources":
            return self.resources
        # The URI may be of something below the one subscribed to (2025-11-25 schema,
        # ResourceUpdatedNotification).
        uri = change.uri or ""
        return any(uri == own or uri.startswith(own.rstrip("/") + "/") for own in self.uris)

    def to_filter(self) -> SubscriptionFilter:
        """As it stands in subscriptions/listen."""
        return SubscriptionFilter(
            tools_list_changed=self.tools,
            prompts_list_changed=self.prompts,
            resources_list_changed=self.resources,
            resource_subscriptions=list(self.uris) or None,
        )

    @classmethod
    def from_filter(cls, filter: SubscriptionFilter) -> Interest:
        """From what a server acknowledged."""
        return cls(
            filter.tools_list_changed,
            filter.prompts_list_changed,
            filter.resources_list_changed,
            tuple(filter.resource_subscriptions or ()),
        )


def change_from(method: str, uri: str | None) -> Change | None:
    """The change that a notification tells of, if it tells of one."""
    if method == "notifications/resources/updated":
        return None if uri is None else Change("resource", uri)
    kind = _KINDS.get(method)
    return None if kind is None else Change(kind)


class ChangeSource(Protocol):
    """Who feeds a subscription: one of the two eras."""

    async def open_feed(self, subscription: Subscription) -> Interest:
        """Start to push changes; what the server agreed to."""

    async def close_feed(self, subscription: Subscription) -> None:
        """Stop."""


class Subscription:
    """`async with client.subscribe(...) as changes: async for change in changes: ...`."""

    def __init__(self, source: ChangeSource, interest: Interest) -> None:
        self.interest = interest
        self._source = source
        self._acknowledged: Interest | None = None
        # A dict keeps the order and lets equal changes fall together.
        self._unread: dict[Change, None] = {}
        self._news = asyncio.Event()
        self._ended = False
        self._error: Exception | None = None

    @property
    def acknowledged(self) -> Interest:
        """What the server agreed to tell; may be less than what was asked for."""
        return self._acknowledged or Interest()

    @property
    def refused(self) -> Sequence[str]:
        """What was asked for and is not going to be told, by name or URI."""
        got = self.acknowledged
        names = [
            name
            for name in ("tools", "prompts", "resources")
            if getattr(self.interest, name) and not getattr(got, name)
        ]
        return (*names, *(uri for uri in self.interest.uris if uri not in got.uris))

    def push(self, change: Change) -> None:
        """A change arrived."""
        self._unread[change] = None
        self._news.set()

    def end(self, error: Exception | None = None) -> None:
        """No more changes will come; `error` says why if that is not in order."""
        self._ended = True
        self._error = self._error or error
        self._news.set()

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
            self._news.clear()
            await self._news.wait()
        change = next(iter(self._unread))
        del self._unread[change]
        return change
