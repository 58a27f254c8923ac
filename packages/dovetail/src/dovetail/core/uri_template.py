"""URI templates of resources: the part of RFC 6570 that is used in practice.

`{id}` stands for one path segment, `{path*}` and `{+path}` run over slashes, `{?q,limit}` and
`{&x}` are query parameters that may be absent, `?q={q}` is one that may not. Literal text is
compared as written. This module works on strings; it does not depend on resources or handlers.

A URI of another shape does not match (`None`). A URI of the right shape with a dangerous value is
rejected (`UnsafeValue`), so that a handler which joins the value to a directory stays inside it.
Values are percent-decoded exactly once. `%252e%252e` therefore becomes the text `%2e%2e`, which is
harmless unless the handler decodes it a second time, and is accepted.
"""

from __future__ import annotations

import enum
import re
from collections.abc import Iterator, Mapping, Sequence
from typing import Final, NamedTuple
from urllib.parse import quote, unquote_to_bytes

from dovetail.errors import UsageError

__all__ = ["UnsafeValue", "UriTemplate", "is_template", "is_uri"]

# resources.uri.rfc3986: a scheme, a colon, and no blanks or control characters
_URI: Final = re.compile(r"[A-Za-z][A-Za-z0-9+.-]*:[^\x00-\x20\x7f<>\"{}|\\^`]*")

# Names become parameters of a Python function, so they are narrower than RFC 6570's varname.
_NAME: Final = r"[A-Za-z_][A-Za-z0-9_]*"
_VARIABLE: Final = re.compile(rf"\{{(?:\+(?P<over>{_NAME})|(?P<name>{_NAME})(?P<star>\*)?)\}}")
# RFC 3986 unreserved, reserved without "?", and percent-encoded bytes. Some clients encode other
# characters and some do not, so they cannot be compared with literal text.
_LITERAL: Final = re.compile(r"(?:[A-Za-z0-9\-._~:/#\[\]@!$&'()*+,;=]|%[0-9A-Fa-f]{2})+")
_QUERY_LIST: Final = re.compile(rf"\{{(?P<mark>[?&])(?P<names>{_NAME}(?:,{_NAME})*)\}}")
_QUERY_PAIR: Final = re.compile(
    r"(?P<mark>[?&])(?P<key>[A-Za-z0-9\-._~]+)="
    rf"(?:\{{(?P<name>{_NAME})\}}|(?P<fixed>(?:[A-Za-z0-9\-._~:/@!$'()*+,;]|%[0-9A-Fa-f]{{2}})*))"
)
_SUPPORTED: Final = "{name}, {name*}, {+name}, {?a,b} at the end and {&c} behind a '?'"

_BAD_ESCAPE: Final = re.compile(r"%(?![0-9A-Fa-f]{2})")
# A drive letter counts too: on Windows, joining it to a directory leaves the directory.
_ABSOLUTE: Final = re.compile(r"[/\\]|[A-Za-z]:[/\\]")
# RFC 3986 pchar and "/": not encoded in a path.
_PATH_SAFE: Final = "/:@!$&'()*+,;="


class UnsafeValue(ValueError):
    """The URI matches the template, but the value is dangerous for a handler."""

    def __init__(self, variable: str, reason: str) -> None:
        self.variable = variable
        self.reason = reason
        super().__init__(f"The value of {variable!r} {reason}")


class UriTemplate:
    """A parsed template: `match` reads values from a URI, `expand` makes a URI from values."""

    __slots__ = ("_path", "_places", "_query", "optional", "text", "variables")

    def __init__(self, text: str) -> None:
        parser = _Parser(text)
        self._path = _Path(parser.read_path())
        self._query = _Query(parser.read_query())
        self._places = parser.places
        if not self._places:
            raise UsageError(f"The URI template {text!r} has no variable; register it as a URI")
        self.text: Final = text
        self.variables: Final = tuple(self._places)
        self.optional: Final[frozenset[str]] = self._query.optional

    def __repr__(self) -> str:
        return f"UriTemplate({self.text!r})"

    def is_same_as(self, other: UriTemplate) -> bool:
        """Whether both match the same URIs: they differ in the names of variables at most."""
        return self._path.shape == other._path.shape and self._query.shape == other._query.shape

    def match(self, uri: str) -> dict[str, str] | None:
        """Return the decoded values, None if the URI does not match.

        Query parameters may be in any order; a URI with one that the template does not have does
        not match. If a segment has two variables, the first one is as short as possible; a
        variable over slashes is as long as possible.

        Raises:
            UnsafeValue: a value leaves its directory, is badly encoded or is given twice.
        """
        path, mark, query = uri.partition("?")
        in_path = self._path.match(path)
        if in_path is None:
            return None
        # A bare "?" gives one empty item, which no template has.
        in_query = self._query.match(query.split("&") if mark else [])
        if in_query is None:
            return None
        raw = in_path | in_query
        return {n: _decode(n, raw[n], place) for n, place in self._places.items() if n in raw}

    def expand(self, values: Mapping[str, str]) -> str:
        """Return the URI for these values; `match` returns the same values for it.

        Raises:
            UsageError: a name is missing or unknown, or `match` would return other values.
            UnsafeValue: `match` would reject a value.
        """
        self._check_names(values)
        uri = "".join(self._path.expand(values))
        if items := list(self._query.expand(values)):
            uri += "?" + "&".join(items)
        # Simpler than rules for which text may be next to which variable.
        if self.match(uri) != dict(values):
            raise UsageError(
                f"{self.text!r} cannot represent {dict(values)!r}: {uri!r} has other values"
            )
        return uri

    def _check_names(self, values: Mapping[str, str]) -> None:
        unknown = [name for name in values if name not in self._places]
        missing = [n for n in self.variables if n not in values and n not in self.optional]
        if unknown or missing:
            raise UsageError(
                f"{self.text!r} takes {', '.join(self.variables)}; "
                f"missing: {', '.join(missing) or 'none'}, unknown: {', '.join(unknown) or 'none'}"
            )


