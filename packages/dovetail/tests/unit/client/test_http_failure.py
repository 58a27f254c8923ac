"""HTTP error responses: the resulting exceptions, without secrets."""

from __future__ import annotations

import pytest

from dovetail.client.http_channel import HttpFailure, find_secrets
from dovetail.errors import AccessDeniedError, PeerError, TransportError

JSON = "application/json"


def refusal(
    status: int, body: bytes = b"", kind: str = "text/plain", secret: str = "", **headers: str
) -> HttpFailure:
    named = {name.replace("_", "-"): value for name, value in headers.items()}
    secrets = find_secrets([("Authorization", secret)])
    named["content-type"] = kind
    return HttpFailure("http://host/mcp", status, f"{status} Why", named, body, secrets)


@pytest.mark.parametrize(
    ("status", "error"), [(401, AccessDeniedError), (403, AccessDeniedError), (404, PeerError)]
)
def test_denied_access_is_unreachable(status: int, error: type[Exception]) -> None:
    assert type(refusal(status).to_error("ping")) is error


def test_server_errors_and_client_errors_differ() -> None:
    assert type(refusal(502).to_error("ping")) is TransportError
    assert str(refusal(502).to_error("ping")) == "http://host/mcp answered ping with 502 Why"


def test_html_is_quoted_as_text() -> None:
    page = (
        b"<!DOCTYPE html><html><head><title>Bad\n gateway</title><style>h1 { color: red }</style>"
        b"<SCRIPT>alert(1)</SCRIPT></head><body><h1>nginx</h1></body></html>"
    )
    told = refusal(502, page, "text/html; charset=utf-8").to_error("ping")
    assert str(told).endswith("502 Why: Bad gateway nginx")


def test_a_long_body_is_truncated() -> None:
    text = str(refusal(400, b"x" * 1000).to_error("ping"))
    assert text.endswith("xxx...")
    assert len(text) < 400


def test_secrets_in_responses_are_masked() -> None:
    secret = "Bearer abc-123-secret"
    for given in (
        refusal(401, b"bad token abc-123-secret", secret=secret),
        refusal(401, secret=secret, www_authenticate='Bearer error="abc-123-secret"'),
        refusal(400, b"<p>Bearer abc-123-secret</p>", "text/html", secret),
        refusal(302, secret=secret, location="http://x/abc-123-secret"),
    ):
        text = str(given.to_error("ping"))
        assert "secret" not in text
        assert "***" in text


def test_short_words_are_not_masked() -> None:
    assert find_secrets([("A", "Bearer 1"), ("B", "12345678 123456789")]) == (
        "123456789",
        "12345678",
    )


def test_the_query_of_a_redirect_is_not_shown() -> None:
    told = refusal(307, location="https://other/mcp/?key=mine").to_error("ping")
    assert str(told).endswith("it has moved: use https://other/mcp/")


@pytest.mark.parametrize(
    ("status", "body", "may_be"),
    [
        (400, b"", True),
        (404, b"Not Found", True),
        (405, b'{"detail":"Method Not Allowed"}', True),
        (400, b'{"jsonrpc":"2.0","id":null,"error":{"code":-32600,"message":""}}', True),
        (400, b'{"jsonrpc":"2.0","id":null,"error":{"code":"x"}}', True),
        (400, b'{"jsonrpc":"2.0","id":1,"error":{"code":-32022,"message":""}}', False),
        (404, b'{"jsonrpc":"2.0","id":1,"error":{"code":-32601,"message":""}}', False),
        (401, b"", False),
        (406, b"", False),
        (500, b"", False),
    ],
)
def test_only_some_errors_may_come_from_http_sse_servers(
    status: int, body: bytes, may_be: bool
) -> None:
    assert refusal(status, body, JSON).may_be_http_sse is may_be
