"""Validates URIs, URI templates, base64, MIME types and timestamps.

Each function takes any JSON value and returns the problem, or None if the value is valid.
"""

from __future__ import annotations

import base64
import binascii
import re
from datetime import datetime
from typing import Any

__all__ = [
    "base64_problem",
    "mime_problem",
    "template_problem",
    "timestamp_problem",
    "uri_problem",
]

# RFC 3986: a scheme, then only characters that a URI may contain.
_URI = re.compile(
    r"[A-Za-z][A-Za-z0-9+.\-]*:(?:[A-Za-z0-9\-._~:/?#\[\]@!$&'()*+,;=]|%[0-9A-Fa-f]{2})*"
)
# RFC 6570 section 2
_VARIABLE = r"(?:[A-Za-z0-9_.]|%[0-9A-Fa-f]{2})+(?:\*|:[1-9][0-9]{0,3})?"
_EXPRESSION = re.compile(rf"\{{[+#./;?&=,!@|]?{_VARIABLE}(?:,{_VARIABLE})*\}}")
# RFC 9110 section 8.3.1; parameters are not validated.
_MIME = re.compile(r"[!#$%&'*+\-.^_`|~0-9A-Za-z]+/[!#$%&'*+\-.^_`|~0-9A-Za-z]+\s*(?:;.*)?")


def uri_problem(value: Any) -> str | None:
    """Check for a URI (RFC 3986)."""
    if not isinstance(value, str):
        return f"{value!r:.80} is not a string; expected a URI"
    if _URI.fullmatch(value) is None or value.count("#") > 1:
        return f"{value[:200]!r} is not a URI (RFC 3986)"
    return None


def template_problem(value: Any) -> str | None:
    """Check for a URI template (RFC 6570)."""
    if not isinstance(value, str):
        return f"{value!r:.80} is not a string; expected a URI template"
    rest = _EXPRESSION.sub("", value)
    if "{" in rest or "}" in rest:
        return f"{value[:200]!r} is not a URI template (RFC 6570)"
    return None


def base64_problem(value: Any) -> str | None:
    """Check for base64 with padding (RFC 4648 section 4)."""
    if not isinstance(value, str):
        return f"{value!r:.80} is not a string; expected base64"
    try:
        base64.b64decode(value, validate=True)
    except (binascii.Error, ValueError) as error:
        return f"{value[:60]!r} is not base64: {error}"
    return None


def mime_problem(value: Any) -> str | None:
    """Check for a MIME type."""
    if not isinstance(value, str):
        return f"{value!r:.80} is not a MIME type"
    return None if _MIME.fullmatch(value) else f"{value[:80]!r} is not a MIME type"


def timestamp_problem(value: Any) -> str | None:
    """Check for an ISO 8601 timestamp."""
    try:
        datetime.fromisoformat(value)
    except (TypeError, ValueError):
        return f"{value!r:.80} is not an ISO 8601 timestamp"
    return None
