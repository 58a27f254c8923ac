"""Data that cannot be drawn."""

from __future__ import annotations

from typing import Any

from tests.deep.design.unit.findings.scenery import codes, look

PLACE: dict[str, Any] = {"x": 10, "y": 10, "width": 300, "height": 100}


def test_an_svg_with_entities_is_reported() -> None:
    bad = "data:image/svg+xml,<svg xmlns='http://www.w3.org/2000/svg'>&lol;</svg>"
    assert codes({"type": "svg", "src": bad, **PLACE}) == [("bad-data", ("e0",))]


def test_what_can_be_drawn_is_no_finding() -> None:
    good = "data:image/svg+xml,<svg xmlns='http://www.w3.org/2000/svg' width='9' height='9'/>"
    assert codes({"type": "svg", "src": good, **PLACE}) == []
    assert codes({"type": "barcode", "barcodeValue": "123", **PLACE}) == []


def test_a_picture_that_is_none_is_reported_in_the_words_of_the_renderer() -> None:
    (found,) = look({"type": "image", "src": "data:image/png;base64,AAAA", **PLACE})
    assert found.code == "bad-data"
    assert found.message.startswith("The image 'e0' cannot be drawn: ")
