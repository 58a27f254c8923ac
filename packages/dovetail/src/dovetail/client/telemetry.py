"""`Telemetry`: OpenTelemetry spans and durations of requests, by the conventions for MCP.

As in the spans of a server, arguments, results, session ids and error messages are left out.
"""

from __future__ import annotations

import asyncio
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from time import perf_counter
from typing import Any

import msgspec
from msgspec import Raw, Struct

from dovetail.client.channel import Channel
from dovetail.core.redaction import Redaction
from dovetail.core.telemetry import (
    ERROR_TYPE,
    METHOD,
    NETWORK,
    PROTOCOL_VERSION,
    REQUEST_ID,
    RESOURCE_URI,
    SERVER_ADDRESS,
    SERVER_PORT,
    STATUS_CODE,
    TOOL_ERROR,
    describe_target,
    make_histograms,
    name_span,
)
from dovetail.errors import MissingPackageError, RpcError
from dovetail.wire import codec

__all__ = ["ObservedRequest", "Telemetry"]


class _ToolResult(Struct, rename="camel"):
    is_error: bool = False


class ObservedRequest:
    """One request while it is observed."""

    def __init__(self, method: str, attributes: dict[str, Any]) -> None:
        self.method = method
        # What is known about it; grows until it ends.
        self.attributes = attributes

    def answered(self, result: Raw) -> None:
        """Look at the result, which may be that of a failed tool."""
        if self.method == "tools/call" and _is_error(result):
            self.attributes[ERROR_TYPE] = TOOL_ERROR

    def failed(self, error: BaseException) -> None:
        """Note why there is no result."""
        if isinstance(error, RpcError):
            self.attributes[STATUS_CODE] = self.attributes[ERROR_TYPE] = str(error.code)
        elif isinstance(error, TimeoutError):
            self.attributes[ERROR_TYPE] = "timeout"
        elif isinstance(error, asyncio.CancelledError):
            self.attributes[ERROR_TYPE] = "cancelled"
        else:
            self.attributes[ERROR_TYPE] = f"{type(error).__module__}.{type(error).__qualname__}"


class Telemetry:
    """Pass it to `Client(telemetry=...)`; uses the configured OpenTelemetry providers.

    Secrets in the URIs of resources are redacted.
    """

    def __init__(
        self,
        tracer_provider: Any = None,
        meter_provider: Any = None,
        *,
        redaction: Redaction | None = None,
    ) -> None:
        with MissingPackageError.when_importing(
            "opentelemetry", "Telemetry", "dovetail-mcp[traces]"
        ):
            from opentelemetry import metrics, trace  # noqa: PLC0415 - optional
        self._clean = (redaction or Redaction()).clean_name
        self._trace = trace
        self._tracer = trace.get_tracer("dovetail", tracer_provider=tracer_provider)
        self._durations, self._sessions = make_histograms(metrics, "client", meter_provider)

    @contextmanager
    def observe(
        self,
        method: str,
        params: Mapping[str, Any] | None,
        id: int,
        revision: str,
        channel: Channel,
    ) -> Iterator[ObservedRequest]:
        """Context of a request: its span is the current one."""
        observed = ObservedRequest(method, {METHOD: method, **_describe(revision, channel)})
        target = self._find_target(params)
        of_span = {REQUEST_ID: str(id), **describe_target(method, target)}
        started = perf_counter()
        with self._tracer.start_as_current_span(
            name_span(method, target),
            kind=self._trace.SpanKind.CLIENT,
            attributes={**observed.attributes, **of_span},
            record_exception=False,
            set_status_on_exception=False,
        ) as span:
            try:
                yield observed
            except BaseException as error:
                observed.failed(error)
                raise
            finally:
                span.set_attributes(observed.attributes)
                if ERROR_TYPE in observed.attributes:
                    span.set_status(self._trace.StatusCode.ERROR)
                described = {**observed.attributes, **describe_target(method, target)}
                # Too many different values for a metric.
                described.pop(RESOURCE_URI, None)
                self._durations.record(perf_counter() - started, described)

    def end_session(self, duration: float, revision: str, channel: Channel) -> None:
        """Record the duration of a session of a legacy revision."""
        self._sessions.record(duration, _describe(revision, channel))

    def _find_target(self, params: Mapping[str, Any] | None) -> str | None:
        given = (params or {}).get("name") or (params or {}).get("uri")
        return self._clean(given) if isinstance(given, str) else None


def _is_error(result: Raw) -> bool:
    try:
        return codec.decode_as(_ToolResult, result).is_error
    except msgspec.ValidationError:
        # The caller gets an error that says what is wrong with it.
        return False


def _describe(revision: str, channel: Channel) -> dict[str, Any]:
    """The attributes of the connection."""
    attributes: dict[str, Any] = {
        PROTOCOL_VERSION: revision,
        **NETWORK.get(channel.transport, {}),
    }
    if channel.address is not None:
        attributes[SERVER_ADDRESS], attributes[SERVER_PORT] = channel.address
    return attributes
