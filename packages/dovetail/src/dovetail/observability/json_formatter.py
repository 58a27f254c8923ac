"""`JsonFormatter`: log records as JSON lines, with the ids of the current trace."""

from __future__ import annotations

import logging
from datetime import UTC, datetime

import msgspec
from msgspec import Struct

from dovetail.core.redaction import Redaction
from dovetail.core.telemetry import current_span_ids

__all__ = ["JsonFormatter"]


class _Line(Struct, omit_defaults=True):
    time: str
    level: str
    logger: str
    message: str
    trace_id: str | None = None
    span_id: str | None = None
    exception: str | None = None
    stack: str | None = None


class JsonFormatter(logging.Formatter):
    """Formatter for a handler of `logging`; secrets are redacted as in the audit log."""

    def __init__(self, *, redaction: Redaction | None = None) -> None:
        super().__init__()
        self._redaction = redaction or Redaction()
        self._encode = msgspec.json.Encoder().encode

    def format(self, record: logging.LogRecord) -> str:
        """Return the record as one line of JSON."""
        moment = datetime.fromtimestamp(record.created, UTC)
        line = _Line(
            time=moment.strftime("%Y-%m-%dT%H:%M:%S.%fZ"),
            level=record.levelname,
            logger=record.name,
            message=self._clean(record.getMessage()),
        )
        ids = current_span_ids()
        if ids is not None:
            line.trace_id, line.span_id = ids
        if record.exc_info:
            line.exception = self._clean(self.formatException(record.exc_info))
        if record.stack_info:
            line.stack = self._clean(self.formatStack(record.stack_info))
        return self._encode(line).decode()

    def _clean(self, text: str) -> str:
        # Lone surrogates (file names may contain them) cannot be encoded.
        return str(self._redaction.clean(text)).encode(errors="replace").decode()
