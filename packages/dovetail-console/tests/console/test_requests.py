from __future__ import annotations

import asyncio
from typing import Any

import pytest

from dovetail.core.principal import Principal
from dovetail.runtime.auth_backend import AuthRejection
from dovetail.spec.models import Implementation
from dovetail.transports.asgi.messages import HttpRequest
from dovetail_console.console_site import ConsoleServer, ConsoleSite
from dovetail_console.requests import (
    ApiRequest,
    RefusedError,
    RequestChecks,
    prefers_html,
    public_url,
)


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


def make_site(auth: Any = None, **options: Any) -> ConsoleSite:
    info = Implementation(name="shop", version="1")
    return ConsoleSite(
        servers=[ConsoleServer(name="shop", info=info, path="/mcp", auth=auth)], **options
    )


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
    RequestChecks(site).check_address(request, is_hosted=False)


@pytest.mark.parametrize("address", ["127.0.0.1", "::1", "::ffff:127.0.0.1", "localhost"])
def test_a_loopback_address_needs_no_guard(address: str) -> None:
    check(make_site(), make_request({"Host": "localhost"}, server=(address, 80)))


def test_a_unix_socket_needs_no_guard() -> None:
    check(make_site(), make_request({"Host": "localhost"}, server=("/run/shop", None)))


class FakeGuard:
    credential_headers = (b"authorization",)
    requires_auth = True

    def identify(self, request: Any) -> Any:
        if b"authorization" in request.headers:
            return Principal("me")
        return AuthRejection(401, "Authorization is required", ((b"www-authenticate", b"Bearer"),))


@pytest.mark.parametrize("server", [("10.0.0.5", 80), ("testserver", 80), None])
def test_another_address_needs_a_guard_that_authenticates(server: Any) -> None:
    request = make_request({"Host": "10.0.0.5"}, server=server)
    with pytest.raises(RefusedError, match="loopback address only") as caught:
        check(make_site(), request)
    assert caught.value.status == 403
    check(make_site(FakeGuard()), request)
    anonymous = FakeGuard()
    anonymous.requires_auth = False
    with pytest.raises(RefusedError, match="guard"):
        check(make_site(anonymous), request)


def test_a_repeated_host_or_token_is_refused() -> None:
    request = make_request({"Host": "localhost", "X-Console-Token": "a"})
    request.scope["headers"].append((b"x-console-token", b"b"))
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
    checks = RequestChecks(site)
    checks.check_token(make_request({"X-Console-Token": "secret"}))
    for given in ("", "secre", "secrets"):
        with pytest.raises(RefusedError, match="reload the page"):
            checks.check_token(make_request({"X-Console-Token": given}))


@pytest.mark.parametrize("place", ["cross-site", "same-site"])
def test_a_request_from_another_site_is_refused_even_with_the_token(place: str) -> None:
    request = make_request({"X-Console-Token": "secret", "Sec-Fetch-Site": place})
    with pytest.raises(RefusedError, match="own page"):
        RequestChecks(make_site(token="secret")).check_token(request)


def test_the_guard_decides_about_the_caller() -> None:
    checks = RequestChecks(make_site(FakeGuard()))
    asyncio.run(checks.check_caller(make_request({"Authorization": "Bearer x"})))
    with pytest.raises(RefusedError) as caught:
        asyncio.run(checks.check_caller(make_request()))
    assert caught.value.status == 401
    assert caught.value.headers == ((b"www-authenticate", b"Bearer"),)


def test_an_unknown_server_is_refused_with_the_known_ones() -> None:
    given = ApiRequest(make_request(), {"server": "else"}, make_site())
    with pytest.raises(RefusedError, match="expected one of 'shop'"):
        _ = given.server
