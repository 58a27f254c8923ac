"""basic/authorization: metadata of the authorization servers (RFC 8414, OpenID Connect)."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from dovetail_check.auth_traffic import (
    Document,
    authorization_servers_in,
    endpoint_url,
    is_inconclusive,
    resource_document,
    server_documents,
)
from dovetail_check.exchanges import Exchange
from dovetail_check.probe_sessions import ProbeSession
from dovetail_check.rulebook import unjudged
from dovetail_check.rules.authorization import guarded
from dovetail_check.safety import is_loopback
from dovetail_check.verdicts import Note, ambiguous, satisfied, violated
from dovetail_check.well_known import is_same_origin, may_fetch, server_metadata_urls

__all__: list[str] = []

unjudged["auth.as.dcr"] = "a permission: nothing to violate"

_OPENID = "openid-configuration"
# Metadata members that hold URLs: those with this suffix, and these.
_ENDPOINT = "_endpoint"
_OTHER_URLS = ("issuer", "jwks_uri")


class _Server:
    """An authorization server that the resource names, and its metadata requests."""

    def __init__(self, session: ProbeSession, issuer: str) -> None:
        self.issuer = issuer
        urls = server_metadata_urls(issuer)
        self.tried = [
            exchange
            for exchange in session.tagged("authorization/server-metadata")
            if exchange.sent.url in urls
        ]
        self.documents = [one for one in server_documents(session) if one.url in urls]


def _servers(session: ProbeSession) -> list[_Server]:
    """The authorization servers whose metadata was requested."""
    audited, document = endpoint_url(session), resource_document(session)
    named = [] if document is None else authorization_servers_in(document.exchange)
    allowed = [issuer for issuer in dict.fromkeys(named) if may_fetch(issuer, audited)]
    servers = [_Server(session, issuer) for issuer in allowed]
    return [server for server in servers if server.tried]


@guarded("auth.as.metadata")
def authorization_servers_have_metadata(session: ProbeSession) -> Iterator[Note]:
    """RFC 8414, or OpenID Connect if the revision allows it."""
    for server in _servers(session):
        if not server.documents:
            yield _judge_missing(server)
            continue
        document = server.documents[0]
        if session.revision.openid_discovery or _OPENID not in document.url:
            yield satisfied(document.exchange)
        else:
            text = "expected RFC 8414, whose section 5 accepts the OpenID Connect document"
            yield ambiguous(document.exchange, f"{server.issuer!r} has only {document.url}; {text}")


def _judge_missing(server: _Server) -> Note:
    places = ", ".join(f"{one.sent.url} ({one.describe()})" for one in server.tried)
    if any(map(is_inconclusive, server.tried)):
        return ambiguous(
            server.tried[0], f"the metadata of {server.issuer!r} could not be fetched: {places}"
        )
    return violated(server.tried[0], f"{server.issuer!r} has no metadata at {places}")


@guarded("auth.as.pkce-advertised")
def pkce_is_advertised(session: ProbeSession) -> Iterator[Note]:
    """code_challenge_methods_supported contains S256; clients must stop if it is missing."""
    for document in server_documents(session):
        methods = document.members.get("code_challenge_methods_supported")
        if isinstance(methods, list) and "S256" in methods:
            yield satisfied(document.exchange)
        else:
            text = f"code_challenge_methods_supported of {document.url} is {methods!r}"
            yield violated(document.exchange, f"{text}; expected a list with S256")


def _judge_flag(session: ProbeSession, name: str) -> Iterator[Note]:
    for document in server_documents(session):
        value = document.members.get(name)
        if value is True:
            yield satisfied(document.exchange)
        else:
            yield violated(
                document.exchange, f"{name} of {document.url} is {value!r}; expected true"
            )


@guarded("auth.as.cimd")
def client_id_metadata_documents_are_supported(session: ProbeSession) -> Iterator[Note]:
    """The metadata has client_id_metadata_document_supported."""
    yield from _judge_flag(session, "client_id_metadata_document_supported")


@guarded("auth.as.iss")
def responses_name_their_issuer(session: ProbeSession) -> Iterator[Note]:
    """The metadata has authorization_response_iss_parameter_supported (RFC 9207)."""
    yield from _judge_flag(session, "authorization_response_iss_parameter_supported")


@guarded("auth.as.issuer-matches")
def the_issuer_matches(session: ProbeSession) -> Iterator[Note]:
    """An exact match: clients must not use the metadata otherwise."""
    for server in _servers(session):
        for document in server.documents:
            issuer = document.members.get("issuer")
            if issuer == server.issuer:
                yield satisfied(document.exchange)
            else:
                text = f"issuer of {document.url} is {issuer!r}"
                yield violated(document.exchange, f"{text}; expected {server.issuer!r}")


@guarded("auth.https")
def endpoints_are_https(session: ProbeSession) -> Iterator[Note]:
    """Every URL of an authorization server is https."""
    resource = resource_document(session)
    if resource is not None:
        for issuer in authorization_servers_in(resource.exchange):
            yield _judge_scheme(resource.exchange, "authorization_servers", issuer)
    for document in server_documents(session):
        for name, url in _urls(document):
            yield _judge_scheme(document.exchange, name, url)


def _urls(document: Document) -> Iterator[tuple[str, Any]]:
    for name, value in document.members.items():
        if name.endswith(_ENDPOINT) or name in _OTHER_URLS:
            yield name, value


def _judge_scheme(exchange: Exchange, name: str, url: Any) -> Note:
    if not isinstance(url, str) or not is_same_origin(url, url):
        return violated(exchange, f"{name} is {url!r}; expected an https URL")
    if url.startswith("https:"):
        return satisfied(exchange)
    if is_loopback(url):
        text = "the specification allows http on loopback only for redirect URIs"
        return ambiguous(exchange, f"{name} is {url!r}: {text}")
    return violated(exchange, f"{name} is {url!r}; expected https")
