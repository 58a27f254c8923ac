"""Host and Origin: what a page on the web can make a browser send does not come in."""

from __future__ import annotations

import pytest

from dovetail.transports.security import RequestGuard

LOCAL = ("127.0.0.1", 8000)
PUBLIC = ("203.0.113.5", 443)


def refused(guard: RequestGuard, host: str, origin: str = "", server: object = LOCAL) -> bool:
    verdicts = {
        guard.refusal(host.encode("latin-1"), origin.encode("latin-1"), server) is not None  # type: ignore[arg-type]
        for _ in range(2)
    }
    [verdict] = verdicts
    return verdict


@pytest.mark.parametrize("server", [LOCAL, ("::1", 80), ("localhost", 80)])
@pytest.mark.parametrize(
    "host", ["localhost", "localhost:8000", "127.0.0.1:1", "[::1]", "[::1]:80", "LOCALHOST"]
)
def test_a_loopback_address_takes_loopback_names(host: str, server: tuple[str, int]) -> None:
    assert not refused(RequestGuard(), host, server=server)


@pytest.mark.parametrize("host", ["", "evil.example", "localhost.evil.example", "127.0.0.1.nip.io"])
def test_a_loopback_address_takes_no_other_name(host: str) -> None:
    assert refused(RequestGuard(), host)


@pytest.mark.parametrize("server", [PUBLIC, None, ("/run/app.sock", None)])
def test_another_address_takes_any_name(server: object) -> None:
    assert not refused(RequestGuard(), "mcp.example", server=server)


def test_hosts_that_are_named_are_the_only_ones() -> None:
    guard = RequestGuard(["mcp.example", "Other.example:8443"])
    for host in ("mcp.example", "MCP.example:444", "other.example:8443"):
        assert not refused(guard, host, server=PUBLIC)
    for host in ("other.example", "localhost", "[::1]"):
        assert refused(guard, host, server=PUBLIC)
    assert not refused(RequestGuard(["*"]), "anything")


@pytest.mark.parametrize(
    ("host", "origin"),
    [
        ("localhost:8000", "http://localhost:8000"),
        ("localhost:8000", "http://127.0.0.1:6274"),
        ("[::1]:8000", "http://localhost"),
        ("127.0.0.1:8000", "HTTP://LOCALHOST:3"),
    ],
)
def test_pages_of_the_same_machine_may_call(host: str, origin: str) -> None:
    assert not refused(RequestGuard(), host, origin)


@pytest.mark.parametrize(
    "origin",
    [
        "http://evil.example",
        "null",
        "http://localhost.evil.example",
        "http://[",
        "x",
        "http://\xff",
    ],
)
def test_other_pages_may_not(origin: str) -> None:
    assert refused(RequestGuard(), "localhost:8000", origin)


def test_a_page_of_the_same_host_may_call_a_public_server() -> None:
    guard = RequestGuard()
    assert not refused(guard, "mcp.example", "https://mcp.example", PUBLIC)
    assert refused(guard, "mcp.example", "https://other.example", PUBLIC)
    # A public name is not made trustworthy by a page on somebody's own machine.
    assert refused(guard, "mcp.example", "http://localhost", PUBLIC)


def test_origins_that_are_named_may_call_and_read() -> None:
    guard = RequestGuard(allowed_origins=["https://App.example/"])
    assert not refused(guard, "localhost", "https://app.example")
    assert guard.allows_cors(b"https://app.example")
    assert refused(guard, "localhost", "https://other.example")
    assert not guard.allows_cors(b"http://localhost")


def test_any_origin_may_be_allowed() -> None:
    guard = RequestGuard(allowed_origins=["*"])
    assert not refused(guard, "localhost", "https://app.example")
    assert guard.allows_cors(b"https://app.example")
