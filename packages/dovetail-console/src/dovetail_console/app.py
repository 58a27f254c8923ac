"""`ConsoleApp`: serves the page and its API at `/console/`, and everything else as before."""

from __future__ import annotations

import gzip
import hashlib
from collections.abc import Sequence
from pathlib import Path
from typing import NamedTuple

from dovetail.errors import UsageError
from dovetail.features.custom_routes import CustomRoutes
from dovetail.transports.app_wrapper import AppWrapper
from dovetail.transports.asgi.messages import (
    JSON,
    HttpRequest,
    HttpResponse,
    Receive,
    Scope,
    ServedApp,
    Transmit,
    respond,
)
from dovetail.transports.asgi.paths import mount_point, relative_path
from dovetail.transports.streamable_http.signals import end_streams_on_signal
from dovetail.wire import codec
from dovetail_console.api import ConsoleApi
from dovetail_console.console_site import ConsoleSite
from dovetail_console.page_headers import SECURITY_HEADERS
from dovetail_console.requests import (
    RefusedError,
    RequestChecks,
    prefers_html,
)

__all__ = [
    "INDEX",
    "Asset",
    "ConsoleApp",
    "Content",
    "find_assets",
]

INDEX = "index.html"
_STATIC = Path(__file__).parent / "static"
# Other files are not served.
_TYPES = {
    ".html": b"text/html; charset=utf-8",
    ".css": b"text/css; charset=utf-8",
    ".js": b"text/javascript; charset=utf-8",
    ".svg": b"image/svg+xml",
    ".png": b"image/png",
    ".ico": b"image/x-icon",
    "": b"text/plain; charset=utf-8",
}


class Content(NamedTuple):
    """The content of a file, also compressed, and its ETag."""

    body: bytes
    compressed: bytes
    etag: bytes


class Asset:
    """One file, which is read again after it has changed."""

    def __init__(self, file: Path) -> None:
        self._file = file
        self.content_type: bytes = _TYPES[file.suffix]
        self._changed_at = -1
        self._content = Content(b"", b"", b"")

    def read(self) -> Content:
        """The content; raises OSError."""
        changed_at = self._file.stat().st_mtime_ns
        if changed_at != self._changed_at:
            body = self._file.read_bytes()
            etag = b'"%s"' % hashlib.sha256(body).hexdigest()[:20].encode()
            self._content = Content(body, gzip.compress(body, mtime=0), etag)
            self._changed_at = changed_at
        return self._content


def find_assets(folder: Path = _STATIC) -> dict[str, Asset]:
    """The files by their path below the folder, such as `js/main.js`."""
    return {
        file.relative_to(folder).as_posix(): Asset(file)
        for file in sorted(folder.rglob("*"))
        if file.is_file() and file.suffix in _TYPES
    }


_PREFIX = "/console"
_API = "api/"
_CALLBACK = "callback"
_PLACEHOLDER = b"{{token}}"
_HTML = (b"content-type", b"text/html; charset=utf-8")
_NO_STORE = (b"cache-control", b"no-store")


