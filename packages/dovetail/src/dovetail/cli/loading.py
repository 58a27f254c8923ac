"""Loads what `FILE.py[:NAME]` or `PACKAGE.MODULE[:NAME]` serves.

That is a Server, a factory, or an ASGI application. The file may be missing or invalid, may raise
anything, and may have nothing to serve or several candidates. Each case has its own error message.
"""

from __future__ import annotations

import asyncio
import importlib
import inspect
import os
import sys
import traceback
from collections.abc import Awaitable, Callable, Coroutine, Iterator, Mapping, Sequence
from dataclasses import fields
from types import TracebackType
from typing import TYPE_CHECKING, Any, NamedTuple, TypeAlias

from dovetail.auth import GuardSettings
from dovetail.cli.sources import (
    EXPECTED,
    PythonSource,
    find_missing_neighbour,
    import_source,
    parse_source,
)
from dovetail.errors import MissingPackageError, TransportError, UsageError
from dovetail.runtime.key_files import KEYS_FILE
from dovetail.runtime.state import CLUSTER
from dovetail.server import Server

if TYPE_CHECKING:
    from dovetail.auth import Guard
    from dovetail.transports.streamable_http.app import HttpApp

__all__ = [
    "AppEndpoint",
    "Loaded",
    "choose_guard",
    "find_endpoints",
    "format_author_frames",
    "guard_flags",
    "is_asgi_app",
    "is_inside",
    "load",
    "load_server",
]

AsgiApp: TypeAlias = Callable[[Any, Any, Any], Awaitable[None]]

_HTTP_APP = "dovetail.transports.streamable_http.app"
# The parameters scope, receive and send.
_PARAMETERS = 3


class AppEndpoint(NamedTuple):
    """An MCP endpoint and its URL path."""

    path: str
    app: HttpApp


def is_asgi_app(value: Any) -> bool:
    """Whether a value is an `async def` with three parameters, or an object that is called so."""
    if isinstance(value, type) or not callable(value):
        return False
    function = value if inspect.isfunction(value) else type(value).__call__
    if not inspect.iscoroutinefunction(function) or not inspect.isfunction(function):
        return False
    own = 0 if function is value else 1
    return function.__code__.co_argcount - own == _PARAMETERS


def find_endpoints(app: AsgiApp) -> list[AppEndpoint]:
    """The MCP endpoints in an application, each once."""
    module = sys.modules.get(_HTTP_APP)
    if module is None:
        return []  # nothing has called `server.http_app()`
    found = {
        id(inner): AppEndpoint(prefix + inner.path, inner)
        for prefix, inner in _walk(app, "", set())
        if isinstance(inner, module.HttpApp)
    }
    return list(found.values())


def is_inside(app: AsgiApp, outer: AsgiApp) -> bool:
    """Whether `outer` calls this application."""
    return app is not outer and any(inner is app for _, inner in _walk(outer, "", set()))


def _walk(app: Any, prefix: str, seen: set[int]) -> Iterator[tuple[str, Any]]:
    """An application and those that it calls, with the path before their own."""
    if id(app) in seen or not is_asgi_app(app):
        return
    seen.add(id(app))
    yield prefix, app
    if inspect.isfunction(app):
        variables = inspect.getclosurevars(app)
        parts: Mapping[str, Any] = {**variables.globals, **variables.nonlocals}
    else:
        parts = getattr(app, "__dict__", {})
        # Starlette's Mount removes its path from the path of a request; Route does not.
        if isinstance(parts.get("path"), str) and "app" in parts and "endpoint" not in parts:
            prefix += parts["path"]
    for value in parts.values():
        for inner in _members(value):
            yield from _walk(inner, prefix, seen)


def _members(value: Any) -> Iterator[Any]:
    if isinstance(value, Mapping):
        yield from value.values()
    elif isinstance(value, list | tuple):
        yield from value
    else:
        yield value


# Functions that are called without being named on the command line.
_FACTORIES = ("create_server", "make_server", "create_app")
# Names that win over others.
_USUAL = ("server", "mcp", "app")
_GUARD = "dovetail.auth.guard"


