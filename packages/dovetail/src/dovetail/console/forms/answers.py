"""`POST api/form`: the tree of a form, the errors of its value, and edits that need the schema."""

from __future__ import annotations

from typing import Any

from msgspec import UNSET, Struct, UnsetType

from dovetail.console.forms.checking import Checker, Fault, Path, TooLargeError
from dovetail.console.forms.edits import (
    Edit,
    FormChange,
    RefusedEditError,
    make_change,
    without_gaps,
)
from dovetail.console.forms.form_schema import FormSchema
from dovetail.console.forms.initial_values import initial_value
from dovetail.console.forms.nodes import Drawing, FormNode, State

__all__ = ["FormAnswer", "FormRequest", "answer_form"]

_MAX_ERRORS = 1000
_TOO_LARGE = "is too large or nested too deeply for a form; it was not checked"


class FormRequest(Struct):
    """A schema, its value and what the person did."""

    schema: Any
    # Without a value, the form starts with an initial one.
    value: Any = UNSET
    # The places of the value that are not filled in or not readable yet; they are null there.
    holes: list[Path] = []
    states: list[tuple[Path, State]] = []
    edit: Edit | None = None
    # Whether optional properties start with their defaults too.
    defaults: bool = False


class FormError(Struct):
    """An error of the value."""

    path: Path
    message: str


class FormAnswer(Struct, omit_defaults=True):
    """The tree and the errors are those of the value after the change."""

    node: FormNode
    errors: list[FormError]
    change: FormChange | UnsetType = UNSET
    # Why the edit was not made.
    refused: str = ""


def answer_form(form: FormSchema, asked: FormRequest) -> FormAnswer:
    """Make the change that was asked for, check the value and describe the form."""
    change: FormChange | None = None
    refused = ""
    value, holes = asked.value, asked.holes
    states = dict(asked.states)
    if value is UNSET:
        start = initial_value(form, form.root, with_defaults=asked.defaults)
        change = FormChange((), *without_gaps(start))
    elif asked.edit is not None:
        checker = Checker(form, value, holes)
        try:
            change = make_change(asked.edit, Drawing(checker, states), checker)
        except RefusedEditError as error:
            refused = str(error)
        except (TooLargeError, RecursionError):
            refused = _TOO_LARGE
    if change is not None:
        value, holes = _apply(change, value, holes)
    node, faults = _describe(Checker(form, value, holes), states)
    errors = [FormError(fault.path, fault.message) for fault in faults[:_MAX_ERRORS]]
    return FormAnswer(node, errors, UNSET if change is None else change, refused)


def _describe(checker: Checker, states: dict[Path, State]) -> tuple[FormNode, list[Fault]]:
    try:
        faults = checker.faults()
    except (TooLargeError, RecursionError):
        faults = [Fault((), _TOO_LARGE)]
    gaps = [Fault(hole, "is required") for hole in checker.holes]
    try:
        return Drawing(checker, states).draw([*gaps, *faults]), faults
    except (TooLargeError, RecursionError):
        # A value without a form is still shown as JSON.
        return FormNode("any", "any JSON", errors=[fault.message for fault in faults]), faults


def _apply(change: FormChange, value: Any, holes: list[Path]) -> tuple[Any, list[Path]]:
    path = change.path
    kept = [hole for hole in holes if hole[: len(path)] != path]
    new = [(*path, *hole) for hole in change.holes]
    return _replace(value, path, change), kept + new


def _replace(value: Any, path: Path, change: FormChange) -> Any:
    if not path:
        return change.value
    key: Any = path[0]
    if change.is_left_out and len(path) == 1:
        return {name: part for name, part in value.items() if name != key}
    if isinstance(value, dict):
        return {**value, key: _replace(value.get(key), path[1:], change)}
    # An index at the end adds an item.
    old = value[key] if key < len(value) else None
    return [*value[:key], _replace(old, path[1:], change), *value[key + 1 :]]
