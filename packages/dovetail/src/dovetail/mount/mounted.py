"""`Mount`: one mounted server, and how calls run in it."""

from __future__ import annotations

import functools
from collections.abc import Callable, Coroutine, Mapping, Sequence
from types import CoroutineType
from typing import Any

import msgspec
from msgspec import Raw

from dovetail.core.call import Call, Services
from dovetail.core.dispatch import MethodHandler, Outcome, Shaped
from dovetail.core.era import Encoded
from dovetail.core.middleware import AnyMiddleware, wrap_handlers
from dovetail.core.principal import Permission
from dovetail.errors import InvalidRequestError, ResourceNotFoundError, ToolError
from dovetail.features.middleware import REQUESTS
from dovetail.mount.names import Prefix
from dovetail.mount.view import View
from dovetail.runtime.auth_backend import AuthBackend
from dovetail.runtime.engine import Engine
from dovetail.runtime.provider import Membership, Provider
from dovetail.spec.models import (
    CallToolResult,
    ContentBlock,
    EmbeddedResource,
    GetPromptResult,
    Params,
    PromptMessage,
    ReadResourceResult,
    ResourceLink,
)
from dovetail.wire import codec

__all__ = ["Mount", "UnavailableError", "map_uris"]


class UnavailableError(ToolError):
    """A mounted server cannot be reached; the code that raises this has logged it."""


_URI = b'"uri"'


def map_uris(outcome: Outcome, prefix: Prefix) -> Outcome:
    """Return the outcome with the prefix in the URIs of contents, links and resources."""
    if not prefix.text:
        return outcome
    # The most frequent first. Encoded results are decoded only if there may be a URI in them.
    if isinstance(outcome, Raw):
        return Raw(_map_body(bytes(outcome), prefix)) if _URI in bytes(outcome) else outcome
    if isinstance(outcome, CallToolResult):
        blocks = [_map_block(block, prefix) for block in outcome.content]
        return msgspec.structs.replace(outcome, content=blocks)
    if isinstance(outcome, GetPromptResult):
        messages = [
            PromptMessage(role=each.role, content=_map_block(each.content, prefix))
            for each in outcome.messages
        ]
        return msgspec.structs.replace(outcome, messages=messages)
    if isinstance(outcome, Shaped) and isinstance(outcome.result, ReadResourceResult):
        contents = [
            msgspec.structs.replace(each, uri=prefix.add_to_uri(each.uri))
            for each in outcome.result.contents
        ]
        return outcome._replace(result=msgspec.structs.replace(outcome.result, contents=contents))
    if isinstance(outcome, Encoded) and _URI in outcome.body:
        return Encoded(_map_body(outcome.body, prefix))
    return outcome


def _map_block(block: ContentBlock, prefix: Prefix) -> ContentBlock:
    if isinstance(block, ResourceLink):
        return msgspec.structs.replace(block, uri=prefix.add_to_uri(block.uri))
    if isinstance(block, EmbeddedResource):
        inner = block.resource
        inner = msgspec.structs.replace(inner, uri=prefix.add_to_uri(inner.uri))
        return msgspec.structs.replace(block, resource=inner)
    return block


def _map_body(body: bytes, prefix: Prefix) -> bytes:
    result = codec.decode_as(dict[str, Any], Raw(body))
    for part in _find_parts(result):
        # A link and the contents of a resource have the URI themselves.
        holder = part.get("resource") if part.get("type") == "resource" else part
        if isinstance(holder, dict) and isinstance(holder.get("uri"), str):
            holder["uri"] = prefix.add_to_uri(holder["uri"])
    return codec.encode(result)


def _find_parts(result: dict[str, Any]) -> list[dict[str, Any]]:
    """Return the content blocks and resource contents of a result."""
    messages = [each for each in result.get("messages") or () if isinstance(each, dict)]
    lists: list[Any] = [result.get("content"), result.get("contents")]
    lists.append([each.get("content") for each in messages])
    found = [part for parts in lists if isinstance(parts, list) for part in parts]
    return [part for part in found if isinstance(part, dict)]


