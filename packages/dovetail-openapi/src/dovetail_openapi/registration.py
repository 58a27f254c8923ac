"""Register the operations of a document as tools and resources of a server."""

from __future__ import annotations

import inspect
import re
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from typing import Any
from urllib.parse import quote

from dovetail import Context, Server, ToolAnnotations, ToolResult, UsageError
from dovetail_openapi.answers import OutputSchema, to_contents, to_result
from dovetail_openapi.api import ApiClient
from dovetail_openapi.document import Document
from dovetail_openapi.naming import argument_name, describe_operation, shorten, tool_name, unique
from dovetail_openapi.operations import (
    Body,
    Operation,
    OperationHead,
    OperationParameter,
    Rule,
    choose,
    find_operations,
)
from dovetail_openapi.request_parts import BODY, build_request
from dovetail_openapi.schemas import Schema, SchemaConverter
from dovetail_openapi.security import ApiCredentials

__all__ = ["Registration", "input_schema", "name_arguments"]

# Bytes of one schema. Larger ones are cut: a list of tools is sent to a model.
_MAX_INPUT = 24_000
_MAX_OUTPUT = 24_000
_SAFE = ("get", "head", "options", "trace")
_REPEATABLE = (*_SAFE, "put", "delete")
# No argument has this name, because arguments do not begin with an underscore.
_CONTEXT = "_context"


@dataclass(frozen=True, slots=True)
class ApiEndpoint:
    """An operation with what is needed to call it."""

    operation: Operation
    parameters: dict[str, OperationParameter]
    base: str
    api: ApiClient
    credentials: ApiCredentials

    async def answer(self, arguments: dict[str, Any], context: Context[Any] | None) -> Any:
        """Send the request of a call and return the response; raises ToolError."""
        head = self.operation.head
        placement = await self.credentials.place(self.operation.security, context, head.label)
        parts = build_request(self.operation, self.parameters, arguments, placement)
        return await self.api.send(head.method, self.base, parts, head.label)


