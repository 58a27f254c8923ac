"""What a transport asks a guard: the guard has all of it."""

from __future__ import annotations

from dovetail import Server
from dovetail.core.principal import Principal
from dovetail.guard import Guard
from dovetail.runtime.door import Door, Page, Refusal


def test_a_guard_is_a_door() -> None:
    door: Door = Guard(local=Principal("anna"))
    engine = Server("s").engine
    assert door.protect(engine, "http").permission is not None
    assert door.identify({}) is None
    assert door.local({}) == Principal("anna")
    assert door.page("/elsewhere", "/mcp") is None
    assert set(door.credential_headers) == set()


def test_what_is_said_has_sensible_defaults() -> None:
    assert Refusal(401, "no").headers == ()
    assert Page(200, b"{}").content_type == b"application/json"
