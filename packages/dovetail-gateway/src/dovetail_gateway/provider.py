"""`ProxyProvider`: what a proxy offers to servers that it is mounted in."""

from __future__ import annotations

import weakref
from collections.abc import Callable
from typing import Any, Protocol

import msgspec

from dovetail.client.http_headers import ToolHeaders
from dovetail.core.call import Call
from dovetail.errors import PeerError, UpstreamError
from dovetail.runtime.provider import Membership, Provider, Source
from dovetail.spec.header_params import HeaderParams
from dovetail.spec.models import ResourceContents
from dovetail.spec.results import WireReadResult
from dovetail.wire import codec
from dovetail_gateway.changes import ChangeRelay
from dovetail_gateway.forwarder import Forwarder
from dovetail_gateway.tasks import ProxyTasks

__all__ = ["ProxyProvider"]


class _ProxySource(Source, Protocol):
    """The parts of a proxy that its provider uses."""

    forwarder: Forwarder
    relay: ChangeRelay
    tool_headers: ToolHeaders
    upstream_tasks: ProxyTasks


class ProxyProvider(Provider):
    """Whatever the upstream has; its names are known only when it is asked."""

    keeps_tasks = True
    has_fixed_names = False

    def __init__(self, source: _ProxySource) -> None:
        super().__init__(source)
        self._proxy = source
        # Sessions with subscriptions, which end with them.
        self._sessions: weakref.WeakSet[Any] = weakref.WeakSet()

    def join(self, membership: Membership) -> None:
        """Make the proxy a part of a cluster."""
        super().join(membership)
        proxy, processes = self._proxy, membership.processes
        # Proxies are told apart by their place, which is the same in all processes.
        topic = "proxy:" + "/".join(membership.path)
        proxy.forwarder.routed.join(processes, topic)
        proxy.relay.join(processes, topic)
        proxy.upstream_tasks.join(membership.keys)

    async def read_resource(self, call: Call, uri: str) -> list[ResourceContents]:
        """Return the contents of a resource of the upstream."""
        forward = self._proxy.forwarder.forward
        answer = await forward(call, "resources/read", {"uri": uri}, uri=uri)
        try:
            contents = codec.decode_as(WireReadResult, answer.raw).contents
            return [each.read() for each in contents]
        except (msgspec.ValidationError, PeerError) as error:
            raise UpstreamError(self._proxy.name, f"violates the protocol: {error}") from None

    def serves_itself(self, kind: str, name: str) -> bool:
        """Return True: the upstream decides."""
        return True

    def names(self, kind: str) -> list[str]:
        """Return no names."""
        return []

    def check_names(self, check: Callable[[str, str], None]) -> Callable[[], None]:
        """Do nothing: nothing is registered here."""
        return lambda: None

    def header_params(self, name: str, call: Call) -> HeaderParams:
        """Return the parameters of a listed tool that HTTP repeats in headers."""
        return self._proxy.tool_headers.params_of(name)

    def templates_of(self, uri: str) -> list[str]:
        """Return none: the upstream decides what serves a URI."""
        return []

    def tags_of(self, kind: str, name: str) -> list[frozenset[str]]:
        """Return no tags: the protocol has none."""
        return [frozenset()]

    def is_resumable(self, name: str) -> bool:
        """Return False: a call of the upstream is not repeated."""
        return False

    def resource_exists(self, call: Call, uri: str) -> bool:
        """Return True: the upstream has been asked before."""
        return True

    def resource_is_hidden(self, call: Call, uri: str) -> bool:
        """Return False: the upstream decides what a caller may read."""
        return False

    async def watch(self, call: Call, uri: str, *, stream: bool = False) -> None:
        """Subscribe to a resource of the upstream."""
        caller = self._proxy.forwarder.caller_of(call)
        if stream:
            caller = caller._replace(key=call)
        session = None if stream else call.link.session
        if session is not None and session not in self._sessions:
            self._sessions.add(session)
            weakref.finalize(session, self._proxy.relay.drop, caller.key)
        await self._proxy.relay.watch(caller, uri)

    async def unwatch(self, call: Call, uri: str | None = None, *, stream: bool = False) -> None:
        """End the subscription to a resource, all of them without a URI."""
        key = call if stream else self._proxy.forwarder.caller_of(call).key
        await self._proxy.relay.unwatch(key, uri)
