"""Prompts (server/prompts): registered functions that return messages."""

from __future__ import annotations

from collections.abc import Callable, Coroutine, Iterable
from typing import Any, TypedDict, Unpack

from msgspec import UNSET, ValidationError, convert

from dovetail.core.call import Call
from dovetail.core.dispatch import MethodHandler
from dovetail.core.era import CacheHint, Encoded
from dovetail.core.options import Options, read_tags
from dovetail.core.principal import Requirements, may_use, read_scopes, visibility_of
from dovetail.core.registry import Registry
from dovetail.core.schema import ArgumentsSchema, arguments_schema
from dovetail.errors import InvalidParamsError, InvalidValueError, UsageError
from dovetail.features.content import BLOCK_TYPES, Message, fit_block, to_json
from dovetail.features.handlers import HandlerSpec, author_error, check_keywords, inspect_handler
from dovetail.features.listing import answer_page
from dovetail.spec.fields import project
from dovetail.spec.models import (
    Annotations,
    AudioContent,
    BlobContents,
    ContentBlock,
    EmbeddedResource,
    GetPromptParams,
    GetPromptResult,
    Icon,
    ImageContent,
    Meta,
    Prompt,
    PromptArgument,
    PromptMessage,
    ResourceLink,
    TextContent,
    TextContents,
)
from dovetail.spec.revisions import Revision
from dovetail.wire import codec

__all__ = ["PromptOptions", "Prompts"]

_BLOCK_TYPES: dict[str, type[ContentBlock]] = {
    "text": TextContent,
    "image": ImageContent,
    "audio": AudioContent,
    "resource_link": ResourceLink,
    "resource": EmbeddedResource,
}


class PromptOptions(TypedDict, total=False):
    """The keywords of `@server.prompt` and `server.prompts.add`."""

    name: str | None
    """Another name than the function's."""
    title: str | None
    """A name for people to read."""
    description: str | None
    """Another text than the docstring's."""
    icons: list[Icon] | None
    """Images for user interfaces."""
    timeout: float | None
    """Seconds the handler may take; by default `Options.timeout`."""
    meta: Meta | None
    """Members for the `_meta` of the listing."""
    blocking: bool | None
    """False for a plain function that never blocks: it runs on the event loop, not in a thread."""
    scopes: Iterable[str]
    """The scopes that a caller needs; for other callers the entry does not exist."""
    tags: Iterable[str]
    """Tags that `Options.include_tags`, `Options.exclude_tags` and mounts select by."""


class RegisteredPrompt:
    """A prompt: its listing and its handler."""

    __slots__ = ("arguments", "listing", "requirements", "spec")

    def __init__(
        self,
        spec: HandlerSpec,
        listing: Prompt,
        arguments: ArgumentsSchema,
        requirements: Requirements,
    ) -> None:
        self.spec: HandlerSpec = spec
        self.listing: Prompt = listing
        self.arguments: ArgumentsSchema = arguments
        self.requirements: Requirements = requirements

    def shape(self, call: Call, value: Any) -> GetPromptResult:
        """Return the result for the client of this call from the value of the function."""
        try:
            messages = _messages(value)
        except UsageError as error:
            raise self.spec.reject(value, error) from None
        # Not changed in place: an author may return the same message again.
        fitted = [
            PromptMessage(role=each.role, content=fit_block(each.content, call.era.revision))
            for each in messages
        ]
        return GetPromptResult(description=self.listing.description, messages=fitted)


