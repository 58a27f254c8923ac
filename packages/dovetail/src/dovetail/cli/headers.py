"""HTTP headers from the command line: `--header 'Name: value'` and `--token-env NAME`."""

from __future__ import annotations

import os
import re
from collections.abc import Sequence

from dovetail.errors import UsageError

__all__ = ["read_headers"]

# A token (RFC 9110 section 5.6.2), which is the syntax of a header name.
_HEADER_NAME = re.compile(r"[!#$%&'*+.^_`|~0-9A-Za-z-]+")


def read_headers(lines: Sequence[str], token_env: str | None) -> dict[str, str]:
    """The headers to send with every request; raises UsageError, which never quotes a value."""
    headers: dict[str, str] = {}
    for number, line in enumerate([*lines, *_read_token(token_env)], 1):
        name, colon, value = line.partition(":")
        if not colon:
            # The line may be a token without a name, so it is not shown.
            text = f"header {number} has no colon in its {len(line)} characters"
            raise UsageError(f"{text}; expected 'Name: value', say 'Authorization: Bearer x'")
        name = name.strip()
        if not _HEADER_NAME.fullmatch(name):
            # What follows the valid start may be the value: `Name=value:...`.
            start = _HEADER_NAME.match(name)
            given = f"it begins with {start[0]!r}" if start else "there is none"
            text = f"header {number} has no valid header name: {given}"
            raise UsageError(f"{text}; expected 'Name: value', Name of letters, digits and -")
        if name.lower() in (known.lower() for known in headers):
            raise UsageError(f"The header {name} is given twice; it can have one value")
        headers[name] = value.strip()
    return headers


def _read_token(variable: str | None) -> list[str]:
    if variable is None:
        return []
    token = os.environ.get(variable)
    if not token:
        state = "not set" if token is None else "empty"
        raise UsageError(f"--token-env: the variable {variable!r} is {state}; it holds the token")
    return [f"Authorization: Bearer {token}"]
