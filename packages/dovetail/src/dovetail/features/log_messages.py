"""Log messages to the client (server/utilities/logging).

The client selects the severities, once per session with logging/setLevel or per request in
`_meta`. Messages below that severity are not encoded.
"""

from __future__ import annotations

from typing import Any

from dovetail.core.call import Call, Sent
from dovetail.errors import InvalidParamsError
from dovetail.spec.keys import LOG_LEVELS, LogLevel
from dovetail.spec.models import LogParams
from dovetail.wire import codec

__all__ = ["LogSender", "rank_of"]


def rank_of(level: Any) -> int:
    """Return the rank of a level that a client sent; raises InvalidParamsError."""
    rank = LOG_LEVELS.get(level) if isinstance(level, str) else None
    if rank is None:
        # logging.invalid-level-32602, logging2.invalid-level-32602
        raise InvalidParamsError(
            f"Invalid params: {level!r:.60} is not a log level; levels are {', '.join(LOG_LEVELS)}"
        )
    return rank


def _encode(level: str, logger: str | None, payload: Any) -> bytes:
    try:
        return codec.encode(LogParams(level=level, logger=logger, data=payload))
    except (TypeError, ValueError, RecursionError):
        # A log message must not fail its handler. Values that are not JSON, and text with lone
        # surrogates (file names may have them), are sent as text.
        text = str(payload).encode(errors="backslashreplace").decode()
        return codec.encode(LogParams(level=level, logger=logger, data=text))


class LogSender:
    """`ctx.log`: one method per severity, for `def` and `async def` handlers."""

    __slots__ = ("_call",)

    def __init__(self, call: Call) -> None:
        self._call = call

    def log(self, level: LogLevel, message: Any, *, logger: str | None = None, **data: Any) -> Sent:
        """Send a message of any severity; keyword arguments become structured data."""
        call = self._call
        if call.on_activity is not None:
            call.on_activity()
        wanted = call.peer.log_rank
        if wanted is not None and LOG_LEVELS[level] >= wanted:
            payload = {"message": message, **data} if data else message
            call.notify("notifications/message", _encode(level, logger, payload))
        return Sent(call)

    def debug(self, message: Any, *, logger: str | None = None, **data: Any) -> Sent:
        """Send a message of level debug."""
        return self.log("debug", message, logger=logger, **data)

    def info(self, message: Any, *, logger: str | None = None, **data: Any) -> Sent:
        """Send a message of level info."""
        return self.log("info", message, logger=logger, **data)

    def notice(self, message: Any, *, logger: str | None = None, **data: Any) -> Sent:
        """Send a message of level notice: normal but significant."""
        return self.log("notice", message, logger=logger, **data)

    def warning(self, message: Any, *, logger: str | None = None, **data: Any) -> Sent:
        """Send a message of level warning."""
        return self.log("warning", message, logger=logger, **data)

    def error(self, message: Any, *, logger: str | None = None, **data: Any) -> Sent:
        """Send a message of level error."""
        return self.log("error", message, logger=logger, **data)

    def critical(self, message: Any, *, logger: str | None = None, **data: Any) -> Sent:
        """Send a message of level critical: a component failed."""
        return self.log("critical", message, logger=logger, **data)

    def alert(self, message: Any, *, logger: str | None = None, **data: Any) -> Sent:
        """Send a message of level alert: action must be taken at once."""
        return self.log("alert", message, logger=logger, **data)

    def emergency(self, message: Any, *, logger: str | None = None, **data: Any) -> Sent:
        """Send a message of level emergency: the system is unusable."""
        return self.log("emergency", message, logger=logger, **data)
