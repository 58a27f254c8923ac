"""Parses HTTP/1 message heads and rewrites them for forwarding. No I/O."""

from __future__ import annotations

import re
from dataclasses import dataclass

__all__ = ["RequestHead", "ResponseHead", "parse_request", "parse_response"]

_TOKEN = re.compile(r"[!#$%&'*+.^_`|~0-9A-Za-z-]+")
_REQUEST_LINE = re.compile(r"([!#$%&'*+.^_`|~0-9A-Za-z-]+) (\S+) HTTP/1\.[01]")
_STATUS_LINE = re.compile(r"(HTTP/1\.[01]) (\d{3})(?: (.*))?")

# Hop-by-hop headers.
_HOP_BY_HOP = frozenset(
    {
        "connection",
        "keep-alive",
        "proxy-authenticate",
        "proxy-authorization",
        "proxy-connection",
        "te",
        "upgrade",
    }
)

Headers = tuple[tuple[str, str], ...]


@dataclass(frozen=True, slots=True)
class RequestHead:
    """The head of a request to the proxy."""

    method: str
    target: str
    headers: Headers

    def value(self, name: str) -> str | None:
        """Return the first header with this name."""
        return _value(self.headers, name)

    @property
    def body_length(self) -> int | None:
        """Length of the body; None if it is invalid, contradictory or not known in advance."""
        lengths = {value for name, value in self.headers if name.lower() == "content-length"}
        if self.value("transfer-encoding") is not None or len(lengths) > 1:
            return None
        length = lengths.pop() if lengths else "0"
        return int(length) if length.isascii() and length.isdigit() else None

    def forwarded(self, path: str, host: str) -> bytes:
        """Return the head for the origin server, with `Connection: close`."""
        kept = [
            f"{name}: {value}"
            for name, value in _end_to_end(self.headers)
            if name.lower() != "host"
        ]
        lines = [f"{self.method} {path} HTTP/1.1", f"Host: {host}", *kept, "Connection: close"]
        return _encode(lines)


@dataclass(frozen=True, slots=True)
class ResponseHead:
    """The head of the origin server's response."""

    version: str
    status: int
    reason: str
    headers: Headers

    @property
    def is_interim(self) -> bool:
        """Whether this is a 1xx response."""
        return 100 <= self.status < 200

    @property
    def length(self) -> int:
        """The Content-Length; 0 if there is none."""
        value = _value(self.headers, "content-length") or "0"
        return int(value) if value.isascii() and value.isdigit() else 0

    def forwarded(self) -> bytes:
        """Return the head for the browser, which must not reuse this connection."""
        kept = [f"{name}: {value}" for name, value in _end_to_end(self.headers)]
        ending = [] if self.is_interim else ["Connection: close"]
        return _encode([f"HTTP/1.1 {self.status} {self.reason}", *kept, *ending])


def parse_request(data: bytes) -> RequestHead | None:
    """The head, which ends with its empty line; None if it is none."""
    line, *rest = data.decode("latin-1").removesuffix("\r\n\r\n").split("\r\n")
    match = _REQUEST_LINE.fullmatch(line)
    headers = _parse_headers(rest)
    return None if match is None or headers is None else RequestHead(match[1], match[2], headers)


def parse_response(data: bytes) -> ResponseHead | None:
    """The head, which ends with its empty line; None if it is none."""
    line, *rest = data.decode("latin-1").removesuffix("\r\n\r\n").split("\r\n")
    match = _STATUS_LINE.fullmatch(line)
    headers = _parse_headers(rest)
    if match is None or headers is None:
        return None
    return ResponseHead(match[1], int(match[2]), match[3] or "", headers)


def _parse_headers(lines: list[str]) -> Headers | None:
    found = []
    for line in lines:
        name, colon, value = line.partition(":")
        # Parsers disagree about folded lines and about white space before the colon.
        if (
            not colon
            or not _TOKEN.fullmatch(name)
            or "\n" in value
            or "\r" in value
            or "\0" in value
        ):
            return None
        found.append((name, value.strip(" \t")))
    return tuple(found)


def _end_to_end(headers: Headers) -> Headers:
    named = {
        option.strip().lower()
        for name, value in headers
        if name.lower() == "connection"
        for option in value.split(",")
    }
    dropped = _HOP_BY_HOP | (named - {"content-length", "transfer-encoding", "host"})
    return tuple((name, value) for name, value in headers if name.lower() not in dropped)


def _value(headers: Headers, name: str) -> str | None:
    return next((value for key, value in headers if key.lower() == name), None)


def _encode(lines: list[str]) -> bytes:
    return ("\r\n".join(lines) + "\r\n\r\n").encode("latin-1")
