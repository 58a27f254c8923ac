"""Python types for JSON Schemas: dataclasses for objects, Literal for enums, unions."""

from __future__ import annotations

import json
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from typing import Any, TypeAlias

from dovetail.cli.python_names import RESERVED, class_name, literal, make_unique
from dovetail.schema import choices, find, inner_schemas, resolve, variants

__all__ = ["ClassType", "Member", "SchemaTypes"]

# The members of a union, as source text.
Alternatives: TypeAlias = tuple[str, ...]

_SCALARS = {"string": "str", "integer": "int", "number": "float", "boolean": "bool", "null": "None"}
_ANY = ("Any",)


@dataclass(slots=True)
class Member:
    """A field of a class: its JSON name, its type, and its default as source text, if any."""

    name: str
    type: str
    default: str | None
    description: str


@dataclass(slots=True)
class ClassType:
    """A dataclass for an object schema."""

    name: str
    description: str
    members: list[Member] = field(default_factory=list)


class SchemaTypes:
    """Collects the classes of many schemas; equal schemas with equal names share a class."""

    def __init__(self) -> None:
        # All names of the module.
        self.names: set[str] = set(RESERVED)
        self._classes: dict[str, ClassType] = {}
        self._open_refs: list[Mapping[str, Any]] = []

    @property
    def classes(self) -> list[ClassType]:
        """All classes, by their names."""
        return sorted(self._classes.values(), key=lambda each: each.name)

    def describe(self, schema: Any, root: Mapping[str, Any], hint: str) -> str:
        """The type of a schema as source text; `hint` names its class unless it has a title."""
        return " | ".join(self._alternatives(schema, root, hint))

    def add_class(self, schema: Mapping[str, Any], root: Mapping[str, Any], name: str) -> str:
        """The name of the class for an object schema with members, whatever its title."""
        return self._class_of({**schema, "title": name}, root, name)

    def _alternatives(self, schema: Any, root: Mapping[str, Any], hint: str) -> Alternatives:
        if not isinstance(schema, Mapping):
            return _ANY
        if "$ref" in schema:
            return self._referred(schema, root)
        if "const" in schema or "enum" in schema:
            values = [choice.value for choice in choices(schema, root)]
            return _literals(values) or self._plain(schema, root, hint)
        branches = [branch for branch, _ in variants(schema, root) if not isinstance(branch, str)]
        if branches:
            return self._union(branches, root, hint)
        if schema.get("allOf"):
            return self._merged(schema, root, hint)
        return self._plain(schema, root, hint)

    def _referred(self, schema: Mapping[str, Any], root: Mapping[str, Any]) -> Alternatives:
        target = resolve({"$ref": schema["$ref"]}, root)
        # Only a class can contain itself.
        if target in self._open_refs and not target.get("properties"):
            return _ANY
        self._open_refs.append(target)
        try:
            return self._alternatives(target, root, class_name(schema["$ref"].rpartition("/")[2]))
        finally:
            self._open_refs.pop()

    def _union(self, branches: list[Any], root: Mapping[str, Any], hint: str) -> Alternatives:
        has_choice = sum(branch != {"type": "null"} for branch in branches) > 1
        return _unite(
            self._alternatives(branch, root, f"{hint}{number}" if has_choice else hint)
            for number, branch in enumerate(branches, 1)
        )

    def _merged(
        self, schema: Mapping[str, Any], root: Mapping[str, Any], hint: str
    ) -> Alternatives:
        if len(schema["allOf"]) == 1 and "properties" not in schema:
            return self._alternatives(schema["allOf"][0], root, hint)
        return self._alternatives(resolve(schema, root), root, hint)

    def _plain(self, schema: Mapping[str, Any], root: Mapping[str, Any], hint: str) -> Alternatives:
        kind = schema.get("type", "object" if "properties" in schema else None)
        if isinstance(kind, list):
            return _unite(self._plain({**schema, "type": one}, root, hint) for one in kind)
        if kind == "array":
            return (f"list[{self.describe(schema.get('items'), root, f'{hint}Item')}]",)
        if kind != "object":
            return (_SCALARS.get(str(kind), "Any"),)
        if schema.get("properties"):
            return (self._class_of(schema, root, hint),)
        values = schema.get("additionalProperties")
        return (f"dict[str, {self.describe(values, root, f'{hint}Value')}]",)

    def _class_of(self, schema: Mapping[str, Any], root: Mapping[str, Any], hint: str) -> str:
        title = schema.get("title")
        wanted = class_name(title) if isinstance(title, str) and title else hint
        key = json.dumps([wanted, schema, _find_definitions(schema, root)], sort_keys=True)
        if key in self._classes:
            return self._classes[key].name
        name = make_unique(hint if wanted in self.names else wanted, self.names)
        self.names.add(name)
        # Before its members, which may refer to it.
        made = self._classes[key] = ClassType(name, str(schema.get("description", "")))
        required = schema.get("required") or ()
        # A class may contain everything that contains it.
        open_refs, self._open_refs = self._open_refs, []
        for member, value in schema["properties"].items():
            types = self._alternatives(value, root, f"{name}{class_name(member)}")
            own = resolve(value, root)
            made.members.append(_make_member(member, types, own, is_required=member in required))
        self._open_refs = open_refs
        return name


def _make_member(
    name: str, types: Alternatives, schema: Mapping[str, Any], *, is_required: bool
) -> Member:
    description, default = str(schema.get("description", "")), schema.get("default")
    if is_required:
        return Member(name, " | ".join(types), None, description)
    if default is not None:
        description = f"{description}\nDefault: {json.dumps(default)}".lstrip()
    if types == _ANY:
        return Member(name, "Any", "UNSET", description)
    # None is a value of its own if it is allowed and not the default.
    if "None" in types and not ("default" in schema and default is None):
        return Member(name, " | ".join([*types, "UnsetType"]), "UNSET", description)
    return Member(name, " | ".join(_unite([types, ("None",)])), "None", description)


def _literals(values: list[Any]) -> Alternatives | None:
    """The type of these values; None if one of them cannot be in a Literal."""
    if not values or not all(isinstance(value, str | int | bool | None) for value in values):
        return None
    shown = [literal(value) for value in values if value is not None]
    types = (f"Literal[{', '.join(shown)}]",) if shown else ()
    return _unite([types, ("None",)]) if None in values else types


def _unite(types: Iterable[Alternatives]) -> Alternatives:
    """All alternatives once, None last; Any alone, because it allows everything."""
    parts = dict.fromkeys(part for each in types for part in each)
    if "Any" in parts or not parts:
        return _ANY
    return tuple(sorted(parts, key=lambda part: part == "None"))


def _find_definitions(schema: Any, root: Mapping[str, Any]) -> dict[str, Any]:
    """The schemas that a schema refers to, directly and indirectly, by reference."""
    found: dict[str, Any] = {}
    waiting = [schema]
    while waiting:
        value = waiting.pop()
        if not isinstance(value, Mapping):
            continue
        ref = value.get("$ref")
        if isinstance(ref, str) and ref not in found:
            found[ref] = find(ref, root)
            waiting.append(found[ref])
        waiting += [part for _, part in inner_schemas(value)]
    return found
