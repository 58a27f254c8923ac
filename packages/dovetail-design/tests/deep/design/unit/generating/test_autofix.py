"""Small repairs."""

from __future__ import annotations

from dovetail_design.findings import describe
from dovetail_design.generating.autofix import fit_texts, fix_contrast
from dovetail_design.model import Design, Text
from tests.deep.design.unit.findings.scenery import box, design, text


def first_text(made: Design) -> Text:
    return next(element for element in made.elements if isinstance(element, Text))


def test_letters_become_smaller_until_they_fit() -> None:
    made = fit_texts(design(text("A headline of several words", 50, 50, 300, 70, fontSize=60)))
    assert describe(made).findings == ()
    assert 24 <= (first_text(made).fontSize or 0) < 60


def test_text_that_fits_is_left_alone() -> None:
    before = design(text("Fits", 50, 50))
    assert fit_texts(before) == before


def test_text_is_never_made_unreadably_small() -> None:
    made = fit_texts(design(text("word " * 500, 50, 50, 100, 40, fontSize=50)))
    assert (first_text(made).fontSize or 0) >= 20


def test_letters_that_cannot_be_read_become_black_or_white() -> None:
    on_dark = fix_contrast(design(box(0, 0, 800, 600, "#14213d"), text("Dim", 50, 50, fill="#333")))
    assert first_text(on_dark).fill == "#ffffff"
    on_light = fix_contrast(design(text("Pale", 50, 50, fill="#eeeeee")))
    assert first_text(on_light).fill == "#111111"


def test_letters_that_can_be_read_keep_their_colour() -> None:
    before = design(text("Fine", 50, 50, fill="#8a1c1c"))
    assert fix_contrast(before) == before


def test_codes_and_tables_are_mended_too() -> None:
    dark = box(0, 0, 800, 600, "#14213d")
    bars = {"type": "barcode", "x": 10, "y": 10, "width": 200, "height": 80, "barcodeValue": "12"}
    code = {
        "type": "qr",
        "x": 10,
        "y": 100,
        "width": 90,
        "height": 90,
        "qrValue": "x",
        "qrColor": "#cccccc",
    }
    table = {
        "type": "table",
        "x": 300,
        "y": 10,
        "width": 300,
        "height": 200,
        "tableRows": 1,
        "tableColumns": 1,
        "tableHeaderBackground": "#222222",
        "tableCellData": [{"row": 0, "col": 0, "text": "1"}],
    }
    flawed = design(dark, bars, code, table)
    assert len(describe(flawed).findings) == 4
    assert describe(fix_contrast(flawed)).findings == ()
