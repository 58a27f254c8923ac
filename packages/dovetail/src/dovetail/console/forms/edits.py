"""Changes of the value that need the schema: what a new item, entry or variant starts with."""

from __future__ import annotations

from collections.abc import Callable
from typing import Annotated, Any

from msgspec import UNSET, Meta, Struct

from dovetail.console.forms.checking import Checker, Path
from dovetail.console.forms.initial_values import initial_value
from dovetail.console.forms.json_text import json_of
from dovetail.console.forms.kinds import item_schema, property_schema, variant_schemas
from dovetail.console.forms.merging import resolve
from dovetail.console.forms.nodes import Drawing, FormPlace

__all__ = ["Edit", "FormChange", "RefusedEditError", "make_change", "without_gaps"]


class RefusedEditError(Exception):
    """A change that the schema does not allow."""


class Edit(Struct):
    """What a person did: `start` a container, add an `item` or `entry`, or `pick` a variant."""

    action: str
    path: Path = ()
    # Of a new entry.
    name: str = ""
    # Of the union, if there are unions in the union.
    level: Annotated[int, Meta(ge=0)] = 0


class FormChange(Struct, rename="camel"):
    """A new value for a place. `holes` are the places in it that have to be filled in."""

    path: Path
    value: Any
    holes: list[Path] = []
    # The property is left out.
    is_left_out: bool = False


def make_change(edit: Edit, drawing: Drawing, checker: Checker) -> FormChange | None:
    """The change that an edit makes, None if the value stays; raises RefusedEditError."""
    value = UNSET if () in checker.holes else checker.value
    place = drawing.open(checker.form.root, value, ())
    for key in edit.path:
        place = drawing.child(place, key)
    action = _ACTIONS.get(edit.action)
    if action is None:
        raise RefusedEditError(f"there is no action {edit.action!r}")
    path, found = action(edit, place, checker)
    if found is place.value and path == place.path:
        return None
    if found is UNSET and place.is_listed and path == place.path:
        return FormChange(path, None, is_left_out=True)
    plain, holes = without_gaps(found)
    return FormChange(path, plain, holes)


def without_gaps(value: Any) -> tuple[Any, list[Path]]:
    """A value as JSON, and the places where it has none yet."""
    if value is UNSET:
        return None, [()]
    if not isinstance(value, dict | list):
        return value, []
    pairs = list(value.items() if isinstance(value, dict) else enumerate(value))
    parts = {key: without_gaps(part) for key, part in pairs}
    holes = [(key, *hole) for key, (_, inner) in parts.items() for hole in inner]
    plain = {key: part for key, (part, _) in parts.items()}
    return (plain if isinstance(value, dict) else list(plain.values())), holes


def _start(edit: Edit, place: FormPlace, checker: Checker) -> tuple[Path, Any]:
    return place.path, initial_value(checker.form, place.schema)


def _add_item(edit: Edit, place: FormPlace, checker: Checker) -> tuple[Path, Any]:
    if not isinstance(place.value, list):
        raise RefusedEditError("is not an array")
    index = len(place.value)
    return (*place.path, index), initial_value(checker.form, item_schema(place.schema, index))


def _add_entry(edit: Edit, place: FormPlace, checker: Checker) -> tuple[Path, Any]:
    name, schema, form = edit.name, place.schema, checker.form
    if not isinstance(place.value, dict):
        raise RefusedEditError("is not an object")
    part = property_schema(form, schema, name)
    wrong = checker.find(schema.get("propertyNames", True), name, (*place.path, name, -1))
    problem = (
        "is there already" if name in place.value or name in schema.get("properties", ()) else ""
    )
    problem = problem or ("is not an allowed name" if part is False else "")
    problem = problem or (f"has a name that {wrong[0].message}" if wrong else "")
    if problem:
        raise RefusedEditError(f"{json_of(name)} {problem}")
    return (*place.path, name), initial_value(form, part)


def _pick(edit: Edit, place: FormPlace, checker: Checker) -> tuple[Path, Any]:
    """Keep what the last picked variant understands, such as properties that both have."""
    form, value, path = checker.form, place.value, place.path
    if edit.level >= len(place.variants):
        raise RefusedEditError("has no such variant")
    union, index = place.variants[edit.level]
    variant = variant_schemas(form, union)[index].schema
    start = initial_value(form, variant)
    if value is UNSET:
        return path, start
    if checker.fits(variant, value, path):
        return path, value
    if not isinstance(start, dict) or not isinstance(value, dict):
        return path, start
    listed = resolve(form, variant).get("properties", {})
    kept = {
        name: value[name]
        for name in listed
        if name in value
        # The page has what is half-typed, this does not.
        and not checker.has_holes((*path, name))
        and checker.fits(listed[name], value[name], (*path, name))
    }
    return path, {**start, **kept}


_Action = Callable[[Edit, FormPlace, Checker], tuple[Path, Any]]
_ACTIONS: dict[str, _Action] = {
    "start": _start,
    "item": _add_item,
    "entry": _add_entry,
    "pick": _pick,
}