def is_template(text: str) -> bool:
    """Whether the text is a template and not the URI of one resource."""
    return "{" in text


def is_uri(text: str) -> bool:
    """Whether the text is a valid URI."""
    return _URI.fullmatch(text) is not None


class _Place(enum.Enum):
    """The place of a variable, which decides what its value may contain."""

    SEGMENT = enum.auto()
    PATH = enum.auto()
    QUERY = enum.auto()


class _Variable(NamedTuple):
    name: str
    place: _Place


class _Field(NamedTuple):
    """One `key=...` of the query: a variable, or fixed text."""

    key: str
    variable: str | None
    fixed: str = ""
    is_optional: bool = False

    def accepts(self, raw: str | None) -> bool:
        if raw is None:
            return self.is_optional
        return self.variable is not None or raw == self.fixed


class _Path:
    """Everything before the query, matched from both ends towards one variable, the pivot.

    The pivot is the variable over slashes, or else the last one. The pieces before it are matched
    from the start of the text, the pieces after it from the end, and the pivot gets the rest. A
    single regular expression would try all ways to split the text between the variables, which
    takes polynomial time for a malicious URI.
    """

    __slots__ = ("_after", "_before", "_pieces", "_pivot")

    def __init__(self, pieces: Sequence[str | _Variable]) -> None:
        self._pieces = pieces
        variables = [piece for piece in pieces if isinstance(piece, _Variable)]
        over_slashes = [variable for variable in variables if variable.place is _Place.PATH]
        self._pivot = next(iter(over_slashes or variables[-1:]), None)
        split = len(pieces) if self._pivot is None else pieces.index(self._pivot)
        self._before = _compile_run(pieces[:split])
        # Reversed, because lazy groups have to start where the text is anchored.
        self._after = _compile_run([_reversed(piece) for piece in pieces[:split:-1]])

    @property
    def shape(self) -> list[str | _Place]:
        """The pieces without the names of the variables."""
        return [piece if isinstance(piece, str) else piece.place for piece in self._pieces]

    def match(self, path: str) -> dict[str, str] | None:
        before = self._before.match(path)
        if before is None:
            return None
        after = self._after.match(path[::-1])
        if after is None:
            return None
        rest = path[before.end() : len(path) - after.end()]
        if self._pivot is None:
            return None if rest else {}
        is_foreign = "#" in rest or (self._pivot.place is _Place.SEGMENT and "/" in rest)
        if not rest or is_foreign:
            return None
        behind = {name: raw[::-1] for name, raw in after.groupdict().items()}
        return {**before.groupdict(), self._pivot.name: rest, **behind}

    def expand(self, values: Mapping[str, str]) -> Iterator[str]:
        for piece in self._pieces:
            if isinstance(piece, str):
                yield piece
            else:
                safe = _PATH_SAFE if piece.place is _Place.PATH else ""
                yield _encode(piece.name, values[piece.name], safe)


class _Query:
    """The parameters after the `?`."""

    __slots__ = ("_fields", "optional")

    def __init__(self, fields: Mapping[str, _Field]) -> None:
        self._fields = fields
        self.optional = frozenset(
            f.variable for f in fields.values() if f.variable and f.is_optional
        )

    @property
    def shape(self) -> set[_Field]:
        """The fields without the names of the variables."""
        return {f._replace(variable="" if f.variable else None) for f in self._fields.values()}

    def match(self, items: Sequence[str]) -> dict[str, str] | None:
        raw: dict[str, str] = {}
        repeated: _Field | None = None
        for item in items:
            key, _, value = item.partition("=")
            if key not in self._fields or "#" in value:
                return None
            if key in raw:
                repeated = self._fields[key]
            raw[key] = value
        fields = self._fields.values()
        if not all(field.accepts(raw.get(field.key)) for field in fields):
            return None
        if repeated is not None:
            # A proxy and a handler could disagree on which of the two counts.
            raise UnsafeValue(repeated.variable or repeated.key, "is given more than once")
        return {f.variable: raw[f.key] for f in fields if f.variable and f.key in raw}

    def expand(self, values: Mapping[str, str]) -> Iterator[str]:
        for field in self._fields.values():
            if field.variable is None:
                yield f"{field.key}={field.fixed}"
            elif field.variable in values:
                yield f"{field.key}={_encode(field.variable, values[field.variable], safe='')}"


