"""Secrets that may be typed by name and are never shown.

They come from a file of the operator or from the environment (DOVETAIL_SECRET_NAME). Whatever
leaves the server passes `hide`, so that a page that shows what was typed into it does not tell.
"""

from __future__ import annotations

import html
import json
import os
import re
from collections.abc import Mapping
from pathlib import Path
from typing import Any
from urllib.parse import quote, quote_plus

import msgspec

from dovetail import ToolError, UsageError

__all__ = ["ENVIRONMENT_PREFIX", "Secrets", "read_secrets_file"]

ENVIRONMENT_PREFIX = "DOVETAIL_SECRET_"
# A shorter one would be found all over a page, and hiding it would tell what it is.
_SHORTEST = 3
_NAME = re.compile(r"[A-Za-z][A-Za-z0-9_]{0,99}(@[A-Za-z0-9.-]{1,253})?")


class Secrets:
    """Values by name, and how to keep them out of a text."""

    def __init__(self, values: Mapping[str, str] | None = None) -> None:
        self._values: dict[str, str] = {}
        # Name -> the host that it may be typed at; the others may be typed anywhere.
        self._hosts: dict[str, str] = {}
        for key, value in (values or {}).items():
            name, _, host = key.partition("@")
            self._values[name] = value
            if host:
                self._hosts[name] = host.lower()
        for name, value in os.environ.items():
            if name.startswith(ENVIRONMENT_PREFIX) and len(value) >= _SHORTEST:
                self._values.setdefault(name.removeprefix(ENVIRONMENT_PREFIX), value)
        self._spellings = {
            spelling: name for name, value in self._values.items() for spelling in _spell(value)
        }
        # The longest first: one secret may be part of another.
        longest_first = sorted(self._spellings, key=len, reverse=True)
        self._pattern = re.compile("|".join(map(re.escape, longest_first)))

    @property
    def names(self) -> list[str]:
        """The names there are; they are no secret."""
        return sorted(self._values)

    @property
    def spellings(self) -> list[str]:
        """Every form in which a value might turn up."""
        return list(self._spellings)

    def value_for(self, name: str, host: str) -> str:
        """The value of a secret, for a field of a page of this host."""
        found = self._values.get(name)
        if found is None:
            known = ", ".join(self.names) or "none"
            raise ToolError(
                f"There is no secret {name!r}; there are: {known}.\n\nNext steps:\n- Ask the "
                f"operator to add it to the file of --secrets, or as {ENVIRONMENT_PREFIX}{name}."
            )
        owner = self._hosts.get(name)
        if owner is not None and host != owner and not host.endswith(f".{owner}"):
            raise ToolError(
                f"The secret {name} is for {owner} only, and this field belongs to "
                f"{host[:200] or 'no host'}. Nothing was typed.\n\nNext steps:\n- Make sure that "
                "you are on the right page; a page that asks for other sites' passwords is no "
                "page to trust."
            )
        return found

    def hide(self, text: str) -> str:
        """The text with every secret replaced by its name."""
        if not self._spellings:
            return text
        return self._pattern.sub(lambda found: f"[secret {self._spellings[found[0]]}]", text)

    def hide_in(self, value: Any) -> Any:
        """The same for all texts in a JSON value."""
        if not self._spellings:
            return value
        match value:
            case str():
                return self.hide(value)
            case list():
                return [self.hide_in(item) for item in value]
            case dict():
                return {key: self.hide_in(item) for key, item in value.items()}
        return value


def _spell(value: str) -> set[str]:
    plain = {value, value.strip()}
    encoded = {quote(value, safe=""), quote(value), quote_plus(value), html.escape(value)}
    encoded |= {json.dumps(value)[1:-1], json.dumps(value, ensure_ascii=False)[1:-1]}
    return {spelling for spelling in plain | encoded if len(spelling) >= _SHORTEST}


def read_secrets_file(path: Path) -> dict[str, str]:
    """NAME=value or NAME@HOST=value lines, or a JSON object of texts with such names."""
    try:
        text = path.expanduser().read_text("utf-8")
    except (OSError, UnicodeDecodeError) as error:
        raise UsageError(f"--secrets {str(path)!r} cannot be read: {error}") from None
    values = _read_json(path, text) if text.lstrip().startswith("{") else _read_lines(path, text)
    for name, value in values.items():
        if not _NAME.fullmatch(name):
            raise UsageError(
                f"--secrets {str(path)!r}: a name is a letter and up to 99 of A-Z a-z 0-9 _, with "
                f"@HOST behind it if it is for one host only, got {name[:100]!r}"
            )
        if len(value) < _SHORTEST:
            raise UsageError(
                f"--secrets {str(path)!r}: {name} has fewer than {_SHORTEST} characters; it could "
                "not be kept out of answers"
            )
    return values


def _read_json(path: Path, text: str) -> dict[str, str]:
    try:
        return msgspec.json.decode(text, type=dict[str, str])
    except msgspec.DecodeError:
        # What the decoder says may quote a value.
        raise UsageError(f"--secrets {str(path)!r} is no JSON object of texts") from None


def _read_lines(path: Path, text: str) -> dict[str, str]:
    values = {}
    for number, line in enumerate(text.splitlines(), 1):
        if not line.strip() or line.lstrip().startswith("#"):
            continue
        name, equals, value = line.partition("=")
        if not equals:
            raise UsageError(f"--secrets {str(path)!r}, line {number}: expected NAME=value")
        values[name.strip()] = value.strip()
    return values
