"""Tools (server/tools): registered functions, their schemas, calls and results."""

from __future__ import annotations

import re
from collections.abc import Callable, Coroutine, Iterable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import replace
from functools import partial
from typing import Any, Literal, Protocol, TypeAlias, TypedDict, Unpack

from msgspec import UNSET, Raw, UnsetType

from dovetail.core.call import Call, Handler, Style
from dovetail.core.dispatch import InputRequired, MethodHandler, Outcome
from dovetail.core.era import CacheHint, Encoded
from dovetail.core.options import Options, read_tags
from dovetail.core.principal import (
    NO_REQUIREMENTS,
    Requirements,
    may_use,
    read_scopes,
    visibility_of,
)
from dovetail.core.registry import BindExtras, EntryExtras, Registry
from dovetail.core.schema import (
    ArgumentsSchema,
    ResultSchema,
    arguments_schema,
    result_schema,
)
from dovetail.errors import (
    DovetailError,
    InvalidParamsError,
    InvalidValueError,
    ToolError,
    UsageError,
)
from dovetail.features.content import BLOCK_TYPES, fit_blocks, to_blocks
from dovetail.features.handlers import HandlerSpec, author_error, check_keywords, inspect_handler
from dovetail.features.listing import (
    ToolAnnotationsDict,
    answer_page,
    listed_schema,
    read_annotations,
)
from dovetail.spec.fields import project
from dovetail.spec.header_params import HeaderParams, annotate, find_headers
from dovetail.spec.models import (
    CallToolParams,
    CallToolResult,
    Icon,
    Meta,
    TextContent,
    Tool,
    ToolAnnotations,
)
from dovetail.spec.revisions import Revision, StructuredOutput
from dovetail.wire import codec

__all__ = [
    "RegisteredTool",
    "TaskSupport",
    "ToolOptions",
    "ToolResult",
    "Tools",
    "invalid_arguments",
    "run_tool",
]

TaskSupport: TypeAlias = Literal["optional", "required", "never"]

# In the error for one call; a client that sends a thousand invalid items corrects a few first.
_MOST_PROBLEMS = 20
# tools.name.charset, tools.name.length (2025-11-25 server/tools)
_NAME = re.compile(r"[A-Za-z0-9_.-]{1,128}")


class ToolOptions(TypedDict, total=False):
    """The keywords of `@server.tool` and `server.tools.add`."""

    name: str | None
    """Another name than the function's: 1 to 128 of `A-Z a-z 0-9 _ - .`"""
    title: str | None
    """A name for people to read."""
    description: str | None
    """Another text than the docstring's."""
    annotations: ToolAnnotations | ToolAnnotationsDict | None
    """Hints for clients, such as `ToolAnnotations(read_only_hint=True)`."""
    icons: list[Icon] | None
    """Images for user interfaces."""
    timeout: float | None
    """Seconds the handler may take; by default `Options.timeout`."""
    idle_timeout: float | None
    """Seconds the handler may take without a progress report or log message."""
    meta: Meta | None
    """Members for the `_meta` of the listing."""
    input_schema: dict[str, Any] | None
    """A JSON Schema of the arguments, instead of the one made from the signature."""
    output_schema: dict[str, Any] | None
    """A JSON Schema of the structured result, instead of the one made from the annotation."""
    blocking: bool | None
    """False for a plain function that never blocks: it runs on the event loop, not in a thread."""
    task: TaskSupport
    """Whether calls run as tasks: "never" (the default), "optional" or "required".

    Clients that do not know tasks get the result as usual.
    """
    resumable: bool
    """Whether a task may run again from its start if its process has ended."""
    before_task: Callable[..., Any] | None
    """An async function that asks the client before there is a task.

    The tool finds the answers under the same keys.
    """
    scopes: Iterable[str]
    """The scopes that a caller needs; for other callers the entry does not exist."""
    tags: Iterable[str]
    """Tags that `Options.include_tags`, `Options.exclude_tags` and mounts select by."""
    hidden: bool
    """Whether lists leave the tool out; clients that know its name can call it."""
    extensions: Sequence[object]
    """Options of the server's extensions."""


class TaskTools(Protocol):
    """What makes tools run as tasks."""

    def bind(
        self,
        spec: HandlerSpec,
        support: str,
        *,
        resumable: bool,
        before_task: Callable[..., Any] | None,
    ) -> Any:
        """Return how a tool runs as a task, None for never; raises UsageError."""

    def start(self) -> Callable[..., Coroutine[Any, Any, Outcome] | None]:
        """Offer tasks to clients, and return what calls of tools are passed to."""


