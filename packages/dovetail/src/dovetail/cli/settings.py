"""The settings of commands that serve: each is declared once, with its option and its help text.

A worker gets the settings of its supervisor in an environment variable, so that only the command
itself is started again, without its options.
"""

from __future__ import annotations

import os
import re
from collections.abc import Mapping, Sequence
from dataclasses import Field, dataclass, field, fields, replace
from typing import Any, get_args

import click

from dovetail.auth import GuardSettings
from dovetail.cli import WORKER
from dovetail.cli.log_format import LOG_LEVELS, choose_log_format, choose_log_level
from dovetail.cli.options import OptionMaker, find_given
from dovetail.core.options import HttpAppOptions, HttpParser
from dovetail.errors import UsageError
from dovetail.runtime.key_files import KEYS_FILE
from dovetail.runtime.state import CLUSTER
from dovetail.wire import codec

__all__ = [
    "CLUSTER_OPTIONS",
    "CONSOLE_OPTIONS",
    "DEBUG_OPTION",
    "GUARD_OPTIONS",
    "HTTP_OPTIONS",
    "LOG_FORMAT_OPTION",
    "LOG_LEVEL_OPTION",
    "OPEN_OPTION",
    "PATH_OPTION",
    "RELOAD_OPTION",
    "REST_OPTION",
    "WATCH_OPTION",
    "HttpSettings",
    "WorkerSettings",
    "parse_address",
    "read_settings",
]

_DEFAULT_PORT = 8000
_ADDRESS = re.compile(r"(?:(?P<host>\[[^\[\]]+\]|[^\[\]:]+):)?(?P<port>[0-9]+)")


def _setting(default: Any, help: str, **option: Any) -> Any:
    """A field with the settings of its option; `flag` is the option unless it has the same name."""
    return field(default=default, metadata={"help": help, **option})


@dataclass(frozen=True, slots=True, kw_only=True)
class WorkerSettings:
    """What a worker gets from its supervisor, besides the settings of the command line."""

    # File descriptors of the listening socket, and of the pipe for the report.
    listener: int
    report: int
    # A key for sealed state, in hex, and a folder for what the workers share.
    state_key: str = field(repr=False)
    folder: str
    log_format: str
    log_level: str | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class HttpSettings:
    """How a command serves over HTTP."""

    host: str = "127.0.0.1"
    port: int = 0
    # The keywords of `server.http_app()`; three of them are options of the command line.
    app: HttpAppOptions = field(default_factory=HttpAppOptions)
    guard: GuardSettings = field(default_factory=GuardSettings)
    path: str = _setting("/mcp", "URL path of the MCP endpoint.", metavar="PATH", show_default=True)
    access_log: bool = _setting(False, "Log each request to stderr, without query strings.")
    # Not `_setting`: ruff does not know that the values of this type are immutable.
    parser: HttpParser = field(
        default="auto",
        metadata={
            "help": "HTTP parser; auto uses httptools if it is installed.",
            "flag": "--http-parser",
            "type": click.Choice(get_args(HttpParser)),
            "show_default": True,
        },
    )
    rest: bool = _setting(False, "Also serve POST /tools/NAME and GET /openapi.json.")
    # None: on a loopback address, see `run_http.py`.
    console: bool | None = _setting(
        None,
        "Serve a page for browsers. [default: on 127.0.0.1; elsewhere it needs a guard]",
        flag="--console/--no-console",
    )
    watch: bool = _setting(False, "Show the messages of all clients in the console.")
    open_browser: bool = _setting(
        False, "Open the console in your browser.", flag="--open", hidden=True
    )
    workers: int = _setting(
        1,
        "Number of server processes.",
        type=click.IntRange(min=1),
        metavar="N",
        show_default=True,
    )
    cluster: str | None = _setting(
        None,
        f"Share sessions, tasks and limits through this Redis; also {CLUSTER}.",
        metavar="URL",
    )
    state_keys: str | None = _setting(
        None,
        "File with the keys that all processes share; `dovetail keys state` makes one.",
        metavar="FILE",
    )
    reload: bool = _setting(
        False,
        "Restart over HTTP, or end over stdio, when a Python file in the folder of FILE changes.",
    )
    debug: bool = _setting(
        False,
        "Show callers on this machine where a tool crashed; --reload sets it.",
    )
    worker: WorkerSettings | None = None

    def __post_init__(self) -> None:
        if not self.path.startswith("/"):
            raise UsageError(f"--path must begin with a slash, got {self.path!r}")
        if self.reload and self.workers > 1:
            raise UsageError("--reload cannot be combined with --workers")

    @property
    def allowed_hosts(self) -> Sequence[str]:
        """The names that clients may use for the server, if they are limited."""
        return tuple(self.app.get("allowed_hosts") or ())

    def set_environment(self) -> None:
        """Let servers that are created from now on join the cluster, in workers too."""
        given = {CLUSTER: self.cluster, KEYS_FILE: self.state_keys}
        os.environ.update({name: value for name, value in given.items() if value})


def parse_address(text: str) -> tuple[str, int]:
    """The host and port of `[HOST:]PORT`; raises UsageError."""
    match = _ADDRESS.fullmatch(text)
    if match is None or int(match["port"]) > 65535:
        raise UsageError(
            f"--http: expected PORT or HOST:PORT, like 8000 or [::1]:8000, got {text!r}"
        )
    return (match["host"] or "127.0.0.1").strip("[]"), int(match["port"])


