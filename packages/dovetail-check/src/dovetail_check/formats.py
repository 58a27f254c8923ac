"""Texts that must have a form: URIs, URI templates, base64, MIME types, timestamps.

Each function says what is wrong, or None. They take whatever a server sent.
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

# RFC 3986: a scheme, and behind it nothing but the characters that may stand in a URI.
_URI = re.compile(
    r"[A-Za-z][A-Za-z0-9+.\-]*:(?:[A-Za-z0-9\-._~:/?#\[\]@!$&'()*+,;=]|%[0-9A-Fa-f]{2})*"
)
# RFC 6570 section 2
_VARIABLE = r"(?:[A-Za-z0-9_.]|%[0-9A-Fa-f]{2})+(?:\*|:[1-9][0-9]{0,3})?"
_EXPRESSION = re.compile(rf"\{{[+#./;?&=,!@|]?{_VARIABLE}(?:,{_VARIABLE})*\}}")
# RFC 9110 section 8.3.1; parameters are not looked at.
_MIME = re.compile(r"[!#$%&'*+\-.^_`|~0-9A-Za-z]+/[!#$%&'*+\-.^_`|~0-9A-Za-z]+\s*(?:;.*)?")


def uri_problem(value: Any) -> str | None:
    """Whether it is a URI of RFC 3986."""
    if not isinstance(value, str):
        return f"{value!r:.80} is no text; a URI was due"
    if _URI.fullmatch(value) is None or value.count("#") > 1:
        return f"{value[:200]!r} is no URI of RFC 3986"
    return None


def template_problem(value: Any) -> str | None:
    """Whether it is a URI template of RFC 6570."""
    if not isinstance(value, str):
        return f"{value!r:.80} is no text; a URI template was due"
    rest = _EXPRESSION.sub("", value)
    if "{" in rest or "}" in rest:
        return f"{value[:200]!r} is no URI template of RFC 6570"
    return None


def base64_problem(value: Any) -> str | None:
    """Whether it is base64 with its padding and nothing else (RFC 4648 section 4)."""
    if not isinstance(value, str):
        return f"{value!r:.80} is no text; base64 was due"
    try:
        base64.b64decode(value, validate=True)
    except (binascii.Error, ValueError) as error:
        return f"{value[:60]!r} is no base64: {error}"
    return None


def mime_problem(value: Any) -> str | None:
    """Whether it is a MIME type."""
    if not isinstance(value, str):
        return f"{value!r:.80} is no MIME type"
    return None if _MIME.fullmatch(value) else f"{value[:80]!r} is no MIME type"


def timestamp_problem(value: Any) -> str | None:
    """Whether it is a timestamp of ISO 8601."""
    try:
        datetime.fromisoformat(value)
    except (TypeError, ValueError):
        return f"{value!r:.80} is no timestamp of ISO 8601"
    return None
