"""server/resources."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from dovetail_check import shapes
from dovetail_check.contents import annotated, read_contents
from dovetail_check.exchanges import Exchange, Incoming
from dovetail_check.formats import (
    base64_problem,
    template_problem,
    timestamp_problem,
    uri_problem,
)
from dovetail_check.notes import (
    answered,
    expect_codes,
    note_each,
    offered,
    page_problems,
    undeclared,
)
from dovetail_check.probe_sessions import ProbeSession
from dovetail_check.rulebook import rule, unjudged
from dovetail_check.verdicts import Note, ambiguous, not_applicable, satisfied, violated

__all__: list[str] = []

_WALK = ("walk",)
_READS = ("read-resources",)
_UNKNOWN = "resource-refusals/unknown"


def _is_complete(exchange: Exchange) -> bool:
    return bool((exchange.result or {}).get("resultType", "complete") == "complete")


# -- what is listed --------------------------------------------------------------------------------


@rule("resources.schema.shape", reads=_WALK)
def resources_have_their_shape(session: ProbeSession) -> Iterator[Note]:
    """Resources match the schema of the revision."""
    yield from undeclared(session, "resources")

    def problem(item: dict[str, Any]) -> str | None:
        found = shapes.problems(item, "Resource", session.revision)
        return f"resource {item.get('uri')!r:.80}: {'; '.join(found[:3])}" if found else None

    yield from note_each(offered(session, "resources"), problem)
    yield from page_problems(session, "resources", "resources/list")


@rule("resources.template.shape", reads=_WALK)
def templates_have_their_shape(session: ProbeSession) -> Iterator[Note]:
    """Templates match the schema of the revision, and uriTemplate follows RFC 6570."""
    yield from undeclared(session, "resources")

    def problem(item: dict[str, Any]) -> str | None:
        found = shapes.problems(item, "ResourceTemplate", session.revision)
        if found:
            return f"template {item.get('uriTemplate')!r:.80}: {'; '.join(found[:3])}"
        return template_problem(item.get("uriTemplate"))

    yield from note_each(offered(session, "resourceTemplates"), problem)
    yield from page_problems(session, "resourceTemplates", "resources/templates/list")


@rule("resources.uri.rfc3986", reads=("walk", "read-resources"))
def uris_are_uris(session: ProbeSession) -> Iterator[Note]:
    """The URIs of listed and read resources follow RFC 3986."""
    yield from undeclared(session, "resources")
    yield from note_each(offered(session, "resources"), lambda item: uri_problem(item.get("uri")))
    yield from note_each(read_contents(session), lambda item: uri_problem(item.get("uri")))


def _https(session: ProbeSession) -> Iterator[Note]:
    yield from undeclared(session, "resources")
    for page, item in offered(session, "resources"):
        uri = item.get("uri")
        if isinstance(uri, str) and uri.lower().startswith("https:"):
            yield ambiguous(
                page,
                f"{uri[:120]!r} is correct only if clients can fetch it themselves; the checker "
                "did not fetch it",
            )
        else:
            yield satisfied(page)


@rule("resources.uri.https-fetchable", reads=_WALK)
def https_uris_can_be_fetched(session: ProbeSession) -> Iterator[Note]:
    """Reports https URIs without judging them."""
    yield from _https(session)


@rule("resources.uri.prefer-other", reads=_WALK)
def other_uris_have_other_schemes(session: ProbeSession) -> Iterator[Note]:
    """Reports https URIs that may need another scheme."""
    yield from _https(session)


@rule("resources.annotations", reads=("walk", "tool-calls", "get-prompts"))
def annotations_are_within_bounds(session: ProbeSession) -> Iterator[Note]:
    """priority is 0 to 1, audience is user or assistant, lastModified is a timestamp."""
    yield from note_each(annotated(session), lambda given: _annotation_problem(given, session))


def _annotation_problem(given: Any, session: ProbeSession) -> str | None:
    wrong = shapes.problems(given, "Annotations", session.revision)
    if wrong or not isinstance(given, dict):
        return f"annotations: {'; '.join(wrong[:3])}"
    priority = given.get("priority")
    if isinstance(priority, int | float) and not 0 <= priority <= 1:
        return f"annotations: priority is {priority}; expected 0 to 1"
    if "lastModified" in given:
        return timestamp_problem(given["lastModified"])
    return None


# -- what is read ----------------------------------------------------------------------------------


@rule("resources.read.contents", reads=_READS)
def contents_have_their_shape(session: ProbeSession) -> Iterator[Note]:
    """Each content has a uri, and text or blob."""
    yield from undeclared(session, "resources")
    for exchange in session.tagged("read-resources"):
        if exchange.result is None:
            continue
        found = shapes.result_problems(exchange.result, "resources/read", session.revision)
        if found:
            yield violated(exchange, f"the result of resources/read: {'; '.join(found[:3])}")
        else:
            yield satisfied(exchange)


@rule("resources.read.blob-base64", reads=_READS)
def blobs_are_base64(session: ProbeSession) -> Iterator[Note]:
    """Every blob is base64."""
    yield from undeclared(session, "resources")
    blobs = ((exchange, item) for exchange, item in read_contents(session) if "blob" in item)
    yield from note_each(blobs, lambda item: base64_problem(item["blob"]))


@rule("resources.read.mime-consistent", reads=("walk", "read-resources"))
def mime_types_agree(session: ProbeSession) -> Iterator[Note]:
    """A resource is read with the MIME type that the list names."""
    listed = {
        item["uri"]: item["mimeType"]
        for item in session.listed("resources")
        if isinstance(item.get("uri"), str) and isinstance(item.get("mimeType"), str)
    }
    for exchange, item in read_contents(session):
        uri, given = item.get("uri"), item.get("mimeType")
        if not isinstance(uri, str) or uri not in listed or not isinstance(given, str):
            continue
        if _essence(given) == _essence(listed[uri]):
            yield satisfied(exchange)
        else:
            yield violated(
                exchange, f"{uri[:80]!r} is listed as {listed[uri]!r}, but read as {given!r}"
            )


def _essence(mime: str) -> str:
    return mime.partition(";")[0].strip().lower()


# -- unknown resources -----------------------------------------------------------------------------


def _not_found(session: ProbeSession) -> Iterator[Note]:
    yield from undeclared(session, "resources")
    code = session.revision.resource_not_found
    yield from expect_codes(session.tagged(_UNKNOWN), "an unknown resource", (code,))


@rule("resources.notfound.32002", reads=("resource-refusals",))
def unknown_resources_get_32002(session: ProbeSession) -> Iterator[Note]:
    """An unknown resource gets -32002."""
    yield from _not_found(session)


@rule("resources.notfound.32602", reads=("resource-refusals",))
def unknown_resources_get_32602(session: ProbeSession) -> Iterator[Note]:
    """An unknown resource gets -32602."""
    yield from _not_found(session)


@rule("resources.notfound.no-empty", reads=("resource-refusals",))
def unknown_resources_are_not_empty(session: ProbeSession) -> Iterator[Note]:
    """An unknown resource does not get a result with empty contents."""
    yield from undeclared(session, "resources")
    for exchange in session.tagged(_UNKNOWN):
        if exchange.result is not None and not exchange.result.get("contents"):
            yield violated(exchange, "an unknown resource got empty contents; expected an error")
        elif exchange.answer is not None:
            yield satisfied(exchange)


@rule("resources.security.validate-uri", reads=("resource-refusals",))
def uris_are_validated(session: ProbeSession) -> Iterator[Note]:
    """Malformed URIs get an error."""
    yield from undeclared(session, "resources")
    for exchange in session.tagged("resource-refusals/malformed"):
        # A long URI is still valid, so the server may have it.
        is_fine = exchange.error is not None or (
            exchange.tag.endswith("/long") and exchange.result is not None
        )
        if is_fine:
            yield satisfied(exchange)
        elif exchange.is_silent or (exchange.result is not None and not _is_complete(exchange)):
            continue
        else:
            given = str(exchange.params.get("uri"))[:60]
            yield violated(exchange, f"uri {given!r} got {exchange.describe()}; expected an error")


@rule("resources.security.traversal", reads=("traversal",))
def path_traversal_is_rejected(session: ProbeSession) -> Iterator[Note]:
    """A file that is not readable by its own URI is not readable by path traversal."""
    reads = {exchange.tag.partition("/")[2]: exchange for exchange in session.tagged("traversal")}
    direct = reads.pop("direct", None)
    if direct is None:
        if session.pages("resources"):
            yield not_applicable("the server has no file: resources")
        return
    if (direct.result or {}).get("contents"):
        yield not_applicable("the server exposes the whole file system")
        return
    for name, exchange in reads.items():
        if (exchange.result or {}).get("contents"):
            uri = str(exchange.params.get("uri"))[:120]
            yield violated(exchange, f"{uri!r} ({name}) was read from outside the served folder")
        elif exchange.answer is not None:
            yield satisfied(exchange)


# -- subscriptions ---------------------------------------------------------------------------------


@rule("resources.subscribe", reads=("subscribe",))
def subscriptions_are_answered(session: ProbeSession) -> Iterator[Note]:
    """resources/subscribe and resources/unsubscribe get a result."""
    yield from undeclared(session, "resources.subscribe")
    for exchange in answered(session.tagged("subscribe/subscribe", "subscribe/unsubscribe")):
        if exchange.result is not None:
            yield satisfied(exchange)
        else:
            yield violated(
                exchange, f"{exchange.method} got {exchange.describe()}; expected a result"
            )


@rule("resources.subscribe-undeclared", reads=("undeclared",))
def undeclared_subscriptions_are_rejected(session: ProbeSession) -> Iterator[Note]:
    """Without the capability, resources/subscribe gets -32601."""
    if session.has("resources.subscribe"):
        yield not_applicable("the server declares resources.subscribe")
    found = session.tagged("undeclared/resources/subscribe")
    yield from expect_codes(found, "resources/subscribe without the capability", (-32601,))


@rule("resources.updated-only-subscribed", reads=("subscribe",))
def updates_belong_to_a_subscription(session: ProbeSession) -> Iterator[Note]:
    """Each update is for a subscribed URI or one below it."""
    for incoming in session.notifications("notifications/resources/updated"):
        wanted = _subscribed(session, incoming)
        uri = incoming.params.get("uri")
        if isinstance(uri, str) and any(uri.startswith(one) for one in wanted):
            yield satisfied(incoming)
        else:
            yield violated(
                incoming, f"an update of {uri!r:.80}, but the client subscribed to {sorted(wanted)}"
            )


def _subscribed(session: ProbeSession, incoming: Incoming) -> set[str]:
    """The URIs subscribed to on the same connection before a message.

    An update may cross the request to unsubscribe, but not its response.
    """
    wanted: set[str] = set()
    methods = ("resources/subscribe", "resources/unsubscribe", "subscriptions/listen")
    for exchange in session.sent(*methods):
        if exchange.connection != incoming.frame.connection or exchange.sent.n > incoming.frame.n:
            continue
        asked = exchange.params.get("notifications")
        uris = asked.get("resourceSubscriptions") if isinstance(asked, dict) else None
        named = [exchange.params.get("uri"), *(uris if isinstance(uris, list) else ())]
        found = {uri for uri in named if isinstance(uri, str)}
        if exchange.method != "resources/unsubscribe":
            wanted |= found
        elif (
            exchange.result is not None
            and exchange.answer is not None
            and exchange.answer.frame.n < incoming.frame.n
        ):
            wanted -= found
    return wanted


unjudged.update(
    {
        "resources.read.multiple": "a permission: nothing to violate",
        "resources.read.input-required": "a permission: covered by the rows of multi round-trip "
        "requests",
        "resources.uri.xdg": "a permission: nothing to violate",
        "resources.error.internal": "needs a resource handler that fails",
        "resources.security.access": "not visible on the wire: how access is controlled",
        "resources.security.permissions": "not visible on the wire: when permissions are checked",
    }
)
