"""One connection to an upstream, in the role of a client, for the calls of one or more callers."""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any

from msgspec import Raw

from dovetail.client import Change, Channel, Interest, Subscription
from dovetail.client.callbacks import ClientCallbacks
from dovetail.client.era import ClientEra, Settings
from dovetail.client.negotiation import Mode, negotiate
from dovetail.errors import InternalError
from dovetail.spec.keys import LOG_LEVELS
from dovetail.spec.models import LogParams
from dovetail.spec.revisions import Family, Revision
from dovetail.wire.messages import Notification
from dovetail_gateway.envelopes import fit_capabilities
from dovetail_gateway.forwarding import Forwarding, current_forwarding

__all__ = ["UpstreamConnection", "UpstreamFeed"]

_LEVELS = tuple(LOG_LEVELS)
# The default of `Settings.log_level`, which a legacy upstream gets in the handshake.
_FIRST_RANK = LOG_LEVELS["info"]


class _InFlight:
    """The calls at the upstream; finds the one that a message of the upstream belongs to."""

    def __init__(self) -> None:
        self.calls: dict[Forwarding, None] = {}

    def find(self) -> Forwarding | None:
        """Return the call that the current message belongs to, None if that is unknown."""
        found = current_forwarding.get()
        if found is not None and found in self.calls:
            return found
        if len({forwarding.caller for forwarding in self.calls}) != 1:
            return None
        return next(reversed(self.calls))

    def logged(self, params: LogParams) -> None:
        """Pass a log message to its call."""
        forwarding = self.find()
        if forwarding is not None:
            forwarding.logged(params)


@dataclass(frozen=True, slots=True, kw_only=True)
class _Callbacks(ClientCallbacks):
    """Questions of the upstream go to the caller of the call that they belong to."""

    declared: dict[str, Any]
    in_flight: _InFlight

    def capabilities(self, revision: Revision) -> dict[str, Any]:
        return fit_capabilities(self.declared, revision)

    def can_answer(self, method: str) -> bool:
        return method.partition("/")[0] in self.declared

    async def answer(self, method: str, params: Mapping[str, Any]) -> dict[str, Any]:
        forwarding = self.in_flight.find()
        if forwarding is None:
            raise InternalError(
                f"The proxy does not know which of its calls {method} belongs to; several callers "
                "share this connection"
            )
        return await forwarding.ask(method, params)


class UpstreamConnection:
    """An open connection."""

    def __init__(
        self, era: ClientEra, in_flight: _InFlight, *, has_response_per_request: bool
    ) -> None:
        self.era = era
        self._in_flight = in_flight
        self._rank = _FIRST_RANK
        # HTTP: the messages of a call arrive in the response of its request.
        self.has_response_per_request = has_response_per_request
        # The caller that used it last: it may have state in the upstream's session.
        self.last_caller: object = None
        # What opened it, with the credentials of its principal, and when these were asked for.
        self.make_channel: object = None
        self.checked_at: float = 0.0
        # When it was opened, and whether a call has taken it since.
        self.opened_at: float = 0.0
        self.is_taken: bool = False
        # Whether it is closed after the calls in flight.
        self.is_retired: bool = False

    @classmethod
    async def open(
        cls,
        make_channel: Callable[[], Channel],
        mode: Mode,
        *,
        client: tuple[str, str],
        declared: dict[str, Any],
        meta: dict[str, Any],
        timeout: float,
        on_notification: Callable[[Notification], None],
        has_response_per_request: bool,
    ) -> UpstreamConnection:
        """Connect and negotiate; raises TransportError, PeerError or TimeoutError."""
        in_flight = _InFlight()
        name, version = client
        settings = Settings(
            name=name,
            version=version,
            callbacks=_Callbacks(declared=declared, in_flight=in_flight),
            on_log=in_flight.logged,
            first_meta=meta,
            on_notification=on_notification,
            timeout=timeout,
        )
        era = await negotiate(make_channel, settings, mode)
        return cls(era, in_flight, has_response_per_request=has_response_per_request)

    @property
    def is_legacy(self) -> bool:
        """Whether the upstream has a handshake, and asks by requests of its own."""
        return self.era.revision.family is Family.LEGACY

    @property
    def is_open(self) -> bool:
        """Whether requests can be sent."""
        return not self.era.rpc.is_closed

    @property
    def is_idle(self) -> bool:
        """Whether no call is in flight."""
        return not self._in_flight.calls

    def is_free_for(self, caller: object) -> bool:
        """Whether a call of this caller can be told apart from the calls in flight."""
        if self.has_response_per_request or not self.is_legacy or self.is_idle:
            return True
        return all(forwarding.caller is caller for forwarding in self._in_flight.calls)

    async def exchange(self, forwarding: Forwarding, method: str, params: dict[str, Any]) -> Raw:
        """Send the request of a call and return the result; the forwarding has the time limit."""
        calls = self._in_flight.calls
        calls[forwarding] = None
        self.last_caller = forwarding.caller
        token = current_forwarding.set(forwarding)
        try:
            if self.is_legacy:
                await self._set_level(forwarding.call.peer.log_rank)
            progress = None
            if forwarding.call.progress_token is not None:
                progress = forwarding.progressed
            return await self.era.exchange(method, params, timeout=math.inf, progress=progress)
        finally:
            current_forwarding.reset(token)
            del calls[forwarding]

    async def _set_level(self, rank: int | None) -> None:
        """Make a legacy upstream send the log messages that the caller wants."""
        if rank is not None and rank < self._rank and self.era.has_capability("logging"):
            self._rank = rank
            await self.era.set_log_level(_LEVELS[rank])

    async def close(self) -> None:
        """Close the connection; calls in flight fail."""
        await self.era.rpc.close()


class UpstreamFeed(Subscription):
    """A subscription at the upstream that passes each change on at once."""

    def __init__(
        self,
        connection: UpstreamConnection,
        interest: Interest,
        on_change: Callable[[Change], None],
        on_end: Callable[[UpstreamFeed], None],
    ) -> None:
        super().__init__(connection.era, interest)
        self._on_change = on_change
        self._on_end = on_end

    def push(self, change: Change) -> None:
        """Pass a change on."""
        self._on_change(change)

    def end(self, error: Exception | None = None) -> None:
        """Report that no more changes will arrive."""
        super().end(error)
        self._on_end(self)
