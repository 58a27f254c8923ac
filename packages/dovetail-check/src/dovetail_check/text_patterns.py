"""Generates a text that matches a regular expression of literals, classes and repeats.

Other features (look-around, back-references, properties) raise UnknownPatternError.
"""

from __future__ import annotations

__all__ = ["UnknownPatternError", "text_for"]

_CLASSES = {"d": "0123456789", "w": "abcdefghijklmnopqrstuvwxyz0123456789_", "s": " "}
_OUTSIDE = {"D": "a", "W": "-", "S": "a"}
_CONTROLS = {"n": "\n", "t": "\t", "r": "\r", "f": "\f", "v": "\v", "0": "\0"}
# Candidates for a negated class.
_USUAL = "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789-_ ./:@"


class UnknownPatternError(Exception):
    """The pattern uses an unsupported feature."""


def text_for(pattern: str, *, extra: int = 0, branch: int = 0) -> str:
    """Return a matching text; `extra` adds repetitions, `branch` selects an alternative."""
    reader = _Reader(pattern, extra, branch)
    text = reader.alternatives()
    if reader.at < len(pattern):
        raise UnknownPatternError(f"{pattern!r} has an unexpected character at {reader.at}")
    return text


class _Reader:
    """A recursive descent parser that returns a matching text."""

    def __init__(self, pattern: str, extra: int, branch: int) -> None:
        self._pattern = pattern
        self._extra = extra
        self._branch = branch
        self.at = 0

    def _peek(self) -> str:
        return self._pattern[self.at : self.at + 1]

    def _next(self) -> str:
        char = self._peek()
        if not char:
            raise UnknownPatternError(f"{self._pattern!r} ends too early")
        self.at += 1
        return char

    def alternatives(self) -> str:
        made = [self._sequence()]
        while self._peek() == "|":
            self.at += 1
            made.append(self._sequence())
        return made[self._branch % len(made)]

    def _sequence(self) -> str:
        text = ""
        while self._peek() not in ("", "|", ")"):
            text += self._repeated()
        return text

    def _repeated(self) -> str:
        piece = self._atom()
        least, most = 1, 1
        char = self._peek()
        if char and char in "*+?":
            self.at += 1
            least, most = {"*": (0, -1), "+": (1, -1), "?": (0, 1)}[char]
        elif char == "{" and self._peek_counts():
            least, most = self._counts()
        if self._peek() == "?" and (least, most) != (1, 1):
            # Laziness does not change which texts match.
            self.at += 1
        wanted = least + self._extra
        return piece * (wanted if most == -1 else min(wanted, most))

    def _peek_counts(self) -> bool:
        inside = self._pattern[self.at + 1 :].partition("}")[0]
        return bool(inside) and set(inside) <= set("0123456789,") and inside[0] != ","

    def _counts(self) -> tuple[int, int]:
        inside, _, _ = self._pattern[self.at + 1 :].partition("}")
        self.at += len(inside) + 2
        least, comma, most = inside.partition(",")
        if len(least) > 4:
            raise UnknownPatternError(f"{self._pattern!r} repeats too often")
        return int(least), int(most) if most else (-1 if comma else int(least))

    def _atom(self) -> str:
        char = self._next()
        if char in "^$":
            return ""
        if char == ".":
            return "a"
        if char == "[":
            return self._set()
        if char == "(":
            return self._group()
        if char == "\\":
            return self._escaped()
        if char in "*+?":
            raise UnknownPatternError(f"{self._pattern!r} repeats nothing")
        return char

    def _group(self) -> str:
        if self._peek() == "?":
            self.at += 1
            if self._next() != ":":
                raise UnknownPatternError(f"{self._pattern!r} uses look-around or named groups")
        text = self.alternatives()
        if self._next() != ")":
            raise UnknownPatternError(f"{self._pattern!r} has an unclosed group")
        return text

    def _escaped(self) -> str:
        char = self._next()
        if char == "b":
            return ""
        if char in _CLASSES:
            return _CLASSES[char][0]
        if char in _OUTSIDE:
            return _OUTSIDE[char]
        return self._single(char)

    def _single(self, char: str) -> str:
        if char in _CONTROLS:
            return _CONTROLS[char]
        if char in "xu":
            digits = self._pattern[self.at : self.at + (2 if char == "x" else 4)]
            try:
                code = int(digits, 16)
            except ValueError:
                raise UnknownPatternError(f"{self._pattern!r} has an invalid escape") from None
            self.at += len(digits)
            return chr(code)
        if char.isalnum():
            raise UnknownPatternError(f"{self._pattern!r} uses \\{char}")
        return char

    def _set(self) -> str:
        is_negated = self._peek() == "^"
        self.at += is_negated
        allowed: list[str] = []
        while (char := self._next()) != "]":
            allowed += self._members(char)
        if is_negated:
            fitting = [one for one in _USUAL if one not in allowed]
        else:
            # Prefer letters and digits.
            fitting = sorted(allowed, key=lambda one: not (one.isascii() and one.isalnum()))
        if not fitting:
            raise UnknownPatternError(f"{self._pattern!r} has an empty class")
        return fitting[0]

    def _members(self, char: str) -> list[str]:
        if char == "\\":
            char = self._next()
            if char in _CLASSES:
                return list(_CLASSES[char])
            if char in _OUTSIDE:
                return [_OUTSIDE[char]]
            char = "\b" if char == "b" else self._single(char)
        ahead = self._pattern[self.at : self.at + 2]
        if len(ahead) < 2 or ahead[0] != "-" or ahead[1] == "]":
            return [char]
        self.at += 1
        last = self._next()
        if last == "\\":
            last = self._single(self._next())
        return [chr(code) for code in range(ord(char), min(ord(last), ord(char) + 255) + 1)]
