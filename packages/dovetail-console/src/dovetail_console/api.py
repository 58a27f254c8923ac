"""The HTTP API of the page: which handler serves which path, and what every request must have."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable
from typing import TYPE_CHECKING

import msgspec

from dovetail.transports import HttpRequest, HttpResponse
from dovetail.wire import codec
from dovetail_console.api_check import CheckRunner
from dovetail_console.config import describe_facts, describe_site
from dovetail_console.event_streams import EventStream, EventStreams
from dovetail_console.rates import count_request
from dovetail_console.requests import (
    ApiRequest,
    ConsoleSite,
    RefusedError,
    check_caller,
    check_token,
)
from dovetail_console.workers import JOBS, Answer, Workers

if TYPE_CHECKING:
    from dovetail_console.sign_in import SignIn

__all__ = ["ConsoleApi"]

# Bytes of a body: of what starts a stream, of what a worker gets, and of a long session's frames.
_MAX_START = 16 * 1024
_MAX_WORK = 4 * 1024 * 1024
_MAX_EVIDENCE = 32 * 1024 * 1024
# The page asks these while its user types. All others count as requests to the server.
_NOT_COUNTED = ("config", "form", "headers", "outline", "sign-in", "uri")
# The page needs these before it has credentials.
_OPEN = ("config", "sign-in")
_NO_STORE = (b"cache-control", b"no-store")
# What is said of a form that is too large to work out: it is an editor for JSON.
_LARGE_FORM = Answer(
    codec.encode(
        {
            "field": {"kind": "any", "type": "any JSON"},
            "errors": [],
            "unchecked": "its schema is too large",
        }
    )
)
Handler = Callable[[ApiRequest], Awaitable[HttpResponse | None]]


class ConsoleApi:
    """Serves the requests to `/console/api/`."""

    def __init__(self, site: ConsoleSite) -> None:
        self._site = site
        self.streams: EventStreams = EventStreams()
        self._workers = Workers()
        self._handlers: dict[str, tuple[str, Handler]] = {
            "config": ("GET", self._config),
            "traffic": ("GET", self._traffic),
            "check": ("POST", CheckRunner(self.streams).serve),
            "sign-in": ("POST", self._start_sign_in),
        }
        self._sign_in: SignIn | None = None

    async def serve(self, request: HttpRequest, name: str) -> HttpResponse | None:
        """The response; None if it has been sent or nobody waits for it. Raises RefusedError."""
        check_token(request, self._site)
        caller = "" if name in _OPEN else await check_caller(request, self._site)
        if name not in self._handlers and name not in JOBS:
            raise RefusedError(404, f"There is no api/{name}")
        method = "POST" if name in JOBS else self._handlers[name][0]
        if request.scope["method"] != method:
            allowed = ((b"allow", method.encode()),)
            raise RefusedError(405, f"Only {method} is allowed here", allowed)
        if method == "POST":
            _check_type(request)
        if name not in _NOT_COUNTED:
            await count_request(request, self._site.servers[0])
        if name in JOBS:
            response = await self._serve_job(request, name, caller)
        else:
            response = await self._serve_here(request, name)
        return response and response._replace(headers=[*response.headers, _NO_STORE])

    def finish_sign_in(self, request: HttpRequest) -> HttpResponse:
        """Serve the page that the authorization server redirects to."""
        if self._sign_in is None:
            raise RefusedError(404, "No sign-in is under way")
        return self._sign_in.finish(request)

    def close(self) -> None:
        """End what runs for the page."""
        self.streams.end()
        self._workers.close()

    async def _serve_here(self, request: HttpRequest, name: str) -> HttpResponse | None:
        method, handle = self._handlers[name]
        body: object = {}
        if method == "POST":
            data = await self._site.servers[0].app.read_body(request, _MAX_START)
            if data is None:
                return None
            try:
                body = codec.decode_json(data)
            except msgspec.ValidationError as error:
                raise RefusedError(400, f"The body is not valid JSON: {error}") from None
            if not isinstance(body, dict):
                raise RefusedError(400, "The body must be a JSON object")
        return await handle(ApiRequest(request, body, self._site))

    async def _serve_job(self, request: HttpRequest, name: str, caller: str) -> HttpResponse | None:
        """The response of a worker; None if the client has gone."""
        limit = _MAX_EVIDENCE if name == "evidence" else _MAX_WORK
        async with self._workers.turn(caller):
            body = await self._site.servers[0].app.read_body(request, limit)
            if body is None:
                return None
            facts = [describe_facts(server, request) for server in self._site.servers]
            work = asyncio.ensure_future(self._workers.run(name, facts, body))

            def stop() -> None:
                work.cancel()

            watch = request.watch(stop)
            try:
                await asyncio.wait([work])
            finally:
                watch.cancel()
                work.cancel()
        if work.cancelled():
            return None
        try:
            answer = work.result()
        except RefusedError:
            if name != "form":
                raise
            answer = _LARGE_FORM
        headers = [(b"content-type", answer.content_type.encode())]
        if answer.file:
            disposition = f'attachment; filename="{answer.file}"'
            headers.append((b"content-disposition", disposition.encode()))
        return HttpResponse(answer.status, answer.body, headers)

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


def _check_type(request: HttpRequest) -> None:
    essence = request.headers.get(b"content-type", b"").partition(b";")[0].strip().lower()
    if essence != b"application/json":
        raise RefusedError(415, "Content-Type must be application/json")
