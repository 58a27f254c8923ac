"""The headers of every response of the console: no framing, no foreign scripts, no referrer."""

from __future__ import annotations

from dovetail.transports.asgi.messages import Headers

__all__ = ["SECURITY_HEADERS"]

_POLICY = (
    b"default-src 'self'; img-src 'self' data: blob:; media-src 'self' data: blob:; "
    b"frame-ancestors 'none'; base-uri 'none'; form-action 'self'"
)

SECURITY_HEADERS: Headers = [
    (b"content-security-policy", _POLICY),
    (b"x-frame-options", b"DENY"),
    (b"x-content-type-options", b"nosniff"),
    (b"referrer-policy", b"no-referrer"),
    (b"cross-origin-opener-policy", b"same-origin"),
    (b"cross-origin-resource-policy", b"same-origin"),
]
