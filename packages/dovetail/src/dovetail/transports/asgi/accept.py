"""The Accept header: which media types a client accepts (RFC 9110 section 12.5.1)."""

from __future__ import annotations

from functools import lru_cache

__all__ = ["accepts"]


# Clients send the same header with every request, so a small cache is enough.
@lru_cache(maxsize=256)
def accepts(accept: bytes | None, kind: bytes) -> bool:
    """Whether this Accept header allows the media type `kind`, such as text/html."""
    if accept is None or not accept.strip():
        # No Accept header allows any type.
        return True
    weights = dict(map(_read_range, accept.lower().split(b",")))
    main = kind.partition(b"/")[0]
    # The most specific range takes precedence.
    for wanted in (kind, main + b"/*", b"*/*"):
        if wanted in weights:
            return weights[wanted]
    return False


def _read_range(part: bytes) -> tuple[bytes, bool]:
    """A media range and whether it is acceptable: a weight of zero means it is not."""
    name, *parameters = (word.strip() for word in part.split(b";"))
    for parameter in parameters:
        key, _, value = parameter.partition(b"=")
        if key.strip() == b"q":
            return name, value.strip().strip(b"0.") != b""
    return name, True
