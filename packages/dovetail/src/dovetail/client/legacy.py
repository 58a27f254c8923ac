"""The legacy era of a client: an initialize handshake, then requests in both directions.

`initialize` negotiates the revision and the capabilities. After it the server may send requests
(elicitation, sampling, roots, ping) at any time, and sends list changes to every client.
"""

from __future__ import annotations

import asyncio
import contextlib
from collections.abc import Awaitable, Collection, Mapping
from typing import Any

from msgspec import Raw, Struct

from dovetail.client.channel import SessionEndedError, StreamLostError
from dovetail.client.era import ClientEra, Settings, check_log_level
from dovetail.client.results import ServerFacts, decode_result
from dovetail.client.rpc import ProgressCallback, RpcConnection
from dovetail.client.subscriptions import Interest, Subscription, change_from
from dovetail.errors import (
    DovetailError,
    InternalError,
    InvalidParamsError,
    InvalidRequestError,
    MethodNotFoundError,
    PeerError,
    RpcError,
    TransportError,
)
from dovetail.spec.methods import methods_at
from dovetail.spec.models import CancelledParams, InitializeResult
from dovetail.spec.revisions import Family, Revision, find_revision
from dovetail.wire import codec
from dovetail.wire.messages import Notification, Request

__all__ = ["LegacyClientEra"]


class _UpdatedParams(Struct):
    uri: str


