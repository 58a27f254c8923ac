"""basic/transports: session management and the version header; best practices: sessions."""

from __future__ import annotations

import math
import re
import string
from collections.abc import Iterator
from itertools import takewhile

from dovetail_check.exchanges import Exchange
from dovetail_check.http_traffic import is_rejected
from dovetail_check.probe_sessions import ProbeSession
from dovetail_check.rulebook import rule, unjudged
from dovetail_check.verdicts import Note, ambiguous, not_applicable, satisfied, violated

__all__ = ["weakness_of"]

unjudged["http.session.assign"] = "a permission: nothing to violate"
unjudged["http.session.delete-405"] = "a permission: nothing to violate"

_VISIBLE = re.compile(r"[\x21-\x7e]+")
# Minimum entropy of a session id in bits, as OWASP recommends.
_ENOUGH_BITS = 64
# Common alphabets of ids, smallest first; otherwise all visible ASCII characters.
_ALPHABETS = tuple(
    frozenset(letters)
    for letters in (
        string.digits,
        string.digits + "abcdef",
        string.digits + "ABCDEF",
        string.digits + "abcdef-",
        string.digits + "ABCDEF-",
        string.ascii_letters + string.digits + "-_",
    )
)
_VISIBLE_LETTERS = 94
_NONE_GIVEN = "the server issues no session ids"


def _given(session: ProbeSession) -> list[tuple[Exchange, str]]:
    """Every session id that came with an initialize result."""
    return [
        (exchange, id)
        for exchange in session.sent("initialize")
        if exchange.result is not None and (id := exchange.header("mcp-session-id")) is not None
    ]


def _why_none(session: ProbeSession) -> Iterator[Note]:
    if session.opening is not None and not _given(session):
        yield not_applicable(_NONE_GIVEN)


@rule("http.session.ascii")
def session_ids_are_visible_ascii(session: ProbeSession) -> Iterator[Note]:
    """One or more characters from 0x21 to 0x7E."""
    for exchange, id in _given(session):
        if _VISIBLE.fullmatch(id):
            yield satisfied(exchange)
        else:
            yield violated(exchange, f"the session id {id!r} has characters outside visible ASCII")
    yield from _why_none(session)


@rule("http.session.random", reads=("http-sessions",))
def session_ids_cannot_be_guessed(session: ProbeSession) -> Iterator[Note]:
    """The ids differ and have enough random characters."""
    yield from _judge_ids(session)


@rule("sbp.session-nondeterministic", reads=("http-sessions",))
def session_ids_are_nondeterministic(session: ProbeSession) -> Iterator[Note]:
    """A MUST in the best practices, a SHOULD in the transport."""
    yield from _judge_ids(session)


def _judge_ids(session: ProbeSession) -> Iterator[Note]:
    given = _given(session)
    if len(given) < 2:
        yield from _why_none(session)
        return
    weakness = weakness_of([id for _, id in given])
    if weakness is None:
        yield satisfied(given[-1][0], f"{len(given)} ids compared")
    else:
        yield violated(given[-1][0], weakness)


def weakness_of(ids: list[str]) -> str | None:
    """Why the next id is guessable, judged by the characters that change; None if it is not."""
    if len(set(ids)) < len(ids):
        return f"{len(ids)} sessions have {len(set(ids))} different ids; each must have its own"
    front = _common_prefix(ids)
    back = _common_prefix([id[front:][::-1] for id in ids])
    parts = [id[front : len(id) - back] for id in ids]
    length = max(map(len, parts))
    used = set("".join(parts))
    size = next((len(letters) for letters in _ALPHABETS if used <= letters), _VISIBLE_LETTERS)
    bits = int(length * math.log2(size))
    if bits < _ENOUGH_BITS:
        text = f"only {length} characters change from id to id, {bits} bits at most"
        return f"{text}; expected {_ENOUGH_BITS}"
    return None


def _common_prefix(texts: list[str]) -> int:
    """The length of the common prefix."""
    columns = zip(*texts, strict=False)
    return sum(1 for _ in takewhile(lambda column: len(set(column)) == 1, columns))


@rule("http.session.missing-400", reads=("http-sessions",))
def a_missing_session_id_gets_400(session: ProbeSession) -> Iterator[Note]:
    """If sessions are required, a request without a session id gets 400."""
    for exchange in session.tagged("http-sessions/missing"):
        if exchange.result is not None:
            text = "allowed if nothing depends on the session, such as state or permissions"
            yield ambiguous(
                exchange,
                f"the server issues session ids, but accepts a request without one: {text}; "
                "otherwise reject it with 400",
            )
        elif exchange.status == 400:
            yield satisfied(exchange)
        elif exchange.status not in (401, 403, None):
            what = exchange.describe()
            yield violated(exchange, f"a request without its session id got {what}; expected 400")
    yield from _why_none(session)


@rule("http.session.ended-404", reads=("http-sessions",))
def an_ended_session_gets_404(session: ProbeSession) -> Iterator[Note]:
    """A request in a session that DELETE ended gets 404."""
    deletions = session.tagged("http-sessions/delete")
    deleted = [one for one in deletions if one.status is not None and not is_rejected(one)]
    for exchange in session.tagged("http-sessions/ended") if deleted else ():
        if exchange.status == 404:
            yield satisfied(exchange)
        elif exchange.status is not None:
            what = exchange.describe()
            yield violated(exchange, f"a request in an ended session got {what}; expected 404")
    for exchange in session.tagged("http-sessions/fake"):
        if exchange.result is not None:
            text = "the specification requires 404 only for ended sessions"
            yield ambiguous(exchange, f"an unknown session id is accepted; {text}")
    if deletions and not deleted:
        yield not_applicable("the server does not let clients end sessions")
    yield from _why_none(session)


@rule("http.version-header.default", reads=("http-version-header",))
def a_missing_version_is_accepted(session: ProbeSession) -> Iterator[Note]:
    """A request without the version header is accepted."""
    for exchange in session.tagged("http-version-header/absent"):
        if is_rejected(exchange):
            what = exchange.describe()
            text = "expected the session's version or the oldest as default"
            yield violated(exchange, f"a request without MCP-Protocol-Version got {what}; {text}")
        elif exchange.answer is not None:
            yield satisfied(exchange)


@rule("http.version-header.invalid-400", reads=("http-version-header",))
def an_invalid_version_gets_400(session: ProbeSession) -> Iterator[Note]:
    """An invalid or unsupported version gets 400."""
    for exchange in session.tagged("http-version-header/invalid"):
        version = exchange.sent.header("mcp-protocol-version")
        if exchange.status == 400:
            yield satisfied(exchange)
        elif exchange.status is not None:
            what = exchange.describe()
            yield violated(exchange, f"MCP-Protocol-Version {version!r} got {what}; expected 400")
