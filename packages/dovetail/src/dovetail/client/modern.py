"""Talking to a server of the modern era: every request says all there is to know.

There is no handshake and no request from the server. Where it needs something, it
answers `input_required`; the inputs are gathered and the request is sent again, as a
new one, with the server's own state handed back untouched. Changes come on listen
streams that are told apart by the id of the request that opened them.
"""

from __future__ import annotations

import asyncio
import contextlib
from dataclasses import dataclass, field
from typing import Any

import msgspec
from msgspec import Raw, Struct

from dovetail.client.era import ClientEra, Settings, check_log_level
from dovetail.client.exchange import Exchange, PendingRequest, ProgressCallback, time_limit
from dovetail.client.modern_tasks import ModernTaskCalls
from dovetail.client.results import ServerFacts, ToolsListed, decode_result
from dovetail.client.subscriptions import Change, Interest, Subscription, change_from
from dovetail.client.tasks import InputRequest
from dovetail.errors import HeaderMismatchError, PeerError, RpcError, TransportError
from dovetail.spec import keys
from dovetail.spec.methods import methods_at
from dovetail.spec.models import CancelledParams, DiscoverResult, Implementation, SubscriptionFilter
from dovetail.spec.revisions import Revision
from dovetail.wire import codec
from dovetail.wire.messages import Notification, Request

__all__ = ["Discovered", "ModernClientEra"]

# A server that only wants to be asked again is given this long, doubled each time.
_FIRST_PAUSE = 0.05
# Pages of tools that are read for the sake of one call.
_MAX_PAGES = 100


class Discovered(DiscoverResult, kw_only=True):
    """server/discover with what the server says of itself."""

    meta: dict[str, Any] | None = msgspec.field(default=None, name="_meta")


class _ResultHead(Struct, rename="camel"):
    """What every result starts from, and what an `input_required` one holds."""

    # base.result.resulttype (2026-07-28 basic/index): an absent one means complete.
    result_type: str = "complete"
    input_requests: dict[str, InputRequest] | None = None
    request_state: str | None = None


class _StreamParams(Struct):
    meta: dict[str, Any] = msgspec.field(default_factory=dict, name="_meta")
    uri: str | None = None
    notifications: SubscriptionFilter | None = None


@dataclass(eq=False, slots=True)
class _Stream:
    """One listen request and whom it feeds."""

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
        # stream in good order; anything else says why it broke.
        if not answer.cancelled():
            error = answer.exception()
            self.finish(error if isinstance(error, Exception) else None)