def read_settings(
    given: dict[str, Any],
    *,
    guard: GuardSettings | None = None,
    default_address: str | None = None,
) -> tuple[GuardSettings, HttpSettings | None]:
    """Remove the values of the options below from `given` and return them as settings.

    Without --http, the settings for HTTP are None. `guard` has the values of guard options that are
    not on the command line. Raises UsageError for options that do not fit together.
    """
    names = [each.name for each in fields(GuardSettings)]
    chosen = {name: value for name in names if (value := given.pop(name, None))}
    guard = replace(guard or GuardSettings(), **chosen)
    _check_guard(guard)
    http = {name: given.pop(name) for name in _HTTP_NAMES if name in given}
    address = _read_address(given) or default_address
    worker = os.environ.pop(WORKER, None)
    if worker is not None:
        # Handlers and their child processes must not see it.
        settings = codec.decode_as(HttpSettings, worker.encode())
        assert settings.worker is not None
        choose_log_format(settings.worker.log_format)
        choose_log_level(settings.worker.log_level)
        return settings.guard, settings
    if address is None:
        names = find_given(click.get_current_context(), http.keys() - {"reload", "debug"})
        if names:
            raise UsageError(f"{', '.join(names)}: requires --http")
        return guard, None
    host, port = parse_address(address)
    app: HttpAppOptions = {"health": True}
    for name in _APP_OPTIONS:
        if value := http.pop(name, None):
            app[name] = value  # type: ignore[literal-required]
    return guard, HttpSettings(host=host, port=port, app=app, guard=guard, **http)


def _read_address(given: dict[str, Any]) -> str | None:
    """The address of --http, or of its aliases --host and --port."""
    address: str | None = given.pop("address", None)
    host, port = given.pop("host", None), given.pop("port", None)
    if host is None and port is None:
        return address
    if address is not None:
        raise UsageError("--host and --port are another way to write --http; give one of them")
    name = host or "127.0.0.1"
    in_brackets = f"[{name}]" if ":" in name and not name.startswith("[") else name
    return f"{in_brackets}:{_DEFAULT_PORT if port is None else port}"


def _check_guard(guard: GuardSettings) -> None:
    if guard.key_header is not None and guard.keys is None:
        raise UsageError("--key-header requires --keys")
    if (guard.issuer is None) != (guard.resource is None):
        raise UsageError("--issuer and --resource must be used together")


def _flag(each: Field[Any]) -> str:
    return str(each.metadata.get("flag", f"--{each.name.replace('_', '-')}"))


def _make_options(settings: type) -> Mapping[str, OptionMaker]:
    """The options for the fields that have a help text, by the names of the fields."""
    made = {}
    for each in fields(settings):
        option = {name: value for name, value in each.metadata.items() if name != "flag"}
        if each.default is False:
            option["is_flag"] = True
        if option.get("metavar") == "FILE":
            option["type"] = click.Path()
        if option:
            made[each.name] = click.option(_flag(each), each.name, default=each.default, **option)
    return made


_SERVING = _make_options(HttpSettings)
# Keywords of `server.http_app()` -> their options.
_APP_OPTIONS: Mapping[str, OptionMaker] = {
    "allowed_hosts": click.option(
        "--allow-host",
        "allowed_hosts",
        multiple=True,
        metavar="HOST",
        help="Accept requests for this Host header (repeatable).",
    ),
    "allowed_origins": click.option(
        "--allow-origin",
        "allowed_origins",
        multiple=True,
        metavar="ORIGIN",
        help="Accept requests from web pages of this origin (repeatable).",
    ),
    "stateless": click.option(
        "--stateless", is_flag=True, help="Keep no sessions for clients of legacy revisions."
    ),
}
_HTTP_NAMES = (*_APP_OPTIONS, *_SERVING)

HTTP_OPTIONS: Sequence[OptionMaker] = (
    click.option(
        "--http",
        "address",
        metavar="[HOST:]PORT",
        help="Serve over HTTP at this address; port 0 picks a free port.",
    ),
    click.option("--host", metavar="HOST", help="With --port, the same as --http HOST:PORT."),
    click.option("--port", type=click.IntRange(0, 65535), metavar="PORT", help="See --host."),
    *_APP_OPTIONS.values(),
    _SERVING["access_log"],
    _SERVING["parser"],
)
PATH_OPTION: OptionMaker = _SERVING["path"]
REST_OPTION: OptionMaker = _SERVING["rest"]
RELOAD_OPTION: OptionMaker = _SERVING["reload"]
OPEN_OPTION: OptionMaker = _SERVING["open_browser"]
DEBUG_OPTION: OptionMaker = _SERVING["debug"]
WATCH_OPTION: OptionMaker = _SERVING["watch"]
CONSOLE_OPTIONS: Sequence[OptionMaker] = (_SERVING["console"], WATCH_OPTION)
CLUSTER_OPTIONS: Sequence[OptionMaker] = tuple(
    _SERVING[name] for name in ("workers", "cluster", "state_keys")
)
GUARD_OPTIONS: Sequence[OptionMaker] = tuple(_make_options(GuardSettings).values())
LOG_LEVEL_OPTION: OptionMaker = click.option(
    "--log-level",
    type=click.Choice(LOG_LEVELS),
    expose_value=False,
    callback=lambda _context, _option, value: choose_log_level(value),
    help="Write log lines of the server and its libraries from this level on to stderr.",
)
LOG_FORMAT_OPTION: OptionMaker = click.option(
    "--log-format",
    type=click.Choice(["text", "json"]),
    default="text",
    show_default=True,
    expose_value=False,
    callback=lambda _context, _option, value: choose_log_format(value),
    help="Format of the lines on stderr; json adds the ids of the current trace.",
)
