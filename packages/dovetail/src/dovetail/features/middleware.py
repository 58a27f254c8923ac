"""`Middleware` and the requests that it sees: calls, prompts, resources, completions and lists."""

from __future__ import annotations

from typing import Any, ClassVar, Generic, TypeVar

import msgspec
from msgspec import UNSET, Raw, Struct

from dovetail.core.call import Call
from dovetail.core.dispatch import Outcome, Shaped
from dovetail.core.era import CacheHint, Encoded
from dovetail.core.middleware import CallNext, Request
from dovetail.errors import InvalidParamsError, UsageError
from dovetail.features.content import fit_block, fit_blocks, to_blocks
from dovetail.features.tools import ToolResult
from dovetail.spec.fields import project
from dovetail.spec.models import (
    CallToolParams,
    CallToolResult,
    CompleteParams,
    CompleteResult,
    GetPromptParams,
    GetPromptResult,
    ListParams,
    Params,
    Prompt,
    PromptMessage,
    ReadResourceParams,
    ReadResourceResult,
    Resource,
    ResourceTemplate,
    Tool,
)
from dovetail.spec.results import WireCallResult, WirePromptResult, WireReadResult, read_blocks
from dovetail.wire import codec

__all__ = [
    "REQUESTS",
    "CallTool",
    "Complete",
    "GetPrompt",
    "ListPage",
    "ListPrompts",
    "ListResourceTemplates",
    "ListResources",
    "ListTools",
    "Middleware",
    "ReadResource",
]

T = TypeVar("T", bound=Struct)


class CallTool(Request[ToolResult]):
    """A tools/call request."""

    __slots__ = ("arguments", "name")
    method = "tools/call"
    hook = "call_tool"

    def __init__(self, call: Call) -> None:
        super().__init__(call)
        params: CallToolParams = call.params  # type: ignore[assignment]
        self.name = params.name
        self.arguments: dict[str, Any] = {}
        if params.arguments is not UNSET:
            try:
                self.arguments = codec.decode_as(dict[str, Any], params.arguments)
            except msgspec.ValidationError as error:
                raise InvalidParamsError(f"Invalid params: arguments: {error}") from None

    @property
    def tool(self) -> Tool | None:
        """The listing of the tool; None if it does not exist, or if only a proxy knows it."""
        return self._call.services.host.find_tool(self.name)

    def _to_params(self) -> Params:
        """Return the params with this name and these arguments."""
        arguments = Raw(codec.encode(self.arguments))
        return msgspec.structs.replace(self._call.received, name=self.name, arguments=arguments)

    def _read(self, outcome: Any) -> ToolResult | None:
        """Return the result of the tool, None for a new task."""
        if isinstance(outcome, Raw):
            wire = codec.decode_as(WireCallResult, outcome)
            content, structured = read_blocks(wire.content), wire.structured_content
            is_error, meta = wire.is_error, wire.meta
        elif isinstance(outcome, CallToolResult):
            content, structured = outcome.content, outcome.structured_content
            is_error, meta = outcome.is_error, outcome.meta
        else:
            return None
        if structured is not UNSET:
            structured = codec.decode_json(structured)
        return ToolResult(content, structured=structured, is_error=is_error, meta=meta)

    def _write(self, result: ToolResult) -> Outcome:
        """Return the result for the client's revision."""
        if not isinstance(result, ToolResult):
            raise _wrong_type(self, "a ToolResult", result)
        structured: Any = UNSET
        if result.structured is not UNSET:
            structured = Raw(codec.encode(result.structured))
        return CallToolResult(
            content=fit_blocks(to_blocks(result.content), self._call.era.revision),
            structured_content=structured,
            is_error=result.is_error,
            meta=result.meta,
        )


