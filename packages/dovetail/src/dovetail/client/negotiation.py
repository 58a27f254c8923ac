"""Finding out how a server wants to be talked to; the only file that knows both eras.

`auto` asks `server/discover` first. What comes back decides, and never one code alone:
a discovery or an error that only a modern server can send means modern; any other
error, silence, or a server that hangs up means legacy (2026-07-28
basic/transports/stdio and streamable-http, backward compatibility).
"""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Iterable
from dataclasses import dataclass

from dovetail.client.channel import Channel, UnreachableError
from dovetail.client.era import ClientEra, Settings
from dovetail.client.exchange import Exchange
from dovetail.client.legacy import LegacyClientEra
from dovetail.client.modern import ModernClientEra
from dovetail.errors import (
    HeaderMismatchError,
    MissingCapabilityError,
    PeerError,
    RpcError,
    TransportError,
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

# Long enough for an interpreter and a heavy framework to start on a busy machine.
_PROBE_SECONDS = 10.0

# Codes that no legacy server can mean by accident: they were allotted with the modern era.
_MODERN_ERRORS = (UnsupportedVersionError, MissingCapabilityError, HeaderMismatchError)


@dataclass(frozen=True, slots=True)
class Mode:
    """Which eras to try, and the one revision to insist on if there is one."""

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
    """Open a channel and agree on an era; closes what it opened where that fails."""
    if mode.modern and mode.legacy:
        try:
            return await _open(make_channel, lambda exchange: _open_auto(exchange, settings))
        except _HungUp:
            # Some legacy servers end when the first message is no initialize; a fresh one
            # gets what it expects.
            return await _open(make_channel, lambda exchange: _open_legacy(exchange, settings))
    if mode.modern:
        wanted = mode.revision or MODERN[-1]
        return await _open(make_channel, lambda ex: _open_modern(ex, settings, wanted))
    revision = mode.revision
    return await _open(make_channel, lambda ex: _open_legacy(ex, settings, revision))


class _HungUp(TransportError):
    """The server went away during the probe."""


async def _open(
    make_channel: Callable[[], Channel], agree: Callable[[Exchange], Awaitable[ClientEra]]
) -> ClientEra:
    exchange = Exchange(make_channel())
    agreed: ClientEra | None = None
    try:
        await exchange.open()
        agreed = await agree(exchange)
    finally:
        if agreed is None:
            await exchange.close()
    return agreed


async def _open_auto(exchange: Exchange, settings: Settings) -> ClientEra:
    era = ModernClientEra(exchange, settings, MODERN[-1])
    try:
        found = await era.discover(min(settings.timeout, _PROBE_SECONDS))
    except UnsupportedVersionError as error:
        return await _take_named_version(exchange, settings, error)
    except _MODERN_ERRORS as error:
        raise PeerError(f"The server speaks the modern protocol but refuses: {error}") from error
    except (RpcError, PeerError, TimeoutError):
        return await _open_legacy_after_probe(exchange, settings)
    except UnreachableError:
        raise
    except TransportError as error:
        raise _HungUp(str(error)) from error
    revision = _newest_common(MODERN, found.supported_versions)
    if revision is None:
        # It answers discover and names legacy revisions only: an invitation to shake hands.
        return await _open_legacy(exchange, settings)
    era.adopt(found, revision)
    return era


async def _open_legacy_after_probe(exchange: Exchange, settings: Settings) -> ClientEra:
    try:
        return await _open_legacy(exchange, settings)
    except UnsupportedVersionError as error:
        # Silence on the probe was a slow start, not an old server: it names modern revisions.
        revision = _newest_common(MODERN, _supported_by(error))
        if revision is None:
            raise
        return await _open_modern(exchange, settings, revision)


async def _take_named_version(
    exchange: Exchange, settings: Settings, error: UnsupportedVersionError
) -> ClientEra:
    supported = _supported_by(error)
    if supported is None:
        # The code without the list is nothing a modern server sends.
        return await _open_legacy(exchange, settings)
    revision = _newest_common(MODERN, supported)
    if revision is not None:
        return await _open_modern(exchange, settings, revision)
    if _newest_common(LEGACY, supported) is not None:
        return await _open_legacy(exchange, settings)
    raise _no_common_version(supported) from error


async def _open_modern(exchange: Exchange, settings: Settings, revision: Revision) -> ClientEra:
    era = ModernClientEra(exchange, settings, revision)
    try:
        found = await era.discover(settings.timeout)
    except UnsupportedVersionError as error:
        raise _no_common_version(_supported_by(error) or ()) from error
    except RpcError as error:
        text = f"The server does not speak {revision}: server/discover was answered with"
        raise PeerError(f"{text} {error.code} {error.message}") from error
    if revision.date not in found.supported_versions:
        raise _no_common_version(found.supported_versions)
    era.adopt(found, revision)
    return era


async def _open_legacy(
    exchange: Exchange, settings: Settings, revision: Revision | None = None
) -> ClientEra:
    offer = revision or LATEST_LEGACY
    return await LegacyClientEra.open(exchange, settings, offer, exact=revision is not None)


def _supported_by(error: RpcError) -> list[str] | None:
    supported = error.data.get("supported") if isinstance(error.data, dict) else None
    return supported if isinstance(supported, list) else None


def _newest_common(ours: Iterable[Revision], theirs: list[str] | None) -> Revision | None:
    common = [revision for revision in ours if revision.date in (theirs or ())]
    return common[-1] if common else None


def _no_common_version(theirs: Iterable[str]) -> PeerError:
    ours = ", ".join(revision.date for revision in REVISIONS)
    return PeerError(
        f"No protocol version in common: the server speaks {', '.join(theirs) or 'none'}, "
        f"this client {ours}"
    )
