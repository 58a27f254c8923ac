"""`Middleware` and the requests that it sees: calls, prompts, resources, completions and lists."""

from __future__ import annotations

from typing import Any, ClassVar, Generic, TypeVar

import msgspec
from msgspec import UNSET, Raw, Struct

from dovetail.core.call import Call
from dovetail.core.dispatch import MethodHandler, Outcome, Shaped
from dovetail.core.era import CacheHint, Encoded
from dovetail.core.middleware import CallNext, Chain, Request, default_method
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
from dovetail.spec.revisions import Revision
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
V = TypeVar("V", bound=type[Any])

# In a page that any cache may keep for all callers.
_PUBLIC = b'"public"'


def _decoded_on_access(view: V) -> V:
    """Decorate a subclass of a result: the slots of the result get their values on first access."""
    result: Any = view.__mro__[1]
    for name in result.__slots__:
        setattr(view, name, _property_of(getattr(result, name)))
    return view


def _property_of(slot: Any) -> property:
    def get(view: Any) -> Any:
        if view._outcome is not None:
            view._decode()
        return slot.__get__(view)

    def set(view: Any, value: Any) -> None:
        if view._outcome is not None:
            view._decode()
        slot.__set__(view, value)

    return property(get, set)


@_decoded_on_access
class _CalledTool(ToolResult):
    """The result of a tool, decoded on first access."""

    __slots__ = ("_outcome", "revision")

    def __init__(self, outcome: Raw | CallToolResult, revision: Revision) -> None:
        # None once it is decoded: from then on the result may differ.
        self._outcome: Raw | CallToolResult | None = outcome
        self.revision = revision

    def __reduce__(self) -> Any:
        # A copy is an ordinary result.
        return _copy_result, (self.content, self.structured, self.is_error, self.meta)

    def _decode(self) -> None:
        outcome: Any = self._outcome
        self._outcome = None
        content = None
        if isinstance(outcome, Raw):
            outcome = codec.decode_as(WireCallResult, outcome)
            content = read_blocks(outcome.content)
        structured = outcome.structured_content
        if structured is not UNSET:
            structured = codec.decode_json(structured)
        content = outcome.content if content is None else content
        super().__init__(
            content, structured=structured, is_error=outcome.is_error, meta=outcome.meta
        )


def _copy_result(content: Any, structured: Any, is_error: bool, meta: Any) -> ToolResult:
    return ToolResult(content, structured=structured, is_error=is_error, meta=meta)


class CallTool(Request[ToolResult]):
    """A tools/call request."""

    handles = "tools/call"
    hook = "call_tool"
    _name: str | None = None
    _arguments: dict[str, Any] | None = None

    @property
    def name(self) -> str:
        """The name of the tool; set it to call another one."""
        params: CallToolParams = self._call.params  # type: ignore[assignment]
        return params.name if self._name is None else self._name

    @name.setter
    def name(self, name: str) -> None:
        self._name = name

    @property
    def arguments(self) -> dict[str, Any]:
        """The arguments, decoded on first access; change or replace them as you like."""
        if self._arguments is None:
            params: CallToolParams = self._call.received  # type: ignore[assignment]
            self._arguments = {}
            if params.arguments is not UNSET:
                try:
                    self._arguments = codec.decode_as(dict[str, Any], params.arguments)
                except msgspec.ValidationError as error:
                    raise InvalidParamsError(f"Invalid params: arguments: {error}") from None
        return self._arguments

    @arguments.setter
    def arguments(self, arguments: dict[str, Any]) -> None:
        self._arguments = arguments

    @property
    def tool(self) -> Tool | None:
        """The listing of the tool; None if it does not exist, or if only a proxy knows it."""
        return self._call.services.host.find_tool(self.name)

    def _changed_params(self) -> Params | None:
        """Return the params with this name and these arguments; None if they were not accessed."""
        if self._name is None and self._arguments is None:
            return None
        params: CallToolParams = self._call.received  # type: ignore[assignment]
        arguments = params.arguments
        if self._arguments is not None:
            arguments = Raw(codec.encode(self._arguments))
        return msgspec.structs.replace(params, name=self.name, arguments=arguments)

    def _read(self, outcome: Any) -> ToolResult | None:
        """Return the result of the tool, None for a new task."""
        if isinstance(outcome, (Raw, CallToolResult)):
            return _CalledTool(outcome, self._call.era.revision)
        return None

    def _write(self, result: ToolResult) -> Outcome:
        """Return the result for the client's revision."""
        revision = self._call.era.revision
        if (
            type(result) is _CalledTool
            and result._outcome is not None
            and result.revision is revision
        ):
            outcome: Outcome = result._outcome
            return outcome
        if not isinstance(result, ToolResult):
            raise _wrong_type(self, "a ToolResult", result)
        structured: Any = UNSET
        if result.structured is not UNSET:
            structured = Raw(codec.encode(result.structured))
        return CallToolResult(
            content=fit_blocks(to_blocks(result.content), revision),
            structured_content=structured,
            is_error=result.is_error,
            meta=result.meta,
        )


