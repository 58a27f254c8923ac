"""The target of commands that use a server, and the options and credentials for it.

A Python file is imported into this process, which is faster than starting another one. Its output
goes to stderr, because stdout is for the result.
"""

from __future__ import annotations

import asyncio
import contextlib
import os
import re
import shutil
import sys
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any

from dovetail.cli.failures import COULD_NOT_START, WRONG_USAGE, Failure, or_fail
from dovetail.cli.loading import load_server
from dovetail.cli.options import require_module
from dovetail.cli.sources import parse_source
from dovetail.client.targets import LocalCaller, Target, expand, is_url, read_servers
from dovetail.core.principal import Principal, read_scopes
from dovetail.errors import TransportError, UsageError
from dovetail.net.addresses import parse_url
from dovetail.server import Server

if TYPE_CHECKING:
    from dovetail.client.auth import OAuth

__all__ = [
    "TargetOptions",
    "find_target",
    "hidden_hint",
    "make_auth",
    "read_entry",
    "read_headers",
    "read_login_headers",
    "split_words",
]

# A token (RFC 9110 section 5.6.2), which is the syntax of a header name.
_HEADER_NAME = re.compile(r"[!#$%&'*+.^_`|~0-9A-Za-z-]+")
# A host and a port, without the scheme of a URL.
_ADDRESS = re.compile(r"[\w.-]+:[0-9]+(/\S*)?")
_LOCAL = Principal("local")


def read_headers(lines: Sequence[str], token_env: str | None) -> dict[str, str]:
    """The headers to send with every request; raises UsageError, which never shows a value."""
    headers: dict[str, str] = {}
    for number, line in enumerate([*lines, *_read_token(token_env)], 1):
        name, colon, value = line.partition(":")
        if not colon:
            # The text may be a token without a header name, so it is not shown.
            text = f"Header {number} ({len(line)} characters) has no colon"
            raise UsageError(f"{text}; expected 'Name: value', like 'Authorization: Bearer x'")
        name = name.strip()
        if not _HEADER_NAME.fullmatch(name):
            # The rest may be the value (`Name=value:...`), so only the valid start is shown.
            start = _HEADER_NAME.match(name)
            given = f"it begins with {start[0]!r}" if start else "the name is missing"
            text = f"Header {number} has an invalid name: {given}"
            raise UsageError(
                f"{text}; expected 'Name: value', where Name has letters, digits and -"
            )
        if name.lower() in (known.lower() for known in headers):
            raise UsageError(f"The header {name} is given twice; give it once")
        headers[name] = value.strip()
    return headers


def _read_token(variable: str | None) -> list[str]:
    if variable is None:
        return []
    token = os.environ.get(variable)
    if not token:
        state = "not set" if token is None else "empty"
        raise UsageError(f"--token-env: the environment variable {variable!r} is {state}")
    return [f"Authorization: Bearer {token}"]


def make_auth(url: str) -> OAuth | None:
    """The authorization with the stored login; None if no token may be sent to this URL."""
    from dovetail.client.auth import OAuth  # noqa: PLC0415 - only URLs need it

    # Only `dovetail login` opens a browser: any other command may run in a script.
    auth = OAuth(interactive=False)
    try:
        auth.authorize(parse_url(url))
    except UsageError:
        # Tokens are not sent over plain HTTP; the server may work without one.
        return None
    return auth


def read_login_headers(url: str) -> dict[str, str]:
    """The headers of the stored login, renewed if it expires; empty if there is none."""
    auth = make_auth(url)
    if auth is None:
        return {}
    authorizer = auth.authorize(parse_url(url))

    async def read() -> dict[str, str]:
        try:
            return dict(await authorizer.headers("POST", url))
        finally:
            await authorizer.close()

    return asyncio.run(read())


def read_entry(file: str, name: str | None) -> Mapping[str, Any]:
    """The entry of a server, as a target of the client; raises UsageError."""
    try:
        servers = read_servers(file)
    except UsageError as error:
        raise UsageError(f"--config: {error}") from None
    entry = servers.get(name) if name is not None else None
    if name is None or name not in servers:
        problem = "Name a server" if name is None else f"There is no server {name!r}"
        raise UsageError(f"{problem} in {file!r}; it has: {', '.join(servers) or 'none'}")
    if not isinstance(entry, Mapping) or not ("command" in entry or "url" in entry):
        raise UsageError(f"{file!r}: the server {name!r} needs 'command' or 'url'")
    problems: list[str] = []
    expanded: dict[str, Any] = expand(entry, f"{file!r}: {name}", problems)
    if problems:
        raise UsageError("; ".join(problems))
    cwd = expanded.get("cwd")
    if cwd is not None and not isinstance(cwd, str):
        raise UsageError(f"{file!r}: 'cwd' of the server {name!r} must be a string")
    # Relative to the file, which may be used from any directory.
    return {**expanded, "cwd": str(Path(file).parent / cwd)} if cwd else expanded


@dataclass(frozen=True, slots=True)
class TargetOptions:
    """The options for connecting to a server."""

    mode: str = "auto"
    timeout: float = 30.0
    env: Mapping[str, str] = field(default_factory=dict)
    cwd: str | None = None
    stdio: bool = False
    # The target is the name of a module.
    as_module: bool = False
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
    if not command:
        require_module(text, options.as_module)
    source = None if text is None or command or is_remote else parse_source(text)
    is_module = source is not None and (options.as_module or source.is_module)
    is_file = (
        source is not None
        and source.file is not None
        and (source.can_be_found or not set(text or "") & set(" \t"))
    )
    is_local = (is_file or is_module) and not options.stdio
    _check_options(options, is_remote, given, is_local=is_local)
    if command:
        return list(command)
    if text is None:
        raise Failure(
            "Missing target; expected FILE.py, PACKAGE.MODULE, a URL, or -- COMMAND", WRONG_USAGE
        )
    if not is_local and not is_module and shutil.which(text) is None and _ADDRESS.fullmatch(text):
        raise Failure(f"{text!r} is no URL; did you mean http://{text}?", WRONG_USAGE)
    if not is_local:
        return [sys.executable, "-m", "dovetail", "run", text] if is_module else text
    server = _load(text, options)
    if options.caller is None:
        # As over stdio, the caller is the local user, so session state works. Unlike there, it
        # needs --scope for tools with scopes, which shows who may use them.
        return LocalCaller(server, _LOCAL)
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
            source = parse_source(text)
            text = text if source is None else source.absolute
            sys.path.insert(0, os.getcwd())
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
