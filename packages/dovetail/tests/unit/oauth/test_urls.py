"""Which URLs an OAuth client may use."""

from __future__ import annotations

import asyncio
import socket
from typing import Any

import pytest

from dovetail.client.auth import AuthorizationError
from dovetail.errors import UsageError
from dovetail.net.addresses import AddressScope, parse_url
from dovetail.oauth.fetch import UrlPolicy, same_url, within
from tests.peers.scripted import run


@pytest.mark.parametrize(
    ("address", "scope"),
    [
        ("93.184.216.34", AddressScope.PUBLIC),
        ("2606:2800:220:1::1", AddressScope.PUBLIC),
        ("10.0.0.1", AddressScope.PRIVATE),
        ("192.168.1.1", AddressScope.PRIVATE),
        ("100.64.0.1", AddressScope.PRIVATE),
        ("fd00::1", AddressScope.PRIVATE),
        ("127.0.0.1", AddressScope.LOOPBACK),
        ("::1", AddressScope.LOOPBACK),
        ("169.254.169.254", AddressScope.SPECIAL),
        ("fe80::1%eth0", AddressScope.SPECIAL),
        ("224.0.0.1", AddressScope.SPECIAL),
        ("0.0.0.0", AddressScope.SPECIAL),
        # IPv4 inside IPv6
        ("::ffff:127.0.0.1", AddressScope.LOOPBACK),
        ("::ffff:10.0.0.1", AddressScope.PRIVATE),
        ("2002:0a00:0001::", AddressScope.PRIVATE),
    ],
)
def test_the_scope_of_an_address(address: str, scope: AddressScope) -> None:
    assert AddressScope.of(address) is scope


@pytest.mark.parametrize(
    ("server", "other", "is_allowed"),
    [
        ("93.184.216.34", "93.184.216.35", True),
        ("93.184.216.34", "10.0.0.1", False),
        ("93.184.216.34", "127.0.0.1", False),
        ("10.0.0.9", "10.0.0.1", True),
        ("10.0.0.9", "93.184.216.34", True),
        ("10.0.0.9", "127.0.0.1", False),
        ("127.0.0.1", "10.0.0.1", True),
        ("127.0.0.1", "127.0.0.1", True),
        ("127.0.0.1", "169.254.169.254", False),
    ],
)
def test_an_address_must_not_be_less_public_than_the_server(
    server: str, other: str, is_allowed: bool, monkeypatch: pytest.MonkeyPatch
) -> None:
    addresses = {"mcp.test": server, "as.test": other}

    async def resolve(self: Any, host: str, port: int, **_: Any) -> Any:
        return [(socket.AF_INET, socket.SOCK_STREAM, 0, "", (addresses[host], port))]

    async def find() -> str:
        policy = UrlPolicy(parse_url("https://mcp.test/mcp"))
        return await policy.find_address(policy.check("https://as.test/token", "It"))

    monkeypatch.setattr(asyncio.BaseEventLoop, "getaddrinfo", resolve)
    if is_allowed:
        assert run(find()) == other
    else:
        with pytest.raises(AuthorizationError, match=r"https://as.test is on a private network"):
            run(find())


def test_what_the_user_named_may_be_anywhere(monkeypatch: pytest.MonkeyPatch) -> None:
    async def resolve(self: Any, host: str, port: int, **_: Any) -> Any:
        return [(socket.AF_INET, socket.SOCK_STREAM, 0, "", ("10.0.0.1", port))]

    async def find() -> str:
        policy = UrlPolicy(parse_url("https://mcp.test/mcp"))
        policy.trust("https://idp.test/token", "It")
        return await policy.find_address(parse_url("https://idp.test/other"))

    monkeypatch.setattr(asyncio.BaseEventLoop, "getaddrinfo", resolve)
    assert run(find()) == "10.0.0.1"


def test_a_host_that_does_not_exist_is_named() -> None:
    async def find() -> str:
        policy = UrlPolicy(parse_url("https://mcp.test/mcp"))
        return await policy.find_address(parse_url("https://no-such-host.invalid/"))

    with pytest.raises(AuthorizationError, match=r"no-such-host.invalid cannot be found"):
        run(find())


def test_a_server_without_encryption_gets_no_token() -> None:
    with pytest.raises(UsageError, match="OAuth needs an https URL"):
        UrlPolicy(parse_url("http://mcp.test/mcp"))
    UrlPolicy(parse_url("http://[::1]:8000/mcp"))
    UrlPolicy(parse_url("http://localhost:8000/mcp"))


@pytest.mark.parametrize("url", [None, 7, "", "ftp://x/", "https://", "https://x/#y", "http://x/"])
def test_unusable_urls_are_refused(url: object) -> None:
    policy = UrlPolicy(parse_url("https://mcp.test/mcp"))
    with pytest.raises(AuthorizationError, match=r"^The page "):
        policy.check(url, "The page")


@pytest.mark.parametrize(
    ("one", "other", "is_same"),
    [
        ("https://A.test", "https://a.test/", True),
        ("https://a.test:443/x", "https://a.test/x", True),
        ("https://a.test/x", "https://a.test/x/", False),
        ("http://a.test", "https://a.test", False),
        ("https://a.test/?a", "https://a.test/?b", False),
        ("https://a.test:x", "https://a.test", False),
    ],
)
def test_urls_are_compared_with_default_ports(one: str, other: str, is_same: bool) -> None:
    assert same_url(one, other) is is_same


@pytest.mark.parametrize(
    ("parent", "is_within"),
    [
        ("https://a.test/v1/mcp", True),
        ("https://a.test/v1", True),
        ("https://a.test", True),
        ("https://a.test/", True),
        ("https://a.test/v", False),
        ("https://a.test/v1/mcp/x", False),
        ("https://b.test/v1/mcp", False),
        ("https://a.test:8443/v1/mcp", False),
        ("https://a.test:x/", False),
    ],
)
def test_a_resource_covers_the_paths_below_it(parent: str, is_within: bool) -> None:
    assert within("https://a.test/v1/mcp", [parent]) is is_within
