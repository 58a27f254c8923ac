"""Contrast with what is really behind."""

from __future__ import annotations

import base64
import io

import pytest
from PIL import Image

from tests.deep.design.unit.findings.scenery import box, codes, look, text

FULL = (0, 0, 800, 600)


def image(colour: str) -> dict[str, object]:
    stream = io.BytesIO()
    Image.new("RGB", (8, 6), colour).save(stream, "PNG")
    data = base64.b64encode(stream.getvalue()).decode()
    return {
        "type": "image",
        "x": 0,
        "y": 0,
        "width": 800,
        "height": 600,
        "src": f"data:image/png;base64,{data}",
    }


def low(*elements: object, **canvas: object) -> bool:
    return any(code == "low-contrast" for code, _ in codes(*elements, **canvas))


def test_the_ground_of_the_canvas_counts() -> None:
    grey = text("Hard to read", 100, 100, fill="#aaaaaa")
    assert low(grey)
    assert not low(grey, background="#14213d")


def test_the_panel_behind_counts_and_not_the_canvas_under_it() -> None:
    white = text("White", 100, 100, 200, fill="#ffffff")
    assert low(white)
    assert not low(box(80, 80, 400, 200, "#14213d"), white)


def test_a_gradient_is_judged_where_the_letters_are() -> None:
    ground = box(*FULL, "linear-gradient(90deg, #000000, #ffffff)")
    assert not low(ground, text("Left", 20, 100, 120, fill="#ffffff"))
    assert low(ground, text("Right", 640, 100, 120, fill="#ffffff"))


def test_a_picture_is_looked_at() -> None:
    night, day = image("#14213d"), image("#e3fdf5")
    white = text("On a picture", 100, 100, fill="#ffffff")
    assert not low(night, white)
    assert low(day, white)


def test_what_is_painted_over_a_text_does_not_count_as_its_ground() -> None:
    found = look(text("Dark on white", 100, 100), box(90, 90, 400, 80, "#111111"))
    assert [one.code for one in found] == ["overlap"]


def test_a_text_that_fades_is_judged_as_it_is_seen() -> None:
    assert low(text("Faint", 100, 100, opacity=0.3))
    assert not low(text("Strong", 100, 100))


def test_an_outline_can_carry_letters() -> None:
    pale = text("Outlined", 100, 100, fill="#fafafa")
    assert low(pale)
    assert not low({**pale, "textStrokeWidth": 2, "textStrokeColor": "#000000"})


def test_every_colour_of_a_gradient_in_the_letters_has_to_be_readable() -> None:
    assert low(text("Fading", 100, 100, fill="linear-gradient(90deg, #000000, #eeeeee)"))


@pytest.mark.parametrize(("size", "is_low"), [(16, True), (30, False)])
def test_large_letters_need_less(size: int, is_low: bool) -> None:
    # 3.5 to 1 on white.
    assert low(text("Size", 100, 100, fontSize=size, fill="#8a8a8a")) is is_low


def test_codes_need_dark_bars_on_a_light_ground() -> None:
    code = {"type": "qr", "x": 10, "y": 10, "width": 100, "height": 100, "qrValue": "x"}
    assert not low(code)
    assert low({**code, "qrColor": "#cccccc"})
    bars = {"type": "barcode", "x": 10, "y": 10, "width": 200, "height": 100, "barcodeValue": "12"}
    assert not low(bars)
    assert low(bars, background="#222222")


def test_the_parts_of_a_table_are_judged_one_by_one() -> None:
    table = {
        "type": "table",
        "x": 10,
        "y": 10,
        "width": 400,
        "height": 200,
        "tableRows": 1,
        "tableColumns": 1,
        "tableCellData": [{"row": 0, "col": 0, "text": "1"}],
    }
    assert not low(table)
    (found,) = look({**table, "tableHeaderBackground": "#222222"})
    assert found.message.startswith("The header of the table 'e0'")
    (found,) = look({**table, "tableAlternateRowColor": "#333333"})
    assert found.message.startswith("The alternate rows")


def test_the_message_names_both_colours_and_the_ratio() -> None:
    (found,) = look(text("Pale", 100, 100, fill="#cccccc"))
    assert "1.6:1 (#cccccc on #ffffff), but 3:1 is required" in found.message
    assert "#111111" in found.fix
