"""The value that a form starts with."""

from __future__ import annotations

from typing import Any

from msgspec import UNSET

from dovetail.console.forms.form_schema import FormSchema
from dovetail.console.forms.kinds import (
    choices_of,
    item_schema,
    kind_of,
    property_schema,
    variant_schemas,
)
from dovetail.console.forms.merging import resolve
from dovetail.console.forms.simple_schema import Schema

__all__ = ["first_variant", "initial_value"]

_MAX_DEPTH = 80
_MAX_ITEMS = 100
_MAX_PLACES = 2000


def initial_value(form: FormSchema, schema: Schema | bool, *, with_defaults: bool = False) -> Any:
    """Constants, defaults of required properties and empty containers.

    What a person has to fill in and what is optional is UNSET; `with_defaults` also has the
    defaults of optional properties at the first level.
    """
    return _Start(form).value(schema, (), with_defaults)


def first_variant(form: FormSchema, schema: Schema) -> int:
    """The index of the variant to start with: the first that is not null."""
    kinds = (resolve(form, each.schema).get("type") for each in variant_schemas(form, schema))
    return next((index for index, kind in enumerate(kinds) if kind != "null"), 0)


class _Start:
    def __init__(self, form: FormSchema) -> None:
        self._form = form
        self._count = 0

    def value(
        self, schema: Schema | bool, above: tuple[int, ...], with_defaults: bool = False
    ) -> Any:
        """The value at a place; `above` are the schemas around it."""
        form = self._form
        resolved = resolve(form, schema)
        self._count += 1
        # A required property that contains itself has no finite first value.
        if id(resolved) in above or len(above) > _MAX_DEPTH or self._count > _MAX_PLACES:
            return UNSET
        if "default" in resolved:
            return resolved["default"]
        above = (*above, id(resolved))
        choices = choices_of(form, resolved)
        if len(choices) == 1:
            return choices[0].value
        kind = kind_of(form, resolved)
        if kind == "union":
            variant = variant_schemas(form, resolved)[first_variant(form, resolved)]
            return self.value(variant.schema, above, with_defaults)
        if kind == "array":
            return self._items(resolved, above)
        return self._members(resolved, above, with_defaults) if kind == "object" else UNSET

    def _members(
        self, schema: Schema, above: tuple[int, ...], with_defaults: bool
    ) -> dict[str, Any]:
        form, listed = self._form, schema.get("properties", {})
        names = list(schema.get("required", ()))
        if with_defaults:
            names += [name for name in listed if "default" in resolve(form, listed[name])]
        found = {
            name: self.value(property_schema(form, schema, name), above)
            for name in dict.fromkeys(names)
        }
        return {name: value for name, value in found.items() if value is not UNSET}

    def _items(self, schema: Schema, above: tuple[int, ...]) -> list[Any]:
        fixed = len(schema.get("prefixItems", ()))
        length = max(schema.get("minItems", 0), fixed)
        length = int(min(length, schema.get("maxItems", length), _MAX_ITEMS))
        items = [self.value(item_schema(schema, index), above) for index in range(length)]
        if (
            not fixed
            and kind_of(self._form, resolve(self._form, item_schema(schema, 0))) == "choice"
        ):
            # Nothing is ticked yet in a list of choices.
            return [item for item in items if item is not UNSET]
        return items
