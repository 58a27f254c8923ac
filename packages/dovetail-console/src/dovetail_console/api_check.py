"""`POST api/check`: runs `dovetail check` in a process of its own, one at a time.

Credentials are passed in an environment variable: all users of a machine see arguments.
"""

from __future__ import annotations

import asyncio
import contextlib
import os
import sys
from asyncio.subprocess import DEVNULL, PIPE, Process
from collections import deque
from collections.abc import Mapping, Sequence
from typing import Any

import msgspec
from msgspec import Struct

from dovetail.spec.revisions import find_revision
from dovetail.transports import HttpRequest
from dovetail.wire import codec
from dovetail_console.config import INSTALL_CHECK, has_check
from dovetail_console.event_streams import EventStream, EventStreams
from dovetail_console.requests import ApiRequest, ConsoleServer, RefusedError, internal_url

__all__ = ["CheckRunner"]

_TOKEN = "DOVETAIL_CONSOLE_TOKEN"
_CALLS = ("", "none", "readonly")
# Seconds until a check that was cancelled is killed.
_STOP_SECONDS = 5.0
_MAX_LINE = 1024 * 1024
_MAX_LINES = 20
_EVENTS = ("progress", "verdict")


class _Given(Struct):
    server: str
    revision: str = "all"
    calls: str = ""


class CheckRunner:
    """Runs checks for the page."""

    def __init__(self, streams: EventStreams) -> None:
        self._streams = streams
        self._is_running = False

    async def serve(self, given: ApiRequest) -> None:
        """Send the progress and the report as events; raises RefusedError."""
        server = given.server
        options = _list_options(given.read(_Given, "a server, a revision and calls"))
        if not has_check():
            raise RefusedError(501, f"The checker is not installed: {INSTALL_CHECK}")
        if self._is_running:
            raise RefusedError(409, "A check is running already; wait until it is finished")
        command = [sys.executable, "-m", "dovetail", "check", *options]
        environment = dict(os.environ)
        token = None if server.check_words else _find_token(given.request, server)
        if token is not None:
            command += ["--token-env", _TOKEN]
            environment[_TOKEN] = token
        url = [] if server.check_words else [internal_url(given.request, server)]
        command += [*url, *server.check_words]

        async def work(stream: EventStream) -> None:
            await _run(command, environment, stream)

        self._is_running = True
        try:
            await self._streams.serve(given.request, work)
        finally:
            self._is_running = False


def _list_options(given: _Given) -> list[str]:
    if given.revision != "all" and find_revision(given.revision) is None:
        raise RefusedError(400, f"There is no revision {given.revision!r}")
    if given.calls not in _CALLS:
        raise RefusedError(400, f"calls must be one of {_CALLS}, got {given.calls!r}")
    options = ["--format=json", "--fail-on=never", "--progress=json"]
    options.append(f"--revision={given.revision}")
    return [*options, *([f"--calls={given.calls}"] if given.calls else [])]


def _find_token(request: HttpRequest, server: ConsoleServer) -> str | None:
    """The credentials of the request, as a bearer token; guards take API keys as such too."""
    headers = request.headers
    scheme, _, token = headers.get(b"authorization", b"").decode("latin-1").partition(" ")
    if scheme.lower() == "bearer" and token:
        return token
    names = () if server.app.auth is None else server.app.auth.credential_headers
    keys = [headers[name] for name in names if name in headers and name != b"authorization"]
    return keys[0].decode("latin-1") if keys else None


async def _run(command: Sequence[str], environment: Mapping[str, str], stream: EventStream) -> None:
    process = await asyncio.create_subprocess_exec(
        *command, stdin=DEVNULL, stdout=PIPE, stderr=PIPE, env=environment, limit=_MAX_LINE
    )
    try:
        assert process.stdout is not None
        reading = asyncio.ensure_future(process.stdout.read())
        try:
            lines = await _pass_progress(process, stream)
            report = await reading
        finally:
            reading.cancel()
        await process.wait()
    finally:
        await _stop(process)
    try:
        await stream.send("report", codec.decode_json(report))
    except msgspec.ValidationError:
        text = "\n".join(lines) or f"The check ended with code {process.returncode}"
        await stream.send("error", {"message": text})


async def _pass_progress(process: Process, stream: EventStream) -> Sequence[str]:
    """Send progress and verdicts on; returns the last lines that are something else."""
    assert process.stderr is not None
    others: deque[str] = deque(maxlen=_MAX_LINES)
    async for line in process.stderr:
        event = _read_event(line)
        if event is None:
            others.append(line.decode(errors="replace").rstrip())
        else:
            await stream.send(*event)
    return others


def _read_event(line: bytes) -> tuple[str, Any] | None:
    """The name and the data of a line of `--progress json`."""
    if not line.startswith(b"{"):
        return None
    with contextlib.suppress(msgspec.ValidationError):
        found = codec.decode_json(line)
        for name in _EVENTS:
            if isinstance(found, dict) and name in found:
                return name, found[name]
    return None


async def _stop(process: Process) -> None:
    if process.returncode is not None:
        return
    with contextlib.suppress(ProcessLookupError):
        process.terminate()
    try:
        await asyncio.wait_for(process.wait(), _STOP_SECONDS)
    except TimeoutError:
        process.kill()
        await process.wait()
