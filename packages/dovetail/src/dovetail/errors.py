"""Every exception of the package, in one tree.

    DovetailError
    ├── UsageError            your code asks for something that cannot be: fix the code
    │   └── DuplicateError    a name is registered twice
    ├── InvalidValueError     a value breaks its schema; carries every problem found
    ├── RpcError              answer the request with this JSON-RPC error
    │   ├── ParseError                    -32700
    │   ├── InvalidRequestError           -32600
    │   ├── MethodNotFoundError           -32601
    │   ├── InvalidParamsError            -32602
    │   ├── InternalError                 -32603
    │   ├── ResourceNotFoundError         -32002, sent as -32602 where the revision says so
    │   ├── HeaderMismatchError           -32020
    │   ├── MissingCapabilityError        -32021
    │   ├── UnsupportedVersionError       -32022
    │   ├── InsufficientScopeError        403, as HTTP has it
    │   └── RateLimitError                429, as HTTP has it
    ├── ToolError             shown to the model as written (`isError` result)
    ├── LimitError            a limit of the server was reached; the client reads which one
    ├── PeerError             the other side broke the protocol
    └── TransportError        the channel to the other side is gone or unusable

The code lives on the class; a class registers itself, so that `RpcError.from_wire`
finds it again on the way back and no list has to be kept by hand.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from typing import Any, ClassVar

__all__ = [
    "DovetailError",
    "DuplicateError",
    "HeaderMismatchError",
    "InsufficientScopeError",
    "InternalError",
    "InvalidParamsError",
    "InvalidRequestError",
    "InvalidValueError",
    "LimitError",
    "MethodNotFoundError",
    "MissingCapabilityError",
    "ParseError",
    "PeerError",
    "Problem",
    "RateLimitError",
    "ResourceNotFoundError",
    "RpcError",
    "ToolError",
    "TransportError",
    "UnsupportedVersionError",
    "UsageError",
]


class DovetailError(Exception):
    """Base of everything this package raises on purpose."""


class UsageError(DovetailError):
    """The calling code asks for something that cannot be; nothing was sent."""


class DuplicateError(UsageError):
    """A tool, prompt or resource is registered under a name that is taken."""


class Problem:
    """One way in which a value breaks its schema: where, what was given, what is allowed."""

    __slots__ = ("expected", "given", "hint", "path")

    def __init__(self, path: str, given: str, expected: str, hint: str = "") -> None:
        self.path = path
        self.given = given
        self.expected = expected
        # What to do about it, where that is not plain from the rest.
        self.hint = hint

    def __str__(self) -> str:
        text = f"{self.path}: expected {self.expected}, got {self.given}"
        return f"{text}; {self.hint}" if self.hint else text

    def __repr__(self) -> str:
        return f"Problem({self.path!r}, {self.given!r}, {self.expected!r})"

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Problem) and str(self) == str(other)

    def __hash__(self) -> int:
        return hash(str(self))


class InvalidValueError(DovetailError):
    """A value does not fit its schema. `problems` names every place."""

    def __init__(self, problems: Sequence[Problem]) -> None:
        self.problems = tuple(problems)
        super().__init__("; ".join(map(str, self.problems)))


class RpcError(DovetailError):
    """Answer the current request with this JSON-RPC error."""

    code: ClassVar[int] = 0
    by_code: ClassVar[dict[int, type[RpcError]]] = {}

    def __init_subclass__(cls, **kwargs: Any) -> None:
        super().__init_subclass__(**kwargs)
        RpcError.by_code.setdefault(cls.code, cls)

    def __init__(self, message: str, data: Any = None, *, code: int | None = None) -> None:
        super().__init__(message)
        self.message = message
        self.data = data
        if code is not None:
            # An application's own code; the specification keeps -32768..-32000 for itself.
            self.code = code  # type: ignore[misc]

    @classmethod
    def from_wire(cls, code: int, message: str, data: Any = None) -> RpcError:
        """The exception for an error received from a peer."""
        known = cls.by_code.get(code)
        if known is None:
            return RpcError(message, data, code=code)
        error = known.__new__(known)
        RpcError.__init__(error, message, data)
        return error


class ParseError(RpcError):
    """The bytes are no JSON."""

    code = -32700


class InvalidRequestError(RpcError):
    """The JSON is no JSON-RPC 2.0 request."""

    code = -32600


class MethodNotFoundError(RpcError):
    """The method does not exist at this revision, or the server has not declared it."""

    code = -32601


class InvalidParamsError(RpcError):
    """The params do not fit the method."""

    code = -32602


class InternalError(RpcError):
    """The server failed; details are in its log under the reference in the message."""

    code = -32603


class ResourceNotFoundError(RpcError):
    """No resource has this URI."""

    code = -32002

    def __init__(self, uri: str, message: str | None = None) -> None:
        super().__init__(message or f"Resource not found: {uri}", {"uri": uri})


class HeaderMismatchError(RpcError):
    """An HTTP header says something else than the body."""

    code = -32020


class MissingCapabilityError(RpcError):
    """The request needs something the client has not declared."""

    code = -32021

    def __init__(self, required: Mapping[str, Any], message: str | None = None) -> None:
        names = ", ".join(required) or "none"
        super().__init__(
            message or f"This request needs a client capability that was not declared: {names}",
            {"requiredCapabilities": dict(required)},
        )


class UnsupportedVersionError(RpcError):
    """The request names a protocol version this server does not speak."""

    code = -32022

    def __init__(self, requested: str, supported: Sequence[str]) -> None:
        super().__init__(
            f"Unsupported protocol version {requested!r}; supported: {', '.join(supported)}",
            {"supported": list(supported), "requested": requested},
        )


class InsufficientScopeError(RpcError):
    """The caller may do this once it has asked for more scopes."""

    # A code of our own has to lie outside of what JSON-RPC and MCP keep for themselves.
    code = 403

    def __init__(self, scopes: Sequence[str], *, challenge: str | None = None) -> None:
        """`challenge` is what HTTP says in WWW-Authenticate."""
        super().__init__(
            f"Insufficient scope: this needs {' '.join(scopes)}", {"scopes": list(scopes)}
        )
        self.challenge = challenge


class RateLimitError(RpcError):
    """Too much at a time, or too often. `retry_after`: seconds until it can work again."""

    code = 429

    def __init__(self, message: str, retry_after: float) -> None:
        # Rounded up: "in no time" would be no time to come back at.
        super().__init__(message, {"retryAfter": max(1, math.ceil(retry_after * 1000)) / 1000})
        self.retry_after = retry_after


class ToolError(DovetailError):
    """Raise it in a tool: the model reads the message as written."""


class LimitError(DovetailError):
    """A limit of the server was reached: time, size or number. The client reads the message."""


class PeerError(DovetailError):
    """The other side broke the protocol."""


class TransportError(DovetailError):
    """The channel to the other side is gone or unusable."""
