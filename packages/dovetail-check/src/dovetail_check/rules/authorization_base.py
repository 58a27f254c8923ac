"""basic/authorization in its first revision: the server is its own authorization server."""

from __future__ import annotations

from collections.abc import Iterator

from dovetail_check.auth_traffic import Document, document_of, lacks_oauth, resource_documents
from dovetail_check.exchanges import Exchange
from dovetail_check.probe_sessions import ProbeSession
from dovetail_check.rules.authorization import guarded
from dovetail_check.verdicts import Note, ambiguous, not_applicable, satisfied, violated

__all__: list[str] = []

# The OAuth 2.1 grants that obtain a first token.
_GRANTS = ("authorization_code", "client_credentials")
# The default if grant_types_supported is missing (RFC 8414 section 2).
_DEFAULT_GRANTS = ["authorization_code", "implicit"]
_RFC_9728 = "the server names its authorization server with RFC 9728, as later revisions require"


def _base(session: ProbeSession) -> list[Document]:
    """The metadata documents at the root."""
    fetched = session.tagged("authorization/base-metadata")
    found = [(exchange, document_of(exchange)) for exchange in fetched]
    return [Document(exchange, members) for exchange, members in found if members is not None]


def _missing(session: ProbeSession) -> list[Exchange]:
    """Requests for the metadata at the root that returned no document."""
    fetched = session.tagged("authorization/base-metadata")
    return [one for one in fetched if one.status is not None and document_of(one) is None]


@guarded("auth.b.metadata", unless=lacks_oauth)
def the_server_has_metadata(session: ProbeSession) -> Iterator[Note]:
    """RFC 8414 metadata at the root of the server."""
    yield from (satisfied(document.exchange) for document in _base(session))
    for exchange in _missing(session):
        what = f"{exchange.sent.url} returned {exchange.describe()}"
        if resource_documents(session):
            yield ambiguous(exchange, f"{what}; expected metadata, but {_RFC_9728}")
        else:
            yield violated(exchange, f"{what}; expected metadata")


@guarded("auth.b.metadata-location")
def the_metadata_is_at_the_root(session: ProbeSession) -> Iterator[Note]:
    """The metadata URL does not include the path of the endpoint."""
    yield from (satisfied(document.exchange) for document in _base(session))
    for exchange in session.tagged("authorization/base-elsewhere"):
        if document_of(exchange) is not None:
            roots = ", ".join(str(one.sent.url) for one in _missing(session))
            yield violated(exchange, f"metadata is at {exchange.sent.url}; expected {roots}")


@guarded("auth.b.default-endpoints", unless=lacks_oauth)
def without_metadata_there_are_default_endpoints(session: ProbeSession) -> Iterator[Note]:
    """/authorize and /token exist. /register is optional."""
    if _base(session):
        yield not_applicable("the server has metadata")
        return
    for exchange in session.tagged("authorization/base-endpoint"):
        url = str(exchange.sent.url)
        if exchange.status is None or url.endswith("/register"):
            continue
        if exchange.status != 404:
            yield satisfied(exchange)
        elif resource_documents(session):
            yield ambiguous(exchange, f"{url} returned 404; expected an endpoint, but {_RFC_9728}")
        else:
            yield violated(
                exchange, f"{url} returned 404; expected an endpoint, as there is no metadata"
            )


@guarded("auth.b.grants")
def grants_are_those_of_oauth(session: ProbeSession) -> Iterator[Note]:
    """At least one grant obtains a token for a user or for a program."""
    for document in _base(session):
        grants = document.members.get("grant_types_supported", _DEFAULT_GRANTS)
        if isinstance(grants, list) and any(grant in grants for grant in _GRANTS):
            yield satisfied(document.exchange)
        else:
            text = f"grant_types_supported is {grants!r}"
            yield violated(document.exchange, f"{text}; expected one of {', '.join(_GRANTS)}")
