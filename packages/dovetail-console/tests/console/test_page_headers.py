from __future__ import annotations

from dovetail_console.event_streams import SECURITY_HEADERS


def test_nothing_may_be_loaded_from_elsewhere_or_inline() -> None:
    policy = dict(SECURITY_HEADERS)[b"content-security-policy"]
    assert b"unsafe" not in policy
    assert b"http" not in policy
    assert policy.startswith(b"default-src 'self';")
