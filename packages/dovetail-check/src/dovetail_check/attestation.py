"""Attestations: statements of the author about requirements that cannot be tested from outside.

    author = "Jo Doe"
    date = 2026-11-15

    [requirements]
    "tools.security.rate-limit" = "100 calls a minute for each token; see limits.py"

A verdict of a rule takes precedence over a statement.
"""

from __future__ import annotations

import difflib
import tomllib
from pathlib import Path

from dovetail.errors import UsageError
from dovetail_check.inventory import by_id

__all__ = ["read_attestation"]

_KEYS = ("author", "date", "requirements")


def read_attestation(path: Path) -> dict[str, str]:
    """Return requirement id -> statement with author and date; raises UsageError."""
    try:
        given = tomllib.loads(path.read_text("utf-8"))
    except OSError as error:
        raise UsageError(f"{path} cannot be read: {error.strerror}") from None
    except (tomllib.TOMLDecodeError, UnicodeDecodeError) as error:
        raise UsageError(f"{path} is not valid TOML: {error}") from None
    if unknown := [key for key in given if key not in _KEYS]:
        raise UsageError(f"{path} has the unknown key {unknown[0]!r}; expected {', '.join(_KEYS)}")
    statements = given.get("requirements")
    if not isinstance(statements, dict) or not statements or "author" not in given:
        raise UsageError(
            f"{path} needs `author` and a table [requirements] with one statement or more"
        )
    signed = f"{given['author']}, {given['date']}" if "date" in given else str(given["author"])
    return {id: f"{_check(path, id, text)} ({signed})" for id, text in statements.items()}


def _check(path: Path, id: str, text: object) -> str:
    if id not in by_id():
        close = difflib.get_close_matches(id, by_id(), n=1)
        hint = f"; did you mean {close[0]!r}?" if close else "; `dovetail rules` lists them"
        raise UsageError(f"{path} attests {id!r}, which is not a requirement{hint}")
    if not isinstance(text, str) or not text.strip():
        raise UsageError(f"{path} has no statement for {id!r}; expected a sentence")
    return text.strip()
