"""`dovetail console TARGET`: a server of anybody behind proxies, one for each revision.

The page talks to a proxy at the revision that it has chosen, and the proxy to the target at the
same one. A proxy connects when it is used first.
"""

from __future__ import annotations

import shlex
import time
from collections.abc import Mapping, Sequence
from pathlib import PurePath
from typing import Any

from dovetail.client import Channel, OnClosed, OnMessage, Target
from dovetail.client.auth import default_store
from dovetail.commands import TargetOptions, find_auth, serve_page
from dovetail.errors import TransportError
from dovetail.spec.revisions import REVISIONS
from dovetail.transports import PathRouter
from dovetail.wire import codec
from dovetail.wire.messages import Incoming, Request
from dovetail_console.app import ConsoleApp
from dovetail_console.requests import ConsoleServer, ConsoleSite, SignInPlace
from dovetail_console.traffic import Traffic, classify
from dovetail_gateway import Proxy

__all__ = ["RecordedChannel", "WatchedProxy", "build_target_console", "serve_target"]

_PATH = "/mcp"
# Programs that start a package, which is their first argument.
_LAUNCHERS = ("npx", "uvx", "bunx", "pipx")
# Parts of paths that say nothing about the server.
_GENERIC = ("index", "main", "dist", "build", "src", "lib", "bin", "/", ".", "..")
_SOURCES = (".py", ".js", ".mjs", ".cjs", ".ts")


def serve_target(
    target: Target,
    text: str | None,
    command: Sequence[str],
    options: TargetOptions,
    *,
    address: str,
    open_browser: bool,
) -> None:
    """Serve the page until a signal arrives; raises UsageError or TransportError."""
    app, proxies = build_target_console(target, text, command, options)
    serve_page(app, proxies, address, open_browser=open_browser)


def build_target_console(
    target: Target, text: str | None, command: Sequence[str], options: TargetOptions
) -> tuple[ConsoleApp, Sequence[WatchedProxy]]:
    """The application and its proxies; raises UsageError.

    `text` and `command` are the target as it is on the command line.
    """
    headers = options.read_headers()
    auth = find_auth(target, headers)
    entry = target if isinstance(target, Mapping) else {}
    url = entry.get("url") if entry else target
    is_url = isinstance(url, str) and url.lower().startswith(("http://", "https://"))
    argv = () if is_url else _find_argv(target)
    traffic = Traffic()
    modes = {_PATH: "auto"} | {f"{_PATH}/{each.date}": each.date for each in REVISIONS}
    proxies = {
        path: WatchedProxy(
            target,
            traffic,
            name=text if options.config is not None else _find_name(argv),
            mode=mode,
            headers=headers,
            auth=auth,
            env=options.env,
            cwd=options.cwd or entry.get("cwd"),
        )
        for path, mode in modes.items()
    }
    apps = {path: proxy.http_app(path) for path, proxy in proxies.items()}
    server = ConsoleServer(
        name=apps[_PATH].info.name,
        app=apps[_PATH],
        endpoints={path.rpartition("/")[2]: path for path in apps if path != _PATH},
        command=argv,
        url=str(url) if is_url else "",
        target=_write_target(text, command, options),
        check_words=_write_check(text, argv, options),
        # A server with its own credentials needs no login.
        sign_in=None if auth is None else SignInPlace(url=str(url), store=default_store()),
    )
    site = ConsoleSite(servers=[server], mode="target", traffic=traffic)
    return ConsoleApp(PathRouter(apps), site), list(proxies.values())


def _write_target(text: str | None, command: Sequence[str], options: TargetOptions) -> str:
    """What to pass to `dovetail call`."""
    if command:
        return f"-- {shlex.join(command)}"
    words = [] if options.config is None else ["--config", options.config]
    return shlex.join([*words, text or ""])