class Loaded(NamedTuple):
    """What a file serves."""

    # The command line argument, for messages.
    source: str
    servers: tuple[Server, ...]
    # The application around the servers, with their endpoints; None for a server alone.
    app: AsgiApp | None = None
    endpoints: tuple[AppEndpoint, ...] = ()
    # The guards at the top level of the file, by name.
    guards: Mapping[str, Guard] = {}

    @property
    def server(self) -> Server:
        """The only server; raises UsageError if an application contains several."""
        if len(self.servers) > 1:
            names = ", ".join(server.name for server in self.servers)
            raise UsageError(
                f"{self.source!r} contains {len(self.servers)} servers ({names}); name one of "
                "them with :NAME, or serve the application over HTTP"
            )
        return self.servers[0]


def load_server(text: str) -> Server:
    """Run the file and return its server; raises UsageError or TransportError."""
    return load(text).server


def load(
    text: str,
    run: Callable[[Coroutine[Any, Any, Any]], Any] = asyncio.run,
    arguments: Sequence[str] = (),
) -> Loaded:
    """Import a file or a module and return what it serves; raises UsageError or TransportError.

    `run` runs an async factory. The module finds `arguments` in `sys.argv[1:]`.
    """
    source = parse_source(text)
    if source is None or (source.is_ambiguous and not source.can_be_found):
        raise UsageError(f"{text!r} is not a Python file, nor a module in this folder; {EXPECTED}")
    if source.file is not None and not source.file.is_file():
        raise UsageError(f"There is no file {source.text!r}")
    # A server that reads its arguments must not see those of this command.
    sys.argv = [source.text, *arguments]
    with _LoadErrors(source):
        names = vars(import_source(source))
    name = _choose(names, source) if source.name is None else source.name
    value: Any = names.get(name)
    if _is_factory(value):
        with _LoadErrors(source):
            value = value()
            if inspect.isawaitable(value):
                value = run(_wait(value))
        if not isinstance(value, Server) and not is_asgi_app(value):
            raise UsageError(
                f"{name}() in {source.text!r} returned {_kind(value)}; expected a Server or an "
                "ASGI application that contains one"
            )
    guards = _find_guards(names)
    if isinstance(value, Server):
        return Loaded(text, (value,), guards=guards)
    if not is_asgi_app(value):
        found = f": it is {_kind(value)}" if name in names else ""
        raise UsageError(f"{source.text!r} has no Server named {name!r}{found}; {_describe(names)}")
    endpoints = tuple(find_endpoints(value))
    servers = {id(each.app.server): each.app.server for each in endpoints}
    if not servers:
        raise UsageError(
            f"the ASGI application {name!r} in {source.text!r} contains no server; mount "
            "`server.http_app()` in it"
        )
    return Loaded(text, tuple(servers.values()), value, endpoints, guards)


async def _wait(value: Any) -> Any:
    return await value


def _choose(names: Mapping[str, Any], source: PythonSource) -> str:
    """The name of the only server, else of the only factory, else of the only application."""
    # Two names of one object count once; names with a leading underscore are ignored.
    public = {id(value): name for name, value in names.items() if not name.startswith("_")}
    for kind, candidates in _candidates({name: names[name] for name in public.values()}).items():
        if len(candidates) > 1 and kind == "servers":
            candidates = _prefer(candidates)
        if len(candidates) == 1:
            return next(iter(candidates))
        if candidates:
            choices = ", ".join(f"{source.text}:{name}" for name in candidates)
            raise UsageError(f"{source.text!r} has {len(candidates)} {kind}; choose one: {choices}")
    raise UsageError(f"{source.text!r} has no Server at its top level; {_describe(names)}")


def _prefer(servers: Mapping[str, Server]) -> dict[str, Any]:
    """The servers that are not mounted in another one; of these, the one with a usual name."""
    mounted = {
        id(provider)
        for server in servers.values()
        if server.provider.mounts is not None
        for provider in server.provider.mounts.providers
    }
    outer = {name: each for name, each in servers.items() if id(each.provider) not in mounted}
    usual = next((name for name in _USUAL if name in outer), None)
    return outer if usual is None else {usual: outer[usual]}


def _candidates(names: Mapping[str, Any]) -> dict[str, dict[str, Any]]:
    """The servers, factories and outermost applications, in order of precedence."""
    apps = {name: value for name, value in names.items() if is_asgi_app(value)}
    apps = {name: app for name, app in apps.items() if find_endpoints(app)}
    return {
        "servers": {name: value for name, value in names.items() if isinstance(value, Server)},
        "factories": {name: names[name] for name in _FACTORIES if _is_factory(names.get(name))},
        "applications": {
            name: app
            for name, app in apps.items()
            if not any(is_inside(app, outer) for outer in apps.values())
        },
    }


