"""Redaction of secrets."""

from __future__ import annotations

from typing import Any

import pytest

from dovetail.core.redaction import REDACTED, Redaction

CLEAN = Redaction(names=["diagnosis"], patterns=[r"\b\d{3}-\d{2}-\d{4}\b"]).clean


@pytest.mark.parametrize(
    "name",
    ["password", "Password", "new_password", "apiKey", "api-key", "X-Api-Key", "access_token",
     "client_secret", "Authorization", "set-cookie", "session_id", "diagnosis", "My Diagnosis"],
)  # fmt: skip
def test_secret_members_are_recognized_by_name(name: str) -> None:
    assert CLEAN({name: "x", "text": "y"}) == {name: REDACTED, "text": "y"}
    assert CLEAN([{"deep": {name: {"still": 1}}}]) == [{"deep": {name: REDACTED}}]


@pytest.mark.parametrize(
    "secret",
    [
        "Bearer abcdefgh12345678",
        "eyJhbGciOiJSUzI1NiJ9.eyJzdWIiOiJ4In0.c2lnbmF0dXJl",
        "dtk_0123456789ab_abcdefghijklmnopqrstuvwxyz",
        "sk-proj-abcdefghijklmnopqrst",
        "ghp_abcdefghijklmnopqrstuvwxyz012345",
        "AKIAIOSFODNN7EXAMPLE",
        "xoxb-123456789012-abcdefghijkl",
        "123-45-6789",
        "-----BEGIN RSA PRIVATE KEY-----\nMIIE\n-----END RSA PRIVATE KEY-----",
    ],
)
def test_secrets_in_text_are_recognized_by_pattern(secret: str) -> None:
    assert CLEAN({"note": f"see {secret} there"}) == {"note": f"see {REDACTED} there"}
    # Names are a caller's as well.
    assert secret not in str(CLEAN({secret: 1}))


def test_a_password_in_a_url_is_redacted() -> None:
    assert CLEAN("https://anna:hunter2@example.com/x") == f"https://{REDACTED}@example.com/x"


@pytest.mark.parametrize(
    ("uri", "cleaned"),
    [
        ("x://a?token=abc&page=2", f"x://a?token={REDACTED}&page=2"),
        ("x://a?page=2&api_key=abc", f"x://a?page=2&api_key={REDACTED}"),
        (
            "x://a?a%70i_key=abc#access_token=def",
            f"x://a?a%70i_key={REDACTED}#access_token={REDACTED}",
        ),
        ("x://a?key=abc;sig=def", f"x://a?key={REDACTED};sig={REDACTED}"),
        ("x://a?keyword=abc&page=token", "x://a?keyword=abc&page=token"),
    ],
)
def test_secret_parameters_of_a_uri_are_redacted(uri: str, cleaned: str) -> None:
    assert CLEAN(uri) == cleaned


@pytest.mark.parametrize("value", ["plain words", 1, 2.5, None, True, [], {}, {"a": [1, "b"]}])
def test_other_values_are_unchanged(value: Any) -> None:
    assert CLEAN(value) == value


def test_long_and_deep_values_are_cut() -> None:
    assert len(CLEAN("a" * 20_000)) == 10_005
    deep: Any = "x"
    for _ in range(30):
        deep = [deep]
    assert "[too deep]" in str(CLEAN(deep))


@pytest.mark.parametrize("length", [10, 100])
def test_a_name_is_cleaned_every_time(length: int) -> None:
    redaction = Redaction(patterns=[f"canary{'y' * length}"])
    for _ in range(2):
        assert redaction.clean_name(f"tool canary{'y' * length}") == f"tool {REDACTED}"
    assert redaction.clean_name("n" * 300) == f"{'n' * 256}[cut]"
