"""`dovetail run FILE --http`: serve over HTTP, in one process or under a supervisor.

A worker is the same command with the settings of its supervisor (`settings.WorkerSettings`): it
gets its listening socket from it, and sends a report when it is ready. Messages for the user go to
stderr. The package of the console is imported only if the console is on.
"""

from __future__ import annotations

import asyncio
import contextlib
import hashlib
import hmac
import logging
import os
import signal
import socket
import sys
from collections.abc import Callable, Coroutine, Iterator, Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

from dovetail.cli.debugging import expose_crashes
from dovetail.cli.loading import AppEndpoint, Loaded, choose_guard, guard_flags, load
from dovetail.cli.log_format import log_requests, write_line
from dovetail.cli.process import ExitDeadline, tune_gc
from dovetail.cli.settings import HttpSettings, WorkerSettings, parse_address
from dovetail.cli.sources import EXPECTED, parse_source
from dovetail.cli.supervisor import EndpointReport, Supervisor, WorkerReport
from dovetail.errors import MissingPackageError, StoreError, TransportError, UsageError
from dovetail.net.addresses import is_loopback
from dovetail.runtime.auth_backend import AuthBackend
from dovetail.runtime.state import ServerState
from dovetail.server import Server
from dovetail.state import SQLiteBackend
from dovetail.transports.asgi.messages import ServedApp
from dovetail.transports.http_server import bind, serve_app
from dovetail.transports.streamable_http.app import HttpApp
from dovetail.transports.wrappers import OuterApp, PathRouter
from dovetail.wire import codec

if TYPE_CHECKING:
    from dovetail.auth import Guard

__all__ = [
    "add_console",
    "announce",
    "announce_console",
    "describe",
    "make_app",
    "make_runner",
    "open_listeners",
    "run_http",
    "run_many",
    "serve_page",
    "serve_until_signal",
    "watch_guard",
]

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
    source = parse_source(file)
    return () if source is None else (sys.executable, "-m", "dovetail", "run", source.absolute)


def _shared_token(worker: WorkerSettings) -> str:
    """The token of all workers: a page that one of them serves sends requests to others."""
    key = bytes.fromhex(worker.state_key)
    return hmac.new(key, b"console token", hashlib.sha256).hexdigest()


def _open_page(url: str) -> None:
    """Open the page in the user's browser, if there is one; the caller has printed the URL."""
    import webbrowser  # noqa: PLC0415 - few commands open one

    from dovetail.client.auth.user_agent import has_display  # noqa: PLC0415 - the same

    if has_display():
        # Some browsers block until they are closed.
        asyncio.get_running_loop().run_in_executor(None, webbrowser.open, url)


def run_http(file: str, run: HttpSettings, arguments: Sequence[str] = ()) -> int:
    """Serve the server of a file until a signal arrives.

    `arguments`: those of the server, in its `sys.argv[1:]`.
    Returns the exit code: 2 for a file without a server, 4 for a server that cannot start.
    """

    def serve() -> int:
        run.set_environment()
        if run.worker is None and (run.workers > 1 or run.reload):
            source = parse_source(file)
            if source is None or not source.can_be_found:
                kind = "file" if source is None or source.file is not None else "module"
                raise UsageError(f"There is no {kind} {file!r}; {EXPECTED}")
            return _supervise(["run", file, "--", *arguments], run, source.folder)
        _serve_site(lambda runner: _Site(load(file, runner.run, arguments), run), run)
        return 0

    return _exit_code(serve, run.worker)


def run_server_http(
    build: Callable[[], tuple[Server, HttpApp]], run: HttpSettings, command: Sequence[str] = ()
) -> int:
    """Serve an application of a server until a signal arrives; returns the exit code.

    `command`: the arguments with which a worker builds the same application.
    """

    def serve() -> int:
        if run.worker is None and run.workers > 1:
            return _supervise(command, run, None)

        def make_site(_: asyncio.Runner) -> _Site:
            server, app = build()
            return _Site(Loaded("", (server,), app, (AppEndpoint(run.path, app),)), run, app)

        _serve_site(make_site, run)
        return 0

    return _exit_code(serve, run.worker)