class ModernClientEra(ClientEra):
    """Requests that stand alone."""

    def __init__(self, exchange: Exchange, settings: Settings, revision: Revision) -> None:
        super().__init__(exchange, settings, revision)
        self._streams: dict[bytes, _Stream] = {}
        self._log_level = settings.log_level
        self.tasks = ModernTaskCalls(self)

    async def discover(self, timeout: float) -> Discovered:
        """Ask the server what it is; a probe that may meet a server which knows no such thing."""
        params = {"_meta": self._envelope(None)}
        # A legacy server would not know what to make of a cancellation before its handshake.
        raw = await self.exchange.request(
            "server/discover", params, timeout=timeout, cancellable=False
        )
        return decode_result(Discovered, raw, "server/discover")

    def adopt(self, found: Discovered, revision: Revision) -> None:
        """Remember what was discovered and speak this revision from now on."""
        self.revision = revision
        self.facts = ServerFacts(
            _read_server_info(found.meta),
            found.capabilities,
            found.instructions,
            tuple(found.supported_versions),
        )

    def _envelope(self, meta: dict[str, Any] | None, *, tasks: bool = False) -> dict[str, Any]:
        settings = self.settings
        capabilities = settings.inputs.capabilities(self.revision)
        if tasks:
            capabilities["extensions"] = {keys.TASKS: {}}
        envelope = {
            **(meta or {}),
            keys.PROTOCOL_VERSION: self.revision.date,
            keys.CLIENT_INFO: {"name": settings.name, "version": settings.version},
            keys.CLIENT_CAPABILITIES: capabilities,
        }
        if settings.on_log is not None:
            # logging2.opt-in (2026-07-28 server/utilities/logging): nothing is logged to a
            # request that does not ask for it.
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
        tasks: bool = False,
    ) -> Raw:
        """Ask, give the server the inputs it wants, and return the final result.

        With `tasks` the server is told that tasks are known, and may answer with one.
        """
        self.check_exists(method)
        known = methods_at(self.revision).get(method)
        extra: dict[str, Any] = {}
        for attempt in range(self.settings.max_rounds + 1):
            asked = {**(params or {}), **extra, "_meta": self._envelope(meta, tasks=tasks)}
            raw = await self._ask(method, asked, timeout, progress)
            head = decode_result(_ResultHead, raw, method)
            if head.result_type == "complete" or (tasks and head.result_type == "task"):
                return raw
            # base.result.resulttype-known (2026-07-28 basic/index): any other type is invalid.
            if head.result_type != "input_required":
                raise PeerError(f"{method} was answered with result type {head.result_type!r}")
            # mrtr.other-methods (2026-07-28 basic/patterns/mrtr): three methods may ask back.
            if known is not None and not known.asks_back:
                raise PeerError(f"{method} may not be answered with input_required")
            if head.input_requests is None:
                await asyncio.sleep(_FIRST_PAUSE * (2**attempt - 1))
            extra = await self._gather_inputs(method, head)
        rounds = self.settings.max_rounds
        raise PeerError(f"{method} still wants more input after {rounds} rounds")

    async def _ask(
        self,
        method: str,
        params: dict[str, Any],
        timeout: float | None,
        progress: ProgressCallback | None,
    ) -> Raw:
        seconds = self.settings.timeout if timeout is None else timeout
        try:
            return await self.exchange.request(method, params, timeout=seconds, progress=progress)
        except HeaderMismatchError:
            if method != "tools/call":
                raise
        # Which arguments go into headers is in the list of tools, and the one we know is old
        # (2026-07-28 basic/transports/streamable-http, client behavior): read it again, once.
        await self._list_tools_again(seconds)
        return await self.exchange.request(method, params, timeout=seconds, progress=progress)

    async def _list_tools_again(self, timeout: float) -> None:
        """Let the channel see the tools as they are now."""
        cursor: str | None = None
        for _ in range(_MAX_PAGES):
            params: dict[str, Any] = {"_meta": self._envelope(None)}
            if cursor is not None:
                params["cursor"] = cursor
            raw = await self.exchange.request("tools/list", params, timeout=timeout)
            cursor = decode_result(ToolsListed, raw, "tools/list").next_cursor
            if cursor is None:
                return

    async def _gather_inputs(self, method: str, head: _ResultHead) -> dict[str, Any]:
        """The members to add to the retry: the answers, and the server's state as it came."""
        extra: dict[str, Any] = {}
        if head.request_state is not None:
            extra["requestState"] = head.request_state
        if head.input_requests is not None:
            extra["inputResponses"] = await self.answer_all(head.input_requests)
        # mrtr.has-content (2026-07-28 basic/patterns/mrtr): at least one of the two is there.
        if not extra:
            raise PeerError(f"{method} was answered with input_required and nothing to do")
        return extra

    async def answer_all(self, requests: dict[str, InputRequest]) -> dict[str, Any]:
        """What the callbacks say to each question; raises PeerError for one they cannot."""
        inputs = self.settings.inputs
        for key, request in requests.items():
            # mrtr.respects-capabilities (2026-07-28 basic/patterns/mrtr): only what the client
            # declared may be asked.
            if not inputs.can_answer(request.method):
                text = f"The server asks for {request.method} ({key!r}), which was not declared"
                raise PeerError(text)
        tasks = [asyncio.ensure_future(self._answer(request)) for request in requests.values()]
        try:
            answers = await asyncio.gather(*tasks)
        finally:
            for task in tasks:
                task.cancel()
        return dict(zip(requests, answers, strict=True))

    async def _answer(self, request: InputRequest) -> dict[str, Any]:
        return await self.settings.inputs.answer(request.method, request.params)

    async def set_log_level(self, level: str) -> None:
        """Name this level in every request from now on."""
        check_log_level(level)
        self._log_level = level

    # -- what the server tells ------------------------------------------------------------

    def on_notification(self, message: Notification) -> None:
        """Log messages, and what belongs to a listen stream."""
        if message.method == "notifications/message":
            self.tell_log(message)
        elif message.method == "notifications/cancelled":
            params = self.read_params(CancelledParams, message)
            stream = None if params is None else self._streams.get(bytes(params.request_id))
            if stream is not None:
                # cancel.server-listen-teardown (2026-07-28 basic/patterns/cancellation).
                del self._streams[stream.call.id]
                self.exchange.forget(stream.call)
                stream.finish(None)
        else:
            self._feed_stream(message)

    def _feed_stream(self, message: Notification) -> None:
        params = self.read_params(_StreamParams, message)
        if params is None:
            return
        # subs.id-on-all (2026-07-28 basic/patterns/subscriptions): everything on a stream
        # carries the id of the request that opened it.
        tag = params.meta.get(keys.SUBSCRIPTION_ID)
        stream = self._streams.get(codec.encode(tag))
        change = change_from(message.method, params.uri)
        if stream is None:
            self.exchange.stray(f"{message.method} for no stream that is open")
        elif change is not None:
            stream.subscription.push(change)
        elif params.notifications is not None and not stream.acknowledged.done():
            stream.acknowledged.set_result(Interest.from_filter(params.notifications))

    def on_request(self, message: Request) -> None:
        """Servers do not ask in this era, and clients do not answer."""
        # stdio.no-server-requests (2026-07-28 basic/transports/stdio).
        self.exchange.stray(f"a request of the server's: {message.method}")

    def on_session_ended(self) -> None:
        """Nothing to do: there are no sessions."""

    def on_closed(self, error: TransportError) -> None:
        """The listen requests have been told already, as every request."""

    # -- subscriptions --------------------------------------------------------------------

    async def watch_lists(self) -> None:
        """Open a stream of our own for the lists that can change, and pass on what it says."""
        wanted = Interest(
            tools=self.has_capability("tools", "listChanged"),
            prompts=self.has_capability("prompts", "listChanged"),
            resources=self.has_capability("resources", "listChanged"),
        )
        if self.settings.on_change is None or wanted == Interest():
            return
        # A server that declares changes and serves no stream for them is usable all the same.
        with contextlib.suppress(RpcError):
            await self.open_feed(_Relay(self, wanted))

    async def open_feed(self, subscription: Subscription) -> Interest:
        """Open a listen stream and wait until the server says what it will tell."""
        call = self.exchange.start("subscriptions/listen")
        stream = self._streams[call.id] = _Stream(call, subscription)
        call.answer.add_done_callback(stream.answered)
        params = {"notifications": subscription.interest.to_filter(), "_meta": self._envelope(None)}
        agreed: Interest | None = None
        try:
            async with time_limit(self.settings.timeout):
                self.exchange.transmit_apart(call, params)
                agreed = await stream.acknowledged
        except TimeoutError:
            raise TimeoutError("The server did not acknowledge subscriptions/listen") from None
        finally:
            if agreed is None:
                self._close(stream)
        return agreed

    async def close_feed(self, subscription: Subscription) -> None:
        """Cancel the listen request, which is how a client ends a stream."""
        for stream in tuple(self._streams.values()):
            if stream.subscription is subscription:
                self._close(stream)

    def _close(self, stream: _Stream) -> None:
        del self._streams[stream.call.id]
        self.exchange.forget(stream.call, "The client closed the subscription")


class _Relay(Subscription):
    """A subscription that nobody iterates: each change goes to the change callback at once."""

    def __init__(self, era: ModernClientEra, interest: Interest) -> None:
        super().__init__(era, interest)
        self._era = era

    def push(self, change: Change) -> None:
        self._era.tell_change(change)


def _read_server_info(meta: dict[str, Any] | None) -> Implementation | None:
    given = (meta or {}).get(keys.SERVER_INFO)
    try:
        # Self-reported and for display only: a bad one is no reason to refuse the server.
        return None if given is None else msgspec.convert(given, Implementation)
    except msgspec.ValidationError:
        return None
