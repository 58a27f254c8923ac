"""Middleware for results: `ResultCache` remembers those of read-only tools for a while.

`ResultLimit` bounds the size of results, for models with a small context.
"""

from __future__ import annotations

import copy
from collections import OrderedDict
from collections.abc import Callable, Collection, Mapping
from time import monotonic
from typing import Any, NamedTuple

from msgspec import UNSET

from dovetail.core.middleware import CallNext, call_of
from dovetail.core.principal import Principal
from dovetail.errors import LimitError, UsageError
from dovetail.features.content import to_blocks
from dovetail.features.middleware import CallTool, Middleware, ReadResource
from dovetail.features.tools import ToolResult
from dovetail.spec.models import ReadResourceResult, TextContent
from dovetail.wire import codec

__all__ = ["ResultCache", "ResultLimit"]

# Claims that differ between the tokens of one caller and say nothing about it.
_VOLATILE_CLAIMS = frozenset({"auth_time", "exp", "iat", "jti", "nbf", "sid"})


class _Entry(NamedTuple):
    result: ToolResult
    expires: float
    size: int


class ResultCache(Middleware):
    """Middleware that caches the results of tools with `readOnlyHint`, by caller and arguments.

    `tools`: cache these tools instead. A tool is cached if its result depends on nothing but the
    caller and the arguments. Errors are not cached. The oldest results are dropped when there are
    more than `max_entries`, or more than `max_bytes` of JSON.
    """

    def __init__(
        self,
        ttl: float = 60.0,
        *,
        tools: Collection[str] | None = None,
        max_entries: int = 1000,
        max_bytes: int = 16 * 1024 * 1024,
        clock: Callable[[], float] = monotonic,
    ) -> None:
        if isinstance(tools, str):
            raise UsageError(f"ResultCache: tools is a collection of names, got {tools!r}")
        if ttl <= 0 or max_entries < 1 or max_bytes < 1:
            raise UsageError("ResultCache needs ttl > 0, max_entries >= 1 and max_bytes >= 1")
        self._ttl = ttl
        self._tools = None if tools is None else frozenset(tools)
        self._max_entries = max_entries
        self._max_bytes = max_bytes
        self._clock = clock
        self._entries: OrderedDict[tuple[Any, ...], _Entry] = OrderedDict()
        self._size = 0

    def clear(self) -> None:
        """Forget all results."""
        self._entries.clear()
        self._size = 0

    async def call_tool(self, request: CallTool, call_next: CallNext[ToolResult]) -> ToolResult:
        """Return the cached result, or call the tool."""
        if not self._caches(request):
            return await call_next(request)
        key = _key_of(request)
        entry = self._entries.get(key)
        if entry is not None and entry.expires > self._clock():
            self._entries.move_to_end(key)
            # Middleware further outside may change what it gets.
            return copy.deepcopy(entry.result)
        result = await call_next(request)
        if not result.is_error:
            self._store(key, result)
        return result

    def _caches(self, request: CallTool) -> bool:
        if self._tools is not None:
            return request.name in self._tools
        tool = request.tool
        annotations = None if tool is None else tool.annotations
        return annotations is not None and annotations.read_only_hint is True

    def _store(self, key: tuple[Any, ...], result: ToolResult) -> None:
        blocks = to_blocks(result.content)
        size = len(key[-1]) + len(codec.encode(blocks))
        if result.structured is not UNSET:
            size += len(codec.encode(result.structured))
        self._drop(key)
        if size > self._max_bytes:
            return
        self._entries[key] = _Entry(copy.deepcopy(result), self._clock() + self._ttl, size)
        self._size += size
        while len(self._entries) > self._max_entries or self._size > self._max_bytes:
            self._drop(next(iter(self._entries)))

    def _drop(self, key: tuple[Any, ...]) -> None:
        entry = self._entries.pop(key, None)
        if entry is not None:
            self._size -= entry.size


def _key_of(request: CallTool) -> tuple[Any, ...]:
    return (
        # Several mounts may share a cache, and have tools of one name.
        call_of(request).services.host,
        _caller_of(request.principal),
        # Results of older revisions have no structured data.
        request.revision,
        request.name,
        codec.encode_canonical(request.arguments),
    )


def _caller_of(principal: Principal | None) -> tuple[Any, ...] | None:
    """Return what a tool can know of its caller."""
    if principal is None:
        return None
    claims = {
        name: value for name, value in principal.claims.items() if name not in _VOLATILE_CLAIMS
    }
    return principal.id, principal.scopes, principal.trusted, repr(sorted(claims.items()))


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
