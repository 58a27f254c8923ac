"""Content: the values that handlers return, and the content blocks they become.

A `str` becomes one text block. `Image`, `Audio`, `Text` and `EmbeddedResource` are for content
with a MIME type, annotations or metadata. A block that an older revision does not have is
replaced by the closest one that it has.
"""

from __future__ import annotations

import base64
import hashlib
from collections.abc import Sequence
from typing import Any, TypeAlias

from dovetail.core.schema import store_defaults
from dovetail.errors import UsageError
from dovetail.spec import models
from dovetail.spec.fields import has_all_content_fields, trim
from dovetail.spec.models import Annotations, ContentBlock, Meta, ResourceLink, Role
from dovetail.spec.revisions import Revision
from dovetail.wire import codec

__all__ = [
    "BLOCK_TYPES",
    "Audio",
    "Block",
    "EmbeddedResource",
    "Image",
    "Message",
    "Text",
    "fit_blocks",
    "to_block",
    "to_blocks",
    "to_contents",
    "to_json",
]

# The first bytes of common file formats: signature, offset, MIME type.
_SIGNATURES: tuple[tuple[bytes, int, str], ...] = (
    (b"\x89PNG\r\n\x1a\n", 0, "image/png"),
    (b"\xff\xd8\xff", 0, "image/jpeg"),
    (b"GIF8", 0, "image/gif"),
    (b"WEBP", 8, "image/webp"),
    (b"<svg", 0, "image/svg+xml"),
    (b"WAVE", 8, "audio/wav"),
    (b"ID3", 0, "audio/mpeg"),
    (b"\xff\xfb", 0, "audio/mpeg"),
    (b"OggS", 0, "audio/ogg"),
    (b"fLaC", 0, "audio/flac"),
)


def _sniff(data: bytes) -> str | None:
    for signature, offset, mime_type in _SIGNATURES:
        if data.startswith(signature, offset):
            return mime_type
    return None


def _base64(data: bytes) -> str:
    return base64.b64encode(data).decode()


class _Media:
    """Bytes with a MIME type, given or detected from the first bytes."""

    family: str

    def __init__(
        self,
        data: bytes,
        mime_type: str | None = None,
        *,
        annotations: Annotations | None = None,
        meta: Meta | None = None,
    ) -> None:
        if not isinstance(data, bytes | bytearray | memoryview):
            raise UsageError(
                f"{type(self).__name__} takes the bytes of the file, got {type(data).__name__}; "
                "read a file with Path(...).read_bytes()"
            )
        self.data: bytes = bytes(data)
        self.mime_type: str = mime_type or _sniff(self.data) or ""
        if not self.mime_type.startswith(self.family):
            given = repr(self.mime_type) if self.mime_type else "bytes of no known format"
            raise UsageError(
                f"{type(self).__name__} needs a mime_type that begins with {self.family!r}, "
                f"got {given}"
            )
        self.annotations: Annotations | None = annotations
        self.meta: Meta | None = meta


class Image(_Media):
    """An image."""

    family: str = "image/"

    def to_block(self) -> models.ImageContent:
        """Return the content block of the protocol."""
        return models.ImageContent(
            data=_base64(self.data),
            mime_type=self.mime_type,
            annotations=self.annotations,
            meta=self.meta,
        )


class Audio(_Media):
    """An audio recording."""

    family: str = "audio/"

    def to_block(self) -> models.AudioContent:
        """Return the content block of the protocol."""
        return models.AudioContent(
            data=_base64(self.data),
            mime_type=self.mime_type,
            annotations=self.annotations,
            meta=self.meta,
        )


class Text:
    """Text with annotations or metadata; for text alone return a `str`."""

    def __init__(
        self, text: str, *, annotations: Annotations | None = None, meta: Meta | None = None
    ) -> None:
        self.text = text
        self.annotations = annotations
        self.meta = meta

    def to_block(self) -> models.TextContent:
        """Return the content block of the protocol."""
        return models.TextContent(text=self.text, annotations=self.annotations, meta=self.meta)


class EmbeddedResource:
    """The contents of a resource, text or bytes, inside a result."""

    def __init__(
        self,
        uri: str,
        data: str | bytes,
        mime_type: str | None = None,
        *,
        annotations: Annotations | None = None,
        meta: Meta | None = None,
    ) -> None:
        self.uri = uri
        self.data = data
        self.mime_type = mime_type
        self.annotations = annotations
        self.meta = meta

    def to_block(self) -> models.EmbeddedResource:
        """Return the content block of the protocol."""
        return models.EmbeddedResource(
            resource=to_contents(self.uri, self.data, self.mime_type),
            annotations=self.annotations,
            meta=self.meta,
        )


