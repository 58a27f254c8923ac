"""The recorded messages of all clients, for the page.

The memory is bounded, and secrets are masked before anything is kept. Members are masked by name
only where a user's values are: arguments, answers and structured content. Elsewhere names such as
`progressToken` belong to the protocol, and only texts that look like secrets are masked.
"""

from __future__ import annotations

import asyncio
import re
import time
from collections import deque
from collections.abc import AsyncIterator, Collection, Iterable, Mapping
from typing import Any

import msgspec

from dovetail.observability import Redaction
from dovetail.wire import codec

__all__ = [
    "REDACTED",
    "Traffic",
    "classify",
    "mask_fields",
    "mask_headers",
    "mask_text",
    "mask_url",
]

REDACTED = "[redacted]"

_MAX_FRAMES = 500
_MAX_TEXT = 64 * 1024
_TARGETS = ("name", "uri")
_MAX_TARGET = 200
# Frames that wait for a page that reads slowly.
_MAX_WAITING = 1000


class Traffic:
    """The last frames, and the pages that wait for the next ones."""

    def __init__(self) -> None:
        self._frames: deque[dict[str, Any]] = deque(maxlen=_MAX_FRAMES)
        self._waiting: set[asyncio.Queue[dict[str, Any]]] = set()
        self._count = 0
        self._streams = 0

    def next_stream(self, prefix: str) -> str:
        """The name of a new HTTP exchange or connection."""
        self._streams += 1
        return f"{prefix}{self._streams}"

    def add(
        self,
        stream: str,
        direction: str,
        text: str,
        *,
        http: dict[str, Any] | None = None,
        principal: str | None = None,
        ms: float | None = None,
        request: dict[str, Any] | None = None,
    ) -> dict[str, Any]:
        """Record a frame, and return it. `request` is the frame of the request that it answers."""
        self._count += 1
        message = _read_first(text)
        kind, method, id = _classify(message)
        target = _find_target(message)
        if request is not None and kind in ("response", "error"):
            method, target = request["method"], request["target"]
        masked = mask_text(text)
        frame = {
            "n": self._count,
            "at": time.time(),
            "stream": stream,
            "direction": direction,
            "kind": kind,
            "method": method,
            "target": target,
            "id": id,
            "http": http,
            "text": masked if len(masked) <= _MAX_TEXT else f"{masked[:_MAX_TEXT]}[cut]",
            "principal": principal,
            "ms": ms,
        }
        self._frames.append(frame)
        for queue in self._waiting:
            if queue.full():
                queue.get_nowait()
            queue.put_nowait(frame)
        return frame

    async def follow(self) -> AsyncIterator[dict[str, Any]]:
        """The last frames, then each new one."""
        queue: asyncio.Queue[dict[str, Any]] = asyncio.Queue(_MAX_WAITING)
        for frame in self._frames:
            queue.put_nowait(frame)
        self._waiting.add(queue)
        try:
            while True:
                yield await queue.get()
        finally:
            self._waiting.discard(queue)


def classify(text: str) -> tuple[str, str | None, Any]:
    """The kind of a message, its method and its id; of the first message of a batch."""
    return _classify(_read_first(text))


def _read_first(text: str) -> Any:
    try:
        value = codec.decode_json(text.encode())
    except (msgspec.ValidationError, RecursionError):
        return None
    return value[0] if isinstance(value, list) and value else value


def _find_target(message: Any) -> str | None:
    """The tool, prompt or resource of a request."""
    params = message.get("params") if isinstance(message, dict) else None
    found = [params.get(name) for name in _TARGETS] if isinstance(params, dict) else []
    names = (each for each in found if isinstance(each, str))
    return next((_mask_string(each)[:_MAX_TARGET] for each in names), None)


def _classify(first: Any) -> tuple[str, str | None, Any]:
    if not isinstance(first, dict):
        return "http", None, None
    method, id = first.get("method"), first.get("id")
    if isinstance(method, str):
        return ("notification" if id is None else "request"), method, id
    if "error" in first:
        return "error", None, id
    return ("response" if "result" in first else "http"), None, id


# -- masking -----------------------------------------------------------------------------------

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
