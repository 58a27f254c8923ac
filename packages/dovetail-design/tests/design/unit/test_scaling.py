from __future__ import annotations

from dovetail_design.model import parse_element
from dovetail_design.scaling import scale_element, scale_to_fit


def test_a_canvas_fits_into_another_centred() -> None:
    assert scale_to_fit((100, 200), (300, 200)) == (1.0, 100.0, 0.0)
    assert scale_to_fit((100, 100), (50, 200)) == (0.5, 0.0, 75.0)


def test_every_length_is_scaled_and_nothing_else() -> None:
    text = {
        "type": "text",
        "x": 10,
        "y": 20,
        "width": 100,
        "height": 1,
        "text": "a",
        "opacity": 0.5,
    }
    scaled = scale_element({**text, "fontSize": 20, "letterSpacing": -2}, 0.5, 1, 2)
    assert scaled == {
        **text,
        "x": 6,
        "y": 12,
        "width": 50,
        "height": 1,
        "fontSize": 10,
        "letterSpacing": -1,
    }
    parse_element(scaled)


def test_a_flat_line_stays_flat() -> None:
    line = {"type": "line", "x": 0, "y": 0, "width": 10, "height": 0}
    points = [{"x": 0, "y": 0}, {"x": 10, "y": 0}]
    scaled = scale_element({**line, "linePoints": points}, 2, 0, 0)
    assert (scaled["width"], scaled["height"], scaled["linePoints"][1]) == (
        20,
        0,
        {"x": 20, "y": 0},
    )
