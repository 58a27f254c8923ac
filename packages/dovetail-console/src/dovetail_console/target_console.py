"""Serves the console for a target behind proxies; importing this imports uvicorn."""

from __future__ import annotations

import os
from collections.abc import Mapping, Sequence
from pathlib import PurePath

from dovetail.cli.client_runs import find_auth
from dovetail.cli.run_http import announce_console, make_runner, serve_until_signal
from dovetail.cli.settings import HttpSettings
from dovetail.cli.targets import GivenTarget
from dovetail.client.auth.storage import default_store
from dovetail.client.targets import Target, find_command, is_url
from dovetail.net.http_endpoint import parse_url
from dovetail.transports.http_server import bind
from dovetail.transports.path_router import PathRouter
from dovetail_console.app import ConsoleApp
from dovetail_console.console_site import ConsoleServer, ConsoleSite, SignInPlace
from dovetail_console.target_proxies import PATH, TargetAccess, WatchedProxy, make_proxies
from dovetail_console.traffic import Traffic

__all__ = ["build_target_console", "serve_target"]


# Programs that start a package, which is their first argument.
_LAUNCHERS = ("npx", "uvx", "bunx", "pipx")
# Parts of paths that say nothing about the server.
_GENERIC = ("index", "main", "dist", "build", "src", "lib", "bin", "/", ".", "..")
_SOURCES = (".py", ".js", ".mjs", ".cjs", ".ts")


def serve_target(target: Target, given: GivenTarget, run: HttpSettings) -> None:
    """Serve until a signal arrives; raises UsageError or TransportError."""
    app, proxies = build_target_console(target, given)
    with make_runner() as runner:
        serve_until_signal(
            app,
            proxies,
            bind(run.host, run.port),
            run,
            lambda port: announce_console(port, run),
            runner=runner,
        )


def build_target_console(
    target: Target, given: GivenTarget
) -> tuple[ConsoleApp, Sequence[WatchedProxy]]:
    """The application and its proxies; raises UsageError."""
    options = given.options
    headers = options.read_headers()
    entry_cwd = target.get("cwd") if isinstance(target, Mapping) else None
    access = TargetAccess(
        headers=headers,
        auth=find_auth(target, headers),
        env=options.env,
        cwd=options.cwd or entry_cwd,
    )
    traffic = Traffic()
    url = _find_url(target)
    argv = () if url is not None else _find_argv(target)
    name = given.text if options.config is not None else _find_name(argv)
    proxies = make_proxies(target, access, traffic, name)
    first = proxies[PATH]
    server = ConsoleServer(
        name=first.name,
        info=first.identity.implementation,
        path=PATH,
        endpoints={path.rpartition("/")[2]: path for path in proxies if path != PATH},
        command=argv,
        url=url or "",
        target=given.for_call(),
        check_words=given.for_check(argv),
        # The URL as `dovetail login` stores it; a server with its own credentials needs no login.
        sign_in=None
        if url is None or access.auth is None
        else SignInPlace(url=str(parse_url(url)), store=default_store()),
    )
    router = PathRouter({path: proxy.http_app(path) for path, proxy in proxies.items()})
    site = ConsoleSite(servers=[server], mode="target", traffic=traffic)
    return ConsoleApp(router, site), list(proxies.values())


def _find_url(target: Target) -> str | None:
    text = target.get("url") if isinstance(target, Mapping) else target
    return text if isinstance(text, str) and is_url(text) else None


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


def _find_argv(target: Target) -> Sequence[str]:
    if isinstance(target, str | os.PathLike | Sequence | Mapping):
        return tuple(find_command(target).argv)
    return ()
