"""Regular expressions with RE2 (linear time), and the words that any match must contain."""

from __future__ import annotations

import re
from typing import Any

import re2

from dovetail import ToolError
from dovetail_vault.words import without_surrogates

__all__ = ["Pattern", "compile_pattern"]

_MAX_LENGTH = 1000
_MEMORY = 8 << 20
# A run of literal word characters.
_CLASSES = "bBdDsSwW"
_RUN = re.compile(r"[A-Za-z0-9_]{2,}")


class Pattern:
    """A compiled expression; `literals` are texts that every match contains, ignoring case."""

    def __init__(self, compiled: Any, literals: list[str]) -> None:
        self._compiled = compiled
        self.literals = literals

    def search(self, line: str) -> bool:
        """Whether a line matches."""
        return self._compiled.search(without_surrogates(line)) is not None

    def spans(self, text: str) -> list[tuple[int, int]]:
        """Return the spans of all non-empty matches."""
        sound = without_surrogates(text)
        found = [match.span() for match in self._compiled.finditer(sound)]
        return [(start, end) for start, end in found if end > start]

    def expand(self, text: str, replacement: str) -> tuple[str, int]:
        """Return the text with all matches replaced, and their number; `\\1` is the first group."""
        spans = list(self._compiled.finditer(without_surrogates(text)))
        pieces, place, count = [], 0, 0
        for match in spans:
            if match.end() == match.start():
                continue
            pieces += [text[place : match.start()], _fill(replacement, match)]
            place = match.end()
            count += 1
        return "".join([*pieces, text[place:]]), count


def compile_pattern(text: str, *, case_sensitive: bool, several_lines: bool = False) -> Pattern:
    """Compile a pattern. Raises ToolError if RE2 does not accept it."""
    if len(text) > _MAX_LENGTH:
        raise ToolError(
            f"The regular expression has {len(text)} characters; at most {_MAX_LENGTH} are allowed"
        )
    options = re2.Options()
    options.case_sensitive = case_sensitive
    options.max_mem = _MEMORY
    options.log_errors = False
    source = f"(?m){text}" if several_lines else text
    try:
        compiled = re2.compile(source, options=options)
    except re2.error as error:
        reason = error.args[0] if error.args else error
        reason = reason.decode(errors="replace") if isinstance(reason, bytes) else reason
        raise ToolError(
            f"Invalid regular expression {text[:200]!r}: {reason}. The syntax is RE2: no "
            "look-around, no back references"
        ) from None
    return Pattern(compiled, _required(text))


def _fill(replacement: str, match: re.Match[str]) -> str:
    def group(reference: re.Match[str]) -> str:
        if reference[0] == "\\\\":
            return "\\"
        try:
            return match.group(int(reference[1])) or ""
        except IndexError:
            raise ToolError(
                f"The replacement refers to group {reference[1]}, which does not exist"
            ) from None

    return re.sub(r"\\(\d)|\\\\", group, replacement)


def _required(pattern: str) -> list[str]:
    """Return words that every match contains; stops at syntax that it does not understand."""
    if "|" in pattern or "(?" in pattern:
        return []
    found: list[str] = []
    depth = place = 0
    while place < len(pattern):
        character = pattern[place]
        if character in "[{" or (
            character == "\\"
            and pattern[place + 1 : place + 2].isalnum()
            and pattern[place + 1] not in _CLASSES
        ):
            break
        if character == "\\":
            place += 2
            continue
        depth += (character == "(") - (character == ")")
        run = _RUN.match(pattern, place)
        if run is None:
            place += 1
            continue
        # A quantifier can make only the last character optional.
        end = run.end() - (pattern[run.end() : run.end() + 1] in ("?", "*", "{"))
        if depth == 0 and end - place >= 2:
            found.append(pattern[place:end])
        place = run.end()
    return found
