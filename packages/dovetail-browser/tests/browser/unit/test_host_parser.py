from __future__ import annotations

from ipaddress import IPv4Address, IPv6Address

import pytest
from hypothesis import given
from hypothesis import strategies as st

from dovetail_browser.host_parser import canonical_host


@pytest.mark.parametrize(
    ("text", "host"),
    [
        ("Example.COM.", "example.com"),
        ("M\u00fcnchen.example", "xn--mnchen-3ya.example"),
        ("a\u3002b.example", "a.b.example"),
        ("1.2.3", IPv4Address("1.2.0.3")),
        ("[::1]", IPv6Address("::1")),
        ("::1", IPv6Address("::1")),
        ("[::1%25lo]", ""),
        ("09.0.0.1", ""),
        ("a.0x1g", "a.0x1g"),
        ("a.1", ""),
        ("", ""),
    ],
)
def test_hosts_are_parsed_as_browsers_do(text: str, host: object) -> None:
    assert canonical_host(text) == host


@given(st.integers(0, 2**32 - 1), st.sampled_from([1, 2, 3, 4]), st.randoms())
def test_every_notation_of_an_address_is_that_address(value: int, parts: int, dice: object) -> None:
    choose = getattr(dice, "choice")  # noqa: B009 - hypothesis gives no type for it
    leading = [value >> (24 - 8 * place) & 255 for place in range(parts - 1)]
    last = value & (256 ** (5 - parts) - 1)
    spelled = ".".join(
        choose([str(number), hex(number), f"0{number:o}"]) for number in (*leading, last)
    )
    assert canonical_host(spelled) == IPv4Address(value)


@given(st.text(max_size=40))
def test_canonical_host_never_raises(text: str) -> None:
    named = canonical_host(text)
    if isinstance(named, str) and named:
        assert canonical_host(named) == named
