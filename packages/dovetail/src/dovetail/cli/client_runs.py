"""Runs a command with a client for its target, and explains what goes wrong."""

from __future__ import annotations

import asyncio
import contextlib
import os
import sys
from collections.abc import Awaitable, Callable, Mapping
from typing import TYPE_CHECKING, TypeVar

import click

from dovetail.cli.conversation import Conversation
from dovetail.cli.failures import COULD_NOT_START, FAILED_CALL, WRONG_USAGE, Failure, or_fail
from dovetail.cli.questions import Questions
from dovetail.cli.stored_login import make_auth
from dovetail.cli.targets import TargetOptions
from dovetail.client import Client
from dovetail.client.local_caller import LocalCaller
from dovetail.client.targets import Target, is_url
from dovetail.errors import AccessDeniedError, DovetailError, MissingCapabilityError, UsageError
from dovetail.server import Server

if TYPE_CHECKING:
    from dovetail.client.http_auth import Auth

__all__ = [
    "can_ask",
    "close_server",
    "find_auth",
    "make_client",
    "read_line",
    "run_with_client",
    "start_conversation",
]

_MAX_LINE = 65_536


def can_ask() -> bool:
    """Whether a person can read questions on stderr and type answers on stdin."""
    return sys.stdin is not None and sys.stdin.isatty() and sys.stderr.isatty()


async def read_line(prompt: str) -> str | None:
    """The line that the user types, without the newline; None for Ctrl-D."""
    click.echo(prompt, nl=False, err=True)
    loop = asyncio.get_running_loop()
    descriptor = sys.stdin.fileno()
    line: asyncio.Future[str | None] = loop.create_future()

    def read() -> None:
        # A terminal is readable when a whole line is there, and one read returns that line.
        try:
            data = os.read(descriptor, _MAX_LINE)
        except OSError:
            data = b""  # the terminal is gone
        if not line.done():
            line.set_result(data.decode(errors="replace").rstrip("\r\n") if data else None)

    loop.add_reader(descriptor, read)
    try:
        return await line
    finally:
        loop.remove_reader(descriptor)


T = TypeVar("T")

_CAPABILITY_HINTS = {
    "elicitation": "run the command in a terminal, or add --answer KEY=VALUE or --yes",
    "sampling": "this command has no model; use a client that has one",
    "roots": "add --root FOLDER",
}
_KEY_HINT = "; to send a key: --token-env NAME (a variable with the key) or --header 'NAME: VALUE'"


def start_conversation(options: TargetOptions) -> Conversation:
    """The display and the questions of a request; raises Failure for invalid answers."""
    ask = read_line if can_ask() else None
    return Conversation(or_fail(lambda: Questions(options.answers, accepts=options.yes, ask=ask)))


def make_client(
    target: Target,
    options: TargetOptions,
    mode: str | None = None,
    conversation: Conversation | None = None,
) -> Client:
    """A client that is not open yet; raises Failure for invalid options."""
    conversation = conversation or Conversation()
    entry_cwd = target.get("cwd") if isinstance(target, Mapping) else None
    try:
        headers = options.read_headers()
        return Client(
            target,
            mode=mode or options.mode,
            name="dovetail-cli",
            elicit=conversation.elicit,
            roots=list(options.roots) or None,
            on_log=conversation.display.show_log,
            timeout=options.timeout,
            env=options.env,
            cwd=options.cwd or entry_cwd,
            headers=headers,
            auth=find_auth(target, headers),
        )
    except UsageError as error:
        raise Failure(str(error), WRONG_USAGE) from None


def find_auth(target: Target, headers: Mapping[str, str]) -> Auth | None:
    """The login of `dovetail login` for a URL; None if the target sends its own credentials."""
    if isinstance(target, Mapping):
        own = target.get("headers")
        headers = {**own, **headers} if isinstance(own, Mapping) else headers
        target = target.get("url", "")
    if not isinstance(target, str) or not is_url(target):
        return None
    if any(name.lower() == "authorization" for name in headers):
        return None
    return make_auth(target)


async def close_server(target: Target) -> None:
    """Close a server in this process, so that the next event loop can start it again."""
    if isinstance(target, Server | LocalCaller):
        await target.close()


def run_with_client(
    target: Target,
    options: TargetOptions,
    work: Callable[[Client], Awaitable[T]],
    conversation: Conversation | None = None,
) -> T:
    """Open a client, run `work` and close the client; raises Failure with the exit code."""
    conversation = conversation or Conversation()
    client = make_client(target, options, conversation=conversation)
    is_open = False

    async def open_and_work() -> T:
        nonlocal is_open
        try:
            async with client:
                is_open = True
                return await work(client)
        finally:
            conversation.display.hide_bar()
            await close_server(target)

    try:
        with contextlib.redirect_stdout(sys.stderr):
            return asyncio.run(open_and_work())
    except UsageError as error:
        raise Failure(str(error), WRONG_USAGE) from None
    except (DovetailError, TimeoutError) as error:
        raise Failure(_explain(error), FAILED_CALL if is_open else COULD_NOT_START) from None


def _explain(error: Exception) -> str:
    """The message of an error, with what to do."""
    if isinstance(error, AccessDeniedError):
        return f"{error}{_KEY_HINT}"
    if isinstance(error, MissingCapabilityError):
        required = error.data.get("requiredCapabilities") if isinstance(error.data, dict) else None
        hints = [_CAPABILITY_HINTS[name] for name in required or () if name in _CAPABILITY_HINTS]
        return "; ".join([str(error), *hints])
    return str(error)