class ToolResult:
    """A complete tool result: content, structured data, metadata, error flag."""

    __slots__ = ("content", "is_error", "meta", "structured")

    def __init__(
        self,
        content: Any = None,
        *,
        structured: Any = UNSET,
        is_error: bool = False,
        meta: Meta | None = None,
    ) -> None:
        self.content: Any = content
        self.structured: Any = structured
        self.is_error: bool = is_error
        self.meta: Meta | None = meta


# The common results as byte templates: the same bytes as encoding the struct, in a quarter of the
# time. tools.call.structured-object (2025-11-25 schema): the root must be an object (_WRAPPED).
_TEXT = b'{"content":[{"type":"text","text":%b}]}'
_BARE = b'{"content":[{"type":"text","text":%b}],"structuredContent":%b}'
_WRAPPED = b'{"content":[{"type":"text","text":%b}],"structuredContent":{"result":%b}}'
# Looked up once: access to an enum member goes through a descriptor each time.
_NO_DATA, _OBJECTS = StructuredOutput.NONE, StructuredOutput.OBJECT


class RegisteredTool:
    """A tool: its listing and its handler."""

    __slots__ = (
        "arguments",
        "around",
        "change_entry",
        "headers",
        "listing",
        "requirements",
        "result",
        "spec",
        "task",
    )  # fmt: skip

    def __init__(
        self,
        spec: HandlerSpec,
        listing: Tool,
        arguments: ArgumentsSchema,
        result: ResultSchema,
        headers: HeaderParams,
    ) -> None:
        self.spec: HandlerSpec = spec
        self.listing: Tool = listing
        self.arguments: ArgumentsSchema = arguments
        self.result: ResultSchema = result
        self.headers: HeaderParams = headers
        self.requirements: Requirements = NO_REQUIREMENTS
        # What extensions add to its entry in lists, and what they run around its calls.
        self.change_entry: Callable[[dict[str, Any], Revision], None] | None = None
        self.around: Callable[[Call], Outcome | Coroutine[Any, Any, Outcome]] | None = None
        # How it runs as a task; None: never.
        self.task: Any = None

    def decode(self, params: Any) -> dict[str, Any]:
        """Return the arguments of a call; raises InvalidValueError."""
        raw = params.arguments
        return self.arguments.decode(None if raw is UNSET else raw)

    def shape(self, call: Call, value: Any) -> Outcome:
        """Return the result for the client of this call from the value of the function."""
        try:
            return shape_result(value, self.result, call.era.revision)
        except (InvalidValueError, UsageError) as error:
            parts = value
            if isinstance(value, ToolResult):
                parts = [value.content, value.structured]
            raise self.spec.reject(parts, error) from None


