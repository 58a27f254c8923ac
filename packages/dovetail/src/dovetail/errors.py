"""The exceptions of the package.

    DovetailError
    ├── UsageError            the calling code is wrong: fix the code
    │   ├── DuplicateError       a name is registered twice
    │   └── MissingPackageError  an optional package is not installed
    ├── InvalidValueError     a value does not match its schema; has every problem found
    ├── RpcError              answer the request with this JSON-RPC error
    │   ├── ParseError                    -32700
    │   ├── InvalidRequestError           -32600
    │   ├── MethodNotFoundError           -32601
    │   ├── InvalidParamsError            -32602
    │   ├── InternalError                 -32603
    │   │   ├── ShutdownError             the server is shutting down
    │   │   └── StoreError                the shared store of a cluster cannot be used
    │   ├── ResourceNotFoundError         -32002, or -32602 in revisions that require it
    │   ├── HeaderMismatchError           -32020
    │   ├── MissingCapabilityError        -32021
    │   ├── UnsupportedVersionError       -32022
    │   ├── InsufficientScopeError        403, as in HTTP
    │   └── RateLimitError                429, as in HTTP
    ├── ToolError             shown to the model as written (`isError` result)
    │   └── UpstreamError     a server behind a proxy cannot be reached or violates the protocol
    ├── LimitError            a limit of the server was reached; sent to the client
    ├── PeerError             the other side violated the protocol
    └── TransportError        the connection failed or is closed
        └── UnreachableError      the server cannot be reached, whatever the era
            └── AccessDeniedError     it answered 401 or 403
                └── AuthorizationError    a client could not obtain an access token
                    ├── LoginRequiredError   the user has to log in
                    └── TokenRefusedError    the authorization server refused the request

Each class has its JSON-RPC code and registers itself, so that `RpcError.from_wire` can create it
from a received error.
"""

from __future__ import annotations

import math
import shlex
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from typing import Any, ClassVar

__all__ = [
    "AccessDeniedError",
    "AuthorizationError",
    "DovetailError",
    "DuplicateError",
    "HeaderMismatchError",
    "InsufficientScopeError",
    "InternalError",
    "InvalidParamsError",
    "InvalidRequestError",
    "InvalidValueError",
    "LimitError",
    "LoginRequiredError",
    "MethodNotFoundError",
    "MissingCapabilityError",
    "MissingPackageError",
    "ParseError",
    "PeerError",
    "Problem",
    "RateLimitError",
    "ResourceNotFoundError",
    "RpcError",
    "ShutdownError",
    "StoreError",
    "TokenRefusedError",
    "ToolError",
    "TransportError",
    "UnreachableError",
    "UnsupportedVersionError",
    "UpstreamError",
    "UsageError",
]


class DovetailError(Exception):
    """The base class of all exceptions of this package."""


class UsageError(DovetailError):
    """The calling code is wrong; nothing was sent."""


class DuplicateError(UsageError):
    """A tool, prompt or resource with this name is already registered."""


class MissingPackageError(UsageError):
    """A feature needs a package that is not installed; the message has the command for it."""

    def __init__(self, feature: str, package: str, install: str) -> None:
        """`install` is what pip has to install: a distribution, with the extra that is needed."""
        super().__init__(
            f"{feature} needs {package}, which is not installed: pip install {shlex.quote(install)}"
        )
        self.package = package
        self.install = install

    @classmethod
    @contextmanager
    def when_importing(cls, module: str, feature: str, install: str) -> Iterator[None]:
        """Raise this error if an import in this block fails because `module` is not installed."""
        try:
            yield
        except ImportError as error:
            if (error.name or "").partition(".")[0] != module:
                raise
            raise cls(feature, module, install) from None


class Problem:
    """One mismatch between a value and its schema: the path, the actual and the expected value."""

    __slots__ = ("actual", "expected", "hint", "path")

    def __init__(self, path: str, actual: str, expected: str, hint: str = "") -> None:
        self.path: str = path
        self.actual: str = actual
        self.expected: str = expected
        # How to fix it, if that is not obvious.
        self.hint: str = hint

    def __str__(self) -> str:
        text = f"{self.path}: expected {self.expected}, got {self.actual}"
        return f"{text}; {self.hint}" if self.hint else text

    def __repr__(self) -> str:
        return f"Problem({self.path!r}, {self.actual!r}, {self.expected!r})"

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Problem) and str(self) == str(other)

    def __hash__(self) -> int:
        return hash(str(self))


