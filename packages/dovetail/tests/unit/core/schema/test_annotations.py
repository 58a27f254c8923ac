from __future__ import annotations

import functools
from collections.abc import Callable
from typing import TYPE_CHECKING, Annotated, Any

import msgspec
import pydantic
import pytest

from dovetail.core.schema.annotations import (
    MISSING,
    bound_keywords,
    docstring_of,
    name_of_function,
    read_hints,
    read_parameters,
    takes_any_keyword,
)
from dovetail.core.schema.pydantic_types import text_in
from dovetail.errors import UsageError

if TYPE_CHECKING:
    from somewhere import Nowhere  # type: ignore[import-not-found]


def types_of(fn: Callable[..., Any], *skip: str) -> dict[str, Any]:
    return {each.name: each.annotation for each in read_parameters(fn, skip)}


def test_textual_annotations_are_resolved() -> None:
    def tool(a: int, b: Annotated[str, "text"] = "x", c=None) -> list[int]:  # type: ignore[no-untyped-def]
        return []

    assert types_of(tool) == {"a": int, "b": Annotated[str, "text"], "c": Any}
    assert read_hints(tool) == {"a": int, "b": Annotated[str, "text"], "return": list[int]}


def test_a_function_without_annotations_has_no_hints() -> None:
    assert read_hints(lambda x: x) == {}


def test_a_partial_object_has_the_name_and_docstring_of_its_function() -> None:
    def tool(a: int, b: str, c: int = 0) -> None:
        """Do it."""

    partial = functools.partial(functools.partial(tool, b="x"), 1)
    assert name_of_function(partial) == "tool"
    assert docstring_of(partial) == "Do it."
    assert bound_keywords(partial) == {"b"}
    assert bound_keywords(tool) == set()
    assert read_hints(partial) == {"b": str, "c": int, "return": type(None)}


def test_names_of_the_enclosing_function_are_found() -> None:
    class Local: ...

    def tool(a: Local, b: list[Local]) -> None: ...

    assert types_of(tool) == {"a": Local, "b": list[Local]}


def test_names_of_every_enclosing_function_are_found_and_the_closure_first() -> None:
    class Outer: ...

    def middle() -> dict[str, Any]:
        class Inner: ...

        def tool(a: Outer, b: Inner) -> Any:
            return Outer

        return {**types_of(tool), "Inner": Inner}

    found = middle()
    assert found["a"] is Outer
    assert found["b"] is found["Inner"]


def test_a_name_that_exists_for_the_type_checker_only_is_a_usage_error() -> None:
    def tool(a: Nowhere) -> None: ...

    with pytest.raises(
        UsageError, match=r"tool: the annotation of 'a' .* 'Nowhere' is not defined"
    ):
        read_parameters(tool)


def test_a_skipped_parameter_is_not_even_resolved() -> None:
    def tool(context: Nowhere, a: int) -> None: ...

    assert types_of(tool, "context") == {"a": int}


def test_an_annotation_that_is_no_type_is_a_usage_error() -> None:
    def tool(a: int) -> None: ...

    tool.__annotations__["a"] = "1 +"
    with pytest.raises(UsageError, match="the annotation of 'a' is not a type"):
        read_parameters(tool)


def test_methods_partials_wrappers_classes_and_callable_objects_are_read() -> None:
    class Tool:
        def __init__(self, size: int) -> None: ...

        def method(self, a: int) -> None: ...

        def __call__(self, b: str) -> None: ...

    def tool(a: int, b: str) -> None: ...

    @functools.wraps(tool)
    def wrapper(*args: Any, **kwargs: Any) -> None: ...

    assert types_of(Tool(1).method) == {"a": int}
    assert types_of(Tool(1)) == {"b": str}
    assert types_of(Tool) == {"size": int}
    assert types_of(functools.partial(tool, 1)) == {"b": str}
    assert types_of(wrapper) == {"a": int, "b": str}
    assert name_of_function(Tool(1)) == "Tool"
    assert name_of_function(tool) == "tool"


def test_a_function_without_a_signature_is_a_usage_error() -> None:
    with pytest.raises(UsageError, match="has no signature that Python can read"):
        read_parameters(dict.fromkeys.__self__)  # type: ignore[attr-defined]


def test_a_function_written_in_c_has_no_names_to_look_up() -> None:
    assert read_hints(len) == {}
    assert types_of(len) == {"obj": Any}


def test_variable_parameters_are_usage_errors() -> None:
    def many(*numbers: int) -> None: ...

    def named(**options: int) -> None: ...

    with pytest.raises(UsageError, match=r"many: \*numbers .* or take a list"):
        read_parameters(many)
    with pytest.raises(UsageError, match=r"named: \*\*options .* input_schema= by hand"):
        read_parameters(named)
    assert read_parameters(named, any_keywords=True) == []
    assert takes_any_keyword(named)
    assert not takes_any_keyword(many)


def test_defaults_and_kinds_are_kept() -> None:
    def tool(a: int, /, b: int = 2, *, c: int) -> None: ...

    a, b, c = read_parameters(tool)
    assert (a.is_positional_only, b.is_positional_only, c.is_positional_only) == (
        True,
        False,
        False,
    )
    assert (a.is_required, b.is_required, c.is_required) == (True, False, True)
    assert (a.default, b.default) == (MISSING, 2)


def test_a_field_in_the_place_of_a_default_is_read_as_what_it_means() -> None:
    def tool(
        a: int = pydantic.Field(gt=0),
        b: int = pydantic.Field(3, description="B"),
        c: list[int] = pydantic.Field(default_factory=list),  # noqa: B008
    ) -> None: ...

    a, b, c = read_parameters(tool)
    assert a.is_required
    assert (b.default, text_in(b.annotation)) == (3, "B")
    assert b.make_default is not None
    assert c.make_default is not None
    assert c.make_default() is not c.make_default()


@pytest.mark.parametrize(
    ("annotation", "text"),
    [
        (int, None),
        (Annotated[int, "text"], "text"),
        (Annotated[int, msgspec.Meta(ge=0), "text"], "text"),
        (Annotated[int, msgspec.Meta(description="meta")], "meta"),
        (Annotated[int, pydantic.Field(description="field")], "field"),
        (Annotated[int, pydantic.Field(gt=0), 5], None),
    ],
)
def test_the_text_of_a_parameter_is_found_in_its_annotation(
    annotation: Any, text: str | None
) -> None:
    assert text_in(annotation) == text
