"""Log messages to the client (server/utilities/logging).

The client says which severities it wants: once per session with logging/setLevel, or
per request in `_meta`. What it does not want is not encoded.
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
    """The rank of a level a client asked for."""
    rank = LOG_LEVELS.get(level) if isinstance(level, str) else None
    if rank is None:
        # logging.invalid-level-32602, logging2.invalid-level-32602
        raise InvalidParamsError(
            f"Invalid params: {level!r:.60} is no log level; levels are {', '.join(LOG_LEVELS)}"
        )
    return rank


def _encode(level: str, logger: str | None, payload: Any) -> bytes:
    try:
        return codec.encode(LogParams(level=level, logger=logger, data=payload))
    except (TypeError, ValueError, RecursionError):
        # A log line must not bring its handler down; what is no JSON, or text with half of a
        # surrogate pair (file names have them), is shown as far as it can be.
        text = str(payload).encode(errors="backslashreplace").decode()
        return codec.encode(LogParams(level=level, logger=logger, data=text))


class LogSender:
    """`ctx.log`: one method per severity. Works in `def` and `async def` handlers alike."""

    __slots__ = ("_call",)

    def __init__(self, call: Call) -> None:
        self._call = call

    def log(self, level: LogLevel, message: Any, *, logger: str | None = None, **data: Any) -> Sent:
        """Send a message of any severity; keyword arguments become structured data."""
        call = self._call
        wanted = call.peer.log_rank
        if wanted is not None and LOG_LEVELS[level] >= wanted:
            payload = {"message": message, **data} if data else message
            call.notify("notifications/message", _encode(level, logger, payload))
        return Sent(call.outbox)

    def debug(self, message: Any, *, logger: str | None = None, **data: Any) -> Sent:
        """Details for debugging."""
        return self.log("debug", message, logger=logger, **data)

    def info(self, message: Any, *, logger: str | None = None, **data: Any) -> Sent:
        """What normally happens."""
        return self.log("info", message, logger=logger, **data)

    def notice(self, message: Any, *, logger: str | None = None, **data: Any) -> Sent:
        """Normal but worth noting."""
        return self.log("notice", message, logger=logger, **data)

    def warning(self, message: Any, *, logger: str | None = None, **data: Any) -> Sent:
        """Something may go wrong."""
        return self.log("warning", message, logger=logger, **data)

    def error(self, message: Any, *, logger: str | None = None, **data: Any) -> Sent:
        """Something went wrong."""
        return self.log("error", message, logger=logger, **data)

    def critical(self, message: Any, *, logger: str | None = None, **data: Any) -> Sent:
        """A part has failed."""
        return self.log("critical", message, logger=logger, **data)

    def alert(self, message: Any, *, logger: str | None = None, **data: Any) -> Sent:
        """Somebody must act now."""
        return self.log("alert", message, logger=logger, **data)

    def emergency(self, message: Any, *, logger: str | None = None, **data: Any) -> Sent:
        """Nothing works."""
        return self.log("emergency", message, logger=logger, **data)