def _is_factory(value: Any) -> bool:
    """Whether a value can be called without arguments."""
    if isinstance(value, Server) or not callable(value):
        return False
    try:
        inspect.signature(value).bind()
    except (TypeError, ValueError):
        return False
    return True


def _find_guards(names: Mapping[str, Any]) -> dict[str, Guard]:
    module = sys.modules.get(_GUARD)
    if module is None:
        return {}  # the file uses no guard, and importing it would take time
    return {name: value for name, value in names.items() if isinstance(value, module.Guard)}


def _kind(value: Any) -> str:
    name = type(value).__name__
    return f"{'an' if name[0] in 'aeiou' else 'a'} {name}"


def _describe(names: Mapping[str, Any]) -> str:
    found = [
        f"its {kind}: {', '.join(candidates)}"
        for kind, candidates in _candidates(names).items()
        if candidates
    ]
    return "; ".join(found) or "add `server = dovetail.Server(...)`"


class _LoadErrors:
    """Converts exceptions of a loaded module to TransportError, with its own frames only."""

    def __init__(self, source: PythonSource) -> None:
        self._source = source

    def __enter__(self) -> None: ...

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        frames: TracebackType | None,
    ) -> None:
        # The messages of these say everything; a traceback would hide it.
        if error is None or isinstance(error, KeyboardInterrupt | MissingPackageError):
            return
        if isinstance(error, UsageError) and not _has_author_frames(frames):
            return
        if isinstance(error, UsageError) and _is_about_settings(frames):
            raise TransportError(str(error)) from None
        hint = find_missing_neighbour(self._source, error)
        text = f"{self._source.text!r} failed to load:\n{format_author_frames(error)}{hint}"
        raise TransportError(text) from None


_OWN_FOLDER = os.path.dirname(os.path.dirname(os.path.abspath(__file__)))
_IMPORT_FRAMES = ("<frozen importlib", os.path.dirname(importlib.__file__))


def _is_author_frame(file: str) -> bool:
    return not file.startswith((_OWN_FOLDER + os.sep, *_IMPORT_FRAMES))


def _has_author_frames(frames: TracebackType | None) -> bool:
    return any(_is_author_frame(frame.f_code.co_filename) for frame, _ in traceback.walk_tb(frames))


# The modules that read the settings of a cluster from the environment.
_SETTINGS = tuple(
    os.path.join(_OWN_FOLDER, "runtime", name) for name in ("state.py", "key_files.py")
)


def _is_about_settings(frames: TracebackType | None) -> bool:
    """Whether an error is about --cluster or --state-keys, and not about the author's line."""
    if not any(os.environ.get(name) for name in (CLUSTER, KEYS_FILE)):
        return False
    return any(frame.f_code.co_filename in _SETTINGS for frame, _ in traceback.walk_tb(frames))


def format_author_frames(error: BaseException) -> str:
    """A traceback without the frames of this package and of the import system."""
    shown = traceback.TracebackException.from_exception(error, compact=True)
    links: list[traceback.TracebackException | None] = [shown]
    while links:
        link = links.pop()
        if link is not None:
            link.stack = traceback.StackSummary.from_list(
                [frame for frame in link.stack if _is_author_frame(frame.filename)]
            )
            links += [link.__cause__, link.__context__, *(link.exceptions or ())]
    return "".join(shown.format()).rstrip()


def choose_guard(
    loaded: Loaded, options: GuardSettings, *, over_http: bool
) -> tuple[Guard | None, list[str]]:
    """The guard of the command line, if any, and warnings about guards that nothing uses.

    Raises UsageError if the server has its own guard as well: either of them could be the one
    that authenticates callers.
    """
    used = [getattr(server, "guard", None) for server in loaded.servers]
    flags = guard_flags(options)
    if flags:
        if any(guard is not None for guard in used):
            raise UsageError(
                f"the server in {loaded.source!r} has its own guard, so {', '.join(flags)} "
                "cannot be applied; remove the options, or the guard in Server(guard=...)"
            )
        return options.build(), []
    if over_http:
        used += [endpoint.app.auth for endpoint in loaded.endpoints]
    return None, [
        f"the guard {name!r} in {loaded.source!r} is not used; pass it as Server(guard={name})"
        for name, guard in loaded.guards.items()
        if not any(guard is each for each in used)
    ]


def guard_flags(guard: GuardSettings) -> list[str]:
    """The guard options that are set, as on the command line."""
    return [
        f"--{each.name.replace('_', '-')}" for each in fields(guard) if getattr(guard, each.name)
    ]
