"""basic/authorization: metadata of the protected resource (RFC 9728), and where it is found."""

from __future__ import annotations

from collections.abc import Iterator
from urllib.parse import urlsplit

from dovetail_check.doors import (
    Document,
    audited_url,
    is_no_answer,
    refusals,
    resource_document,
    resource_documents,
    urls_named,
)
from dovetail_check.exchanges import Exchange
from dovetail_check.probe_sessions import ProbeSession
from dovetail_check.rulebook import unjudged
from dovetail_check.rules.authorization import guarded
from dovetail_check.safety import is_loopback
from dovetail_check.verdicts import Note, broken, kept, unsettled
from dovetail_check.well_known import is_same_origin

__all__: list[str] = []

unjudged["auth.uri.case"] = (
    "it is about the resource that a client names to the authorization server, not about requests"
)


@guarded("auth.prm.exists")
def the_resource_has_metadata(seen: ProbeSession) -> Iterator[Note]:
    """A JSON object where the challenge says, or at a well-known place."""
    documents = resource_documents(seen)
    yield from (kept(document.exchange) for document in documents)
    if not documents:
        yield from _judge_nothing(seen)


def _judge_nothing(seen: ProbeSession) -> Iterator[Note]:
    """What to say where no document was found."""
    tried = seen.tagged("authorization/resource-metadata")
    away = [(exchange, url) for exchange, url in urls_named(seen) if _is_elsewhere(seen, url)]
    places = ", ".join(f"{one.sent.url} ({one.describe()})" for one in tried)
    if away:
        exchange, url = away[0]
        yield unsettled(exchange, f"the metadata is said to be at {url!r}, which was not asked")
    elif any(map(is_no_answer, tried)):
        yield unsettled(tried[0], f"there may be metadata of the resource: {places}")
    elif tried:
        yield broken(tried[0], f"no metadata of the resource at {places}; a document was due")


def _is_elsewhere(seen: ProbeSession, url: str) -> bool:
    return not is_same_origin(url, audited_url(seen))


@guarded("auth.prm.discovery")
def the_metadata_can_be_found(seen: ProbeSession) -> Iterator[Note]:
    """The challenge says where it is, or it is at a well-known place."""
    found = {document.url: document.exchange for document in resource_documents(seen)}
    if not found:
        yield from _judge_nothing(seen)
        return
    yield kept(next(iter(found.values())))
    for exchange, url in urls_named(seen):
        if url not in found and not _is_elsewhere(seen, url):
            text = f"nothing is at {url!r}, where WWW-Authenticate sends clients"
            yield unsettled(exchange, f"{text}; a well-known place has the metadata, and is enough")


@guarded("auth.prm.www-authenticate")
def the_challenge_names_the_metadata(seen: ProbeSession) -> Iterator[Note]:
    """resource_metadata stands in the 401."""
    named = [exchange.sent.n for exchange, _ in urls_named(seen)]
    for exchange, _ in refusals(seen):
        if exchange.sent.n in named:
            yield kept(exchange)
        else:
            header = exchange.header("www-authenticate")
            yield broken(exchange, f"WWW-Authenticate is {header!r}; resource_metadata was due")


@guarded("auth.prm.authorization-servers")
def authorization_servers_are_named(seen: ProbeSession) -> Iterator[Note]:
    """At least one."""
    document = resource_document(seen)
    if document is not None:
        named = document.members.get("authorization_servers")
        if isinstance(named, list) and named and all(isinstance(one, str) for one in named):
            yield kept(document.exchange)
        else:
            text = f"authorization_servers of {document.url} is {named!r}"
            yield broken(document.exchange, f"{text}; a list of at least one URL was due")


@guarded("auth.prm.resource-matches")
def the_metadata_is_of_this_resource(seen: ProbeSession) -> Iterator[Note]:
    """Its resource is the endpoint, or what the endpoint is part of (RFC 9728 section 3.3)."""
    document = resource_document(seen)
    if document is not None:
        yield _judge_resource(document, audited_url(seen))


def _judge_resource(document: Document, audited: str) -> Note:
    resource = document.members.get("resource")
    came = f"resource of {document.url} is {resource!r}, the endpoint {audited!r}"
    if not isinstance(resource, str) or not _is_url(resource):
        return broken(document.exchange, f"{came}; the URL of the resource was due")
    if _is_same(resource, audited):
        return kept(document.exchange)
    if not is_same_origin(resource, audited):
        if is_loopback(audited):
            text = "on this machine a server may go by the name it has elsewhere"
            return unsettled(document.exchange, f"{came}; {text}, but clients compare the two")
        return broken(document.exchange, f"{came}; they were to be the same")
    if _is_part_of(audited, resource):
        text = "RFC 9728 wants them to be the same, a document at the root may stand for all"
        return unsettled(document.exchange, f"{came}; {text}")
    return broken(document.exchange, f"{came}; they were to be the same")


def _is_url(text: str) -> bool:
    return is_same_origin(text, text)


def _path(url: str) -> str:
    return urlsplit(url).path.rstrip("/")


def _is_same(one: str, other: str) -> bool:
    """Whether two URLs name one thing; a slash at the end makes no difference here."""
    queries = urlsplit(one).query == urlsplit(other).query
    return is_same_origin(one, other) and _path(one) == _path(other) and queries


def _is_part_of(url: str, whole: str) -> bool:
    return f"{_path(url)}/".startswith(f"{_path(whole)}/")


@guarded("auth.uri.trailing-slash")
def the_resource_has_no_trailing_slash(seen: ProbeSession) -> Iterator[Note]:
    """The form without the slash is used, unless the slash belongs to the endpoint."""
    document = resource_document(seen)
    resource = None if document is None else document.members.get("resource")
    if document is not None and isinstance(resource, str) and _is_url(resource):
        yield _judge_slash(document.exchange, resource, audited_url(seen))


def _judge_slash(exchange: Exchange, resource: str, audited: str) -> Note:
    if not resource.endswith("/"):
        return kept(exchange)
    came = f"resource is {resource!r}"
    if resource == audited:
        return unsettled(exchange, f"{came}, as the endpoint: the slash may mean something there")
    return broken(exchange, f"{came}; the form without the slash was due")
