"""Transports: stdio and HTTP."""

import typing as _typing

from dovetail.transports.stdio import serve_stdio

if _typing.TYPE_CHECKING:
    from dovetail.transports.http_server import serve_http

__all__ = ["serve_http", "serve_stdio"]


def __getattr__(name: str) -> _typing.Any:
    # Imported on first use: uvicorn takes longer to import than a whole stdio server.
    if name == "serve_http":
        from dovetail.transports.http_server import serve_http  # noqa: PLC0415 - see above

        return serve_http
    raise AttributeError(f"module 'dovetail.transports' has no attribute {name!r}")