class ConsoleApp(AppWrapper):
    """The ASGI application; `server.http_app(console=True)` and the command line create it."""

    def __init__(
        self, app: ServedApp, site: ConsoleSite, routes: Sequence[CustomRoutes] = ()
    ) -> None:
        """`routes`: those of the servers, which take precedence."""
        super().__init__(app)
        self._site = site
        self._routes = routes
        self._checks = RequestChecks(site)
        self._assets = find_assets()
        self._api = ConsoleApi(site, self._checks)
        for server in site.servers:
            if f"{server.path}/".startswith(f"{_PREFIX}/"):
                raise UsageError(
                    f"the path {server.path!r} is that of the console; serve {server.name!r} at "
                    "another one, or without the console"
                )

    async def __call__(self, scope: Scope, receive: Receive, send: Transmit) -> None:
        """Serve one ASGI connection; everything but the console goes to the wrapped application."""
        is_open = scope["type"] == "http" and not self._is_closing
        path = relative_path(scope) if is_open else None
        if path is not None and (path in ("", "/", _PREFIX) or path.startswith(f"{_PREFIX}/")):
            request = HttpRequest(scope, dict(scope["headers"]), receive, send)
            is_taken = any(routes.find(path.rstrip("/")) for routes in self._routes)
            if path.startswith(f"{_PREFIX}/") and not is_taken:
                await self._serve(request, path.removeprefix(f"{_PREFIX}/"))
                return
            if prefers_html(request) and not is_taken:
                await self._serve(request, None)
                return
        await self._app(scope, receive, send)

    # -- shutdown -----------------------------------------------------------------------------

    def begin_shutdown(self) -> None:
        """End the streams of the console and of the MCP endpoint."""
        self.end_streams()
        super().begin_shutdown()

    async def finish_shutdown(self, grace: float) -> None:
        """Refuse new requests, and give running calls `grace` seconds."""
        self.end_streams()
        await super().finish_shutdown(grace)

    def close(self) -> None:
        """End all streams, and all sessions of the MCP endpoint."""
        self.end_streams()
        super().close()

    def end_streams(self) -> None:
        """End the streams of the console."""
        self._api.streams.end()

    # -- requests -----------------------------------------------------------------------------

    async def _serve(self, request: HttpRequest, path: str | None) -> None:
        """Serve a path below `/console/`; None redirects there."""
        if self._is_hosted:
            end_streams_on_signal(self)
        response: HttpResponse | None
        try:
            self._checks.check_address(request, is_hosted=self._is_hosted)
            if path is None:
                location = f"{mount_point(request.scope)}{_PREFIX}/".encode()
                response = HttpResponse(302, b"", [(b"location", location), _NO_STORE])
            elif path.startswith(_API):
                response = await self._api.serve(request, path.removeprefix(_API))
            else:
                response = self._serve_file(request, path)
        except RefusedError as error:
            body = codec.encode({"error": error.text})
            response = HttpResponse(error.status, body, [*JSON, _NO_STORE, *error.headers])
        if response is not None:
            status, body, headers = response
            body = b"" if request.scope["method"] == "HEAD" else body
            await respond(request.transmit, status, body, [*headers, *SECURITY_HEADERS])

    def _serve_file(self, request: HttpRequest, path: str) -> HttpResponse:
        if request.scope["method"] not in ("GET", "HEAD"):
            allowed = ((b"allow", b"GET, HEAD"),)
            raise RefusedError(405, "Only GET and HEAD are allowed here", allowed)
        if path == _CALLBACK:
            return self._api.finish_sign_in(request)
        name = path or INDEX
        asset = self._assets.get(name)
        if asset is None:
            raise RefusedError(404, "There is no such file in the console")
        return self._send_index(asset) if name == INDEX else _send(asset, request)

    def _send_index(self, asset: Asset) -> HttpResponse:
        page = asset.read().body
        # The token is of letters, digits, - and _, so that it needs no escaping.
        body = page.replace(_PLACEHOLDER, self._site.token.encode())
        return HttpResponse(200, body, [_HTML, _NO_STORE])


def _send(asset: Asset, request: HttpRequest) -> HttpResponse:
    content = asset.read()
    headers = [
        (b"etag", content.etag),
        (b"cache-control", b"no-cache"),
        (b"vary", b"accept-encoding"),
    ]
    if request.headers.get(b"if-none-match") == content.etag:
        return HttpResponse(304, b"", headers)
    headers.append((b"content-type", asset.content_type))
    codings = request.headers.get(b"accept-encoding", b"").split(b",")
    if b"gzip" in (coding.partition(b";")[0].strip() for coding in codings):
        return HttpResponse(200, content.compressed, [*headers, (b"content-encoding", b"gzip")])
    return HttpResponse(200, content.body, headers)