class Prompts:
    """`server.prompts`: add, remove and list prompts at any time."""

    def __init__(self, options: Options, on_change: Callable[[], None]) -> None:
        self._options = options
        self.registry: Registry[RegisteredPrompt] = Registry(
            "prompt", page_size=options.page_size, on_change=on_change
        )

    @author_error
    def add(self, function: Callable[..., Any], **options: Unpack[PromptOptions]) -> Prompt:
        """Register a function as a prompt and notify clients that listen for changes."""
        check_keywords(options, PromptOptions)
        spec = inspect_handler(
            function,
            kind="prompt",
            name=options.get("name"),
            blocking=options.get("blocking"),
            timeout=options.get("timeout"),
        )
        # In the protocol arguments of prompts are strings; other types are decoded from them.
        arguments = arguments_schema(
            function,
            skip=spec.skipped,
            providers=spec.providers,
            accept_json_strings=True,
            where=spec.where,
        )
        listing = Prompt(
            name=spec.name,
            title=options.get("title"),
            description=options.get("description") or spec.description.summary or None,
            icons=options.get("icons"),
            arguments=[_argument(argument, arguments, spec) for argument in arguments.names]
            or None,
            meta=options.get("meta"),
        )
        own_tags = read_tags(options.get("tags", ()), spec.where)
        scopes = read_scopes(options.get("scopes", ()), spec.where)
        requirements = Requirements(scopes, tags=own_tags)
        if self._options.shows_tags(own_tags):
            prompt = RegisteredPrompt(spec, listing, arguments, requirements)
            self.registry.add(spec.name, prompt, requirements)
        return listing

    def remove(self, name: str) -> None:
        """Remove a prompt and notify clients that listen for changes."""
        self.registry.remove(name)

    def list(self) -> list[Prompt]:
        """Return the listings of the prompts, in order."""
        return [prompt.listing for prompt in self.registry]

    def methods(self) -> dict[str, MethodHandler]:
        """Return the handlers of the methods of this feature."""
        return {
            "prompts/list": MethodHandler(self._list),
            "prompts/get": MethodHandler(self._get, needs_task=True),
        }

    def find(self, call: Call, name: str) -> RegisteredPrompt:
        """Return the prompt that a client named; raises InvalidParamsError."""
        prompt = self.registry.get(name)
        if prompt is None or (
            prompt.requirements.scopes and not may_use(call, prompt.requirements)
        ):
            # prompts.get.unknown-32602 (2025-11-25 server/prompts)
            hint = self.registry.suggestion(name, visibility_of(call, self.registry))
            raise InvalidParamsError(f"Unknown prompt: {name[:100]!r}{hint}")
        return prompt

    def _list(self, call: Call) -> Encoded:
        hint = CacheHint(self._options.list_ttl_ms, self._options.list_scope)
        return answer_page(call, self.registry, "prompts", _listed, hint)

    def _get(self, call: Call) -> GetPromptResult | Coroutine[Any, Any, GetPromptResult]:
        params: GetPromptParams = call.params  # type: ignore[assignment]
        prompt = self.find(call, params.name)
        given = {} if params.arguments is UNSET else params.arguments
        try:
            values = prompt.arguments.decode(codec.encode(given))
        except InvalidValueError as error:
            # prompts.get.missing-args-32602 (2025-11-25 server/prompts)
            raise InvalidParamsError(
                f"Invalid arguments for prompt {params.name!r}: {error}"
            ) from None
        spec = prompt.spec
        runner = call.services.runner
        return runner.start(call, spec.handler, spec.arguments(call, values), prompt.shape)


def _argument(name: str, arguments: ArgumentsSchema, spec: HandlerSpec) -> PromptArgument:
    schema = arguments.json_schema["properties"][name]
    description = schema.get("description") or spec.description.parameters.get(name)
    required = name in arguments.required
    return PromptArgument(name=name, description=description, required=required or None)


def _listed(prompt: RegisteredPrompt, revision: Revision) -> dict[str, Any]:
    return project(prompt.listing, revision)


def _messages(value: Any) -> list[PromptMessage]:
    return [_message(item) for item in (value if isinstance(value, list | tuple) else [value])]


def _message(value: Any) -> PromptMessage:
    if isinstance(value, PromptMessage):
        return value
    if isinstance(value, Message):
        return value.to_message()
    if isinstance(value, dict) and value.keys() == {"role", "content"}:
        return Message(_content(value["content"]), value["role"]).to_message()
    return Message(_content(value)).to_message()


def _content(value: Any) -> Any:
    """Return content as it is, a dict in the shape of a block as that block, data as JSON text."""
    if value is None:
        raise UsageError(
            "a prompt must return text, a Message, JSON data or a list of these, got None"
        )
    if isinstance(value, (str, bytes, *BLOCK_TYPES)):
        return value
    kind = value.get("type") if isinstance(value, dict) else None
    if isinstance(kind, str) and kind in _BLOCK_TYPES:
        try:
            return _block(value, _BLOCK_TYPES[kind])
        except ValidationError as error:
            raise UsageError(f"not a valid {kind} block: {error}") from None
    return TextContent(text=to_json(value))


def _block(value: dict[str, Any], type_: type[ContentBlock]) -> ContentBlock:
    if type_ is not EmbeddedResource:
        return convert(value, type_)
    # msgspec does not decode a union of two structs without a tag.
    inner = value.get("resource")
    is_blob = isinstance(inner, dict) and "blob" in inner
    return EmbeddedResource(
        resource=convert(inner, BlobContents) if is_blob else convert(inner, TextContents),
        annotations=convert(value.get("annotations"), Annotations | None),
        meta=value.get("_meta"),
    )
