"""The result types of client methods, and the decoding of results."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Any, Generic, TypeVar

import msgspec
from msgspec import UNSET, Raw

from dovetail.errors import PeerError, ToolError
from dovetail.spec.models import (
    BlobContents,
    ContentBlock,
    Implementation,
    Meta,
    ResourceContents,
    TextContent,
    TextContents,
)
from dovetail.spec.results import WireCallResult, WireReadResult, read_blocks
from dovetail.wire import codec

__all__ = [
    "CallResult",
    "Page",
    "ReadResult",
    "ServerFacts",
    "decode_result",
]

T = TypeVar("T")


def decode_result(type_: type[T], raw: Raw, method: str) -> T:
    """Decode a result; raises PeerError if it is invalid."""
    try:
        return codec.decode_as(type_, raw)
    except msgspec.ValidationError as problem:
        text = f"Invalid result of {method}: {problem}"
        raise PeerError(text) from None


@dataclass(frozen=True, slots=True)
class ServerFacts:
    """The server's description of itself, read when a client opens."""

    info: Implementation | None = None
    capabilities: dict[str, Any] = field(default_factory=dict)
    instructions: str | None = None
    # The revisions that the server names; a legacy server names only the negotiated one.
    versions: tuple[str, ...] = ()


def _says(text: str, value: Any) -> bool:
    """Whether a text is a value, as it is or as JSON."""
    try:
        return text == value or bool(codec.decode_json(text.encode()) == value)
    except msgspec.DecodeError:
        return False


@dataclass(frozen=True, slots=True)
class CallResult:
    """The result of a tool call."""

    tool: str
    content: Sequence[ContentBlock]
    structured: Any = None
    is_error: bool = False
    meta: Meta | None = None
    # Distinguishes a structured null from no structured content.
    has_structured: bool = False

    @property
    def text(self) -> str:
        """All text blocks, joined by newlines."""
        return "\n".join(block.text for block in self.content if isinstance(block, TextContent))

    @property
    def data(self) -> Any:
        """The value that the tool returned: the structured content, or the text without it.

        In the legacy era a value that is not an object is sent inside one; it is taken out.
        """
        if not self.has_structured:
            return self.text
        return self.structured["result"] if self._is_wrapped() else self.structured

    def _is_wrapped(self) -> bool:
        """Whether the structured content is `{"result": value}` around the tool's value.

        The text has the value itself (2025-06-18 server/tools), so a tool that returns such an
        object is distinguished.
        """
        found = self.structured
        if not isinstance(found, dict) or found.keys() != {"result"}:
            return False
        value = found["result"]
        texts = [block.text for block in self.content if isinstance(block, TextContent)]
        if len(texts) == 1 and _says(texts[0], value):
            return True
        # Some servers send one block per item.
        is_list = isinstance(value, list) and len(value) == len(texts)
        return is_list and all(map(_says, texts, value))

    def raise_for_error(self) -> CallResult:
        """Return self, or raise ToolError with the tool's message if the tool failed."""
        if self.is_error:
            raise ToolError(self.text or f"The tool {self.tool!r} failed without a message")
        return self

    @classmethod
    def read(cls, tool: str, raw_result: Raw) -> CallResult:
        """Decode the result of `tool`; raises PeerError if it is invalid."""
        result = decode_result(WireCallResult, raw_result, "tools/call")
        raw = result.structured_content
        structured = None if raw is UNSET else decode_result(object, raw, "tools/call")
        content = read_blocks(result.content)
        return cls(tool, content, structured, result.is_error, result.meta, raw is not UNSET)


@dataclass(frozen=True, slots=True)
class ReadResult:
    """The contents of a resource: usually one item, text or binary."""

    contents: Sequence[ResourceContents]
    meta: Meta | None = None

    @classmethod
    def read(cls, raw: Raw) -> ReadResult:
        """Decode the result of resources/read; raises PeerError if it is invalid."""
        result = decode_result(WireReadResult, raw, "resources/read")
        return cls([contents.read() for contents in result.contents], result.meta)

    @property
    def text(self) -> str:
        """All text contents, joined by newlines."""
        return "\n".join(c.text for c in self.contents if isinstance(c, TextContents))

    @property
    def blobs(self) -> Sequence[BlobContents]:
        """All binary contents, in base64."""
        return tuple(c for c in self.contents if isinstance(c, BlobContents))


@dataclass(frozen=True, slots=True)
class Page(Generic[T]):
    """One page of a list; `next_cursor` is None on the last one."""

    items: Sequence[T]
    next_cursor: str | None = None
