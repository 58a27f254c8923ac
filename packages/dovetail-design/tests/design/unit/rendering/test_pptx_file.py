from __future__ import annotations

import io
import zipfile
from typing import Any

from pptx import Presentation
from pptx.enum.shapes import MSO_SHAPE_TYPE

from dovetail_design.model import Design, parse_design
from dovetail_design.rendering.pptx_file import write_slide
from dovetail_design.rendering.render_options import RenderOptions

TEXT, SHAPE, PICTURE = MSO_SHAPE_TYPE.TEXT_BOX, MSO_SHAPE_TYPE.AUTO_SHAPE, MSO_SHAPE_TYPE.PICTURE


def shapes(*elements: dict[str, Any]) -> list[Any]:
    placed = [{"x": 10, "y": 20, "width": 100, "height": 40, **element} for element in elements]
    design = parse_design({"width": 200, "height": 100, "elements": placed})
    return list(Presentation(io.BytesIO(write_slide(design, RenderOptions()))).slides[0].shapes)


def test_plain_things_can_be_edited_and_others_are_pictures() -> None:
    kinds: list[tuple[dict[str, Any], Any]] = [
        ({"type": "rectangle", "fill": "#112233", "borderRadius": 8}, SHAPE),
        ({"type": "circle", "stroke": "red"}, SHAPE),
        ({"type": "text", "text": "words", "textDecoration": "underline"}, TEXT),
        ({"type": "rectangle", "fill": "linear-gradient(red, blue)"}, PICTURE),
        ({"type": "circle", "fill": "#ff000080"}, PICTURE),
        ({"type": "rectangle", "boxShadow": "0 1px 2px red"}, PICTURE),
        ({"type": "text", "text": "words", "textStrokeWidth": 2}, PICTURE),
        ({"type": "star"}, PICTURE),
    ]
    assert [shape.shape_type for shape in shapes(*(one for one, _ in kinds))] == [
        kind for _, kind in kinds
    ]


def test_a_text_keeps_its_look() -> None:
    (shape,) = shapes(
        {"type": "text", "text": "one\ntwo", "fontSize": 24, "fontWeight": 700, "rotation": 30,
         "fontFamily": "Lato", "fill": "#102030", "textAlign": "center", "name": "Title"}
    )  # fmt: skip
    assert (shape.left, shape.top, shape.width) == (10 * 9525, 20 * 9525, 100 * 9525)
    assert (shape.rotation, shape.name, shape.text_frame.text) == (30, "Title", "one\ntwo")
    font = shape.text_frame.paragraphs[1].runs[0].font
    assert (font.size.pt, font.bold, font.name, str(font.color.rgb)) == (
        18,
        True,
        "Open Sans",
        "102030",
    )


def test_children_of_a_turned_panel_are_in_its_picture() -> None:
    panel = {"type": "container", "id": "panel", "fill": "white"}
    child = {"type": "text", "text": "inside", "groupId": "panel"}
    assert [one.shape_type for one in shapes(panel, child)] == [PICTURE, TEXT]
    assert [one.shape_type for one in shapes({**panel, "rotation": 5}, child)] == [PICTURE]


def test_hidden_elements_are_left_out() -> None:
    assert shapes({"type": "circle", "visible": False}) == []


def test_slides_have_sizes_that_are_allowed() -> None:
    for width, height in ((10, 10), (10_000, 10_000), (10_000, 10)):
        data = write_slide(Design(width=width, height=height), RenderOptions())
        shown = Presentation(io.BytesIO(data))
        for side in (shown.slide_width, shown.slide_height):
            assert side is not None and 914_400 <= side <= 51_206_400


def test_the_archive_has_no_date() -> None:
    data = write_slide(Design(width=100, height=100), RenderOptions())
    with zipfile.ZipFile(io.BytesIO(data)) as archive:
        assert {entry.date_time for entry in archive.infolist()} == {(1980, 1, 1, 0, 0, 0)}