class InvalidValueError(DovetailError):
    """A value does not match its schema; `problems` lists every mismatch."""

    def __init__(self, problems: Sequence[Problem]) -> None:
        self.problems: tuple[Problem, ...] = tuple(problems)
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
            # An application-defined code; the specification reserves -32768 to -32000.
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
    """The input is not valid JSON."""

    code = -32700


class InvalidRequestError(RpcError):
    """The JSON is not a valid JSON-RPC 2.0 message."""

    code = -32600


class MethodNotFoundError(RpcError):
    """The method does not exist at this revision, or its capability is not declared."""

    code = -32601


class InvalidParamsError(RpcError):
    """The params are invalid."""

    code = -32602


class InternalError(RpcError):
    """The server failed; its log has the details under the reference in the message."""

    code = -32603


class ShutdownError(InternalError):
    """The server is shutting down and does not complete the request; over HTTP with status 503."""

    def __init__(self) -> None:
        super().__init__("The server is shutting down; send the request again")


class StoreError(InternalError):
    """The request needs the shared store of a cluster, which cannot be used; over HTTP with 503."""

    def __init__(self, reason: str) -> None:
        super().__init__("The shared store of this server cannot be used now; try again")
        # For logs only: it may contain addresses.
        self.reason = reason

    def __str__(self) -> str:
        return f"The shared store cannot be used: {self.reason}"


class ResourceNotFoundError(RpcError):
    """No resource has this URI."""

    code = -32002

    def __init__(self, uri: str, message: str | None = None) -> None:
        super().__init__(message or f"Resource not found: {uri}", {"uri": uri})


class HeaderMismatchError(RpcError):
    """An HTTP header does not match the body."""

    code = -32020


class MissingCapabilityError(RpcError):
    """The request needs a capability that the client has not declared."""

    code = -32021

    def __init__(self, required: Mapping[str, Any], message: str | None = None) -> None:
        # What is missing is the extension itself, not the member for extensions.
        names = ", ".join(required.get("extensions", required)) or "none"
        super().__init__(
            message or f"This request needs a client capability that was not declared: {names}",
            {"requiredCapabilities": dict(required)},
        )


class UnsupportedVersionError(RpcError):
    """The server does not support the requested protocol version."""

    code = -32022

    def __init__(self, requested: str, supported: Sequence[str]) -> None:
        super().__init__(
            f"Unsupported protocol version {requested!r}; supported: {', '.join(supported)}",
            {"supported": list(supported), "requested": requested},
        )


class InsufficientScopeError(RpcError):
    """The caller needs more scopes for this request."""

    # Outside the range that JSON-RPC and MCP reserve.
    code = 403

    def __init__(self, scopes: Sequence[str], *, challenge: str | None = None) -> None:
        """`challenge` is the WWW-Authenticate header for HTTP."""
        super().__init__(
            f"Insufficient scope: this needs {' '.join(scopes)}", {"scopes": list(scopes)}
        )
        self.challenge = challenge


class RateLimitError(RpcError):
    """A rate or concurrency limit was exceeded; retry after `retry_after` seconds."""

    code = 429

    def __init__(self, message: str, retry_after: float) -> None:
        # Rounded up to milliseconds, so that it is never 0.
        super().__init__(message, {"retryAfter": max(1, math.ceil(retry_after * 1000)) / 1000})
        self.retry_after = retry_after


class ToolError(DovetailError):
    """Raise it in a tool: the message is sent to the model unchanged."""


class UpstreamError(ToolError):
    """A server behind a proxy cannot be reached or violates the protocol."""

    def __init__(self, upstream: str, reason: str) -> None:
        super().__init__(f"The upstream server {upstream!r} {reason}")


class LimitError(DovetailError):
    """A limit on time, size or number was exceeded; the message is sent to the client."""


class PeerError(DovetailError):
    """The other side violated the protocol."""


class TransportError(DovetailError):
    """The connection to the other side failed or is closed."""


class UnreachableError(TransportError):
    """The server cannot be reached or denies access; another protocol era would not help."""


class AccessDeniedError(UnreachableError):
    """The server answered 401 or 403."""


class AuthorizationError(AccessDeniedError):
    """No access token could be obtained; the message names the party at fault and the next step.

    It never contains a token, a code or a secret.
    """


class LoginRequiredError(AuthorizationError):
    """The user has to log in, and this client may not ask for it."""


class TokenRefusedError(AuthorizationError):
    """The authorization server refused a token request with an OAuth error code."""

    def __init__(self, text: str, code: str) -> None:
        super().__init__(text)
        self.code = code
