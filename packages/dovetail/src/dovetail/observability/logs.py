"""Logs as JSON lines: the audit log of calls and rejected requests, and records of `logging`.

Secrets are redacted in both. Log records have the ids of the current trace.
"""

from __future__ import annotations

import fcntl
import hashlib
import hmac
import logging
import os
import secrets
import sys
import time
from collections.abc import Awaitable, Callable
from datetime import UTC, datetime
from pathlib import Path
from time import monotonic
from typing import Any, Literal

import msgspec
from msgspec import Struct

from dovetail.core.middleware import CallNext, Request, transparent
from dovetail.core.principal import Principal
from dovetail.core.redaction import Redaction
from dovetail.core.telemetry import current_span_ids
from dovetail.errors import InternalError, UsageError
from dovetail.runtime.rates import Bucket, Rate

__all__ = ["AuditLog", "JsonFormatter", "LineFile"]

_CHECK_EVERY = 1.0


class LineFile:
    """Appends lines to a file of at most `max_bytes`, and keeps `keep` older files."""

    def __init__(self, path: str | os.PathLike[str], max_bytes: int, keep: int) -> None:
        self.path: Path = Path(path)
        self._max_bytes = max_bytes
        self._keep = keep
        self._number = -1
        self._size = 0
        self._checked = 0.0
        self._open()

    def write(self, line: bytes) -> None:
        """Append a line, which must end with a newline; raises OSError."""
        now = monotonic()
        if now - self._checked >= _CHECK_EVERY:
            self._checked = now
            self._reopen_if_rotated()
        if self._size and self._size + len(line) > self._max_bytes:
            self._rotate()
        written = os.write(self._number, line)
        self._size += written
        if written != len(line):
            # The disk is full: end the partial line, so that the next one starts correctly.
            os.write(self._number, b"\n")
            raise OSError(f"only {written} of {len(line)} bytes were written to {self.path}")

    def close(self) -> None:
        """Close the file."""
        if self._number >= 0:
            os.close(self._number)
            self._number = -1

    def _open(self) -> None:
        flags = os.O_APPEND | os.O_CREAT | os.O_RDWR | os.O_CLOEXEC
        self._number = os.open(self.path, flags, 0o600)
        self._size = os.fstat(self._number).st_size
        if self._size and os.pread(self._number, 1, self._size - 1) != b"\n":
            # The last writer did not finish its line.
            self._size += os.write(self._number, b"\n")

    def _reopen_if_rotated(self) -> None:
        """Reopen the file if another process rotated or moved it."""
        try:
            there = os.stat(self.path)
        except FileNotFoundError:
            there = None
        here = os.fstat(self._number)
        if there is None or (there.st_ino, there.st_dev) != (here.st_ino, here.st_dev):
            self.close()
            self._open()
        else:
            self._size = here.st_size

    def _rotate(self) -> None:
        lock = os.open(f"{self.path}.lock", os.O_CREAT | os.O_RDWR | os.O_CLOEXEC, 0o600)
        try:
            fcntl.flock(lock, fcntl.LOCK_EX)
            self._reopen_if_rotated()
            if self._size:
                self._shift()
                self.close()
                self._open()
        finally:
            os.close(lock)

    def _shift(self) -> None:
        if self._keep == 0:
            self.path.unlink()
            return
        for number in range(self._keep - 1, 0, -1):
            older = Path(f"{self.path}.{number}")
            if older.exists():
                older.replace(f"{self.path}.{number + 1}")
        self.path.replace(f"{self.path}.1")


logger: logging.Logger = logging.getLogger("dovetail")

ArgumentStyle = Literal["digest", "redacted", "names", "none"]
_STYLES = ("digest", "redacted", "names", "none")
# Lines per second about rejected requests, so that they cannot fill the disk.
_REJECTION_RATE = Rate(10, burst=50)


class _Line(Struct, omit_defaults=True):
    time: str
    principal: str | None
    transport: str
    revision: str
    method: str
    outcome: str
    ms: float
    bytes: int
    name: str | None = None
    arguments: Any = None
    code: int | None = None
    trace_id: str | None = None
    span_id: str | None = None


class _Rejection(Struct, omit_defaults=True):
    time: str
    transport: str
    outcome: str
    status: int
    reason: str
    # Rejected requests since the last line that were not logged.
    more: int = 0


