"""What rules ask of a door: who is let in, how strangers are refused, which documents there are."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any, NamedTuple

from dovetail_check.challenges import Challenge, read_challenges
from dovetail_check.exchanges import Exchange, parse
from dovetail_check.probe_sessions import ProbeSession
from dovetail_check.well_known import resource_metadata_urls

__all__ = [
    "Document",
    "audited_url",
    "document_of",
    "is_let_in",
    "is_no_answer",
    "refusals",
    "resource_document",
    "resource_documents",
    "server_documents",
    "servers_named_in",
    "strangers",
    "urls_named",
]

# What a server says when it has too much to do: no answer to the question.
_BUSY = (429, 503)


class Document(NamedTuple):
    """A JSON object and how it came."""

    exchange: Exchange
    members: dict[str, Any]

    @property
    def url(self) -> str:
        """Where it was found."""
        return self.exchange.sent.url or ""


def strangers(seen: ProbeSession, *variants: str) -> list[Exchange]:
    """What was sent without the credentials that were given, and got an answer worth the name."""
    tags = [f"authorization/{variant}" for variant in variants]
    return [
        exchange
        for exchange in seen.tagged(*tags)
        if exchange.status is not None and exchange.status not in _BUSY
    ]


def refusals(seen: ProbeSession) -> list[tuple[Exchange, list[Challenge]]]:
    """Each 401 that a request without a token got, and its challenges."""
    return [
        (exchange, read_challenges(exchange.header("www-authenticate")))
        for exchange in strangers(seen, "none", "again")
        if exchange.status == 401
    ]


def is_let_in(exchange: Exchange) -> bool:
    """Whether what was sent was served: a result, a stream, or a message taken."""
    if exchange.status is None or exchange.status >= 300:
        return False
    if exchange.sent.method == "GET":
        return exchange.is_stream
    return exchange.result is not None or (exchange.id is None and exchange.status == 202)


def audited_url(seen: ProbeSession) -> str:
    """The endpoint."""
    return next((exchange.sent.url or "" for exchange in seen.tagged("authorization/none")), "")


def urls_named(seen: ProbeSession) -> list[tuple[Exchange, str]]:
    """Where challenges say that the metadata of the resource is."""
    return [
        (exchange, challenge.params["resource_metadata"])
        for exchange, challenges in refusals(seen)
        for challenge in challenges
        if challenge.params.get("resource_metadata")
    ]


def document_of(exchange: Exchange) -> dict[str, Any] | None:
    """The JSON object that a place gave."""
    if exchange.status != 200 or exchange.head is None:
        return None
    value = parse(exchange.head.data)
    return value if isinstance(value, dict) else None


def is_no_answer(exchange: Exchange) -> bool:
    """Whether a place said neither yes nor no: it is gone, busy, or sends us somewhere else."""
    status = exchange.status
    return status is None or status in _BUSY or 300 <= status < 400


def resource_documents(seen: ProbeSession) -> list[Document]:
    """Metadata of the protected resource, wherever it was found; first what clients take first."""
    named = [url for _, url in urls_named(seen)]
    places = [*named, *resource_metadata_urls(audited_url(seen))]

    def rank(document: Document) -> int:
        return places.index(document.url) if document.url in places else len(places)

    return sorted(_documents(seen, "resource-metadata"), key=rank)


def resource_document(seen: ProbeSession) -> Document | None:
    """The metadata that clients take; another place may have that of another resource."""
    return next(iter(resource_documents(seen)), None)


def server_documents(seen: ProbeSession) -> list[Document]:
    """Metadata of authorization servers, also of a server that is its own."""
    return [*_documents(seen, "server-metadata"), *_documents(seen, "base-metadata")]


def _documents(seen: ProbeSession, variant: str) -> Iterator[Document]:
    for exchange in seen.tagged(f"authorization/{variant}"):
        members = document_of(exchange)
        if members is not None:
            yield Document(exchange, members)


def servers_named_in(exchange: Exchange) -> list[str]:
    """The authorization servers that the metadata of a resource names."""
    named = (document_of(exchange) or {}).get("authorization_servers")
    return [one for one in named if isinstance(one, str)] if isinstance(named, list) else []
