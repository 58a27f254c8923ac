"""Secrets that tools can type by name and that results never contain.

They come from the operator's file or from the environment (DOVETAIL_SECRET_NAME). All output of the
server passes through `hide`, because a page may display what was typed into it. `hide` also finds
simple encodings: URL, HTML, JSON, hexadecimal, Base64, reversed. It cannot find every encoding: a
page can display the value in pieces, encrypted or as an image.
"""

from __future__ import annotations

import html
import json
import os
import re
from base64 import b64encode
from collections.abc import Mapping
from pathlib import Path
from typing import Any
from urllib.parse import quote, quote_plus

import msgspec

from dovetail import UsageError
from dovetail_browser.page_errors import tool_error

__all__ = ["ENVIRONMENT_PREFIX", "Secrets", "read_secrets_file"]

ENVIRONMENT_PREFIX = "DOVETAIL_SECRET_"
# Shorter values would match text all over a page, and hiding them would reveal them.
_SHORTEST = 3
# Shorter encoded values are likely to be something else.
_SHORTEST_DISGUISE = 5
_NAME = re.compile(r"[A-Za-z][A-Za-z0-9_]{0,99}(@[A-Za-z0-9.-]{1,253})?")


class Secrets:
    """Secret values by name; replaces them in text."""

    def __init__(self, values: Mapping[str, str] | None = None) -> None:
        self._values: dict[str, str] = {}
        # Name -> the only host where it may be typed; other secrets may be typed anywhere.
        self._hosts: dict[str, str] = {}
        for key, value in (values or {}).items():
            name, _, host = key.partition("@")
            self._values[name] = value
            if host:
                self._hosts[name] = host.lower()
        for name, value in os.environ.items():
            if name.startswith(ENVIRONMENT_PREFIX) and len(value) >= _SHORTEST:
                self._values.setdefault(name.removeprefix(ENVIRONMENT_PREFIX), value)
        self._names_by_encoding = {
            spelling: name for name, value in self._values.items() for spelling in _encodings(value)
        }
        # Longest first: one secret may be part of another.
        longest_first = sorted(self._names_by_encoding, key=len, reverse=True)
        self._pattern = re.compile("|".join(map(re.escape, longest_first)))

    @property
    def names(self) -> list[str]:
        """The names, which are not secret."""
        return sorted(self._values)

    @property
    def encodings(self) -> list[str]:
        """All encodings in which a value may appear."""
        return list(self._names_by_encoding)

    def value_for(self, name: str, host: str) -> str:
        """Return the value of a secret for a field on this host; raises ToolError otherwise."""
        found = self._values.get(name)
        if found is None:
            known = ", ".join(self.names) or "none"
            raise tool_error(
                f"There is no secret {name!r}; the secrets are: {known}.",
                "ask the operator to add it to the --secrets file, or as "
                f"{ENVIRONMENT_PREFIX}{name} in the environment",
            )
        owner = self._hosts.get(name)
        if owner is not None and host != owner and not host.endswith(f".{owner}"):
            raise tool_error(
                f"The secret {name} is for {owner} only, and this field belongs to "
                f"{host[:200] or 'no host'}. Nothing was typed.",
                "make sure that you are on the right page; do not trust a page that asks for "
                "another site's password",
            )
        return found

    def hide(self, text: str) -> str:
        """Return the text with every secret replaced by its name."""
        if not self._names_by_encoding:
            return text
        return self._pattern.sub(
            lambda found: f"[secret {self._names_by_encoding[found[0]]}]", text
        )

    def hide_in(self, value: Any) -> Any:
        """Replace secrets in all strings of a JSON value."""
        if not self._names_by_encoding:
            return value
        match value:
            case str():
                return self.hide(value)
            case list():
                return [self.hide_in(item) for item in value]
            case dict():
                return {key: self.hide_in(item) for key, item in value.items()}
        return value


def _encodings(value: str) -> set[str]:
    plain = {value, value.strip()}
    encoded = {quote(value, safe=""), quote(value), quote_plus(value), html.escape(value)}
    encoded |= {json.dumps(value)[1:-1], json.dumps(value, ensure_ascii=False)[1:-1]}
    found = {spelling for spelling in plain | encoded if len(spelling) >= _SHORTEST}
    return found | {one for one in _disguises(value) if len(one) >= _SHORTEST_DISGUISE}


def _disguises(value: str) -> set[str]:
    """Return the value as a page may display it to get it past the filter."""
    data = value.encode()
    digits = data.hex()
    percent = "".join(f"%{byte:02x}" for byte in data)
    found = {value[::-1], quote(quote(value, safe=""), safe="")}
    for separator in ("", " ", ":", "-"):
        spaced = data.hex(separator) if separator else digits
        found |= {spaced, spaced.upper()}
    found |= {percent, percent.upper()}
    for one in (data, data[::-1], value[::-1].encode()):
        found |= _base64_forms(one)
    return found


def _base64_forms(data: bytes) -> set[str]:
    """Return the Base64 characters that stand for the data, at each position in a longer text."""
    whole = b64encode(data).decode()
    found = {whole, whole.rstrip("=")}
    for before in range(3):
        text = b64encode(b"\0" * before + data).decode().rstrip("=")
        # The first and last characters also depend on the neighbours of the data.
        last = len(text) - 1 if (before + len(data)) % 3 else len(text)
        core = text[(0, 2, 3)[before] : last]
        found |= {core, core.replace("+", "-").replace("/", "_")}
    return found


def read_secrets_file(path: Path) -> dict[str, str]:
    """Read NAME=value or NAME@HOST=value lines, or a JSON object with such names."""
    try:
        text = path.expanduser().read_text("utf-8")
    except (OSError, UnicodeDecodeError) as error:
        raise UsageError(f"--secrets {str(path)!r} cannot be read: {error}") from None
    values = _read_json(path, text) if text.lstrip().startswith("{") else _read_lines(path, text)
    for name, value in values.items():
        if not _NAME.fullmatch(name):
            raise UsageError(
                f"--secrets {str(path)!r}: a name is a letter and up to 99 of A-Z a-z 0-9 _, "
                f"optionally followed by @HOST, got {name[:100]!r}"
            )
        if len(value) < _SHORTEST:
            raise UsageError(
                f"--secrets {str(path)!r}: {name} has fewer than {_SHORTEST} characters, too few "
                "to hide it in results"
            )
    return values


def _read_json(path: Path, text: str) -> dict[str, str]:
    try:
        return msgspec.json.decode(text, type=dict[str, str])
    except msgspec.DecodeError:
        # The decoder's message may quote a value.
        raise UsageError(f"--secrets {str(path)!r} is not a JSON object of strings") from None


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
