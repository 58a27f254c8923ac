"""Server features: tools, prompts, resources, completions, and their results."""

from __future__ import annotations

from dovetail.spec.revisions import (
    V2025_03_26,
    V2025_06_18,
    V2025_11_25,
    V2026_07_28,
)
from dovetail_check.shapes.spans import Choice, Entry, Members, only, since, until

__all__ = ["FEATURES", "RESULT"]

# Every result has these.
RESULT: dict[str, Entry] = {
    "_meta?": (until(V2025_11_25, "object"), since(V2026_07_28, "ResultMeta")),
    "resultType": since(V2026_07_28, "string"),
}
_CACHEABLE: dict[str, Entry] = {
    **RESULT,
    "ttlMs": since(V2026_07_28, "count"),
    "cacheScope": since(V2026_07_28, "'public' | 'private'"),
}
_LIST: dict[str, Entry] = {**_CACHEABLE, "nextCursor?": "string"}
_NAMED: dict[str, Entry] = {
    "name": "string",
    "title?": since(V2025_06_18, "string"),
    "description?": "string",
    "icons?": since(V2025_11_25, "[Icon]"),
    "_meta?": since(V2025_06_18, "object"),
}

_TOOLS: dict[str, Members | Choice] = {
    "ListToolsResult": {**_LIST, "tools": "[Tool]"},
    "Tool": {
        **_NAMED,
        "inputSchema": (
            until(V2025_11_25, "ObjectSchema"),
            since(V2026_07_28, "RootObjectSchema"),
        ),
        "outputSchema?": (
            # Before the revision that defines it, the member may have any value.
            *(only(revision, "ObjectSchema") for revision in (V2025_06_18, V2025_11_25)),
            since(V2026_07_28, "AnySchema"),
        ),
        "annotations?": since(V2025_03_26, "ToolAnnotations"),
        "execution?": only(V2025_11_25, "ToolExecution"),
    },
    "ObjectSchema": {
        "$schema?": since(V2025_11_25, "string"),
        "type": "'object'",
        "properties?": "{object}",
        "required?": "[string]",
    },
    "RootObjectSchema": {"$schema?": "string", "type": "'object'"},
    "AnySchema": {"$schema?": "string"},
    "ToolAnnotations": {
        "title?": "string",
        "readOnlyHint?": "boolean",
        "destructiveHint?": "boolean",
        "idempotentHint?": "boolean",
        "openWorldHint?": "boolean",
    },
    "ToolExecution": {"taskSupport?": "'forbidden' | 'optional' | 'required'"},
    "CallToolResult": {
        **RESULT,
        "content": "[ContentBlock]",
        "structuredContent?": (
            *(only(revision, "object") for revision in (V2025_06_18, V2025_11_25)),
            since(V2026_07_28, "any"),
        ),
        "isError?": "boolean",
    },
}

_PROMPTS: dict[str, Members | Choice] = {
    "ListPromptsResult": {**_LIST, "prompts": "[Prompt]"},
    "Prompt": {**_NAMED, "arguments?": "[PromptArgument]"},
    "PromptArgument": {
        "name": "string",
        "title?": since(V2025_06_18, "string"),
        "description?": "string",
        "required?": "boolean",
    },
    "GetPromptResult": {**RESULT, "description?": "string", "messages": "[PromptMessage]"},
    "PromptMessage": {"role": "'user' | 'assistant'", "content": "ContentBlock"},
}

_RESOURCES: dict[str, Members | Choice] = {
    "ListResourcesResult": {**_LIST, "resources": "[Resource]"},
    "Resource": {
        **_NAMED,
        "uri": "string",
        "mimeType?": "string",
        "size?": "integer",
        "annotations?": "Annotations",
    },
    "ListResourceTemplatesResult": {**_LIST, "resourceTemplates": "[ResourceTemplate]"},
    "ResourceTemplate": {
        **_NAMED,
        "uriTemplate": "string",
        "mimeType?": "string",
        "annotations?": "Annotations",
    },
    "ReadResourceResult": {**_CACHEABLE, "contents": "[ResourceContents]"},
    "ResourceContents": {"=": "TextResourceContents | BlobResourceContents"},
    "TextResourceContents": {
        "uri": "string",
        "mimeType?": "string",
        "text": "string",
        "_meta?": since(V2025_06_18, "object"),
    },
    "BlobResourceContents": {
        "uri": "string",
        "mimeType?": "string",
        "blob": "string",
        "_meta?": since(V2025_06_18, "object"),
    },
}

_COMPLETIONS: dict[str, Members | Choice] = {
    "CompleteResult": {**RESULT, "completion": "Completion"},
    "Completion": {"values": "[string]", "total?": "integer", "hasMore?": "boolean"},
}

FEATURES: dict[str, Members | Choice] = {**_TOOLS, **_PROMPTS, **_RESOURCES, **_COMPLETIONS}
