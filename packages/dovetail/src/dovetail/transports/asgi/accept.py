"""The Accept header: which types of content a client takes (RFC 9110 section 12.5.1)."""

from __future__ import annotations

from functools import lru_cache

__all__ = ["accepts"]


# Clients send the same header with every request, and there are few kinds of clients.
@lru_cache(maxsize=256)
def accepts(accept: bytes | None, kind: bytes) -> bool:
    """Whether a client that sends this header takes content of `kind`, such as text/html."""
    if accept is None or not accept.strip():
        # A client that says nothing takes anything.
        return True
    weights = dict(map(_read_range, accept.lower().split(b",")))
    main = kind.partition(b"/")[0]
    # The range that names most of the type has the say.
    for wanted in (kind, main + b"/*", b"*/*"):
        if wanted in weights:
            return weights[wanted]
    return False


def _read_range(part: bytes) -> tuple[bytes, bool]:
    """A range of types, and whether it is welcome: a weight of zero says that it is not."""
    name, *parameters = (word.strip() for word in part.split(b";"))
    for parameter in parameters:
        key, _, value = parameter.partition(b"=")
        if key.strip() == b"q":
            return name, value.strip().strip(b"0.") != b""
    return name, True
