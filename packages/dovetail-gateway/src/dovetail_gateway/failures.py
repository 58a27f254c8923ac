"""Errors of an upstream, as its callers see them: every text names the upstream."""

from __future__ import annotations

from typing import Any

from dovetail.core.call import Call
from dovetail.errors import (
    HeaderMismatchError,
    InvalidParamsError,
    MissingCapabilityError,
    PeerError,
    ResourceNotFoundError,
    RpcError,
    TransportError,
    UnsupportedVersionError,
    UpstreamError,
)
from dovetail.mount.mounted import UnavailableError

__all__ = ["UpstreamError", "UpstreamUnavailableError", "explain"]

# Errors about the connection between proxy and upstream, which the caller cannot correct.
_INTERNAL = (HeaderMismatchError, UnsupportedVersionError)


class UpstreamUnavailableError(UpstreamError, UnavailableError):
    """The upstream cannot be reached; its `Presence` has logged that."""

    def __init__(self, upstream: str, reason: object) -> None:
        super().__init__(upstream, f"is unavailable: {reason}")


def explain(
    upstream: str, error: Exception, call: Call | None = None, uri: str | None = None
) -> Exception:
    """Return the error to answer a call with; `uri` is the resource that it reads."""
    if isinstance(error, TimeoutError):
        return UpstreamError(upstream, f"did not answer: {error}")
    if isinstance(error, TransportError):
        return UpstreamUnavailableError(upstream, error)
    if isinstance(error, PeerError):
        return UpstreamError(upstream, f"violates the protocol: {error}")
    if isinstance(error, _INTERNAL):
        return UpstreamError(upstream, f"refuses the requests of this proxy: {error.message}")
    if isinstance(error, MissingCapabilityError) and call is not None:
        # The eras have different errors for this.
        return call.era.undeclared(call, _required_by(error))
    if isinstance(error, ResourceNotFoundError) and error.data is None:
        error.data = None if uri is None else {"uri": uri}
    if isinstance(error, InvalidParamsError) and _names(error, uri):
        # The modern era has no code of its own for this; the era of the caller may have one.
        assert uri is not None
        return ResourceNotFoundError(uri, error.message)
    return error


def _required_by(error: RpcError) -> dict[str, Any]:
    required = error.data.get("requiredCapabilities") if isinstance(error.data, dict) else None
    # `undeclared` formats one capability.
    return dict(list(required.items())[:1]) if isinstance(required, dict) and required else {"": {}}


def _names(error: RpcError, uri: str | None) -> bool:
    return uri is not None and isinstance(error.data, dict) and error.data.get("uri") == uri