class GetPrompt(Request[GetPromptResult]):
    """A prompts/get request."""

    handles = "prompts/get"
    hook = "get_prompt"
    name: str
    arguments: dict[str, str]

    def __init__(self, call: Call, handler: MethodHandler, chain: Chain) -> None:
        super().__init__(call, handler, chain)
        params: GetPromptParams = call.params  # type: ignore[assignment]
        self.name = params.name
        self.arguments = {} if params.arguments is UNSET else dict(params.arguments)

    def _changed_params(self) -> Params | None:
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

    handles = "resources/read"
    hook = "read_resource"
    uri: str

    def __init__(self, call: Call, handler: MethodHandler, chain: Chain) -> None:
        super().__init__(call, handler, chain)
        params: ReadResourceParams = call.params  # type: ignore[assignment]
        self.uri = params.uri
        self._hint = CacheHint(scope="private")

    def _changed_params(self) -> Params | None:
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

    handles = "completion/complete"
    hook = "complete"
    params: CompleteParams

    def __init__(self, call: Call, handler: MethodHandler, chain: Chain) -> None:
        super().__init__(call, handler, chain)
        self.params: CompleteParams = call.params  # type: ignore[assignment]

    def _changed_params(self) -> Params | None:
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
        self.items: list[T] = items
        self.next_cursor: str | None = next_cursor
        # How long clients may keep the page.
        self.ttl_ms: int = ttl_ms
        self.meta: dict[str, Any] | None = meta


@_decoded_on_access
class _EncodedPage(ListPage[T]):
    """A page as the server stores it, decoded on first access."""

    __slots__ = ("_item", "_member", "_outcome")

    def __init__(self, outcome: Encoded | Raw, member: str, item: type[T]) -> None:
        # None once it is decoded: from then on the page may differ.
        self._outcome: Encoded | Raw | None = outcome
        self._member = member
        self._item = item

    def __reduce__(self) -> Any:
        # A copy is an ordinary page.
        return _copy_page, (self.items, self.next_cursor, self.ttl_ms, self.meta)

    def _decode(self) -> None:
        assert self._outcome is not None
        body = codec.decode_as(dict[str, Any], Raw(_bytes_of(self._outcome)))
        self._outcome = None
        items = msgspec.convert(body.get(self._member, []), list[self._item])  # type: ignore[name-defined]
        ttl_ms, meta = body.get("ttlMs", 0), body.get("_meta")
        super().__init__(items, body.get("nextCursor"), ttl_ms=ttl_ms, meta=meta)


def _bytes_of(outcome: Encoded | Raw) -> bytes:
    return outcome.body if isinstance(outcome, Encoded) else bytes(outcome)


def _copy_page(
    items: list[Any], next_cursor: str | None, ttl_ms: int, meta: dict[str, Any] | None
) -> ListPage[Any]:
    return ListPage(items, next_cursor, ttl_ms=ttl_ms, meta=meta)


