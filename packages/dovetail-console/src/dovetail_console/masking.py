"""Removes secrets from recorded messages and headers.

Members are masked by name only where a user's values are: arguments, answers and structured
content. Elsewhere names such as `progressToken` belong to the protocol, and only texts that look
like secrets are masked.
"""

from __future__ import annotations

import re
from collections.abc import Collection, Iterable, Mapping
from typing import Any

import msgspec

from dovetail.core.redaction import REDACTED, Redaction
from dovetail.wire import codec

__all__ = ["mask_fields", "mask_headers", "mask_text", "mask_url"]

_SECRET_HEADERS = frozenset(
    {"authorization", "proxy-authorization", "cookie", "set-cookie", "x-api-key", "dpop"}
)
# Enough to tell sessions apart.
_SESSION, _SESSION_SHOWN = "mcp-session-id", 6
# The members with values of the user.
_VALUES = frozenset({"arguments", "structuredContent", "inputResponses"})
_MAX_DEPTH = 60
# Longer texts are not parsed.
_MAX_PARSED = 1024 * 1024

# A member of a text that cannot be parsed, because it is cut or invalid.
_MEMBER = re.compile(r'"([^"\\]{1,100})"\s*:\s*(?:"(?:[^"\\]|\\.)*(?:"|$)|[^",}\]\s]+)')

_PIECE = 9000
_PIECES = re.compile(rf"[\s\S]{{1,{_PIECE}}}(?:\s|$)|[\s\S]{{1,{_PIECE}}}")
# Images and other data.
_BASE64 = re.compile(r"[A-Za-z0-9+/_-]*={0,2}")

_redaction = Redaction()


def mask_headers(
    headers: Iterable[tuple[bytes, bytes]], credentials: Collection[bytes] = ()
) -> list[list[str]]:
    """Headers as lists of name and value; `credentials`: more headers with secrets."""
    secret = _SECRET_HEADERS | {name.decode("latin-1") for name in credentials}
    found = []
    for raw_name, raw_value in headers:
        name, value = raw_name.decode("latin-1").lower(), raw_value.decode("latin-1")
        if name in secret:
            value = REDACTED
        elif name == _SESSION:
            value = f"{value[:_SESSION_SHOWN]}{REDACTED}"
        else:
            value = _mask_string(value)
        found.append([name, value])
    return found


def mask_url(url: str) -> str:
    """A URL without passwords and secret parameters."""
    return _mask_string(url)


def mask_fields(fields: Mapping[str, Any]) -> Any:
    """The members of a form or a document, masked by name at every level."""
    return _mask_value(fields, 0, by_name=True)


def mask_text(text: str) -> str:
    """A message without secrets; a text without any is returned unchanged."""
    if len(text) > _MAX_PARSED:
        return _mask_unparsed(text)
    try:
        value = codec.decode_json(text.encode())
    except (msgspec.ValidationError, RecursionError):
        return _mask_unparsed(text)
    masked = _mask_value(value, 0)
    return text if masked == value else codec.encode(masked).decode()


def _mask_value(value: Any, depth: int, *, by_name: bool = False) -> Any:
    if isinstance(value, str):
        return _mask_string(value)
    if depth > _MAX_DEPTH:
        return "[too deep]"
    if isinstance(value, list):
        return [_mask_value(each, depth + 1, by_name=by_name) for each in value]
    if isinstance(value, Mapping):
        return {
            name: REDACTED
            if by_name and _redaction.is_secret(name)
            else _mask_value(inner, depth + 1, by_name=by_name or _has_values(name, inner))
            for name, inner in value.items()
        }
    return value


def _has_values(name: str, inner: Any) -> bool:
    # The answer to an elicitation is an object; other content is a block with a type, or a list.
    is_answer = name == "content" and isinstance(inner, dict) and "type" not in inner
    return name in _VALUES or is_answer


def _mask_unparsed(text: str) -> str:
    return _MEMBER.sub(_mask_member, _mask_string(text))


def _mask_member(found: re.Match[str]) -> str:
    return f'"{found[1]}":"{REDACTED}"' if _redaction.is_secret(found[1]) else found[0]


def _mask_string(text: str) -> str:
    if len(text) <= _PIECE:
        return str(_redaction.clean(text))
    if _BASE64.fullmatch(text):
        return text
    # A redaction takes short texts only.
    return "".join(str(_redaction.clean(piece)) for piece in _PIECES.findall(text))
