"""Transports: stdio and HTTP, and what a package needs that serves more beside an MCP endpoint.

`server.http_app()` returns an `HttpApp`, and `AppWrapper` is the base of applications around it.
"""

import importlib as _importlib
import typing as _typing

from dovetail.transports.stdio import serve_stdio

if _typing.TYPE_CHECKING:
    from dovetail.transports.asgi.messages import HttpRequest, HttpResponse, ServedApp
    from dovetail.transports.http_server import serve_http
    from dovetail.transports.streamable_http.app import HttpApp
    from dovetail.transports.wrappers import AppWrapper, PathRouter

__all__ = [
    "AppWrapper",
    "HttpApp",
    "HttpRequest",
    "HttpResponse",
    "PathRouter",
    "ServedApp",
    "serve_http",
    "serve_stdio",
]

# Imported on first use: uvicorn takes longer to import than a whole stdio server.
_MODULES = {
    **dict.fromkeys(("HttpRequest", "HttpResponse", "ServedApp"), "asgi.messages"),
    **dict.fromkeys(("AppWrapper", "PathRouter"), "wrappers"),
    "HttpApp": "streamable_http.app",
    "serve_http": "http_server",
}


def __getattr__(name: str) -> _typing.Any:
    if name in _MODULES:
        module = _importlib.import_module(f"dovetail.transports.{_MODULES[name]}")
        return getattr(module, name)
    raise AttributeError(f"module 'dovetail.transports' has no attribute {name!r}")
