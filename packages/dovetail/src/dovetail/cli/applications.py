"""Finds the MCP endpoints in an ASGI application, such as a FastAPI application with a mount.

Applications and middleware keep the applications that they call in their attributes, in lists of
routes, or in the variables of a function. Nothing is called or imported here.
"""

from __future__ import annotations

import inspect
import sys
from collections.abc import Awaitable, Callable, Iterator, Mapping
from typing import TYPE_CHECKING, Any, NamedTuple, TypeAlias

if TYPE_CHECKING:
    from dovetail.transports.streamable_http.app import HttpApp

__all__ = ["AppEndpoint", "AsgiApp", "find_endpoints", "is_asgi_app", "is_inside"]

AsgiApp: TypeAlias = Callable[[Any, Any, Any], Awaitable[None]]

_HTTP_APP = "dovetail.transports.streamable_http.app"
# The parameters scope, receive and send.
_PARAMETERS = 3


class AppEndpoint(NamedTuple):
    """An MCP endpoint and its URL path."""

    path: str
    app: HttpApp


def is_asgi_app(value: Any) -> bool:
    """Whether a value is an `async def` with three parameters, or an object that is called so."""
    if isinstance(value, type) or not callable(value):
        return False
    function = value if inspect.isfunction(value) else type(value).__call__
    if not inspect.iscoroutinefunction(function) or not inspect.isfunction(function):
        return False
    own = 0 if function is value else 1
    return function.__code__.co_argcount - own == _PARAMETERS


def find_endpoints(app: AsgiApp) -> list[AppEndpoint]:
    """The MCP endpoints in an application, each once."""
    module = sys.modules.get(_HTTP_APP)
    if module is None:
        return []  # nothing has called `server.http_app()`
    found = {
        id(inner): AppEndpoint(prefix + inner.path, inner)
        for prefix, inner in _walk(app, "", set())
        if isinstance(inner, module.HttpApp)
    }
    return list(found.values())


def is_inside(app: AsgiApp, outer: AsgiApp) -> bool:
    """Whether `outer` calls this application."""
    return app is not outer and any(inner is app for _, inner in _walk(outer, "", set()))


def _walk(app: Any, prefix: str, seen: set[int]) -> Iterator[tuple[str, Any]]:
    """An application and those that it calls, with the path before their own."""
    if id(app) in seen or not is_asgi_app(app):
        return
    seen.add(id(app))
    yield prefix, app
    if inspect.isfunction(app):
        variables = inspect.getclosurevars(app)
        kept: Mapping[str, Any] = {**variables.globals, **variables.nonlocals}
    else:
        kept = getattr(app, "__dict__", {})
        # Starlette's Mount removes its path from the path of a request; Route does not.
        if isinstance(kept.get("path"), str) and "app" in kept and "endpoint" not in kept:
            prefix += kept["path"]
    for value in kept.values():
        for inner in _members(value):
            yield from _walk(inner, prefix, seen)


def _members(value: Any) -> Iterator[Any]:
    if isinstance(value, Mapping):
        yield from value.values()
    elif isinstance(value, list | tuple):
        yield from value
    else:
        yield value
