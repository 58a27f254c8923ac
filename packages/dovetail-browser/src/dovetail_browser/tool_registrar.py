"""Registers tools: their listing, and what happens when they fail."""

from __future__ import annotations

import functools
import inspect
from collections.abc import Callable, Collection, Coroutine
from dataclasses import dataclass
from typing import Annotated, Any, get_type_hints

import msgspec

from dovetail import Param, Server, ToolAnnotations, ToolError, ToolResult
from dovetail_browser.hints import fitting_steps
from dovetail_browser.inputs import MAX_CHARS, FieldValue
from dovetail_browser.page_errors import CallError, driver_errors, explain, message_of, tool_error
from dovetail_browser.result_types import FailedCall
from dovetail_browser.secret_values import Secrets
from dovetail_browser.tool_sets import ToolListing
from dovetail_browser.truncation import truncate
from dovetail_serverkit.answer_size import json_size
from dovetail_serverkit.tool_descriptions import schema_of

__all__ = ["ACTS", "CLOSES", "READS", "SAVES", "ToolRegistrar"]

READS = ToolAnnotations(read_only_hint=True, open_world_hint=True)
# Reads a page, but may write a file to the operator's folder.
SAVES = ToolAnnotations(
    read_only_hint=False, destructive_hint=False, idempotent_hint=False, open_world_hint=True
)
# A click can trigger anything that the page offers.
ACTS = ToolAnnotations(
    read_only_hint=False, destructive_hint=True, idempotent_hint=False, open_world_hint=True
)
CLOSES = ToolAnnotations(
    read_only_hint=False, destructive_hint=True, idempotent_hint=True, open_world_hint=False
)

_LONGEST_ERROR = 6_000
_LONGEST_STEP = 200
# For errors of the machine, which no other call avoids.
_OPERATOR = "ask the operator of the server to check this, then try again"

_Handler = Callable[..., Coroutine[Any, Any, ToolResult]]


@dataclass(frozen=True, slots=True)
class ToolRegistrar:
    """Adds tools to a server."""

    server: Server
    secrets: Secrets
    listing: ToolListing

    def add(
        self, name: str, text: str, hints: ToolAnnotations, result: type[msgspec.Struct] | None
    ) -> Callable[[_Handler], Any]:
        """Register a tool; a failed call returns an explanation, next steps, and no secrets."""

        def register(function: _Handler) -> Any:
            signature = _list_parameters(name, function, self.listing)
            parameters = {*signature.parameters}
            if "fields" in parameters:
                parameters.update(FieldValue.__struct_encode_fields__)

            @functools.wraps(function)
            async def run(**given: Any) -> ToolResult:
                try:
                    return await function(**given)
                except ToolError as error:
                    failed = error
                except driver_errors() as error:
                    failed = tool_error(
                        f"{name} failed: {explain(error)}.",
                        "get_current_html shows the current page",
                        "fetch_webpage opens a page again",
                    )
                most = min(given.get("maxChars") or MAX_CHARS, _LONGEST_ERROR)
                return _make_failure(failed, parameters, self.secrets, most)

            run.__signature__ = signature  # type: ignore[attr-defined]
            return self.server.tool(
                name=name,
                title=name.replace("_", " ").capitalize(),
                description=text,
                annotations=hints,
                output_schema=None if result is None else _or_failed(schema_of(result)),
                hidden=not self.listing.shows(name),
            )(run)

        return register


def _list_parameters(name: str, function: _Handler, listing: ToolListing) -> inspect.Signature:
    """Return the signature with the parameters marked that the list does not show."""
    types = get_type_hints(function, include_extras=True)
    signature = inspect.signature(function)
    parameters = []
    for parameter in signature.parameters.values():
        type_ = types[parameter.name]
        is_own = parameter.name == "ctx" or listing.shows_parameter(name, parameter.name)
        shown = type_ if is_own else Annotated[type_, Param(hidden=True)]
        parameters.append(parameter.replace(annotation=shown))
    return signature.replace(parameters=parameters, return_annotation=types["return"])


def _or_failed(schema: dict[str, Any]) -> dict[str, Any]:
    """Return the schema of a result that may also be a `FailedCall`."""
    failed = schema_of(FailedCall)
    ways = [{"required": one["required"]} for one in (schema, failed)]
    rest = {key: value for key, value in schema.items() if key != "required"}
    return rest | {"properties": failed["properties"] | schema["properties"], "anyOf": ways}


def _make_failure(
    error: ToolError, parameters: Collection[str], secrets: Secrets, max_chars: int
) -> ToolResult:
    """Return the result of a failed call; its text is the structured content as JSON."""
    known = error.steps if isinstance(error, CallError) else ()
    steps = fitting_steps(known, parameters) or [_OPERATOR]
    steps = [secrets.hide(step)[:_LONGEST_STEP] for step in steps]
    message = secrets.hide(message_of(error))
    while True:
        failed = FailedCall(success=False, message=message, next_steps=steps)
        too_long = 2 * json_size(failed) - max_chars
        if too_long <= 0 or not message:
            break
        message = truncate(message, 0, max(len(message) - too_long // 12 - 1, 0)).text
    # tools.call.structured-text (2025-06-18 server/tools): without content, the text is the JSON.
    return ToolResult(structured=msgspec.to_builtins(failed), is_error=True)
