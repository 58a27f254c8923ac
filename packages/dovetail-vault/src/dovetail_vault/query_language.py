"""The query language of search-vault: terms, AND, OR, NOT, quotes, parentheses, fields.

NOT binds tightest, then AND, then OR; a space between two terms means AND. A word before a colon is
a field only if it is a known one, so `http://x` is a term. Syntax errors point at the position.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import NamedTuple

from dovetail import ToolError

__all__ = [
    "FIELDS",
    "And",
    "Node",
    "Not",
    "Or",
    "Term",
    "describe",
    "parse_query",
    "positive_terms",
]

FIELDS = ("title", "content", "tag", "path")
_MAX_TERMS = 100
_MAX_DEPTH = 50
_WORDS = {"AND": "AND", "&&": "AND", "OR": "OR", "||": "OR", "NOT": "NOT"}


@dataclass(frozen=True, slots=True)
class Term:
    """A text to find, anywhere or in one field."""

    field: str
    text: str


@dataclass(frozen=True, slots=True)
class Not:
    """Notes that the inner query does not match."""

    inner: Node


@dataclass(frozen=True, slots=True)
class And:
    """Notes that all parts match."""

    parts: tuple[Node, ...]


@dataclass(frozen=True, slots=True)
class Or:
    """Notes that any part matches."""

    parts: tuple[Node, ...]


Node = Term | Not | And | Or


class _Token(NamedTuple):
    kind: str
    text: str
    field: str
    place: int


def parse_query(text: str) -> Node:
    """Parse a query into a tree. Raises ToolError that shows the position of the error."""
    return _Parser(text).parse()


def describe(node: Node) -> str:
    """Return the parsed query as text, with all operators explicit."""
    match node:
        case Term(field="any", text=text):
            return _quoted(text)
        case Term(field=field, text=text):
            return f"{field}:{_quoted(text)}"
        case Not(inner=inner):
            return f"NOT {describe(inner)}"
        case And(parts=parts):
            return f"({' AND '.join(map(describe, parts))})"
        case Or(parts=parts):
            return f"({' OR '.join(map(describe, parts))})"


def _quoted(text: str) -> str:
    is_odd = (
        any(character.isspace() or character in '()"' for character in text)
        or text in _WORDS
        or text.startswith(("-", "&&", "||"))
        or text.lower().startswith(tuple(f"{field}:" for field in FIELDS))
    )
    return text if not is_odd else '"' + text.replace("\\", "\\\\").replace('"', '\\"') + '"'


def positive_terms(node: Node) -> list[Term]:
    """Return the terms that are not negated."""
    match node:
        case Term():
            return [node]
        case Not(inner=Not(inner=inner)):
            return positive_terms(inner)
        case Not():
            return []
        case And(parts=parts) | Or(parts=parts):
            return [term for part in parts for term in positive_terms(part)]


class _Parser:
    def __init__(self, text: str) -> None:
        self._text = text
        self._tokens = self._read_tokens()
        self._next = 0
        self._depth = 0

    def parse(self) -> Node:
        node = self._or()
        token = self._tokens[self._next]
        if token.kind != "END":
            raise self._error("unmatched closing parenthesis", token.place)
        return node

    # -- tokens ---------------------------------------------------------------------------

    def _read_tokens(self) -> list[_Token]:
        text, place, tokens = self._text, 0, []
        while place < len(text):
            if text[place].isspace():
                place += 1
            elif text[place] in "()":
                tokens.append(_Token(text[place], "", "", place))
                place += 1
            elif text.startswith(("&&", "||"), place):
                tokens.append(_Token(_WORDS[text[place : place + 2]], "", "", place))
                place += 2
            elif text[place] == "-" and place + 1 < len(text) and not text[place + 1].isspace():
                tokens.append(_Token("NOT", "", "", place))
                place += 1
            else:
                token, place = self._read_term(place)
                tokens.append(token)
            if len(tokens) > 4 * _MAX_TERMS:
                raise self._error(f"a query may have at most {_MAX_TERMS} terms", place)
        return [*tokens, _Token("END", "", "", len(text))]

    def _read_term(self, start: int) -> tuple[_Token, int]:
        text, place, field = self._text, start, "any"
        for name in FIELDS:
            if text[start : start + len(name) + 1].lower() == f"{name}:":
                field, place = name, start + len(name) + 1
                break
        if place < len(text) and text[place] == '"':
            value, end = self._read_quoted(place)
            if not value:
                raise self._error("the quotes are empty", place)
            return _Token("TERM", value, field, start), end
        end = place
        while end < len(text) and not text[end].isspace() and text[end] not in '()"':
            end += 1
        value = text[place:end]
        if not value:
            raise self._error(f"a value is missing after {text[start:place]!r}", place)
        if field == "any" and value in _WORDS:
            return _Token(_WORDS[value], "", "", start), end
        return _Token("TERM", value, field, start), end

    def _read_quoted(self, start: int) -> tuple[str, int]:
        text, place = self._text, start + 1
        value: list[str] = []
        while place < len(text):
            character = text[place]
            if character == '"':
                return "".join(value), place + 1
            if character == "\\" and text[place + 1 : place + 2] in ('"', "\\"):
                place += 1
                character = text[place]
            value.append(character)
            place += 1
        raise self._error("this quote is not closed", start)

    # -- grammar --------------------------------------------------------------------------

    def _or(self) -> Node:
        parts = [self._and()]
        while self._tokens[self._next].kind == "OR":
            self._next += 1
            parts.append(self._and())
        return parts[0] if len(parts) == 1 else Or(tuple(parts))

    def _and(self) -> Node:
        parts = [self._not()]
        while self._tokens[self._next].kind not in ("OR", ")", "END"):
            if self._tokens[self._next].kind == "AND":
                self._next += 1
            parts.append(self._not())
        return parts[0] if len(parts) == 1 else And(tuple(parts))

    def _not(self) -> Node:
        token = self._tokens[self._next]
        if token.kind == "NOT":
            self._next += 1
            self._enter(token.place)
            node = Not(self._not())
            self._depth -= 1
            return node
        return self._operand()

    def _operand(self) -> Node:
        token = self._tokens[self._next]
        self._next += 1
        if token.kind == "TERM":
            return Term(token.field, token.text)
        if token.kind == "(":
            self._enter(token.place)
            node = self._or()
            self._depth -= 1
            closing = self._tokens[self._next]
            if closing.kind != ")":
                raise self._error("this parenthesis is not closed", token.place)
            self._next += 1
            return node
        found = {"END": "the end of the query", ")": "')'"}.get(token.kind, token.kind)
        raise self._error(f"expected a term, got {found}", token.place)

    def _enter(self, place: int) -> None:
        self._depth += 1
        if self._depth > _MAX_DEPTH:
            raise self._error(f"nesting is limited to {_MAX_DEPTH} levels", place)

    def _error(self, problem: str, place: int) -> ToolError:
        # Show only the part of a long query around the position.
        start = max(0, place - 60)
        shown = self._text[start : place + 30].replace("\n", " ").replace("\t", " ")
        return ToolError(
            f"Invalid query at character {place + 1}: {problem}\n"
            f"  {shown}\n  {' ' * (place - start)}^"
        )
