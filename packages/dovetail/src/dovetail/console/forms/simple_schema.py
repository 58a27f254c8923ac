"""Translate a JSON Schema of any draft to a small part of 2020-12.

The result has no `$id`, and its only references are to numbered definitions. Keywords that are
unknown or wrong, such as a pattern that is not a regular expression, are left out, and so are
references to other documents: what cannot be read accepts everything. Nothing is ever fetched.
"""

from __future__ import annotations

import re
from collections.abc import Callable
from typing import Any

import jsonschema_rs
from msgspec import UNSET

from dovetail.console.forms.references import References

__all__ = ["NEVER", "OF_TYPE", "RULES", "Schema", "simplify"]

Schema = dict[str, Any]
# Accepts nothing, as a schema with keywords.
NEVER: Schema = {"not": {}}
_MAX_DEPTH = 200
_TYPES = ("string", "number", "integer", "boolean", "null", "object", "array")
_OLD = re.compile(r"draft-0[3-7]")
_ANNOTATIONS = {"title", "description", "default", "examples", "example", "enumNames"}
_ANNOTATIONS |= {"deprecated", "contentMediaType"}
# Keywords that have other schemas evaluated on the same value.
_IN_PLACE = {"$ref", "allOf", "anyOf", "oneOf", "if", "dependentSchemas"}

# The keywords that apply to one type of value.
OF_TYPE = {
    "object": (
        *("properties", "patternProperties", "additionalProperties", "unevaluatedProperties"),
        *("minProperties", "maxProperties", "required", "propertyNames", "dependentSchemas"),
    ),
    "array": (
        *("items", "prefixItems", "unevaluatedItems", "minItems", "maxItems", "uniqueItems"),
        *("contains", "minContains", "maxContains"),
    ),
    "string": ("minLength", "maxLength", "pattern", "format", "contentMediaType"),
    "number": ("minimum", "exclusiveMinimum", "maximum", "exclusiveMaximum", "multipleOf"),
}
# The keywords that do not depend on other schemas.
RULES = (
    *("type", "enum", "const", "minimum", "exclusiveMinimum", "maximum", "exclusiveMaximum"),
    *("multipleOf", "minLength", "maxLength", "pattern", "format", "minItems", "maxItems"),
    *("uniqueItems", "minProperties", "maxProperties", "required"),
)


def simplify(root: Any) -> tuple[Schema | bool, dict[str, Schema | bool]]:
    """The translated schema and its definitions."""
    return _Translation(root).run()


class _Translation:
    def __init__(self, root: Any) -> None:
        self._root = root
        self._is_old = isinstance(root, dict) and bool(_OLD.search(str(root.get("$schema"))))
        self._references = References(root)
        self._names: dict[int, str] = {}
        self._waiting: list[Any] = []

    def run(self) -> tuple[Schema | bool, dict[str, Schema | bool]]:
        root = self.schema(self._root)
        definitions: dict[str, Schema | bool] = {}
        # Each definition may refer to more of them.
        while len(definitions) < len(self._waiting):
            number = len(definitions)
            definitions[str(number)] = self.schema(self._waiting[number])
        return root, definitions

    def schema(self, given: Any, depth: int = 0) -> Schema | bool:
        if not isinstance(given, dict) or depth > _MAX_DEPTH:
            return given is not False
        found: Schema = {}
        for keyword, part in _modern(given).items():
            read = _READERS.get(keyword)
            simple = UNSET if read is None else read(self, part, depth + 1)
            if simple is not UNSET:
                found[keyword] = simple
        found = _closed(self._with_reference(given, found))
        return _with_null(found) if given.get("nullable") is True else found

    def _with_reference(self, given: Schema, found: Schema) -> Schema:
        reference = given.get("$ref", given.get("$dynamicRef"))
        if not isinstance(reference, str):
            return found
        if self._is_old:
            # Before 2019, what stands next to $ref has no meaning.
            found = {key: part for key, part in found.items() if key in _ANNOTATIONS}
        target = self._references.find(given, reference)
        if target is False:
            return {**found, **NEVER}
        if not isinstance(target, dict):
            return found
        if id(target) not in self._names:
            self._names[id(target)] = str(len(self._names))
            self._waiting.append(target)
        name = re.search(r"[\w.-]+$", reference)
        label = {"refName": name[0]} if name else {}
        return {"$ref": f"#/$defs/{self._names[id(target)]}", **label, **found}


