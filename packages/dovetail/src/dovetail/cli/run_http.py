"""`dovetail run FILE --http`: serve over HTTP, in one process or under a supervisor.

A worker is the same command with `--worker`: it inherits the bound socket, and sends a report when
it is ready. Messages for the user go to stderr.
"""

from __future__ import annotations

import asyncio
import contextlib
import ipaddress
import os
import re
import signal
import socket
import sys
from collections.abc import Callable, Coroutine, Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

from dovetail.cli.access_log import log_requests
from dovetail.cli.applications import Endpoint
from dovetail.cli.exit_deadline import ExitDeadline
from dovetail.cli.gc_tuning import tune_gc
from dovetail.cli.guard_options import GuardOptions
from dovetail.cli.guards import choose_guard
from dovetail.cli.loading import Loaded, load, split_spec
from dovetail.cli.supervisor import (
    SHARED_FOLDER,
    STATE_KEY,
    EndpointReport,
    Supervisor,
    WorkerReport,
)
from dovetail.errors import TransportError, UsageError
from dovetail.server import HttpAppOptions, Server
from dovetail.stores.rounds_sqlite import SqliteRounds
from dovetail.transports.asgi.messages import ServedApp
from dovetail.transports.http_server import HttpParser, bind, serve_app
from dovetail.transports.outer_app import OuterApp
from dovetail.transports.streamable_http.app import HttpApp
from dovetail.wire import codec

if TYPE_CHECKING:
    from dovetail.guard import Guard

__all__ = [
    "HttpSettings",
    "announce",
    "describe",
    "make_app",
    "make_runner",
    "parse_address",
    "run_http",
    "serve_until_signal",
]

_ADDRESS = re.compile(r"(?:(?P<host>\[[^\[\]]+\]|[^\[\]:]+):)?(?P<port>[0-9]+)")


@dataclass(frozen=True, slots=True, kw_only=True)
class HttpSettings:
    """The HTTP options of the command line."""

    host: str = "127.0.0.1"
    port: int = 0
    path: str = "/mcp"
    allow_hosts: Sequence[str] = ()
    allow_origins: Sequence[str] = ()
    stateless: bool = False
    access_log: bool = False
    rest: bool = False
    workers: int = 1
    reload: bool = False
    parser: HttpParser = "auto"
    guard: GuardOptions = field(default_factory=GuardOptions)
    # File descriptors of the socket and of the pipe for the worker's report.
    worker: tuple[int, int] | None = None

    def __post_init__(self) -> None:
        if not self.path.startswith("/"):
            raise UsageError(f"--path must begin with a slash, got {self.path!r}")
        if self.reload and self.workers > 1:
            raise UsageError("--reload cannot be combined with --workers")


def parse_address(text: str) -> tuple[str, int]:
    """The host and port of `[HOST:]PORT`; raises UsageError."""
    match = _ADDRESS.fullmatch(text)
    if match is None or int(match["port"]) > 65535:
        raise UsageError(
            f"--http: expected PORT or HOST:PORT, like 8000 or [::1]:8000, got {text!r}"
        )
    return (match["host"] or "127.0.0.1").strip("[]"), int(match["port"])


def run_http(file: str, run: HttpSettings) -> int:
    """Serve the server of a file until a signal arrives.

    Returns the exit code: 2 for a file without a server, 4 for a server that cannot start.
    """

    def serve() -> int:
        if run.worker is not None:
            _serve_as_worker(file, run, *run.worker)
        elif run.workers > 1 or run.reload:
            return _supervise(file, run)
        else:
            _serve_alone(file, run)
        return 0

    return _exit_code(serve)


def run_server_http(server: Server, run: HttpSettings, app: HttpApp) -> int:
    """Serve an application of a server until a signal arrives; returns the exit code."""

    def serve() -> int:
        report = WorkerReport([describe(Endpoint(run.path, app))], server.options.grace)
        with make_runner() as runner:
            listener = bind(run.host, run.port)
            port = listener.getsockname()[1]

            def announce_all(_: int) -> None:
                _announce(report, port, run)

            serve_until_signal(app, [server], listener, run, announce_all, runner=runner)
        return 0

    return _exit_code(serve)


