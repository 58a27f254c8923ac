from __future__ import annotations

import json
from typing import Any

import pytest

from dovetail_console.traffic import REDACTED, mask_fields, mask_headers, mask_text, mask_url

SECRET = "hunter2hunter2"


@pytest.mark.parametrize(
    "name", ["authorization", "Cookie", "set-cookie", "x-api-key", "proxy-authorization", "dpop"]
)
def test_headers_with_credentials_are_masked(name: str) -> None:
    assert mask_headers([(name.encode(), SECRET.encode())]) == [[name.lower(), REDACTED]]


def test_the_header_of_a_guard_is_masked_and_others_are_not() -> None:
    headers = [(b"X-Shop-Key", SECRET.encode()), (b"accept", b"text/html")]
    assert mask_headers(headers, [b"x-shop-key"]) == [
        ["x-shop-key", REDACTED],
        ["accept", "text/html"],
    ]


def test_a_session_can_be_told_apart_but_not_used() -> None:
    [[_, value]] = mask_headers([(b"Mcp-Session-Id", b"abcdefghijklmnop")])
    assert value == f"abcdef{REDACTED}"


def test_secret_parameters_of_a_url_are_masked() -> None:
    assert SECRET not in mask_url(f"https://a.example/?code={SECRET}&page=1")
    assert "page=1" in mask_url(f"https://a.example/?code={SECRET}&page=1")


@pytest.mark.parametrize(
    "message",
    [
        {"method": "tools/call", "params": {"name": "x", "arguments": {"password": SECRET}}},
        {"result": {"content": [], "structuredContent": {"user": {"api_key": SECRET}}}},
        {"result": {"action": "accept", "content": {"token": SECRET}}},
        {"params": {"_meta": {}, "inputResponses": {"a": {"content": {"otp": SECRET}}}}},
        {"params": {"text": f"Authorization: Bearer {SECRET}"}},
    ],
)
def test_values_of_the_user_are_masked_by_name_and_texts_by_pattern(message: Any) -> None:
    masked = mask_text(json.dumps(message))
    assert SECRET not in masked
    assert json.loads(masked).keys() == message.keys()


def test_members_of_the_protocol_keep_their_values() -> None:
    text = json.dumps(
        {"params": {"_meta": {"progressToken": 7}, "requestState": "sealed", "cursor": "abc"}}
    )
    # Also the spaces: a message without secrets is shown as it was sent.
    assert mask_text(text) == text
    schema = json.dumps({"inputSchema": {"properties": {"password": {"type": "string"}}}})
    assert mask_text(schema) == schema


def test_a_text_that_is_cut_is_masked_too() -> None:
    text = '{"params": {"arguments": {"password": "' + SECRET + '", "pin": 1, "secret": 4711, "x'
    masked = mask_text(text)
    assert SECRET not in masked
    assert "4711" not in masked
    assert '"pin": 1' in masked


def test_a_long_text_is_not_cut_and_data_stays_whole() -> None:
    image = json.dumps({"result": {"content": [{"type": "image", "data": "aGVs" * 10_000}]}})
    assert mask_text(image) == image
    words = "word " * 5000 + f"Bearer {SECRET} " + "word " * 5000
    masked = json.loads(mask_text(json.dumps({"text": words})))["text"]
    assert masked == words.replace(f"Bearer {SECRET}", REDACTED)


def test_a_message_of_any_depth_can_be_masked() -> None:
    deep = "[" * 500 + "]" * 500
    assert "too deep" in mask_text(deep) or mask_text(deep) == deep


def test_a_form_is_masked_by_name_at_every_level() -> None:
    assert mask_fields({"a": {"client_secret": SECRET}, "b": "c"}) == {
        "a": {"client_secret": REDACTED},
        "b": "c",
    }
