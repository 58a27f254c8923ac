"""The table compared with the standard library; test_addresses tests it with URLs."""

from __future__ import annotations

from ipaddress import IPv4Address, IPv6Address

from hypothesis import given
from hypothesis import strategies as st

from dovetail_browser.address_kinds import kind_of


@given(st.integers(0, 2**32 - 1).map(IPv4Address))
def test_special_ipv4_addresses_of_the_standard_library_are_not_public(
    address: IPv4Address,
) -> None:
    if not address.is_global or address.is_multicast or address.is_reserved:
        assert kind_of(address) is not None


@given(st.integers(0, 2**128 - 1).map(IPv6Address))
def test_special_ipv6_addresses_of_the_standard_library_are_not_public(
    address: IPv6Address,
) -> None:
    if not address.is_global or address.is_multicast or address.is_reserved:
        assert address.ipv4_mapped is not None or kind_of(address) is not None


@given(st.integers(0, 2**32 - 1).map(IPv4Address))
def test_an_embedded_ipv4_address_is_as_public_as_itself(address: IPv4Address) -> None:
    is_public = kind_of(address) is None
    for prefix in (0xFFFF << 32, 0x64FF9B << 96):
        assert (kind_of(IPv6Address(prefix | int(address))) is None) is is_public
