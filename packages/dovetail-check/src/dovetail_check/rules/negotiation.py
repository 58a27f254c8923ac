"""basic/lifecycle#version-negotiation: versions offered, and versions returned."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from dovetail.spec.revisions import Family, find_revision
from dovetail_check.exchanges import Exchange
from dovetail_check.probe_sessions import LISTED, ProbeSession, Run
from dovetail_check.rulebook import overall
from dovetail_check.rules.versioning import is_version
from dovetail_check.verdicts import Note, ambiguous, not_applicable, satisfied, violated

__all__: list[str] = []

_NO_LEGACY = "the server accepted no revision with a handshake"


def _accepted(run: Run) -> dict[str, Exchange]:
    """The handshakes that returned the offered version, by version."""
    return {
        session.revision.date: session.opening
        for session in run.sessions
        if session.revision.family is Family.LEGACY and session.opening is not None
    }


def _not_accepted(run: Run) -> list[Exchange]:
    """The handshakes that did not return the offered version."""
    return [
        exchange
        for exchange in run.survey
        if exchange.method == "initialize" and not exchange.connection.startswith(LISTED)
    ]


def _listed(run: Run) -> dict[str, Exchange]:
    """The handshakes with versions that the server named itself, by version."""
    return {
        exchange.params["protocolVersion"]: exchange
        for exchange in run.survey
        if exchange.method == "initialize" and exchange.connection.startswith(LISTED)
    }


def _answered_version(exchange: Exchange) -> str | None:
    version = (exchange.result or {}).get("protocolVersion")
    return version if isinstance(version, str) else None


@overall("lifecycle.version.echo", reads=("http-sessions", "http-version-header"))
def supported_versions_are_echoed(run: Run) -> Iterator[Note]:
    """A version that the server offers, lists or accepts elsewhere is returned if it is offered."""
    accepted, rest = _accepted(run), _not_accepted(run)
    for exchange in accepted.values():
        yield satisfied(exchange)
    yield from _changed_versions(run)
    yield from _known_versions(run)
    offered = {exchange.params.get("protocolVersion"): exchange for exchange in rest}
    for exchange in rest:
        version = _answered_version(exchange)
        rejected = offered.get(version) if version is not None else None
        if rejected is not None and _answered_version(rejected) != version:
            got = rejected.describe()
            yield violated(
                rejected, f"{version} got {got}, but the server itself offers it elsewhere"
            )


def _changed_versions(run: Run) -> Iterator[Note]:
    """Further handshakes in a session that returned another version than the first one."""
    for session in run.sessions:
        for exchange in session.sent("initialize"):
            offer, version = exchange.params.get("protocolVersion"), _answered_version(exchange)
            if offer == session.revision.date and version not in (None, offer):
                text = f"{offer} got {version} the next time; the server supports {offer}"
                yield violated(exchange, f"{text}, so it must return it")


def _known_versions(run: Run) -> Iterator[Note]:
    """Versions that got another one, although the server lists them or accepts their header."""
    accepted = _accepted(run)
    listed = [
        version
        for session in run.sessions
        if session.opening is not None
        for version in _listed_by(session.opening)
    ]
    in_header = {
        exchange.sent.header("mcp-protocol-version"): exchange
        for session in run.sessions
        for exchange in session.tagged("http-version-header/other")
        if exchange.result is not None and _rejects_unknown(session)
    }
    for exchange in _not_accepted(run):
        offer, version = exchange.params.get("protocolVersion"), _answered_version(exchange)
        if offer in accepted or version is None:
            continue
        if offer in listed:
            text = f"{offer} got {version}, but server/discover lists {offer} as supported"
            yield violated(exchange, text)
        elif offer in in_header:
            text = f"{offer} got {version}, but the server accepts MCP-Protocol-Version: {offer}"
            yield violated(in_header[offer], f"{text} and rejects unknown versions")


def _listed_by(exchange: Exchange) -> list[Any]:
    listed = (exchange.result or {}).get("supportedVersions")
    return listed if isinstance(listed, list) else []


def _rejects_unknown(session: ProbeSession) -> bool:
    sent = session.tagged("http-version-header/invalid")
    return bool(sent) and all(exchange.status == 400 for exchange in sent)


# lifecycle.version.counter-offer (2025-11-25 basic/lifecycle): another version that it supports.
# The same page shows an error for this case.
@overall("lifecycle.version.counter-offer")
def other_offers_get_a_version_that_works(run: Run) -> Iterator[Note]:
    """An unsupported version is answered with a supported one."""
    accepted = _accepted(run)
    if not accepted:
        yield not_applicable(_NO_LEGACY)
        return
    listed = _listed(run)
    for exchange in _not_accepted(run):
        offer = exchange.params.get("protocolVersion")
        version = _answered_version(exchange)
        if version is not None and version in accepted:
            yield satisfied(exchange)
        elif version is not None and version == offer:
            yield violated(exchange, f"{offer} does not exist, but the server returned it")
        elif version is not None and not is_version(version):
            yield violated(exchange, f"{offer} got {version!r:.60}, which is not a date")
        elif version in listed and _answered_version(listed[version]) == version:
            yield satisfied(exchange)
        elif version is not None and find_revision(version) is None and version not in listed:
            yield ambiguous(exchange, f"{offer} got {version}, which the checker does not know")
        elif version is not None:
            yield violated(exchange, f"{offer} got {version}, which the server does not accept")
        elif exchange.result is not None:
            yield violated(exchange, f"{offer} got a result without a version")
        elif exchange.error is not None or (exchange.status or 0) >= 400:
            text = f"{offer} got {exchange.describe()}; expected a supported version"
            yield ambiguous(exchange, f"{text}, but the page also shows an error for this case")
        else:
            yield violated(exchange, f"{offer} got {exchange.describe()}; expected a version")


@overall("lifecycle.version.latest")
def the_counter_offer_is_the_latest(run: Run) -> Iterator[Note]:
    """The server answers with its newest version that has a handshake."""
    accepted = _accepted(run)
    for exchange in _not_accepted(run):
        version = _answered_version(exchange)
        if version not in accepted:
            continue
        if version == max(accepted):
            yield satisfied(exchange)
        else:
            offer = exchange.params.get("protocolVersion")
            yield violated(exchange, f"{offer} got {version}; the latest is {max(accepted)}")


@overall("lifecycle.errors.prepared")
def unknown_versions_are_answered(run: Run) -> Iterator[Note]:
    """Every offered version gets an answer."""
    if not _accepted(run):
        yield not_applicable(_NO_LEGACY)
        return
    for exchange in _not_accepted(run):
        offer = exchange.params.get("protocolVersion")
        if exchange.answer is not None or exchange.status is not None:
            yield satisfied(exchange)
        else:
            yield violated(exchange, f"{offer} got {exchange.describe()}; expected an answer")
