"""basic/versioning, server/discover."""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import Any

from dovetail.spec import keys
from dovetail.spec.revisions import Family
from dovetail.wire import codec
from dovetail_check import shapes
from dovetail_check.exchanges import Exchange
from dovetail_check.probe_sessions import OPENING, ProbeSession, Run
from dovetail_check.rulebook import overall, rule, unjudged
from dovetail_check.rules.reading import results_in
from dovetail_check.verdicts import Note, not_applicable, satisfied, violated

__all__ = ["is_version"]

unjudged |= {
    "versioning.dual-era": "a permission: nothing to violate; the sessions show the eras",
    "versioning.dual-era-concurrent": "a permission: nothing to violate",
    "discover.instructions": "a permission: nothing to violate",
}

_LABEL = r"[A-Za-z](?:[A-Za-z0-9-]*[A-Za-z0-9])?"
_EXTENSION = re.compile(rf"{_LABEL}(?:\.{_LABEL})*/(?:[A-Za-z0-9](?:[A-Za-z0-9._-]*[A-Za-z0-9])?)?")
_VERSION = re.compile(r"\d{4}-\d\d-\d\d|DRAFT-.+")
_CORE_TYPES = ("complete", "input_required")


@rule("versioning.unsupported-32022", reads=("strange-version",))
def unknown_versions_are_rejected(session: ProbeSession) -> Iterator[Note]:
    """Any request in an unknown version gets -32022."""
    for exchange in session.tagged("strange-version"):
        if exchange.code == -32022:
            yield satisfied(exchange)
        else:
            got = exchange.describe()
            yield violated(
                exchange, f"{exchange.method} in an unknown version got {got}; expected -32022"
            )


@rule("versioning.unsupported-lists-supported", reads=("strange-version",))
def the_error_lists_supported_versions(session: ProbeSession) -> Iterator[Note]:
    """The error has data.supported and data.requested."""
    for exchange in session.tagged("strange-version"):
        if exchange.code != -32022:
            continue
        data: Any = (exchange.error or {}).get("data")
        problems = shapes.problems(data, "UnsupportedProtocolVersionData", session.revision)
        meta = exchange.params.get("_meta")
        asked = meta.get(keys.PROTOCOL_VERSION) if isinstance(meta, dict) else None
        if problems:
            yield violated(exchange, f"the data of -32022: {'; '.join(problems[:3])}")
        elif not data["supported"]:
            yield violated(exchange, "the data of -32022 lists no version")
        elif data["requested"] != asked:
            yield violated(exchange, f"requested is {data['requested']!r}; expected {asked!r}")
        else:
            yield satisfied(exchange)


@overall("versioning.supported-honoured")
def listed_versions_are_supported(run: Run) -> Iterator[Note]:
    """Each version that the server lists and the checker offered was accepted."""
    for session in run.sessions:
        if session.revision.family is not Family.MODERN or session.opening is None:
            continue
        listed = (session.opening.result or {}).get("supportedVersions")
        offered = {_offer(exchange): exchange for exchange in run.survey}
        served = {other.revision.date for other in run.sessions}
        for version in listed if isinstance(listed, list) else ():
            if not isinstance(version, str):
                continue
            if not is_version(version):
                text = f"{version!r:.60} is listed, which is not a date (YYYY-MM-DD)"
                yield violated(session.opening, text)
            elif version in served or (version in offered and _is_accepted(offered[version])):
                yield satisfied(session.opening)
            elif version in offered:
                got = offered[version].describe()
                yield violated(
                    offered[version], f"{version} is listed, but a request with it got {got}"
                )


def is_version(text: str) -> bool:
    """Whether a version is a date; drafts have names."""
    return _VERSION.fullmatch(text) is not None


def _is_accepted(exchange: Exchange) -> bool:
    """Whether an opening request got a result, in its own version if that names one."""
    result = exchange.result or {}
    return bool(result) and result.get("protocolVersion", _offer(exchange)) == _offer(exchange)


