"""server/resources."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from dovetail_check import shapes
from dovetail_check.contents import annotated, read_contents
from dovetail_check.exchanges import Exchange, Heard
from dovetail_check.formats import (
    base64_problem,
    template_problem,
    timestamp_problem,
    uri_problem,
)
from dovetail_check.noting import answered, expect_codes, note_each, offered, undeclared
from dovetail_check.probe_sessions import ProbeSession
from dovetail_check.rulebook import rule, unjudged
from dovetail_check.verdicts import Note, absent, broken, kept, unsettled

__all__: list[str] = []

_WALK = ("walk",)
_READS = ("read-resources",)
_UNKNOWN = "resource-refusals/unknown"


def _is_complete(exchange: Exchange) -> bool:
    return bool((exchange.result or {}).get("resultType", "complete") == "complete")


# -- what is listed --------------------------------------------------------------------------------


@rule("resources.schema.shape", reads=_WALK)
def resources_have_their_shape(seen: ProbeSession) -> Iterator[Note]:
    """uri and name, and everything else as the schema of the revision says."""
    yield from undeclared(seen, "resources")

    def problem(item: dict[str, Any]) -> str | None:
        found = shapes.problems(item, "Resource", seen.revision)
        return f"resource {item.get('uri')!r:.80}: {'; '.join(found[:3])}" if found else None

    yield from note_each(offered(seen, "resources"), problem)


@rule("resources.template.shape", reads=_WALK)
def templates_have_their_shape(seen: ProbeSession) -> Iterator[Note]:
    """uriTemplate of RFC 6570 and name, and everything else as the schema says."""
    yield from undeclared(seen, "resources")

    def problem(item: dict[str, Any]) -> str | None:
        found = shapes.problems(item, "ResourceTemplate", seen.revision)
        if found:
            return f"template {item.get('uriTemplate')!r:.80}: {'; '.join(found[:3])}"
        return template_problem(item.get("uriTemplate"))

    yield from note_each(offered(seen, "resourceTemplates"), problem)


@rule("resources.uri.rfc3986", reads=("walk", "read-resources"))
def uris_are_uris(seen: ProbeSession) -> Iterator[Note]:
    """Of everything that is listed or read."""
    yield from undeclared(seen, "resources")
    yield from note_each(offered(seen, "resources"), lambda item: uri_problem(item.get("uri")))
    yield from note_each(read_contents(seen), lambda item: uri_problem(item.get("uri")))


def _https(seen: ProbeSession) -> Iterator[Note]:
    yield from undeclared(seen, "resources")
    for page, item in offered(seen, "resources"):
        uri = item.get("uri")
        if isinstance(uri, str) and uri.lower().startswith("https:"):
            yield unsettled(
                page,
                f"{uri[:120]!r} is right if clients can fetch it themselves, and should have "
                "another scheme if they cannot; it was not fetched",
            )
        else:
            yield kept(page)


@rule("resources.uri.https-fetchable", reads=_WALK)
def https_is_for_what_can_be_fetched(seen: ProbeSession) -> Iterator[Note]:
    """Tells which URIs say so."""
    yield from _https(seen)


@rule("resources.uri.prefer-other", reads=_WALK)
def other_schemes_are_for_the_rest(seen: ProbeSession) -> Iterator[Note]:
    """Tells which URIs would need one."""
    yield from _https(seen)


@rule("resources.annotations", reads=("walk", "tool-calls", "get-prompts"))
def annotations_are_within_bounds(seen: ProbeSession) -> Iterator[Note]:
    """priority 0 to 1, audience user and assistant, lastModified a timestamp."""
    yield from note_each(annotated(seen), lambda given: _annotation_problem(given, seen))


def _annotation_problem(given: Any, seen: ProbeSession) -> str | None:
    wrong = shapes.problems(given, "Annotations", seen.revision)
    if wrong or not isinstance(given, dict):
        return f"annotations: {'; '.join(wrong[:3])}"
    priority = given.get("priority")
    if isinstance(priority, int | float) and not 0 <= priority <= 1:
        return f"annotations: priority is {priority}; 0 to 1 was due"
    if "lastModified" in given:
        return timestamp_problem(given["lastModified"])
    return None


# -- what is read ----------------------------------------------------------------------------------


@rule("resources.read.contents", reads=_READS)
def contents_have_their_shape(seen: ProbeSession) -> Iterator[Note]:
    """Each has a uri, and text or blob."""
    yield from undeclared(seen, "resources")
    for exchange in seen.tagged("read-resources"):
        if exchange.result is None:
            continue
        found = shapes.result_problems(exchange.result, "resources/read", seen.revision)
        if found:
            yield broken(exchange, f"the result of resources/read: {'; '.join(found[:3])}")
        else:
            yield kept(exchange)


@rule("resources.read.blob-base64", reads=_READS)
def blobs_are_base64(seen: ProbeSession) -> Iterator[Note]:
    """Binary data is encoded."""
    yield from undeclared(seen, "resources")
    blobs = ((exchange, item) for exchange, item in read_contents(seen) if "blob" in item)
    yield from note_each(blobs, lambda item: base64_problem(item["blob"]))


@rule("resources.read.mime-consistent", reads=("walk", "read-resources"))
def mime_types_agree(seen: ProbeSession) -> Iterator[Note]:
    """What is read has the type that the list said."""
    listed = {
        item["uri"]: item["mimeType"]
        for item in seen.listed("resources")
        if isinstance(item.get("uri"), str) and isinstance(item.get("mimeType"), str)
    }
    for exchange, item in read_contents(seen):
        uri, given = item.get("uri"), item.get("mimeType")
        if not isinstance(uri, str) or uri not in listed or not isinstance(given, str):
            continue
        if _essence(given) == _essence(listed[uri]):
            yield kept(exchange)
        else:
            yield broken(exchange, f"{uri[:80]!r} is listed as {listed[uri]!r}, read as {given!r}")


def _essence(mime: str) -> str:
    return mime.partition(";")[0].strip().lower()


# -- what is not there -----------------------------------------------------------------------------


def _not_found(seen: ProbeSession) -> Iterator[Note]:
    yield from undeclared(seen, "resources")
    code = seen.revision.resource_not_found
    yield from expect_codes(seen.tagged(_UNKNOWN), "a resource that does not exist", (code,))


@rule("resources.notfound.32002", reads=("resource-refusals",))
def missing_resources_have_their_code(seen: ProbeSession) -> Iterator[Note]:
    """-32002."""
    yield from _not_found(seen)


@rule("resources.notfound.32602", reads=("resource-refusals",))
def missing_resources_are_invalid_params(seen: ProbeSession) -> Iterator[Note]:
    """-32602."""
    yield from _not_found(seen)


@rule("resources.notfound.no-empty", reads=("resource-refusals",))
def missing_resources_are_not_empty(seen: ProbeSession) -> Iterator[Note]:
    """No result with nothing in it."""
    yield from undeclared(seen, "resources")
    for exchange in seen.tagged(_UNKNOWN):
        if exchange.result is not None and not exchange.result.get("contents"):
            yield broken(exchange, "a resource that does not exist has empty contents")
        elif exchange.answer is not None:
            yield kept(exchange)


@rule("resources.security.validate-uri", reads=("resource-refusals",))
def uris_are_validated(seen: ProbeSession) -> Iterator[Note]:
    """What is no URI is refused, and the server lives on."""
    yield from undeclared(seen, "resources")
    for exchange in seen.tagged("resource-refusals/malformed"):
        # A long one is still a URI, so somebody may have it.
        is_fine = exchange.error is not None or (
            exchange.tag.endswith("/long") and exchange.result is not None
        )
        if is_fine:
            yield kept(exchange)
        elif exchange.is_silent or (exchange.result is not None and not _is_complete(exchange)):
            continue
        else:
            given = str(exchange.params.get("uri"))[:60]
            yield broken(exchange, f"uri {given!r} got {exchange.describe()}; an error was due")


@rule("resources.security.traversal", reads=("traversal",))
def nobody_climbs_out_of_a_folder(seen: ProbeSession) -> Iterator[Note]:
    """A file that is not served by its own URI is not served by climbing to it."""
    reads = {exchange.tag.partition("/")[2]: exchange for exchange in seen.tagged("traversal")}
    direct = reads.pop("direct", None)
    if direct is None:
        if seen.pages("resources"):
            yield absent("the server has no file: resources")
        return
    if (direct.result or {}).get("contents"):
        yield absent("the server serves the whole file system")
        return
    for name, exchange in reads.items():
        if (exchange.result or {}).get("contents"):
            uri = str(exchange.params.get("uri"))[:120]
            yield broken(exchange, f"{uri!r} ({name}) leads out of what is served, and was read")
        elif exchange.answer is not None:
            yield kept(exchange)


# -- subscriptions ---------------------------------------------------------------------------------


@rule("resources.subscribe", reads=("subscribe",))
def subscriptions_are_answered(seen: ProbeSession) -> Iterator[Note]:
    """With a result, both ways."""
    yield from undeclared(seen, "resources.subscribe")
    for exchange in answered(seen.tagged("subscribe")):
        if exchange.result is not None:
            yield kept(exchange)
        else:
            yield broken(exchange, f"{exchange.method} got {exchange.describe()}; a result was due")


@rule("resources.subscribe-undeclared", reads=("undeclared",))
def subscriptions_are_refused_where_there_are_none(seen: ProbeSession) -> Iterator[Note]:
    """-32601, as for a method that does not exist."""
    if seen.has("resources.subscribe"):
        yield absent("the server declares resources.subscribe")
    found = seen.tagged("undeclared/resources/subscribe")
    yield from expect_codes(found, "resources/subscribe, which is not declared,", (-32601,))


@rule("resources.updated-only-subscribed", reads=("subscribe",))
def updates_are_of_what_was_subscribed(seen: ProbeSession) -> Iterator[Note]:
    """Of the URI, or of something below it."""
    for heard in seen.notifications("notifications/resources/updated"):
        wanted = _subscribed(seen, heard)
        uri = heard.params.get("uri")
        if isinstance(uri, str) and any(uri.startswith(one) for one in wanted):
            yield kept(heard)
        else:
            yield broken(heard, f"an update of {uri!r:.80}, but subscribed was {sorted(wanted)}")


def _subscribed(seen: ProbeSession, heard: Heard) -> set[str]:
    """What was asked for on the same line until then."""
    wanted: set[str] = set()
    for exchange in seen.sent("resources/subscribe", "subscriptions/listen"):
        if exchange.line != heard.frame.line or exchange.sent.n > heard.frame.n:
            continue
        asked = exchange.params.get("notifications")
        uris = asked.get("resourceSubscriptions") if isinstance(asked, dict) else None
        named = [exchange.params.get("uri"), *(uris if isinstance(uris, list) else ())]
        wanted |= {uri for uri in named if isinstance(uri, str)}
    return wanted


unjudged.update(
    {
        "resources.read.multiple": "a permission: nothing to break",
        "resources.read.input-required": "a permission: the rows of multi round-trip requests "
        "judge it",
        "resources.uri.xdg": "a permission: nothing to break",
        "resources.error.internal": "needs a resource that fails",
        "resources.security.access": "nothing on the wire shows how access is controlled",
        "resources.security.permissions": "nothing on the wire shows when permissions are checked",
    }
)
