from __future__ import annotations

from typing import Any

import jsonschema
import pytest

from dovetail_design.element_schema import describe_type, element_definitions, lean_element
from dovetail_design.model import ELEMENT_TYPES, PROPERTIES

MINIMAL: dict[str, dict[str, Any]] = {
    "text": {"text": "a"},
    "bezier": {"bezierPoints": [{"x": 0, "y": 0}, {"x": 1, "y": 1}]},
    "qr": {"qrValue": "a"},
    "barcode": {"barcodeValue": "a"},
}


@pytest.fixture(scope="module")
def validator() -> Any:
    schema = {"$ref": "#/$defs/AnyElement", "$defs": element_definitions()}
    jsonschema.Draft202012Validator.check_schema(schema)
    return jsonschema.Draft202012Validator(schema)


def minimal(kind: str) -> dict[str, Any]:
    return {"type": kind, "x": 0, "y": 0, "width": 5, "height": 5, **MINIMAL.get(kind, {})}


@pytest.mark.parametrize("kind", ELEMENT_TYPES)
def test_each_type_has_a_schema_of_its_own(validator: Any, kind: str) -> None:
    assert validator.is_valid(minimal(kind))
    for name in ("x", "width", *MINIMAL.get(kind, {})):
        assert not validator.is_valid({**minimal(kind), name: None})
    assert validator.is_valid({**minimal(kind), "width": 0}) == (kind == "line")
    assert not validator.is_valid({**minimal(kind), "opacity": 2})


@pytest.mark.parametrize("kind", ELEMENT_TYPES)
def test_every_property_of_a_type_is_in_its_schema(kind: str) -> None:
    definitions = element_definitions()
    told: set[str] = set()
    name: str | None = ELEMENT_TYPES[kind].__name__
    while name is not None:
        definition = definitions[name]
        told |= definition["properties"].keys()
        name = definition["allOf"][0]["$ref"].rpartition("/")[2] if "allOf" in definition else None
    assert told == set(PROPERTIES[kind]) - {"createdAt", "updatedAt"}


def test_another_type_is_refused(validator: Any) -> None:
    assert not validator.is_valid({**minimal("circle"), "type": "blob"})
    assert not validator.is_valid({"x": 0, "y": 0, "width": 5, "height": 5})


@pytest.mark.parametrize("kind", ELEMENT_TYPES)
def test_a_type_is_described_with_all_its_properties(kind: str) -> None:
    text = describe_type(kind)
    for name in set(PROPERTIES[kind]) - {"createdAt", "updatedAt", "type"}:
        assert f"\n{name}" in text
    assert len(text) < 10_000


def test_the_short_schema_has_properties_that_exist() -> None:
    known = {name for names in PROPERTIES.values() for name in names}
    assert lean_element()["properties"].keys() <= known