class Tools:
    """`server.tools`: add, remove and list tools at any time, also from inside a handler."""

    def __init__(
        self,
        options: Options,
        on_change: Callable[[], None],
        tasks: TaskTools,
        bind_extras: BindExtras,
    ) -> None:
        self._options = options
        self._bind_extras = bind_extras
        self._tasks = tasks
        # Set with the first tool that runs as a task.
        self._divert: Callable[..., Coroutine[Any, Any, Outcome] | None] | None = None
        self.registry: Registry[RegisteredTool] = Registry(
            "tool", page_size=options.page_size, on_change=on_change
        )

    @author_error
    def add(self, function: Callable[..., Any], **options: Unpack[ToolOptions]) -> Tool:
        """Register a function as a tool and notify clients that listen for changes."""
        check_keywords(options, ToolOptions)
        spec = inspect_handler(
            function,
            kind="tool",
            name=options.get("name"),
            blocking=options.get("blocking"),
            timeout=options.get("timeout"),
            idle_timeout=options.get("idle_timeout"),
        )
        if self._options.tool_errors:
            handler = _as_tool_errors(spec.handler, self._options.tool_errors)
            spec = spec._replace(handler=handler)
        if not _NAME.fullmatch(spec.name):
            raise UsageError(
                f"{spec.where}: a tool name has 1 to 128 characters of A-Z a-z 0-9 _ - . and no "
                "others; give another one with name="
            )
        task, resumable = options.get("task", "never"), options.get("resumable", False)
        before_task, input_schema = options.get("before_task"), options.get("input_schema")
        as_task = None
        if task != "never" or resumable or before_task is not None:
            as_task = self._tasks.bind(spec, task, resumable=resumable, before_task=before_task)
        # tools.inputschema.root-object: raises for a hand-written schema with another root
        arguments = arguments_schema(
            function,
            skip=spec.skipped,
            providers=spec.providers,
            json_schema=input_schema,
            inline_refs=self._options.inline_refs,
            accept_json_strings=self._options.accept_json_strings,
            where=spec.where,
        )
        if input_schema is None:
            input_schema = listed_schema(arguments.json_schema, spec.hints, spec.where)
        else:
            input_schema = arguments.json_schema
        input_schema = annotate(spec.hints, input_schema)
        result = result_schema(
            spec.returns,
            json_schema=options.get("output_schema"),
            unstructured=(*BLOCK_TYPES, ToolResult),
            inline_refs=self._options.inline_refs,
            where=f"{spec.where}: the result",
        )
        hints = read_annotations(ToolAnnotations, options.get("annotations"), spec.where)
        listing = Tool(
            name=spec.name,
            title=options.get("title"),
            description=options.get("description") or spec.description.summary or None,
            icons=options.get("icons"),
            input_schema=input_schema,
            output_schema=result.json_schema if self._options.list_output_schemas else None,
            annotations=hints,
            execution=None if as_task is None else as_task.execution,
            meta=options.get("meta"),
        )
        headers = find_headers(input_schema, spec.where)
        tool = RegisteredTool(spec, listing, arguments, result, headers)
        tool.task = as_task
        self._extend(tool, self._bind_extras(options.get("extensions", ()), spec.where))
        reads = hints is not None and hints.read_only_hint is True
        own_tags = read_tags(options.get("tags", ()), spec.where)
        scopes = read_scopes(options.get("scopes", ()), spec.where)
        tool.requirements = Requirements(scopes, not reads, own_tags)
        if self._options.shows_tags(own_tags):
            self.add_registered(spec.name, tool, hidden=options.get("hidden", False))
        return listing

    def _extend(self, tool: RegisteredTool, extras: EntryExtras) -> None:
        tool.change_entry = extras.change_entry
        if extras.wrap is not None:
            tool.around = extras.wrap(MethodHandler(partial(_run, tool))).run

    def add_registered(self, name: str, tool: RegisteredTool, *, hidden: bool = False) -> None:
        """Add a tool that was registered before, in another server or under another name."""
        self.registry.add(name, tool, tool.requirements, hidden=hidden)
        if tool.task is not None:
            self._divert = self._tasks.start()

    @property
    def offers_tasks(self) -> bool:
        """Whether any tool may run as a task."""
        return any(tool.task is not None for tool in self.registry)

    def is_resumable(self, name: str) -> bool:
        """Whether an interrupted task of this tool may run again."""
        tool = self.registry.get(name)
        return tool is not None and tool.task is not None and bool(tool.task.resumable)

    def header_params(self, name: str, call: Call) -> HeaderParams:
        """Return the parameters that HTTP repeats in headers; none if the caller sees no tool."""
        tool = self.registry.get(name)
        if tool is None or not tool.headers:
            return ()
        visibility = visibility_of(call, self.registry)
        return tool.headers if visibility is None or visibility.shows(tool.requirements) else ()

    def remove(self, name: str) -> None:
        """Remove a tool and notify clients that listen for changes."""
        self.registry.remove(name)

    def list(self) -> list[Tool]:
        """Return the listings of the tools, in order; tools with `hidden=True` are left out."""
        return [tool.listing for tool in self.registry.listed()]

    def methods(self) -> dict[str, MethodHandler]:
        """Return the handlers of the methods of this feature."""
        return {
            "tools/list": MethodHandler(self._list),
            "tools/call": MethodHandler(self._call, fault=failed, needs_task=True),
        }

    def _list(self, call: Call) -> Encoded:
        hint = CacheHint(self._options.list_ttl_ms, self._options.list_scope)
        return answer_page(call, self.registry, "tools", _listed, hint)

    def _call(self, call: Call) -> Outcome | Coroutine[Any, Any, Outcome]:
        params: CallToolParams = call.params  # type: ignore[assignment]
        tool = self.registry.get(params.name)
        if tool is None or (
            # The permission of a task was checked when it was created.
            (tool.requirements.scopes or call.services.permission is not None)
            and call.detached is None
            and not may_use(call, tool.requirements)
        ):
            # tools.call.unknown (2025-11-25 server/tools): a protocol error, not a result
            hint = self.registry.suggestion(params.name, visibility_of(call, self.registry))
            raise InvalidParamsError(f"Unknown tool: {params.name[:100]!r}{hint}")
        if self._divert is not None and (tool.task is not None or params.task is not UNSET):
            diverted = self._divert(call, tool, offered=tool.task is not None or self.offers_tasks)
            if diverted is not None:
                return diverted
        return _run(tool, call) if tool.around is None else tool.around(call)


def _as_tool_errors(handler: Handler, errors: tuple[type[Exception], ...]) -> Handler:
    """Return the handler with these exceptions replaced by ToolError."""
    function = handler.function

    @contextmanager
    def replaced() -> Iterator[None]:
        try:
            yield
        except (DovetailError, InputRequired):
            raise
        except errors as error:
            raise ToolError(str(error) or type(error).__name__) from error

    async def run(**values: Any) -> Any:
        with replaced():
            return await function(**values)

    def run_plain(**values: Any) -> Any:
        with replaced():
            return function(**values)

    return replace(handler, function=run if handler.style is Style.ASYNC else run_plain)


