"""The page of what the studio ships with is up to date, and its pictures are there."""

from __future__ import annotations

from PIL import Image

from dovetail_design.findings import describe
from tools.gallery import IMAGES, PAGE, SHEETS, element_cells, sheet, write_page


def test_the_page_says_what_there_is() -> None:
    assert PAGE.read_text("utf-8") == write_page(), "run make gallery"


def test_every_sheet_is_a_small_picture_without_a_fault() -> None:
    for name, (cells, columns, size) in SHEETS.items():
        path = IMAGES / f"design-{name}.webp"
        assert path.stat().st_size < 300_000, name
        design = sheet(cells(), columns, size)
        assert describe(design).findings == (), name
        with Image.open(path) as picture:
            assert picture.size == (design.width, design.height), f"{name}: run make gallery"


def test_every_type_of_element_is_on_the_first_sheet() -> None:
    shown = {element["type"] for _, parts in element_cells() for element in parts}
    assert shown == {
        "rectangle",
        "circle",
        "text",
        "image",
        "line",
        "polygon",
        "star",
        "svg",
        "bezier",
        "container",
        "table",
        "qr",
        "barcode",
    }
    formats = {
        element["barcodeFormat"]
        for _, parts in element_cells()
        for element in parts
        if element["type"] == "barcode"
    }
    assert len(formats) == 10
