"""Talking to a server of the legacy era: a handshake, then requests in both directions.

initialize settles the revision and the capabilities; after it the server may ask this
client (elicitation, sampling, roots, ping) at any time, and tells changes to everybody.
"""

from __future__ import annotations

import asyncio
import contextlib
from typing import Any

from msgspec import Raw, Struct

from dovetail.client.channel import SessionEndedError
from dovetail.client.era import ClientEra, Settings, check_log_level
from dovetail.client.exchange import Exchange, ProgressCallback
from dovetail.client.legacy_tasks import LegacyTaskCalls
from dovetail.client.results import ServerFacts, decode_result
from dovetail.client.subscriptions import Interest, Subscription, change_from
from dovetail.errors import (
    DovetailError,
    InternalError,
    InvalidParamsError,
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
    """A connection with a handshake."""

    def __init__(self, exchange: Exchange, settings: Settings, revision: Revision) -> None:
        super().__init__(exchange, settings, revision)
        self._offer = revision
        self._exact = False
        self._log_level: str | None = None
        self.tasks = LegacyTaskCalls(self)
        self._handshakes = 0
        self._beginning = asyncio.Lock()
        self._answering: dict[bytes, asyncio.Task[dict[str, Any]]] = {}
        # Each subscription with the resources that are watched for it.
        self._feeds: dict[Subscription, list[str]] = {}
        # How many subscriptions share a URI: the server is asked once.
        self._watched: dict[str, int] = {}

    @classmethod
    async def open(
        cls, exchange: Exchange, settings: Settings, offer: Revision, *, exact: bool
    ) -> LegacyClientEra:
        """Shake hands, offering a revision; `exact` takes no other one."""
        era = cls(exchange, settings, offer)
        era._offer, era._exact = offer, exact
        await era._shake_hands()
        return era

    async def _shake_hands(self) -> None:
        settings, offer = self.settings, self._offer
        raw = await self.exchange.request(
            "initialize",
            {
                "protocolVersion": offer.date,
                "capabilities": settings.inputs.capabilities(offer),
                "clientInfo": {"name": settings.name, "version": settings.version},
            },
            timeout=settings.timeout,
            # The one request a client must not cancel (2025-11-25 basic/utilities/cancellation).
            cancellable=False,
        )
        result = decode_result(InitializeResult, raw, "initialize")
        self.revision = _agree(offer, result.protocol_version, exact=self._exact)
        self.facts = ServerFacts(
            result.server_info,
            result.capabilities,
            result.instructions,
            (result.protocol_version,),
        )
        await self.exchange.notify("notifications/initialized")
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
    ) -> Raw:
        """Ask and return the result; what the server asks meanwhile is answered on the side."""
        self.check_exists(method)
        if meta:
            params = {**(params or {}), "_meta": dict(meta)}
        if self._beginning.locked():
            async with self._beginning:
                pass
        handshakes = self._handshakes
        try:
            return await self._send(method, params, timeout, progress)
        except SessionEndedError:
            await self._begin_again(handshakes)
        return await self._send(method, params, timeout, progress)

    async def _send(
        self,
        method: str,
        params: dict[str, Any] | None,
        timeout: float | None = None,
        progress: ProgressCallback | None = None,
    ) -> Raw:
        seconds = self.settings.timeout if timeout is None else timeout
        return await self.exchange.request(method, params, timeout=seconds, progress=progress)

    async def _begin_again(self, handshakes: int) -> None:
        """A new session in the place of one the server has ended (2025-11-25 basic/transports)."""
        async with self._beginning:
            # Of several requests that met the end, the first one shakes hands.
            if handshakes != self._handshakes:
                return
            await self._shake_hands()
            self._handshakes += 1
            for uri in tuple(self._watched):
                await self._send("resources/subscribe", {"uri": uri})

    def on_session_ended(self) -> None:
        """Whoever listens for changes would hear none: begin again without being asked."""
        self.exchange.callbacks.start(self._begin_again_or_end(self._handshakes))

    async def _begin_again_or_end(self, handshakes: int) -> None:
        try:
            await self._begin_again(handshakes)
        except (DovetailError, TimeoutError) as error:
            text = f"The server has ended the session, and no other could be begun: {error}"
            self.exchange.closed(TransportError(text))

    async def set_log_level(self, level: str) -> None:
        """Ask the server for this level and above."""
        check_log_level(level)
        self._log_level = level
        await self.request("logging/setLevel", {"level": level})

    # -- what the server tells ------------------------------------------------------------

    def on_notification(self, message: Notification) -> None:
        """Log messages, changes, and questions that are withdrawn."""
        if message.method == "notifications/message":
            self.tell_log(message)
        elif message.method == "notifications/cancelled":
            params = self.read_params(CancelledParams, message)
            task = None if params is None else self._answering.get(bytes(params.request_id))
            if task is not None:
                task.cancel()
        else:
            self._pass_on_change(message)

    def _pass_on_change(self, message: Notification) -> None:
        uri = None
        if message.method == "notifications/resources/updated":
            params = self.read_params(_UpdatedParams, message)
            uri = None if params is None else params.uri
        change = change_from(message.method, uri)
        if change is None:
            return
        for feed in self._feeds:
            if feed.interest.covers(change):
                feed.push(change)
        if change.uri is None:
            self.tell_change(change)

    def on_closed(self, error: TransportError) -> None:
        """Nobody is going to tell of changes any more."""
        for feed in self._feeds:
            feed.end(TransportError(str(error)))

    # -- what the server asks -------------------------------------------------------------

    def on_request(self, message: Request) -> None:
        """Answer at once where possible, in a task where somebody has to be asked."""
        if message.method == "ping":
            self.exchange.respond(message.id, {})
        elif not self._is_declared(message.method):
            error = MethodNotFoundError(f"Method not found: {message.method}")
            self.exchange.respond(message.id, error)
        else:
            task = self.exchange.callbacks.start(self._ask(message))
            self._answering[message.id] = task
            task.add_done_callback(lambda done: self._answered(message.id, done))

    def _is_declared(self, method: str) -> bool:
        exists = method in methods_at(self.revision)
        return exists and self.settings.inputs.can_answer(method)

    async def _ask(self, message: Request) -> dict[str, Any]:
        params = {} if message.params is None else codec.decode_json(message.params)
        return await self.settings.inputs.answer(message.method, params)

    def _answered(self, id: bytes, task: asyncio.Task[dict[str, Any]]) -> None:
        del self._answering[id]
        if task.cancelled():
            # cancel.no-response (2025-11-25 basic/utilities/cancellation): a question that was
            # withdrawn gets no answer.
            return
        error = task.exception()
        if error is None:
            self.exchange.respond(id, task.result())
        elif isinstance(error, RpcError):
            self.exchange.respond(id, error)
        elif isinstance(error, PeerError):
            self.exchange.respond(id, InvalidParamsError(str(error)))
        else:
            self.exchange.respond(id, InternalError(f"The client's callback failed: {error}"))

    # -- subscriptions --------------------------------------------------------------------

    async def watch_lists(self) -> None:
        """Nothing to do: in this era everybody is told."""

    async def open_feed(self, subscription: Subscription) -> Interest:
        """Everybody is told of lists; resources have to be asked for one by one."""
        self.exchange.check_open()
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
        """Unsubscribe from what nobody else in this client still watches."""
        for uri in self._feeds.pop(subscription, ()):
            self._watched[uri] -= 1
            if self._watched[uri] == 0:
                del self._watched[uri]
                # Whoever leaves is not interested in why the server minds.
                with contextlib.suppress(RpcError, TransportError):
                    await self.request("resources/unsubscribe", {"uri": uri})

    async def _watch(self, uri: str) -> None:
        if uri not in self._watched:
            await self.request("resources/subscribe", {"uri": uri})
        self._watched[uri] = self._watched.get(uri, 0) + 1


def _agree(offer: Revision, given: str, *, exact: bool) -> Revision:
    revision = find_revision(given)
    # lifecycle.version.counter-offer (2025-11-25 basic/lifecycle): the server may name another
    # revision; a client that does not speak it disconnects.
    if revision is None or revision.family is not Family.LEGACY:
        raise PeerError(f"The server answered initialize with protocol version {given!r}")
    if exact and revision is not offer:
        raise PeerError(f"The server does not speak {offer}; it offers {given}")
    return revision
