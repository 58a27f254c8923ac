"""HTTP routes beside the MCP endpoint, such as `/health`, registered with `server.custom_route`.

The last segment of a path may be a parameter. For more, mount `server.http_app()` in a web
framework.
"""

from __future__ import annotations

import inspect
import re
from collections.abc import Awaitable, Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, NamedTuple, Protocol
from weakref import WeakSet

import msgspec

from dovetail.core.principal import Principal
from dovetail.errors import InvalidRequestError, UsageError
from dovetail.features.handlers import locate
from dovetail.wire import codec

__all__ = ["CustomRoute", "CustomRoutes", "RouteRequest", "RouteResponse"]

# Segments of unreserved characters (RFC 3986 section 2.3): others have several spellings.
_PATH = re.compile(r"(/[A-Za-z0-9._~-]+)+(/\{(?P<parameter>[a-z_]+)\})?")
_METHODS = ("GET", "POST", "PUT", "PATCH", "DELETE", "HEAD", "OPTIONS")


async def _answer_nothing(message: bytes | str) -> bytes | None:
    raise UsageError("this request did not come through an endpoint, so nothing handles messages")


@dataclass(frozen=True, slots=True, kw_only=True)
class RouteRequest:
    """An HTTP request to a custom route."""

    method: str
    path: str
    # The parameters of the query; the last value of a repeated one.
    query: Mapping[str, str] = field(default_factory=dict)
    query_string: str = ""
    # By lower-case name, without credentials; repeated headers are joined.
    headers: Mapping[str, str] = field(default_factory=dict)
    body: bytes = b""
    # The authenticated caller of a route with `guarded=True`.
    principal: Principal | None = None
    # The value that the server's lifespan yielded.
    lifespan: Any = None
    # The parameter of the path by its name.
    parameters: Mapping[str, str] = field(default_factory=dict)
    # Returns the response to an MCP message of this caller, as `server.handle` does. The guard of
    # the endpoint applies to it: scopes, rate limits, middleware and the audit log.
    handle: Callable[[bytes | str], Awaitable[bytes | None]] = _answer_nothing

    def json(self) -> Any:
        """The body decoded from JSON; a body that is not JSON is answered with 400."""
        try:
            return codec.decode_json(self.body)
        except msgspec.ValidationError as error:
            raise InvalidRequestError(f"The body is not valid JSON: {error}") from None


@dataclass(frozen=True, slots=True)
class RouteResponse:
    """A response with a status and headers; the body as a handler may return it alone."""

    body: Any = b""
    status: int = 200
    headers: Mapping[str, str] = field(default_factory=dict)


class CustomRoute(NamedTuple):
    """A registered handler."""

    path: str
    methods: frozenset[str]
    function: Callable[[RouteRequest], Any]
    guarded: bool
    is_async: bool
    # Returns what the lifespan of a mounted server yielded; None for the server itself.
    mounted_state: Callable[[], Any] | None = None
    # With `guarded`: the guard of a mounted server refuses anonymous callers.
    needs_caller: bool = False

    @property
    def parameter(self) -> str | None:
        """The name of the parameter at the end of the path."""
        found = _PATH.fullmatch(self.path)
        return None if found is None else found["parameter"]

    @property
    def key(self) -> str:
        """The path without the name of its parameter; routes with one key conflict."""
        return self.path if self.parameter is None else _with_parameter(self.path)

    @property
    def where(self) -> str:
        """The handler with its file and line, for logs and errors."""
        return f"the route {self.path!r}{locate(self.function)}"


class HasOwnPaths(Protocol):
    """An application in which some paths are taken."""

    def check_route(self, route: CustomRoute) -> None:
        """Raise UsageError if the application serves something else at the path of the route."""


class CustomRoutes:
    """The custom routes of a server."""

    def __init__(self) -> None:
        self._by_path: dict[str, list[CustomRoute]] = {}
        # The applications that serve these routes.
        self._apps: WeakSet[HasOwnPaths] = WeakSet()
        # The servers that serve these routes too, and what makes a route one of theirs.
        self._outer: list[tuple[CustomRoutes, Callable[[CustomRoute], CustomRoute]]] = []

    def add(
        self,
        path: str,
        function: Callable[[RouteRequest], Any],
        methods: Iterable[str] = ("GET",),
        *,
        guarded: bool = False,
    ) -> None:
        """Register a handler; raises UsageError if it is invalid or the path is taken."""
        is_async = inspect.iscoroutinefunction(function)
        route = CustomRoute(path, _read_methods(methods), function, guarded, is_async)
        if _PATH.fullmatch(path) is None:
            raise UsageError(
                f"{route.where} needs a path such as '/health': segments of letters, digits, "
                "'-', '.', '_' and '~', the last one perhaps a parameter such as '{name}'"
            )
        _check_signature(route)
        self._check(route)
        self._insert(route)

    def _check(self, route: CustomRoute) -> None:
        for other in self._by_path.get(route.key, ()):
            taken = sorted(other.methods & route.methods)
            if taken:
                raise UsageError(f"{route.where} has {other.where} for {', '.join(taken)} already")
        for app in self._apps:
            app.check_route(route)
        for outer, adapt in self._outer:
            outer._check(adapt(route))

    def _insert(self, route: CustomRoute) -> None:
        self._by_path.setdefault(route.key, []).append(route)
        for outer, adapt in self._outer:
            outer._insert(adapt(route))

    def mount(self, inner: CustomRoutes, adapt: Callable[[CustomRoute], CustomRoute]) -> None:
        """Serve the routes of a mounted server at the same paths, also later ones.

        Raises UsageError if a path is taken.
        """
        for route in inner:
            self._check(adapt(route))
        for route in inner:
            self._insert(adapt(route))
        inner._outer.append((self, adapt))

    def unmount(self, inner: CustomRoutes) -> None:
        """Serve the routes of a mounted server no more."""
        inner._outer = [each for each in inner._outer if each[0] is not self]
        for route in inner:
            self._remove(route)

    def _remove(self, route: CustomRoute) -> None:
        others = [each for each in self._by_path.get(route.key, ()) if each[:3] != route[:3]]
        self._by_path[route.key] = others
        for outer, _ in self._outer:
            outer._remove(route)

    def attach(self, app: HasOwnPaths) -> None:
        """Check the routes, also later ones, against the other paths of an application."""
        for route in self:
            app.check_route(route)
        self._apps.add(app)

    def find(self, path: str) -> Sequence[CustomRoute]:
        """The routes at a path, each with other methods."""
        found = self._by_path.get(path) or self._by_path.get(_with_parameter(path))
        return found or ()

    def __iter__(self) -> Iterator[CustomRoute]:
        return (route for routes in self._by_path.values() for route in routes)


def _with_parameter(path: str) -> str:
    return f"{path.rpartition('/')[0]}/{{}}"


def _read_methods(methods: Iterable[str]) -> frozenset[str]:
    given = [] if isinstance(methods, str) else [str(method).upper() for method in methods]
    if not given or not set(given) <= set(_METHODS):
        raise UsageError(f"methods is a list with some of {', '.join(_METHODS)}, got {methods!r}")
    return frozenset(given)


def _check_signature(route: CustomRoute) -> None:
    try:
        inspect.signature(route.function).bind(None)
    except TypeError:
        raise UsageError(f"{route.where} must take one parameter, the request") from None