class GetPrompt(Request[GetPromptResult]):
    """A prompts/get request."""

    __slots__ = ("arguments", "name")
    method = "prompts/get"
    hook = "get_prompt"

    def __init__(self, call: Call) -> None:
        super().__init__(call)
        params: GetPromptParams = call.params  # type: ignore[assignment]
        self.name = params.name
        self.arguments = {} if params.arguments is UNSET else dict(params.arguments)

    def _to_params(self) -> Params:
        """Return the params with this name and these arguments."""
        return msgspec.structs.replace(
            self._call.received, name=self.name, arguments=self.arguments
        )

    def _read(self, outcome: Any) -> GetPromptResult | None:
        """Return the messages of the prompt."""
        if isinstance(outcome, Raw):
            wire = codec.decode_as(WirePromptResult, outcome)
            messages = [
                PromptMessage(role=each.role, content=read_blocks([each.content])[0])
                for each in wire.messages
            ]
            return GetPromptResult(description=wire.description, messages=messages, meta=wire.meta)
        return outcome if isinstance(outcome, GetPromptResult) else None

    def _write(self, result: GetPromptResult) -> Outcome:
        """Return the result for the client's revision."""
        if not isinstance(result, GetPromptResult):
            raise _wrong_type(self, "a GetPromptResult", result)
        revision = self._call.era.revision
        fitted = [
            PromptMessage(role=each.role, content=fit_block(each.content, revision))
            for each in result.messages
        ]
        return msgspec.structs.replace(result, messages=fitted)


class ReadResource(Request[ReadResourceResult]):
    """A resources/read request."""

    __slots__ = ("_hint", "uri")
    method = "resources/read"
    hook = "read_resource"

    def __init__(self, call: Call) -> None:
        super().__init__(call)
        params: ReadResourceParams = call.params  # type: ignore[assignment]
        self.uri = params.uri
        self._hint = CacheHint(scope="private")

    def _to_params(self) -> Params:
        """Return the params with this URI."""
        return msgspec.structs.replace(self._call.received, uri=self.uri)

    def _read(self, outcome: Any) -> ReadResourceResult | None:
        """Return the contents of the resource."""
        if isinstance(outcome, Shaped):
            outcome, self._hint = outcome
        if isinstance(outcome, Raw):
            wire = codec.decode_as(WireReadResult, outcome)
            return ReadResourceResult(
                contents=[each.read() for each in wire.contents], meta=wire.meta
            )
        return outcome if isinstance(outcome, ReadResourceResult) else None

    def _write(self, result: ReadResourceResult) -> Outcome:
        """Return the result with the cache hint of the resource."""
        if not isinstance(result, ReadResourceResult):
            raise _wrong_type(self, "a ReadResourceResult", result)
        return Shaped(result, self._hint)


class Complete(Request[CompleteResult]):
    """A completion/complete request; `params` says what is completed."""

    __slots__ = ("params",)
    method = "completion/complete"
    hook = "complete"

    def __init__(self, call: Call) -> None:
        super().__init__(call)
        self.params: CompleteParams = call.params  # type: ignore[assignment]

    def _to_params(self) -> Params:
        """Return the params."""
        return self.params

    def _read(self, outcome: Any) -> CompleteResult | None:
        """Return the suggested values."""
        if isinstance(outcome, Raw):
            return codec.decode_as(CompleteResult, outcome)
        return outcome if isinstance(outcome, CompleteResult) else None

    def _write(self, result: CompleteResult) -> Outcome:
        """Return the result."""
        if not isinstance(result, CompleteResult):
            raise _wrong_type(self, "a CompleteResult", result)
        return result


class ListPage(Generic[T]):
    """One page of a list; change `items` to change what the client sees."""

    __slots__ = ("items", "meta", "next_cursor", "ttl_ms")

    def __init__(
        self,
        items: list[T],
        next_cursor: str | None = None,
        *,
        ttl_ms: int = 0,
        meta: dict[str, Any] | None = None,
    ) -> None:
        self.items = items
        self.next_cursor = next_cursor
        # How long clients may keep the page.
        self.ttl_ms = ttl_ms
        self.meta = meta


