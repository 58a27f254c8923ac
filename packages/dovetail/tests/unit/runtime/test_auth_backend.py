"""What a transport asks a guard: the guard has all of it."""

from __future__ import annotations

from dovetail import Server
from dovetail.auth import Guard
from dovetail.core.principal import Principal
from dovetail.runtime.auth_backend import AuthBackend, AuthRejection
from dovetail.runtime.engine import PublicDocument
from tests.unit.fakes import make_request


def test_a_guard_is_a_door() -> None:
    auth: AuthBackend = Guard(local=Principal("anna"))
    engine = Server("s").engine
    assert auth.protect(engine, "http").permission is not None
    assert auth.identify(make_request({})) is None
    assert auth.local({}) == Principal("anna")
    assert auth.page("/elsewhere", "/mcp") is None
    assert set(auth.credential_headers) == set()


def test_what_is_said_has_sensible_defaults() -> None:
    assert AuthRejection(401, "no").headers == ()
    assert PublicDocument(200, b"{}").content_type == b"application/json"
