"""Frames put together again: what was asked and what came of it."""

from __future__ import annotations

from collections.abc import Sequence
from functools import cached_property
from typing import Any

import msgspec

from dovetail.wire import codec
from dovetail_check.frames import Frame

__all__ = ["NO_JSON", "Exchange", "Heard", "parse"]

# Stands for bytes that are no JSON; None is JSON.
NO_JSON: Any = type("NoJson", (), {"__repr__": lambda _: "<no JSON>"})()


def parse(data: bytes) -> Any:
    """The JSON value of some bytes, or NO_JSON."""
    try:
        return codec.decode_json(data)
    except msgspec.ValidationError:
        return NO_JSON


# Members that make a message an answer.
_ENDS = frozenset({"result", "error"})


class Heard:
    """One JSON value that the server sent; a batch is as many as it has members."""

    def __init__(self, frame: Frame, value: Any, exchange: Exchange | None = None) -> None:
        self.frame = frame
        # NO_JSON where it is none.
        self.value = value
        # What it came in answer to, or on whose stream.
        self.exchange = exchange

    def __repr__(self) -> str:
        return f"<Heard #{self.frame.n} {self.frame.data!r}>"

    @property
    def message(self) -> dict[str, Any]:
        """The members; empty where the value is no object."""
        return self.value if isinstance(self.value, dict) else {}

    @property
    def is_response(self) -> bool:
        """Whether it can only be meant as an answer."""
        return "method" not in self.message and not _ENDS.isdisjoint(self.message)

    @property
    def is_request(self) -> bool:
        """Whether it asks something of the client."""
        return "method" in self.message and "id" in self.message

    @property
    def is_notification(self) -> bool:
        """Whether it tells without asking."""
        return "method" in self.message and "id" not in self.message

    @property
    def method(self) -> str | None:
        """The method of a request or notification."""
        method = self.message.get("method")
        return method if isinstance(method, str) else None

    @property
    def params(self) -> dict[str, Any]:
        """The params of a request or notification; empty where there are none."""
        params = self.message.get("params")
        return params if isinstance(params, dict) else {}


class Exchange:
    """One thing sent and everything that came back for it."""

    def __init__(self, sent: Frame, replies: Sequence[Frame] = ()) -> None:
        self.sent = sent
        # Heads, bodies, events, silence, failures, ends: whatever belongs to it, in order.
        self.replies = list(replies)
        # What was made of the replies so far; more of them come while a probe runs.
        self._heard: list[Heard] = []
        self._replies_read = 0

    def __repr__(self) -> str:
        return f"<Exchange #{self.sent.n} {self.sent.tag} {self.sent.data!r}>"

    # -- what was sent ------------------------------------------------------------------------

    @property
    def tag(self) -> str:
        """What the probe called it."""
        return self.sent.tag

    @property
    def line(self) -> str:
        """The connection it went over."""
        return self.sent.line

    @cached_property
    def request(self) -> Any:
        """What was sent as JSON; NO_JSON where it was none."""
        return parse(self.sent.data)

    @cached_property
    def method(self) -> str | None:
        """The JSON-RPC method that was sent."""
        return self.request.get("method") if isinstance(self.request, dict) else None

    @property
    def params(self) -> dict[str, Any]:
        """The params that were sent; empty where there were none."""
        params = self.request.get("params") if isinstance(self.request, dict) else None
        return params if isinstance(params, dict) else {}

    @property
    def id(self) -> Any:
        """The id that was sent; None where there was none."""
        return self.request.get("id") if isinstance(self.request, dict) else None

    @property
    def is_replay(self) -> bool:
        """Whether a stream was picked up, so that what comes may have come before."""
        return self.sent.method == "GET" and self.sent.header("last-event-id") is not None

    # -- what came ----------------------------------------------------------------------------

    @property
    def heard(self) -> list[Heard]:
        """Every JSON value that came for it, in order."""
        if self._replies_read < len(self.replies):
            for frame in self.replies[self._replies_read :]:
                self._heard += self._values_of(frame)
            self._replies_read = len(self.replies)
        return self._heard

    def _values_of(self, frame: Frame) -> list[Heard]:
        if frame.kind not in ("received", "event") or not frame.data.strip():
            return []
        value = parse(frame.data)
        if value is NO_JSON and _is_no_message(frame):
            return []
        return [Heard(frame, part, self) for part in _parts(value)]

    @property
    def answer(self) -> Heard | None:
        """The response: the one with our id, else the first one that came."""
        responses = [heard for heard in self.heard if heard.is_response]
        for heard in responses:
            id = heard.message.get("id")
            if id == self.id and type(id) is type(self.id):
                return heard
        return responses[0] if responses else None

    @property
    def result(self) -> dict[str, Any] | None:
        """The result, where there is one and it is an object."""
        result = self.answer.message.get("result") if self.answer is not None else None
        return result if isinstance(result, dict) else None

    @property
    def error(self) -> dict[str, Any] | None:
        """The error, where there is one and it is an object."""
        error = self.answer.message.get("error") if self.answer is not None else None
        return error if isinstance(error, dict) else None

    @property
    def code(self) -> Any:
        """The code of the error; None where there is no error."""
        return None if self.error is None else self.error.get("code")

    @property
    def head(self) -> Frame | None:
        """The head of the HTTP response."""
        return next((frame for frame in self.replies if frame.status is not None), None)

    @property
    def status(self) -> int | None:
        """The status of the HTTP response."""
        return None if self.head is None else self.head.status

    def header(self, name: str) -> str | None:
        """A header of the HTTP response."""
        return None if self.head is None else self.head.header(name)

    @property
    def is_stream(self) -> bool:
        """Whether the HTTP response is a stream of events."""
        kind = (self.header("content-type") or "").partition(";")[0].strip().lower()
        return kind == "text/event-stream"

    @property
    def is_silent(self) -> bool:
        """Whether nothing came although it was waited for."""
        return any(frame.kind == "silence" for frame in self.replies) and not self.heard

    @property
    def failure(self) -> str | None:
        """How the connection broke, or how the process ended, before there was an answer."""
        return next((frame.text for frame in self.replies if frame.kind == "failed"), None)

    def describe(self) -> str:
        """What came, in a few words, for the text of a note."""
        status = "" if self.status is None else f"status {self.status}, "
        if self.error is not None:
            return f"{status}error {self.code}: {str(self.error.get('message'))[:120]!r}"
        if self.answer is not None:
            return f"{status}a result"
        if self.failure is not None:
            return f"{status}{self.failure}"
        return f"{status}no answer" if self.is_silent or not self.replies else f"{status}no message"


def _is_no_message(frame: Frame) -> bool:
    """Whether it does not claim to be a message: a page of text, the URL of the old transport."""
    if frame.event == "endpoint":
        return True
    return frame.status is not None and "json" not in (frame.header("content-type") or "")


def _parts(value: Any) -> Sequence[Any]:
    """The members of a batch; anything else is one."""
    return value if isinstance(value, list) and value else [value]
