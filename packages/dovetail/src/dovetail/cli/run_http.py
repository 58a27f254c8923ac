"""`dovetail run FILE --http`: a server at an address, in one process or under a supervisor.

A worker is the same command with `--worker`: it gets the socket that is bound already, and
reports the server's name once it answers. Everything meant for a person goes to stderr.
"""

from __future__ import annotations

import asyncio
import ipaddress
import os
import re
import signal
import socket
import sys
from collections.abc import Callable, Coroutine, Sequence
from dataclasses import dataclass, field

from dovetail.cli.collecting import collect_seldom
from dovetail.cli.guarding import GuardChoice
from dovetail.cli.loading import load_server, split_spec
from dovetail.cli.supervising import Supervisor
from dovetail.errors import TransportError, UsageError
from dovetail.server import Server
from dovetail.transports.http_server import HttpParser, bind, serve_http
from dovetail.wire import codec

__all__ = ["HttpRun", "announce", "find_loop", "parse_address", "run_http"]

_ADDRESS = re.compile(r"(?:(?P<host>\[[^\[\]]+\]|[^\[\]:]+):)?(?P<port>[0-9]+)")


@dataclass(frozen=True, slots=True, kw_only=True)
class HttpRun:
    """What the command line says about serving HTTP."""

    host: str = "127.0.0.1"
    port: int = 0
    path: str = "/mcp"
    allow_hosts: Sequence[str] = ()
    allow_origins: Sequence[str] = ()
    stateless: bool = False
    workers: int = 1
    reload: bool = False
    parser: HttpParser = "auto"
    guard: GuardChoice = field(default_factory=GuardChoice)
    # Descriptors of the socket and of the pipe that the name is written to.
    worker: tuple[int, int] | None = None

    def __post_init__(self) -> None:
        if not self.path.startswith("/"):
            raise UsageError(f"--path must begin with a slash, got {self.path!r}")
        if self.reload and self.workers > 1:
            raise UsageError("--reload watches one process; leave --workers out")


def parse_address(text: str) -> tuple[str, int]:
    """Host and port of `[HOST:]PORT`; raises UsageError."""
    match = _ADDRESS.fullmatch(text)
    if match is None or int(match["port"]) > 65535:
        raise UsageError(f"expected PORT or HOST:PORT, like 8000 or [::1]:8000, got {text!r}")
    return (match["host"] or "127.0.0.1").strip("[]"), int(match["port"])


def run_http(file: str, run: HttpRun) -> int:
    """Serve until a signal comes; 2 for a file that names no server, 4 for what cannot run."""
    try:
        if run.worker is not None:
            _serve_as_worker(file, run, *run.worker)
        elif run.workers > 1 or run.reload:
            return _supervise(file, run)
        else:
            _serve_alone(file, run)
    except UsageError as error:
        return _complain(error, 2)
    except TransportError as error:
        return _complain(error, 4)
    except KeyboardInterrupt:
        return 130
    return 0


def _complain(error: Exception, code: int) -> int:
    _say(f"dovetail: {error}")
    return code


def _serve_alone(file: str, run: HttpRun) -> None:
    server = load_server(file)
    listener = bind(run.host, run.port)
    port = listener.getsockname()[1]
    _serve(server, run, listener, lambda: announce(server.name, port, run))


def _serve_as_worker(file: str, run: HttpRun, socket_number: int, report: int) -> None:
    server = load_server(file)

    def report_name() -> None:
        with open(report, "w", encoding="utf-8") as pipe:
            pipe.write(server.name)
        # The supervisor never writes; the end of this input is the end of the supervisor.
        asyncio.get_running_loop().add_reader(0, os.kill, os.getpid(), signal.SIGTERM)

    _serve(server, run, socket.socket(fileno=socket_number), report_name)


def _serve(
    server: Server, run: HttpRun, listener: socket.socket, ready: Callable[[], None]
) -> None:
    serving = serve_http(
        server,
        guard=run.guard.make(),
        listener=listener,
        parser=run.parser,
        on_ready=lambda _: ready(),
        path=run.path,
        allowed_hosts=run.allow_hosts or None,
        allowed_origins=run.allow_origins,
        stateless=run.stateless,
    )
    collect_seldom()
    with asyncio.Runner(loop_factory=find_loop()) as runner:
        runner.run(serving)


def find_loop() -> Callable[[], asyncio.AbstractEventLoop] | None:
    """What makes the event loop of a process that serves HTTP; None: asyncio's own."""
    try:
        import uvloop  # noqa: PLC0415 - not for every platform
    except ImportError:
        return None
    return uvloop.new_event_loop


def _supervise(file: str, run: HttpRun) -> int:
    parts = split_spec(file)
    if parts is None or not parts[0].is_file():
        raise UsageError(f"There is no file {file!r}; expected FILE.py or FILE.py:name")
    with bind(run.host, run.port) as listener:
        port = listener.getsockname()[1]
        supervisor = Supervisor(
            [sys.executable, "-m", "dovetail", *_words(file, run, port)],
            listener.fileno(),
            say=_say,
            announce=lambda name: announce(name, port, run),
        )
        folder = parts[0].resolve().parent
        work = supervisor.reload(folder) if run.reload else supervisor.keep(run.workers)
        return asyncio.run(_until_signal(work))


def _words(file: str, run: HttpRun, port: int) -> list[str]:
    """The command line of a worker, all but what it cannot know yet."""
    words = ["run", file, f"--http={port}", f"--path={run.path}", f"--http-parser={run.parser}"]
    words += [f"--allow-host={host}" for host in run.allow_hosts]
    words += [f"--allow-origin={origin}" for origin in run.allow_origins]
    words += run.guard.words()
    return [*words, "--stateless"] if run.stateless else words


async def _until_signal(work: Coroutine[None, None, int]) -> int:
    task = asyncio.ensure_future(work)
    loop = asyncio.get_running_loop()
    for number in (signal.SIGTERM, signal.SIGINT):
        loop.add_signal_handler(number, task.cancel)
    try:
        return await task
    except asyncio.CancelledError:
        return 0


def announce(name: str, port: int, run: HttpRun, path: str | None = None) -> None:
    """Tell a person where the server is, and what to mind."""
    url = f"http://{_reachable(run)}:{port}{path or run.path}"
    entry = {"mcpServers": {name: {"type": "http", "url": url}}}
    _say(f"{name}: serving {url}; Ctrl-C ends it")
    _say(f"For a client's configuration: {codec.encode(entry).decode()}")
    if not _is_loopback(run.host) and not run.guard.asks_who:
        _say(
            f"Warning: {run.host} can be reached from other machines, and nobody is asked who "
            "they are; without a host it would be this machine only, and --keys would ask them"
        )
    if run.workers > 1 and not run.stateless:
        _say(
            "Warning: sessions live in one worker each, so clients of the legacy era will lose "
            "theirs; give --stateless for them"
        )


def _reachable(run: HttpRun) -> str:
    """A name that a client can use for the host: 0.0.0.0 is none."""
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


def _say(text: str) -> None:
    sys.stderr.write(f"{text}\n")
    sys.stderr.flush()