def _exit_code(serve: Callable[[], int], worker: WorkerSettings | None) -> int:
    try:
        return serve()
    except UsageError as error:
        problem: Exception = error
        code = 2
    except (TransportError, StoreError) as error:
        problem, code = error, 4
    except KeyboardInterrupt:
        return 130
    write_line(f"dovetail: {problem}", logging.ERROR)
    if worker is not None:
        # The pipe is closed already if the server has run.
        with contextlib.suppress(OSError), open(worker.report, "wb", closefd=False) as pipe:
            pipe.write(codec.encode(WorkerReport([], 0.0, error=str(problem))))
    return code


def _serve_site(make_site: Callable[[asyncio.Runner], _Site], run: HttpSettings) -> None:
    worker = run.worker
    if worker is not None:
        # The supervisor waits until they are closed, so child processes must not keep them open.
        os.set_inheritable(worker.listener, False)
        os.set_inheritable(worker.report, False)
    with make_runner() as runner:
        site = make_site(runner)
        if worker is not None:
            site.share(worker)
            _serve_as_worker(site, worker, runner=runner)
            return
        listener = bind(run.host, run.port)
        port = listener.getsockname()[1]
        site.serve(listener, runner, lambda: _announce(site.report, port, run))


def _serve_as_worker(site: _Site, worker: WorkerSettings, *, runner: asyncio.Runner) -> None:
    def report_start() -> None:
        with open(worker.report, "wb") as pipe:
            pipe.write(codec.encode(site.report))
        # The supervisor never writes to stdin; EOF means that it has ended.
        asyncio.get_running_loop().add_reader(0, os.kill, os.getpid(), signal.SIGTERM)

    site.serve(socket.socket(fileno=worker.listener), runner, report_start)


class _Site:
    """The application that a file serves."""

    def __init__(self, loaded: Loaded, run: HttpSettings, app: HttpApp | None = None) -> None:
        """`app`: an application with the options of the command line already.

        Raises UsageError for options that do not apply.
        """
        self._run = run
        self.servers = loaded.servers
        if (run.debug or run.reload) and is_loopback(run.host):
            expose_crashes(self.servers)
        endpoints = [*loaded.endpoints]
        warnings: list[str] = []
        self.app: ServedApp
        with_console: ServedApp | None = None
        if app is not None:
            self.app = app
            with_console = add_console(app, {"": (loaded.server, app)}, run)
        elif loaded.app is None:
            guard, warnings = choose_guard(loaded, run.guard, over_http=True)
            if run.rest:
                with MissingPackageError.when_importing(
                    "dovetail_openapi", "--rest", "dovetail-openapi"
                ):
                    from dovetail_openapi.rest import add_rest  # noqa: PLC0415 - see test_layers
                add_rest(loaded.server, guard=guard)
            endpoint = make_app(loaded.server, run.path, guard, run)
            self.app = endpoint
            endpoints = [AppEndpoint(run.path, endpoint)]
            served = {"": (loaded.server, endpoint)}
            with_console = add_console(self.app, served, run, loaded.source)
        else:
            _refuse_app_options(loaded.source, run)
            self.app = OuterApp(loaded.app, [each.app for each in endpoints])
        if run.workers > 1:
            _refuse_own_sessions(endpoints, run.workers)
        grace = max(server.options.grace for server in self.servers)
        self.app = with_console or self.app
        self.report = WorkerReport(
            [describe(each) for each in endpoints], grace, warnings, with_console is not None
        )

    def share(self, worker: WorkerSettings) -> None:
        """Share with the other workers of this machine what needs no cluster."""
        for server in self.servers:
            engine = server.engine
            if engine.state.backend.is_local:
                # A client may return to another worker than the one that asked its user.
                engine.eras.sealer.set_default_key(bytes.fromhex(worker.state_key))
            if not engine.state.is_shared:
                state = ServerState(SQLiteBackend(f"{worker.folder}/state"), server.name)
                engine.lifespan.add(state.opened)
                engine.eras.rounds.set_store(state.used_rounds)

    def serve(
        self, listener: socket.socket, runner: asyncio.Runner, ready: Callable[[], None]
    ) -> None:
        """Serve until a signal arrives."""
        serve_until_signal(
            self.app, self.servers, listener, self._run, lambda _: ready(), runner=runner
        )


