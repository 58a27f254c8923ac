"""Nothing to show, and fields that are still open."""

from __future__ import annotations

from typing import Any

import pytest

from dovetail_design.findings import describe
from tests.deep.design.unit.findings.scenery import codes, design, look, text

PLACE: dict[str, Any] = {"x": 10, "y": 10, "width": 200, "height": 200}


@pytest.mark.parametrize(
    "element",
    [
        text("  ", 10, 10),
        {"type": "image", **PLACE},
        {"type": "svg", **PLACE},
        {"type": "table", **PLACE},
        {"type": "qr", "qrValue": " ", **PLACE},
        {"type": "barcode", "barcodeValue": " ", **PLACE},
    ],
    ids=lambda element: element["type"],
)
def test_an_element_without_data_is_reported(element: object) -> None:
    assert ("empty-data", ("e0",)) in codes(element)


def test_fields_are_reported_by_name_wherever_they_are() -> None:
    found = look(
        text("Dear {{name}}, {{ place }}", 10, 10, 400),
        {"type": "qr", "qrValue": "{{code}}", **PLACE, "y": 100},
    )
    messages = [one.message for one in found if one.code == "unfilled-field"]
    assert "{{name}}, {{place}}" in messages[0]
    assert "{{code}}" in messages[1]


def test_of_a_template_they_are_no_fault() -> None:
    template = design(text("Dear {{name}}", 10, 10))
    assert describe(template, is_template=True).findings == ()
