"""Parses the WWW-Authenticate header (RFC 9110 section 11.6.1)."""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import NamedTuple

__all__ = ["Challenge", "read_challenges"]

_TOKEN = r"[!#$%&'*+.^_`|~0-9A-Za-z-]+"
_PART = re.compile(rf"({_TOKEN})\s*=\s*(\"(?:[^\"\\]|\\.)*\"|{_TOKEN})")
_SCHEME = re.compile(rf"({_TOKEN})(?:\s+(.*))?", re.DOTALL)
# Parts are separated by commas outside quoted strings.
_BETWEEN = re.compile(r"((?:[^\",]|\"(?:[^\"\\]|\\.)*\")+)")


class Challenge(NamedTuple):
    """One challenge; the scheme and parameter names are in lower case."""

    scheme: str
    params: dict[str, str]

    @property
    def scopes(self) -> frozenset[str]:
        """The scopes in the `scope` parameter."""
        return frozenset(self.params.get("scope", "").split())


def read_challenges(header: str | None) -> list[Challenge]:
    """Return the challenges of a header; skips what cannot be parsed."""
    found: list[Challenge] = []
    for part in _parts(header or ""):
        param = _PART.fullmatch(part)
        if param is not None and found:
            found[-1].params.setdefault(param[1].lower(), _unquote(param[2]))
            continue
        scheme = _SCHEME.fullmatch(part)
        if scheme is None:
            continue
        found.append(Challenge(scheme[1].lower(), {}))
        first = _PART.fullmatch((scheme[2] or "").strip())
        if first is not None:
            found[-1].params[first[1].lower()] = _unquote(first[2])
    return found


def _parts(header: str) -> Iterator[str]:
    for match in _BETWEEN.finditer(header):
        if part := match[1].strip():
            yield part


def _unquote(text: str) -> str:
    return re.sub(r"\\(.)", r"\1", text[1:-1]) if text.startswith('"') else text
