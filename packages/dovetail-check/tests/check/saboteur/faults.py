"""Apply the faults of a switch to traffic, on any transport."""

from __future__ import annotations

import copy
import importlib
import json
import pkgutil
from functools import cache
from pathlib import Path
from typing import Any

from dovetail.wire.framing import SseEvent
from tests.check.saboteur.switch import HttpRequest, HttpResponse, Message, Switch, switches

__all__ = ["Faults", "load"]


@cache
def load() -> None:
    """Import every module of switches, which register themselves."""
    folder = Path(__file__).parent / "switches"
    for module in pkgutil.iter_modules([str(folder)]):
        importlib.import_module(f"tests.check.saboteur.switches.{module.name}")


class Faults:
    """The faults of one switch; with None the server stays healthy.

    `slow=SECONDS` delays every answer of the healthy server, `late-errors=SECONDS` every error.
    """

    def __init__(self, switch_id: str | None) -> None:
        mood, is_mood, seconds = (switch_id or "").partition("=")
        self._delay = float(seconds) if is_mood else 0.0
        self._delays_all = mood == "slow"
        self._switch = Switch("") if switch_id is None or is_mood else switches[switch_id]

    def delay(self, *, is_error: bool) -> float:
        """The seconds to wait before an answer is sent."""
        return self._delay if self._delays_all or is_error else 0.0

    def start(self) -> bytes:
        return b"".join(hook() for hook in self._switch.starts)

    def stop(self) -> bytes:
        return b"".join(hook() for hook in self._switch.stops)

    def instead_of(self, request: Message) -> list[bytes] | None:
        """Messages that replace the server's answer; None if the server answers itself."""
        for hook in self._switch.requests:
            instead = hook(copy.deepcopy(request))
            if instead is not None:
                return _encode(instead)
        return None

    def replies(self, reply: Any, request: Message) -> list[bytes]:
        """The messages to send for one message of the server."""
        for method, hook in self._switch.replies:
            if method is not None and request.get("method") != method:
                continue
            made = hook(reply, request)
            if made is not None:
                return _encode(made)
        return [_dump(reply)]

    def http(self, request: HttpRequest) -> HttpResponse | None:
        """A response that replaces the server's; None if the server answers itself."""
        for hook in self._switch.https:
            response = hook(request)
            if response is not None:
                return response
        return None

    def events(self, event: SseEvent, request: HttpRequest) -> list[SseEvent]:
        """The events to send for one event of a stream."""
        for hook in self._switch.events:
            made = hook(event, request)
            if made is not None:
                return made
        return [event]

    def response(self, response: HttpResponse, request: HttpRequest) -> None:
        """Change a response before it is sent."""
        for hook in self._switch.responses:
            hook(response, request)


def _encode(made: list[Message] | bytes) -> list[bytes]:
    return [made] if isinstance(made, bytes) else [_dump(message) for message in made]


def _dump(value: Any) -> bytes:
    return json.dumps(value, ensure_ascii=False, separators=(",", ":")).encode()
