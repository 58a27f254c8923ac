"""Content as it is read from the wire, where the shapes of `spec.models` can only be written.

Text and bytes of a resource are told apart by the member they have, not by a tag, and
the decoder wants a tag. So they are read as one shape and handed on as the two.
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
    ResourceContents,
    ResourceLink,
    Role,
    TextContent,
    TextContents,
    ToolResultContent,
    ToolUseContent,
)

__all__ = [
    "CalledOnWire",
    "PromptOnWire",
    "ReadOnWire",
    "SampledBlock",
    "WireBlock",
    "WireSampledBlock",
    "read_block",
    "read_blocks",
    "read_sampled_block",
]


class ContentsOnWire(Struct, rename="camel", kw_only=True):
    """What a resource holds: text or bytes."""

    uri: str
    mime_type: str | None = None
    text: str | None = None
    blob: str | None = None
    meta: Meta | None = field(default=None, name="_meta")

    def read(self) -> ResourceContents:
        """As one of the two shapes; raises PeerError where it is neither."""
        shared: dict[str, Any] = {"uri": self.uri, "mime_type": self.mime_type, "meta": self.meta}
        if self.text is not None:
            return TextContents(text=self.text, **shared)
        if self.blob is not None:
            return BlobContents(blob=self.blob, **shared)
        raise PeerError(f"The contents of {self.uri!r} have neither text nor blob")


class EmbeddedOnWire(Struct, tag_field="type", tag="resource", kw_only=True):
    """The contents of a resource inside an answer."""

    resource: ContentsOnWire
    annotations: Annotations | None = None
    meta: Meta | None = field(default=None, name="_meta")


WireBlock: TypeAlias = TextContent | ImageContent | AudioContent | ResourceLink | EmbeddedOnWire


class ToolResultOnWire(Struct, tag_field="type", tag="tool_result", rename="camel", kw_only=True):
    """What came of a tool that a sampled model asked for."""

    tool_use_id: str
    content: list[WireBlock]
    structured_content: Any = None
    is_error: bool | None = None
    meta: Meta | None = field(default=None, name="_meta")


WireSampledBlock: TypeAlias = (
    TextContent | ImageContent | AudioContent | ToolUseContent | ToolResultOnWire
)
SampledBlock: TypeAlias = (
    TextContent | ImageContent | AudioContent | ToolUseContent | ToolResultContent
)


class CalledOnWire(Struct, rename="camel", kw_only=True):
    """tools/call."""

    content: list[WireBlock]
    structured_content: Raw | UnsetType = UNSET
    is_error: bool = False
    meta: Meta | None = field(default=None, name="_meta")


class PromptMessageOnWire(Struct, kw_only=True):
    """One message of a prompt."""

    role: Role
    content: WireBlock


class PromptOnWire(Struct, kw_only=True):
    """prompts/get."""

    description: str | None = None
    messages: list[PromptMessageOnWire]
    meta: Meta | None = field(default=None, name="_meta")


class ReadOnWire(Struct, kw_only=True):
    """resources/read."""

    contents: list[ContentsOnWire]
    meta: Meta | None = field(default=None, name="_meta")


def read_block(block: WireBlock) -> ContentBlock:
    """A block in the shape of `spec.models`."""
    if isinstance(block, EmbeddedOnWire):
        return EmbeddedResource(
            resource=block.resource.read(), annotations=block.annotations, meta=block.meta
        )
    return block


def read_sampled_block(block: WireSampledBlock) -> SampledBlock:
    """A block of a sampling message in the shape of `spec.models`."""
    if isinstance(block, ToolResultOnWire):
        return ToolResultContent(
            tool_use_id=block.tool_use_id,
            content=read_blocks(block.content),
            structured_content=block.structured_content,
            is_error=block.is_error,
            meta=block.meta,
        )
    return block


def read_blocks(blocks: Iterable[WireBlock]) -> list[ContentBlock]:
    """Several blocks in the shape of `spec.models`."""
    return [read_block(block) for block in blocks]