class LegacyClientEra(ClientEra):
    """A connection that starts with initialize."""

    def __init__(self, rpc: RpcConnection, settings: Settings, revision: Revision) -> None:
        super().__init__(rpc, settings, revision)
        self._offer = revision
        self._exact = False
        self._log_level: str | None = None
        self._handshakes = 0
        self._restart_lock = asyncio.Lock()
        self._running_callbacks: dict[bytes, asyncio.Task[dict[str, Any]]] = {}
        # The resource URIs of each subscription.
        self._feeds: dict[Subscription, list[str]] = {}
        # The number of subscriptions per URI; the server gets one subscribe request.
        self._watched: dict[str, int] = {}
        # The server can send nothing on its own initiative until another request is sent.
        self._is_stream_lost = False

    @classmethod
    async def open(
        cls, rpc: RpcConnection, settings: Settings, offer: Revision, *, exact: bool
    ) -> LegacyClientEra:
        """Initialize, offering a revision; `exact` accepts no other."""
        era = cls(rpc, settings, offer)
        era._offer, era._exact = offer, exact
        await era._initialize()
        return era

    async def _initialize(self) -> None:
        settings, offer = self.settings, self._offer
        capabilities = settings.callbacks.capabilities(offer)
        extensions = dict(settings.extensions(offer))
        if extensions:
            # These revisions have no other place for what is not in the protocol.
            capabilities["experimental"] = extensions
        params: dict[str, Any] = {
            "protocolVersion": offer.date,
            "capabilities": capabilities,
            "clientInfo": {"name": settings.name, "version": settings.version},
        }
        if settings.first_meta:
            params["_meta"] = dict(settings.first_meta)
        raw = await self.rpc.request(
            "initialize",
            params,
            timeout=settings.timeout,
            # A client must not cancel initialize (2025-11-25 basic/utilities/cancellation).
            cancellable=False,
        )
        result = decode_result(InitializeResult, raw, "initialize")
        self.revision: Revision = _agree(offer, result.protocol_version, exact=self._exact)
        self.facts: ServerFacts = ServerFacts(
            result.server_info,
            result.capabilities,
            result.instructions,
            (result.protocol_version,),
        )
        self.rpc.begin_session()
        await self.rpc.notify("notifications/initialized")
        if self._log_level is None and settings.on_log is not None:
            self._log_level = settings.log_level
        if self._log_level is not None and self.has_capability("logging"):
            await self._send("logging/setLevel", {"level": self._log_level})

    async def request(
        self,
        method: str,
        params: dict[str, Any] | None = None,
        *,
        timeout: float | None = None,
        progress: ProgressCallback | None = None,
        meta: dict[str, Any] | None = None,
        extensions: Mapping[str, Any] | None = None,
        result_types: Collection[str] = (),
    ) -> Raw:
        """Send a request and return its result; the session has declared the extensions."""
        self.check_exists(method)
        if meta:
            params = {**(params or {}), "_meta": dict(meta)}
        seconds = self.settings.timeout if timeout is None else timeout
        return await self.exchange(method, params, timeout=seconds, progress=progress)

    async def exchange(
        self,
        method: str,
        params: dict[str, Any] | None,
        *,
        timeout: float,
        progress: ProgressCallback | None = None,
    ) -> Raw:
        """Send a request; starts a new session if the old one ended."""
        if self._restart_lock.locked():
            async with self._restart_lock:
                pass
        handshakes = self._handshakes
        try:
            return await self._send(method, params, timeout, progress)
        except SessionEndedError:
            await self._restart_session(handshakes)
        return await self._send(method, params, timeout, progress)

    def _send(
        self,
        method: str,
        params: dict[str, Any] | None,
        timeout: float | None = None,
        progress: ProgressCallback | None = None,
    ) -> Awaitable[Raw]:
        seconds = self.settings.timeout if timeout is None else timeout
        return self.rpc.request(method, params, timeout=seconds, progress=progress)

    async def _restart_session(self, handshakes: int) -> None:
        """Replace a session that the server has ended (2025-11-25 basic/transports)."""
        async with self._restart_lock:
            # If several requests failed, only the first one starts a new session.
            if handshakes != self._handshakes:
                return
            await self._initialize()
            self._handshakes += 1
            for uri in tuple(self._watched):
                await self._send("resources/subscribe", {"uri": uri})

    def on_session_ended(self) -> None:
        """Start a new session, because subscriptions would get no changes."""
        self.rpc.request_tasks.start(self._restart_session_or_close(self._handshakes))

    async def _restart_session_or_close(self, handshakes: int) -> None:
        try:
            await self._restart_session(handshakes)
        except (DovetailError, TimeoutError) as error:
            text = f"The server has ended the session, and a new one could not be started: {error}"
            self.rpc.closed(StreamLostError(text))

    async def set_log_level(self, level: str) -> None:
        """Request log messages of this level and above."""
        check_log_level(level)
        self._log_level = level
        await self.request("logging/setLevel", {"level": level})

    # -- notifications --------------------------------------------------------------------

    def on_notification(self, message: Notification) -> None:
        """Handle log messages, changes, and cancelled requests of the server."""
        if message.method == "notifications/message":
            self.deliver_log(message)
        elif message.method == "notifications/cancelled":
            params = self.read_params(CancelledParams, message)
            task = None if params is None else self._running_callbacks.get(bytes(params.request_id))
            if task is not None:
                task.cancel()
        else:
            self._deliver_to_subscriptions(message)

    def _deliver_to_subscriptions(self, message: Notification) -> None:
        uri = None
        if message.method == "notifications/resources/updated":
            params = self.read_params(_UpdatedParams, message)
            uri = None if params is None else params.uri
        change = change_from(message.method, uri)
        if change is None:
            self.deliver_other(message)
            return
        for feed in self._feeds:
            if feed.interest.covers(change):
                feed.push(change)
        if change.uri is None:
            self.deliver_change(change)

    def on_closed(self, error: TransportError) -> None:
        """End every subscription."""
        self._is_stream_lost = True
        for feed in self._feeds:
            feed.end(TransportError(str(error)))

    # -- requests from the server ---------------------------------------------------------

    def on_request(self, message: Request) -> None:
        """Answer at once if possible; run callbacks in a task."""
        if message.method == "ping":
            self.rpc.respond(message.id, {})
        elif not self._is_declared(message.method):
            error = MethodNotFoundError(f"Method not found: {message.method}")
            self.rpc.respond(message.id, error)
        elif message.id in self._running_callbacks:
            # base.request.id-unique: only one of two answers could be told from the other.
            text = "The id of this request is already in use"
            self.rpc.respond(message.id, InvalidRequestError(text))
        else:
            task = self.rpc.request_tasks.start(self._run_callback(message))
            self._running_callbacks[message.id] = task
            task.add_done_callback(lambda done: self._respond(message.id, done))

    def _is_declared(self, method: str) -> bool:
        exists = method in methods_at(self.revision)
        return exists and self.settings.callbacks.can_answer(method)

    async def _run_callback(self, message: Request) -> dict[str, Any]:
        params = {} if message.params is None else codec.decode_json(message.params)
        return await self.settings.callbacks.answer(message.method, params)

    def _respond(self, id: bytes, task: asyncio.Task[dict[str, Any]]) -> None:
        del self._running_callbacks[id]
        if task.cancelled():
            # cancel.no-response (2025-11-25 basic/utilities/cancellation): a cancelled request
            # gets no response.
            return
        error = task.exception()
        if error is None:
            self.rpc.respond(id, task.result())
        elif isinstance(error, RpcError):
            self.rpc.respond(id, error)
        elif isinstance(error, PeerError):
            self.rpc.respond(id, InvalidParamsError(str(error)))
        else:
            self.rpc.respond(id, InternalError(f"The client's callback failed: {error}"))

    # -- subscriptions --------------------------------------------------------------------

    async def watch_lists(self) -> None:
        """Nothing to do: the server sends list changes to every client."""

    async def open_feed(self, subscription: Subscription) -> Interest:
        """Register the subscription; each resource needs a subscribe request."""
        self.rpc.check_open()
        if self._is_stream_lost:
            # Any request restores the stream, or starts a new session.
            await self.request("ping")
            self._is_stream_lost = False
        wanted = subscription.interest
        can_watch = self.has_capability("resources", "subscribe")
        agreed = Interest(
            tools=wanted.tools and self.has_capability("tools", "listChanged"),
            prompts=wanted.prompts and self.has_capability("prompts", "listChanged"),
            resources=wanted.resources and self.has_capability("resources", "listChanged"),
            uris=wanted.uris if can_watch else (),
        )
        self._feeds[subscription] = []
        opened = False
        try:
            for uri in agreed.uris:
                await self._watch(uri)
                self._feeds[subscription].append(uri)
            opened = True
        finally:
            if not opened:
                await self.close_feed(subscription)
        return agreed

    async def close_feed(self, subscription: Subscription) -> None:
        """Unsubscribe from resources that no other subscription of this client uses."""
        for uri in self._feeds.pop(subscription, ()):
            self._watched[uri] -= 1
            if self._watched[uri] == 0:
                del self._watched[uri]
                # The subscription is closed in any case; errors do not matter.
                with contextlib.suppress(RpcError, TransportError):
                    await self.request("resources/unsubscribe", {"uri": uri})

    async def _watch(self, uri: str) -> None:
        if uri not in self._watched:
            await self.request("resources/subscribe", {"uri": uri})
        self._watched[uri] = self._watched.get(uri, 0) + 1


def _agree(offer: Revision, given: str, *, exact: bool) -> Revision:
    revision = find_revision(given)
    # lifecycle.version.counter-offer (2025-11-25 basic/lifecycle): the server may offer another
    # revision; a client that does not support it disconnects.
    if revision is None or revision.family is not Family.LEGACY:
        raise PeerError(
            f"The server answered initialize with unsupported protocol version {given!r}"
        )
    if exact and revision is not offer:
        raise PeerError(f"The server does not support {offer}; it offers {given}")
    return revision
