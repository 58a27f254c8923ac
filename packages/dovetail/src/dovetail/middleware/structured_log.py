"""`StructuredLog`: one JSON line per request, without personal data."""

from __future__ import annotations

import hmac
import logging
import secrets
from collections.abc import Callable
from datetime import UTC, datetime
from time import perf_counter
from typing import Any, Literal

from msgspec import Struct

from dovetail.core.middleware import CallNext, Request
from dovetail.core.redaction import Redaction
from dovetail.core.telemetry import current_span_ids
from dovetail.errors import RpcError, UsageError
from dovetail.features.middleware import Middleware
from dovetail.features.tools import ToolResult
from dovetail.wire import codec

__all__ = ["StructuredLog"]

logger = logging.getLogger("dovetail.requests")

_STYLES = ("names", "redacted", "none")


class _Line(Struct, omit_defaults=True):
    time: str
    method: str
    # interim: a question to the client, or a new task.
    outcome: Literal["ok", "tool_error", "error", "interim"]
    ms: float
    revision: str
    name: str | None = None
    principal: str | None = None
    arguments: Any = None
    error: str | None = None
    code: int | None = None
    # The current OpenTelemetry span.
    trace_id: str | None = None
    span_id: str | None = None


class StructuredLog(Middleware):
    """Middleware that passes a JSON line per request to `write`.

    Lines have no values of arguments, no texts of errors and no results. `arguments`: log the
    names of the arguments, their values with secrets redacted, or nothing. Principals are logged as
    a keyed digest, unless `principals` is True; give all processes one `key` to compare digests.
    Without `write` the lines go to the logger "dovetail.requests".
    """

    def __init__(
        self,
        write: Callable[[str], None] = logger.info,
        *,
        arguments: Literal["names", "redacted", "none"] = "names",
        principals: bool = False,
        key: bytes | None = None,
        redaction: Redaction | None = None,
    ) -> None:
        if arguments not in _STYLES:
            raise UsageError(
                f"StructuredLog: arguments is one of {', '.join(_STYLES)}, got {arguments!r}"
            )
        self._write = write
        self._style = arguments
        self._shows_principals = principals
        self._key = key or secrets.token_bytes(32)
        self._redaction = redaction or Redaction()

    async def __call__(self, request: Request[Any], call_next: CallNext[Any]) -> Any:
        """Log a request after it has ended."""
        line = self._begin(request)
        started = perf_counter()
        try:
            result = await call_next(request)
            is_error = isinstance(result, ToolResult) and result.is_error
            line.outcome = "tool_error" if is_error else "ok"
            return result
        except Exception as error:
            line.outcome, line.error = "error", type(error).__name__
            line.code = error.code if isinstance(error, RpcError) else None
            raise
        finally:
            line.ms = round((perf_counter() - started) * 1000, 3)
            try:
                self._write(codec.encode(line).decode())
            except Exception:
                # The result is ready; a log that cannot be written must not change it.
                logging.getLogger("dovetail").exception("a request could not be logged")

    def _begin(self, request: Request[Any]) -> _Line:
        name = request.target
        trace_id, span_id = current_span_ids() or (None, None)
        return _Line(
            time=datetime.now(UTC).isoformat(timespec="milliseconds"),
            method=request.method,
            outcome="interim",
            ms=0.0,
            revision=request.revision,
            name=None if name is None else self._redaction.clean_name(name),
            principal=self._principal_of(request),
            arguments=self._arguments_of(request),
            trace_id=trace_id,
            span_id=span_id,
        )

    def _principal_of(self, request: Request[Any]) -> str | None:
        principal = request.principal
        if principal is None or self._shows_principals:
            return None if principal is None else principal.id
        return hmac.new(self._key, principal.id.encode(), "sha256").hexdigest()[:16]

    def _arguments_of(self, request: Request[Any]) -> Any:
        given = getattr(request, "arguments", None)
        if not given or self._style == "none":
            return None
        cleaned = self._redaction.clean(given)
        return sorted(cleaned) if self._style == "names" else cleaned
