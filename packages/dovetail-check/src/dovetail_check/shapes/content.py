"""Content blocks, annotations and icons."""

from __future__ import annotations

from dovetail.spec.revisions import (
    V2025_03_26,
    V2025_06_18,
    V2025_11_25,
    V2026_07_28,
)
from dovetail_check.shapes.spans import Choice, Members, since, until

__all__ = ["CONTENT"]

CONTENT: dict[str, Members | Choice] = {
    "ContentBlock": Choice(
        "type",
        {
            "text": "TextContent",
            "image": "ImageContent",
            "audio": since(V2025_03_26, "AudioContent"),
            "resource": "EmbeddedResource",
            "resource_link": since(V2025_06_18, "ResourceLink"),
        },
    ),
    "SamplingMessageContentBlock": Choice(
        "type",
        {
            "text": "TextContent",
            "image": "ImageContent",
            "audio": since(V2025_03_26, "AudioContent"),
            "tool_use": since(V2025_11_25, "ToolUseContent"),
            "tool_result": since(V2025_11_25, "ToolResultContent"),
        },
    ),
    "TextContent": {
        "type": "'text'",
        "text": "string",
        "annotations?": "Annotations",
        "_meta?": since(V2025_06_18, "object"),
    },
    "ImageContent": {
        "type": "'image'",
        "data": "string",
        "mimeType": "string",
        "annotations?": "Annotations",
        "_meta?": since(V2025_06_18, "object"),
    },
    "AudioContent": {
        "type": "'audio'",
        "data": "string",
        "mimeType": "string",
        "annotations?": "Annotations",
        "_meta?": since(V2025_06_18, "object"),
    },
    "EmbeddedResource": {
        "type": "'resource'",
        "resource": "ResourceContents",
        "annotations?": "Annotations",
        "_meta?": since(V2025_06_18, "object"),
    },
    "ResourceLink": {
        "type": "'resource_link'",
        "uri": "string",
        "name": "string",
        "title?": "string",
        "description?": "string",
        "mimeType?": "string",
        "size?": "integer",
        "annotations?": "Annotations",
        "icons?": since(V2025_11_25, "[Icon]"),
        "_meta?": "object",
    },
    "ToolUseContent": {
        "type": "'tool_use'",
        "id": "string",
        "name": "string",
        "input": "object",
        "_meta?": "object",
    },
    "ToolResultContent": {
        "type": "'tool_result'",
        "toolUseId": "string",
        "content": "[ContentBlock]",
        "isError?": "boolean",
        "structuredContent?": (until(V2025_11_25, "object"), since(V2026_07_28, "any")),
        "_meta?": "object",
    },
    "Annotations": {
        "audience?": "['user' | 'assistant']",
        "priority?": "fraction",
        "lastModified?": since(V2025_06_18, "string"),
    },
    "Icon": {
        "src": "string",
        "mimeType?": "string",
        "sizes?": "[string]",
        "theme?": "'light' | 'dark'",
    },
}
