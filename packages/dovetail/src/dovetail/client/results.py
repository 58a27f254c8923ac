"""What a client's methods return, where the shapes of `spec.models` are too bare.

Decoded and frozen; nothing here talks to anybody.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Any, Generic, TypeVar

import msgspec
from msgspec import UNSET, Raw, Struct

from dovetail.client.content import CalledOnWire, ReadOnWire, read_blocks
from dovetail.errors import PeerError, ToolError
from dovetail.spec.models import (
    BlobContents,
    ContentBlock,
    Implementation,
    Meta,
    Prompt,
    Resource,
    ResourceContents,
    ResourceTemplate,
    TextContent,
    TextContents,
    Tool,
)
from dovetail.wire import codec

__all__ = [
    "CallResult",
    "Page",
    "PromptsListed",
    "ReadResult",
    "ResourcesListed",
    "ServerFacts",
    "TemplatesListed",
    "ToolsListed",
    "decode_result",
]

T = TypeVar("T")


def decode_result(type_: type[T], raw: Raw, method: str) -> T:
    """A result as its type; raises PeerError where it does not fit."""
    try:
        return codec.decode_as(type_, raw)
    except msgspec.ValidationError as problem:
        text = f"The result of {method} does not fit the protocol: {problem}"
        raise PeerError(text) from None


@dataclass(frozen=True, slots=True)
class ServerFacts:
    """What a server says of itself when a client opens."""

    info: Implementation | None = None
    capabilities: dict[str, Any] = field(default_factory=dict)
    instructions: str | None = None
    # Every revision the server names; a legacy server names the negotiated one only.
    versions: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class CallResult:
    """What a tool answered."""

    tool: str
    content: Sequence[ContentBlock]
    structured: Any = None
    is_error: bool = False
    meta: Meta | None = None
    # Tells a structured null from nothing structured at all.
    has_structured: bool = False

    @property
    def text(self) -> str:
        """Every text block, joined by newlines."""
        return "\n".join(block.text for block in self.content if isinstance(block, TextContent))

    @property
    def data(self) -> Any:
        """What is structured if anything is, else the text."""
        return self.structured if self.has_structured else self.text

    def raise_for_error(self) -> CallResult:
        """Itself; raises ToolError with the tool's own words where the tool failed."""
        if self.is_error:
            raise ToolError(self.text or f"The tool {self.tool!r} failed without saying why")
        return self

    @classmethod
    def read(cls, tool: str, raw_result: Raw) -> CallResult:
        """The result of `tool`; raises PeerError where it does not fit."""
        result = decode_result(CalledOnWire, raw_result, "tools/call")
        raw = result.structured_content
        structured = None if raw is UNSET else decode_result(object, raw, "tools/call")
        content = read_blocks(result.content)
        return cls(tool, content, structured, result.is_error, result.meta, raw is not UNSET)


@dataclass(frozen=True, slots=True)
class ReadResult:
    """What a resource holds: usually one piece, of text or of bytes."""

    contents: Sequence[ResourceContents]
    meta: Meta | None = None

    @classmethod
    def read(cls, raw: Raw) -> ReadResult:
        """The result of resources/read; raises PeerError where it does not fit."""
        result = decode_result(ReadOnWire, raw, "resources/read")
        return cls([contents.read() for contents in result.contents], result.meta)

    @property
    def text(self) -> str:
        """Every piece of text, joined by newlines."""
        return "\n".join(c.text for c in self.contents if isinstance(c, TextContents))

    @property
    def blobs(self) -> Sequence[BlobContents]:
        """Every piece that is bytes, still in base64."""
        return tuple(c for c in self.contents if isinstance(c, BlobContents))


@dataclass(frozen=True, slots=True)
class Page(Generic[T]):
    """One page of a list; `next_cursor` is None on the last one."""

    items: Sequence[T]
    next_cursor: str | None = None


class _Listed(Struct, rename="camel", kw_only=True):
    next_cursor: str | None = None


class ToolsListed(_Listed, kw_only=True):
    """tools/list."""

    tools: list[Tool]


class PromptsListed(_Listed, kw_only=True):
    """prompts/list."""

    prompts: list[Prompt]


class ResourcesListed(_Listed, kw_only=True):
    """resources/list."""

    resources: list[Resource]


class TemplatesListed(_Listed, kw_only=True):
    """resources/templates/list."""

    resource_templates: list[ResourceTemplate]