def _run(tool: RegisteredTool, call: Call) -> Outcome | Coroutine[Any, Any, Outcome]:
    raw = call.params.arguments  # type: ignore[attr-defined]
    try:
        values = tool.arguments.decode(None if raw is UNSET else raw)
    except InvalidValueError as error:
        return invalid_arguments(tool, error)
    spec = tool.spec
    runner = call.services.runner
    return runner.start(call, spec.handler, spec.arguments(call, values), tool.shape)


def run_tool(tool: RegisteredTool, call: Call) -> Outcome | Coroutine[Any, Any, Outcome]:
    """Run the function of a tool, with what extensions run around it."""
    return _run(tool, call) if tool.around is None else tool.around(call)


def invalid_arguments(tool: RegisteredTool, error: InvalidValueError) -> CallToolResult:
    """Return the result for arguments that do not match the schema."""
    # tools.call.input-error-is-result (2025-11-25 server/tools): the model can correct the call
    return failed(f"Invalid arguments for {tool.listing.name}:{_lines(error)}")


def _lines(error: InvalidValueError) -> str:
    if len(error.problems) == 1:
        return f" {error.problems[0]}"
    lines = "".join(f"\n- {problem}" for problem in error.problems[:_MOST_PROBLEMS])
    more = len(error.problems) - _MOST_PROBLEMS
    return f"{lines}\n- and {more} more" if more > 0 else lines


def shape_result(value: Any, schema: ResultSchema, revision: Revision) -> CallToolResult | Raw:
    """Return the value of a function as a result in the form that `revision` has."""
    if isinstance(value, ToolResult):
        return _shape_explicit(value, schema, revision)
    if schema.json_schema is None:
        if type(value) is str:
            return Raw(_TEXT % codec.encode(value))
        return CallToolResult(content=fit_blocks(to_blocks(value), revision))
    encoded = schema.encode(value)
    # tools.call.structured-text (2025-06-18 server/tools): the same JSON as text
    text = codec.encode(encoded.decode())
    takes = revision.structured_output
    if takes is _NO_DATA:
        return Raw(_TEXT % text)
    if takes is _OBJECTS and not schema.is_object:
        return Raw(_WRAPPED % (text, encoded))
    return Raw(_BARE % (text, encoded))


def _shape_explicit(value: ToolResult, schema: ResultSchema, revision: Revision) -> CallToolResult:
    structured: Any = UNSET
    blocks = to_blocks(value.content)
    if value.structured is not UNSET:
        is_object = schema.is_object
        if schema.json_schema is None:
            free = result_schema(Any, json_schema={})
            encoded = free.encode(value.structured)
            is_object = encoded[:1] == b"{"
        else:
            encoded = schema.encode(value.structured)
        structured = _structured(encoded, is_object, revision)
        blocks = blocks or [TextContent(text=encoded.decode())]
    elif schema.json_schema is not None and not value.is_error:
        # tools.call.output-present (2025-06-18 server/tools)
        raise UsageError("a tool with an output schema must return structured data")
    return CallToolResult(
        content=fit_blocks(blocks, revision),
        structured_content=structured if structured is UNSET else Raw(structured),
        is_error=value.is_error,
        meta=value.meta,
    )


def _structured(encoded: bytes, is_object: bool, revision: Revision) -> bytes | UnsetType:
    if revision.structured_output is StructuredOutput.NONE:
        return UNSET
    if is_object or revision.structured_output is StructuredOutput.ANY:
        return encoded
    # tools.call.structured-object (2025-11-25 schema): the root must be an object
    return b'{"result":%b}' % encoded


def failed(text: str) -> CallToolResult:
    """Return an error result with a text for the model."""
    return CallToolResult(content=[TextContent(text=text)], is_error=True)


def _listed(tool: RegisteredTool, revision: Revision) -> dict[str, Any]:
    listing = project(tool.listing, revision)
    if (
        "outputSchema" in listing
        and not tool.result.is_object
        and revision.structured_output is StructuredOutput.OBJECT
    ):
        # tools.outputschema.root-object (2025-11-25 schema)
        listing["outputSchema"] = wrap_schema(listing["outputSchema"])
    if tool.change_entry is not None:
        tool.change_entry(listing, revision)
    return listing


def wrap_schema(schema: dict[str, Any]) -> dict[str, Any]:
    """Return the schema of `{"result": ...}`; definitions stay at the root, where refs point."""
    inner = {key: value for key, value in schema.items() if key not in ("$defs", "$schema")}
    outer = {key: value for key, value in schema.items() if key in ("$schema", "$defs")}
    return {
        **outer,
        "type": "object",
        "properties": {"result": inner},
        "required": ["result"],
    }
