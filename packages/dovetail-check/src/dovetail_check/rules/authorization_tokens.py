"""basic/authorization, access token usage; security best practices, sessions and tokens."""

from __future__ import annotations

from collections.abc import Iterator

from dovetail_check.auth_traffic import is_accepted, lacks_bearer, unauthorized_requests
from dovetail_check.challenges import read_challenges
from dovetail_check.exchanges import Exchange
from dovetail_check.probe_sessions import ProbeSession
from dovetail_check.rulebook import unjudged
from dovetail_check.rules.authorization import guarded
from dovetail_check.verdicts import Note, ambiguous, not_applicable, satisfied, violated

__all__: list[str] = []

_OTHER_AUDIENCE = "needs a valid token that the same authorization server issued for another server"
unjudged["auth.token.audience"] = _OTHER_AUDIENCE
unjudged["auth.token.own-only"] = _OTHER_AUDIENCE
unjudged["sbp.token-not-issued-for-server"] = _OTHER_AUDIENCE
unjudged["sbp.session-user-bound"] = "needs the tokens of two users"

# Requests without credentials in a session that was opened with credentials.
_LATER = ("session", "notification", "get", "later")
_INVALID = "invalid_token"


@guarded("auth.token.validate")
def invalid_tokens_are_rejected(session: ProbeSession) -> Iterator[Note]:
    """An opaque string and an unsigned or forged JWT are not accepted."""
    for exchange in unauthorized_requests(session, "token"):
        if is_accepted(exchange):
            yield violated(
                exchange, f"an invalid token ({_kind(exchange)}) is accepted; expected 401"
            )
        else:
            yield satisfied(exchange)


@guarded("auth.token.invalid-401", unless=lacks_bearer)
def invalid_tokens_get_401(session: ProbeSession) -> Iterator[Note]:
    """The rejection has status 401."""
    for exchange in unauthorized_requests(session, "token"):
        if exchange.status == 401:
            yield satisfied(exchange)
        else:
            what = f"an invalid token ({_kind(exchange)}) got {exchange.describe()}"
            yield violated(exchange, f"{what}; expected 401")


@guarded("auth.token.error-format", unless=lacks_bearer)
def the_challenge_says_what_was_wrong(session: ProbeSession) -> Iterator[Note]:
    """WWW-Authenticate with the scheme Bearer, and error="invalid_token" (OAuth 2.1, 5.3)."""
    for exchange in unauthorized_requests(session, "token"):
        if exchange.status == 401:
            yield _judge_challenge(exchange)


def _judge_challenge(exchange: Exchange) -> Note:
    header = exchange.header("www-authenticate")
    challenges = read_challenges(header)
    got = f"an invalid token ({_kind(exchange)}) got WWW-Authenticate {header!r}"
    if not challenges:
        return violated(exchange, f"{got}; expected a challenge with the scheme Bearer")
    bearer = [challenge for challenge in challenges if challenge.scheme == "bearer"]
    if not bearer:
        return ambiguous(exchange, f"{got}; expected Bearer unless tokens have another type")
    errors = [challenge.params["error"] for challenge in bearer if "error" in challenge.params]
    if not errors:
        text = f'error="{_INVALID}" is only a SHOULD'
        return ambiguous(exchange, f"{got}; {text}")
    if _INVALID in errors:
        return satisfied(exchange)
    return violated(exchange, f'{got}; expected error="{_INVALID}"')


@guarded("auth.token.validate-first")
def rejected_requests_have_no_effect(seen: ProbeSession) -> Iterator[Note]:
    """A rejection has no result and opens no session."""
    for exchange in unauthorized_requests(seen, "none", "again", "token", "malformed", *_LATER):
        if exchange.status is None or exchange.status < 400:
            continue
        session = exchange.header("mcp-session-id")
        if exchange.result is not None:
            yield violated(exchange, f"status {exchange.status} with a result; expected no result")
        elif session is not None and exchange.method == "initialize":
            text = f"status {exchange.status} with a session id"
            yield violated(exchange, f"{text}; expected no session")
        else:
            yield satisfied(exchange)


def _judge_later(session: ProbeSession) -> Iterator[Note]:
    for exchange in unauthorized_requests(session, *_LATER):
        if is_accepted(exchange):
            what = exchange.method or exchange.sent.method
            text = f"{what} without a token is accepted in a session opened with one"
            yield violated(exchange, f"{text}; expected 401")
        else:
            yield satisfied(exchange)


@guarded("auth.token.every-request")
def every_request_needs_a_token(session: ProbeSession) -> Iterator[Note]:
    """Also requests, notifications and streams in a session opened with a token."""
    yield from _judge_later(session)


@guarded("sbp.verify-all-inbound")
def every_request_is_verified(session: ProbeSession) -> Iterator[Note]:
    """The same requirement, from the security best practices."""
    yield from _judge_later(session)


@guarded("sbp.session-not-auth")
def a_session_is_no_credential(session: ProbeSession) -> Iterator[Note]:
    """A session id without a token is rejected."""
    if session.is_modern:
        yield not_applicable("this revision has no sessions")
        return
    for exchange in unauthorized_requests(session, "session"):
        if exchange.sent.header("mcp-session-id") is None:
            yield not_applicable("the server has no sessions")
        elif is_accepted(exchange):
            yield violated(exchange, "a session id without a token is accepted; expected 401")
        else:
            yield satisfied(exchange)


@guarded("auth.token.not-in-query")
def tokens_in_urls_are_rejected(session: ProbeSession) -> Iterator[Note]:
    """A token in the query string is not accepted."""
    for exchange in unauthorized_requests(session, "query"):
        if is_accepted(exchange):
            yield violated(exchange, "a token in the query string is accepted; expected 401")
        else:
            yield satisfied(exchange)


def _kind(exchange: Exchange) -> str:
    """Which kind of invalid token was sent."""
    return exchange.tag.rpartition("/")[2]