def _exit_code(serve: Callable[[], int]) -> int:
    try:
        return serve()
    except UsageError as error:
        return _report(error, 2)
    except TransportError as error:
        return _report(error, 4)
    except KeyboardInterrupt:
        return 130


def _report(error: Exception, code: int) -> int:
    _log(f"dovetail: {error}")
    return code


def _serve_alone(file: str, run: HttpSettings) -> None:
    with make_runner() as runner:
        site = _Site.load(file, run, runner)
        listener = bind(run.host, run.port)
        port = listener.getsockname()[1]
        site.serve(listener, runner, lambda: _announce(site.report, port, run))


def _serve_as_worker(file: str, run: HttpSettings, socket_number: int, report: int) -> None:
    # Handlers and their child processes must not see it.
    state_key, folder = bytes.fromhex(os.environ.pop(STATE_KEY)), os.environ.pop(SHARED_FOLDER)
    with make_runner() as runner:
        site = _Site.load(file, run, runner)
        for server in site.servers:
            # A client may return to another worker than the one that asked its user.
            server.engine.eras.sealer.set_default_key(state_key)
            server.engine.eras.rounds.set_default_store(SqliteRounds(f"{folder}/rounds"))

        def report_start() -> None:
            with open(report, "wb") as pipe:
                pipe.write(codec.encode(site.report))
            # The supervisor never writes to stdin; EOF means that it has ended.
            asyncio.get_running_loop().add_reader(0, os.kill, os.getpid(), signal.SIGTERM)

        site.serve(socket.socket(fileno=socket_number), runner, report_start)


class _Site:
    """The application that a file serves."""

    def __init__(self, loaded: Loaded, run: HttpSettings) -> None:
        """Raises UsageError for options that do not apply."""
        self._run = run
        self.servers = loaded.servers
        guard, warnings = choose_guard(loaded, run.guard, over_http=True)
        self.app: ServedApp
        if loaded.app is None:
            endpoint = make_app(loaded.server, run.path, guard, run)
            self.app = endpoint
            if run.rest:
                from dovetail.compose.rest import RestApp  # noqa: PLC0415 - few servers use it

                self.app = RestApp(loaded.server, endpoint, guard, _app_options(run))
            endpoints = [Endpoint(run.path, endpoint)]
        else:
            _refuse_app_options(loaded.source, run)
            endpoints = [*loaded.endpoints]
            self.app = OuterApp(loaded.app, [each.app for each in endpoints])
        grace = max(server.options.grace for server in self.servers)
        self.report = WorkerReport([describe(each) for each in endpoints], grace, warnings)

    @classmethod
    def load(cls, file: str, run: HttpSettings, runner: asyncio.Runner) -> _Site:
        """Load the file; an async factory runs in the event loop that serves."""
        return cls(load(file, runner.run), run)

    def serve(
        self, listener: socket.socket, runner: asyncio.Runner, ready: Callable[[], None]
    ) -> None:
        """Serve until a signal arrives."""
        serve_until_signal(
            self.app, self.servers, listener, self._run, lambda _: ready(), runner=runner
        )


def make_app(server: Server, path: str, guard: Guard | None, run: HttpSettings) -> HttpApp:
    """The application of a server, with the options of the command line."""
    return server.http_app(path, guard=guard, **_app_options(run))


def _app_options(run: HttpSettings) -> HttpAppOptions:
    return {
        "allowed_hosts": run.allow_hosts or None,
        "allowed_origins": run.allow_origins,
        "stateless": run.stateless,
    }