class Registration:
    """Adds the operations of one document to a server."""

    def __init__(
        self,
        server: Server,
        document: Document,
        api: ApiClient,
        credentials: ApiCredentials,
        *,
        output_schemas: bool,
    ) -> None:
        self._server = server
        self._document = document
        self._api = api
        self._credentials = credentials
        self._output_schemas = output_schemas
        self._requests = SchemaConverter("request")
        self._responses = SchemaConverter("response")
        self._tool_names: set[str] = set()

    def add(self, rules: Sequence[Rule]) -> None:
        """Register every operation as its rule says; raises UsageError."""
        add_as = {"tool": self._add_tool, "resource": self._add_resource}
        for head in find_operations(self._document):
            target = choose(rules, head.method, head.path, head.tags, head.id)
            if target == "exclude":
                continue
            try:
                add_as[target](head)
            except UsageError as error:
                # One invalid operation should not make the whole document useless.
                named = f"operations=[{head.id!r}]" if head.id else f"paths=[{head.path!r}]"
                raise UsageError(
                    f'{error} (leave the operation out with Rule(to="exclude", {named}))'
                ) from None

    def _endpoint(self, head: OperationHead) -> ApiEndpoint:
        operation = head.read()
        shown = [
            each
            for each in operation.parameters
            if not self._credentials.covers(each.place, each.name)
        ]
        parameters = name_arguments(shown, has_body=operation.body is not None)
        base = self._api.find_base(operation)
        return ApiEndpoint(operation, parameters, base, self._api, self._credentials)

    def _add_tool(self, head: OperationHead) -> None:
        endpoint = self._endpoint(head)
        operation = endpoint.operation
        name = unique(tool_name(head.id, head.method, head.path), self._tool_names)
        self._tool_names.add(name)
        schema = input_schema(operation, endpoint.parameters, self._requests, _MAX_INPUT)
        output = self._output_schema(operation)
        checked = None if output is None else OutputSchema(output)
        annotations = ToolAnnotations(
            read_only_hint=head.method in _SAFE,
            idempotent_hint=head.method in _REPEATABLE,
            open_world_hint=True,
        )

        async def call(context: Context[Any] | None, arguments: dict[str, Any]) -> ToolResult:
            answer = await endpoint.answer(arguments, context)
            return to_result(answer, head.label, checked)

        self._server.tools.add(
            _tool_function(call, needs_caller=self._credentials.need_caller),
            name=name,
            description=describe_operation(operation.summary, operation.description, head.label),
            annotations=annotations,
            input_schema=schema,
            output_schema=output,
        )

    def _output_schema(self, operation: Operation) -> Schema | None:
        if operation.output is None or not self._output_schemas:
            return None
        schema = self._responses.root(operation.output)
        if not self._responses.is_object(schema):
            return None
        return self._responses.complete({"type": "object", **schema}, _MAX_OUTPUT)

    def _add_resource(self, head: OperationHead) -> None:
        endpoint = self._endpoint(head)
        operation = endpoint.operation
        if head.method != "get":
            raise head.node.error(f"only GET operations can be resources, not {head.label}")
        variables = self._variables(endpoint)
        uri = _resource_uri(self._server.name, head, variables)
        label = head.label

        async def read(context: Context[Any] | None, values: dict[str, Any]) -> str | bytes:
            given = {name: value for name, value in values.items() if value is not None}
            answer = await endpoint.answer(given, context)
            return to_contents(answer, label, _expand(uri, given))

        self._server.resources.add(
            uri,
            _resource_function(read, variables, needs_caller=self._credentials.need_caller),
            name=tool_name(head.id, head.method, head.path),
            description=describe_operation(operation.summary, operation.description, label),
            mime_type=next((each for each in operation.media_types if "*" not in each), None),
        )

    def _variables(self, endpoint: ApiEndpoint) -> dict[str, OperationParameter]:
        """Return the parameters that a URI can carry; raises UsageError if it cannot carry all."""
        found: dict[str, OperationParameter] = {}
        for name, parameter in endpoint.parameters.items():
            schema = {} if parameter.schema is None else self._requests.root(parameter.schema)
            is_plain = schema.get("type") not in ("array", "object") and not parameter.is_json
            if is_plain and parameter.place in ("path", "query"):
                found[name] = parameter
            elif parameter.required:
                raise endpoint.operation.head.node.error(
                    f"{endpoint.operation.head.label} cannot be a resource: its parameter "
                    f"{parameter.name!r} is required and does not fit into a URI"
                )
        if endpoint.operation.body is not None and endpoint.operation.body.required:
            raise endpoint.operation.head.node.error("an operation with a body is no resource")
        return found


def _tool_function(
    call: Callable[[Context[Any] | None, dict[str, Any]], Any], *, needs_caller: bool
) -> Callable[..., Any]:
    async def with_context(*, _context: Context[Any], **arguments: Any) -> ToolResult:
        result: ToolResult = await call(_context, arguments)
        return result

    # A function with a context makes the server declare that it can log.
    async def without_context(**arguments: Any) -> ToolResult:
        result: ToolResult = await call(None, arguments)
        return result

    return with_context if needs_caller else without_context


def _resource_function(
    read: Callable[[Context[Any] | None, dict[str, Any]], Any],
    variables: dict[str, OperationParameter],
    *,
    needs_caller: bool,
) -> Callable[..., Any]:
    async def function(**values: Any) -> Any:
        context = values.pop(_CONTEXT, None)
        return await read(context, values)

    keyword = inspect.Parameter.KEYWORD_ONLY
    parameters = [
        inspect.Parameter(name, keyword, annotation=str)
        if each.required
        else inspect.Parameter(name, keyword, annotation=str | None, default=None)
        for name, each in variables.items()
    ]
    if needs_caller:
        parameters.append(inspect.Parameter(_CONTEXT, keyword, annotation=Context))
    # The server takes the parameters of a template from the signature.
    function.__signature__ = inspect.Signature(parameters)  # type: ignore[attr-defined]
    return function