class _Parser:
    """Parses a template from left to right; `places` is filled in that order."""

    def __init__(self, text: str) -> None:
        self._text = text
        self._position = 0
        mark = text.find("?")
        self._path_end = len(text) if mark < 0 else mark - text[:mark].endswith("{")
        self.places: dict[str, _Place] = {}

    def read_path(self) -> list[str | _Variable]:
        pieces: list[str | _Variable] = []
        while self._position < self._path_end:
            if found := _LITERAL.match(self._text, self._position, self._path_end):
                pieces.append(found[0])
            elif found := _VARIABLE.match(self._text, self._position, self._path_end):
                if pieces and isinstance(pieces[-1], _Variable):
                    raise self._malformed("is a variable directly after another variable")
                pieces.append(self._path_variable(found))
            else:
                raise self._malformed(self._what_is_wrong())
            self._position = found.end()
        return pieces

    def read_query(self) -> dict[str, _Field]:
        """Return the fields by key."""
        fields: dict[str, _Field] = {}
        while self._position < len(self._text):
            found = _QUERY_LIST.match(self._text, self._position) or _QUERY_PAIR.match(
                self._text, self._position
            )
            if found is None:
                raise self._malformed(self._what_is_wrong())
            if fields and found["mark"] == "?":
                raise self._malformed("is a second '?'; use '&'")
            for field in _fields_of(found.groupdict()):
                if field.key in fields:
                    raise self._malformed(f"names {field.key!r} a second time")
                if field.variable:
                    self._declare(field.variable, _Place.QUERY)
                fields[field.key] = field
            self._position = found.end()
        return fields

    def _path_variable(self, found: re.Match[str]) -> _Variable:
        place = _Place.PATH if found["over"] or found["star"] else _Place.SEGMENT
        if place is _Place.PATH and place in self.places.values():
            raise self._malformed("is a second variable over slashes; only one is allowed")
        variable = _Variable(found["over"] or found["name"], place)
        self._declare(*variable)
        return variable

    def _declare(self, name: str, place: _Place) -> None:
        if name in self.places:
            raise self._malformed(f"names {name!r} a second time")
        self.places[name] = place

    def _what_is_wrong(self) -> str:
        rest = self._text[self._position :]
        if rest.startswith("{"):
            if "}" in rest:
                return f"is an unsupported expression; supported are {_SUPPORTED}"
            return "is a '{' that is never closed"
        if self._position < self._path_end:
            return f"is {rest[0]!r}, which does not belong in a URI; percent-encode it"
        return "is not a query parameter: '&key=text', '&key={name}' or '{&name}'"

    def _malformed(self, what: str) -> UsageError:
        return UsageError(f"URI template {self._text!r}: position {self._position} {what}")


def _fields_of(groups: Mapping[str, str | None]) -> Iterator[_Field]:
    if names := groups.get("names"):
        for name in names.split(","):
            yield _Field(name, name, is_optional=True)
    else:
        yield _Field(groups["key"] or "", groups["name"], groups["fixed"] or "")


def _reversed(piece: str | _Variable) -> str | _Variable:
    return piece[::-1] if isinstance(piece, str) else piece


def _compile_run(pieces: Sequence[str | _Variable]) -> re.Pattern[str]:
    """Compile literals and segment variables, each variable as short as possible.

    The first match of a literal is always right: a later one only moves text from one variable to
    the next. So each group is atomic, as in `fnmatch.translate`, and matching takes linear time.
    """
    source = closing = ""
    for piece in pieces:
        if isinstance(piece, _Variable):
            source += f"(?>(?P<{piece.name}>[^/#]+?)"
            closing = ")"
        else:
            source += re.escape(piece) + closing
            closing = ""
    return re.compile(source)


def _decode(name: str, raw: str, place: _Place) -> str:
    if _BAD_ESCAPE.search(raw):
        raise UnsafeValue(name, "has a '%' without two hexadecimal digits")
    try:
        value = unquote_to_bytes(raw).decode("utf-8")
    except UnicodeError:
        raise UnsafeValue(name, "is not UTF-8") from None
    if reason := _danger_of(value, place):
        raise UnsafeValue(name, reason)
    return value


def _danger_of(value: str, place: _Place) -> str | None:
    """Return why the value is dangerous, None if it is not.

    A backslash counts as a slash, because it is one on Windows. `..` is rejected in queries too,
    since they may contain paths; other slashes are allowed there.
    """
    segments = value.replace("\\", "/").split("/")
    if "\0" in value:
        return "holds a NUL character"
    if ".." in segments:
        return "climbs out with '..'"
    if place is _Place.SEGMENT and len(segments) > 1:
        return "holds an encoded slash, but stands for one segment"
    if place is _Place.PATH and _ABSOLUTE.match(value):
        return "is an absolute path"
    return None


def _encode(name: str, value: str, safe: str) -> str:
    try:
        return quote(value, safe=safe)
    except UnicodeError:
        raise UnsafeValue(name, "is not UTF-8") from None
