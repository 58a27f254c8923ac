"""The HTTP API of the page: which handler serves which path, and what every request must have."""

from __future__ import annotations

import re
from collections.abc import Awaitable, Callable, Mapping
from typing import TYPE_CHECKING, Any
from urllib.parse import quote

import msgspec
from msgspec import Struct

from dovetail.errors import UsageError
from dovetail.spec.header_params import find_headers
from dovetail.transports import HttpRequest, HttpResponse
from dovetail.wire import codec
from dovetail_console.api_check import CheckRunner
from dovetail_console.config import describe_site
from dovetail_console.event_streams import EventStream, EventStreams
from dovetail_console.evidence import serve_evidence
from dovetail_console.requests import (
    ApiRequest,
    ConsoleSite,
    RefusedError,
    check_caller,
    check_token,
)
from dovetail_console.saved_calls import serve_copy, serve_test

if TYPE_CHECKING:
    from dovetail_console.sign_in import SignIn

__all__ = [
    "ConsoleApi",
    "expand",
    "names_in",
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
_NO_STORE = (b"cache-control", b"no-store")
Handler = Callable[[ApiRequest], Awaitable[HttpResponse | None]]


class ConsoleApi:
    """Serves the requests to `/console/api/`."""

    def __init__(self, site: ConsoleSite) -> None:
        self._site = site
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
        check_token(request, self._site)
        if name not in _OPEN:
            await check_caller(request, self._site)
        if name not in self._handlers:
            raise RefusedError(404, f"There is no api/{name}")
        method, handle = self._handlers[name]
        if request.scope["method"] != method:
            allowed = ((b"allow", method.encode()),)
            raise RefusedError(405, f"Only {method} is allowed here", allowed)
        body = await self._read_json(request) if method == "POST" else {}
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

    async def _read_json(self, request: HttpRequest) -> dict[str, object] | None:
        """The JSON object in the body; None if a refusal was sent. Raises RefusedError."""
        essence = request.headers.get(b"content-type", b"").partition(b";")[0].strip().lower()
        if essence != b"application/json":
            raise RefusedError(415, "Content-Type must be application/json")
        data = await self._site.servers[0].app.read_body(request, _MAX_BYTES)
        if data is None:
            return None
        try:
            body = codec.decode_json(data)
        except msgspec.ValidationError as error:
            raise RefusedError(400, f"The body is not valid JSON: {error}") from None
        if not isinstance(body, dict):
            raise RefusedError(400, "The body must be a JSON object")
        return body


async def _serve_form(given: ApiRequest) -> HttpResponse:
    # The validator takes 50 ms to load.
    from dovetail_console.forms import serve_form  # noqa: PLC0415

    return await serve_form(given)


async def _serve_outline(given: ApiRequest) -> HttpResponse:
    from dovetail_console.forms import serve_outline  # noqa: PLC0415 - the same

    return await serve_outline(given)


# The page needs these before it has credentials.
_OPEN = ("config", "sign-in")


# -- URIs from templates, as far as they are filled in (RFC 6570) --------------------------------

_EXPRESSION = re.compile(r"\{([+#./;?&]?)([^{}]+)\}")
_MODIFIER = re.compile(r"\*|:\d+$")
_RESERVED = ":/?#[]@!$&'()*+,;="
# operator: (what comes first, what is between values)
_MARKS = {"": ("", ","), "+": ("", ","), "#": ("#", ","), "?": ("?", "&")}


class _UriAsked(Struct):
    template: str
    values: dict[str, str] = {}


async def serve_uri(given: ApiRequest) -> HttpResponse:
    """Return the names of the variables, and the URI."""
    asked = given.read(_UriAsked, "a template and values")
    found = {"names": names_in(asked.template), "uri": expand(asked.template, asked.values)}
    return HttpResponse(200, codec.encode(found))


def names_in(template: str) -> list[str]:
    """The variables of a template, each of them once."""
    lists = (found[2] for found in _EXPRESSION.finditer(template))
    return list(dict.fromkeys(name for part in lists for name in _split(part)))


def expand(template: str, values: Mapping[str, str]) -> str:
    """The URI; variables without a value are left out."""

    def fill(found: re.Match[str]) -> str:
        operator = found[1]
        safe = _RESERVED if operator in ("+", "#") else ""
        parts = [
            (f"{name}=" if operator in (";", "?", "&") else "") + quote(values[name], safe=safe)
            for name in _split(found[2])
            if values.get(name)
        ]
        first, between = _MARKS.get(operator, (operator, operator))
        return first + between.join(parts) if parts else ""

    return _EXPRESSION.sub(fill, template)


def _split(names: str) -> list[str]:
    return [_MODIFIER.sub("", name) for name in names.split(",")]