def _expand(uri: str, values: dict[str, Any]) -> str:
    """Return a URI of `_resource_uri` with its values."""

    def fill(found: re.Match[str]) -> str:
        mark, names = found[1], found[2].split(",")
        pairs = [(name, quote(str(values[name]), safe="")) for name in names if name in values]
        if not mark:
            return "".join(value for _, value in pairs)
        text = "&".join(f"{name}={value}" for name, value in pairs)
        return mark + text if text else ""

    return re.sub(r"\{([?&]?)([^{}]*)\}", fill, uri)


def _resource_uri(
    server: str, head: OperationHead, variables: dict[str, OperationParameter]
) -> str:
    """Return `api://NAME/path/{id}{?page}`."""
    path = head.path
    for argument, parameter in variables.items():
        if parameter.place == "path":
            path = path.replace(f"{{{parameter.name}}}", f"{{{argument}}}")
    query = [(name, each) for name, each in variables.items() if each.place == "query"]
    needed = "&".join(
        f"{quote(each.name, safe='')}={{{name}}}" for name, each in query if each.required
    )
    optional = ",".join(name for name, each in query if not each.required)
    mark = "&" if needed else "?"
    uri = f"api://{argument_name(server)}{path}" + (f"?{needed}" if needed else "")
    return f"{uri}{{{mark}{optional}}}" if optional else uri


# -- arguments of tools: one for each parameter, and `body` for the body ---------------------------

# A name that several parameters have belongs to the first of these places.
_ORDER = ("path", "query", "header", "cookie")
_BASE64 = "Base64 of the bytes."


def name_arguments(
    parameters: Iterable[OperationParameter], *, has_body: bool
) -> dict[str, OperationParameter]:
    """Return the parameters by argument name.

    If a name is taken, the place is appended: `id` in the path and `id_query` in the query.
    """
    named: dict[str, OperationParameter] = {}
    taken = {BODY} if has_body else set()
    for parameter in sorted(parameters, key=lambda each: _ORDER.index(each.place)):
        name = argument_name(parameter.name)
        if name in taken:
            name = unique(argument_name(f"{name}_{parameter.place}"), taken)
        taken.add(name)
        named[name] = parameter
    return named


def input_schema(
    operation: Operation,
    parameters: dict[str, OperationParameter],
    converter: SchemaConverter,
    max_bytes: int,
) -> Schema:
    """Return the input schema of the tool of an operation."""
    properties = {
        name: _parameter_schema(parameter, converter) for name, parameter in parameters.items()
    }
    required = [name for name, parameter in parameters.items() if parameter.required]
    body = operation.body
    if body is not None:
        properties[BODY] = _body_schema(body, converter)
        if body.required:
            required.append(BODY)
    schema: Schema = {"type": "object", "properties": properties}
    if required:
        schema["required"] = required
    schema["additionalProperties"] = False
    return converter.complete(schema, max_bytes)


def _parameter_schema(parameter: OperationParameter, converter: SchemaConverter) -> Schema:
    schema = {} if parameter.schema is None else converter.convert(parameter.schema)
    if parameter.schema is None and parameter.place == "path":
        schema = {"type": "string"}
    text = shorten(parameter.description)
    return {**schema, "description": text} if text else schema


def _body_schema(body: Body, converter: SchemaConverter) -> Schema:
    if body.kind == "binary":
        text = " ".join(filter(None, [shorten(body.description), _BASE64]))
        return {"type": "string", "contentEncoding": "base64", "description": text}
    schema = {} if body.schema is None else converter.convert(body.schema)
    if body.kind == "text":
        schema = {"type": "string"}
    if body.kind in ("form", "multipart"):
        # Only an object has fields.
        schema = converter.convert(body.schema.resolve()) if body.schema is not None else schema
        schema = {**schema, "type": "object"}
    text = shorten(body.description)
    return {**schema, "description": text} if text else schema