def _offer(exchange: Exchange) -> Any:
    """The version that an opening request offers, in either era."""
    meta = exchange.params.get("_meta")
    modern = meta.get(keys.PROTOCOL_VERSION) if isinstance(meta, dict) else None
    version = exchange.params.get("protocolVersion", modern)
    return version if isinstance(version, str) else None


@rule("versioning.discover-exists")
def discovery_is_implemented(session: ProbeSession) -> Iterator[Note]:
    """server/discover always gets a result."""
    for exchange in session.tagged(OPENING, "fence"):
        if exchange.method != "server/discover" or exchange.answer is None:
            continue
        if exchange.result is None:
            yield violated(
                exchange, f"server/discover got {exchange.describe()}; expected a result"
            )
        else:
            yield satisfied(exchange)


@rule("versioning.extension-id")
def extensions_have_prefixed_names(session: ProbeSession) -> Iterator[Note]:
    """The names follow the grammar of `_meta` keys, and the prefix is required."""
    extensions = session.capabilities.get("extensions")
    if not isinstance(extensions, dict) or not extensions:
        yield not_applicable("no extensions are advertised")
        return
    for name in extensions:
        if _EXTENSION.fullmatch(name):
            yield satisfied(session.opening)
        else:
            yield violated(
                session.opening, f"the extension {name!r} is not a valid prefix and name"
            )


@rule("versioning.extension-fallback", reads=("progress",))
def extensions_are_used_only_if_declared(session: ProbeSession) -> Iterator[Note]:
    """A client that declares no extension gets no result type of one."""
    if not session.has("extensions"):
        yield not_applicable("no extensions are advertised")
        return
    for incoming, result in results_in(session):
        exchange = incoming.exchange
        if exchange is None or _declared_extensions(exchange) is not False:
            continue
        kind = result.get("resultType")
        if isinstance(kind, str) and kind not in _CORE_TYPES:
            yield violated(incoming, f"resultType {kind!r}, but the client declared no extension")
        else:
            yield satisfied(incoming)


def _declared_extensions(exchange: Exchange) -> bool | None:
    meta = exchange.params.get("_meta")
    declared = meta.get(keys.CLIENT_CAPABILITIES) if isinstance(meta, dict) else None
    return bool(declared.get("extensions")) if isinstance(declared, dict) else None


@overall("versioning.initialize-error-names-versions")
def a_modern_server_names_its_versions(run: Run) -> Iterator[Note]:
    """The error for initialize names a supported version."""
    modern = [s for s in run.sessions if s.revision.family is Family.MODERN]
    if not modern:
        yield not_applicable("the server supports no modern revision")
    elif len(modern) < len(run.sessions):
        yield not_applicable("the server also supports revisions with a handshake")
    else:
        names = [session.revision.date for session in modern]
        for exchange in run.survey:
            if exchange.method != "initialize" or exchange.error is None:
                continue
            text = codec.encode(exchange.error).decode("utf-8", "replace")
            if any(name in text for name in names):
                yield satisfied(exchange)
            else:
                yield violated(
                    exchange,
                    f"initialize got {exchange.describe()}; expected a supported version in it",
                )


# -- server/discover -------------------------------------------------------------------------------


@rule("discover.result-fields")
def the_discovery_result_is_complete(session: ProbeSession) -> Iterator[Note]:
    """It has supportedVersions, capabilities, ttlMs, cacheScope and resultType."""
    for exchange in session.sent("server/discover"):
        if exchange.result is None:
            continue
        problems = shapes.result_problems(exchange.result, "server/discover", session.revision)
        if problems:
            yield violated(exchange, f"the result of server/discover: {'; '.join(problems[:3])}")
        else:
            yield satisfied(exchange)


@rule("discover.serverinfo")
def discovery_names_the_server(session: ProbeSession) -> Iterator[Note]:
    """The result has serverInfo in `_meta`."""
    for exchange in session.sent("server/discover"):
        if exchange.result is None:
            continue
        meta = exchange.result.get("_meta")
        if isinstance(meta, dict) and keys.SERVER_INFO in meta:
            yield satisfied(exchange)
        else:
            yield violated(exchange, f"no {keys.SERVER_INFO} in _meta of server/discover")
