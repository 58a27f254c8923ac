"""`Extensions`: binds the parts of extensions to a server, its tools and its resources.

Everything is bound when it is registered: a server without extensions does not ask for any in a
call, and a tool without options has nothing around it.
"""

from __future__ import annotations

import asyncio
import re
from collections.abc import Awaitable, Iterator, Sequence
from typing import Any, NamedTuple

import msgspec
from msgspec import Raw, Struct

from dovetail.core.call import Call
from dovetail.core.dispatch import MethodHandler, Outcome
from dovetail.core.middleware import AnyMiddleware, CallFacts, CallNext, Request, make_chain
from dovetail.core.registry import EntryExtras
from dovetail.core.schema import ArgumentsSchema, arguments_schema, store_defaults
from dovetail.errors import (
    DovetailError,
    InvalidParamsError,
    InvalidValueError,
    MethodNotFoundError,
    RpcError,
    UsageError,
)
from dovetail.extensions.extension import METHOD, Extension
from dovetail.features.handlers import HandlerSpec, inspect_handler
from dovetail.features.middleware import CallTool, ReadResource
from dovetail.spec.methods import METHODS
from dovetail.spec.models import Params
from dovetail.spec.revisions import REVISIONS, Revision
from dovetail.wire import codec
from dovetail.wire.messages import Notification

__all__ = ["ExtensionMethod", "Extensions", "read_params"]

# versioning.extension-id (2026-07-28 basic/versioning): labels with dots, a slash, and the name.
_LABEL = r"[A-Za-z]([A-Za-z0-9-]*[A-Za-z0-9])?"
_NAME = re.compile(rf"{_LABEL}(\.{_LABEL})*/[A-Za-z0-9]([A-Za-z0-9._-]*[A-Za-z0-9])?")
_KNOWN = frozenset(known.name for known in METHODS)
_DATES = frozenset(revision.date for revision in REVISIONS)


class ExtensionMethod(NamedTuple):
    """A method of an extension, for the table of methods and that of handlers."""

    name: str
    extension: Extension[Any]
    handler: MethodHandler


class _RawParams(Params, kw_only=True):
    """The params of an extension's method."""

    members: Raw


def read_params(raw: bytes | Raw) -> Params:
    """Decode the params of an extension's method; its handler decodes their members."""
    members = codec.decode_as(dict[str, Raw], raw)
    meta = members.pop("_meta", msgspec.UNSET)
    return _RawParams(meta=meta, members=Raw(codec.encode(members)))


class Extensions:
    """The extensions of a server."""

    def __init__(self) -> None:
        self._added: dict[str, Extension[Any]] = {}
        # Those that are only declared, with their settings.
        self.only_declared: dict[str, Any] = {}

    def add(self, extension: Extension[Any]) -> Sequence[ExtensionMethod]:
        """Add an extension and return its methods; raises UsageError."""
        _check(extension)
        if extension.name in self._added or extension.name in self.only_declared:
            raise UsageError(f"the server has the extension {extension.name!r} already")
        for other in self._added.values():
            if extension.option is not None and extension.option is other.option:
                kind = extension.option.__name__
                raise UsageError(f"{kind} is an option of {other.name!r} and {extension.name!r}")
        methods = list(_find_methods(extension))
        self._added[extension.name] = extension
        return methods

    def declared_at(self, revision: Revision) -> dict[str, Any]:
        """Return the settings to declare at a revision, by name."""
        found = dict(self.only_declared) if revision.extensions else {}
        for name, extension in self._added.items():
            if extension.is_offered_at(revision):
                found[name] = dict(extension.settings())
        return found

    def declared_by_client(self, revision: Revision) -> dict[str, Any]:
        """Return the settings that a client declares at a revision, by name."""
        return {
            name: dict(extension.client_settings())
            for name, extension in self._added.items()
            if extension.is_offered_at(revision)
        }

    def deliver(self, message: Notification) -> None:
        """Pass a notification of the server to the extension that it belongs to."""
        for extension in self._added.values():
            if message.method not in extension.notifications:
                continue
            try:
                params = codec.decode_as(dict[str, Any], message.params or b"{}")
            except msgspec.ValidationError:
                return
            # What it raises must not end the connection.
            asyncio.get_running_loop().call_soon(extension.notified, message.method, params)

    def bind_tool(self, options: Sequence[object], where: str) -> EntryExtras:
        """Bind the options of a tool to their extensions; raises UsageError."""
        return self._bind(options, where, CallTool, "call_tool")

    def bind_resource(self, options: Sequence[object], where: str) -> EntryExtras:
        """Bind the options of a resource to their extensions; raises UsageError."""
        return self._bind(options, where, ReadResource, "read_resource")

    def _bind(
        self, options: Sequence[object], where: str, kind: type[Request[Any]], hook: str
    ) -> EntryExtras:
        bound = [(self._owner_of(option, where), option) for option in options]
        changes = [each for each in bound if _overrides(each[0], "list_entry")]
        around = [_around(*each, hook) for each in bound if _overrides(each[0], hook)]
        chain = make_chain(kind, around)

        def change_entry(entry: dict[str, Any], revision: Revision) -> None:
            if "_meta" in entry:
                # That of the listing is shared by all revisions.
                entry["_meta"] = dict(entry["_meta"])
            for extension, option in changes:
                if extension.is_offered_at(revision):
                    extension.list_entry(entry, option)

        def wrap(handler: MethodHandler) -> MethodHandler:
            assert chain is not None
            return handler._replace(run=lambda call: kind(call, handler, chain).run())

        return EntryExtras(change_entry if changes else None, None if chain is None else wrap)

    def _owner_of(self, option: object, where: str) -> Extension[Any]:
        for extension in self._added.values():
            if extension.option is not None and isinstance(option, extension.option):
                return extension
        known = [each.option.__name__ for each in self._added.values() if each.option is not None]
        raise UsageError(
            f"{where}: no extension of the server takes {option!r}; known are the options "
            f"{', '.join(known) or '(none)'}. Add the extension first: Server(extensions=[...])"
        )


