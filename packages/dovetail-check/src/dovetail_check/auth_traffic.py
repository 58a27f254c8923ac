"""Lookups in authorization traffic: rejected requests, challenges and metadata documents."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any, NamedTuple

from dovetail_check.challenges import Challenge, read_challenges
from dovetail_check.exchanges import Exchange, parse
from dovetail_check.frames import Frame
from dovetail_check.probe_sessions import ProbeSession
from dovetail_check.recording import MASK
from dovetail_check.well_known import resource_metadata_urls

__all__ = [
    "Document",
    "authorization_servers_in",
    "document_of",
    "endpoint_url",
    "has_credentials",
    "is_accepted",
    "is_inconclusive",
    "lacks_bearer",
    "lacks_oauth",
    "metadata_urls",
    "rejections",
    "resource_document",
    "resource_documents",
    "server_documents",
    "unauthorized_requests",
]

# Statuses of an overloaded server, which show nothing about authorization.
_BUSY = (429, 503)
# Requests for documents and endpoints of OAuth, by variant.
_DOCUMENTS = (
    "resource-metadata",
    "base-metadata",
    "base-elsewhere",
    "sign-metadata",
    "sign-elsewhere",
)
_ENDPOINTS = ("base-endpoint", "sign-endpoint")
# Statuses of a path that does not exist, or that the server guards like every other path.
_NO_ENDPOINT = (401, 403, 404, 405, 410, 501)


class Document(NamedTuple):
    """A JSON document and the exchange that returned it."""

    exchange: Exchange
    members: dict[str, Any]

    @property
    def url(self) -> str:
        """The URL of the document."""
        return self.exchange.sent.url or ""


def unauthorized_requests(session: ProbeSession, *variants: str) -> list[Exchange]:
    """The requests sent without the given credentials that got a usable response."""
    tags = [f"authorization/{variant}" for variant in variants]
    return [
        exchange
        for exchange in session.tagged(*tags)
        if exchange.status is not None and exchange.status not in _BUSY
    ]


def has_credentials(sent: Frame) -> bool:
    """Whether a request carries a token, a cookie or another secret, also in its URL."""
    texts = [text for _, text in sent.headers]
    return sent.header("authorization") is not None or MASK in " ".join([*texts, sent.url or ""])


def rejections(session: ProbeSession) -> list[tuple[Exchange, list[Challenge]]]:
    """The requests without a token that got a 401, and the challenges."""
    return [
        (exchange, read_challenges(exchange.header("www-authenticate")))
        for exchange in unauthorized_requests(session, "none", "again")
        if exchange.status == 401
    ]


def is_accepted(exchange: Exchange) -> bool:
    """Whether the server processed the request: a result, a stream or a 202."""
    if exchange.status is None or exchange.status >= 300:
        return False
    if exchange.sent.method == "GET":
        return exchange.is_stream
    return exchange.result is not None or (exchange.id is None and exchange.status == 202)


def endpoint_url(session: ProbeSession) -> str:
    """The URL of the endpoint."""
    return next((exchange.sent.url or "" for exchange in session.tagged("authorization/none")), "")


def metadata_urls(session: ProbeSession) -> list[tuple[Exchange, str]]:
    """The metadata URLs that challenges name."""
    return [
        (exchange, challenge.params["resource_metadata"])
        for exchange, challenges in rejections(session)
        for challenge in challenges
        if challenge.params.get("resource_metadata")
    ]


def document_of(exchange: Exchange) -> dict[str, Any] | None:
    """The JSON object in a response; None if it has none."""
    if exchange.status != 200 or exchange.head is None:
        return None
    value = parse(exchange.head.data)
    return value if isinstance(value, dict) else None


def is_inconclusive(exchange: Exchange) -> bool:
    """Whether the response shows nothing: no status, overloaded, or a redirect."""
    status = exchange.status
    return status is None or status in _BUSY or 300 <= status < 400


def resource_documents(session: ProbeSession) -> list[Document]:
    """The metadata documents of the protected resource, in the order in which clients try them."""
    named = [url for _, url in metadata_urls(session)]
    urls = [*named, *resource_metadata_urls(endpoint_url(session))]

    def rank(document: Document) -> int:
        return urls.index(document.url) if document.url in urls else len(urls)

    return sorted(_documents(session, "resource-metadata"), key=rank)


def resource_document(session: ProbeSession) -> Document | None:
    """The metadata document that clients use."""
    return next(iter(resource_documents(session)), None)


def server_documents(session: ProbeSession) -> list[Document]:
    """The metadata documents of authorization servers, including the MCP server itself."""
    return [*_documents(session, "server-metadata"), *_documents(session, "base-metadata")]


def _documents(session: ProbeSession, variant: str) -> Iterator[Document]:
    for exchange in session.tagged(f"authorization/{variant}"):
        members = document_of(exchange)
        if members is not None:
            yield Document(exchange, members)


def authorization_servers_in(exchange: Exchange) -> list[str]:
    """The authorization servers that a metadata document names."""
    named = (document_of(exchange) or {}).get("authorization_servers")
    return [one for one in named if isinstance(one, str)] if isinstance(named, list) else []


# base.auth.custom (2025-03-26 basic/index): clients and servers may agree on other schemes.
def lacks_oauth(session: ProbeSession) -> str:
    """Why requirements about OAuth do not apply; empty if there is a sign of OAuth."""
    named = [challenge for _, challenges in rejections(session) for challenge in challenges]
    documents = session.tagged(*(f"authorization/{variant}" for variant in _DOCUMENTS))
    endpoints = session.tagged(*(f"authorization/{variant}" for variant in _ENDPOINTS))
    if (
        not documents
        or any(not challenge.params.keys().isdisjoint(_OAUTH_PARAMS) for challenge in named)
        or any(is_inconclusive(one) or document_of(one) is not None for one in documents)
        or any(one.status not in _NO_ENDPOINT for one in endpoints)
    ):
        return ""
    return (
        "the server shows no sign of OAuth (no metadata, no scope in the challenge, no default "
        "endpoint): it takes API keys or another scheme, which the specification allows"
    )


_OAUTH_PARAMS = frozenset({"resource_metadata", "scope"})


def lacks_bearer(session: ProbeSession) -> str:
    """Why requirements about bearer tokens do not apply; empty if the server may take them."""
    schemes = [one.scheme for _, challenges in rejections(session) for one in challenges]
    opening = session.opening
    is_sent = opening is None or opening.sent.header("authorization") is not None
    if is_sent or "bearer" in schemes or not lacks_oauth(session):
        return ""
    return "the credentials are not a bearer token, and the server shows no sign of OAuth"