def _modern(given: Schema) -> Schema:
    """The keywords of older drafts in those of 2020-12."""
    schema = dict(given)
    if isinstance(schema.get("items"), list):
        schema["prefixItems"] = schema.pop("items")
        if "additionalItems" in schema:
            schema["items"] = schema["additionalItems"]
    for plain, exclusive in (("minimum", "exclusiveMinimum"), ("maximum", "exclusiveMaximum")):
        # In draft-04, `exclusiveMinimum` says how `minimum` is meant.
        if schema.get(exclusive) is True and plain in schema:
            schema[exclusive] = schema.pop(plain)
    needs: Schema = {}
    for keyword in ("dependencies", "dependentRequired", "dependentSchemas"):
        if isinstance(schema.get(keyword), dict):
            for name, part in schema[keyword].items():
                need = {"required": part} if isinstance(part, list) else part
                needs[name] = {"allOf": [needs[name], need]} if name in needs else need
    return {**schema, "dependentSchemas": needs} if needs else schema


def _closed(schema: Schema) -> Schema:
    """Without schemas in place, nothing is evaluated but by the keywords next to it."""
    if _IN_PLACE & schema.keys():
        return schema
    for keyword, plain in (
        ("unevaluatedProperties", "additionalProperties"),
        ("unevaluatedItems", "items"),
    ):
        if keyword in schema:
            schema.setdefault(plain, schema.pop(keyword))
    return schema


def _with_null(schema: Schema) -> Schema:
    """`nullable` of OpenAPI: null is valid, whatever the other keywords say."""
    if (_IN_PLACE | {"not"}) & schema.keys() or "type" not in schema:
        about = {key: part for key, part in schema.items() if key in _ANNOTATIONS}
        rules = {key: part for key, part in schema.items() if key not in about}
        return {**about, "anyOf": [rules, {"type": "null"}]} if rules else schema
    types = schema["type"] if isinstance(schema["type"], list) else [schema["type"]]
    more: Schema = {"type": types if "null" in types else [*types, "null"]}
    if "enum" in schema:
        more["enum"] = schema["enum"] if None in schema["enum"] else [*schema["enum"], None]
    if "const" in schema:
        more["enum"] = [schema.pop("const"), None]
    return {**schema, **more}


# -- readers of keywords: they return UNSET for what is not valid -----------------------------

_Reader = Callable[[_Translation, Any, int], Any]


def _keep(_: _Translation, given: Any, depth: int) -> Any:
    return given


def _schema(to: _Translation, given: Any, depth: int) -> Any:
    return to.schema(given, depth) if isinstance(given, dict | bool) else UNSET


def _schemas(to: _Translation, given: Any, depth: int) -> Any:
    if not isinstance(given, list) or not given:
        return UNSET
    return [to.schema(part, depth) for part in given]


def _map(to: _Translation, given: Any, depth: int) -> Any:
    if not isinstance(given, dict):
        return UNSET
    return {name: to.schema(part, depth) for name, part in given.items()}


def _patterns(to: _Translation, given: Any, depth: int) -> Any:
    if not isinstance(given, dict):
        return UNSET
    return {
        name: to.schema(part, depth)
        for name, part in given.items()
        if _is_possible("pattern", name)
    }


def _is_possible(keyword: str, given: Any) -> bool:
    try:
        jsonschema_rs.Draft202012Validator({keyword: given})
    except ValueError:
        return False
    return True


def _rule(keyword: str) -> _Reader:
    return lambda to, given, depth: given if _is_possible(keyword, given) else UNSET


def _type(to: _Translation, given: Any, depth: int) -> Any:
    given = given if isinstance(given, list) else [given]
    known = [name for name in _TYPES if name in given]
    # In the order of the schema, which is that of the variants.
    known.sort(key=given.index)
    return UNSET if not known else known[0] if len(known) == 1 else known


def _list(_: _Translation, given: Any, depth: int) -> Any:
    return given if isinstance(given, list) else UNSET


def _enum(_: _Translation, given: Any, depth: int) -> Any:
    return given if isinstance(given, list) and given else UNSET


def _names(_: _Translation, given: Any, depth: int) -> Any:
    if not isinstance(given, list):
        return UNSET
    return list(dict.fromkeys(name for name in given if isinstance(name, str)))


def _text(_: _Translation, given: Any, depth: int) -> Any:
    return given if isinstance(given, str) else UNSET


_READERS: dict[str, _Reader] = {
    **{keyword: _rule(keyword) for keyword in RULES},
    **dict.fromkeys(("minContains", "maxContains"), _rule("minItems")),
    **dict.fromkeys(("properties", "dependentSchemas"), _map),
    "patternProperties": _patterns,
    **dict.fromkeys(("allOf", "anyOf", "oneOf", "prefixItems"), _schemas),
    **dict.fromkeys(("additionalProperties", "propertyNames", "items", "contains"), _schema),
    **dict.fromkeys(("unevaluatedProperties", "unevaluatedItems", "not"), _schema),
    **dict.fromkeys(("if", "then", "else"), _schema),
    **dict.fromkeys(("title", "description", "contentMediaType"), _text),
    **dict.fromkeys(("examples", "enumNames"), _list),
    **dict.fromkeys(("default", "example", "deprecated"), _keep),
    "type": _type,
    "enum": _enum,
    "required": _names,
}
