"""`Extension`: a name that both sides declare with settings, and whatever belongs to it."""

from __future__ import annotations

from collections.abc import Callable, Collection, Mapping
from contextlib import AbstractAsyncContextManager, nullcontext
from typing import Any, ClassVar, Generic, TypeVar

from dovetail.core.middleware import CallFacts, CallNext, call_of
from dovetail.core.schema import store_defaults
from dovetail.features.middleware import CallTool, ReadResource
from dovetail.features.tools import ToolResult
from dovetail.spec.models import ReadResourceResult
from dovetail.spec.revisions import Revision
from dovetail.wire import codec

__all__ = ["METHOD", "Extension", "method"]

O = TypeVar("O")  # noqa: E741 - the option
F = TypeVar("F", bound=Callable[..., Any])

# The attribute that `method` sets.
METHOD = "extension_method"


def method(name: str) -> Callable[[F], F]:
    """Serve a method of the protocol with this function of an `Extension`.

    Its parameters are the params of the request, validated like the arguments of a tool; it may
    take a `Context` too. It returns the result: a dict, a dataclass or a struct, or None for {}.
    """

    def mark(function: F) -> F:
        setattr(function, METHOD, name)
        return function

    return mark


class Extension(Generic[O]):
    """Subclass it, and give an instance to `Server(extensions=[...])`, and one to a `Client`.

    `O` is the type of the option of tools and resources, if there is one.
    """

    name: ClassVar[str] = ""
    """The identifier that both sides declare, such as `com.example/stamps`."""
    revisions: ClassVar[Collection[str] | None] = None
    """The dates of the revisions that it is for; None for all."""
    option: ClassVar[type[Any] | None] = None
    """The type of the values in `@server.tool(extensions=[...])` that are for this extension."""
    notifications: ClassVar[Collection[str]] = ()
    """The methods of the notifications that clients pass to `notified`."""

    # -- both sides -----------------------------------------------------------------------------

    def settings(self) -> Mapping[str, Any]:
        """Return the settings that the server declares."""
        return {}

    def client_settings(self) -> Mapping[str, Any]:
        """Return the settings that a client declares."""
        return {}

    def notified(self, method: str, params: dict[str, Any]) -> None:
        """Handle a notification of the server, in a client."""

    # -- the server -----------------------------------------------------------------------------

    @property
    def namespace(self) -> str:
        """The prefix of the keys of this extension in the state of its server."""
        return f"extension:{self.name}:"

    def running(self, server: Any) -> AbstractAsyncContextManager[Any]:
        """Return a context that is open while the server runs, for what the extension needs."""
        return nullcontext()

    def list_entry(self, entry: dict[str, Any], option: O) -> None:
        """Change the entry of a list, such as its `_meta`, for a tool or resource with the option.

        Clients that do not know the extension get the same lists.
        """

    async def call_tool(
        self, request: CallTool, call_next: CallNext[ToolResult], option: O
    ) -> ToolResult:
        """Run around the calls of a tool with the option, like a middleware."""
        return await call_next(request)

    async def read_resource(
        self, request: ReadResource, call_next: CallNext[ReadResourceResult], option: O
    ) -> ReadResourceResult:
        """Run around resources/read of a resource with the option, like a middleware."""
        return await call_next(request)

    def declared(self, request: CallFacts) -> Mapping[str, Any] | None:
        """Return the settings that the client declared, None if it did not declare the extension.

        `request` is a Context or the request of a middleware.
        """
        return request.client_extensions.get(self.name)

    def require(self, request: CallFacts) -> Mapping[str, Any]:
        """Return the settings that the client declared; raises if it did not declare any."""
        found = self.declared(request)
        if found is None:
            call = call_of(request)
            raise call.era.undeclared(call, {"extensions": {self.name: {}}})
        return found

    def notify(self, request: CallFacts, method: str, params: Mapping[str, Any]) -> None:
        """Send a notification that belongs to a request; not after its end."""
        store_defaults(params)
        call_of(request).notify(method, codec.encode(dict(params)))

    def is_offered_at(self, revision: Revision) -> bool:
        """Whether the extension is for this revision."""
        return self.revisions is None or revision.date in self.revisions
