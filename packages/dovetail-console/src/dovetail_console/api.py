"""The HTTP API of the page: which handler serves which path, and what every request must have."""

from __future__ import annotations

from collections.abc import Awaitable, Callable
from typing import TYPE_CHECKING, Any

import msgspec
from msgspec import Struct

from dovetail.errors import UsageError
from dovetail.features.header_params import find_headers
from dovetail.transports.asgi.messages import (
    BodyTooLargeError,
    BodyTooSlowError,
    ClientGoneError,
    HttpRequest,
    HttpResponse,
    read_body,
)
from dovetail.wire import codec
from dovetail_console.api_check import CheckRunner
from dovetail_console.call_snippets import serve_copy
from dovetail_console.config import describe_site
from dovetail_console.console_site import ConsoleSite
from dovetail_console.event_streams import EventStream, EventStreams
from dovetail_console.evidence import serve_evidence
from dovetail_console.requests import ApiRequest, RefusedError, RequestChecks
from dovetail_console.save_test import serve_test
from dovetail_console.uri_templates import serve_uri

if TYPE_CHECKING:
    from dovetail_console.sign_in import SignIn

__all__ = [
    "ConsoleApi",
    "serve_headers",
]


class _Tool(Struct, rename="camel"):
    name: str
    input_schema: dict[str, Any] = {}


class _Asked(Struct):
    tools: list[_Tool]


async def serve_headers(given: ApiRequest) -> HttpResponse:
    """Return the headers by tool, and the tools that a client must leave out."""
    asked = given.read(_Asked, "tools")
    headers = {}
    excluded = []
    for tool in asked.tools:
        try:
            headers[tool.name] = find_headers(tool.input_schema, tool.name)
        except (UsageError, AttributeError, RecursionError) as error:
            excluded.append({"name": tool.name, "message": str(error)})
    return HttpResponse(200, codec.encode({"headers": headers, "excluded": excluded}))


# Frames of a long session are the largest body.
_MAX_BYTES = 64 * 1024 * 1024
_BODY_SECONDS = 30.0
_NO_STORE = (b"cache-control", b"no-store")
Handler = Callable[[ApiRequest], Awaitable[HttpResponse | None]]


class ConsoleApi:
    """Serves the requests to `/console/api/`."""

    def __init__(self, site: ConsoleSite, checks: RequestChecks) -> None:
        self._site = site
        self._checks = checks
        self.streams: EventStreams = EventStreams()
        self._handlers: dict[str, tuple[str, Handler]] = {
            "config": ("GET", self._config),
            "traffic": ("GET", self._traffic),
            "check": ("POST", CheckRunner(self.streams).serve),
            "copy": ("POST", serve_copy),
            "evidence": ("POST", serve_evidence),
            "form": ("POST", _serve_form),
            "headers": ("POST", serve_headers),
            "outline": ("POST", _serve_outline),
            "sign-in": ("POST", self._start_sign_in),
            "test": ("POST", serve_test),
            "uri": ("POST", serve_uri),
        }
        self._sign_in: SignIn | None = None

    async def serve(self, request: HttpRequest, name: str) -> HttpResponse | None:
        """The response; None if it has been sent. Raises RefusedError."""
        self._checks.check_token(request)
        if name not in _OPEN:
            await self._checks.check_caller(request)
        if name not in self._handlers:
            raise RefusedError(404, f"There is no api/{name}")
        method, handle = self._handlers[name]
        if request.scope["method"] != method:
            allowed = ((b"allow", method.encode()),)
            raise RefusedError(405, f"Only {method} is allowed here", allowed)
        body = await _read_json(request) if method == "POST" else {}
        if body is None:
            return None
        response = await handle(ApiRequest(request, body, self._site))
        return response and response._replace(headers=[*response.headers, _NO_STORE])

    def finish_sign_in(self, request: HttpRequest) -> HttpResponse:
        """Serve the page that the authorization server redirects to."""
        if self._sign_in is None:
            raise RefusedError(404, "No sign-in is under way")
        return self._sign_in.finish(request)

    async def _start_sign_in(self, given: ApiRequest) -> None:
        if self._sign_in is None:
            from dovetail_console.sign_in import SignIn  # noqa: PLC0415 - OAuth; few servers use it

            self._sign_in = SignIn(self.streams)
        await self._sign_in.serve(given)

    async def _traffic(self, given: ApiRequest) -> None:
        traffic = self._site.traffic
        if traffic is None:
            raise RefusedError(404, "Nothing is recorded; start the server with --watch")

        async def work(stream: EventStream) -> None:
            async for frame in traffic.follow():
                await stream.send("frame", frame)

        await self.streams.serve(given.request, work)

    async def _config(self, given: ApiRequest) -> HttpResponse:
        return HttpResponse(200, codec.encode(describe_site(self._site, given.request)))


async def _serve_form(given: ApiRequest) -> HttpResponse:
    # The validator takes 50 ms to load.
    from dovetail_console.forms import serve_form  # noqa: PLC0415

    return await serve_form(given)


async def _serve_outline(given: ApiRequest) -> HttpResponse:
    from dovetail_console.forms import serve_outline  # noqa: PLC0415 - the same

    return await serve_outline(given)


# The page needs these before it has credentials.
_OPEN = ("config", "sign-in")


async def _read_json(request: HttpRequest) -> dict[str, object] | None:
    """The JSON object in the body; None if the page has gone. Raises RefusedError."""
    essence = request.headers.get(b"content-type", b"").partition(b";")[0].strip().lower()
    if essence != b"application/json":
        raise RefusedError(415, "Content-Type must be application/json")
    try:
        body = codec.decode_json(await read_body(request, _MAX_BYTES, _BODY_SECONDS))
    except BodyTooLargeError:
        close = ((b"connection", b"close"),)
        raise RefusedError(413, f"The body has more than {_MAX_BYTES} bytes", close) from None
    except BodyTooSlowError:
        raise RefusedError(408, "The body did not arrive in time") from None
    except ClientGoneError:
        return None
    except msgspec.ValidationError as error:
        raise RefusedError(400, f"The body is not valid JSON: {error}") from None
    if not isinstance(body, dict):
        raise RefusedError(400, "The body must be a JSON object")
    return body
