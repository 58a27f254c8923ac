"""basic/versioning, server/discover."""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import Any

from dovetail.spec import keys
from dovetail.spec.revisions import Family, find_revision
from dovetail.wire import codec
from dovetail_check import shapes
from dovetail_check.exchanges import Exchange
from dovetail_check.probe_sessions import OPENING, ProbeSession, Run
from dovetail_check.rulebook import overall, rule, unjudged
from dovetail_check.rules.reading import results_in
from dovetail_check.verdicts import Note, absent, broken, kept

__all__: list[str] = []

unjudged |= {
    "versioning.dual-era": "a permission: nothing to break; the sittings show the eras",
    "versioning.dual-era-concurrent": "a permission: nothing to break",
    "discover.instructions": "a permission: nothing to break",
}

_LABEL = r"[A-Za-z](?:[A-Za-z0-9-]*[A-Za-z0-9])?"
_EXTENSION = re.compile(rf"{_LABEL}(?:\.{_LABEL})*/(?:[A-Za-z0-9](?:[A-Za-z0-9._-]*[A-Za-z0-9])?)?")
_CORE_TYPES = ("complete", "input_required")


@rule("versioning.unsupported-32022", reads=("strange-version",))
def strange_versions_are_refused(seen: ProbeSession) -> Iterator[Note]:
    """-32022, whatever is asked."""
    for exchange in seen.tagged("strange-version"):
        if exchange.code == -32022:
            yield kept(exchange)
        else:
            came = exchange.describe()
            yield broken(
                exchange, f"{exchange.method} in an unknown version got {came}; -32022 due"
            )


@rule("versioning.unsupported-lists-supported", reads=("strange-version",))
def the_refusal_lists_what_is_supported(seen: ProbeSession) -> Iterator[Note]:
    """data.supported and data.requested."""
    for exchange in seen.tagged("strange-version"):
        if exchange.code != -32022:
            continue
        data: Any = (exchange.error or {}).get("data")
        problems = shapes.problems(data, "UnsupportedProtocolVersionData", seen.revision)
        meta = exchange.params.get("_meta")
        asked = meta.get(keys.PROTOCOL_VERSION) if isinstance(meta, dict) else None
        if problems:
            yield broken(exchange, f"the data of -32022: {'; '.join(problems[:3])}")
        elif not data["supported"]:
            yield broken(exchange, "the data of -32022 lists no version")
        elif data["requested"] != asked:
            yield broken(exchange, f"requested is {data['requested']!r}; {asked!r} was asked for")
        else:
            yield kept(exchange)


@overall("versioning.supported-honoured")
def listed_versions_are_served(run: Run) -> Iterator[Note]:
    """Each version that the server lists, and that was offered, was taken."""
    for session in run.sessions:
        if session.revision.family is not Family.MODERN or session.opening is None:
            continue
        listed = (session.opening.result or {}).get("supportedVersions")
        offered = {_offer(exchange): exchange for exchange in run.survey}
        served = {other.revision.date for other in run.sessions}
        for version in listed if isinstance(listed, list) else ():
            if not isinstance(version, str) or find_revision(version) is None:
                continue
            if version in served:
                yield kept(session.opening)
            elif version in offered:
                came = offered[version].describe()
                yield broken(offered[version], f"{version} is listed; offered, it got {came}")


def _offer(exchange: Exchange) -> Any:
    """The version of an opening, old or new."""
    meta = exchange.params.get("_meta")
    modern = meta.get(keys.PROTOCOL_VERSION) if isinstance(meta, dict) else None
    version = exchange.params.get("protocolVersion", modern)
    return version if isinstance(version, str) else None


@rule("versioning.discover-exists")
def discovery_is_implemented(seen: ProbeSession) -> Iterator[Note]:
    """Whenever it is asked for."""
    for exchange in seen.tagged(OPENING, "fence"):
        if exchange.method != "server/discover" or exchange.answer is None:
            continue
        if exchange.result is None:
            yield broken(exchange, f"server/discover got {exchange.describe()}")
        else:
            yield kept(exchange)


@rule("versioning.extension-id")
def extensions_have_prefixed_names(seen: ProbeSession) -> Iterator[Note]:
    """As keys of `_meta`, the prefix is a must."""
    extensions = seen.capabilities.get("extensions")
    if not isinstance(extensions, dict) or not extensions:
        yield absent("no extensions are advertised")
        return
    for name in extensions:
        if _EXTENSION.fullmatch(name):
            yield kept(seen.opening)
        else:
            yield broken(seen.opening, f"the extension {name!r} has no valid prefix and name")


@rule("versioning.extension-fallback", reads=("progress",))
def extensions_need_two(seen: ProbeSession) -> Iterator[Note]:
    """Who did not declare an extension gets nothing of it."""
    if not seen.has("extensions"):
        yield absent("no extensions are advertised")
        return
    for heard, result in results_in(seen):
        exchange = heard.exchange
        if exchange is None or _declared_extensions(exchange) is not False:
            continue
        kind = result.get("resultType")
        if isinstance(kind, str) and kind not in _CORE_TYPES:
            yield broken(heard, f"resultType {kind!r} to a client that declared no extension")
        else:
            yield kept(heard)


def _declared_extensions(exchange: Exchange) -> bool | None:
    meta = exchange.params.get("_meta")
    declared = meta.get(keys.CLIENT_CAPABILITIES) if isinstance(meta, dict) else None
    return bool(declared.get("extensions")) if isinstance(declared, dict) else None


@overall("versioning.initialize-error-names-versions")
def a_modern_server_tells_old_clients_what_it_speaks(run: Run) -> Iterator[Note]:
    """The error to initialize names a version that is served."""
    modern = [s for s in run.sessions if s.revision.family is Family.MODERN]
    if not modern:
        yield absent("the server speaks no modern revision")
    elif len(modern) < len(run.sessions):
        yield absent("the server speaks revisions with a handshake as well")
    else:
        names = [session.revision.date for session in modern]
        for exchange in run.survey:
            if exchange.method != "initialize" or exchange.error is None:
                continue
            text = codec.encode(exchange.error).decode("utf-8", "replace")
            if any(name in text for name in names):
                yield kept(exchange)
            else:
                yield broken(exchange, f"initialize got {exchange.describe()}; no version is named")


# -- server/discover -------------------------------------------------------------------------------


@rule("discover.result-fields")
def discovery_tells_everything(seen: ProbeSession) -> Iterator[Note]:
    """supportedVersions, capabilities, ttlMs, cacheScope, resultType."""
    for exchange in seen.sent("server/discover"):
        if exchange.result is None:
            continue
        problems = shapes.result_problems(exchange.result, "server/discover", seen.revision)
        if problems:
            yield broken(exchange, f"the result of server/discover: {'; '.join(problems[:3])}")
        else:
            yield kept(exchange)


@rule("discover.serverinfo")
def discovery_names_the_server(seen: ProbeSession) -> Iterator[Note]:
    """serverInfo in `_meta`."""
    for exchange in seen.sent("server/discover"):
        if exchange.result is None:
            continue
        meta = exchange.result.get("_meta")
        if isinstance(meta, dict) and keys.SERVER_INFO in meta:
            yield kept(exchange)
        else:
            yield broken(exchange, f"no {keys.SERVER_INFO} in _meta of server/discover")
