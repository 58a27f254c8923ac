"""The ASGI application: the page and its API at `/console/`, and everything else as before."""

from __future__ import annotations

import gzip
import hashlib
import secrets
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any, NamedTuple
from urllib.parse import quote

from dovetail.errors import UsageError
from dovetail.transports import AppWrapper, HttpApp, HttpRequest, HttpResponse, ServedApp
from dovetail.wire import codec
from dovetail_console.api import ConsoleApi
from dovetail_console.event_streams import SECURITY_HEADERS
from dovetail_console.requests import (
    ConsoleServer,
    ConsoleSite,
    RefusedError,
    check_address,
    has_token,
    prefers_html,
)
from dovetail_console.traffic import Traffic
from dovetail_console.users import OneUser
from dovetail_console.watching import WatchedApp

__all__ = ["ConsoleApp", "add_console", "find_assets"]

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
    """An application with the console; `server.http_app(console=True)` creates it."""

    def __init__(self, app: ServedApp, site: ConsoleSite) -> None:
        super().__init__(app)
        self._site = site
        self._assets = find_assets()
        self._api = ConsoleApi(site)
        # Of a target, whose credentials are those of the user.
        self._user = OneUser() if site.mode == "target" else None
        for server in site.servers:
            if f"{server.path}/".startswith(f"{_PREFIX}/"):
                raise UsageError(
                    f"the path {server.path!r} is that of the console; serve {server.name!r} at "
                    "another one, or without the console"
                )

    async def __call__(self, scope: Any, receive: Any, send: Any) -> None:
        """Serve one ASGI connection; everything but the console goes to the wrapped application."""
        if scope["type"] == "http" and not self._is_closing:
            request = HttpRequest(scope, dict(scope["headers"]), receive, send)
            path = request.path
            is_below = path.startswith(f"{_PREFIX}/")
            is_ours = is_below or (path in ("", "/", _PREFIX) and prefers_html(request))
            # The routes of the servers take precedence.
            if is_ours and not any(
                server.app.has_route(path.rstrip("/")) for server in self._site.servers
            ):
                await self._serve(request, path.removeprefix(f"{_PREFIX}/") if is_below else None)
                return
            if self._user is not None and not has_token(request, self._site):
                text = "Only the page of the console may use this address"
                await request.respond(HttpResponse(403, codec.encode({"error": text})))
                return
        await super().__call__(scope, receive, send)

    def is_validated(self, request: Any) -> bool:
        """Whether only the body is unchecked; requests for a target need the token each time."""
        return self._user is None and super().is_validated(request)

    def end_streams(self) -> None:
        """End the streams of the console."""
        self._api.close()

    # -- requests -----------------------------------------------------------------------------

    async def _serve(self, request: HttpRequest, path: str | None) -> None:
        """Serve a path below `/console/`; None redirects there."""
        self.end_streams_on_signal()
        response: HttpResponse | None
        try:
            check_address(request, self._site)
            if path is None:
                # Relative, because a reverse proxy may have removed the start of the path.
                last = "" if request.path else request.mount_point.rpartition("/")[2]
                location = quote(f"{last}{_PREFIX}/" if last else _PREFIX[1:] + "/").encode()
                response = HttpResponse(302, b"", [(b"location", location), _NO_STORE])
            elif path.startswith(_API):
                response = await self._api.serve(request, path.removeprefix(_API))
            else:
                response = self._serve_file(request, path)
        except RefusedError as error:
            response = HttpResponse(error.status, codec.encode({"error": error.text}))
            headers = [*response.headers, _NO_STORE, *error.headers]
            response = response._replace(headers=headers)
        if response is not None:
            headers = [*response.headers, *SECURITY_HEADERS]
            await request.respond(response._replace(headers=headers))

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
        if name != INDEX:
            return _send(asset, request)
        if self._user is not None:
            self._user.check(request)
        return self._send_index(asset)

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


def add_console(
    app: ServedApp,
    endpoints: Mapping[str, HttpApp],
    *,
    file: str | None = None,
    command: Sequence[str] = (),
    watch: bool = False,
    token: str | None = None,
    is_shared: bool = False,
) -> ConsoleApp:
    """The application with the console at `console/` below its mount point.

    `endpoints`: those of the application by the name of the server; an empty name stands for the
    server's own. `file` and `command`: where the server is, and what starts it on stdio. `token`:
    that of the page, if several processes share it.
    """
    servers = [
        ConsoleServer(name=name or endpoint.info.name, app=endpoint, file=file, command=command)
        for name, endpoint in endpoints.items()
    ]
    traffic = Traffic() if watch else None
    site = ConsoleSite(
        servers=servers,
        traffic=traffic,
        is_shared=is_shared,
        token=token or secrets.token_urlsafe(24),
    )
    if traffic is not None:
        app = WatchedApp(app, traffic, {each.path: each for each in endpoints.values()})
    return ConsoleApp(app, site)
