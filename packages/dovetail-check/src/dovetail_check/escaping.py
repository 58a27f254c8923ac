"""Text of a server, made safe for terminals, logs of CI systems and documents.

A server chooses its name, texts and the keys of its messages. In a report they are on one line,
without characters that control a terminal or the direction of text, and they are no command of a
CI system: `::error::` (GitHub), `##[error]`, `##vso[...]` (Azure), `##teamcity[...]`.
"""

from __future__ import annotations

import re
import reprlib
from typing import Any, TypeVar

import msgspec

__all__ = ["clean", "clean_all", "escape_json", "shorten", "shown"]

T = TypeVar("T")

# C0 and C1 controls, line separators, bidirectional and invisible formatting, tags, surrogates.
_CONTROL = (
    r"[\x00-\x08\x0b-\x1f\x7f-\x9f\xad\u061c\u200b\u200e\u200f\u2028-\u202e\u2060-\u206f\ufeff"
    r"\ud800-\udfff\U000e0000-\U000e007f]"
)
# The first character of a command. Long lines are wrapped, so it may be anywhere in a text.
_COMMAND = r":(?=:[\w-]+(?:[ \t].*?)?::)|#(?=#\w*\[)"
_UNSAFE = re.compile(rf"{_CONTROL}|\n|{_COMMAND}")
_UNSAFE_IN_JSON = re.compile(rf"{_CONTROL}|{_COMMAND}")
# Texts of several lines.
_MULTILINE = ("stderr_tail", "trace")
_MAX_TEXT = 2000


def clean(text: str) -> str:
    """Return the text on one line, with unsafe characters escaped."""
    return _UNSAFE.sub(_escape, text)


def _escape(found: re.Match[str]) -> str:
    code = ord(found[0])
    if found[0] == "\n":
        return "\\n"
    return f"\\x{code:02x}" if code < 0x100 else f"\\u{code:04x}"


def escape_json(document: str) -> str:
    """Return the same JSON value with unsafe characters escaped."""
    return _UNSAFE_IN_JSON.sub(_escape_in_json, document)


def _escape_in_json(found: re.Match[str]) -> str:
    units = found[0].encode("utf-16-be", "surrogatepass").hex()
    return "".join(f"\\u{units[at : at + 4]}" for at in range(0, len(units), 4))


def clean_all(struct: T) -> T:
    """Return a struct of texts with all of them cleaned, and long ones shortened."""
    return msgspec.convert(_clean_value(msgspec.to_builtins(struct), ""), type(struct))


def _clean_value(value: Any, name: str) -> Any:
    if isinstance(value, dict):
        return {clean(key): _clean_value(inside, key) for key, inside in value.items()}
    if isinstance(value, list | tuple):
        return [_clean_value(inside, name) for inside in value]
    if not isinstance(value, str):
        return value
    if name in _MULTILINE:
        return "\n".join(map(clean, value.splitlines()))
    return shorten(clean(value), _MAX_TEXT)


def shorten(text: str, limit: int) -> str:
    """Return the text, or its start up to the end of a word, and how long it is."""
    if len(text) <= limit:
        return text
    suffix = f" … ({len(text):,} characters)"
    start = text[: max(limit - len(suffix), 0)]
    word = re.search(r"\s\S*$", start[len(start) // 2 :])
    end = len(start) // 2 + word.start() if word else len(start)
    return start[:end].rstrip() + suffix


_repr = reprlib.Repr()
_repr.maxlevel, _repr.maxdict, _repr.maxlist = 4, 6, 4
_repr.maxstring = _repr.maxother = _repr.maxlong = 60


def shown(value: Any) -> str:
    """Return a JSON value for the text of a note; "..." stands for what is left out."""
    return _repr.repr(value)
