"""Exchanges: a sent frame together with the frames that reply to it."""

from __future__ import annotations

from collections.abc import Sequence
from functools import cached_property
from typing import Any

import msgspec

from dovetail.wire import codec
from dovetail_check.escaping import shorten
from dovetail_check.frames import Frame

__all__ = ["NO_JSON", "Exchange", "Incoming", "is_busy", "parse"]

# Marks bytes that are not JSON. None cannot: it is the JSON value null.
NO_JSON: Any = type("NoJson", (), {"__repr__": lambda _: "<no JSON>"})()


def parse(data: bytes) -> Any:
    """Return the JSON value of the bytes, or NO_JSON."""
    try:
        return codec.decode_json(data)
    except msgspec.ValidationError:
        return NO_JSON


# Members that make a message a response.
_RESPONSE_MEMBERS = frozenset({"result", "error"})


class Incoming:
    """One JSON value that the server sent; a batch gives one for each member."""

    def __init__(self, frame: Frame, value: Any, exchange: Exchange | None = None) -> None:
        self.frame = frame
        # NO_JSON if the bytes are not JSON.
        self.value = value
        # The members; empty if the value is not an object.
        self.message: dict[str, Any] = value if isinstance(value, dict) else {}
        # The exchange that it replies to, or whose stream carried it.
        self.exchange = exchange

    def __repr__(self) -> str:
        return f"<Incoming #{self.frame.n} {self.frame.data!r}>"

    @cached_property
    def is_response(self) -> bool:
        """Whether it is a response: a result or an error, and no method."""
        return "method" not in self.message and not _RESPONSE_MEMBERS.isdisjoint(self.message)

    @property
    def is_request(self) -> bool:
        """Whether it is a request from the server."""
        return "method" in self.message and "id" in self.message

    @property
    def is_notification(self) -> bool:
        """Whether it is a notification."""
        return "method" in self.message and "id" not in self.message

    @property
    def method(self) -> str | None:
        """The method of a request or notification."""
        method = self.message.get("method")
        return method if isinstance(method, str) else None

    @property
    def params(self) -> dict[str, Any]:
        """The params of a request or notification; empty if there are none."""
        params = self.message.get("params")
        return params if isinstance(params, dict) else {}