def _write_check(text: str | None, argv: Sequence[str], options: TargetOptions) -> list[str]:
    """The words for `dovetail check`."""
    words = [word for line in options.header_lines for word in ("--header", line)]
    words += [] if options.token_env is None else ["--token-env", options.token_env]
    words += [word for pair in options.env.items() for word in ("--env", "=".join(pair))]
    words += [] if options.cwd is None else ["--cwd", options.cwd]
    if options.config is not None:
        return [*words, "--config", options.config, "--server", text or ""]
    return [*words, "--", *argv] if argv else [*words, text or ""]


def _find_name(argv: Sequence[str]) -> str | None:
    """A name for the page: the package or file that a launcher starts, rather than the launcher."""
    words = [word for word in argv if not word.startswith("-")]
    if not words:
        return None
    if PurePath(words[0]).name in _LAUNCHERS and len(words) > 1:
        return PurePath(words[1]).name
    files = [word for word in words[1:] if word.endswith(_SOURCES)]
    if not files:
        return PurePath(words[0]).name
    # .../server-everything/dist/index.js
    telling = [part for part in PurePath(files[0]).with_suffix("").parts if part not in _GENERIC]
    return telling[-1] if telling else files[0]


def _find_argv(target: Target) -> tuple[str, ...]:
    """The command that starts a target; empty for one that its proxy refuses with the reason."""
    try:
        if isinstance(target, Mapping):
            return (target["command"], *target.get("args", ()))
        if isinstance(target, str):
            return tuple(shlex.split(target))
        return tuple(target) if isinstance(target, Sequence) else ()
    except (KeyError, TypeError, ValueError):
        return ()


class WatchedProxy(Proxy):
    """A proxy whose messages to and from the target are recorded."""

    def __init__(self, target: Target, traffic: Traffic, **options: Any) -> None:
        # The constructor opens a channel to test the target.
        self._traffic = traffic
        super().__init__(target, **options)

    def open_channel(self, target: Target, **options: Any) -> Channel:
        """Return a channel that records its messages."""
        return RecordedChannel(super().open_channel(target, **options), self._traffic)


class RecordedChannel(Channel):
    """A channel whose messages are recorded."""

    def __init__(self, inner: Channel, traffic: Traffic) -> None:
        self._inner = inner
        self._traffic = traffic
        self._stream = ""
        # The requests without a response yet: id -> when it was sent, and its frame.
        self._sent: dict[str, tuple[float, dict[str, Any]]] = {}
        self.transport: str = inner.transport
        self.address: tuple[str, int] | None = inner.address
        self.waits_for_response: bool = inner.waits_for_response

    async def open(self, on_message: OnMessage, on_closed: OnClosed) -> None:
        """Connect to the server; raises TransportError if that fails."""
        self._stream = self._traffic.next_stream("target-")

        def received(data: bytes, message: Incoming | None = None, /) -> None:
            self._record("in", data)
            on_message(data, message)

        def closed(error: TransportError) -> None:
            self._record("in", f"[{error}]".encode())
            on_closed(error)

        await self._inner.open(received, closed)

    async def send(self, data: bytes) -> None:
        """Send one message."""
        self._record("out", data)
        await self._inner.send(data)

    async def send_request(self, request: Request, params: Mapping[str, Any] | None) -> None:
        """Send a request."""
        self._record("out", codec.encode_message(request))
        await self._inner.send_request(request, params)

    async def close(self) -> None:
        """Close the connection."""
        await self._inner.close()

    def _record(self, direction: str, data: bytes) -> None:
        text = data.decode(errors="replace")
        kind, _, id = classify(text)
        ms: float | None = None
        request: dict[str, Any] | None = None
        if direction == "in" and kind in ("response", "error") and str(id) in self._sent:
            began, request = self._sent.pop(str(id))
            ms = round((time.monotonic() - began) * 1000, 3)
        frame = self._traffic.add(self._stream, direction, text, ms=ms, request=request)
        if direction == "out" and kind == "request":
            self._sent[str(id)] = time.monotonic(), frame
