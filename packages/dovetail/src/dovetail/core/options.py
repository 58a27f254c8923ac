"""`Options`: limits and settings of a server; `HttpAppOptions`: those of its HTTP application.

A request over a limit gets an error.
"""

from __future__ import annotations

import math
from collections.abc import Collection, Iterable, Sequence
from dataclasses import dataclass
from difflib import get_close_matches
from typing import TYPE_CHECKING, Any, Final, Literal, TypeAlias, TypedDict

from dovetail.errors import UsageError
from dovetail.spec.keys import LOG_LEVELS, LogLevel

if TYPE_CHECKING:
    from dovetail.state import Backend

__all__ = [
    "HTTP_DEFAULTS",
    "HttpAppOptions",
    "HttpParser",
    "Options",
    "complete_http_options",
    "read_tags",
]

_AT_LEAST_ONE = (
    "concurrency",
    "max_calls_per_client",
    "worker_threads",
    "max_message_bytes",
    "max_result_bytes",
    "task_concurrency",
    "tasks_per_owner",
    "max_task_result_bytes",
    "max_session_state_bytes",
)

_SECONDS = (
    "state_lifetime",
    "task_ttl",
    "task_max_ttl",
    "task_poll",
    "session_state_lifetime",
)


@dataclass(frozen=True, slots=True, kw_only=True)
class Options:
    """Limits and settings of a server; the defaults are for a local server with one client."""

    # -- limits -----------------------------------------------------------------------
    concurrency: int = 100
    """Handlers that run at the same time."""
    queue: int = 10_000
    """Calls that may wait for a free handler; more are refused."""
    # The limits above are for all clients together; one client must not use them up.
    max_calls_per_client: int = 1000
    """Calls of one client (a connection, a session or a principal) without a response yet."""
    timeout: float | None = 300.0
    """Seconds a handler may take in total; None for no limit."""
    idle_timeout: float | None = None
    """Seconds a handler may take without a progress report or log message."""
    # Its user may take a while.
    ask_timeout: float | None = 600.0
    """Seconds the client has to answer a question."""
    # asyncio's own default is min(32, cores + 4).
    worker_threads: int = 32
    """Threads for plain `def` handlers."""
    page_size: int | None = None
    """Entries per page of a list; None sends all entries in one page."""
    include_tags: Iterable[str] | None = None
    """Serve only entries with one of these tags; None for all."""
    exclude_tags: Iterable[str] = ()
    """Serve no entries with one of these tags."""
    # The 4 MiB of the official SDK are too few for images in base64.
    max_message_bytes: int = 16 * 1024 * 1024
    """Bytes of one received message."""
    max_result_bytes: int = 64 * 1024 * 1024
    """Bytes of one result."""
    grace: float = 2.0
    """Seconds that running calls have to finish at shutdown, or when a stdio client leaves."""

    # -- tasks ------------------------------------------------------------------------
    task_ttl: float = 3600.0
    """Seconds a task is stored, finished or not."""
    task_max_ttl: float = 86_400.0
    """Seconds a task is stored at most, if a client asks for longer."""
    task_poll: float = 1.0
    """The polling interval, in seconds, that clients are asked to use."""
    task_concurrency: int = 100
    """Tasks that run at the same time; those that wait for their client do not count."""
    tasks_per_owner: int = 1000
    """Tasks stored for one caller, finished ones included."""
    max_task_result_bytes: int = 4 * 1024 * 1024
    """Bytes of one stored result."""

    # -- messages to clients -----------------------------------------------------------
    expose_tracebacks: bool = False
    """Send the traceback of a crash to the client; for development only."""
    tool_errors: tuple[type[Exception], ...] = ()
    """Exceptions of tools whose text the model may read, as if they were a ToolError."""
    log_level: LogLevel = "info"
    """The lowest level sent to legacy clients that never called logging/setLevel."""
    list_ttl_ms: int = 0
    """Milliseconds for which clients may cache lists; modern era."""
    list_scope: Literal["public", "private"] = "public"
    """Whether users may share cached lists: "private" if lists differ between users."""

    # -- schemas ----------------------------------------------------------------------
    list_output_schemas: bool = True
    """Whether lists of tools contain the output schemas.

    Without them a list costs a model less; structured results are sent and validated either way.
    """
    inline_refs: bool = False
    """Replace $ref by the definition, for clients that do not resolve references."""
    accept_json_strings: bool = False
    """Accept arguments that are JSON inside a string, for clients that send them that way."""
    current_context: bool = False
    """Let `current_context()` find the context of the running handler."""

    # -- asking the user in the modern era -----------------------------------------------
    state_keys: Sequence[bytes] = ()
    """Keys of at least 32 bytes that seal the state which clients hold while they ask a user.

    The first one seals, all of them open. Keys in the file DOVETAIL_STATE_KEYS_FILE or in
    DOVETAIL_STATE_KEYS take precedence. Empty: a random key per process.
    """
    state_lifetime: float = 900.0
    """Seconds for which sealed state is accepted."""

    # -- several processes ---------------------------------------------------------------
    state: Backend | str | None = None
    """Where shared and durable state is: a `Backend` or its URL.

    None: in this process, except for tasks, which are in a file of this server in XDG_STATE_HOME.
    "redis://127.0.0.1:6379/0" shares everything between processes on any machine: sessions,
    streams, changes, tasks, rates, session state and used answers. Add ?name=NAME to separate
    servers with the same name. It needs state keys. Another backend or "sqlite:///PATH" shares
    tasks, rates, revoked keys, session state and used answers; "memory://" is for this process.
    DOVETAIL_CLUSTER takes precedence.
    """

    # -- session state ------------------------------------------------------------------
    session_state_lifetime: float = 1800.0
    """Seconds for which `ctx.session_state` of a caller is stored after its last use."""
    max_session_state_bytes: int = 64 * 1024
    """Bytes of all values of one caller in `ctx.session_state`."""

    def __post_init__(self) -> None:
        for name in _AT_LEAST_ONE:
            if getattr(self, name) < 1:
                raise UsageError(f"Options.{name} must be at least 1, got {getattr(self, name)}")
        if self.page_size is not None and self.page_size < 1:
            raise UsageError(f"Options.page_size must be at least 1 or None, got {self.page_size}")
        for name in ("timeout", "idle_timeout", "ask_timeout"):
            seconds = getattr(self, name)
            if seconds is not None and seconds <= 0:
                raise UsageError(f"Options.{name} must be above 0 or None, got {seconds}")
        for name in _SECONDS:
            seconds = getattr(self, name)
            if not 0 < seconds < math.inf:
                raise UsageError(f"Options.{name} must be a number of seconds, got {seconds}")
        if self.queue < 0 or self.grace < 0 or self.list_ttl_ms < 0:
            raise UsageError("Options.queue, grace and list_ttl_ms cannot be negative")
        errors: Any = self.tool_errors
        if not isinstance(errors, tuple) or not all(map(_is_exception, errors)):
            raise UsageError(
                "Options.tool_errors must be a tuple of exception classes, such as (ValueError,), "
                f"got {errors!r}"
            )
        if self.list_scope not in ("public", "private"):
            raise UsageError(
                f"Options.list_scope must be 'public' or 'private', got {self.list_scope!r}"
            )
        if self.log_level not in LOG_LEVELS:
            raise UsageError(
                f"Options.log_level must be one of {', '.join(LOG_LEVELS)}, got {self.log_level!r}"
            )

    def shows_tags(self, tags: frozenset[str]) -> bool:
        """Whether an entry with these tags is served."""
        included = self.include_tags is None or not tags.isdisjoint(self.include_tags)
        return included and tags.isdisjoint(self.exclude_tags)