def _refuse_own_sessions(endpoints: Sequence[AppEndpoint], workers: int) -> None:
    for _, app in endpoints:
        assert isinstance(app.server, Server)
        if not app.legacy.is_stateless and app.server.engine.processes is None:
            raise UsageError(
                f"--workers {workers}: {app.server.name!r} keeps the sessions of legacy clients in "
                "the memory of one process, and their next request may reach another; share them "
                "with --cluster redis://HOST:PORT/0, or serve without sessions with --stateless"
            )


def make_app(server: Server, path: str, guard: Guard | None, run: HttpSettings) -> HttpApp:
    """The application of a server, with the options of the command line."""
    auth = watch_guard(guard or server.guard) if run.watch else guard
    return server.http_app(path, guard=auth, **run.app)


def _refuse_app_options(source: str, run: HttpSettings) -> None:
    given = {
        "--path": run.path != HttpSettings().path,
        "--allow-host": run.allowed_hosts,
        "--allow-origin": run.app.get("allowed_origins"),
        "--stateless": run.app.get("stateless"),
        "--rest": run.rest,
        "--console": run.console,
        "--watch": run.watch,
    }
    names = [name for name, is_given in given.items() if is_given] + guard_flags(run.guard)
    if names:
        raise UsageError(
            f"{source!r} is an ASGI application, to which {', '.join(names)} cannot be applied; "
            "pass these settings to server.http_app(...) in the file"
        )


def describe(endpoint: AppEndpoint) -> EndpointReport:
    """The report about an endpoint."""
    app = endpoint.app
    assert isinstance(app.server, Server)
    return EndpointReport(
        app.server.name,
        endpoint.path,
        requires_auth=app.auth is not None and app.auth.requires_auth,
    )


def make_runner() -> asyncio.Runner:
    """A runner with the fastest event loop that is installed."""
    return asyncio.Runner(loop_factory=_find_loop())


def serve_until_signal(
    app: ServedApp,
    servers: Sequence[Server],
    listener: socket.socket,
    run: HttpSettings,
    on_ready: Callable[[int], None],
    *,
    runner: asyncio.Runner,
) -> None:
    """Serve an application, and exit soon after a signal whatever its handlers do."""
    if run.access_log:
        log_requests()
    tune_gc()
    grace = max(server.options.grace for server in servers)
    # The runner is closed before the deadline, because a handler may block its event loop.
    with contextlib.closing(ExitDeadline(grace)) as deadline, runner:
        runner.run(
            serve_app(
                app,
                servers,
                listener,
                parser=run.parser,
                access_log=run.access_log,
                on_ready=on_ready,
                on_stop=deadline.start,
            )
        )


def serve_page(
    app: ServedApp, servers: Sequence[Server], address: str, *, open_browser: bool = False
) -> None:
    """Serve an application with a page for browsers at `[HOST:]PORT` until a signal arrives.

    Prints the URL of the page, and opens it if wanted. Raises UsageError or TransportError.
    """
    host, port = parse_address(address)
    run = HttpSettings(host=host, port=port, open_browser=open_browser)
    with make_runner() as runner:
        serve_until_signal(
            app,
            servers,
            bind(host, port),
            run,
            lambda port: announce_console(port, run),
            runner=runner,
        )


def _find_loop() -> Callable[[], asyncio.AbstractEventLoop] | None:
    """The factory of the event loop: uvloop if installed, or None for asyncio's default."""
    try:
        import uvloop  # noqa: PLC0415 - not on every platform
    except ImportError:
        return None
    return uvloop.new_event_loop


def _supervise(command: Sequence[str], run: HttpSettings, folder: Path | None) -> int:
    """Run a command line in workers; with --reload, while no file in the folder changes."""
    with open_listeners(run) as (port, open_listener):
        supervisor = Supervisor(
            [sys.executable, "-m", "dovetail", *command],
            replace(run, port=port),
            open_listener,
            log=_log,
            announce=lambda report: _announce(report, port, run),
        )
        if run.reload:
            assert folder is not None
            return asyncio.run(_until_signal(supervisor.reload(folder)))
        return asyncio.run(_until_signal(supervisor.run_workers(run.workers), supervisor.restart))


