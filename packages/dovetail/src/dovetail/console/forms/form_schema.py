"""`FormSchema`: a translated schema with everything that is computed once for it."""

from __future__ import annotations

from collections.abc import Callable
from functools import wraps
from typing import Any, TypeVar

import jsonschema_rs

from dovetail.console.forms.simple_schema import RULES, Schema, simplify

__all__ = ["FormSchema", "per_schema", "rules_of"]

T = TypeVar("T")
# Conditions make new merged schemas for new values; beyond this a form starts with empty results.
_MAX_RESULTS = 20_000
_MAX_PATHS = 200_000


class FormSchema:
    """One schema of a form. Its parts are immutable and known by their identity."""

    def __init__(self, given: Any) -> None:
        self.root, self._definitions = simplify(given)
        self._whole: jsonschema_rs.Validator | None = None
        self._is_small: bool | None = None
        # The schema is kept with each result, so that its id is not used again.
        self.results: dict[Any, tuple[Any, Any]] = {}

    @property
    def is_full(self) -> bool:
        """Whether the results should be dropped."""
        return len(self.results) > _MAX_RESULTS

    def target(self, schema: Schema) -> Schema | bool:
        """The definition that the reference of a schema leads to."""
        return self._definitions[schema["$ref"].rpartition("/")[2]]

    def accepts(self, value: Any) -> bool | None:
        """Whether a whole value is valid; None if that could take too long to find out."""
        if self._is_small is None:
            self._is_small = self._has_few_paths()
        if not self._is_small:
            return None
        try:
            if self._whole is None:
                root = self.root if isinstance(self.root, dict) else {"allOf": [self.root]}
                self._whole = _compile({**root, "$defs": self._definitions})
            return self._whole.is_valid(value)
        except ValueError:
            # The schema or the value is nested too deeply for the library.
            return None

    def _has_few_paths(self) -> bool:
        """Whether the schema stays small with a copy in place of every reference.

        jsonschema-rs follows each of them, unless it leads back to itself.
        """
        sizes: dict[int, int] = {}

        def size(part: Any) -> int:
            if isinstance(part, list):
                return sum(map(size, part))
            if not isinstance(part, dict):
                return 1
            if id(part) not in sizes:
                sizes[id(part)] = 1
                is_reference = isinstance(part.get("$ref"), str)
                target = self._definitions.get(part["$ref"][8:]) if is_reference else None
                sizes[id(part)] = 1 + sum(map(size, part.values())) + size(target)
            return sizes[id(part)]

        try:
            return size(self.root) < _MAX_PATHS
        except RecursionError:
            return False


def per_schema(compute: Callable[[FormSchema, Schema], T]) -> Callable[[FormSchema, Schema], T]:
    """Compute once what depends on a part of the schema alone."""

    @wraps(compute)
    def find(form: FormSchema, schema: Schema) -> T:
        key = (compute.__name__, id(schema))
        if key not in form.results:
            form.results[key] = (schema, compute(form, schema))
        found: T = form.results[key][1]
        return found

    return find


@per_schema
def rules_of(form: FormSchema, schema: Schema) -> jsonschema_rs.Validator | None:
    """The validator of the keywords that do not depend on other schemas; None if there are none."""
    rules = {keyword: schema[keyword] for keyword in RULES if keyword in schema}
    return _compile(rules) if rules else None


def _compile(schema: Schema) -> jsonschema_rs.Validator:
    # There is no reference to another document, and `offline` makes sure of it.
    return jsonschema_rs.Draft202012Validator(schema, validate_formats=True, offline=True)
