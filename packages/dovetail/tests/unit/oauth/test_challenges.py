"""Parsing of WWW-Authenticate."""

from __future__ import annotations

import pytest

from dovetail.oauth.challenges import find_challenge, make_challenge, parse_challenges


@pytest.mark.parametrize(
    ("header", "expected"),
    [
        ("", []),
        ("Bearer", [("bearer", {})]),
        ('Bearer realm="a, b", scope="x y"', [("bearer", {"realm": "a, b", "scope": "x y"})]),
        ('BEARER Scope=x,error="e"', [("bearer", {"scope": "x", "error": "e"})]),
        ('Bearer a="say \\"hi\\""', [("bearer", {"a": 'say "hi"'})]),
        (
            'Basic realm="r", Bearer scope="x", DPoP algs="ES256"',
            [("basic", {"realm": "r"}), ("bearer", {"scope": "x"}), ("dpop", {"algs": "ES256"})],
        ),
        ('Negotiate abc==, Bearer scope="x"', [("negotiate", {}), ("bearer", {"scope": "x"})]),
        ('Basic, Bearer scope="x"', [("basic", {}), ("bearer", {"scope": "x"})]),
        # The first value of a name wins.
        ('Bearer scope="x", scope="y"', [("bearer", {"scope": "x"})]),
        ('Bearer scope="unclosed', [("bearer", {})]),
        ("=, ,;", []),
    ],
)
def test_challenges_are_read_in_order(header: str, expected: list[tuple[str, object]]) -> None:
    assert [(found.scheme, found.params) for found in parse_challenges(header)] == expected


def test_the_wanted_scheme_is_found_among_others() -> None:
    header = 'Basic realm="r", Bearer scope="b b a", DPoP error="use_dpop_nonce"'
    assert find_challenge(header, ("bearer", "dpop")).scopes == ("b", "a")
    assert find_challenge(header, ("dpop", "bearer")).error == "use_dpop_nonce"
    assert find_challenge(header, ("digest",)).scheme == ""
    assert find_challenge(header, ("basic",)).resource_metadata is None


def test_a_long_header_takes_no_time() -> None:
    # Quadratic parsing of this would take minutes.
    assert len(parse_challenges("a=" * 500_000)) <= 1
    assert parse_challenges("Bearer " + 'x="' * 100_000)[0].scheme == "bearer"


def test_a_challenge_has_the_given_parameters() -> None:
    assert make_challenge() == "Bearer"
    assert make_challenge(metadata="https://h/m", scopes={"b", "a"}, error="invalid_token") == (
        'Bearer error="invalid_token", scope="a b", resource_metadata="https://h/m"'
    )
    assert make_challenge(description="no") == 'Bearer error_description="no"'
    schemes = {"Bearer": None, "DPoP": "ES256 EdDSA"}
    assert make_challenge(error="invalid_token", schemes=schemes) == (
        'Bearer error="invalid_token", DPoP error="invalid_token", algs="ES256 EdDSA"'
    )
