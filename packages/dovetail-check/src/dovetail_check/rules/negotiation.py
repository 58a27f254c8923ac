"""basic/lifecycle#version-negotiation: what was offered, and what came back."""

from __future__ import annotations

from collections.abc import Iterator

from dovetail.spec.revisions import Family, find_revision
from dovetail_check.exchanges import Exchange
from dovetail_check.probe_sessions import Run
from dovetail_check.rulebook import overall
from dovetail_check.verdicts import Note, absent, broken, kept, unsettled

__all__: list[str] = []

_NO_LEGACY = "the server took no offer of a revision with a handshake"


def _taken(run: Run) -> dict[str, Exchange]:
    """The handshakes that ended in the version that was offered."""
    return {
        session.revision.date: session.opening
        for session in run.sessions
        if session.revision.family is Family.LEGACY and session.opening is not None
    }


def _refused(run: Run) -> list[Exchange]:
    """Offers that the server did not take as they were."""
    return [exchange for exchange in run.survey if exchange.method == "initialize"]


def _answered_version(exchange: Exchange) -> str | None:
    version = (exchange.result or {}).get("protocolVersion")
    return version if isinstance(version, str) else None


@overall("lifecycle.version.echo")
def supported_versions_are_echoed(run: Run) -> Iterator[Note]:
    """No version that the server offers elsewhere is turned down when a client offers it."""
    taken, refused = _taken(run), _refused(run)
    for exchange in taken.values():
        yield kept(exchange)
    offered = {exchange.params.get("protocolVersion"): exchange for exchange in refused}
    for exchange in refused:
        version = _answered_version(exchange)
        turned_down = offered.get(version) if version is not None else None
        if turned_down is not None and _answered_version(turned_down) != version:
            came = turned_down.describe()
            yield broken(
                turned_down, f"{version} was offered and got {came}, yet the server offers it"
            )


# lifecycle.version.counter-offer (2025-11-25 basic/lifecycle): another version that it supports;
# the same page shows an error for this case.
@overall("lifecycle.version.counter-offer")
def other_offers_get_a_version_that_works(run: Run) -> Iterator[Note]:
    """A version that the server cannot speak is answered with one that it can."""
    taken = _taken(run)
    if not taken:
        yield absent(_NO_LEGACY)
        return
    for exchange in _refused(run):
        offer = exchange.params.get("protocolVersion")
        version = _answered_version(exchange)
        if version is not None and version in taken:
            yield kept(exchange)
        elif version is not None and version == offer:
            yield broken(exchange, f"{offer} never was, yet the server answers with it")
        elif version is not None and find_revision(version) is None:
            yield unsettled(exchange, f"{offer} got {version}, which is not known here")
        elif version is not None:
            yield broken(exchange, f"{offer} got {version}, which the server does not take")
        elif exchange.result is not None:
            yield broken(exchange, f"{offer} got a result without a version")
        elif exchange.error is not None or (exchange.status or 0) >= 400:
            text = f"{offer} got {exchange.describe()}. A version that the server supports is due"
            yield unsettled(exchange, f"{text}, but the page also shows an error for this case")
        else:
            yield broken(exchange, f"{offer} got {exchange.describe()}; a version was due")


@overall("lifecycle.version.latest")
def the_counter_offer_is_the_latest(run: Run) -> Iterator[Note]:
    """The newest of those that the server speaks with a handshake."""
    taken = _taken(run)
    for exchange in _refused(run):
        version = _answered_version(exchange)
        if version not in taken:
            continue
        if version == max(taken):
            yield kept(exchange)
        else:
            offer = exchange.params.get("protocolVersion")
            yield broken(exchange, f"{offer} got {version}; the latest is {max(taken)}")


@overall("lifecycle.errors.prepared")
def strange_versions_do_no_harm(run: Run) -> Iterator[Note]:
    """Whatever is offered, there is an answer."""
    if not _taken(run):
        yield absent(_NO_LEGACY)
        return
    for exchange in _refused(run):
        offer = exchange.params.get("protocolVersion")
        if exchange.answer is not None or exchange.status is not None:
            yield kept(exchange)
        else:
            yield broken(exchange, f"{offer} got {exchange.describe()}; an answer was due")
