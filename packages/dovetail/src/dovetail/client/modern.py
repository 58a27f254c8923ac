"""The modern era of a client: every request carries its own metadata.

There is no handshake, and the server sends no requests. If it needs input, it answers
`input_required`; the client collects the inputs and sends a new request with them and the server's
state unchanged. Changes arrive on listen streams, identified by the id of the request that opened
them.
"""

from __future__ import annotations

import asyncio
import contextlib
from collections.abc import Collection, Mapping
from dataclasses import dataclass, field
from typing import Any

import msgspec
from msgspec import Raw, Struct

from dovetail.client.callbacks import InputRequest
from dovetail.client.era import ClientEra, Settings, check_log_level
from dovetail.client.results import ServerFacts, decode_result
from dovetail.client.rpc import PendingRequest, ProgressCallback, RpcConnection
from dovetail.client.subscriptions import Change, Interest, Subscription, change_from
from dovetail.errors import HeaderMismatchError, PeerError, RpcError, TransportError
from dovetail.net.backoff import backoff
from dovetail.runtime.deadlines import time_limit
from dovetail.spec import keys
from dovetail.spec.methods import methods_at
from dovetail.spec.models import CancelledParams, DiscoverResult, Implementation, SubscriptionFilter
from dovetail.spec.results import ListToolsResult
from dovetail.spec.revisions import Revision
from dovetail.wire import codec
from dovetail.wire.messages import Notification, Request

__all__ = ["Discovered", "ModernClientEra"]

# The delay before a retry without inputs, doubled each time.
_FIRST_PAUSE = 0.05
_LONGEST_PAUSE = 5.0
# Pages of tools that are read for one call.
_MAX_PAGES = 100


class Discovered(DiscoverResult, kw_only=True):
    """The result of server/discover with its metadata."""

    meta: dict[str, Any] | None = msgspec.field(default=None, name="_meta")


class _ResultHead(Struct, rename="camel"):
    """The result type of a result, and the members of an `input_required` result."""

    # base.result.resulttype (2026-07-28 basic/index): if absent, the type is complete.
    result_type: str = "complete"
    input_requests: dict[str, InputRequest] | None = None
    request_state: str | None = None


class _StreamParams(Struct):
    meta: dict[str, Any] = msgspec.field(default_factory=dict, name="_meta")
    uri: str | None = None
    notifications: SubscriptionFilter | None = None


@dataclass(eq=False, slots=True)
class _Stream:
    """One listen request and its subscription."""

    call: PendingRequest
    subscription: Subscription
    acknowledged: asyncio.Future[Interest] = field(
        default_factory=lambda: asyncio.get_running_loop().create_future()
    )

    def finish(self, error: Exception | None) -> None:
        if not self.acknowledged.done():
            reason = error or PeerError("The listen stream ended before it was acknowledged")
            self.acknowledged.set_exception(reason)
        self.subscription.end(error)

    def answered(self, answer: asyncio.Future[Raw]) -> None:
        # subs.graceful-result (2026-07-28 basic/patterns/subscriptions): a result ends the
        # stream normally; an error says why it failed.
        if not answer.cancelled():
            error = answer.exception()
            self.finish(error if isinstance(error, Exception) else None)


