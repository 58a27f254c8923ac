"""Host and Origin: what a page on the web can make a browser send does not come in."""

from __future__ import annotations

import pytest

from dovetail.net.addresses import is_loopback
from dovetail.transports.streamable_http.security import RequestGuard

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


@pytest.mark.parametrize(
    "host",
    [
        "",
        "evil.example",
        "localhost.evil.example",
        "127.0.0.1.nip.io",
        "[::1].evil.example",
        "[::1]evil:80",
        "localhost:80:80",
        "localhost:evil",
        "me@localhost",
        "*",
    ],
)
def test_a_loopback_address_takes_no_other_name(host: str) -> None:
    assert refused(RequestGuard(), host)


@pytest.mark.parametrize("address", ["127.0.0.2", "127.255.0.1", "::ffff:127.0.0.1", "::1%lo"])
def test_every_loopback_address_is_one(address: str) -> None:
    server = (address, 80)
    assert refused(RequestGuard(), "evil.example", server=server)
    assert not refused(RequestGuard(), "localhost", server=server)
    assert not refused(RequestGuard(), "127.0.0.1:80", server=server)


def test_a_server_is_reached_by_its_own_loopback_address() -> None:
    assert not refused(RequestGuard(), "127.0.0.2:80", server=("127.0.0.2", 80))
    assert refused(RequestGuard(), "127.0.0.3:80", server=("127.0.0.2", 80))


@pytest.mark.parametrize("origin", ["null", "file://", "x"])
def test_an_origin_without_a_host_belongs_to_no_request_without_one(origin: str) -> None:
    assert refused(RequestGuard(), "", origin, PUBLIC)


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


@pytest.mark.parametrize(
    ("host", "expected"),
    [
        ("127.0.0.1", True),
        ("localhost", True),
        ("::ffff:127.0.0.1", True),
        ("127.9.9.9", True),
        ("::1", True),
        ("[::1]", True),
        ("0.0.0.0", False),
        ("::", False),
        ("shop.example", False),
    ],
)
def test_loopback_addresses_are_known(host: str, expected: bool) -> None:
    assert is_loopback(host) is expected
