"""Valid messages of the newest revision of each era, and functions that make them invalid."""

from __future__ import annotations

import copy
from collections.abc import Iterator
from typing import Any, NamedTuple

__all__ = ["INPUTS", "NOTIFICATIONS", "REQUESTS", "RESULTS", "Spoiled", "modernize", "spoil"]

_ICON = {"src": "https://example.com/i.png", "mimeType": "image/png", "sizes": ["48x48"]}
_NOTES = {"audience": ["user"], "priority": 0.5, "lastModified": "2025-01-01T00:00:00Z"}
_LINK = {"type": "resource_link", "uri": "note://a", "name": "a", "size": 3, "icons": [_ICON]}
_TEXT_RESOURCE = {"uri": "note://a", "mimeType": "text/plain", "text": "a", "_meta": {}}
_BLOB_RESOURCE = {"uri": "note://b", "blob": "AAAA"}
_CONTENT = [
    {"type": "text", "text": "a", "annotations": _NOTES, "_meta": {"a": 1}},
    {"type": "image", "data": "AAAA", "mimeType": "image/png"},
    {"type": "audio", "data": "AAAA", "mimeType": "audio/wav", "annotations": {}},
    {"type": "resource", "resource": _TEXT_RESOURCE},
    {"type": "resource", "resource": _BLOB_RESOURCE, "annotations": _NOTES},
    {**_LINK, "title": "A", "description": "a", "mimeType": "text/plain", "annotations": _NOTES},
]
_SCHEMA = {"type": "object", "properties": {"a": {"type": "string"}}, "required": ["a"]}
_TOOL = {
    "name": "add",
    "title": "Add",
    "description": "Adds.",
    "inputSchema": _SCHEMA,
    "outputSchema": {"$schema": "https://json-schema.org/draft/2020-12/schema", **_SCHEMA},
    "annotations": {
        "title": "Add",
        "readOnlyHint": True,
        "destructiveHint": False,
        "idempotentHint": True,
        "openWorldHint": False,
    },
    "icons": [{**_ICON, "theme": "dark"}],
    "_meta": {},
}
_SERVER = {
    "name": "s",
    "version": "1",
    "title": "S",
    "description": "s",
    "websiteUrl": "https://example.com",
    "icons": [_ICON],
}
_CAPABILITIES = {
    "experimental": {"x": {}},
    "logging": {},
    "completions": {},
    "prompts": {"listChanged": True},
    "resources": {"subscribe": True, "listChanged": False},
    "tools": {"listChanged": True},
}

# Results of a server, by method.
RESULTS: dict[str, list[dict[str, Any]]] = {
    "initialize": [
        {
            "protocolVersion": "2025-11-25",
            "capabilities": _CAPABILITIES,
            "serverInfo": _SERVER,
            "instructions": "Do.",
            "_meta": {},
        }
    ],
    "server/discover": [
        {"supportedVersions": ["2026-07-28"], "capabilities": _CAPABILITIES, "instructions": "Do."}
    ],
    "ping": [{}, {"_meta": {}}],
    "tools/list": [{"tools": [_TOOL, {"name": "b", "inputSchema": {"type": "object"}}]}],
    "tools/call": [
        {"content": _CONTENT, "structuredContent": {"a": 1}, "isError": False, "_meta": {}},
        {"content": []},
    ],
    "prompts/list": [
        {
            "prompts": [
                {
                    "name": "p",
                    "title": "P",
                    "description": "p",
                    "arguments": [
                        {"name": "a", "title": "A", "description": "a", "required": True}
                    ],
                    "icons": [_ICON],
                    "_meta": {},
                }
            ],
            "nextCursor": "x",
        }
    ],
    "prompts/get": [
        {
            "description": "p",
            "messages": [{"role": "user", "content": block} for block in _CONTENT],
        }
    ],
    "resources/list": [
        {
            "resources": [
                {
                    "uri": "note://a",
                    "name": "a",
                    "title": "A",
                    "description": "a",
                    "mimeType": "text/plain",
                    "size": 3,
                    "annotations": _NOTES,
                    "icons": [_ICON],
                    "_meta": {},
                }
            ]
        }
    ],
    "resources/templates/list": [
        {
            "resourceTemplates": [
                {
                    "uriTemplate": "note://{id}",
                    "name": "a",
                    "title": "A",
                    "description": "a",
                    "mimeType": "text/plain",
                    "annotations": _NOTES,
                    "icons": [_ICON],
                    "_meta": {},
                }
            ]
        }
    ],
    "resources/read": [{"contents": [_TEXT_RESOURCE, _BLOB_RESOURCE]}],
    "resources/subscribe": [{}],
    "logging/setLevel": [{}],
    "completion/complete": [{"completion": {"values": ["a"], "total": 2, "hasMore": True}}],
    "subscriptions/listen": [{"_meta": {"io.modelcontextprotocol/subscriptionId": 1}}],
}

