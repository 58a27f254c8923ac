"""Requests to clients: sampling, elicitation, roots. By era they are requests or inputs."""

from __future__ import annotations

from dovetail.spec.revisions import (
    V2025_06_18,
    V2025_11_25,
    V2026_07_28,
)
from dovetail_check.shapes.features import RESULT
from dovetail_check.shapes.spans import Choice, Members, only, since, until

__all__ = ["CLIENT_REQUESTS"]

_SAMPLING: dict[str, Members | Choice] = {
    "CreateMessageRequestParams": {
        "messages": "[SamplingMessage]",
        "maxTokens": "integer",
        "modelPreferences?": "ModelPreferences",
        "systemPrompt?": "string",
        "includeContext?": "'none' | 'thisServer' | 'allServers'",
        "temperature?": "number",
        "stopSequences?": "[string]",
        "metadata?": "object",
        "tools?": since(V2025_11_25, "[Tool]"),
        "toolChoice?": since(V2025_11_25, "ToolChoice"),
        "task?": only(V2025_11_25, "TaskMetadata"),
        "_meta?": until(V2025_11_25, "RequestMeta"),
    },
    "SamplingMessage": {
        "role": "'user' | 'assistant'",
        "content": (
            until(V2025_06_18, "SamplingMessageContentBlock"),
            since(V2025_11_25, "SamplingMessageContentBlock | [SamplingMessageContentBlock]"),
        ),
        "_meta?": since(V2025_11_25, "object"),
    },
    "ModelPreferences": {
        "hints?": "[ModelHint]",
        "costPriority?": "fraction",
        "speedPriority?": "fraction",
        "intelligencePriority?": "fraction",
    },
    "ModelHint": {"name?": "string"},
    "ToolChoice": {"mode?": "'auto' | 'required' | 'none'"},
}

_ELICITATION: dict[str, Members | Choice] = {
    "ElicitRequestParams": Choice(
        "mode",
        {
            "form": "ElicitRequestFormParams",
            "url": since(V2025_11_25, "ElicitRequestURLParams"),
        },
        default="form",
    ),
    "ElicitRequestFormParams": {
        "mode?": since(V2025_11_25, "'form'"),
        "message": "string",
        "requestedSchema": "RequestedSchema",
        "task?": only(V2025_11_25, "TaskMetadata"),
        "_meta?": until(V2025_11_25, "RequestMeta"),
    },
    "ElicitRequestURLParams": {
        "mode": "'url'",
        "message": "string",
        "url": "string",
        "elicitationId": only(V2025_11_25, "string"),
        "task?": only(V2025_11_25, "TaskMetadata"),
        "_meta?": until(V2025_11_25, "RequestMeta"),
    },
    "RequestedSchema": {
        "$schema?": since(V2025_11_25, "string"),
        "type": "'object'",
        "properties": "{PrimitiveSchemaDefinition}",
        "required?": "[string]",
    },
    "PrimitiveSchemaDefinition": Choice(
        "type",
        {
            "string": (
                until(V2025_06_18, "StringSchema | EnumSchema"),
                since(V2025_11_25, "StringSchema | EnumSchema | TitledEnumSchema"),
            ),
            "number": "NumberSchema",
            "integer": "NumberSchema",
            "boolean": "BooleanSchema",
            "array": since(V2025_11_25, "MultiSelectEnumSchema"),
        },
    ),
    "StringSchema": {
        "title?": "string",
        "description?": "string",
        "minLength?": "integer",
        "maxLength?": "integer",
        "format?": "'email' | 'uri' | 'date' | 'date-time'",
        "default?": since(V2025_11_25, "string"),
    },
    "NumberSchema": {
        "title?": "string",
        "description?": "string",
        "minimum?": "number",
        "maximum?": "number",
        "default?": since(V2025_11_25, "number"),
    },
    "BooleanSchema": {"title?": "string", "description?": "string", "default?": "boolean"},
    "EnumSchema": {
        "title?": "string",
        "description?": "string",
        "enum": "[string]",
        "enumNames?": "[string]",
        "default?": since(V2025_11_25, "string"),
    },
    "TitledEnumSchema": {
        "title?": "string",
        "description?": "string",
        "oneOf": "[TitledValue]",
        "default?": "string",
    },
    "TitledValue": {"const": "string", "title": "string"},
    "MultiSelectEnumSchema": {
        "title?": "string",
        "description?": "string",
        "minItems?": "integer",
        "maxItems?": "integer",
        "items": "UntitledItems | TitledItems",
        "default?": "[string]",
    },
    "UntitledItems": {"type": "'string'", "enum": "[string]"},
    "TitledItems": {"anyOf": "[TitledValue]"},
}

CLIENT_REQUESTS: dict[str, Members | Choice] = {
    **_SAMPLING,
    **_ELICITATION,
    "RequestMeta": {"progressToken?": "string | integer"},
    "AnyRequestParams": {"_meta?": "RequestMeta"},
    "InputRequiredResult": {
        **RESULT,
        "inputRequests?": "{InputRequest}",
        "requestState?": "string",
    },
    "InputRequest": Choice(
        "method",
        {
            "sampling/createMessage": "CreateMessageInput",
            "elicitation/create": "ElicitInput",
            "roots/list": "ListRootsInput",
        },
    ),
    "CreateMessageInput": {"params": "CreateMessageRequestParams"},
    "ElicitInput": {"params": "ElicitRequestParams"},
    "ListRootsInput": {"params?": since(V2026_07_28, "object")},
}
