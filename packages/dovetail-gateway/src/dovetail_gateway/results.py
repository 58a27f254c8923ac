"""Results of the upstream in the form of the caller's revision.

The members of a result stay encoded. They are decoded only if the caller's revision lacks
something that the revision of the upstream has.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

import msgspec
from msgspec import Raw, Struct, field

from dovetail.core.call import Call
from dovetail.core.era import Encoded
from dovetail.errors import PeerError
from dovetail.features.content import fit_block, fit_blocks
from dovetail.features.tools import wrap_schema
from dovetail.spec.fields import drop_unknown, has_all_content_fields
from dovetail.spec.keys import SERVER_INFO
from dovetail.spec.models import Prompt, PromptMessage, Resource, ResourceTemplate, Tool
from dovetail.spec.results import WireBlock, WirePromptMessage, read_block, read_blocks
from dovetail.spec.revisions import Family, Revision, StructuredOutput
from dovetail.wire import codec

__all__ = ["LISTS", "ResultHead", "find_next", "fit_result", "read_head", "read_members"]

# Method -> the member with the entries, and their type.
LISTS: Mapping[str, tuple[str, type[Struct]]] = {
    "tools/list": ("tools", Tool),
    "prompts/list": ("prompts", Prompt),
    "resources/list": ("resources", Resource),
    "resources/templates/list": ("resourceTemplates", ResourceTemplate),
}
# Results that have cache hints in the modern era; a legacy upstream gives none.
_CACHEABLE = frozenset({*LISTS, "resources/read"})
_NO_CACHING = {"ttlMs": 0, "cacheScope": "private"}
_MODERN_MEMBERS = ("resultType", "ttlMs", "cacheScope")


class ResultHead(Struct, rename="camel"):
    """The type of a modern result, and the members of an `input_required` result."""

    result_type: str = "complete"
    input_requests: dict[str, dict[str, Any]] | None = None
    request_state: str | None = None


class _Page(Struct, rename="camel"):
    next_cursor: str | None = None


class _OwnMeta(Struct, omit_defaults=True):
    meta: dict[str, Any] | None = field(default=None, name="_meta")


def read_head(raw: Raw, method: str) -> ResultHead:
    """Return the head of a modern result; raises PeerError."""
    try:
        return codec.decode_as(ResultHead, raw)
    except msgspec.ValidationError as error:
        raise PeerError(f"the result of {method} is invalid: {error}") from None


def find_next(raw: Raw) -> str | None:
    """Return the cursor of the next page in a result."""
    try:
        return codec.decode_as(_Page, raw).next_cursor
    except msgspec.ValidationError:
        # The caller gets the page as it is.
        return None


def read_members(raw: Raw | bytes, method: str) -> dict[str, Any]:
    """Return the members of a result, still encoded; raises PeerError."""
    try:
        return dict(codec.decode_as(dict[str, Raw], raw))
    except msgspec.ValidationError as error:
        raise PeerError(f"the result of {method} is invalid: {error}") from None


def fit_result(
    call: Call,
    method: str,
    raw: Raw,
    upstream: Revision,
    change: Callable[[dict[str, Any]], None] | None = None,
) -> Encoded:
    """Return a result of the upstream for the caller; `change` may alter its members."""
    own = call.era.revision
    is_older = own.precedes(upstream)
    if own.family is upstream.family and not is_older and change is None:
        return Encoded(bytes(raw))
    members = read_members(raw, method)
    if upstream.family is not Family.LEGACY and own.family is Family.LEGACY:
        _drop_modern(members)
    if own is not upstream:
        _fit_members(method, members, own)
    if change is not None:
        change(members)
    if own.family is Family.LEGACY or upstream.family is own.family:
        return Encoded(codec.encode(members))
    return Encoded(_complete(call, method, members))


def _drop_modern(members: dict[str, Any]) -> None:
    for name in _MODERN_MEMBERS:
        members.pop(name, None)
    meta = members.get("_meta")
    if meta is not None:
        kept = codec.decode_as(dict[str, Raw], meta)
        kept.pop(SERVER_INFO, None)
        if kept:
            members["_meta"] = kept
        else:
            del members["_meta"]


def _complete(call: Call, method: str, members: dict[str, Any]) -> bytes:
    """Add what every modern result has."""
    for name in _MODERN_MEMBERS:
        # A legacy upstream may use the names in its own way.
        members.pop(name, None)
    if method in _CACHEABLE:
        members.update(_NO_CACHING)
    meta = members.pop("_meta", None)
    if meta is None:
        return call.era.complete(members)
    head = call.era.complete(_OwnMeta(codec.decode_as(dict[str, Any], meta)))
    return b"%b,%b" % (head[:-1], codec.encode(members)[1:]) if members else head


def _fit_members(method: str, members: dict[str, Any], revision: Revision) -> None:
    try:
        if method in LISTS:
            _fit_list(*LISTS[method], members, revision)
        elif method == "tools/call":
            _fit_called(members, revision)
        elif method == "prompts/get" and "messages" in members and not _has_all(revision):
            messages = codec.decode_as(list[WirePromptMessage], members["messages"])
            members["messages"] = [
                PromptMessage(
                    role=message.role, content=fit_block(read_block(message.content), revision)
                )
                for message in messages
            ]
    except msgspec.ValidationError as error:
        raise PeerError(f"the result of {method} is invalid: {error}") from None


def _fit_list(member: str, kind: type[Struct], members: dict[str, Any], revision: Revision) -> None:
    if member not in members:
        return
    entries = codec.decode_as(list[dict[str, Any]], members[member])
    for entry in entries:
        drop_unknown(kind, entry, revision)
        schema = entry.get("outputSchema")
        wraps = revision.structured_output is StructuredOutput.OBJECT
        if wraps and isinstance(schema, dict) and schema.get("type") != "object":
            # tools.outputschema.root-object (2025-11-25 schema)
            entry["outputSchema"] = wrap_schema(schema)
    members[member] = entries


def _fit_called(members: dict[str, Any], revision: Revision) -> None:
    if "content" in members and not _has_all(revision):
        content = codec.decode_as(list[WireBlock], members["content"])
        members["content"] = fit_blocks(read_blocks(content), revision)
    structured = members.get("structuredContent")
    if structured is None or revision.structured_output is StructuredOutput.ANY:
        return
    if revision.structured_output is StructuredOutput.NONE:
        del members["structuredContent"]
    elif bytes(structured)[:1] != b"{":
        # tools.call.structured-object (2025-11-25 schema): the root must be an object
        members["structuredContent"] = {"result": structured}


def _has_all(revision: Revision) -> bool:
    """Whether the revision has every kind of content with all members."""
    return has_all_content_fields(revision) and "resource_link" in revision.content_types
