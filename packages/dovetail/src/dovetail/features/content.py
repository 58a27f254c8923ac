"""What authors return, and the content blocks it becomes.

Plain values come first: a `str` is one text block, sent once. `Image`, `Audio`,
`Text` and `EmbeddedResource` say more where more is to be said. A block that an older
revision does not know is sent as the nearest one it does know.
"""

from __future__ import annotations

import base64
import hashlib
from collections.abc import Sequence
from typing import Any, TypeAlias

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

# The first bytes of a file and what it is; enough for what tools return in practice.
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
    """Bytes of a kind, with a MIME type given or read off their first bytes."""

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
        self.data = bytes(data)
        self.mime_type = mime_type or _sniff(self.data) or ""
        if not self.mime_type.startswith(self.family):
            given = repr(self.mime_type) if self.mime_type else "bytes of no known format"
            raise UsageError(
                f"{type(self).__name__} needs a mime_type that begins with {self.family!r}, "
                f"got {given}"
            )
        self.annotations = annotations
        self.meta = meta


class Image(_Media):
    """A picture."""

    family = "image/"

    def to_block(self) -> models.ImageContent:
        """The block on the wire."""
        return models.ImageContent(
            data=_base64(self.data),
            mime_type=self.mime_type,
            annotations=self.annotations,
            meta=self.meta,
        )


class Audio(_Media):
    """Sound."""

    family = "audio/"

    def to_block(self) -> models.AudioContent:
        """The block on the wire."""
        return models.AudioContent(
            data=_base64(self.data),
            mime_type=self.mime_type,
            annotations=self.annotations,
            meta=self.meta,
        )


class Text:
    """Text with annotations or metadata; without, return a plain `str`."""

    def __init__(
        self, text: str, *, annotations: Annotations | None = None, meta: Meta | None = None
    ) -> None:
        self.text = text
        self.annotations = annotations
        self.meta = meta

    def to_block(self) -> models.TextContent:
        """The block on the wire."""
        return models.TextContent(text=self.text, annotations=self.annotations, meta=self.meta)


class EmbeddedResource:
    """The contents of a resource, text or bytes, inside an answer."""

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
        """The block on the wire."""
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

# Types that mean "content", never "structured data", in a return annotation.
BLOCK_TYPES: tuple[type, ...] = (*_BLOCKS, *_WIRE_BLOCKS)


class Message:
    """One message of a prompt: what the user or the assistant says."""

    def __init__(self, content: str | Block, role: Role = "user") -> None:
        if role not in ("user", "assistant"):
            raise UsageError(f"role must be 'user' or 'assistant', got {role!r}")
        self.content = content
        self.role: Role = role

    def to_message(self) -> models.PromptMessage:
        """The message on the wire."""
        return models.PromptMessage(role=self.role, content=to_block(self.content))


def to_contents(uri: str, data: str | bytes, mime_type: str | None) -> models.ResourceContents:
    """Text or bytes as the contents of a resource."""
    if isinstance(data, str):
        return models.TextContents(uri=uri, mime_type=mime_type or "text/plain", text=data)
    return models.BlobContents(
        uri=uri,
        mime_type=mime_type or _sniff(data) or "application/octet-stream",
        blob=_base64(data),
    )


def to_block(value: Any) -> ContentBlock:
    """One value as one block."""
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
    """Whatever a handler returned as blocks; plain data becomes its JSON."""
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
    """Plain data as JSON text; raises UsageError for what is no data."""
    try:
        return codec.encode_with(value, _plain).decode()
    except (TypeError, ValueError, RecursionError) as error:
        raise UsageError(
            f"a handler returned {type(value).__name__}, which is no content and no JSON: {error}"
        ) from None


def _plain(value: Any) -> Any:
    # Anything with pydantic's way of saying what it holds; pydantic itself is never imported.
    dump = getattr(value, "model_dump", None)
    if dump is None:
        raise TypeError(f"objects of type {type(value).__name__} are not JSON")
    return dump(mode="json")


def fit_blocks(blocks: Sequence[ContentBlock], revision: Revision) -> list[ContentBlock]:
    """The blocks with what `revision` does not know replaced by what it does know."""
    if len(revision.content_types) == len(_WIRE_BLOCKS) and has_all_content_fields(revision):
        return list(blocks)
    return [fit_block(block, revision) for block in blocks]


def fit_block(block: ContentBlock, revision: Revision) -> ContentBlock:
    """One block, as `revision` can say it."""
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