def _is_exception(each: Any) -> bool:
    return isinstance(each, type) and issubclass(each, Exception)


# Reads HTTP/1.1; auto is httptools if it is installed.
HttpParser: TypeAlias = Literal["auto", "httptools", "h11"]


class HttpAppOptions(TypedDict, total=False):
    """The keywords of `server.http_app()`, `server.run()` and `serve_http()`."""

    allowed_hosts: Collection[str] | None
    """Host headers to accept; `["*"]` accepts any.

    None: loopback names if the server listens on a loopback address, otherwise any name.
    """
    allowed_origins: Collection[str]
    """Origins of web pages that may call, besides pages of the same host; `["*"]` accepts any."""
    stateless: bool
    """Keep no sessions for clients of legacy revisions."""
    streaming: bool
    """Whether responses may be event streams; False answers with plain JSON only."""
    max_sessions: int
    """Sessions at the same time, of all clients."""
    session_lifetime: float
    """Seconds that a session lives without a request."""
    old_sse: str | None
    """The path, such as "/sse", at which HTTP+SSE of 2024-11-05 is served too; None for nowhere."""
    body_timeout: float
    """Seconds that the rest of a request's body may take to arrive."""
    health: bool
    """Serve /healthz and /readyz."""


# The defaults suit a server on the user's own machine.
HTTP_DEFAULTS: Final[HttpAppOptions] = {
    "allowed_hosts": None,
    "allowed_origins": (),
    "stateless": False,
    "streaming": True,
    "max_sessions": 10_000,
    "session_lifetime": 1800.0,
    "old_sse": None,
    "body_timeout": 30.0,
    "health": False,
}


def complete_http_options(given: HttpAppOptions) -> HttpAppOptions:
    """Return the options with the defaults of the others; raises TypeError for unknown ones."""
    for name in given:
        if name not in HTTP_DEFAULTS:
            close = get_close_matches(name, HTTP_DEFAULTS, 1)
            hint = f"did you mean {close[0]!r}?" if close else f"known: {', '.join(HTTP_DEFAULTS)}"
            raise TypeError(f"unexpected keyword argument {name!r}; {hint}")
    return {**HTTP_DEFAULTS, **given}


def read_tags(given: Iterable[str], where: str) -> frozenset[str]:
    """Return the tags of an entry; raises UsageError."""
    if isinstance(given, str):
        raise UsageError(f"{where}: tags is a set of strings, {{{given!r}}} for one, got {given!r}")
    return frozenset(given)
