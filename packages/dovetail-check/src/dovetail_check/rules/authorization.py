"""basic/authorization: which requests are rejected, the status, and the challenge."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from itertools import pairwise

from dovetail_check.auth_traffic import (
    has_credentials,
    is_accepted,
    lacks_bearer,
    lacks_oauth,
    rejections,
    resource_document,
    unauthorized_requests,
)
from dovetail_check.challenges import Challenge, read_challenges
from dovetail_check.exchanges import Exchange
from dovetail_check.probe_sessions import ProbeSession
from dovetail_check.rulebook import Judge, rule, unjudged
from dovetail_check.verdicts import Note, ambiguous, not_applicable, satisfied, violated

__all__ = ["guarded"]

unjudged["auth.optional"] = "a permission: nothing to violate"
unjudged["auth.challenge.scope-relation"] = "a permission: nothing to violate"
unjudged["auth.scope.single-challenge"] = (
    "only the server and its authorization server know which scopes an operation needs"
)
unjudged["auth.scope.consistent"] = (
    "needs tokens with different scopes, and operations that require more than each of them"
)
unjudged["auth.scope.hierarchy"] = "only the server knows which scope implies which"

_OFFLINE = "offline_access"
_INSUFFICIENT = "insufficient_scope"


def guarded(
    id: str,
    *,
    reads: tuple[str, ...] = ("authorization",),
    unless: Callable[[ProbeSession], str] = lambda _: "",
) -> Callable[[Judge], Judge]:
    """Register a rule for servers that require credentials; it does not apply to others.

    `unless` returns why it does not apply to a guarded server either.
    """

    def register(judge: Judge) -> Judge:
        def judge_guarded(session: ProbeSession) -> Iterator[Note]:
            if _is_open(session):
                yield not_applicable("requests without credentials are accepted")
            elif reason := unless(session):
                yield not_applicable(reason)
            else:
                yield from judge(session)

        rule(id, reads=reads, pre_auth=True)(judge_guarded)
        return judge

    return register


def _is_open(session: ProbeSession) -> bool:
    alone = unauthorized_requests(session, "none")
    if alone:
        return is_accepted(alone[0])
    # Nothing was sent without credentials, unless the whole session has none.
    opening = session.opening
    return opening is not None and not has_credentials(opening.sent)


@guarded("auth.401-when-needed")
def requests_without_token_get_401(session: ProbeSession) -> Iterator[Note]:
    """A request without the required token gets status 401."""
    opening = session.opening
    for exchange in unauthorized_requests(session, "none", "again"):
        if exchange.status == 401:
            yield satisfied(exchange)
        elif opening is not None and opening.sent.header("authorization") is not None:
            what = f"a request without a token got {exchange.describe()}"
            yield violated(exchange, f"{what} but succeeds with one; expected 401")
        else:
            what = "a request without the configured headers"
            text = "expected 401 if one of them is a credential"
            yield ambiguous(exchange, f"{what} got {exchange.describe()}; {text}")


# Allowed statuses for each variant, and a description for messages.
_STATUSES = {
    "token": ((401,), "401 for an invalid token"),
    "malformed": ((400, 401), "400 or 401 for a malformed header"),
}


@guarded("auth.status-codes", unless=lacks_bearer)
def rejections_have_the_right_status(session: ProbeSession) -> Iterator[Note]:
    """401 for invalid tokens, 400 or 401 for malformed headers."""
    for variant, (expected, words) in _STATUSES.items():
        for exchange in unauthorized_requests(session, variant):
            if exchange.status in expected:
                yield satisfied(exchange)
            else:
                name = exchange.tag.partition("/")[2]
                yield violated(exchange, f"{name} got {exchange.describe()}; expected {words}")


@guarded("auth.challenge.scope", unless=lacks_oauth)
def the_challenge_names_scopes(session: ProbeSession) -> Iterator[Note]:
    """The 401 names the scopes that a client should request."""
    document = resource_document(session)
    has_scopes = document is not None and bool(document.members.get("scopes_supported"))
    for exchange, challenges in rejections(session):
        got = f"WWW-Authenticate is {exchange.header('www-authenticate')!r}"
        if any(challenge.scopes for challenge in challenges):
            yield satisfied(exchange)
        elif has_scopes:
            yield violated(
                exchange, f"{got}, but the metadata has scopes_supported; expected a scope"
            )
        else:
            text = "expected a scope unless the server has none; its metadata names none either"
            yield ambiguous(exchange, f"{got}; {text}")


@guarded("auth.challenge.scope-consistent")
def the_same_request_gets_the_same_scopes(session: ProbeSession) -> Iterator[Note]:
    """The challenges for two identical requests name the same scopes."""
    seen_scopes = [(exchange, _scopes(challenges)) for exchange, challenges in rejections(session)]
    for (_, before), (exchange, after) in pairwise(seen_scopes):
        if before == after:
            yield satisfied(exchange)
        else:
            text = f"a request got the scopes {sorted(before)}, then {sorted(after)}"
            yield violated(exchange, f"{text}; expected the same scopes both times")


def _scopes(challenges: list[Challenge]) -> frozenset[str]:
    return frozenset(scope for challenge in challenges for scope in challenge.scopes)


@guarded("auth.no-offline-access")
def refresh_tokens_are_not_asked_for(session: ProbeSession) -> Iterator[Note]:
    """offline_access concerns only the client and the authorization server."""
    for exchange, challenges in rejections(session):
        if _OFFLINE in _scopes(challenges):
            yield violated(exchange, f"the challenge names the scope {_OFFLINE}; it should not")
        else:
            yield satisfied(exchange)
    document = resource_document(session)
    if document is not None:
        supported = document.members.get("scopes_supported")
        if isinstance(supported, list) and _OFFLINE in supported:
            text = f"scopes_supported of {document.url} has {_OFFLINE}; it should not"
            yield violated(document.exchange, text)
        else:
            yield satisfied(document.exchange)


# -- insufficient scope: observed only if the configured token lacks a scope -----------------------


def _insufficient_scope(session: ProbeSession) -> Iterator[tuple[Exchange, Challenge]]:
    for exchange in session.exchanges:
        for challenge in read_challenges(exchange.header("www-authenticate")):
            if challenge.params.get("error") == _INSUFFICIENT:
                yield exchange, challenge


@guarded("auth.scope.insufficient-403", reads=())
def insufficient_scope_gets_403(session: ProbeSession) -> Iterator[Note]:
    """insufficient_scope comes with status 403."""
    for exchange, _ in _insufficient_scope(session):
        if exchange.status == 403:
            yield satisfied(exchange)
        else:
            yield violated(
                exchange, f"{_INSUFFICIENT} came with status {exchange.status}; expected 403"
            )


@guarded("auth.scope.challenge-error", reads=())
def the_challenge_of_a_403_is_complete(session: ProbeSession) -> Iterator[Note]:
    """It has scope and resource_metadata."""
    for exchange, challenge in _insufficient_scope(session):
        missing = {"scope", "resource_metadata"} - challenge.params.keys()
        if missing:
            names = ", ".join(sorted(missing))
            yield violated(
                exchange,
                f"the challenge lacks {names}; expected scope and resource_metadata",
            )
        else:
            yield satisfied(exchange)


@guarded("auth.scope.challenge-needed", reads=())
def the_challenge_of_a_403_names_scopes(session: ProbeSession) -> Iterator[Note]:
    """It names the scopes that the operation needs."""
    for exchange, challenge in _insufficient_scope(session):
        if challenge.scopes:
            yield satisfied(exchange)
        else:
            yield violated(
                exchange,
                f"the challenge {_INSUFFICIENT} names no scope; expected the needed scopes",
            )
