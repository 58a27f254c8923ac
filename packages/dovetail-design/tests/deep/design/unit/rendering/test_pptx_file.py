from __future__ import annotations

import io
import zipfile
from typing import Any

from pptx import Presentation
from pptx.enum.shapes import MSO_SHAPE_TYPE

from dovetail_design.model import Design, parse_design
from dovetail_design.rendering.pptx_file import write_slides
from dovetail_design.rendering.render_options import RenderOptions

TEXT, SHAPE, PICTURE = MSO_SHAPE_TYPE.TEXT_BOX, MSO_SHAPE_TYPE.AUTO_SHAPE, MSO_SHAPE_TYPE.PICTURE
LINE, TABLE = MSO_SHAPE_TYPE.LINE, MSO_SHAPE_TYPE.TABLE


def shapes(*elements: dict[str, Any]) -> list[Any]:
    placed = [{"x": 10, "y": 20, "width": 100, "height": 40, **element} for element in elements]
    design = parse_design({"width": 200, "height": 100, "elements": placed})
    return list(Presentation(io.BytesIO(write_slides(design, RenderOptions()))).slides[0].shapes)


def test_plain_things_can_be_edited_and_others_are_pictures() -> None:
    kinds: list[tuple[dict[str, Any], Any]] = [
        ({"type": "rectangle", "fill": "#112233", "borderRadius": 8}, SHAPE),
        ({"type": "circle", "stroke": "red"}, SHAPE),
        ({"type": "text", "text": "words", "textDecoration": "underline"}, TEXT),
        ({"type": "rectangle", "fill": "linear-gradient(red, blue)"}, SHAPE),
        ({"type": "rectangle", "fill": "conic-gradient(red, blue)"}, PICTURE),
        ({"type": "circle", "fill": "#ff000080"}, SHAPE),
        ({"type": "circle", "fill": "red", "stroke": "blue", "opacity": 0.5}, PICTURE),
        ({"type": "text", "text": "words", "letterSpacing": 4}, TEXT),
        ({"type": "line", "lineEnd": "arrow"}, LINE),
        ({"type": "line", "rotation": 30}, PICTURE),
        ({"type": "table"}, TABLE),
        ({"type": "table", "rotation": 30}, PICTURE),
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
        data = write_slides(Design(width=width, height=height), RenderOptions())
        shown = Presentation(io.BytesIO(data))
        for side in (shown.slide_width, shown.slide_height):
            assert side is not None and 914_400 <= side <= 51_206_400


def test_the_archive_has_no_date() -> None:
    data = write_slides(Design(width=100, height=100), RenderOptions())
    with zipfile.ZipFile(io.BytesIO(data)) as archive:
        assert {entry.date_time for entry in archive.infolist()} == {(1980, 1, 1, 0, 0, 0)}


def test_each_page_is_a_slide() -> None:
    box = {"type": "circle", "x": 1, "y": 1, "width": 9, "height": 9}
    elements = [{**box, "id": str(page), "page": page} for page in (3, 1, 3)]
    design = parse_design({"width": 100, "height": 100, "elements": elements})
    slides = Presentation(io.BytesIO(write_slides(design, RenderOptions()))).slides
    assert [len(slide.shapes) for slide in slides] == [1, 0, 2]


def test_nothing_has_the_shadow_or_the_line_of_a_theme() -> None:
    for shape in shapes({"type": "rectangle"}, {"type": "line"}, {"type": "text", "text": "a"}):
        markup = shape._element.xml
        assert "p:style" not in markup and "effectRef" not in markup


def test_letter_spacing_is_in_points() -> None:
    (shape,) = shapes({"type": "text", "text": "a", "letterSpacing": 4})
    assert 'spc="300"' in shape._element.xml