def _refuse_app_options(source: str, run: HttpSettings) -> None:
    given = {
        "--path": run.path != HttpSettings().path,
        "--allow-host": run.allow_hosts,
        "--allow-origin": run.allow_origins,
        "--stateless": run.stateless,
        "--rest": run.rest,
    }
    names = [name for name, is_given in given.items() if is_given] + run.guard.names
    if names:
        raise UsageError(
            f"{source!r} is an ASGI application, to which {', '.join(names)} cannot be applied; "
            "pass these settings to server.http_app(...) in the file"
        )


def describe(endpoint: Endpoint) -> EndpointReport:
    """The report about an endpoint."""
    app = endpoint.app
    assert isinstance(app.host, Server)
    return EndpointReport(
        app.host.name,
        endpoint.path,
        requires_auth=app.auth is not None and app.auth.requires_auth,
        has_sessions=not app.legacy.is_stateless,
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


def _find_loop() -> Callable[[], asyncio.AbstractEventLoop] | None:
    """The factory of the event loop: uvloop if installed, or None for asyncio's default."""
    try:
        import uvloop  # noqa: PLC0415 - not on every platform
    except ImportError:
        return None
    return uvloop.new_event_loop


def _supervise(file: str, run: HttpSettings) -> int:
    parts = split_spec(file)
    if parts is None or not parts[0].is_file():
        raise UsageError(f"There is no file {file!r}; expected FILE.py or FILE.py:NAME")
    with bind(run.host, run.port) as listener:
        port = listener.getsockname()[1]
        supervisor = Supervisor(
            [sys.executable, "-m", "dovetail", *_worker_arguments(file, run, port)],
            listener,
            log=_log,
            announce=lambda report: _announce(report, port, run),
        )
        folder = parts[0].resolve().parent
        work = supervisor.reload(folder) if run.reload else supervisor.keep(run.workers)
        return asyncio.run(_until_signal(work))


def _worker_arguments(file: str, run: HttpSettings, port: int) -> list[str]:
    """The command line of a worker, without the --worker option."""
    arguments = ["run", file, f"--http={port}", f"--path={run.path}", f"--http-parser={run.parser}"]
    arguments += [f"--allow-host={host}" for host in run.allow_hosts]
    arguments += [f"--allow-origin={origin}" for origin in run.allow_origins]
    arguments += run.guard.to_arguments()
    flags = {
        "--stateless": run.stateless,
        "--access-log": run.access_log,
        "--rest": run.rest,
    }
    return [*arguments, *(flag for flag, is_set in flags.items() if is_set)]


async def _until_signal(work: Coroutine[None, None, int]) -> int:
    task = asyncio.ensure_future(work)
    loop = asyncio.get_running_loop()
    for number in (signal.SIGTERM, signal.SIGINT):
        loop.add_signal_handler(number, task.cancel)
    try:
        return await task
    except asyncio.CancelledError:
        return 0


def _announce(report: WorkerReport, port: int, run: HttpSettings) -> None:
    for endpoint in report.endpoints:
        announce(endpoint, port, run)
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
    if not _is_loopback(run.host) and not endpoint.requires_auth:
        _log(
            f"Warning: {run.host} accepts connections from other machines without authentication; "
            "add --keys or --issuer, or omit the host to listen on 127.0.0.1 only"
        )
    if run.workers > 1 and endpoint.has_sessions:
        _log(
            "Warning: each worker has its own sessions, so clients of legacy revisions will lose "
            "theirs; add --stateless"
        )


def _reachable(run: HttpSettings) -> str:
    """The host name for the URL; clients cannot connect to 0.0.0.0."""
    named = [host for host in run.allow_hosts if host != "*"]
    if named and not _is_loopback(run.host):
        return named[0].partition(":")[0]
    if run.host in ("0.0.0.0", "::"):
        return socket.gethostname()
    return f"[{run.host}]" if ":" in run.host else run.host


def _is_loopback(host: str) -> bool:
    try:
        return host == "localhost" or ipaddress.ip_address(host).is_loopback
    except ValueError:
        return False


def _log(text: str) -> None:
    sys.stderr.write(f"{text}\n")
    sys.stderr.flush()
