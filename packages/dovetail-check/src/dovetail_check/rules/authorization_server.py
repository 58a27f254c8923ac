"""basic/authorization: metadata of the authorization servers (RFC 8414, OpenID Connect)."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from dovetail_check.doors import (
    Document,
    audited_url,
    is_no_answer,
    resource_document,
    server_documents,
    servers_named_in,
)
from dovetail_check.exchanges import Exchange
from dovetail_check.probe_sessions import ProbeSession
from dovetail_check.rulebook import unjudged
from dovetail_check.rules.authorization import guarded
from dovetail_check.safety import is_loopback
from dovetail_check.verdicts import Note, broken, kept, unsettled
from dovetail_check.well_known import is_same_origin, may_fetch, server_metadata_urls

__all__: list[str] = []

unjudged["auth.as.dcr"] = "a permission: nothing to break"

_OPENID = "openid-configuration"
# Members of the metadata that are endpoints are named like this, and these are places as well.
_ENDPOINT = "_endpoint"
_PLACES = ("issuer", "jwks_uri")


class _Server:
    """An authorization server that the resource names, and what its places gave."""

    def __init__(self, seen: ProbeSession, issuer: str) -> None:
        self.issuer = issuer
        places = server_metadata_urls(issuer)
        self.tried = [
            exchange
            for exchange in seen.tagged("authorization/server-metadata")
            if exchange.sent.url in places
        ]
        self.documents = [one for one in server_documents(seen) if one.url in places]


def _servers(seen: ProbeSession) -> list[_Server]:
    """Those that were asked."""
    audited, document = audited_url(seen), resource_document(seen)
    named = [] if document is None else servers_named_in(document.exchange)
    allowed = [issuer for issuer in dict.fromkeys(named) if may_fetch(issuer, audited)]
    servers = [_Server(seen, issuer) for issuer in allowed]
    return [server for server in servers if server.tried]


@guarded("auth.as.metadata")
def authorization_servers_have_metadata(seen: ProbeSession) -> Iterator[Note]:
    """RFC 8414, or OpenID Connect where the revision has it."""
    for server in _servers(seen):
        if not server.documents:
            yield _judge_nothing(server)
            continue
        document = server.documents[0]
        if seen.revision.openid_discovery or _OPENID not in document.url:
            yield kept(document.exchange)
        else:
            text = "RFC 8414 was due; its section 5 takes what OpenID Connect has for the same"
            yield unsettled(document.exchange, f"{server.issuer!r} has only {document.url}; {text}")


def _judge_nothing(server: _Server) -> Note:
    places = ", ".join(f"{one.sent.url} ({one.describe()})" for one in server.tried)
    if any(map(is_no_answer, server.tried)):
        return unsettled(server.tried[0], f"{server.issuer!r} may have metadata: {places}")
    return broken(server.tried[0], f"{server.issuer!r} has no metadata at {places}")


@guarded("auth.as.pkce-advertised")
def pkce_is_advertised(seen: ProbeSession) -> Iterator[Note]:
    """code_challenge_methods_supported is there and has S256: clients stop where it is not."""
    for document in server_documents(seen):
        methods = document.members.get("code_challenge_methods_supported")
        if isinstance(methods, list) and "S256" in methods:
            yield kept(document.exchange)
        else:
            text = f"code_challenge_methods_supported of {document.url} is {methods!r}"
            yield broken(document.exchange, f"{text}; a list with S256 was due")


def _judge_flag(seen: ProbeSession, name: str) -> Iterator[Note]:
    for document in server_documents(seen):
        value = document.members.get(name)
        if value is True:
            yield kept(document.exchange)
        else:
            yield broken(document.exchange, f"{name} of {document.url} is {value!r}; true was due")


@guarded("auth.as.cimd")
def client_id_metadata_documents_are_taken(seen: ProbeSession) -> Iterator[Note]:
    """The metadata says so."""
    yield from _judge_flag(seen, "client_id_metadata_document_supported")


@guarded("auth.as.iss")
def responses_name_their_issuer(seen: ProbeSession) -> Iterator[Note]:
    """The metadata says so (RFC 9207)."""
    yield from _judge_flag(seen, "authorization_response_iss_parameter_supported")


@guarded("auth.as.issuer-matches")
def the_issuer_is_the_one_that_was_asked(seen: ProbeSession) -> Iterator[Note]:
    """Letter by letter: clients must not use the metadata otherwise."""
    for server in _servers(seen):
        for document in server.documents:
            issuer = document.members.get("issuer")
            if issuer == server.issuer:
                yield kept(document.exchange)
            else:
                text = f"issuer of {document.url} is {issuer!r}"
                yield broken(document.exchange, f"{text}; {server.issuer!r} was due")


@guarded("auth.https")
def endpoints_are_https(seen: ProbeSession) -> Iterator[Note]:
    """Every endpoint of an authorization server."""
    resource = resource_document(seen)
    if resource is not None:
        for issuer in servers_named_in(resource.exchange):
            yield _judge_scheme(resource.exchange, "authorization_servers", issuer)
    for document in server_documents(seen):
        for name, url in _places(document):
            yield _judge_scheme(document.exchange, name, url)


def _places(document: Document) -> Iterator[tuple[str, Any]]:
    for name, value in document.members.items():
        if name.endswith(_ENDPOINT) or name in _PLACES:
            yield name, value


def _judge_scheme(exchange: Exchange, name: str, url: Any) -> Note:
    if not isinstance(url, str) or not is_same_origin(url, url):
        return broken(exchange, f"{name} is {url!r}; a URL with https was due")
    if url.startswith("https:"):
        return kept(exchange)
    if is_loopback(url):
        text = "the specification lets only redirect URIs be http on this machine"
        return unsettled(exchange, f"{name} is {url!r}: {text}; nothing leaves it, though")
    return broken(exchange, f"{name} is {url!r}; https was due")
