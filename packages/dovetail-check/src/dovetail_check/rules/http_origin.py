"""basic/transports, security of both HTTP transports: Origin, bind address, authentication."""

from __future__ import annotations

from collections.abc import Iterator

from dovetail_check.auth_traffic import has_credentials
from dovetail_check.exchanges import Exchange
from dovetail_check.probe_sessions import ProbeSession
from dovetail_check.rulebook import rule
from dovetail_check.safety import is_loopback
from dovetail_check.verdicts import Note, ambiguous, not_applicable, satisfied, violated

__all__: list[str] = []

_NO_ORIGIN = "null"


def _is_served(exchange: Exchange) -> bool:
    is_open = exchange.sent.method == "GET" and exchange.status == 200
    return exchange.result is not None or is_open


def _is_local(exchange: Exchange) -> bool:
    return is_loopback(exchange.sent.url or "")


def _judge_origins(session: ProbeSession) -> Iterator[Note]:
    for exchange in session.tagged("http-origin"):
        origin = exchange.sent.header("origin")
        if exchange.status is None:
            continue
        if not _is_served(exchange):
            yield satisfied(exchange)
        elif origin == _NO_ORIGIN:
            text = "'null' is foreign unless the server allows it on purpose"
            yield ambiguous(exchange, f"a request with Origin {origin!r} is accepted; {text}")
        elif not _is_local(exchange):
            text = "a public server may allow every origin"
            yield ambiguous(exchange, f"a request with Origin {origin!r} is accepted; {text}")
        else:
            host = exchange.sent.header("host")
            given = f"Origin {origin!r} and Host {host!r}"
            yield violated(exchange, f"a request with {given} is accepted; expected 403")


@rule("http.origin.validate", reads=("http-origin",))
def foreign_origins_are_rejected(session: ProbeSession) -> Iterator[Note]:
    """A server on this machine rejects requests with a foreign Origin."""
    yield from _judge_origins(session)


@rule("sse.origin", reads=("http-origin",))
def foreign_origins_are_rejected_by_the_old_transport(session: ProbeSession) -> Iterator[Note]:
    """The same for both endpoints of HTTP+SSE."""
    yield from _judge_origins(session)


@rule("http.origin.403", reads=("http-origin",))
def a_foreign_origin_gets_403(session: ProbeSession) -> Iterator[Note]:
    """The rejection has status 403."""
    for exchange in session.tagged("http-origin/foreign"):
        if exchange.status == 403:
            yield satisfied(exchange)
        elif exchange.status in (401, None) or (_is_served(exchange) and not _is_local(exchange)):
            # Credentials may be checked first, and a public server may allow any origin.
            continue
        else:
            origin = exchange.sent.header("origin")
            yield violated(exchange, f"Origin {origin!r} got {exchange.describe()}; expected 403")


@rule("http.origin.403-body", reads=("http-origin",))
def the_body_of_a_403_has_no_id(session: ProbeSession) -> Iterator[Note]:
    """If the body is a JSON-RPC error, it has no id."""
    for exchange in session.tagged("http-origin"):
        if exchange.status == 403 and exchange.answer is not None:
            id = exchange.answer.message.get("id")
            if id is None:
                yield satisfied(exchange)
            else:
                yield violated(exchange, f"the error has the id {id!r}; expected no id")


def _judge_reach(session: ProbeSession) -> Iterator[Note]:
    for exchange in session.tagged("http-reach/other"):
        if exchange.status is not None:
            text = "expected the server to listen on loopback only"
            yield violated(exchange, f"{exchange.sent.url} answers too; {text}")
        elif exchange.failure is not None:
            yield satisfied(exchange)
    opening = session.opening
    if opening is not None and not _is_local(opening):
        yield not_applicable("the server is not on this machine")


@rule("http.bind-localhost", reads=("http-reach",))
def a_local_server_binds_to_loopback(session: ProbeSession) -> Iterator[Note]:
    """It does not answer at other addresses of this machine."""
    yield from _judge_reach(session)


@rule("sse.bind-localhost", reads=("http-reach",))
def a_local_server_of_the_old_transport_binds_to_loopback(session: ProbeSession) -> Iterator[Note]:
    """It does not answer at other addresses of this machine."""
    yield from _judge_reach(session)


def _judge_anonymous(session: ProbeSession) -> Iterator[Note]:
    opening = session.opening
    if opening is None:
        return
    if _is_local(opening):
        yield not_applicable("the server is on this machine")
    elif not has_credentials(opening.sent):
        yield violated(
            opening, "requests without credentials are accepted; expected authentication"
        )
    else:
        yield satisfied(opening)


@rule("http.authenticate")
def clients_are_authenticated(session: ProbeSession) -> Iterator[Note]:
    """A server on the network requires credentials."""
    yield from _judge_anonymous(session)


@rule("sse.authenticate")
def clients_of_the_old_transport_are_authenticated(session: ProbeSession) -> Iterator[Note]:
    """A server on the network requires credentials."""
    yield from _judge_anonymous(session)


@rule("sbp.local-restrict")
def a_local_server_is_restricted(session: ProbeSession) -> Iterator[Note]:
    """It uses stdio, or HTTP with a token. Other restrictions are not visible to the checker."""
    opening = session.opening
    if opening is None:
        return
    if session.transport == "stdio":
        yield satisfied(opening, "stdio: only the client that started the server can use it")
    elif not _is_local(opening):
        yield not_applicable("the server is not on this machine")
    elif not has_credentials(opening.sent):
        text = "every local program can use it, which is common during development"
        yield ambiguous(opening, f"a local HTTP server requires no token: {text}")
    else:
        yield satisfied(opening)
