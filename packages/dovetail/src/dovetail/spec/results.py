"""Decoding of results: pages of lists, and content that the structs of `spec.models` cannot decode.

Text and binary resource contents differ by which field they have, not by a tag, and msgspec needs
a tag to decode a union. So both are decoded as one struct and then converted to the two models.
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any, TypeAlias

from msgspec import UNSET, Raw, Struct, UnsetType, field

from dovetail.errors import PeerError
from dovetail.spec.models import (
    Annotations,
    AudioContent,
    BlobContents,
    ContentBlock,
    EmbeddedResource,
    ImageContent,
    Meta,
    Prompt,
    Resource,
    ResourceContents,
    ResourceLink,
    ResourceTemplate,
    Role,
    TextContent,
    TextContents,
    Tool,
    ToolResultContent,
    ToolUseContent,
)

__all__ = [
    "ListPromptsResult",
    "ListResourcesResult",
    "ListTemplatesResult",
    "ListToolsResult",
    "SampledBlock",
    "WireBlock",
    "WireCallResult",
    "WirePromptMessage",
    "WirePromptResult",
    "WireReadResult",
    "WireSampledBlock",
    "read_block",
    "read_blocks",
    "read_sampled_block",
]


class WireContents(Struct, rename="camel", kw_only=True):
    """The contents of a resource: text or a blob."""

    uri: str
    mime_type: str | None = None
    text: str | None = None
    blob: str | None = None
    meta: Meta | None = field(default=None, name="_meta")

    def read(self) -> ResourceContents:
        """Convert to text or blob contents; raises PeerError if it has neither field."""
        shared: dict[str, Any] = {"uri": self.uri, "mime_type": self.mime_type, "meta": self.meta}
        if self.text is not None:
            return TextContents(text=self.text, **shared)
        if self.blob is not None:
            return BlobContents(blob=self.blob, **shared)
        raise PeerError(f"The contents of {self.uri!r} have neither text nor blob")


class WireEmbeddedResource(Struct, tag_field="type", tag="resource", kw_only=True):
    """Resource contents inside a result."""

    resource: WireContents
    annotations: Annotations | None = None
    meta: Meta | None = field(default=None, name="_meta")


WireBlock: TypeAlias = (
    TextContent | ImageContent | AudioContent | ResourceLink | WireEmbeddedResource
)


class WireToolResult(Struct, tag_field="type", tag="tool_result", rename="camel", kw_only=True):
    """The result of a tool that a sampled model called."""

    tool_use_id: str
    content: list[WireBlock]
    structured_content: Any = None
    is_error: bool | None = None
    meta: Meta | None = field(default=None, name="_meta")


WireSampledBlock: TypeAlias = (
    TextContent | ImageContent | AudioContent | ToolUseContent | WireToolResult
)
SampledBlock: TypeAlias = (
    TextContent | ImageContent | AudioContent | ToolUseContent | ToolResultContent
)


class WireCallResult(Struct, rename="camel", kw_only=True):
    """The result of tools/call."""

    content: list[WireBlock]
    structured_content: Raw | UnsetType = UNSET
    is_error: bool = False
    meta: Meta | None = field(default=None, name="_meta")


class WirePromptMessage(Struct, kw_only=True):
    """One message of a prompt."""

    role: Role
    content: WireBlock


class WirePromptResult(Struct, kw_only=True):
    """The result of prompts/get."""

    description: str | None = None
    messages: list[WirePromptMessage]
    meta: Meta | None = field(default=None, name="_meta")


class WireReadResult(Struct, kw_only=True):
    """The result of resources/read."""

    contents: list[WireContents]
    meta: Meta | None = field(default=None, name="_meta")


def read_block(block: WireBlock) -> ContentBlock:
    """Convert a content block to its model."""
    if isinstance(block, WireEmbeddedResource):
        return EmbeddedResource(
            resource=block.resource.read(), annotations=block.annotations, meta=block.meta
        )
    return block


def read_sampled_block(block: WireSampledBlock) -> SampledBlock:
    """Convert a content block of a sampling message to its model."""
    if isinstance(block, WireToolResult):
        return ToolResultContent(
            tool_use_id=block.tool_use_id,
            content=read_blocks(block.content),
            structured_content=block.structured_content,
            is_error=block.is_error,
            meta=block.meta,
        )
    return block


def read_blocks(blocks: Iterable[WireBlock]) -> list[ContentBlock]:
    """Convert content blocks to their models."""
    return [read_block(block) for block in blocks]


class _ListResult(Struct, rename="camel", kw_only=True):
    next_cursor: str | None = None


class ListToolsResult(_ListResult, kw_only=True):
    """The result of tools/list."""

    tools: list[Tool]


class ListPromptsResult(_ListResult, kw_only=True):
    """The result of prompts/list."""

    prompts: list[Prompt]


class ListResourcesResult(_ListResult, kw_only=True):
    """The result of resources/list."""

    resources: list[Resource]


class ListTemplatesResult(_ListResult, kw_only=True):
    """The result of resources/templates/list."""

    resource_templates: list[ResourceTemplate]
