"""Redaction of secrets in logged values, by member name or by pattern."""

from __future__ import annotations

import re
from collections.abc import Iterable
from functools import lru_cache
from typing import Any
from urllib.parse import unquote

__all__ = ["REDACTED", "Redaction"]

REDACTED = "[redacted]"
_NAMES = (
    "password", "passwd", "passphrase", "secret", "token", "apikey", "accesskey", "privatekey",
    "authorization", "credential", "cookie", "session", "otp", "cvv", "ssn",
)  # fmt: skip
_PATTERNS = (
    r"\b[Bb]earer\s+[A-Za-z0-9._~+/=-]{8,}",
    # JSON Web Tokens
    r"\beyJ[A-Za-z0-9_-]{8,}\.[A-Za-z0-9_-]+\.[A-Za-z0-9_-]*",
    # Our own keys, and those of well-known services
    r"\bdtk_[0-9a-f]+_[A-Za-z0-9_-]{16,}",
    r"\b(?:sk|pk|rk)[-_](?:live|test|proj|ant)?[-_A-Za-z0-9]{16,}",
    r"\b(?:ghp|gho|ghu|ghs|ghr|github_pat|glpat|xox[abprs])[-_][A-Za-z0-9_-]{16,}",
    r"\bA(?:KIA|SIA)[A-Z0-9]{16}\b",
    r"-----BEGIN [A-Z ]*PRIVATE KEY-----[\s\S]*?(?:-----END [A-Z ]*PRIVATE KEY-----|$)",
    # A password in a URL
    r"(?<=://)[^/\s:@]+:[^/\s@]+(?=@)",
)
# A parameter in the query or fragment of a URI, and names that are secret there only.
_PARAMETER = re.compile(r"(?<=[?&#;])([^=&#;?\s]{1,200})=([^&#;\s]+)")
_PARAMETER_NAMES = frozenset({"auth", "code", "jwt", "key", "pass", "pwd", "sig", "signature"})
# Deeper values and longer strings are cut off rather than scanned.
_MAX_DEPTH = 20
_MAX_LENGTH = 10_000
_MAX_NAME = 256
# Longer names are not kept, because callers choose them.
_MAX_KNOWN = 64


class Redaction:
    """Removes secrets from values. `names` and `patterns` are added to the built-in ones."""

    def __init__(self, names: Iterable[str] = (), patterns: Iterable[str] = ()) -> None:
        self._names = tuple(_plain(name) for name in (*_NAMES, *names))
        self._pattern = re.compile("|".join(f"(?:{each})" for each in (*_PATTERNS, *patterns)))
        # Most names are those of a few tools.
        self._clean_known = lru_cache(1024)(self._clean_name)

    def clean(self, value: Any, depth: int = 0) -> Any:
        """The value without secrets."""
        if isinstance(value, str):
            if len(value) > _MAX_LENGTH:
                value = f"{value[:_MAX_LENGTH]}[cut]"
            return self._pattern.sub(REDACTED, _PARAMETER.sub(self._clean_parameter, value))
        if depth >= _MAX_DEPTH:
            return "[too deep]"
        if isinstance(value, dict):
            return {
                self._pattern.sub(REDACTED, name): REDACTED
                if self.is_secret(name)
                else self.clean(inner, depth + 1)
                for name, inner in value.items()
            }
        if isinstance(value, list):
            return [self.clean(inner, depth + 1) for inner in value]
        return value

    def clean_name(self, name: str) -> str:
        """A name or URI that the caller chose, without secrets and at most 256 characters."""
        return self._clean_known(name) if len(name) <= _MAX_KNOWN else self._clean_name(name)

    def _clean_name(self, name: str) -> str:
        cleaned = str(self.clean(name))
        return cleaned if len(cleaned) <= _MAX_NAME else f"{cleaned[:_MAX_NAME]}[cut]"

    def _clean_parameter(self, found: re.Match[str]) -> str:
        name = unquote(found[1])
        if self.is_secret(name) or _plain(name) in _PARAMETER_NAMES:
            return f"{found[1]}={REDACTED}"
        return found[0]

    def is_secret(self, name: str) -> bool:
        """Whether a member of this name is redacted."""
        plain = _plain(name)
        return any(each in plain for each in self._names)


def _plain(name: str) -> str:
    return re.sub(r"[^a-z0-9]", "", name.lower())
