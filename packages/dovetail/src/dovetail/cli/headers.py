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
    """The headers to send with every request; raises UsageError, which never shows a value."""
    headers: dict[str, str] = {}
    for number, line in enumerate([*lines, *_read_token(token_env)], 1):
        name, colon, value = line.partition(":")
        if not colon:
            # The text may be a token without a header name, so it is not shown.
            text = f"Header {number} ({len(line)} characters) has no colon"
            raise UsageError(f"{text}; expected 'Name: value', like 'Authorization: Bearer x'")
        name = name.strip()
        if not _HEADER_NAME.fullmatch(name):
            # The rest may be the value (`Name=value:...`), so only the valid start is shown.
            start = _HEADER_NAME.match(name)
            given = f"it begins with {start[0]!r}" if start else "the name is missing"
            text = f"Header {number} has an invalid name: {given}"
            raise UsageError(
                f"{text}; expected 'Name: value', where Name has letters, digits and -"
            )
        if name.lower() in (known.lower() for known in headers):
            raise UsageError(f"The header {name} is given twice; give it once")
        headers[name] = value.strip()
    return headers


def _read_token(variable: str | None) -> list[str]:
    if variable is None:
        return []
    token = os.environ.get(variable)
    if not token:
        state = "not set" if token is None else "empty"
        raise UsageError(f"--token-env: the environment variable {variable!r} is {state}")
    return [f"Authorization: Bearer {token}"]