class Exchange:
    """One message or HTTP request, and everything that the server sent in reply."""

    def __init__(self, sent: Frame, replies: Sequence[Frame] = ()) -> None:
        self.sent = sent
        # Every frame that belongs to it, in order: head, body, events, silence, failure, end.
        self.replies = list(replies)
        # Parsed replies. More frames arrive while a probe runs, so parsing is incremental.
        self._incoming: list[Incoming] = []
        self._replies_read = 0
        self._answer: Incoming | None = None
        # The number of replies when the answer was determined.
        self._answered_after = -1

    def __repr__(self) -> str:
        return f"<Exchange #{self.sent.n} {self.sent.tag} {self.sent.data!r}>"

    # -- the request -------------------------------------------------------------------------

    @property
    def tag(self) -> str:
        """The tag of the probe that sent it."""
        return self.sent.tag

    @property
    def connection(self) -> str:
        """The name of the connection that carried it."""
        return self.sent.connection

    @cached_property
    def request(self) -> Any:
        """The request as JSON; NO_JSON if it was not JSON."""
        return parse(self.sent.data)

    @cached_property
    def method(self) -> str | None:
        """The JSON-RPC method that was sent."""
        return self.request.get("method") if isinstance(self.request, dict) else None

    @cached_property
    def params(self) -> dict[str, Any]:
        """The params that were sent; empty if there were none."""
        params = self.request.get("params") if isinstance(self.request, dict) else None
        return params if isinstance(params, dict) else {}

    @cached_property
    def id(self) -> Any:
        """The id that was sent; None if there was none."""
        return self.request.get("id") if isinstance(self.request, dict) else None

    @property
    def is_replay(self) -> bool:
        """Whether it resumed a stream, so that events may be repeats."""
        return self.sent.method == "GET" and self.sent.header("last-event-id") is not None

    # -- the reply ---------------------------------------------------------------------------

    @property
    def incoming(self) -> list[Incoming]:
        """Every JSON value of the reply, in order."""
        if self._replies_read < len(self.replies):
            for frame in self.replies[self._replies_read :]:
                self._incoming += self._parse_reply(frame)
            self._replies_read = len(self.replies)
        return self._incoming

    def _parse_reply(self, frame: Frame) -> list[Incoming]:
        if frame.kind not in ("received", "event") or not frame.data.strip():
            return []
        value = parse(frame.data)
        if value is NO_JSON and _is_no_message(frame):
            return []
        return [Incoming(frame, part, self) for part in _parts(value)]

    @property
    def answer(self) -> Incoming | None:
        """The response: the one with the id of the request, else the first one."""
        if self._answered_after != len(self.replies):
            self._answer = self._find_answer()
            self._answered_after = len(self.replies)
        return self._answer

    def _find_answer(self) -> Incoming | None:
        responses = [incoming for incoming in self.incoming if incoming.is_response]
        for incoming in responses:
            id = incoming.message.get("id")
            if id == self.id and type(id) is type(self.id):
                return incoming
        return responses[0] if responses else None

    @property
    def result(self) -> dict[str, Any] | None:
        """The result, if there is one and it is an object."""
        result = self.answer.message.get("result") if self.answer is not None else None
        return result if isinstance(result, dict) else None

    @property
    def error(self) -> dict[str, Any] | None:
        """The error, if there is one and it is an object."""
        error = self.answer.message.get("error") if self.answer is not None else None
        return error if isinstance(error, dict) else None

    @property
    def code(self) -> Any:
        """The error code; None if there is no error."""
        return None if self.error is None else self.error.get("code")

    @property
    def head(self) -> Frame | None:
        """The head of the HTTP response."""
        return next((frame for frame in self.replies if frame.status is not None), None)

    @property
    def status(self) -> int | None:
        """The HTTP status."""
        return None if self.head is None else self.head.status

    def header(self, name: str) -> str | None:
        """A header of the HTTP response."""
        return None if self.head is None else self.head.header(name)

    @property
    def is_stream(self) -> bool:
        """Whether the HTTP response is an SSE stream."""
        kind = (self.header("content-type") or "").partition(";")[0].strip().lower()
        return kind == "text/event-stream"

    @property
    def is_silent(self) -> bool:
        """Whether the timeout passed without a reply."""
        return any(frame.kind == "silence" for frame in self.replies) and not self.incoming

    @property
    def failure(self) -> str | None:
        """How the connection or the process failed before a response arrived."""
        return next((frame.text for frame in self.replies if frame.kind == "failed"), None)

    @property
    def seconds(self) -> float | None:
        """How long the answer took; None without one."""
        return None if self.answer is None else self.answer.frame.at - self.sent.at

    def describe(self) -> str:
        """Summarize the reply for the text of a note."""
        status = "" if self.status is None else f"status {self.status}, "
        if self.error is not None:
            return f"{status}error {self.code}: {shorten(str(self.error.get('message')), 120)!r}"
        if self.answer is not None:
            return f"{status}a result"
        if self.failure is not None:
            return f"{status}{self.failure}"
        return f"{status}no answer" if self.is_silent or not self.replies else f"{status}no message"


def is_busy(exchange: Exchange) -> bool:
    """Whether the server limited the rate, so that the response shows nothing else."""
    return (
        exchange.status == 429
        or (exchange.status == 503 and exchange.header("retry-after") is not None)
        # Servers also send the status as the code of an error, which is the only way over stdio.
        or exchange.code == 429
    )


def _is_no_message(frame: Frame) -> bool:
    """Whether it is no message: plain text, the endpoint event of HTTP+SSE, or no SSE field."""
    if frame.event in ("endpoint", "dovetail-check-junk"):
        return True
    return frame.status is not None and "json" not in (frame.header("content-type") or "")


def _parts(value: Any) -> Sequence[Any]:
    """The members of a batch; any other value alone."""
    return value if isinstance(value, list) and value else [value]
