"""Selects the era of a request from its first message or its `_meta`.

    carries modern `_meta`, or is server/discover   -> modern, this request alone
    initialize                                      -> legacy, for the whole connection
    anything else after initialize                  -> legacy, at the negotiated revision
    ping before initialize                          -> legacy, where it is allowed
    anything else before initialize                 -> rejected as a modern request without `_meta`

The only file that imports both eras; a server may serve both on one connection.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping

import msgspec
from msgspec import UNSET, Raw

from dovetail.core.call import Call, Peer
from dovetail.core.dispatch import MethodHandler
from dovetail.core.era import CacheHint, Era
from dovetail.core.identity import Identity
from dovetail.core.options import Options
from dovetail.core.principal import Principal
from dovetail.eras.legacy.back_channel import BackChannel
from dovetail.eras.legacy.era import LegacyEra, announce, era_of
from dovetail.eras.legacy.lifecycle import legacy_methods, negotiate
from dovetail.eras.legacy.session import LegacySession
from dovetail.eras.legacy.session_fields import read_session, refresh_session, session_fields
from dovetail.eras.modern.envelope import Admitted, admit, is_modern, may_be_modern, recall
from dovetail.eras.modern.era import ModernEra, discover_methods
from dovetail.eras.modern.mrtr import InputRounds
from dovetail.eras.modern.sealing import Sealer
from dovetail.eras.modern.subscriptions import listen_methods
from dovetail.errors import InvalidParamsError, InvalidRequestError, RpcError
from dovetail.spec.keys import LOG_LEVELS
from dovetail.spec.methods import METHODS, Kind, MethodSpec, Sender
from dovetail.spec.models import InitializeParams, InputParams, Params
from dovetail.spec.revisions import (
    LATEST_LEGACY,
    LEGACY,
    MODERN,
    REVISIONS,
    Revision,
    find_revision,
)
from dovetail.wire import codec
from dovetail.wire.messages import Incoming, Request

__all__ = [
    "Eras",
    "LegacySession",
    "announce",
    "id_in_use",
    "no_batches",
    "read_session",
    "refresh_session",
    "session_fields",
    "speaks_modern",
]

# A notification sent as a request is an unknown method, so its params are not validated.
_decode_any = codec.decoder(Params)
_DECODE = {
    method.name: codec.decoder(method.params) for method in METHODS if method.kind is Kind.REQUEST
}

_UNKNOWN_PEER = Peer(None, {}, None)
_MODERN_HEADERS = frozenset(revision.date.encode() for revision in MODERN)


def no_batches() -> InvalidRequestError:
    """The error for a batch at a revision without batching."""
    return InvalidRequestError(
        f"Invalid request: one message at a time; batches exist at "
        f"{' and '.join(r.date for r in REVISIONS if r.batching)} only"
    )


def id_in_use(id: bytes) -> InvalidRequestError:
    """The error for a request id that is still in use."""
    # base.request.id-unique: only ids of unanswered requests and of the same batch are tracked,
    # because only those can be confused
    return InvalidRequestError(
        f"Invalid request: id {id.decode()[:100]} is in use by a request that is not answered yet"
    )


def speaks_modern(message: Incoming, version: bytes | None) -> bool:
    """Whether an HTTP request belongs to the modern era, by its version header or its body."""
    if version is not None and (version in _MODERN_HEADERS or version.strip() in _MODERN_HEADERS):
        return True
    if not isinstance(message, Request):
        return False
    if message.method == "server/discover":
        return True
    if message.params is None or not may_be_modern(message.params):
        return False
    try:
        return is_modern(codec.decode_as(Params, message.params).meta)
    except msgspec.ValidationError:
        return False


class Eras:
    """Creates each call in its era."""

    def __init__(
        self,
        identity: Identity,
        options: Options,
        resource_exists: Callable[[Call, str], bool],
        is_hidden: Callable[[Call, str], bool] = lambda call, uri: False,
    ) -> None:
        self.sealer: Sealer = Sealer(options.state_keys)
        rounds = InputRounds(self.sealer, options.state_lifetime, identity.implementation)
        self._modern = {
            revision: ModernEra(revision, identity.implementation, rounds) for revision in MODERN
        }
        self._legacy = {revision: era_of(revision) for revision in LEGACY}
        self.rounds = rounds
        self.server_name: str = identity.implementation.name
        self._log_rank = LOG_LEVELS[options.log_level]
        self._ask_timeout = options.ask_timeout
        self._capabilities = identity.capabilities
        self._stateless = {revision: self._make_stateless(revision) for revision in LEGACY}
        hint = CacheHint(options.list_ttl_ms, options.list_scope)
        self._decoders: Mapping[str, Callable[[bytes | Raw], Params]] = _DECODE
        self.methods: dict[str, MethodHandler] = {
            **legacy_methods(identity, resource_exists),
            **discover_methods(identity, hint),
            **listen_methods(identity.capabilities, is_hidden),
        }

    def add_method(
        self,
        name: str,
        decode: Callable[[bytes | Raw], Params],
        is_offered_at: Callable[[Revision], bool],
    ) -> None:
        """Add a method to the tables of some revisions, for this server only."""
        self._decoders = {**self._decoders, name: decode}
        if self._legacy[LATEST_LEGACY] is era_of(LATEST_LEGACY):
            # All servers share those.
            self._legacy = {revision: LegacyEra(revision) for revision in LEGACY}
        for revision, era in (*self._modern.items(), *self._legacy.items()):
            if is_offered_at(revision):
                spec = MethodSpec(name, Kind.REQUEST, Sender.CLIENT, revision, revision)
                era.methods = {**era.methods, name: spec}

    def open(
        self,
        message: Request,
        session: LegacySession | None,
        principal: Principal | None = None,
    ) -> Call | RpcError:
        """The call, or the error that rejects the request."""
        raw = message.params
        params: Params
        problem: RpcError | None = None
        try:
            params = self._decoders.get(message.method, _decode_any)(b"{}" if raw is None else raw)
        except codec.UNREADABLE as error:
            # The era decides which error takes precedence, so `_meta` is read in any case.
            problem = InvalidParamsError(f"Invalid params: {codec.reason(error)}")
            try:
                params = codec.decode_as(Params, raw or b"{}")
            except msgspec.ValidationError:
                return problem
        if params.meta is not UNSET:
            known = recall(params.meta)
            if known is not None:
                return self._open_admitted(message, params, problem, principal, known)
            if bytes(params.meta)[:1] != b"{":
                problem = problem or InvalidParamsError("Invalid params: _meta must be an object")
        if message.method == "server/discover" or is_modern(params.meta):
            return self._open_modern(message, params, problem, principal)
        if session is not None and (session.is_kept or message.method != "initialize"):
            return self._open_legacy(message, params, problem, session)
        if message.method in ("initialize", "ping"):
            return self._open_handshake(message, params, problem)
        return self._open_modern(message, params, problem, principal)

    def reopen(self, date: str, method: str, params: bytes) -> tuple[Params, Era] | None:
        """Restore the params and era of a stored call; None if its revision is unsupported."""
        revision = find_revision(date)
        era = self._modern.get(revision) or self._legacy.get(revision)  # type: ignore[arg-type]
        return None if era is None else (self._decoders[method](params), era)

    def _open_modern(
        self,
        message: Request,
        params: Params,
        problem: RpcError | None,
        principal: Principal | None,
    ) -> Call | RpcError:
        admitted = admit(params.meta)
        if isinstance(admitted, RpcError):
            return admitted
        return self._open_admitted(message, params, problem, principal, admitted)

    def _open_admitted(
        self,
        message: Request,
        params: Params,
        problem: RpcError | None,
        principal: Principal | None,
        admitted: Admitted,
    ) -> Call | RpcError:
        era = self._modern[admitted.revision]
        if problem is not None and message.method in era.methods:
            return problem
        call = Call(message.id, message.method, params, era, admitted.peer)
        call.principal = principal
        if isinstance(params, InputParams):
            try:
                self.rounds.restore(call, params)
            except RpcError as error:
                return error
        return call

    def _open_legacy(
        self, message: Request, params: Params, problem: RpcError | None, session: LegacySession
    ) -> Call | RpcError:
        era = self._legacy[session.revision]
        if problem is not None and message.method in era.methods:
            return problem
        return Call(message.id, message.method, params, era, session.peer())

    def _open_handshake(
        self, message: Request, params: Params, problem: RpcError | None
    ) -> Call | RpcError:
        if problem is not None:
            return problem
        revision = LATEST_LEGACY
        if isinstance(params, InitializeParams):
            revision = negotiate(params.protocol_version)
        return Call(message.id, message.method, params, era_of(revision), _UNKNOWN_PEER)

    def stateless_session(self, revision: Revision) -> LegacySession:
        """The session of stateless legacy requests; shared, so it must not be modified."""
        return self._stateless[revision]

    def _make_stateless(self, revision: Revision) -> LegacySession:
        session = LegacySession(revision, None, {}, self._log_rank)
        session.is_kept = False
        return session

    def new_session(self, revision: Revision, params: InitializeParams) -> LegacySession:
        """The session that an initialize request starts."""
        session = LegacySession(revision, params.client_info, params.capabilities, self._log_rank)
        session.back_channel = BackChannel(self._ask_timeout)
        session.declared = frozenset(self._capabilities())
        return session

    def share_session(self, session: LegacySession, id: str, node: str) -> None:
        """Prepare a session for several processes, of which this one is `node`."""
        session.share(id)
        session.back_channel = BackChannel(self._ask_timeout, node)
