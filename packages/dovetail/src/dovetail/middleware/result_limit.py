"""`ResultLimit`: bounds the size of results, for models with a small context."""

from __future__ import annotations

from collections.abc import Mapping

from msgspec import UNSET

from dovetail.core.middleware import CallNext
from dovetail.errors import LimitError, UsageError
from dovetail.features.content import to_blocks
from dovetail.features.middleware import CallTool, Middleware, ReadResource
from dovetail.features.tools import ToolResult
from dovetail.spec.models import ReadResourceResult, TextContent
from dovetail.wire import codec

__all__ = ["ResultLimit"]


class ResultLimit(Middleware):
    """Middleware that bounds the size of tool results and resources, in bytes of JSON.

    `tools` has other limits for some tools. With `cut`, a result that is only text is cut at the
    limit and says so; other results over the limit are errors.
    """

    def __init__(
        self, max_bytes: int, *, tools: Mapping[str, int] | None = None, cut: bool = True
    ) -> None:
        self._max_bytes = max_bytes
        self._tools = dict(tools or {})
        self._cut = cut
        for limit in (max_bytes, *self._tools.values()):
            if limit < 1:
                raise UsageError(f"ResultLimit: a limit is at least 1 byte, got {limit}")

    async def call_tool(self, request: CallTool, call_next: CallNext[ToolResult]) -> ToolResult:
        """Check or cut the result of a tool."""
        result = await call_next(request)
        limit = self._tools.get(request.name, self._max_bytes)
        blocks = to_blocks(result.content)
        size = len(codec.encode(blocks))
        if result.structured is not UNSET:
            size += len(codec.encode(result.structured))
        if size <= limit:
            return result
        texts = [block.text for block in blocks if isinstance(block, TextContent)]
        # Structured data must match the output schema, so a part of it is of no use.
        if not self._cut or len(texts) < len(blocks) or result.structured is not UNSET:
            raise _too_large(size, limit)
        shortened = "\n".join(texts).encode()[:limit].decode(errors="ignore")
        note = f"[cut: the result has {size:,} bytes, the limit is {limit:,}; ask for less]"
        return ToolResult(f"{shortened}\n{note}", is_error=result.is_error, meta=result.meta)

    async def read_resource(
        self, request: ReadResource, call_next: CallNext[ReadResourceResult]
    ) -> ReadResourceResult:
        """Check the size of a resource."""
        result = await call_next(request)
        size = len(codec.encode(result.contents))
        if size > self._max_bytes:
            raise _too_large(size, self._max_bytes)
        return result


def _too_large(size: int, limit: int) -> LimitError:
    return LimitError(
        f"The result is too large: {size:,} bytes, the limit is {limit:,}. Ask for less."
    )
