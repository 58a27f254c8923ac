"""basic/authorization, access token usage; security best practices, sessions and tokens."""

from __future__ import annotations

from collections.abc import Iterator

from dovetail_check.challenges import read_challenges
from dovetail_check.doors import is_let_in, strangers
from dovetail_check.exchanges import Exchange
from dovetail_check.probe_sessions import ProbeSession
from dovetail_check.rulebook import unjudged
from dovetail_check.rules.authorization import guarded
from dovetail_check.verdicts import Note, absent, broken, kept, unsettled

__all__: list[str] = []

_OTHER_AUDIENCE = (
    "it takes a valid token that the same authorization server issued for another server"
)
unjudged["auth.token.audience"] = _OTHER_AUDIENCE
unjudged["auth.token.own-only"] = _OTHER_AUDIENCE
unjudged["sbp.token-not-issued-for-server"] = _OTHER_AUDIENCE
unjudged["sbp.session-user-bound"] = "it takes the tokens of two users"

# What a stranger sends in the middle of a conversation of somebody else.
_LATER = ("session", "notification", "get", "later")
_INVALID = "invalid_token"


@guarded("auth.token.validate")
def made_up_tokens_are_refused(seen: ProbeSession) -> Iterator[Note]:
    """Neither a word nor a JWT that nobody signed opens the door."""
    for exchange in strangers(seen, "token"):
        if is_let_in(exchange):
            yield broken(exchange, f"a made-up token ({_kind(exchange)}) is served; 401 was due")
        else:
            yield kept(exchange)


@guarded("auth.token.invalid-401")
def made_up_tokens_get_401(seen: ProbeSession) -> Iterator[Note]:
    """The status of that refusal."""
    for exchange in strangers(seen, "token"):
        if exchange.status == 401:
            yield kept(exchange)
        else:
            what = f"a made-up token ({_kind(exchange)}) got {exchange.describe()}"
            yield broken(exchange, f"{what}; 401 was due")


@guarded("auth.token.error-format")
def the_challenge_says_what_was_wrong(seen: ProbeSession) -> Iterator[Note]:
    """WWW-Authenticate with the scheme Bearer, and error="invalid_token" (OAuth 2.1, 5.3)."""
    for exchange in strangers(seen, "token"):
        if exchange.status == 401:
            yield _judge_challenge(exchange)


def _judge_challenge(exchange: Exchange) -> Note:
    header = exchange.header("www-authenticate")
    challenges = read_challenges(header)
    came = f"a made-up token ({_kind(exchange)}) got WWW-Authenticate {header!r}"
    if not challenges:
        return broken(exchange, f"{came}; a challenge with the scheme Bearer was due")
    bearer = [challenge for challenge in challenges if challenge.scheme == "bearer"]
    if not bearer:
        return unsettled(exchange, f"{came}; Bearer was due unless tokens are of another type")
    errors = [challenge.params["error"] for challenge in bearer if "error" in challenge.params]
    if not errors:
        text = f'error="{_INVALID}" should be there, by a sentence weaker than this one'
        return unsettled(exchange, f"{came}; {text}")
    if _INVALID in errors:
        return kept(exchange)
    return broken(exchange, f'{came}; error="{_INVALID}" was due')


@guarded("auth.token.validate-first")
def nothing_is_done_for_strangers(seen: ProbeSession) -> Iterator[Note]:
    """A refusal holds no result, and no session was opened for it."""
    for exchange in strangers(seen, "none", "again", "token", "malformed", *_LATER):
        if exchange.status is None or exchange.status < 400:
            continue
        session = exchange.header("mcp-session-id")
        if exchange.result is not None:
            yield broken(exchange, f"status {exchange.status} with a result; nothing was due")
        elif session is not None and exchange.method == "initialize":
            text = f"status {exchange.status} with the id of a session"
            yield broken(exchange, f"{text}; none was to be opened")
        else:
            yield kept(exchange)


def _judge_later(seen: ProbeSession) -> Iterator[Note]:
    for exchange in strangers(seen, *_LATER):
        if is_let_in(exchange):
            what = exchange.method or exchange.sent.method
            text = f"{what} without a token is served, because others before it had one"
            yield broken(exchange, f"{text}; 401 was due")
        else:
            yield kept(exchange)


@guarded("auth.token.every-request")
def every_request_needs_a_token(seen: ProbeSession) -> Iterator[Note]:
    """Also requests, notifications and streams of a conversation that began with one."""
    yield from _judge_later(seen)


@guarded("sbp.verify-all-inbound")
def every_request_is_verified(seen: ProbeSession) -> Iterator[Note]:
    """The same, as the practices for security say it."""
    yield from _judge_later(seen)


@guarded("sbp.session-not-auth")
def a_session_is_no_credential(seen: ProbeSession) -> Iterator[Note]:
    """The id of a session alone opens nothing."""
    if seen.is_modern:
        yield absent("there are no sessions in this revision")
        return
    for exchange in strangers(seen, "session"):
        if exchange.sent.header("mcp-session-id") is None:
            yield absent("the server has no sessions")
        elif is_let_in(exchange):
            yield broken(exchange, "the id of a session is served without a token; 401 was due")
        else:
            yield kept(exchange)


@guarded("auth.token.not-in-query")
def tokens_in_urls_are_no_use(seen: ProbeSession) -> Iterator[Note]:
    """A token in the query is not taken."""
    for exchange in strangers(seen, "query"):
        if is_let_in(exchange):
            yield broken(exchange, "a token in the query is taken; it was to be in a header")
        else:
            yield kept(exchange)


def _kind(exchange: Exchange) -> str:
    """Which of the made-up tokens it was."""
    return exchange.tag.rpartition("/")[2]
