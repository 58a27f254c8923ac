"""Runs a command with a client for its target: messages, questions, time limits and errors."""

from __future__ import annotations

import asyncio
import contextlib
import math
import os
import sys
from collections.abc import Awaitable, Callable, Mapping
from typing import TYPE_CHECKING, Any, TypeVar
from urllib.parse import urlsplit

import click
import msgspec
from rich.console import Console
from rich.text import Text

from dovetail.cli.failures import COULD_NOT_START, FAILED_CALL, WRONG_USAGE, Failure, or_fail
from dovetail.cli.log_format import escape_control
from dovetail.cli.questions import Questions
from dovetail.cli.targets import TargetOptions, make_auth
from dovetail.client import Client, ElicitRequest, ElicitResponse
from dovetail.client.targets import LocalCaller, Target, is_url
from dovetail.errors import (
    AccessDeniedError,
    DovetailError,
    MissingCapabilityError,
    RpcError,
    UsageError,
)
from dovetail.server import Server
from dovetail.spec.models import LogParams, ProgressParams
from dovetail.wire import codec

if TYPE_CHECKING:
    from rich.progress import Progress, TaskID

    from dovetail.client.http_auth import Auth

__all__ = [
    "close_server",
    "describe_unavailable",
    "find_auth",
    "find_unavailable",
    "make_client",
    "read_line",
    "run_with_client",
    "start_conversation",
]

T = TypeVar("T")


# Members of a log message with its text.
_MESSAGE = ("message", "msg", "event")


class Display:
    """The messages of one call."""

    def __init__(self) -> None:
        self._is_terminal = sys.stderr.isatty()
        self._bar: tuple[Progress, TaskID] | None = None

    def show_log(self, message: LogParams) -> None:
        """Print a log message, above the bar if there is one."""
        logger = f" {message.logger}" if message.logger else ""
        self._print(f"[{message.level}{logger}] {_describe_data(message.data)}")

    def show_progress(self, progress: ProgressParams) -> None:
        """Move the bar, or print a line."""
        total = "" if progress.total is None else f"/{progress.total:g}"
        count, message = f"{progress.progress:g}{total}", progress.message or ""
        if not self._is_terminal:
            self._print(f"[{count}] {message}".rstrip())
            return
        bar, task = self._bar or self._make_bar()
        text = escape_control(f"{count} {message}".partition("\n")[0])
        bar.update(task, completed=progress.progress, total=progress.total, text=text)
        if self._bar is None:
            self._bar = (bar, task)
            bar.start()
        bar.refresh()

    def hide_bar(self) -> None:
        """Remove the bar; the next progress message draws it again."""
        if self._bar is not None:
            self._bar[0].stop()
            self._bar = None

    @staticmethod
    def _make_bar() -> tuple[Progress, TaskID]:
        # Importing it takes 30 ms, and few calls report progress.
        from rich.progress import BarColumn, Progress, TextColumn  # noqa: PLC0415

        # The text is written by the server, so it must not be read as markup.
        text = TextColumn("{task.fields[text]}", markup=False)
        console = Console(stderr=True, highlight=False, markup=False)
        bar = Progress(BarColumn(), text, console=console, transient=True, auto_refresh=False)
        return bar, bar.add_task("", total=None, text="")

    def _print(self, line: str) -> None:
        if self._bar is not None:
            # The bar is drawn again below the line.
            self._bar[0].console.print(Text(escape_control(line)), soft_wrap=True)
            return
        click.echo(escape_control(line) if self._is_terminal else line, err=True)


def _describe_data(data: Any) -> str:
    """The data of a log message as text: an object as its message and `key=value`."""
    if isinstance(data, str):
        return data
    if not isinstance(data, dict):
        return codec.encode(data).decode()
    names = [name for name in _MESSAGE if isinstance(data.get(name), str)][:1]
    fields = [
        f"{key}={value if isinstance(value, str) else codec.encode(value).decode()}"
        for key, value in data.items()
        if key not in names
    ]
    return " ".join([*(data[name] for name in names), *fields])


# URLElicitationRequiredError (2025-11-25 client/elicitation)
_URL_REQUIRED = -32042