class _List(Request[ListPage[T]]):
    member: ClassVar[str]
    item: ClassVar[type[Struct]]
    cursor: str | None

    def __init__(self, call: Call, handler: MethodHandler, chain: Chain) -> None:
        super().__init__(call, handler, chain)
        params: ListParams = call.params  # type: ignore[assignment]
        self.cursor = params.cursor

    def _changed_params(self) -> Params | None:
        """Return the params with this cursor."""
        return msgspec.structs.replace(self._call.received, cursor=self.cursor)

    def _read(self, outcome: Any) -> ListPage[T] | None:
        """Return the page."""
        if isinstance(outcome, (Encoded, Raw)):
            return _EncodedPage(outcome, self.member, self.item)  # type: ignore[arg-type]
        return None

    def _write(self, result: ListPage[T]) -> Outcome:
        """Return the page for the client's revision."""
        if type(result) is _EncodedPage and result._outcome is not None:
            outcome: Encoded | Raw = result._outcome
            # caching.public-aware (2026-07-28 server/utilities/caching): a middleware may leave
            # the page as it is for this caller only. The text of a value has escaped quotes.
            if _PUBLIC not in _bytes_of(outcome):
                return outcome
        if not isinstance(result, ListPage):
            raise _wrong_type(self, "a ListPage", result)
        revision = self._call.era.revision
        body: dict[str, Any] = {self.member: [project(item, revision) for item in result.items]}
        if result.next_cursor is not None:
            body["nextCursor"] = result.next_cursor
        return Encoded(self._call.era.complete(body, CacheHint(result.ttl_ms, "private")))


class ListTools(_List[Tool]):
    """A tools/list request."""

    handles = "tools/list"
    hook = "list_tools"
    member: ClassVar[str] = "tools"
    item: ClassVar[type[Struct]] = Tool


class ListPrompts(_List[Prompt]):
    """A prompts/list request."""

    handles = "prompts/list"
    hook = "list_prompts"
    member: ClassVar[str] = "prompts"
    item: ClassVar[type[Struct]] = Prompt


class ListResources(_List[Resource]):
    """A resources/list request."""

    handles = "resources/list"
    hook = "list_resources"
    member: ClassVar[str] = "resources"
    item: ClassVar[type[Struct]] = Resource


class ListResourceTemplates(_List[ResourceTemplate]):
    """A resources/templates/list request."""

    handles = "resources/templates/list"
    hook = "list_resource_templates"
    member: ClassVar[str] = "resourceTemplates"
    item: ClassVar[type[Struct]] = ResourceTemplate


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

    @default_method
    async def __call__(self, request: Request[Any], call_next: CallNext[Any]) -> Any:
        """Handle a request of any kind; calls the method for its kind."""
        if not request.hook:
            return await call_next(request)
        return await getattr(self, request.hook)(request, call_next)

    @default_method
    async def call_tool(self, request: CallTool, call_next: CallNext[ToolResult]) -> ToolResult:
        """Handle a tool call."""
        return await call_next(request)

    @default_method
    async def get_prompt(
        self, request: GetPrompt, call_next: CallNext[GetPromptResult]
    ) -> GetPromptResult:
        """Handle a request for a prompt."""
        return await call_next(request)

    @default_method
    async def read_resource(
        self, request: ReadResource, call_next: CallNext[ReadResourceResult]
    ) -> ReadResourceResult:
        """Handle a request for a resource."""
        return await call_next(request)

    @default_method
    async def complete(
        self, request: Complete, call_next: CallNext[CompleteResult]
    ) -> CompleteResult:
        """Handle a request for suggestions."""
        return await call_next(request)

    @default_method
    async def list_tools(
        self, request: ListTools, call_next: CallNext[ListPage[Tool]]
    ) -> ListPage[Tool]:
        """Handle a list of tools."""
        return await call_next(request)

    @default_method
    async def list_prompts(
        self, request: ListPrompts, call_next: CallNext[ListPage[Prompt]]
    ) -> ListPage[Prompt]:
        """Handle a list of prompts."""
        return await call_next(request)

    @default_method
    async def list_resources(
        self, request: ListResources, call_next: CallNext[ListPage[Resource]]
    ) -> ListPage[Resource]:
        """Handle a list of resources."""
        return await call_next(request)

    @default_method
    async def list_resource_templates(
        self, request: ListResourceTemplates, call_next: CallNext[ListPage[ResourceTemplate]]
    ) -> ListPage[ResourceTemplate]:
        """Handle a list of resource templates."""
        return await call_next(request)

    def session_ended(self, revision: str, transport: str, duration: float) -> None:
        """Runs when a session of a legacy revision has ended, after `duration` seconds.

        Only for middleware of a guard.
        """


def _wrong_type(request: Request[Any], wanted: str, result: object) -> UsageError:
    return UsageError(
        f"the middleware must return {wanted} for {request.method}, got {type(result).__name__}"
    )
