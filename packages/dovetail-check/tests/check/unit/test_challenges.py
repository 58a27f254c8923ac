from __future__ import annotations

import pytest

from dovetail_check.challenges import Challenge, read_challenges


@pytest.mark.parametrize(
    ("header", "expected"),
    [
        (None, []),
        ("", []),
        ("Bearer", [Challenge("bearer", {})]),
        ('Bearer scope="a b"', [Challenge("bearer", {"scope": "a b"})]),
        ("BEARER Scope=a", [Challenge("bearer", {"scope": "a"})]),
        (
            'Bearer error="invalid_token", resource_metadata="https://x.example/a,b"',
            [
                Challenge(
                    "bearer",
                    {"error": "invalid_token", "resource_metadata": "https://x.example/a,b"},
                )
            ],
        ),
        (r'Bearer realm="say \"so\""', [Challenge("bearer", {"realm": 'say "so"'})]),
        (
            'Basic realm="a", Bearer realm="b", scope = "c"',
            [Challenge("basic", {"realm": "a"}), Challenge("bearer", {"realm": "b", "scope": "c"})],
        ),
        ("Negotiate abc==, Bearer", [Challenge("negotiate", {}), Challenge("bearer", {})]),
        # The first of two alike counts.
        ("Bearer scope=a, scope=b", [Challenge("bearer", {"scope": "a"})]),
    ],
)
def test_challenges_are_read(header: str | None, expected: list[Challenge]) -> None:
    assert read_challenges(header) == expected


@pytest.mark.parametrize(
    "header", ['"', ",,,", '="x"', 'Bearer scope="never ends', "\x00\xff", "é"]
)
def test_what_cannot_be_read_is_left_out(header: str) -> None:
    assert all(challenge.params == {} for challenge in read_challenges(header))


def test_scopes_are_words() -> None:
    assert Challenge("bearer", {"scope": " a  b a "}).scopes == {"a", "b"}
    assert Challenge("bearer", {}).scopes == frozenset()
