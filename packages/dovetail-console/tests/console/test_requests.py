from __future__ import annotations

import asyncio
from typing import Any

import pytest

from dovetail import Server
from dovetail.auth import BearerTokens, Guard
from dovetail.transports import HttpRequest
from dovetail_console.requests import (
    ApiRequest,
    ConsoleServer,
    ConsoleSite,
    RefusedError,
    check_address,
    check_caller,
    check_token,
    internal_url,
    prefers_html,
    public_url,
)

KEY = "x" * 12


def make_request(
    headers: dict[str, str] | None = None, method: str = "GET", **scope: Any
) -> HttpRequest:
    raw = [(name.lower().encode(), text.encode()) for name, text in (headers or {}).items()]
    given = {
        "type": "http",
        "method": method,
        "path": "/console/",
        "headers": raw,
        "server": ("127.0.0.1", 8000),
        "http_version": "1.1",
        **scope,
    }

    async def never(*_: Any) -> Any:
        raise AssertionError

    return HttpRequest(given, dict(raw), never, never)


def make_site(guard: Any = None, token: str = "", **options: Any) -> ConsoleSite:
    app = Server("shop").http_app(guard=guard, **options)
    return ConsoleSite(servers=[ConsoleServer(name="shop", app=app)], token=token)


@pytest.mark.parametrize(
    ("accept", "method", "expected"),
    [
        ("text/html,*/*;q=0.8", "GET", True),
        ("text/html", "HEAD", True),
        ("text/html", "POST", False),
        ("*/*", "GET", False),
        ("", "GET", False),
        ("text/event-stream", "GET", False),
        ("text/html, text/event-stream", "GET", False),
    ],
)
def test_only_a_browser_asks_for_html(accept: str, method: str, expected: bool) -> None:
    assert prefers_html(make_request({"Accept": accept}, method)) is expected


def test_a_url_has_the_host_of_the_browser_and_the_mount_point() -> None:
    request = make_request({"Host": "localhost:9"}, root_path="/a b", scheme="https")
    assert public_url(request, "/mcp") == "https://localhost:9/a%20b/mcp"


def check(site: ConsoleSite, request: HttpRequest) -> None:
    check_address(request, site)


@pytest.mark.parametrize("address", ["127.0.0.1", "::1", "::ffff:127.0.0.1", "localhost"])
def test_a_loopback_address_needs_no_guard(address: str) -> None:
    check(make_site(), make_request({"Host": "localhost"}, server=(address, 80)))


def test_a_unix_socket_needs_no_guard() -> None:
    check(make_site(), make_request({"Host": "localhost"}, server=("/run/shop", None)))


@pytest.mark.parametrize("server", [("10.0.0.5", 80), ("testserver", 80), None])
def test_another_address_needs_a_guard_that_authenticates(server: Any) -> None:
    request = make_request({"Host": "10.0.0.5"}, server=server)
    with pytest.raises(RefusedError, match="loopback address only") as caught:
        check(make_site(), request)
    assert caught.value.status == 403
    check(make_site(Guard(BearerTokens({KEY: "me"}))), request)
    with pytest.raises(RefusedError, match="guard"):
        check(make_site(Guard()), request)


def test_a_repeated_host_is_refused() -> None:
    request = make_request({"Host": "localhost"})
    request.scope["headers"].append((b"host", b"b"))
    with pytest.raises(RefusedError, match="repeated"):
        check(make_site(), request)


def test_allowed_hosts_and_origins_are_those_of_the_server() -> None:
    site = make_site(allowed_hosts=["shop.example"], allowed_origins=["https://other.example"])
    check(site, make_request({"Host": "shop.example", "Origin": "https://other.example"}))
    for headers in (
        {"Host": "localhost"},
        {"Host": "shop.example", "Origin": "https://evil.example"},
    ):
        with pytest.raises(RefusedError, match="not allowed"):
            check(site, make_request(headers))


def test_the_token_is_compared_as_a_whole() -> None:
    site = make_site(token="secret")
    check_token(make_request({"X-Console-Token": "secret"}), site)
    for given in ("", "secre", "secrets"):
        with pytest.raises(RefusedError, match="reload the page"):
            check_token(make_request({"X-Console-Token": given}), site)


@pytest.mark.parametrize("place", ["cross-site", "same-site"])
def test_a_request_from_another_site_is_refused_even_with_the_token(place: str) -> None:
    request = make_request({"X-Console-Token": "secret", "Sec-Fetch-Site": place})
    with pytest.raises(RefusedError, match="own page"):
        check_token(request, make_site(token="secret"))


def test_the_guard_decides_about_the_caller() -> None:
    site = make_site(Guard(BearerTokens({KEY: "me"})))
    asyncio.run(check_caller(make_request({"Authorization": f"Bearer {KEY}"}), site))
    with pytest.raises(RefusedError) as caught:
        asyncio.run(check_caller(make_request(), site))
    assert caught.value.status == 401
    assert dict(caught.value.headers)[b"www-authenticate"].startswith(b"Bearer")


def test_an_unknown_server_is_refused_with_the_known_ones() -> None:
    given = ApiRequest(make_request(), {"server": "else"}, make_site())
    with pytest.raises(RefusedError, match="expected one of 'shop'"):
        _ = given.server


def find_url(scope: dict[str, Any], **options: Any) -> str:
    [server] = make_site(**options).servers
    return internal_url(make_request({"Host": "evil.example"}, **scope), server)


def test_the_address_of_the_connection_counts_and_not_the_name_that_the_caller_sent() -> None:
    assert find_url({"server": ("127.0.0.1", 80)}) == "http://127.0.0.1:80/mcp"
    assert find_url({"server": ("::1", 8000), "root_path": "/a"}) == "http://[::1]:8000/a/mcp"
    assert find_url({"server": ("10.0.0.1", 1)}, allowed_hosts=["*"]) == "http://10.0.0.1:1/mcp"


def test_a_name_that_the_operator_lists_is_used() -> None:
    scope = {"server": ("10.0.0.1", 1), "scheme": "https"}
    assert find_url(scope, allowed_hosts=["evil.example"]) == "https://evil.example/mcp"


@pytest.mark.parametrize("server", [None, ("/run/shop", None)])
def test_a_unix_socket_has_no_url(server: Any) -> None:
    with pytest.raises(RefusedError, match="no address"):
        find_url({"server": server})


def test_every_console_has_its_own_token_which_no_log_shows() -> None:
    one, other = ConsoleSite(servers=[]), ConsoleSite(servers=[])
    assert one.token != other.token
    assert one.token not in repr(one)
