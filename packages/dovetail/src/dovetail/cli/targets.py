"""The target of `list`, `call` and `inspect`, and a client for it.

A Python file is imported into this process, which is faster than starting another one. Its output
goes to stderr, because stdout is for the result.
"""

from __future__ import annotations

import asyncio
import contextlib
import os
import sys
from collections.abc import Awaitable, Callable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import TypeVar

import click

from dovetail.cli.failures import COULD_NOT_START, FAILED_CALL, WRONG_USAGE, Failure
from dovetail.cli.headers import read_headers
from dovetail.cli.loading import load_server, split_spec
from dovetail.client import Client
from dovetail.client.channel import AccessDeniedError
from dovetail.client.targets import Target, is_url
from dovetail.errors import DovetailError, TransportError, UsageError
from dovetail.server import Server
from dovetail.spec.models import LogParams

__all__ = [
    "TargetOptions",
    "close_server",
    "find_target",
    "make_client",
    "run_with_client",
]

T = TypeVar("T")

_KEY_HINT = "; to send a key: --token-env NAME (a variable with the key) or --header 'NAME: VALUE'"


@dataclass(frozen=True, slots=True)
class TargetOptions:
    """The options for connecting to a server."""

    mode: str = "auto"
    timeout: float = 30.0
    env: Mapping[str, str] = field(default_factory=dict)
    cwd: str | None = None
    stdio: bool = False
    # Each as `Name: value`. Not in the repr, because many are secrets.
    header_lines: Sequence[str] = field(default=(), repr=False)
    # The environment variable with a bearer token.
    token_env: str | None = None

    def read_headers(self) -> dict[str, str]:
        """The headers to send with every request to a URL; raises UsageError."""
        return read_headers(self.header_lines, self.token_env)


def find_target(text: str | None, command: Sequence[str], options: TargetOptions) -> Target:
    """The target of a command line; raises Failure."""
    if text is not None and is_url(text) and not command:
        return text
    if options.header_lines or options.token_env is not None:
        given = f"the command {command[0]!r}" if command else repr(text or "")
        raise Failure(
            f"--header and --token-env need a URL (http://... or https://...), got {given}",
            WRONG_USAGE,
        )
    if command:
        return list(command)
    if text is None:
        raise Failure("Missing target; expected FILE.py, a URL, or -- COMMAND", WRONG_USAGE)
    parts = split_spec(text)
    # `python server.py` ends in .py but is a command, unless a file of that name exists.
    is_file = parts is not None and (parts[0].is_file() or not set(text) & set(" \t"))
    if not is_file or options.stdio:
        return text
    os.environ.update(options.env)
    try:
        if options.cwd is not None:
            # Resolve the file before changing the directory.
            text = os.path.abspath(text)
            os.chdir(options.cwd)
        with contextlib.redirect_stdout(sys.stderr):
            return load_server(text)
    except UsageError as error:
        raise Failure(str(error), WRONG_USAGE) from None
    except (TransportError, OSError) as error:
        raise Failure(str(error), COULD_NOT_START) from None


def make_client(target: Target, options: TargetOptions, mode: str | None = None) -> Client:
    """A client that is not open yet; raises Failure for invalid options."""
    try:
        return Client(
            target,
            mode=mode or options.mode,
            name="dovetail-cli",
            on_log=_show_log,
            timeout=options.timeout,
            env=options.env,
            cwd=options.cwd,
            headers=options.read_headers(),
        )
    except UsageError as error:
        raise Failure(str(error), WRONG_USAGE) from None


async def close_server(target: Target) -> None:
    """Close a server in this process, so that the next event loop can start it again."""
    if isinstance(target, Server):
        await target.close()


def run_with_client(
    target: Target, options: TargetOptions, work: Callable[[Client], Awaitable[T]]
) -> T:
    """Open a client, run `work` and close the client; raises Failure with the exit code."""
    client = make_client(target, options)
    is_open = False

    async def open_and_work() -> T:
        nonlocal is_open
        try:
            async with client:
                is_open = True
                return await work(client)
        finally:
            await close_server(target)

    try:
        with contextlib.redirect_stdout(sys.stderr):
            return asyncio.run(open_and_work())
    except UsageError as error:
        raise Failure(str(error), WRONG_USAGE) from None
    except (DovetailError, TimeoutError) as error:
        text = f"{error}{_KEY_HINT}" if isinstance(error, AccessDeniedError) else str(error)
        raise Failure(text, FAILED_CALL if is_open else COULD_NOT_START) from None


def _show_log(message: LogParams) -> None:
    logger = f" {message.logger}" if message.logger else ""
    data = message.data if isinstance(message.data, str) else repr(message.data)
    click.echo(f"[{message.level}{logger}] {data}", err=True)