@contextlib.contextmanager
def open_listeners(run: HttpSettings) -> Iterator[tuple[int, Callable[[], socket.socket]]]:
    """Yield the port, and a function that opens a socket for a worker."""
    # Not shared, so that it fails if another process serves there.
    with bind(run.host, run.port) as listener:
        port = listener.getsockname()[1]
        if sys.platform.startswith("linux"):
            listener.close()
            yield port, lambda: bind(run.host, port, share=True)
        else:
            # Other systems do not divide connections among sockets; workers accept from one.
            yield port, listener.dup


async def _until_signal(
    work: Coroutine[None, None, int], on_hangup: Callable[[], None] | None = None
) -> int:
    task = asyncio.ensure_future(work)
    loop = asyncio.get_running_loop()
    if on_hangup is not None:
        loop.add_signal_handler(signal.SIGHUP, on_hangup)
    for number in (signal.SIGTERM, signal.SIGINT):
        loop.add_signal_handler(number, task.cancel)
    try:
        return await task
    except asyncio.CancelledError:
        return 0


def _announce(report: WorkerReport, port: int, run: HttpSettings) -> None:
    for endpoint in report.endpoints:
        announce(endpoint, port, run)
    if report.console:
        announce_console(port, run)
    for text in report.warnings:
        _log(f"Warning: {text}")


def announce(endpoint: EndpointReport, port: int, run: HttpSettings) -> None:
    """Print the URL of an endpoint, a configuration entry, and warnings."""
    url = f"http://{_reachable(run)}:{port}{endpoint.path}"
    settings: dict[str, Any] = {"type": "http", "url": url}
    if run.guard.keys is not None:
        header, value = run.guard.key_header, "YOUR_KEY"
        settings["headers"] = {header: value} if header else {"Authorization": f"Bearer {value}"}
    entry = {"mcpServers": {endpoint.name: settings}}
    _log(f"{endpoint.name}: serving {url}; press Ctrl-C to stop")
    _log(f"Client configuration: {codec.encode(entry).decode()}")
    if run.rest:
        root = url.removesuffix(endpoint.path)
        _log(f"REST: POST {root}/tools/NAME, described by {root}/openapi.json")
    if not is_loopback(run.host) and not endpoint.requires_auth:
        _log(
            f"Warning: {run.host} accepts connections from other machines without authentication; "
            "add --keys or --issuer, or omit the host to listen on 127.0.0.1 only"
        )


def announce_console(port: int, run: HttpSettings) -> None:
    """Print the URL of the console, and open it if that was asked for."""
    url = f"http://{_reachable(run)}:{port}/"
    _log(f"Console: {url}")
    if run.open_browser:
        _open_page(url)


def _reachable(run: HttpSettings) -> str:
    """The host name for the URL; clients cannot connect to 0.0.0.0."""
    named = [host for host in run.allowed_hosts if host != "*"]
    if named and not is_loopback(run.host):
        return named[0].partition(":")[0]
    if run.host in ("0.0.0.0", "::"):
        return socket.gethostname()
    return f"[{run.host}]" if ":" in run.host else run.host


def _log(text: str) -> None:
    write_line(text)


def run_many(servers: Mapping[str, Server], run: HttpSettings) -> None:
    """Serve until a signal arrives; a single server may have an empty name, for `/mcp`."""
    if len(servers) > 1 and run.guard.issuer is not None:
        # auth.prm.resource-matches: a token is for one URL
        raise UsageError(
            "--issuer and --resource work with one server only; run each server separately"
        )
    paths = {name: f"/{name}/mcp" if name else run.path for name in servers}
    endpoints = [
        AppEndpoint(paths[name], make_app(server, paths[name], run.guard.build(), run))
        for name, server in servers.items()
    ]

    app: ServedApp = endpoints[0].app if len(endpoints) == 1 else PathRouter(dict(endpoints))
    served = {
        name: (server, endpoint.app)
        for (name, server), endpoint in zip(servers.items(), endpoints, strict=True)
    }
    with_console = add_console(app, served, run)

    def announce_all(port: int) -> None:
        for endpoint in endpoints:
            announce(describe(endpoint), port, run)
        if with_console is not None:
            announce_console(port, run)

    with make_runner() as runner:
        serve_until_signal(
            with_console or app,
            list(servers.values()),
            bind(run.host, run.port),
            run,
            announce_all,
            runner=runner,
        )
