"""basic/authorization: protected resource metadata (RFC 9728) and its location."""

from __future__ import annotations

from collections.abc import Iterator
from urllib.parse import urlsplit

from dovetail_check.auth_traffic import (
    Document,
    endpoint_url,
    is_inconclusive,
    lacks_oauth,
    metadata_urls,
    rejections,
    resource_document,
    resource_documents,
)
from dovetail_check.exchanges import Exchange
from dovetail_check.probe_sessions import ProbeSession
from dovetail_check.rulebook import unjudged
from dovetail_check.rules.authorization import guarded
from dovetail_check.safety import is_loopback
from dovetail_check.verdicts import Note, ambiguous, satisfied, violated
from dovetail_check.well_known import is_same_origin

__all__: list[str] = []

unjudged["auth.uri.case"] = (
    "concerns the resource that a client names to the authorization server, not requests"
)


@guarded("auth.prm.exists", unless=lacks_oauth)
def the_resource_has_metadata(session: ProbeSession) -> Iterator[Note]:
    """A JSON object at the URL in the challenge, or at a well-known URL."""
    documents = resource_documents(session)
    yield from (satisfied(document.exchange) for document in documents)
    if not documents:
        yield from _judge_missing(session)


def _judge_missing(session: ProbeSession) -> Iterator[Note]:
    """The note for a server without a metadata document."""
    tried = session.tagged("authorization/resource-metadata")
    away = [
        (exchange, url) for exchange, url in metadata_urls(session) if _is_elsewhere(session, url)
    ]
    places = ", ".join(f"{one.sent.url} ({one.describe()})" for one in tried)
    if away:
        exchange, url = away[0]
        yield ambiguous(exchange, f"the challenge names metadata at {url!r}, which was not fetched")
    elif any(map(is_inconclusive, tried)):
        yield ambiguous(tried[0], f"the resource metadata could not be fetched: {places}")
    elif tried:
        yield violated(tried[0], f"no resource metadata at {places}; expected a JSON document")


def _is_elsewhere(session: ProbeSession, url: str) -> bool:
    return not is_same_origin(url, endpoint_url(session))


@guarded("auth.prm.discovery", unless=lacks_oauth)
def the_metadata_can_be_found(session: ProbeSession) -> Iterator[Note]:
    """The challenge names its URL, or it is at a well-known URL."""
    found = {document.url: document.exchange for document in resource_documents(session)}
    if not found:
        yield from _judge_missing(session)
        return
    yield satisfied(next(iter(found.values())))
    for exchange, url in metadata_urls(session):
        if url not in found and not _is_elsewhere(session, url):
            text = f"WWW-Authenticate names {url!r}, which has no metadata"
            yield ambiguous(exchange, f"{text}; a well-known URL has it, which is enough")


@guarded("auth.prm.www-authenticate", unless=lacks_oauth)
def the_challenge_names_the_metadata(session: ProbeSession) -> Iterator[Note]:
    """The challenge of the 401 has resource_metadata."""
    named = [exchange.sent.n for exchange, _ in metadata_urls(session)]
    for exchange, _ in rejections(session):
        if exchange.sent.n in named:
            yield satisfied(exchange)
        else:
            header = exchange.header("www-authenticate")
            yield violated(exchange, f"WWW-Authenticate is {header!r}; expected resource_metadata")


@guarded("auth.prm.authorization-servers")
def authorization_servers_are_named(session: ProbeSession) -> Iterator[Note]:
    """The metadata names at least one authorization server."""
    document = resource_document(session)
    if document is not None:
        named = document.members.get("authorization_servers")
        if isinstance(named, list) and named and all(isinstance(one, str) for one in named):
            yield satisfied(document.exchange)
        else:
            text = f"authorization_servers of {document.url} is {named!r}"
            yield violated(document.exchange, f"{text}; expected a list of at least one URL")


@guarded("auth.prm.resource-matches")
def the_metadata_is_of_this_resource(session: ProbeSession) -> Iterator[Note]:
    """Its resource is the endpoint or a parent of the endpoint (RFC 9728 section 3.3)."""
    document = resource_document(session)
    if document is not None:
        yield _judge_resource(document, endpoint_url(session))


def _judge_resource(document: Document, audited: str) -> Note:
    resource = document.members.get("resource")
    got = f"resource of {document.url} is {resource!r}, the endpoint {audited!r}"
    if not isinstance(resource, str) or not _is_url(resource):
        return violated(document.exchange, f"{got}; expected the URL of the resource")
    if _is_same(resource, audited):
        return satisfied(document.exchange)
    if not is_same_origin(resource, audited):
        if is_loopback(audited):
            text = "a server on this machine may use its public name"
            return ambiguous(document.exchange, f"{got}; {text}, but clients compare the two")
        return violated(document.exchange, f"{got}; expected the same URL")
    if _is_part_of(audited, resource):
        text = "RFC 9728 requires the same URL, but a document at the root may cover all endpoints"
        return ambiguous(document.exchange, f"{got}; {text}")
    return violated(document.exchange, f"{got}; expected the same URL")


def _is_url(text: str) -> bool:
    return is_same_origin(text, text)


def _path(url: str) -> str:
    return urlsplit(url).path.rstrip("/")


def _is_same(one: str, other: str) -> bool:
    """Whether two URLs are the same, ignoring a trailing slash."""
    queries = urlsplit(one).query == urlsplit(other).query
    return is_same_origin(one, other) and _path(one) == _path(other) and queries


def _is_part_of(url: str, whole: str) -> bool:
    return f"{_path(url)}/".startswith(f"{_path(whole)}/")


@guarded("auth.uri.trailing-slash")
def the_resource_has_no_trailing_slash(session: ProbeSession) -> Iterator[Note]:
    """The resource has no trailing slash, unless the endpoint has one."""
    document = resource_document(session)
    resource = None if document is None else document.members.get("resource")
    if document is not None and isinstance(resource, str) and _is_url(resource):
        yield _judge_slash(document.exchange, resource, endpoint_url(session))


def _judge_slash(exchange: Exchange, resource: str, audited: str) -> Note:
    if not resource.endswith("/"):
        return satisfied(exchange)
    got = f"resource is {resource!r}"
    if resource == audited:
        return ambiguous(exchange, f"{got}, like the endpoint: the slash may be significant")
    return violated(exchange, f"{got}; expected no trailing slash")
