"""Make a server from an OpenAPI document, or from an application that describes itself with one."""

from __future__ import annotations

from collections.abc import AsyncIterator, Callable, Sequence
from contextlib import AbstractAsyncContextManager, asynccontextmanager, nullcontext
from typing import Any, TypedDict, TypeVar

import httpx

from dovetail import Server, UsageError
from dovetail_openapi.api import ApiClient
from dovetail_openapi.document import Document, LoadRef, Spec, read_document
from dovetail_openapi.naming import OPERATION, shorten
from dovetail_openapi.operations import Rule
from dovetail_openapi.registration import Registration
from dovetail_openapi.security import ApiCredentials, CredentialSource

__all__ = ["OpenApiOptions", "Spec", "build_from_fastapi", "build_from_openapi"]

_TIMEOUT = 30.0
_MAX_RESPONSE_BYTES = 1024 * 1024
# The host that an application in this process sees; frameworks allow it by default.
_LOCAL = "http://localhost"


class OpenApiOptions(TypedDict, total=False):
    """The keywords of `Server.from_openapi` and `Server.from_fastapi`."""

    name: str
    """The name of the new server; the title of the document by default."""
    server: Server
    """Register the operations with this server instead of a new one."""
    client: httpx.AsyncClient
    """Sends the requests. Its base_url, if it has one, replaces the servers of the document."""
    rules: Sequence[Rule]
    """The first rule that matches an operation decides; without one it becomes a tool."""
    credentials: CredentialSource
    """By the name of the security scheme, or a function of the context and the scheme."""
    timeout: float
    """Seconds for one call of the API."""
    max_response_bytes: int
    """Bytes of one response of the API; a larger one is an error."""
    output_schemas: bool
    """Whether tools have output schemas; turn it off for an API that does not keep to its own."""
    load_ref: LoadRef
    """Returns the document at a URL; without it, a $ref to another document is an error."""
    run_lifespan: bool
    """`from_fastapi` only: whether the lifespan of the application runs with that of the server.

    Turn it off if the application is also served by itself.
    """


S = TypeVar("S", bound=Server)


def build_from_openapi(make: Callable[..., S], spec: Spec, options: OpenApiOptions) -> S:
    """Return a server with the operations of a document; raises UsageError."""
    client = options.get("client")
    if client is not None and not hasattr(client, "build_request"):
        raise UsageError(f"client is an httpx.AsyncClient, got {type(client).__name__}")
    return _build(make, spec, options, httpx.AsyncClient)


def build_from_fastapi(make: Callable[..., S], app: Any, options: OpenApiOptions) -> S:
    """Return a server with the operations of a FastAPI application, called in this process."""
    describe = getattr(app, "openapi", None)
    if not callable(describe):
        raise UsageError(f"from_fastapi takes a FastAPI application, got {type(app).__name__}")
    lifespan = getattr(getattr(app, "router", None), "lifespan_context", None)
    state: dict[str, Any] = {}

    @asynccontextmanager
    async def around() -> AsyncIterator[None]:
        if lifespan is None or not options.get("run_lifespan", True):
            yield
            return
        async with lifespan(app) as found:
            state.update(found or {})
            yield

    async def serve(scope: Any, receive: Any, send: Any) -> None:
        # Handlers find what the lifespan yielded in `request.state`.
        await app({**scope, "state": dict(state)}, receive, send)

    def connect() -> Any:
        # An exception in the application is its response with status 500.
        transport = httpx.ASGITransport(app=serve, raise_app_exceptions=False)
        return httpx.AsyncClient(transport=transport, base_url=_LOCAL)

    document = {**describe(), "servers": [{"url": _LOCAL}]}
    return _build(make, document, options, connect, around)


def _build(
    make: Callable[..., S],
    spec: Spec,
    options: OpenApiOptions,
    make_client: Callable[[], httpx.AsyncClient],
    around: Callable[[], AbstractAsyncContextManager[Any]] = nullcontext,
) -> S:
    try:
        document = read_document(spec, options.get("load_ref"))
        credentials = ApiCredentials(document, options.get("credentials"))
        server: Any = options.get("server") or _make_server(make, document, options.get("name"))
        api = ApiClient(
            options.get("client"),
            make_client,
            timeout=options.get("timeout", _TIMEOUT),
            max_response_bytes=options.get("max_response_bytes", _MAX_RESPONSE_BYTES),
            around=around,
        )
        registration = Registration(
            server, document, api, credentials, output_schemas=options.get("output_schemas", True)
        )
        registration.add(options.get("rules", ()))
    except RecursionError:
        raise UsageError("the OpenAPI document is nested too deeply") from None
    server.add_lifespan(api.open)
    built: S = server
    return built


def _make_server(make: Callable[..., S], document: Document, name: str | None) -> S:
    info = document.root.find("info")
    title = "" if info is None else info.text("title")
    version = "" if info is None else str(info.value.get("version", ""))
    about = "" if info is None else shorten(info.text("description"), OPERATION)
    return make(name or title or "openapi", version=version or "0.0.0", description=about or None)
