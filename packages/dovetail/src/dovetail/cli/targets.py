"""The target of commands that use a server, and a client for it.

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
from functools import partial
from typing import TYPE_CHECKING, TypeVar

from dovetail.cli.config_file import read_entry
from dovetail.cli.conversation import Conversation
from dovetail.cli.failures import COULD_NOT_START, FAILED_CALL, WRONG_USAGE, Failure, or_fail
from dovetail.cli.headers import read_headers
from dovetail.cli.loading import load_server, split_spec
from dovetail.cli.questions import Questions
from dovetail.cli.terminal_input import can_ask, read_line
from dovetail.client import Client
from dovetail.client.channel import AccessDeniedError
from dovetail.client.local_caller import LocalCaller
from dovetail.client.targets import Target, is_url
from dovetail.core.permission import read_scopes
from dovetail.core.principal import Principal
from dovetail.errors import DovetailError, MissingCapabilityError, TransportError, UsageError
from dovetail.server import Server

if TYPE_CHECKING:
    from dovetail.client.http_auth import Auth

__all__ = [
    "TargetOptions",
    "close_server",
    "find_target",
    "hidden_hint",
    "make_client",
    "run_with_client",
    "split_words",
    "start_conversation",
]

T = TypeVar("T")

_CAPABILITY_HINTS = {
    "elicitation": "run the command in a terminal, or add --answer KEY=VALUE or --yes",
    "sampling": "this command has no model; use a client that has one",
    "roots": "add --root FOLDER",
}
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
    # The file in which the target is a name.
    config: str | None = None
    # The principal for a server in this process, and its scopes.
    caller: str | None = None
    scopes: Sequence[str] = ()
    # What to answer if the server asks: `KEY=VALUE`, everything, and its folders.
    answers: Sequence[str] = ()
    yes: bool = False
    roots: Sequence[str] = ()

    def read_headers(self) -> dict[str, str]:
        """The headers to send with every request to a URL; raises UsageError."""
        return read_headers(self.header_lines, self.token_env)


def split_words(
    words: Sequence[str],
    command: Sequence[str],
    usage: str,
    *,
    count: int = 1,
    most: int | None = None,
) -> tuple[str | None, Sequence[str]]:
    """The target and the words after it, from `count` to `most`; raises Failure.

    With a command after `--`, all words belong to the request.
    """
    target, rest = (None, words) if command else (words[0] if words else None, words[1:])
    if len(rest) < count:
        got = " ".join(words) or "nothing"
        raise Failure(f"Missing arguments, got {got}; usage: dovetail {usage}", WRONG_USAGE)
    if most is not None and len(rest) > most:
        extra = " ".join(rest[most:])
        raise Failure(f"Unexpected arguments: {extra}; usage: dovetail {usage}", WRONG_USAGE)
    return target, rest


def start_conversation(options: TargetOptions) -> Conversation:
    """The display and the questions of a request; raises Failure for invalid answers."""
    ask = read_line if can_ask() else None
    return Conversation(or_fail(lambda: Questions(options.answers, accepts=options.yes, ask=ask)))


def find_target(text: str | None, command: Sequence[str], options: TargetOptions) -> Target:
    """The target of a command line; raises Failure."""
    if options.config is not None:
        if command:
            raise Failure("--config and a command after -- exclude each other", WRONG_USAGE)
        target: Target = or_fail(partial(read_entry, options.config, text))
        _check_options(options, isinstance(target, Mapping) and "url" in target, f"{text!r}")
        return target
    given = f"the command {command[0]!r}" if command else repr(text or "")
    is_remote = text is not None and is_url(text) and not command
    # `python server.py` ends in .py but is a command, unless a file of that name exists.
    parts = None if text is None or command or is_remote else split_spec(text)
    is_file = parts is not None and (parts[0].is_file() or not set(text or "") & set(" \t"))
    is_local = is_file and not options.stdio
    _check_options(options, is_remote, given, is_local=is_local)
    if command:
        return list(command)
    if text is None:
        raise Failure("Missing target; expected FILE.py, a URL, or -- COMMAND", WRONG_USAGE)
    if not is_local:
        return text
    server = _load(text, options)
    if options.caller is None:
        return server
    scopes = or_fail(lambda: read_scopes(options.scopes, "--scope"))
    return LocalCaller(server, or_fail(lambda: Principal(options.caller or "", scopes)))


def _check_options(
    options: TargetOptions, is_remote: bool, given: str, *, is_local: bool = False
) -> None:
    """Refuse options that the target cannot use."""
    if not is_remote and (options.header_lines or options.token_env is not None):
        raise Failure(
            f"--header and --token-env need a URL (http://... or https://...), got {given}",
            WRONG_USAGE,
        )
    if options.scopes and options.caller is None:
        raise Failure("--scope needs --as NAME, the principal with these scopes", WRONG_USAGE)
    if options.caller is not None and not is_local:
        raise Failure(
            f"--as needs a FILE.py without --stdio, got {given}; other servers authenticate "
            "their callers, for instance with --token-env",
            WRONG_USAGE,
        )


def _load(text: str, options: TargetOptions) -> Server:
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


def hidden_hint(target: Target, tool: str) -> str:
    """How to call a tool of a server in this process that needs scopes; empty if that is not it."""
    server = target.server if isinstance(target, LocalCaller) else target
    found = server.tools.registry.get(tool) if isinstance(server, Server) else None
    scopes = found.requirements.scopes if found is not None else ()
    options = " ".join(f"--scope {scope}" for scope in sorted(scopes))
    return f"; {tool!r} needs scopes: --as NAME {options}" if options else ""


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
            auth=_find_auth(target, headers),
        )
    except UsageError as error:
        raise Failure(str(error), WRONG_USAGE) from None


def _find_auth(target: Target, headers: Mapping[str, str]) -> Auth | None:
    """The login of `dovetail login` for a URL; None if the target sends its own credentials."""
    if isinstance(target, Mapping):
        own = target.get("headers")
        headers = {**own, **headers} if isinstance(own, Mapping) else headers
        target = target.get("url", "")
    is_remote = isinstance(target, str) and is_url(target)
    if not is_remote or any(name.lower() == "authorization" for name in headers):
        return None
    from dovetail.client.auth import OAuth  # noqa: PLC0415 - only URLs need it

    # Only `dovetail login` opens a browser: any other command may run in a script.
    return OAuth(interactive=False)


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
