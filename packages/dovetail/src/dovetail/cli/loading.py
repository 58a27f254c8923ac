"""Loads what `FILE.py[:NAME]` serves: a Server, a factory, or an ASGI application.

The file may be missing or invalid, may raise anything, and may have nothing to serve or several
candidates. Each case has its own error message.
"""

from __future__ import annotations

import asyncio
import importlib.util
import inspect
import re
import sys
import traceback
from collections.abc import Awaitable, Callable, Coroutine, Iterator, Mapping
from dataclasses import fields
from pathlib import Path
from types import ModuleType, TracebackType
from typing import TYPE_CHECKING, Any, NamedTuple, TypeAlias

from dovetail.auth import GuardSettings
from dovetail.errors import MissingPackageError, TransportError, UsageError
from dovetail.server import Server

if TYPE_CHECKING:
    from dovetail.auth import Guard
    from dovetail.transports.streamable_http.app import HttpApp

__all__ = [
    "AppEndpoint",
    "Loaded",
    "choose_guard",
    "find_endpoints",
    "guard_flags",
    "is_asgi_app",
    "is_inside",
    "load",
    "load_server",
    "split_spec",
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


_SPEC = re.compile(r"(?P<file>.+\.py)(?::(?P<name>[^:/\\]*))?")
# Functions that are called without being named on the command line.
_FACTORIES = ("create_server", "make_server", "create_app")
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
                "them as FILE.py:NAME, or serve the application over HTTP"
            )
        return self.servers[0]


def split_spec(text: str) -> tuple[Path, str | None] | None:
    """The file and name of `FILE.py[:NAME]`; None if the text has another form."""
    match = _SPEC.fullmatch(text)
    return None if match is None else (Path(match["file"]), match["name"])


def load_server(text: str) -> Server:
    """Run the file and return its server; raises UsageError or TransportError."""
    return load(text).server


def load(text: str, run: Callable[[Coroutine[Any, Any, Any]], Any] = asyncio.run) -> Loaded:
    """Run the file and return what it serves; raises UsageError or TransportError.

    `run` runs an async factory.
    """
    parts = split_spec(text)
    if parts is None:
        raise UsageError(f"{text!r} is not a Python file; expected FILE.py or FILE.py:NAME")
    file, name = parts
    if not file.is_file():
        raise UsageError(f"There is no file {str(file)!r}")
    names = vars(_run(file.resolve()))
    name = _choose(names, file) if name is None else name
    value: Any = names.get(name)
    if _is_factory(value):
        with _LoadErrors(file.resolve()):
            value = value()
            if inspect.isawaitable(value):
                value = run(_wait(value))
        if not isinstance(value, Server) and not is_asgi_app(value):
            raise UsageError(
                f"{name}() in {str(file)!r} returned {_kind(value)}; expected a Server or an ASGI "
                "application that contains one"
            )
    guards = _find_guards(names)
    if isinstance(value, Server):
        return Loaded(text, (value,), guards=guards)
    if not is_asgi_app(value):
        found = _kind(value) if name in names else "nothing"
        raise UsageError(
            f"{str(file)!r} has no Server named {name!r}, but {found}; {_describe(names)}"
        )
    endpoints = tuple(find_endpoints(value))
    servers = {id(each.app.server): each.app.server for each in endpoints}
    if not servers:
        raise UsageError(
            f"the ASGI application {name!r} in {str(file)!r} contains no server; mount "
            "`server.http_app()` in it"
        )
    return Loaded(text, tuple(servers.values()), value, endpoints, guards)


async def _wait(value: Any) -> Any:
    return await value


def _run(file: Path) -> ModuleType:
    # Not the name of the file: a server in `random.py` must not replace the stdlib module.
    name = f"dovetail_file_{file.stem}"
    spec = importlib.util.spec_from_file_location(name, file)
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    sys.modules[name] = module
    sys.path.insert(0, str(file.parent))
    with _LoadErrors(file):
        spec.loader.exec_module(module)
    return module


def _choose(names: Mapping[str, Any], file: Path) -> str:
    """The name of the only server, else of the only factory, else of the only application."""
    # Two names of one object count once; names with a leading underscore are ignored.
    public = {id(value): name for name, value in names.items() if not name.startswith("_")}
    for kind, candidates in _candidates({name: names[name] for name in public.values()}).items():
        if len(candidates) == 1:
            return next(iter(candidates))
        if candidates:
            choices = ", ".join(f"{file}:{name}" for name in candidates)
            raise UsageError(f"{str(file)!r} has {len(candidates)} {kind}; choose one: {choices}")
    raise UsageError(f"{str(file)!r} has no Server at its top level; {_describe(names)}")


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
    return f"a {type(value).__name__}"


def _describe(names: Mapping[str, Any]) -> str:
    found = [
        f"its {kind}: {', '.join(candidates)}"
        for kind, candidates in _candidates(names).items()
        if candidates
    ]
    return "; ".join(found) or "add `server = dovetail.Server(...)`"


class _LoadErrors:
    """Converts exceptions of the loaded file to TransportError, without frames of this package."""

    def __init__(self, file: Path) -> None:
        self._file = file

    def __enter__(self) -> None: ...

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        frames: TracebackType | None,
    ) -> None:
        # The message of MissingPackageError says everything; a traceback would hide it.
        if error is None or isinstance(error, KeyboardInterrupt | MissingPackageError):
            return
        while frames is not None and frames.tb_frame.f_code.co_filename != str(self._file):
            frames = frames.tb_next
        lines = traceback.format_exception(type(error), error, frames, chain=True)
        text = f"{str(self._file)!r} failed to load:\n{''.join(lines).rstrip()}"
        raise TransportError(text) from None


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