class Conversation:
    """The display and the questions of one request.

    Without questions, it declares that it can answer and cancels each one: a server may hide tools
    from clients that cannot answer, and a list has all tools.
    """

    def __init__(self, questions: Questions | None = None) -> None:
        self.display: Display = Display()
        self._questions = questions
        self._limit: asyncio.Timeout | None = None
        self._seconds = math.inf
        self._is_asking = False
        self._has_progress = False

    @property
    def elicit(self) -> Callable[[ElicitRequest], Awaitable[ElicitResponse]] | None:
        """The callback of the client; None if questions cannot be answered."""
        can_answer = self._questions is None or self._questions.can_answer
        return self._answer if can_answer else None

    async def _answer(self, request: ElicitRequest) -> ElicitResponse:
        if self._questions is None:
            return ElicitResponse.cancel()
        self.display.hide_bar()
        self._is_asking = True
        self._set_limit(math.inf)
        try:
            return await self._questions.answer(request)
        finally:
            self._is_asking = False
            self._set_limit(self._seconds)

    def show_progress(self, progress: ProgressParams) -> None:
        """Show a message about progress, which starts the time limit again."""
        self._has_progress = True
        if not self._is_asking:
            self._set_limit(self._seconds)
        self.display.show_progress(progress)

    def _set_limit(self, seconds: float) -> None:
        if self._limit is not None:
            now = asyncio.get_running_loop().time()
            self._limit.reschedule(None if seconds == math.inf else now + seconds)

    async def wait(self, method: str, seconds: float, request: Callable[..., Awaitable[T]]) -> T:
        """Send a request and wait for it; the time that the user takes to answer does not count.

        Raises TimeoutError, and Failure if a question could not be answered.
        """
        self._seconds = seconds
        limit = asyncio.timeout(None)
        try:
            async with limit:
                self._limit = limit
                self._set_limit(seconds)
                try:
                    return await request(timeout=math.inf)
                finally:
                    self._limit = None
        except RpcError as error:
            if error.code != _URL_REQUIRED:
                raise
            await self._visit(error)
            raise Failure(f"{error}; call again when you have done that", FAILED_CALL) from None
        except TimeoutError:
            if not limit.expired():
                raise
            since = " of its last progress" if self._has_progress else ""
            raise TimeoutError(
                f"The server did not answer {method} within {seconds:g} s{since}"
            ) from None
        finally:
            self._check_questions()

    async def _visit(self, error: RpcError) -> None:
        """Show the URLs that the user must visit before the request can succeed."""
        listed = error.data.get("elicitations") if isinstance(error.data, dict) else None
        for entry in listed if isinstance(listed, list) else ():
            try:
                request = msgspec.convert(entry, ElicitRequest)
            except msgspec.ValidationError:
                continue
            if self._questions is not None:
                await self._questions.answer(request)

    def _check_questions(self) -> None:
        if self._questions is None:
            return
        if self._questions.problem is not None:
            raise self._questions.problem
        for key in self._questions.unused:
            click.echo(f"dovetail: the server did not ask for --answer {key}", err=True)


_MAX_LINE = 65_536


def _can_ask() -> bool:
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
            data = b""  # the terminal was closed
        if not line.done():
            line.set_result(data.decode(errors="replace").rstrip("\r\n") if data else None)

    loop.add_reader(descriptor, read)
    try:
        return await line
    finally:
        loop.remove_reader(descriptor)


_CAPABILITY_HINTS = {
    "elicitation": "run the command in a terminal, or add --answer KEY=VALUE or --yes",
    "sampling": "this command has no model; use a client that has one",
    "roots": "add --root FOLDER",
}
_KEY_HINT = "; to send a key: --token-env NAME (a variable with the key) or --header 'NAME: VALUE'"
_SENT_HINT = "; check the key that you sent with --token-env or --header"
# The member of `_meta` with the upstreams that a gateway cannot reach (docs/gateway.md).
_UNAVAILABLE = "dev.dovetail/unavailable"


def start_conversation(options: TargetOptions) -> Conversation:
    """The display and the questions of a request; raises Failure for invalid answers."""
    ask = read_line if _can_ask() else None
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
        text = _explain(error, options) + _path_hint(error, target)
        raise Failure(text, FAILED_CALL if is_open else COULD_NOT_START) from None


def _path_hint(error: Exception, target: Target) -> str:
    """Where the endpoint may be if there is none at a URL without a path."""
    url = target.get("url") if isinstance(target, Mapping) else target
    if not isinstance(url, str) or not is_url(url) or "404" not in str(error):
        return ""
    path = urlsplit(url).path
    return "" if path.strip("/") else f"; the endpoint usually is {url.rstrip('/')}/mcp"


async def find_unavailable(client: Client) -> Mapping[str, str]:
    """The upstream servers that a gateway cannot reach, each with the reason."""
    if "tools" not in client.capabilities:
        return {}
    result = await client.request("tools/list", {})
    meta = result.get("_meta") if isinstance(result, dict) else None
    found = meta.get(_UNAVAILABLE) if isinstance(meta, dict) else None
    return found if isinstance(found, dict) else {}


def describe_unavailable(unavailable: Mapping[str, str]) -> list[str]:
    """A sentence for each upstream server that is unavailable."""
    return [f"The upstream {name!r} is unavailable: {why}" for name, why in unavailable.items()]


def _explain(error: Exception, options: TargetOptions) -> str:
    """The message of an error, with what to do."""
    if isinstance(error, AccessDeniedError):
        has_key = options.header_lines or options.token_env is not None
        return f"{error}{_SENT_HINT if has_key else _KEY_HINT}"
    if isinstance(error, TimeoutError):
        return f"{error}; to wait longer: --timeout SECONDS"
    if isinstance(error, MissingCapabilityError):
        required = error.data.get("requiredCapabilities") if isinstance(error.data, dict) else None
        hints = [_CAPABILITY_HINTS[name] for name in required or () if name in _CAPABILITY_HINTS]
        return "; ".join([str(error), *hints])
    return str(error)
