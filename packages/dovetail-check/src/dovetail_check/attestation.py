"""The author's statement: what cannot be seen from outside, and what the author says of it.

    author = "Jo Doe"
    date = 2026-11-15

    [rows]
    "tools.security.rate-limit" = "100 calls a minute for each token; see limits.py"

What was seen outweighs what is stated: a row that a rule could judge keeps its verdict.
"""

from __future__ import annotations

import difflib
import tomllib
from pathlib import Path

from dovetail.errors import UsageError
from dovetail_check.inventory import by_id

__all__ = ["read_attestation"]

_KEYS = ("author", "date", "rows")


def read_attestation(path: Path) -> dict[str, str]:
    """Row -> statement, with who says so and when; raises UsageError."""
    try:
        given = tomllib.loads(path.read_text("utf-8"))
    except OSError as error:
        raise UsageError(f"{path} cannot be read: {error.strerror}") from None
    except (tomllib.TOMLDecodeError, UnicodeDecodeError) as error:
        raise UsageError(f"{path} is no TOML: {error}") from None
    if unknown := [key for key in given if key not in _KEYS]:
        raise UsageError(f"{path} has {unknown[0]!r}; expected {', '.join(_KEYS)}")
    rows = given.get("rows")
    if not isinstance(rows, dict) or not rows or "author" not in given:
        raise UsageError(f"{path} needs an author and a table [rows] with at least one statement")
    signed = f"{given['author']}, {given['date']}" if "date" in given else str(given["author"])
    return {id: f"{_check(path, id, text)} ({signed})" for id, text in rows.items()}


def _check(path: Path, id: str, text: object) -> str:
    if id not in by_id():
        close = difflib.get_close_matches(id, by_id(), n=1)
        hint = f"; did you mean {close[0]!r}?" if close else "; `dovetail rules` lists them"
        raise UsageError(f"{path} attests {id!r}, which is no row{hint}")
    if not isinstance(text, str) or not text.strip():
        raise UsageError(f"{path} says nothing of {id!r}; expected a sentence")
    return text.strip()
