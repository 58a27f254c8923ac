"""Dependencies: values that handlers get from provider functions, opened and closed per call."""

from __future__ import annotations

import inspect
from collections.abc import Callable, Collection, Mapping
from contextlib import AsyncExitStack, asynccontextmanager, contextmanager
from functools import partial
from typing import Any, Protocol

from dovetail.core.call import Call, Handler, Style

__all__ = ["Dependency", "DependencyProvider", "Depends", "Resolution"]


class Dependency:
    """The marker of a parameter that gets its value from a provider."""

    __slots__ = ("blocking", "provider")

    def __init__(self, provider: Callable[..., Any] | None, blocking: bool | None) -> None:
        # A function or class; None only until the annotation of the parameter is known.
        self.provider: Any = provider
        self.blocking: bool | None = blocking


def Depends(provider: Callable[..., Any] | None = None, *, blocking: bool | None = None) -> Any:
    """Fill a parameter with the value of `provider`; clients do not see the parameter.

    The provider is a function, sync or async, or a class; without one, it is the class in the
    annotation of the parameter. If it yields, the code after `yield` runs after the call, or gets
    the exception of the call. It may have a `Context` and dependencies itself; its other
    parameters become arguments of the tool, prompt or template. Each provider runs once per call.
    Plain functions run in a worker thread unless `blocking` is False.
    """
    return Dependency(provider, blocking)


class DependencyProvider(Protocol):
    """A provider function after its inspection."""

    @property
    def function(self) -> Callable[..., Any]:
        """The function."""

    @property
    def handler(self) -> Handler:
        """How to run it."""

    @property
    def dependencies(self) -> Mapping[str, Dependency]:
        """Its own dependencies by parameter."""

    @property
    def arguments_of_client(self) -> Collection[str]:
        """Its parameters that are arguments of the client."""

    def arguments(self, call: Call, values: dict[str, Any]) -> dict[str, Any]:
        """Add the context to the arguments, if the function takes one."""


class Resolution:
    """The dependencies of one call; use it as a context manager around the handler."""

    __slots__ = ("_call", "_find", "_given", "_stack", "_values")

    def __init__(
        self,
        call: Call,
        find: Callable[[Dependency], DependencyProvider],
        given: Mapping[str, Any],
    ) -> None:
        """`given`: the arguments of the client."""
        self._call = call
        self._find = find
        self._given = given
        self._stack = AsyncExitStack()
        self._values: dict[object, Any] = {}

    async def __aenter__(self) -> Resolution:
        return self

    async def __aexit__(self, *error: Any) -> bool | None:
        """Close what was opened, the last one first; raises what closing raises."""
        return await self._stack.__aexit__(*error)

    async def fill(self, dependencies: Mapping[str, Dependency]) -> dict[str, Any]:
        """Return the values of these parameters."""
        return {name: await self._value(each) for name, each in dependencies.items()}

    async def run(self, handler: Handler, arguments: dict[str, Any]) -> Any:
        """Run a function in the style that it has."""
        if handler.style is Style.THREAD:
            return await self._in_thread(partial(handler.function, **arguments))
        value = handler.function(**arguments)
        return await value if inspect.isawaitable(value) else value

    async def _value(self, dependency: Dependency) -> Any:
        key = dependency.provider
        if key not in self._values:
            provider = self._find(dependency)
            arguments = await self.fill(provider.dependencies)
            names = provider.arguments_of_client
            arguments.update({name: self._given[name] for name in names if name in self._given})
            arguments = provider.arguments(self._call, arguments)
            self._values[key] = await self._open(provider, arguments)
        return self._values[key]

    async def _open(self, provider: DependencyProvider, arguments: dict[str, Any]) -> Any:
        function = provider.function
        if inspect.isasyncgenfunction(function):
            return await self._enter(asynccontextmanager(function)(**arguments), provider.handler)
        if inspect.isgeneratorfunction(function):
            return await self._enter(contextmanager(function)(**arguments), provider.handler)
        value = await self.run(provider.handler, arguments)
        # Not every object with __enter__: a database connection may be a context manager as well,
        # for its transactions.
        is_decorated = type(value).__module__ == "contextlib"
        return await self._enter(value, provider.handler) if is_decorated else value

    async def _enter(self, manager: Any, handler: Handler) -> Any:
        if hasattr(manager, "__aenter__"):
            return await self._stack.enter_async_context(manager)
        if handler.style is not Style.THREAD:
            return self._stack.enter_context(manager)
        value = await self._in_thread(manager.__enter__)

        async def leave(*error: Any) -> bool | None:
            suppressed: bool | None = await self._in_thread(partial(manager.__exit__, *error))
            return suppressed

        self._stack.push_async_exit(leave)
        return value

    async def _in_thread(self, function: Callable[[], Any]) -> Any:
        return await self._call.services.runner.in_thread(self._call, function)
