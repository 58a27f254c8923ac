"""Negotiation of the protocol era; the only client module that knows both eras.

`auto` sends `server/discover` first. A result, or an error that only a modern server can send,
means modern. Any other error, no response, or a closed connection means legacy (2026-07-28
basic/transports/stdio and streamable-http, backward compatibility).
"""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Iterable
from dataclasses import dataclass
from functools import partial

from dovetail.client.channel import Channel
from dovetail.client.era import ClientEra, Settings
from dovetail.client.legacy import LegacyClientEra
from dovetail.client.modern import ModernClientEra
from dovetail.client.rpc import RpcConnection
from dovetail.errors import (
    HeaderMismatchError,
    MissingCapabilityError,
    PeerError,
    RpcError,
    TransportError,
    UnreachableError,
    UnsupportedVersionError,
    UsageError,
)
from dovetail.spec.revisions import (
    LATEST_LEGACY,
    LEGACY,
    MODERN,
    REVISIONS,
    Family,
    Revision,
    find_revision,
)

__all__ = ["Mode", "negotiate", "parse_mode"]

# Long enough for a large Python server to start on a busy machine.
_PROBE_SECONDS = 10.0

# Error codes that legacy servers do not use: they were introduced with the modern era.
_MODERN_ERRORS = (UnsupportedVersionError, MissingCapabilityError, HeaderMismatchError)


@dataclass(frozen=True, slots=True)
class Mode:
    """The eras to try, and the required revision, if any."""

    modern: bool
    legacy: bool
    revision: Revision | None = None


_NAMED_MODES = {"auto": Mode(True, True), "modern": Mode(True, False), "legacy": Mode(False, True)}


def parse_mode(text: str) -> Mode:
    """`auto`, `modern`, `legacy` or the date of a revision; raises UsageError."""
    if text in _NAMED_MODES:
        return _NAMED_MODES[text]
    revision = find_revision(text)
    if revision is None:
        allowed = ", ".join((*_NAMED_MODES, *(r.date for r in REVISIONS)))
        raise UsageError(f"Unknown mode {text!r}; allowed: {allowed}")
    is_modern = revision.family is Family.MODERN
    return Mode(is_modern, not is_modern, revision)


async def negotiate(
    make_channel: Callable[[], Channel], settings: Settings, mode: Mode
) -> ClientEra:
    """Open a channel and negotiate an era; closes the channel if that fails."""
    if mode.modern and mode.legacy:
        try:
            return await _open(make_channel, settings, _open_auto)
        except _DisconnectedError:
            # Some legacy servers exit if the first message is not initialize; start again
            # with initialize.
            return await _open(make_channel, settings, _open_legacy)
    if mode.modern:
        wanted = mode.revision or MODERN[-1]
        return await _open(make_channel, settings, partial(_open_modern, revision=wanted))
    return await _open(make_channel, settings, partial(_open_legacy, revision=mode.revision))


class _DisconnectedError(TransportError):
    """The server disconnected during the probe."""


async def _open(
    make_channel: Callable[[], Channel],
    settings: Settings,
    agree: Callable[[RpcConnection, Settings], Awaitable[ClientEra]],
) -> ClientEra:
    rpc = RpcConnection(make_channel(), settings.telemetry)
    agreed: ClientEra | None = None
    try:
        await rpc.open()
        agreed = await agree(rpc, settings)
    finally:
        if agreed is None:
            await rpc.close()
    return agreed


async def _open_auto(rpc: RpcConnection, settings: Settings) -> ClientEra:
    era = ModernClientEra(rpc, settings, MODERN[-1])
    try:
        found = await era.discover(min(settings.timeout, _PROBE_SECONDS))
    except UnsupportedVersionError as error:
        return await _open_named_version(rpc, settings, error)
    except _MODERN_ERRORS as error:
        raise PeerError(
            f"The server supports the modern protocol but rejects the request: {error}"
        ) from error
    except (RpcError, PeerError, TimeoutError):
        return await _open_legacy_after_probe(rpc, settings)
    except UnreachableError:
        raise
    except TransportError as error:
        raise _DisconnectedError(str(error)) from error
    revision = _newest_common(MODERN, found.supported_versions)
    if revision is None:
        # It answers server/discover but names only legacy revisions.
        return await _open_legacy(rpc, settings)
    era.adopt(found, revision)
    return era


async def _open_legacy_after_probe(rpc: RpcConnection, settings: Settings) -> ClientEra:
    try:
        return await _open_legacy(rpc, settings)
    except UnsupportedVersionError as error:
        # The server was slow to start, not old: its error names modern revisions.
        revision = _newest_common(MODERN, _supported_by(error))
        if revision is None:
            raise
        return await _open_modern(rpc, settings, revision)


async def _open_named_version(
    rpc: RpcConnection, settings: Settings, error: UnsupportedVersionError
) -> ClientEra:
    supported = _supported_by(error)
    if supported is None:
        # A modern server always sends the list of versions with this code.
        return await _open_legacy(rpc, settings)
    revision = _newest_common(MODERN, supported)
    if revision is not None:
        return await _open_modern(rpc, settings, revision)
    if _newest_common(LEGACY, supported) is not None:
        return await _open_legacy(rpc, settings)
    raise _no_common_version(supported) from error


async def _open_modern(
    rpc: RpcConnection, settings: Settings, revision: Revision, *, is_retry: bool = False
) -> ClientEra:
    era = ModernClientEra(rpc, settings, revision)
    try:
        found = await era.discover(settings.timeout)
    except UnsupportedVersionError as error:
        # A server that names this revision after all is asked once more.
        supported = _supported_by(error) or []
        if revision.date in supported and not is_retry:
            return await _open_modern(rpc, settings, revision, is_retry=True)
        raise _no_common_version(supported) from error
    except RpcError as error:
        text = f"The server does not support {revision}: server/discover was answered with"
        raise PeerError(f"{text} {error.code} {error.message}") from error
    if revision.date not in found.supported_versions:
        raise _no_common_version(found.supported_versions)
    era.adopt(found, revision)
    return era


async def _open_legacy(
    rpc: RpcConnection, settings: Settings, revision: Revision | None = None
) -> ClientEra:
    offer = revision or LATEST_LEGACY
    return await LegacyClientEra.open(rpc, settings, offer, exact=revision is not None)


def _supported_by(error: RpcError) -> list[str] | None:
    supported = error.data.get("supported") if isinstance(error.data, dict) else None
    return supported if isinstance(supported, list) else None


def _newest_common(ours: Iterable[Revision], theirs: list[str] | None) -> Revision | None:
    common = [revision for revision in ours if revision.date in (theirs or ())]
    return common[-1] if common else None


def _no_common_version(theirs: Iterable[str]) -> PeerError:
    ours = ", ".join(revision.date for revision in REVISIONS)
    return PeerError(
        f"No common protocol version: the server supports {', '.join(theirs) or 'none'}, "
        f"this client {ours}"
    )
