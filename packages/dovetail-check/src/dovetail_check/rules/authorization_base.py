"""basic/authorization where it was new: the server is its own authorization server."""

from __future__ import annotations

from collections.abc import Iterator

from dovetail_check.doors import Document, document_of, resource_documents
from dovetail_check.exchanges import Exchange
from dovetail_check.probe_sessions import ProbeSession
from dovetail_check.rules.authorization import guarded
from dovetail_check.verdicts import Note, absent, broken, kept, unsettled

__all__: list[str] = []

# Grants that OAuth 2.1 has, of those that get a token in the first place.
_GRANTS = ("authorization_code", "client_credentials")
# What a server that says nothing of its grants supports (RFC 8414 section 2).
_UNSAID = ["authorization_code", "implicit"]
_LATER_WAY = "the server says with RFC 9728, as later revisions want it, who authorizes for it"


def _base(seen: ProbeSession) -> list[Document]:
    """The metadata at the root."""
    fetched = seen.tagged("authorization/base-metadata")
    found = [(exchange, document_of(exchange)) for exchange in fetched]
    return [Document(exchange, members) for exchange, members in found if members is not None]


def _missing(seen: ProbeSession) -> list[Exchange]:
    """The place at the root, where it was asked in vain."""
    fetched = seen.tagged("authorization/base-metadata")
    return [one for one in fetched if one.status is not None and document_of(one) is None]


@guarded("auth.b.metadata")
def the_server_has_metadata(seen: ProbeSession) -> Iterator[Note]:
    """RFC 8414, at the root."""
    yield from (kept(document.exchange) for document in _base(seen))
    for exchange in _missing(seen):
        what = f"{exchange.sent.url} gave {exchange.describe()}"
        if resource_documents(seen):
            yield unsettled(exchange, f"{what}; metadata was due, but {_LATER_WAY}")
        else:
            yield broken(exchange, f"{what}; metadata was due")


@guarded("auth.b.metadata-location")
def the_metadata_is_at_the_root(seen: ProbeSession) -> Iterator[Note]:
    """The path of the endpoint is no part of its place."""
    yield from (kept(document.exchange) for document in _base(seen))
    for exchange in seen.tagged("authorization/base-elsewhere"):
        if document_of(exchange) is not None:
            roots = ", ".join(str(one.sent.url) for one in _missing(seen))
            yield broken(exchange, f"metadata is at {exchange.sent.url}; {roots} was due")


@guarded("auth.b.default-endpoints")
def without_metadata_there_are_default_endpoints(seen: ProbeSession) -> Iterator[Note]:
    """/authorize and /token exist; not every server registers clients by itself."""
    if _base(seen):
        yield absent("the server has metadata")
        return
    for exchange in seen.tagged("authorization/base-endpoint"):
        url = str(exchange.sent.url)
        if exchange.status is None or url.endswith("/register"):
            continue
        if exchange.status != 404:
            yield kept(exchange)
        elif resource_documents(seen):
            yield unsettled(exchange, f"{url} gave 404; an endpoint was due, but {_LATER_WAY}")
        else:
            yield broken(exchange, f"{url} gave 404; without metadata an endpoint was due there")


@guarded("auth.b.grants")
def grants_are_those_of_oauth(seen: ProbeSession) -> Iterator[Note]:
    """At least one that gets a token for a user, or for a program."""
    for document in _base(seen):
        grants = document.members.get("grant_types_supported", _UNSAID)
        if isinstance(grants, list) and any(grant in grants for grant in _GRANTS):
            yield kept(document.exchange)
        else:
            text = f"grant_types_supported is {grants!r}"
            yield broken(document.exchange, f"{text}; one of {', '.join(_GRANTS)} was due")