class _List(Request[ListPage[T]]):
    __slots__ = ("cursor",)
    member: ClassVar[str]
    item: ClassVar[type[Struct]]

    def __init__(self, call: Call) -> None:
        super().__init__(call)
        params: ListParams = call.params  # type: ignore[assignment]
        self.cursor = params.cursor

    def _to_params(self) -> Params:
        """Return the params with this cursor."""
        return msgspec.structs.replace(self._call.received, cursor=self.cursor)

    def _read(self, outcome: Any) -> ListPage[T] | None:
        """Return the page, decoded from the list that the server keeps encoded."""
        if isinstance(outcome, Encoded):
            body = codec.decode_as(dict[str, Any], Raw(outcome.body))
        elif isinstance(outcome, Raw):
            body = codec.decode_as(dict[str, Any], outcome)
        else:
            return None
        items = msgspec.convert(body.get(self.member, []), list[self.item])  # type: ignore[name-defined]
        ttl_ms, meta = body.get("ttlMs", 0), body.get("_meta")
        return ListPage(items, body.get("nextCursor"), ttl_ms=ttl_ms, meta=meta)

    def _write(self, result: ListPage[T]) -> Outcome:
        """Return the page for the client's revision."""
        if not isinstance(result, ListPage):
            raise _wrong_type(self, "a ListPage", result)
        revision = self._call.era.revision
        body: dict[str, Any] = {self.member: [project(item, revision) for item in result.items]}
        if result.next_cursor is not None:
            body["nextCursor"] = result.next_cursor
        # caching.public-aware (2026-07-28 server/utilities/caching): callers may differ
        return Encoded(self._call.era.complete(body, CacheHint(result.ttl_ms, "private")))


class ListTools(_List[Tool]):
    """A tools/list request."""

    __slots__ = ()
    method = "tools/list"
    hook = "list_tools"
    member, item = "tools", Tool


class ListPrompts(_List[Prompt]):
    """A prompts/list request."""

    __slots__ = ()
    method = "prompts/list"
    hook = "list_prompts"
    member, item = "prompts", Prompt


class ListResources(_List[Resource]):
    """A resources/list request."""

    __slots__ = ()
    method = "resources/list"
    hook = "list_resources"
    member, item = "resources", Resource


class ListResourceTemplates(_List[ResourceTemplate]):
    """A resources/templates/list request."""

    __slots__ = ()
    method = "resources/templates/list"
    hook = "list_resource_templates"
    member, item = "resourceTemplates", ResourceTemplate


REQUESTS: tuple[type[Request[Any]], ...] = (
    CallTool,
    GetPrompt,
    ReadResource,
    Complete,
    ListTools,
    ListPrompts,
    ListResources,
    ListResourceTemplates,
)


class Middleware:
    """Runs around requests: override the methods you need, or `__call__` for all requests.

    Each method returns the result, usually that of `await call_next(request)`. An exception
    becomes the error of the request. Requests whose method you do not override cost nothing.
    """

    async def __call__(self, request: Request[Any], call_next: CallNext[Any]) -> Any:
        """Handle a request of any kind; calls the method for its kind."""
        return await getattr(self, request.hook)(request, call_next)

    async def call_tool(self, request: CallTool, call_next: CallNext[ToolResult]) -> ToolResult:
        """Handle a tool call."""
        return await call_next(request)

    async def get_prompt(
        self, request: GetPrompt, call_next: CallNext[GetPromptResult]
    ) -> GetPromptResult:
        """Handle a request for a prompt."""
        return await call_next(request)

    async def read_resource(
        self, request: ReadResource, call_next: CallNext[ReadResourceResult]
    ) -> ReadResourceResult:
        """Handle a request for a resource."""
        return await call_next(request)

    async def complete(
        self, request: Complete, call_next: CallNext[CompleteResult]
    ) -> CompleteResult:
        """Handle a request for suggestions."""
        return await call_next(request)

    async def list_tools(
        self, request: ListTools, call_next: CallNext[ListPage[Tool]]
    ) -> ListPage[Tool]:
        """Handle a list of tools."""
        return await call_next(request)

    async def list_prompts(
        self, request: ListPrompts, call_next: CallNext[ListPage[Prompt]]
    ) -> ListPage[Prompt]:
        """Handle a list of prompts."""
        return await call_next(request)

    async def list_resources(
        self, request: ListResources, call_next: CallNext[ListPage[Resource]]
    ) -> ListPage[Resource]:
        """Handle a list of resources."""
        return await call_next(request)

    async def list_resource_templates(
        self, request: ListResourceTemplates, call_next: CallNext[ListPage[ResourceTemplate]]
    ) -> ListPage[ResourceTemplate]:
        """Handle a list of resource templates."""
        return await call_next(request)

    def covers(self, hook: str) -> bool:
        """Whether this class overrides `__call__` or the method of this name."""
        own = type(self)
        return any(
            getattr(own, name) is not getattr(Middleware, name) for name in ("__call__", hook)
        )


def _wrong_type(request: Request[Any], wanted: str, result: object) -> UsageError:
    return UsageError(
        f"the middleware must return {wanted} for {request.method}, got {type(result).__name__}"
    )