class AuditLog:
    """Middleware that writes an audit log to a rotated file, or to stderr without a `path`.

    With a function as `path`, each line is passed to it. `arguments`: log a SHA-256 digest of the
    arguments, the arguments with secrets redacted, their names, or nothing. `principals`: log the
    ids of principals, or a keyed digest of them; give all processes one `key` to compare digests.
    `strict`: reject calls while the log cannot be written.
    """

    def __init__(
        self,
        path: str | os.PathLike[str] | Callable[[str], object] | None = None,
        *,
        arguments: ArgumentStyle = "digest",
        principals: Literal["id", "digest"] = "id",
        key: bytes | None = None,
        max_bytes: int = 100_000_000,
        keep: int = 5,
        redaction: Redaction | None = None,
        strict: bool = False,
    ) -> None:
        if arguments not in _STYLES:
            raise UsageError(f"arguments must be one of {', '.join(_STYLES)}, got {arguments!r}")
        if max_bytes < 1 or keep < 0:
            raise UsageError(
                f"max_bytes must be at least 1 and keep at least 0, got {max_bytes} and {keep}"
            )
        if principals not in ("id", "digest"):
            raise UsageError(f"principals must be 'id' or 'digest', got {principals!r}")
        self._arguments = arguments
        # None: the ids themselves.
        self._key = None if principals == "id" else key or secrets.token_bytes(32)
        self._redaction = redaction or Redaction()
        self._strict = strict
        self._file: LineFile | None = None
        self._pass_on = path if callable(path) else None
        try:
            if path is not None and not callable(path):
                self._file = LineFile(path, max_bytes, keep)
        except OSError as error:
            raise UsageError(f"{path}: cannot write the audit log: {error.strerror}") from None
        self._is_broken = False
        self._rejections = Bucket(_REJECTION_RATE)
        self._skipped = 0
        self._encode = msgspec.json.Encoder().encode

    @transparent
    def __call__(self, request: Request[Any], call_next: CallNext[Any]) -> Awaitable[Any]:
        """Log a request; in strict mode, reject it if the log cannot be written."""
        if self._is_broken and self._strict:
            # Check whether the log can be written again.
            self._write(
                _Rejection(_now(), request.transport, "resumed", 0, "the log was interrupted")
            )
            if self._is_broken:
                raise InternalError("The audit log cannot be written, and this server requires it")
        request.add_done_callback(self._log)
        return call_next(request)

    def _log(self, request: Request[Any]) -> None:
        name = request.target
        trace_id, span_id = request.span_ids or current_span_ids() or (None, None)
        self._write(
            _Line(
                time=_now(),
                principal=self._format_principal(request.principal),
                transport=request.transport,
                revision=request.revision,
                method=request.method
                if request.has_known_method
                else self._redaction.clean_name(request.method),
                outcome=str(request.outcome),
                ms=int(request.duration * 1_000_000) / 1000,
                bytes=request.size,
                name=None if name is None else self._clean_name(request, name),
                arguments=self._format_arguments(request),
                code=request.code,
                trace_id=trace_id,
                span_id=span_id,
            )
        )

    def record_rejection(self, transport: str, status: int, reason: str) -> None:
        """Log a rejected request."""
        if self._rejections.wait():
            self._skipped += 1
            return
        self._rejections.take()
        skipped, self._skipped = self._skipped, 0
        self._write(_Rejection(_now(), transport, "rejected", status, reason, skipped))

    def close(self) -> None:
        """Close the file."""
        if self._file is not None:
            self._file.close()

    def _format_principal(self, principal: Principal | None) -> str | None:
        if principal is None or self._key is None:
            return None if principal is None else principal.id
        return hmac.new(self._key, principal.id.encode(), "sha256").hexdigest()[:16]

    def _clean_name(self, request: Request[Any], name: str) -> str:
        if request.method == "tools/call" and request.outcome in ("ok", "tool_error"):
            return name
        # Tool names are the server's; URIs and unknown tool names come from the caller.
        return self._redaction.clean_name(name)

    def _format_arguments(self, request: Request[Any]) -> Any:
        if self._arguments == "none":
            return None
        raw = request.raw_arguments
        if not raw:
            return None
        if self._arguments == "digest":
            return f"sha256:{hashlib.sha256(raw).hexdigest()}"
        try:
            cleaned = self._redaction.clean(msgspec.json.decode(raw))
            is_names = self._arguments == "names" and isinstance(cleaned, dict)
            return sorted(cleaned) if is_names else cleaned
        except msgspec.DecodeError:
            return "[invalid JSON]"

    def _write(self, line: Struct) -> None:
        data = self._encode(line) + b"\n"
        try:
            if self._pass_on is not None:
                self._call(self._pass_on, data[:-1].decode())
            elif self._file is None:
                sys.stderr.buffer.write(data)
                sys.stderr.buffer.flush()
            else:
                self._file.write(data)
        except OSError as error:
            if not self._is_broken:
                logger.error("the audit log cannot be written: %s", error)
            self._is_broken = True
        else:
            self._is_broken = False

    def _call(self, function: Callable[[str], object], line: str) -> None:
        try:
            function(line)
        except Exception as error:
            # It may raise anything, and is as broken as a full disk.
            raise OSError(str(error)) from error


_second = (0, "")


def _now() -> str:
    """The time in RFC 3339 format; all but the fraction is formatted once a second."""
    global _second
    moment = time.time()
    whole = int(moment)
    if _second[0] != whole:
        _second = whole, datetime.fromtimestamp(whole, UTC).strftime("%Y-%m-%dT%H:%M:%S")
    return f"{_second[1]}.{int((moment - whole) * 1_000_000):06d}Z"


class _LogLine(Struct, omit_defaults=True):
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
        line = _LogLine(
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