class Mount:
    """A mounted server."""

    def __init__(
        self, provider: Provider, view: View, middleware: Sequence[AnyMiddleware] = ()
    ) -> None:
        self.provider = provider
        self.view = view
        self.guard: AuthBackend | None = provider.source.guard
        self._lifespan = provider.source.engine.lifespan
        # Those of the mounted server, which change if it gets more middleware.
        self._handlers: Mapping[str, MethodHandler] = provider.source.handlers
        if middleware:
            own = {
                method: MethodHandler(functools.partial(self._run_inner, method), handler.fault)
                for method, handler in self._handlers.items()
            }
            wrapped = dict(own)
            wrap_handlers(wrapped, own, REQUESTS, middleware)
            self._handlers = wrapped
        # What to call when it is unmounted.
        self.on_removal: list[Callable[[], None]] = []
        # The engine of the last call, and that of the mounted server for it. Outer servers have
        # one for each way of serving, mostly a single one.
        self._engine: tuple[Engine | None, Engine] = (None, provider.source.engine)

    @property
    def where(self) -> str:
        """The mount in error messages."""
        text = self.view.prefix.text
        prefix = f"prefix {text!r}" if text else "no prefix"
        return f"server {self.provider.source.name!r}, mounted with {prefix}"

    def join(self, membership: Membership) -> None:
        """Make the mounted server a part of the outer server's cluster."""
        path = (*membership.path, self.view.prefix.text)
        self.provider.join(membership._replace(path=path))

    def run(self, call: Call, params: Params) -> Outcome | Coroutine[Any, Any, Outcome]:
        """Run the method of the call in the mounted server, with these params."""
        if not self._lifespan.started:
            return self._start_and_run(call, params)
        outer, given = call.services, call.params
        kept = self._engine
        engine = kept[1] if kept[0] is outer else self._engine_for(outer)  # type: ignore[arg-type]
        # A task keeps its runner, whose slots are apart from those of other calls.
        call.services = engine if call.detached is None else engine._replace(runner=outer.runner)
        call.replace_params(params)
        try:
            outcome = engine.dispatcher.delegate(call, self._handlers[call.method])
        except BaseException:
            call.services, call.params = outer, given
            raise
        if isinstance(outcome, CoroutineType):
            return self._await(call, outer, given, outcome)
        call.services, call.params = outer, given
        return map_uris(outcome, self.view.prefix)  # type: ignore[arg-type]

    async def _start_and_run(self, call: Call, params: Params) -> Outcome:
        await self.provider.source.start()
        outcome = self.run(call, params)
        return await outcome if isinstance(outcome, CoroutineType) else outcome  # type: ignore[return-value]

    async def _await(
        self, call: Call, outer: Services, given: Params, outcome: Coroutine[Any, Any, Outcome]
    ) -> Outcome:
        try:
            return map_uris(await outcome, self.view.prefix)
        finally:
            call.services, call.params = outer, given

    def _run_inner(self, method: str, call: Call) -> Outcome | Coroutine[Any, Any, Outcome]:
        # Looked up in each call: the mounted server may get more middleware.
        return self.provider.source.handlers[method].run(call)

    def _engine_for(self, outer: Engine) -> Engine:
        inner = self.provider.source.engine
        guard = self.guard
        if guard is not None:
            inner = guard.protect(inner, "mount")
        permission = _combine(outer.permission, inner.permission)
        # Clients ask the outer server for their tasks.
        inner = inner._replace(tasks=outer.tasks, permission=permission)
        self._engine = (outer, inner)
        return inner

    def admits(self, call: Call) -> bool:
        """Whether the guard of the mounted server accepts this caller."""
        guard = self.guard
        return guard is None or not guard.requires_auth or call.principal is not None

    def shows(self, call: Call, kind: str, inner: str) -> bool:
        """Whether the caller may see this entry of the mounted server."""
        return self.view.shows(call.principal, kind, inner)

    def admit(self, call: Call, uri: str | None = None) -> None:
        """Raise if the caller may not use the mounted server, or this resource of it."""
        if uri is not None and not self.shows(call, "resource", uri):
            raise ResourceNotFoundError(self.view.prefix.add_to_uri(uri))
        if not self.admits(call):
            name = self.provider.source.name
            raise InvalidRequestError(
                f"{name} needs an authenticated caller, and this one is anonymous"
            )


def _combine(outer: Permission | None, inner: Permission | None) -> Permission | None:
    if outer is None or inner is None:
        return outer or inner
    # A scope can be requested only where the outer server says so.
    return outer._replace(read_only=outer.read_only or inner.read_only)
