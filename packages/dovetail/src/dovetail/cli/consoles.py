"""When the commands that serve offer the console, and for which servers.

The package of the console is imported only if it is on.
"""

from __future__ import annotations

import asyncio
import hashlib
import hmac
import sys
from collections.abc import Mapping, Sequence

from dovetail.cli.loading import split_spec
from dovetail.cli.settings import HttpSettings, WorkerSettings
from dovetail.errors import MissingPackageError, UsageError
from dovetail.net.addresses import is_loopback
from dovetail.runtime.auth_backend import AuthBackend
from dovetail.server import Server
from dovetail.transports.asgi.messages import ServedApp
from dovetail.transports.streamable_http.app import HttpApp

__all__ = ["add_console", "open_page", "watch_guard"]

_PREFIX = "/console/"
# The module, what needs it, and what to install.
_CONSOLE = ("dovetail_console", "--console", "dovetail-console")


def add_console(
    app: ServedApp,
    served: Mapping[str, tuple[Server, HttpApp]],
    settings: HttpSettings,
    file: str | None = None,
) -> ServedApp | None:
    """The application with the console; None if the console is off. Raises UsageError.

    `served`: name -> server and its endpoint. `file`: the file that has the server.
    """
    endpoints = [endpoint for _, endpoint in served.values()]
    if not _is_wanted(endpoints, settings):
        if settings.watch:
            raise UsageError("--watch shows traffic in the console, which is off; add --console")
        return None
    if settings.watch and settings.workers > 1:
        raise UsageError("--watch shows the traffic of one process; leave out --workers")
    try:
        with MissingPackageError.when_importing(*_CONSOLE):
            from dovetail_console import app as console  # noqa: PLC0415 - see test_layers
    except MissingPackageError:
        if settings.console or settings.watch:
            raise
        return None
    return console.add_console(
        app,
        {name: endpoint for name, (_, endpoint) in served.items()},
        file=file,
        command=() if file is None else _stdio_command(file),
        watch=settings.watch,
        token=None if settings.worker is None else _shared_token(settings.worker),
        is_shared=settings.workers > 1,
    )


def _is_wanted(endpoints: Sequence[HttpApp], settings: HttpSettings) -> bool:
    if settings.console is False:
        return False
    if settings.console is None and any(f"{each.path}/".startswith(_PREFIX) for each in endpoints):
        # The path of the page is taken.
        return False
    if is_loopback(settings.host):
        # Another name or several processes mean a deployment, often behind a reverse proxy.
        is_private = settings.workers == 1 and all(map(is_loopback, settings.allowed_hosts))
        return settings.console or is_private
    guards = [endpoint.auth for endpoint in endpoints]
    if settings.console and not all(auth is not None and auth.requires_auth for auth in guards):
        raise UsageError(
            f"--console: {settings.host} accepts connections from other machines, and the console "
            "would be open to everybody; add --keys or --issuer, or omit the host to listen on "
            "127.0.0.1 only"
        )
    return bool(settings.console)


def watch_guard(auth: AuthBackend | None) -> AuthBackend | None:
    """The guard, with the principals that it finds shown in the traffic."""
    with MissingPackageError.when_importing(*_CONSOLE):
        from dovetail_console.watching import WatchedAuth  # noqa: PLC0415 - see test_layers

    return None if auth is None else WatchedAuth(auth)


def _stdio_command(file: str) -> Sequence[str]:
    parts = split_spec(file)
    if parts is None:
        return ()
    path, name = parts
    absolute = str(path.resolve()) + (f":{name}" if name else "")
    return (sys.executable, "-m", "dovetail", "run", absolute)


def _shared_token(worker: WorkerSettings) -> str:
    """The token of all workers: a page that one of them serves sends requests to others."""
    key = bytes.fromhex(worker.state_key)
    return hmac.new(key, b"console token", hashlib.sha256).hexdigest()


def open_page(url: str) -> None:
    """Open the page in the user's browser, if there is one; the caller has printed the URL."""
    import webbrowser  # noqa: PLC0415 - few commands open one

    from dovetail.client.auth.user_agent import has_display  # noqa: PLC0415 - the same

    if has_display():
        # Some browsers block until they are closed.
        asyncio.get_running_loop().run_in_executor(None, webbrowser.open, url)