_ELICITED = {
    "name": {"type": "string", "title": "N", "minLength": 1, "format": "email", "default": "a"},
    "age": {"type": "integer", "minimum": 0, "maximum": 9, "default": 1, "description": "d"},
    "size": {"type": "number"},
    "ok": {"type": "boolean", "default": True},
}
_CHOSEN = {
    "plain": {"type": "string", "enum": ["a"], "default": "a"},
    "titled": {"type": "string", "oneOf": [{"const": "a", "title": "A"}]},
    "many": {
        "type": "array",
        "items": {"type": "string", "enum": ["a"]},
        "minItems": 1,
        "maxItems": 2,
        "default": ["a"],
    },
    "many titled": {"type": "array", "items": {"anyOf": [{"const": "a", "title": "A"}]}},
}

# Server requests in the legacy era.
REQUESTS: dict[str, list[dict[str, Any] | None]] = {
    "ping": [None],
    "roots/list": [None],
    "sampling/createMessage": [
        {
            "messages": [
                {"role": "user", "content": {"type": "text", "text": "a"}},
                {
                    "role": "assistant",
                    "content": [{"type": "tool_use", "id": "1", "name": "a", "input": {}}],
                },
                {
                    "role": "user",
                    "content": [{"type": "tool_result", "toolUseId": "1", "content": _CONTENT[:1]}],
                },
            ],
            "maxTokens": 5,
            "modelPreferences": {"hints": [{"name": "m"}], "costPriority": 1},
            "systemPrompt": "s",
            "includeContext": "none",
            "temperature": 0.5,
            "stopSequences": ["x"],
            "metadata": {},
            "tools": [{"name": "b", "inputSchema": {"type": "object"}}],
            "toolChoice": {"mode": "auto"},
        }
    ],
    "elicitation/create": [
        {"message": "m", "requestedSchema": {"type": "object", "properties": _ELICITED}},
        {
            "mode": "form",
            "message": "m",
            "requestedSchema": {"type": "object", "properties": _CHOSEN, "required": ["plain"]},
        },
        {"mode": "url", "message": "m", "url": "https://example.com", "elicitationId": "1"},
    ],
}

# Server notifications.
NOTIFICATIONS: dict[str, list[dict[str, Any] | None]] = {
    "notifications/cancelled": [{"requestId": 1, "reason": "r"}],
    "notifications/progress": [
        {"progressToken": "t", "progress": 0.5, "total": 1, "message": "m", "_meta": {}}
    ],
    "notifications/message": [{"level": "info", "logger": "l", "data": {"a": 1}}],
    "notifications/resources/updated": [{"uri": "note://a"}],
    "notifications/resources/list_changed": [None],
    "notifications/tools/list_changed": [None],
    "notifications/prompts/list_changed": [{"_meta": {}}],
    "notifications/elicitation/complete": [{"elicitationId": "1"}],
    "notifications/subscriptions/acknowledged": [
        {
            "notifications": {"toolsListChanged": True, "resourceSubscriptions": ["note://a"]},
            "_meta": {"io.modelcontextprotocol/subscriptionId": "x"},
        }
    ],
}

# Entries of `inputRequests` in the modern era.
INPUTS: list[dict[str, Any]] = [
    {"method": method, **({} if params is None else {"params": params})}
    for method, given in REQUESTS.items()
    if method != "ping"
    for params in given
]

_CACHED = (
    "server/discover",
    "tools/list",
    "prompts/list",
    "resources/list",
    "resources/templates/list",
    "resources/read",
)


def modernize(result: dict[str, Any], method: str) -> dict[str, Any]:
    """A result with the members that the modern era adds."""
    meta = {**result.get("_meta", {}), "io.modelcontextprotocol/serverInfo": _SERVER}
    added: dict[str, Any] = {"resultType": "complete", "_meta": meta}
    if method in _CACHED:
        added |= {"ttlMs": 0, "cacheScope": "private"}
    return {**result, **added}


class Spoiled(NamedTuple):
    """A value with one change."""

    value: Any
    # The path, without array indexes.
    path: str
    # The new value; MISSING if the member was removed.
    now: Any


MISSING = object()
# Models that convert types accept none of them as another type.
_WRONG = (7, "wrong", ["wrong"], {"wrong": 7})


def spoil(value: Any) -> Iterator[Spoiled]:
    """Each member removed once, and replaced once by each JSON type."""
    for steps in _places(value):
        for now in (MISSING, *_WRONG):
            changed = copy.deepcopy(value)
            holder = changed
            for step in steps[:-1]:
                holder = holder[step]
            if now is MISSING:
                del holder[steps[-1]]
            else:
                holder[steps[-1]] = copy.deepcopy(now)
            path = ".".join("[]" if isinstance(step, int) else str(step) for step in steps)
            yield Spoiled(changed, path, now)


def _places(value: Any, steps: tuple[Any, ...] = ()) -> Iterator[tuple[Any, ...]]:
    inside: Any = ()
    if isinstance(value, dict):
        inside = value.items()
    elif isinstance(value, list):
        inside = enumerate(value)
    for key, item in inside:
        yield (*steps, key)
        yield from _places(item, (*steps, key))
