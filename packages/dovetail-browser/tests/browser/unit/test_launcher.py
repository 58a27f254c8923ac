"""The filter between the browser and Playwright's driver."""

from __future__ import annotations

import json
from typing import Any

import pytest

from dovetail_browser import launcher
from dovetail_browser.launcher import MessageFilter


class Relay:
    """A filter with the messages that it has sent to both sides."""

    def __init__(self) -> None:
        self.forwarded: list[bytes] = []
        self.commands: list[bytes] = []
        self.filter = MessageFilter(self.forwarded.append, self.commands.append)

    def feed(self, *messages: dict[str, Any], piece: int = 1 << 16) -> list[dict[str, Any]]:
        """Feed messages in pieces; return what was forwarded."""
        data = b"".join(_encode(message) + b"\0" for message in messages)
        before = len(self.forwarded)
        for at in range(0, len(data), piece):
            self.filter.feed(data[at : at + piece])
        return [json.loads(message) for message in self.forwarded[before:]]


def _encode(message: dict[str, Any]) -> bytes:
    return json.dumps(message, separators=(",", ":")).encode()


def event(method: str, text: str, session: str | None = "AB12") -> dict[str, Any]:
    message: dict[str, Any] = {"method": method, "params": {"text": text, "list": [text]}}
    return message if session is None else message | {"sessionId": session}


@pytest.mark.parametrize("piece", [1, 7, 1 << 16])
def test_small_messages_pass_unchanged(piece: int) -> None:
    messages = [{"id": 1, "result": {}}, event("Page.loadEventFired", "é"), event("A.b", "x", None)]
    assert Relay().feed(*messages, piece=piece) == messages


def test_responses_pass_and_strings_of_events_are_shortened() -> None:
    relay = Relay()
    response = {"id": 5, "result": {"data": "x" * 100_000}, "sessionId": "AB12"}
    [same, short] = relay.feed(response, event("Page.javascriptDialogOpening", "x" * 100_000))
    assert same == response
    assert short == event("Page.javascriptDialogOpening", "x" * 10_000)


def test_a_response_that_is_too_long_becomes_an_error(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(launcher, "MOST_BYTES", 50_000)
    relay = Relay()
    response = {"id": 5, "result": {"data": "x" * 900_000}, "sessionId": "AB12"}
    [error, after] = relay.feed(response, {"id": 6, "result": {}})
    assert error["id"] == 5 and error["sessionId"] == "AB12" and "too large" in str(error["error"])
    assert after == {"id": 6, "result": {}} and not relay.commands


def test_an_event_that_is_too_long_ends_its_page(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(launcher, "MOST_BYTES", 50_000)
    relay = Relay()
    assert relay.feed(event("Page.javascriptDialogOpening", "x" * 900_000)) == []
    [command] = [json.loads(sent) for sent in relay.commands]
    assert command["method"] == "Page.crash" and command["sessionId"] == "AB12"
    # The driver does not know this command.
    assert relay.feed({"id": command["id"], "result": {}, "sessionId": "AB12"}) == []


def test_console_messages_are_limited_in_size_and_number(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(launcher, "MOST_BYTES", 1_000_000)
    monkeypatch.setattr("time.monotonic", lambda: 7.0)
    relay = Relay()
    console = "Runtime.consoleAPICalled"
    assert relay.feed(event(console, "x" * 3_000_000)) == [] and not relay.commands
    many = {"method": console, "params": {"args": ["x" * 9_000] * 90}, "sessionId": "AB12"}
    assert relay.feed(many) == []
    assert len(relay.feed(*[event(console, "x")] * 3_000)) < 1_000
    # Other pages and other events are not affected.
    assert len(relay.feed(event(console, "x", "CD34"), event("Page.loadEventFired", "x"))) == 2


def test_events_that_cannot_be_parsed_are_dropped() -> None:
    relay = Relay()
    relay.filter.feed(b'{"method":"A.b","params":' + b"[" * 100_000 + b"\0")
    assert relay.forwarded == []
