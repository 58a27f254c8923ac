"""Regular expressions with RE2 (linear time), and the words that any match must contain."""

from __future__ import annotations

import re
from typing import Any

import re2

from dovetail import ToolError
from dovetail_vault.replacements import check_length, replace_spans
from dovetail_vault.words import without_surrogates

__all__ = ["Pattern", "compile_pattern"]

_MAX_LENGTH = 1000
_MEMORY = 8 << 20
# A run of literal word characters.
_CLASSES = "bBdDsSwW"
_RUN = re.compile(r"[A-Za-z0-9_]{2,}")
_REFERENCE = re.compile(r"\\(\d)|\\\\")


class Pattern:
    """A compiled expression; `literals` are texts that every match contains, ignoring case."""

    def __init__(self, compiled: Any, literals: list[str]) -> None:
        self._compiled = compiled
        self.literals = literals

    def search(self, line: str) -> bool:
        """Whether a line matches."""
        return self._compiled.search(without_surrogates(line)) is not None

    def spans(self, text: str, most: int) -> list[tuple[int, int]]:
        """Return the spans of the first non-empty matches: each one takes microseconds."""
        sound = without_surrogates(text)
        found: list[tuple[int, int]] = []
        for match in self._compiled.finditer(sound):
            start, end = match.span()
            if len(found) == most:
                break
            if end > start:
                found.append((start, end))
        return found

    def count(self, text: str, most: int) -> int:
        """Return the number of non-empty matches, or `most` if there are more."""
        return len(self.spans(text, most))

    def expand(self, text: str, replacement: str) -> str:
        """Return the text with all matches replaced; `\\1` is the first group."""
        template = _parse_template(replacement)
        matches = self._compiled.finditer(without_surrogates(text))
        found = (match for match in matches if match.end() > match.start())
        return replace_spans(text, ((*match.span(), _fill(template, match)) for match in found))[0]


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


def _parse_template(replacement: str) -> list[str | int]:
    """Split a replacement into texts and numbers of groups."""
    parts: list[str | int] = []
    place = 0
    for reference in _REFERENCE.finditer(replacement):
        parts.append(replacement[place : reference.start()])
        parts.append("\\" if reference[1] is None else int(reference[1]))
        place = reference.end()
    return [*parts, replacement[place:]]


def _fill(template: list[str | int], match: re.Match[str]) -> str:
    try:
        spans = {part: match.span(part) for part in template if isinstance(part, int)}
    except IndexError:
        number = next(part for part in template if isinstance(part, int) and part > match.re.groups)
        raise ToolError(f"The replacement refers to group {number}, which does not exist") from None
    lengths = {part: end - start for part, (start, end) in spans.items()}
    # Before the groups are copied: there may be many references to a long group.
    check_length(sum(len(p) if isinstance(p, str) else lengths[p] for p in template))
    groups = {part: match.group(part) or "" for part in spans}
    return "".join(part if isinstance(part, str) else groups[part] for part in template)


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