Block: TypeAlias = Text | Image | Audio | EmbeddedResource | ResourceLink

_WIRE_BLOCKS = (
    models.TextContent,
    models.ImageContent,
    models.AudioContent,
    models.ResourceLink,
    models.EmbeddedResource,
)
_BLOCKS = (Text, Image, Audio, EmbeddedResource)

# Return annotations that mean content, never structured data.
BLOCK_TYPES: tuple[type, ...] = (*_BLOCKS, *_WIRE_BLOCKS)


class Message:
    """One message of a prompt, of the user or the assistant."""

    def __init__(self, content: str | Block, role: Role = "user") -> None:
        if role not in ("user", "assistant"):
            raise UsageError(f"role must be 'user' or 'assistant', got {role!r}")
        self.content = content
        self.role: Role = role

    def to_message(self) -> models.PromptMessage:
        """Return the message of the protocol."""
        return models.PromptMessage(role=self.role, content=to_block(self.content))


def to_contents(uri: str, data: str | bytes, mime_type: str | None) -> models.ResourceContents:
    """Return text or bytes as the contents of a resource."""
    if isinstance(data, str):
        return models.TextContents(uri=uri, mime_type=mime_type or "text/plain", text=data)
    return models.BlobContents(
        uri=uri,
        mime_type=mime_type or _sniff(data) or "application/octet-stream",
        blob=_base64(data),
    )


def to_block(value: Any) -> ContentBlock:
    """Return one value as one block; raises UsageError."""
    if isinstance(value, str):
        return models.TextContent(text=value)
    if isinstance(value, _BLOCKS):
        return value.to_block()
    if isinstance(value, _WIRE_BLOCKS):
        return value
    if isinstance(value, bytes):
        return _bytes_block(value)
    raise UsageError(
        f"expected text, Image, Audio, ResourceLink or EmbeddedResource, got {type(value).__name__}"
    )


def _bytes_block(data: bytes) -> ContentBlock:
    mime_type = _sniff(data)
    if mime_type is None:
        digest = hashlib.blake2s(data, digest_size=8).hexdigest()
        return EmbeddedResource(f"urn:dovetail:blob:{digest}", data).to_block()
    family = Image if mime_type.startswith(Image.family) else Audio
    return family(data, mime_type).to_block()


def _is_block(value: Any) -> bool:
    return isinstance(value, (*BLOCK_TYPES, bytes))


def to_blocks(value: Any) -> list[ContentBlock]:
    """Return the value of a handler as blocks; plain data becomes JSON text."""
    if isinstance(value, str):
        return [models.TextContent(text=value)]
    if value is None:
        return []
    if _is_block(value):
        return [to_block(value)]
    if (
        isinstance(value, list | tuple)
        and any(map(_is_block, value))
        and all(isinstance(item, str) or _is_block(item) for item in value)
    ):
        return [to_block(item) for item in value]
    return [models.TextContent(text=to_json(value))]


def to_json(value: Any) -> str:
    """Return plain data as JSON text; raises UsageError."""
    store_defaults(value)
    try:
        return codec.encode_with(value, _plain).decode()
    except (TypeError, ValueError, RecursionError) as error:
        raise UsageError(
            f"a value of type {type(value).__name__} is neither content nor JSON: {error}"
        ) from None


def _plain(value: Any) -> Any:
    if hasattr(value, "__fspath__"):
        return value.__fspath__()  # a path
    # Any object with pydantic's method; pydantic itself is not imported here.
    dump = getattr(value, "model_dump", None)
    if dump is None:
        raise TypeError(f"objects of type {type(value).__name__} are not JSON")
    return dump(mode="json")


def fit_blocks(blocks: Sequence[ContentBlock], revision: Revision) -> list[ContentBlock]:
    """Return the blocks with those that `revision` does not have replaced."""
    if len(revision.content_types) == len(_WIRE_BLOCKS) and has_all_content_fields(revision):
        return list(blocks)
    return [fit_block(block, revision) for block in blocks]


def fit_block(block: ContentBlock, revision: Revision) -> ContentBlock:
    """Return one block in a form that `revision` has."""
    # lifecycle.operation.version (2025-11-25 basic/lifecycle): members of blocks differ as well
    block = trim(block, revision)
    if isinstance(block, models.AudioContent) and "audio" not in revision.content_types:
        return models.EmbeddedResource(
            resource=models.BlobContents(
                uri="urn:dovetail:audio", mime_type=block.mime_type, blob=block.data
            ),
            annotations=block.annotations,
        )
    if isinstance(block, models.ResourceLink) and "resource_link" not in revision.content_types:
        words = [block.title or block.name, f"<{block.uri}>", block.description or ""]
        return models.TextContent(text=" ".join(filter(None, words)), annotations=block.annotations)
    return block