def _check(extension: Extension[Any]) -> None:
    if not isinstance(extension, Extension):
        raise UsageError(f"an extension is an instance of Extension, got {extension!r}")
    kind, name = type(extension).__name__, extension.name
    if not _NAME.fullmatch(name):
        raise UsageError(
            f"{kind}.name is a domain of yours reversed, a slash and a name, such as "
            f"'com.example/stamps'; got {name!r}"
        )
    unknown = set(extension.revisions or ()) - _DATES
    if unknown:
        raise UsageError(
            f"{kind}.revisions has {sorted(unknown)[0]!r}; known: {', '.join(sorted(_DATES))}"
        )


def _overrides(extension: Extension[Any], hook: str) -> bool:
    return getattr(type(extension), hook) is not getattr(Extension, hook)


def _around(extension: Extension[Any], option: object, hook: str) -> AnyMiddleware:
    run = getattr(extension, hook)

    def around(request: Any, call_next: CallNext[Any]) -> Awaitable[Any]:
        awaitable: Awaitable[Any] = run(request, call_next, option)
        return awaitable

    around.__name__ = extension.name
    return around


def _find_methods(extension: Extension[Any]) -> Iterator[ExtensionMethod]:
    for attribute in dir(type(extension)):
        name = getattr(getattr(type(extension), attribute), METHOD, None)
        if name is None:
            continue
        if name in _KNOWN:
            raise UsageError(f"{extension.name}: {name!r} is a method of the protocol itself")
        spec = inspect_handler(getattr(extension, attribute), kind="method", name=name)
        arguments = arguments_schema(
            spec.function, skip=spec.skipped, providers=spec.providers, where=spec.where
        )
        yield ExtensionMethod(name, extension, _serve(extension, spec, arguments))


def _serve(
    extension: Extension[Any], spec: HandlerSpec, arguments: ArgumentsSchema
) -> MethodHandler:
    def shape(call: Call, value: Any) -> Outcome:
        result = {} if value is None else value
        if not isinstance(result, Struct):
            store_defaults(result)
            result = msgspec.to_builtins(result)
            if not isinstance(result, dict) or "_meta" in result:
                raise UsageError(f"{spec.where} must return an object without `_meta`")
        return result

    def run(call: Call) -> Any:
        # versioning.extension-fallback (2026-07-28 basic/versioning)
        try:
            extension.require(CallFacts(call))
        except RpcError:
            raise
        except DovetailError as error:
            # Revisions without extensions have no code for it: for this client there is no method.
            raise MethodNotFoundError(f"Method not found: {call.method!r}: {error}") from None
        try:
            values = arguments.decode(call.params.members)  # type: ignore[attr-defined]
        except InvalidValueError as error:
            raise InvalidParamsError(f"Invalid params: {error}") from None
        return call.services.runner.start(call, spec.handler, spec.arguments(call, values), shape)

    return MethodHandler(run, needs_task=True)
