"""`Forwarder`: sends the request of a call to the upstream, between any two eras."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable
from typing import Any, TypeAlias
from weakref import WeakKeyDictionary

from msgspec import Raw

from dovetail import Options
from dovetail.core.call import Call
from dovetail.core.principal import owner_of
from dovetail.eras.select import LegacySession
from dovetail.errors import AccessDeniedError, PeerError, RpcError, TransportError, UnreachableError
from dovetail.runtime.connection import Connection
from dovetail.runtime.deadlines import TaskDeadline
from dovetail.spec.revisions import Family, Revision
from dovetail_gateway.back_channel import SessionAsker, ask_all
from dovetail_gateway.connection import UpstreamConnection
from dovetail_gateway.envelopes import count_hops, declared_by, make_meta, stamp_modern
from dovetail_gateway.failures import UpstreamError, explain
from dovetail_gateway.forwarding import Asker, Forwarding
from dovetail_gateway.questions import (
    CallLocation,
    KeptCall,
    KeptCalls,
    ask_in_retry,
    pass_on_questions,
    read_answers,
)
from dovetail_gateway.results import ResultHead, read_head
from dovetail_gateway.routed_calls import Routed, RoutedCalls
from dovetail_gateway.upstream import ProxyCaller, Upstream

__all__ = ["Forwarder", "UpstreamResult"]

Prepare: TypeAlias = Callable[[UpstreamConnection, dict[str, Any]], Awaitable[None]]

# How often a legacy caller is asked for one call.
_MAX_ROUNDS = 20


class _CallerKey:
    """Stands for a session of a caller without keeping it alive."""

    __slots__ = ("__weakref__",)


class UpstreamResult:
    """A result of the upstream."""

    __slots__ = ("connection", "head", "raw", "revision")

    def __init__(
        self,
        raw: Raw,
        revision: Revision,
        connection: UpstreamConnection | None,
        head: ResultHead | None = None,
    ) -> None:
        self.raw: Raw = raw
        # The revision that it is written in.
        self.revision: Revision = revision
        # None if another process has it.
        self.connection: UpstreamConnection | None = connection
        # Modern results only.
        self.head: ResultHead | None = head


class Forwarder:
    """Forwards calls to one upstream."""

    def __init__(
        self, upstream: Upstream, options: Options, client_info: dict[str, Any], max_kept: int
    ) -> None:
        self.upstream = upstream
        self.asker: SessionAsker = SessionAsker()
        self.kept: KeptCalls = KeptCalls(options.state_lifetime, max_kept)
        self.routed: RoutedCalls = RoutedCalls(self.kept, self._read_kept)
        self._seconds = options.timeout
        self._limit = options.max_result_bytes
        self._client_info = client_info
        self._keys: WeakKeyDictionary[Any, _CallerKey] = WeakKeyDictionary()

    def caller_of(self, call: Call) -> ProxyCaller:
        """Return the caller of a call."""
        link = call.link
        session = link.session
        key: object = call
        if isinstance(session, LegacySession) and session.is_kept:
            key = self._keys.get(session)
            if key is None:
                key = self._keys[session] = _CallerKey()
        elif isinstance(link, Connection):
            key = link
        return ProxyCaller(
            call.principal, key, declared_by(call.peer.capabilities), count_hops(call)
        )

    async def forward(
        self,
        call: Call,
        method: str,
        params: dict[str, Any],
        *,
        uri: str | None = None,
        tasks: bool = False,
        prepare: Prepare | None = None,
        home: UpstreamConnection | None = None,
        asker: Asker | None = None,
    ) -> UpstreamResult:
        """Return the upstream's result; questions on the way are passed on to the caller.

        `uri` is the resource to read. With `tasks`, the result may be a task. `prepare` may
        change the params for the connection that was found; `home` is the connection to use. With
        an `asker`, it asks the caller, and the upstream may take as long as it likes.
        """
        try:
            answer = await self._forward(call, method, params, tasks, prepare, home, asker)
        except (RpcError, PeerError, TransportError, TimeoutError) as error:
            raise self._explain(error, call, uri) from None
        self.upstream.presence.found()
        if len(bytes(answer.raw)) > self._limit:
            size = len(bytes(answer.raw))
            raise UpstreamError(
                self.upstream.name, f"sent {size:,} bytes; the limit is {self._limit:,}"
            )
        return answer

    async def _forward(
        self,
        call: Call,
        method: str,
        params: dict[str, Any],
        tasks: bool,
        prepare: Prepare | None,
        home: UpstreamConnection | None,
        asker: Asker | None,
    ) -> UpstreamResult:
        is_modern = call.era.revision.family is Family.MODERN
        if is_modern and call.is_retried:
            place = await self.kept.find(call)
            if place is not None:
                return await self._go_on(call, place)
        caller = self.caller_of(call)
        meta = make_meta(call, caller.hops)
        is_last = False
        while True:
            if home is None or not home.is_open:
                connection = await self.upstream.acquire(caller)
            else:
                connection = home
            sent = {**params, "_meta": dict(meta)}
            try:
                if prepare is not None:
                    await prepare(connection, sent)
                if not connection.is_legacy:
                    return await self._to_modern(connection, call, caller, method, sent, tasks)
                if is_modern and caller.declared and _asks_back(call, method):
                    return await self._keep(connection, call, caller, method, sent)
                seconds = self._seconds if asker is None else None
                forwarding = Forwarding(call, caller.key, asker or self.asker, seconds)
                raw = await self._exchange(connection, forwarding, method, sent)
                return UpstreamResult(raw, connection.era.revision, connection)
            except TransportError as error:
                # A tool that may have run is not run again.
                if is_last or (method == "tools/call" and not isinstance(error, UnreachableError)):
                    raise
                if isinstance(error, AccessDeniedError):
                    # The credentials of the caller may have changed.
                    self.upstream.discard(connection)
                is_last = True
            finally:
                self.upstream.release()

    async def _exchange(
        self,
        connection: UpstreamConnection,
        forwarding: Forwarding,
        method: str,
        params: dict[str, Any],
    ) -> Raw:
        limit = forwarding.limit = TaskDeadline(forwarding.seconds)
        try:
            with limit:
                return await connection.exchange(forwarding, method, params)
        except TimeoutError:
            if not limit.has_expired:
                raise
            text = f"no answer to {method} within {forwarding.seconds:g} s"
            raise TimeoutError(text) from None
        finally:
            forwarding.limit = None

    async def _to_modern(
        self,
        connection: UpstreamConnection,
        call: Call,
        caller: ProxyCaller,
        method: str,
        params: dict[str, Any],
        tasks: bool,
    ) -> UpstreamResult:
        revision = connection.era.revision
        declared = caller.declared
        stamp_modern(params["_meta"], call, revision, self._client_info, declared, tasks=tasks)
        if call.is_retried:
            params.update(await read_answers(call))
        forwarding = Forwarding(call, caller.key, self.asker, self._seconds)
        for _ in range(_MAX_ROUNDS):
            raw = await self._exchange(connection, forwarding, method, params)
            head = read_head(raw, method)
            if head.result_type == "complete" or (tasks and head.result_type == "task"):
                return UpstreamResult(raw, revision, connection, head)
            if head.result_type != "input_required" or not _asks_back(call, method):
                raise PeerError(f"{method} was answered with {head.result_type!r}")
            if call.era.revision.family is Family.MODERN:
                raise pass_on_questions(call, head.input_requests, head.request_state)
            params.pop("inputResponses", None)
            params.pop("requestState", None)
            if head.input_requests:
                params["inputResponses"] = await ask_all(call, head.input_requests)
            if head.request_state is not None:
                params["requestState"] = head.request_state
        raise PeerError(f"{method} still requires input after {_MAX_ROUNDS} rounds")

    async def _keep(
        self,
        connection: UpstreamConnection,
        call: Call,
        caller: ProxyCaller,
        method: str,
        params: dict[str, Any],
    ) -> UpstreamResult:
        """Run a call of a modern caller so that it can wait for answers in later requests."""
        kept = self.start(connection, call, caller, method, params)
        return await self._wait_for_kept(call, kept)

    def start(
        self,
        connection: UpstreamConnection,
        call: Call,
        caller: ProxyCaller,
        method: str,
        params: dict[str, Any],
    ) -> KeptCall:
        """Run a call at a legacy upstream in a task that collects the questions."""
        forwarding = Forwarding(call, caller.key, self.asker, self._seconds)
        kept = KeptCall(forwarding, owner_of(call.principal))
        forwarding.asker = kept

        async def run() -> UpstreamResult:
            try:
                raw = await self._exchange(connection, forwarding, method, params)
                return UpstreamResult(raw, connection.era.revision, connection)
            finally:
                self.upstream.release()

        kept.running = asyncio.get_running_loop().create_task(run())
        # Nobody may be there to retrieve an error.
        kept.running.add_done_callback(lambda done: done.cancelled() or done.exception())
        return kept

    async def _wait_for_kept(self, call: Call, kept: KeptCall) -> UpstreamResult:
        try:
            asks = await kept.outcome()
        except asyncio.CancelledError:
            kept.end()
            raise
        if asks is not None:
            self.kept.keep(kept)
            raise ask_in_retry(call, self.routed.place_of(kept), asks)
        assert kept.running is not None
        answer: UpstreamResult = kept.running.result()
        return answer

    async def _go_on(self, call: Call, place: CallLocation) -> UpstreamResult:
        """Continue a kept call with the answers of its caller."""
        if self.routed.is_elsewhere(place):
            raw, revision = await self.routed.go_on(call, place)
            return UpstreamResult(raw, revision, None)
        kept = self.kept.take(place.id, owner_of(call.principal))
        kept.take(call)
        return await self._wait_for_kept(call, kept)

    def _read_kept(self, kept: KeptCall) -> Routed:
        """Return the result of an ended call for another process; raises RpcError or ToolError."""
        assert kept.running is not None
        try:
            answer: UpstreamResult = kept.running.result()
        except RpcError:
            raise
        except (PeerError, TransportError, TimeoutError) as error:
            raise self._explain(error, kept.forwarding.call) from None
        return Routed(answer.raw, answer.revision)

    def _explain(self, error: Exception, call: Call, uri: str | None = None) -> Exception:
        if isinstance(error, TransportError) and not isinstance(error, AccessDeniedError):
            self.upstream.presence.lost(error)
        return explain(self.upstream.name, error, call, uri)


def _asks_back(call: Call, method: str) -> bool:
    spec = call.era.methods.get(method)
    return spec is not None and spec.asks_back
