"""What is wrong with a value, place by place and in words.

jsonschema-rs decides whether a whole value is valid, and about the rules at each place. Its list of
errors is not used: it follows every branch of a union again for every branch above, which takes
minutes for a recursive schema. Here each schema is checked once at each place.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from typing import Annotated, Any, NamedTuple

from msgspec import Meta

from dovetail.console.forms.form_schema import FormSchema, rules_of
from dovetail.console.forms.json_text import key_of, listed, text_of
from dovetail.console.forms.kinds import item_schema, property_schema
from dovetail.console.forms.merging import parts_of, resolve
from dovetail.console.forms.simple_schema import Schema
from dovetail.console.forms.words import describe_type, label_of, limit_text

__all__ = ["Checker", "Fault", "Path", "TooLargeError", "closest"]

Path = tuple[str | Annotated[int, Meta(ge=0)], ...]
_MAX_STEPS = 200_000
_MAX_DEPTH = 150
_MISFIT, _OTHER_VALUE = 1000, 100
_WITH_CONTENT = {"enum", "const", "uniqueItems"}

FORMATS = {
    "date": "a date such as 2026-01-31",
    "time": "a time such as 14:30:00Z",
    "date-time": "a time such as 2026-01-31T14:30:00Z",
    "email": "an email address",
    "uri": "a URL with a scheme, such as https://example.com",
    "uuid": "a UUID",
    "ipv4": "an IPv4 address",
    "ipv6": "an IPv6 address",
    "hostname": "a host name",
}


class TooLargeError(Exception):
    """The value or the schema is too large to be checked place by place."""


class Fault(NamedTuple):
    """An error; the rank says how far the value is from what was meant."""

    path: Path
    message: str
    rank: int = 1


class Checker:
    """Checks one value. `holes` are the places that are not filled in or not readable yet."""

    def __init__(self, form: FormSchema, value: Any, holes: Iterable[Path] = ()) -> None:
        self.form = form
        self.value = value
        self.holes = frozenset(holes)
        self._known: dict[tuple[int, Path], list[Fault]] = {}

    def faults(self) -> list[Fault]:
        """The errors of the whole value, without those of holes; raises TooLargeError."""
        is_valid = None if self.holes else self.form.accepts(self.value)
        if is_valid:
            return []
        found = self.find(self.form.root, self.value, ())
        if not found and is_valid is False:
            return [Fault((), "does not match the schema")]
        return list({fault[:2]: fault for fault in found}.values())

    def fits(self, schema: Schema | bool, value: Any, path: Path) -> bool:
        """Whether the value at a place is valid for a part of the schema."""
        return not self.find(schema, value, path)

    def has_holes(self, path: Path) -> bool:
        """Whether something at a place or below is not filled in or not readable yet."""
        return any(hole[: len(path)] == path for hole in self.holes)

    def resolve(self, schema: Schema | bool, value: Any, path: Path) -> Schema:
        """One schema for drawing, with the conditions that the value meets."""
        if path in self.holes:
            return resolve(self.form, schema)
        return resolve(self.form, schema, value, lambda part: self.fits(part, value, path))

    def find(self, schema: Schema | bool, value: Any, path: Path) -> list[Fault]:
        """The errors at a place and below; raises TooLargeError."""
        if schema is True or path in self.holes:
            return []
        if not isinstance(schema, dict):
            return [Fault(path, "is not allowed", _MISFIT)]
        key = (id(schema), path)
        if key not in self._known:
            if len(self._known) > _MAX_STEPS or len(path) > _MAX_DEPTH:
                raise TooLargeError
            # A reference that leads to itself at the same place adds nothing.
            self._known[key] = []
            # Two schemas may find the same error, which would double it at every level.
            self._known[key] = list(dict.fromkeys(self._check(schema, value, path)))
        return self._known[key]

    def _check(self, schema: Schema, value: Any, path: Path) -> Iterator[Fault]:
        for part in parts_of(self.form, schema, value, lambda test: self.fits(test, value, path)):
            yield from self.find(part, value, path)
        yield from self._check_rules(schema, value, path)
        for keyword in ("anyOf", "oneOf"):
            if keyword in schema:
                yield from self._check_union(schema[keyword], value, path, keyword == "oneOf")
        if "not" in schema and self.fits(schema["not"], value, path):
            yield Fault(path, f"must not be this: {describe_type(self.form, schema['not'])}")
        if isinstance(value, dict):
            yield from self._check_members(schema, value, path)
        elif isinstance(value, list):
            yield from self._check_items(schema, value, path)

    def _check_rules(self, schema: Schema, value: Any, path: Path) -> Iterator[Fault]:
        rules = rules_of(self.form, schema)
        if rules is None:
            return
        # The rules of a container need its size and its names, not what is in it.
        if not _WITH_CONTENT & schema.keys():
            if isinstance(value, dict):
                value = dict.fromkeys(value)
            elif isinstance(value, list):
                value = [None] * len(value)
        if rules.is_valid(value):
            return
        for error in rules.iter_errors(value):
            keyword = str(error.schema_path[0])
            if keyword == "required":
                yield Fault((*path, error.kind.value), "is required")
            elif keyword == "uniqueItems":
                yield from self._find_doubles(value, path)
            else:
                rank = {"type": _MISFIT, "enum": _OTHER_VALUE, "const": _OTHER_VALUE}
                text = _message(keyword, schema[keyword])
                yield Fault(path, text, rank.get(keyword, 1))

    def _find_doubles(self, value: list[Any], path: Path) -> Iterator[Fault]:
        seen: set[bytes] = set()
        for index, item in enumerate(value):
            place = (*path, index)
            if place not in self.holes:
                key = key_of(item)
                if key in seen:
                    yield Fault(place, "is there twice")
                seen.add(key)

    def _check_union(
        self, branches: list[Any], value: Any, path: Path, is_exclusive: bool
    ) -> Iterator[Fault]:
        results = [self.find(branch, value, path) for branch in branches]
        fitting = [branch for branch, found in zip(branches, results, strict=True) if not found]
        if fitting:
            if is_exclusive and len(fitting) > 1:
                labels = ", ".join(label_of(self.form, branch) for branch in fitting)
                yield Fault(path, f"must fit only one of: {labels}")
            return
        # Report the closest branch, or all of their types if none has the type of the value.
        found = results[closest(results, path)]
        if any(fault.rank >= _OTHER_VALUE and fault.path == path for fault in found):
            words = describe_type(self.form, self._union_of(branches))
            yield Fault(path, f"must be {words}", found[0].rank)
        else:
            yield from found

    def _union_of(self, branches: list[Any]) -> Schema:
        key = ("union", id(branches))
        if key not in self.form.results:
            self.form.results[key] = (branches, {"anyOf": branches})
        union: Schema = self.form.results[key][1]
        return union

    def _check_members(self, schema: Schema, value: dict[str, Any], path: Path) -> Iterator[Fault]:
        names = schema.get("propertyNames", True)
        for name, member in value.items():
            if names is not True:
                # No item has the index -1: the name is another value than the member.
                for fault in self.find(names, name, (*path, name, -1)):
                    yield Fault((*path, name), f"has a name that {fault.message}")
            yield from self.find(property_schema(self.form, schema, name), member, (*path, name))

    def _check_items(self, schema: Schema, value: list[Any], path: Path) -> Iterator[Fault]:
        if "contains" in schema:
            yield from self._check_contained(schema, value, path)
        for index, item in enumerate(value):
            yield from self.find(item_schema(schema, index), item, (*path, index))

    def _check_contained(self, schema: Schema, value: list[Any], path: Path) -> Iterator[Fault]:
        part, least = schema["contains"], schema.get("minContains", 1)
        most = schema.get("maxContains", len(value))
        count = sum(self.fits(part, item, (*path, index)) for index, item in enumerate(value))
        limit = ("minItems", least) if count < least else ("maxItems", most)
        if not least <= count <= most:
            words = describe_type(self.form, part)
            yield Fault(path, f"must have {limit_text(*limit)} of this kind: {words}")


def closest(results: list[list[Fault]], path: Path) -> int:
    """The index of the result with the least errors; those below a place count less."""
    scores = [
        sum(fault.rank if fault.path == path else min(fault.rank, _OTHER_VALUE) for fault in found)
        for found in results
    ]
    return scores.index(min(scores))


_MESSAGES: dict[str, Callable[[Any], str]] = {
    "type": lambda names: " or ".join([names] if isinstance(names, str) else names),
    "enum": lambda values: f"one of {listed(values, 8)}",
    "const": lambda value: text_of(value) or "empty",
    "format": lambda name: FORMATS.get(name, f"a value of the format {name}"),
}


def _message(keyword: str, rule: Any) -> str:
    if keyword == "pattern":
        return f"must match the pattern {rule}"
    if words := limit_text(keyword, rule):
        return f"must {'have' if words[-1].isalpha() else 'be'} {words}"
    return f"must be {_MESSAGES[keyword](rule)}"