class ModernClientEra(ClientEra):
    """Stateless requests, each with its own metadata."""

    def __init__(self, rpc: RpcConnection, settings: Settings, revision: Revision) -> None:
        super().__init__(rpc, settings, revision)
        self._streams: dict[bytes, _Stream] = {}
        self._log_level = settings.log_level

    async def discover(self, timeout: float) -> Discovered:
        """Send server/discover, also as a probe to servers that may not know the method."""
        params = {"_meta": self._envelope(dict(self.settings.first_meta or {}))}
        # A legacy server does not expect a cancellation before initialize.
        raw = await self.rpc.request("server/discover", params, timeout=timeout, cancellable=False)
        return decode_result(Discovered, raw, "server/discover")

    def adopt(self, found: Discovered, revision: Revision) -> None:
        """Store the result of server/discover and use this revision from now on."""
        self.revision = revision
        self.facts: ServerFacts = ServerFacts(
            _read_server_info(found.meta),
            found.capabilities,
            found.instructions,
            tuple(found.supported_versions),
        )

    def _envelope(
        self, meta: dict[str, Any] | None, own: Mapping[str, Any] | None = None
    ) -> dict[str, Any]:
        settings = self.settings
        capabilities = settings.callbacks.capabilities(self.revision)
        extensions = {**settings.extensions(self.revision), **(own or {})}
        if extensions:
            capabilities["extensions"] = extensions
        envelope = {
            **(meta or {}),
            keys.PROTOCOL_VERSION: self.revision.date,
            keys.CLIENT_INFO: {"name": settings.name, "version": settings.version},
            keys.CLIENT_CAPABILITIES: capabilities,
        }
        if settings.on_log is not None:
            # logging2.opt-in (2026-07-28 server/utilities/logging): a request gets log
            # messages only if it names a level.
            envelope.setdefault(keys.LOG_LEVEL, self._log_level)
        return envelope

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
        """Send a request, provide the inputs the server asks for, and return the final result."""
        self.check_exists(method)
        known = methods_at(self.revision).get(method)
        extra: dict[str, Any] = {}
        pauses = backoff(_FIRST_PAUSE, _LONGEST_PAUSE)
        for attempt in range(self.settings.max_rounds + 1):
            asked = {**(params or {}), **extra, "_meta": self._envelope(meta, extensions)}
            seconds = self.settings.timeout if timeout is None else timeout
            raw = await self.exchange(method, asked, timeout=seconds, progress=progress)
            head = decode_result(_ResultHead, raw, method)
            if head.result_type == "complete" or head.result_type in result_types:
                return raw
            # base.result.resulttype-known (2026-07-28 basic/index): any other type is invalid.
            if head.result_type != "input_required":
                raise PeerError(
                    f"{method} was answered with unknown result type {head.result_type!r}"
                )
            # mrtr.other-methods (2026-07-28 basic/patterns/mrtr): three methods may request input.
            if known is not None and not known.asks_back:
                raise PeerError(f"{method} may not be answered with input_required")
            if head.input_requests is None:
                await asyncio.sleep(next(pauses) if attempt else 0)
            extra = await self._gather_inputs(method, head)
        rounds = self.settings.max_rounds
        raise PeerError(f"{method} still requires input after {rounds} rounds")

    async def exchange(
        self,
        method: str,
        params: dict[str, Any] | None,
        *,
        timeout: float,
        progress: ProgressCallback | None = None,
    ) -> Raw:
        """Send a request; lists the tools again if they have other headers than known."""
        try:
            return await self.rpc.request(method, params, timeout=timeout, progress=progress)
        except HeaderMismatchError:
            if method != "tools/call":
                raise
        # The tool list says which arguments go into headers, and the known list is outdated
        # (2026-07-28 basic/transports/streamable-http, client behavior): list the tools again.
        await self._refresh_tools(timeout)
        return await self.rpc.request(method, params, timeout=timeout, progress=progress)

    async def _refresh_tools(self, timeout: float) -> None:
        """List the tools, so that the channel sees their current schemas."""
        cursor: str | None = None
        for _ in range(_MAX_PAGES):
            params: dict[str, Any] = {"_meta": self._envelope(None)}
            if cursor is not None:
                params["cursor"] = cursor
            raw = await self.rpc.request("tools/list", params, timeout=timeout)
            cursor = decode_result(ListToolsResult, raw, "tools/list").next_cursor
            if cursor is None:
                return

    async def _gather_inputs(self, method: str, head: _ResultHead) -> dict[str, Any]:
        """The members to add to the retry: the inputs and the server's unchanged state."""
        extra: dict[str, Any] = {}
        if head.request_state is not None:
            extra["requestState"] = head.request_state
        if head.input_requests is not None:
            extra["inputResponses"] = await self.answer_all(head.input_requests)
        # mrtr.has-content (2026-07-28 basic/patterns/mrtr): at least one of the two is present.
        if not extra:
            raise PeerError(
                f"{method} was answered with input_required, but without inputs or state"
            )
        return extra

    async def answer_all(self, requests: Mapping[str, InputRequest]) -> dict[str, Any]:
        """The results of the callbacks for each request; raises PeerError for an undeclared one."""
        callbacks = self.settings.callbacks
        for key, request in requests.items():
            # mrtr.respects-capabilities (2026-07-28 basic/patterns/mrtr): the server may
            # request only what the client declared.
            if not callbacks.can_answer(request.method):
                text = f"The server requests {request.method} ({key!r}), which was not declared"
                raise PeerError(text)
        tasks = [asyncio.ensure_future(self._answer(request)) for request in requests.values()]
        try:
            answers = await asyncio.gather(*tasks)
        finally:
            for task in tasks:
                task.cancel()
        return dict(zip(requests, answers, strict=True))

    async def _answer(self, request: InputRequest) -> dict[str, Any]:
        return await self.settings.callbacks.answer(request.method, request.params)

    async def set_log_level(self, level: str) -> None:
        """Send this level with every request from now on."""
        check_log_level(level)
        self._log_level = level

    # -- notifications --------------------------------------------------------------------

    def on_notification(self, message: Notification) -> None:
        """Handle log messages and the notifications of listen streams."""
        if message.method == "notifications/message":
            self.deliver_log(message)
        elif message.method == "notifications/cancelled":
            params = self.read_params(CancelledParams, message)
            stream = None if params is None else self._streams.get(bytes(params.request_id))
            if stream is not None:
                # cancel.server-listen-teardown (2026-07-28 basic/patterns/cancellation).
                del self._streams[stream.call.id]
                self.rpc.forget(stream.call)
                stream.finish(None)
        else:
            self._handle_stream_notification(message)

    def _handle_stream_notification(self, message: Notification) -> None:
        params = self.read_params(_StreamParams, message)
        if params is None:
            return
        # subs.id-on-all (2026-07-28 basic/patterns/subscriptions): every notification on a
        # stream has the id of the request that opened it.
        tag = params.meta.get(keys.SUBSCRIPTION_ID)
        stream = self._streams.get(codec.encode(tag))
        change = change_from(message.method, params.uri)
        if stream is None:
            self.rpc.note_unexpected(f"{message.method} for a stream that is not open")
            self.deliver_other(message)
        elif change is not None:
            stream.subscription.push(change)
        elif params.notifications is not None and not stream.acknowledged.done():
            stream.acknowledged.set_result(Interest.from_filter(params.notifications))

    def on_request(self, message: Request) -> None:
        """Ignore it: servers send no requests in this era."""
        # stdio.no-server-requests (2026-07-28 basic/transports/stdio).
        self.rpc.note_unexpected(f"a request from the server: {message.method}")

    def on_session_ended(self) -> None:
        """Nothing to do: there are no sessions."""

    def on_closed(self, error: TransportError) -> None:
        """Nothing to do: listen requests fail like other pending requests."""

    # -- subscriptions --------------------------------------------------------------------

    async def watch_lists(self) -> None:
        """Open a listen stream for list changes and pass them to the change callback."""
        wanted = Interest(
            tools=self.has_capability("tools", "listChanged"),
            prompts=self.has_capability("prompts", "listChanged"),
            resources=self.has_capability("resources", "listChanged"),
        )
        if self.settings.on_change is None or wanted == Interest():
            return
        # A server that declares list changes without a listen stream is still usable.
        with contextlib.suppress(RpcError):
            await self.open_feed(_Relay(self, wanted))

    async def open_feed(self, subscription: Subscription) -> Interest:
        """Open a listen stream and wait until the server acknowledges it."""
        call = self.rpc.start("subscriptions/listen")
        stream = self._streams[call.id] = _Stream(call, subscription)
        call.response.add_done_callback(stream.answered)
        params = {"notifications": subscription.interest.to_filter(), "_meta": self._envelope(None)}
        agreed: Interest | None = None
        try:
            with time_limit(self.settings.timeout):
                self.rpc.send_in_background(call, params)
                agreed = await stream.acknowledged
        except TimeoutError:
            raise TimeoutError("The server did not acknowledge subscriptions/listen") from None
        finally:
            if agreed is None:
                self._close(stream)
        return agreed

    async def close_feed(self, subscription: Subscription) -> None:
        """Cancel the listen request, which ends the stream."""
        for stream in tuple(self._streams.values()):
            if stream.subscription is subscription:
                self._close(stream)

    def _close(self, stream: _Stream) -> None:
        del self._streams[stream.call.id]
        self.rpc.forget(stream.call, "The client closed the subscription")


class _Relay(Subscription):
    """A subscription that passes each change to the change callback."""

    def __init__(self, era: ModernClientEra, interest: Interest) -> None:
        super().__init__(era, interest)
        self._era = era

    def push(self, change: Change) -> None:
        self._era.deliver_change(change)


def _read_server_info(meta: dict[str, Any] | None) -> Implementation | None:
    given = (meta or {}).get(keys.SERVER_INFO)
    try:
        # For display only, so an invalid value is ignored.
        return None if given is None else msgspec.convert(given, Implementation)
    except msgspec.ValidationError:
        return None
