"""basic/authorization: who is refused, with which status, and what the challenge says."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from itertools import pairwise

from dovetail_check.challenges import Challenge, read_challenges
from dovetail_check.doors import (
    is_let_in,
    refusals,
    resource_document,
    strangers,
)
from dovetail_check.exchanges import Exchange
from dovetail_check.probe_sessions import ProbeSession
from dovetail_check.rulebook import Judge, rule, unjudged
from dovetail_check.verdicts import Note, absent, broken, kept, unsettled

__all__ = ["guarded"]

unjudged["auth.optional"] = "a permission: nothing to break"
unjudged["auth.challenge.scope-relation"] = "a permission: nothing to break"
unjudged["auth.scope.single-challenge"] = (
    "which scopes an operation needs is known to the server and its authorization server alone"
)
unjudged["auth.scope.consistent"] = (
    "it takes tokens of several scopes, and operations that each of them is too small for"
)
unjudged["auth.scope.hierarchy"] = "which scope implies which is known to the server alone"

_OFFLINE = "offline_access"
_TOO_SMALL = "insufficient_scope"


def guarded(id: str, *, reads: tuple[str, ...] = ("authorization",)) -> Callable[[Judge], Judge]:
    """Register a rule for servers that want credentials: for others it does not apply."""

    def register(judge: Judge) -> Judge:
        def judge_the_door(seen: ProbeSession) -> Iterator[Note]:
            if _is_open(seen):
                yield absent("requests without credentials are served")
            else:
                yield from judge(seen)

        rule(id, reads=reads, at_door=True)(judge_the_door)
        return judge

    return register


def _is_open(seen: ProbeSession) -> bool:
    alone = strangers(seen, "none")
    if alone:
        return is_let_in(alone[0])
    # Nobody came without credentials, unless the conversation itself is one without.
    opening = seen.opening
    return opening is not None and opening.sent.header("authorization") is None


@guarded("auth.401-when-needed")
def strangers_get_401(seen: ProbeSession) -> Iterator[Note]:
    """The status of a request that should have had a token."""
    opening = seen.opening
    for exchange in strangers(seen, "none", "again"):
        if exchange.status == 401:
            yield kept(exchange)
        elif opening is not None and opening.sent.header("authorization") is not None:
            what = f"a request without a token got {exchange.describe()}"
            yield broken(exchange, f"{what}, and is served with one; 401 was due")
        else:
            what = "without the headers that were given"
            text = "401 is due if one of them is a credential"
            yield unsettled(exchange, f"{what} a request got {exchange.describe()}; {text}")


# What may come for each, and in words.
_STATUSES = {
    "token": ((401,), "401 for a token that is none"),
    "malformed": ((400, 401), "400 for a header that cannot be read, or 401"),
}


@guarded("auth.status-codes")
def refusals_have_their_status(seen: ProbeSession) -> Iterator[Note]:
    """401 for tokens that are none, 400 or 401 for headers that cannot be read."""
    for variant, (due, words) in _STATUSES.items():
        for exchange in strangers(seen, variant):
            if exchange.status in due:
                yield kept(exchange)
            else:
                name = exchange.tag.partition("/")[2]
                yield broken(exchange, f"{name} got {exchange.describe()}; {words} was due")


@guarded("auth.challenge.scope")
def the_challenge_names_scopes(seen: ProbeSession) -> Iterator[Note]:
    """What a client should ask for stands in the 401."""
    document = resource_document(seen)
    has_scopes = document is not None and bool(document.members.get("scopes_supported"))
    for exchange, challenges in refusals(seen):
        came = f"WWW-Authenticate is {exchange.header('www-authenticate')!r}"
        if any(challenge.scopes for challenge in challenges):
            yield kept(exchange)
        elif has_scopes:
            yield broken(exchange, f"{came}, the metadata has scopes_supported; a scope was due")
        else:
            text = "a scope was due, unless the server has none: its metadata names none either"
            yield unsettled(exchange, f"{came}; {text}")


@guarded("auth.challenge.scope-consistent")
def the_same_request_gets_the_same_scopes(seen: ProbeSession) -> Iterator[Note]:
    """The challenges of two like requests name the same scopes."""
    seen_scopes = [(exchange, _scopes(challenges)) for exchange, challenges in refusals(seen)]
    for (_, before), (exchange, after) in pairwise(seen_scopes):
        if before == after:
            yield kept(exchange)
        else:
            text = f"a request got the scopes {sorted(before)}, the same request {sorted(after)}"
            yield broken(exchange, f"{text}; the same ones were due")


def _scopes(challenges: list[Challenge]) -> frozenset[str]:
    return frozenset(scope for challenge in challenges for scope in challenge.scopes)


@guarded("auth.no-offline-access")
def refresh_tokens_are_not_asked_for(seen: ProbeSession) -> Iterator[Note]:
    """offline_access is between the client and the authorization server."""
    for exchange, challenges in refusals(seen):
        if _OFFLINE in _scopes(challenges):
            yield broken(exchange, f"the challenge names the scope {_OFFLINE}; it was not to")
        else:
            yield kept(exchange)
    document = resource_document(seen)
    if document is not None:
        supported = document.members.get("scopes_supported")
        if isinstance(supported, list) and _OFFLINE in supported:
            text = f"scopes_supported of {document.url} has {_OFFLINE}; it was not to"
            yield broken(document.exchange, text)
        else:
            yield kept(document.exchange)


# -- too small a scope: seen only where that of the given token is ---------------------------------


def _too_small(seen: ProbeSession) -> Iterator[tuple[Exchange, Challenge]]:
    for exchange in seen.exchanges:
        for challenge in read_challenges(exchange.header("www-authenticate")):
            if challenge.params.get("error") == _TOO_SMALL:
                yield exchange, challenge


@guarded("auth.scope.insufficient-403", reads=())
def too_small_a_scope_gets_403(seen: ProbeSession) -> Iterator[Note]:
    """The status that goes with insufficient_scope."""
    for exchange, _ in _too_small(seen):
        if exchange.status == 403:
            yield kept(exchange)
        else:
            yield broken(exchange, f"{_TOO_SMALL} came with status {exchange.status}; 403 was due")


@guarded("auth.scope.challenge-error", reads=())
def the_challenge_of_a_403_is_whole(seen: ProbeSession) -> Iterator[Note]:
    """It has a scope and says where the metadata is."""
    for exchange, challenge in _too_small(seen):
        missing = {"scope", "resource_metadata"} - challenge.params.keys()
        if missing:
            names = ", ".join(sorted(missing))
            yield broken(exchange, f"the challenge {_TOO_SMALL} lacks {names}; both were due")
        else:
            yield kept(exchange)


@guarded("auth.scope.challenge-needed", reads=())
def the_challenge_of_a_403_names_scopes(seen: ProbeSession) -> Iterator[Note]:
    """The scopes that the operation needs."""
    for exchange, challenge in _too_small(seen):
        if challenge.scopes:
            yield kept(exchange)
        else:
            yield broken(
                exchange, f"the challenge {_TOO_SMALL} names no scope; those needed were due"
            )
