"""The methods that need a session: initialize, ping, setLevel, subscribe, unsubscribe."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from dovetail.core.call import Call
from dovetail.core.dispatch import MethodHandler
from dovetail.core.identity import Identity
from dovetail.core.principal import owner_of
from dovetail.eras.legacy.session import LegacySession, session_of
from dovetail.errors import (
    InternalError,
    InvalidRequestError,
    MethodNotFoundError,
    ResourceNotFoundError,
)
from dovetail.features.log_messages import rank_of
from dovetail.spec.fields import project
from dovetail.spec.models import InitializeParams, ResourceParams, SetLevelParams
from dovetail.spec.revisions import LATEST_LEGACY, Family, Revision, find_revision

__all__ = ["legacy_methods", "negotiate"]


# Maximum subscriptions of one client; templates match an unlimited number of URIs.
_MAX_SUBSCRIPTIONS = 1000


def negotiate(requested: str) -> Revision:
    """The revision to respond with."""
    revision = find_revision(requested)
    if revision is not None and revision.family is Family.LEGACY:
        # lifecycle.version.echo (2025-11-25 basic/lifecycle)
        return revision
    # lifecycle.version.counter-offer, lifecycle.version.latest
    return LATEST_LEGACY


def _require_session(call: Call) -> LegacySession:
    session = session_of(call)
    assert session is not None  # these methods are gated by the handshake
    return session


def _no_notifications(call: Call) -> MethodNotFoundError:
    # resources.subscribe-undeclared (2025-11-25 server/resources)
    return MethodNotFoundError(
        f"Method not found: {call.method!r} is not served here: the server cannot send "
        "notifications to this client"
    )


def legacy_methods(
    identity: Identity, resource_exists: Callable[[Call, str], bool]
) -> dict[str, MethodHandler]:
    """The method handlers of this era."""

    def initialize(call: Call) -> dict[str, Any]:
        params: InitializeParams = call.params  # type: ignore[assignment]
        revision = call.era.revision
        session = session_of(call)
        if session is not None and session.is_kept:
            raise InvalidRequestError("Invalid request: this session is initialized already")
        call.link.start_session(revision, params)
        result = {
            "protocolVersion": revision.date,
            "capabilities": identity.capabilities_at(
                revision, call.link.channels, owner=owner_of(call.principal)
            ),
            "serverInfo": project(identity.implementation, revision),
        }
        if identity.instructions is not None:
            result["instructions"] = identity.instructions
        return result

    def ping(call: Call) -> dict[str, Any]:
        return {}

    def set_level(call: Call) -> dict[str, Any]:
        if not call.link.channels.messages:
            raise _no_notifications(call)
        params: SetLevelParams = call.params  # type: ignore[assignment]
        rank = rank_of(params.level)
        session = _require_session(call)
        if session.is_kept:
            session.set_log_rank(rank)
        return {}

    return {
        "initialize": MethodHandler(initialize),
        "ping": MethodHandler(ping),
        "logging/setLevel": MethodHandler(set_level),
        **_subscription_methods(resource_exists),
    }


def _subscription_methods(
    resource_exists: Callable[[Call, str], bool],
) -> dict[str, MethodHandler]:
    def subscribe(call: Call) -> dict[str, Any]:
        if not call.link.channels.changes:
            raise _no_notifications(call)
        params: ResourceParams = call.params  # type: ignore[assignment]
        if not resource_exists(call, params.uri):
            raise ResourceNotFoundError(params.uri[:2000])
        session = _require_session(call)
        if session.is_kept:
            if len(session.uris) >= _MAX_SUBSCRIPTIONS and params.uri not in session.uris:
                raise InternalError(
                    f"This session has reached its limit of {_MAX_SUBSCRIPTIONS:,} subscriptions; "
                    "unsubscribe from some first"
                )
            session.subscribe(params.uri)
        return {}

    def unsubscribe(call: Call) -> dict[str, Any]:
        if not call.link.channels.changes:
            raise _no_notifications(call)
        params: ResourceParams = call.params  # type: ignore[assignment]
        _require_session(call).unsubscribe(params.uri)
        return {}

    return {
        "resources/subscribe": MethodHandler(subscribe),
        "resources/unsubscribe": MethodHandler(unsubscribe),
    }
