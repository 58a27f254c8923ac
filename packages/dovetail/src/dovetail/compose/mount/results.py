"""The URIs in results of a mounted server, changed to those of the outer server."""

from __future__ import annotations

from typing import Any

import msgspec
from msgspec import Raw

from dovetail.compose.mount.names import Prefix
from dovetail.core.dispatch import Outcome, Shaped
from dovetail.core.era import Encoded
from dovetail.spec.models import (
    CallToolResult,
    ContentBlock,
    EmbeddedResource,
    GetPromptResult,
    PromptMessage,
    ReadResourceResult,
    ResourceLink,
)
from dovetail.wire import codec

__all__ = ["map_uris"]

_URI = b'"uri"'


def map_uris(outcome: Outcome, prefix: Prefix) -> Outcome:
    """Return the outcome with the prefix in the URIs of contents, links and resources."""
    if not prefix.text:
        return outcome
    # The most frequent first. Encoded results are decoded only if there may be a URI in them.
    if isinstance(outcome, Raw):
        return Raw(_map_body(bytes(outcome), prefix)) if _URI in bytes(outcome) else outcome
    if isinstance(outcome, CallToolResult):
        blocks = [_map_block(block, prefix) for block in outcome.content]
        return msgspec.structs.replace(outcome, content=blocks)
    if isinstance(outcome, GetPromptResult):
        messages = [
            PromptMessage(role=each.role, content=_map_block(each.content, prefix))
            for each in outcome.messages
        ]
        return msgspec.structs.replace(outcome, messages=messages)
    if isinstance(outcome, Shaped) and isinstance(outcome.result, ReadResourceResult):
        contents = [
            msgspec.structs.replace(each, uri=prefix.add_to_uri(each.uri))
            for each in outcome.result.contents
        ]
        return outcome._replace(result=msgspec.structs.replace(outcome.result, contents=contents))
    if isinstance(outcome, Encoded) and _URI in outcome.body:
        return Encoded(_map_body(outcome.body, prefix))
    return outcome


def _map_block(block: ContentBlock, prefix: Prefix) -> ContentBlock:
    if isinstance(block, ResourceLink):
        return msgspec.structs.replace(block, uri=prefix.add_to_uri(block.uri))
    if isinstance(block, EmbeddedResource):
        inner = block.resource
        inner = msgspec.structs.replace(inner, uri=prefix.add_to_uri(inner.uri))
        return msgspec.structs.replace(block, resource=inner)
    return block


def _map_body(body: bytes, prefix: Prefix) -> bytes:
    result = codec.decode_as(dict[str, Any], Raw(body))
    for part in _find_parts(result):
        # A link and the contents of a resource have the URI themselves.
        holder = part.get("resource") if part.get("type") == "resource" else part
        if isinstance(holder, dict) and isinstance(holder.get("uri"), str):
            holder["uri"] = prefix.add_to_uri(holder["uri"])
    return codec.encode(result)


def _find_parts(result: dict[str, Any]) -> list[dict[str, Any]]:
    """Return the content blocks and resource contents of a result."""
    messages = [each for each in result.get("messages") or () if isinstance(each, dict)]
    lists: list[Any] = [result.get("content"), result.get("contents")]
    lists.append([each.get("content") for each in messages])
    found = [part for parts in lists if isinstance(parts, list) for part in parts]
    return [part for part in found if isinstance(part, dict)]
