"""Layers as SVG, with gradients where CSS would put them."""

from __future__ import annotations

from xml.etree import ElementTree

from dovetail_design.library.svg_text import format_number, write_svg

SVG = "{http://www.w3.org/2000/svg}"


def test_numbers_are_short_and_zero_has_no_sign() -> None:
    values = (1.0, 2.5, -0.001, 3.14159)
    assert [format_number(value) for value in values] == ["1", "2.5", "0", "3.14"]


def test_colours_keep_their_alpha() -> None:
    path = ElementTree.fromstring(write_svg([("#ff000080", "M0 0 Z")], 10, 10)).find(f"{SVG}path")
    assert path is not None
    assert path.attrib["fill"] == "#ff0000"
    assert path.attrib["fill-opacity"] == "0.502"


def test_a_linear_gradient_runs_through_the_box_at_its_angle() -> None:
    root = ElementTree.fromstring(
        write_svg([("linear-gradient(90deg, #000, #fff 50%)", "M0 0 Z")], 200, 100)
    )
    gradient = root.find(f"{SVG}defs/{SVG}linearGradient")
    assert gradient is not None
    assert [gradient.attrib[name] for name in ("x1", "y1", "x2", "y2")] == ["0", "50", "200", "50"]
    assert [stop.attrib["offset"] for stop in gradient] == ["0.000", "0.500"]


def test_a_radial_gradient_reaches_the_farthest_corner() -> None:
    paint = "radial-gradient(circle at 0% 0%, #000 0%, #00000000 100%)"
    root = ElementTree.fromstring(write_svg([(paint, "M0 0 Z")], 30, 40))
    gradient = root.find(f"{SVG}defs/{SVG}radialGradient")
    assert gradient is not None
    assert gradient.attrib["r"] == "50"
    assert gradient[1].attrib["stop-opacity"] == "0.000"
