"""The files that come out: the same bytes everywhere, and readable by others."""

from __future__ import annotations

import hashlib
import io
import os
import subprocess
import sys
from pathlib import Path

import msgspec
import PIL.Image
import pypdfium2  # type: ignore[import-untyped]  # it ships without types
import pytest
from pptx import Presentation

from dovetail import ToolError
from dovetail_design.model import Design, parse_design
from dovetail_design.rendering import (
    RenderOptions,
    render_jpeg,
    render_pdf,
    render_png,
    render_pptx,
    render_svg,
    render_webp,
)
from tests.deep.design.pictures import similarity
from tests.deep.design.render_cases import CASES, DRAWING, PHOTO

ROOT = Path(__file__).parents[3]

WRITERS = {
    "png": render_png,
    "jpeg": render_jpeg,
    "webp": render_webp,
    "svg": render_svg,
    "pdf": render_pdf,
    "pptx": render_pptx,
}

POSTER = parse_design(
    {
        "width": 400,
        "height": 300,
        "background": "linear-gradient(to right, #f8fafc, #bfdbfe)",
        "elements": [
            {"type": "rectangle", "id": "panel", "x": 20, "y": 20, "width": 200, "height": 90,
             "fill": "#ffffff", "borderRadius": 12, "boxShadow": "0 4px 12px #0006"},
            {"type": "text", "id": "title", "x": 30, "y": 30, "width": 180, "height": 40,
             "text": "Findable words", "fontSize": 22, "fontWeight": "bold"},
            {"type": "text", "id": "outlined", "x": 30, "y": 70, "width": 180, "height": 40,
             "text": "Outlined", "fontSize": 22, "textStrokeWidth": 1, "textShadowBlur": 3},
            {"type": "text", "id": "hebrew", "x": 230, "y": 20, "width": 150, "height": 40,
             "text": "שלום", "fontSize": 26},
            {"type": "circle", "id": "dot", "x": 240, "y": 80, "width": 60, "height": 60,
             "fill": "#ef4444"},
            {"type": "image", "id": "photo", "x": 20, "y": 130, "width": 120, "height": 80,
             "src": PHOTO},
            {"type": "svg", "id": "drawing", "x": 150, "y": 130, "width": 80, "height": 80,
             "src": DRAWING},
            {"type": "qr", "id": "qr", "x": 240, "y": 150, "width": 100, "height": 100,
             "qrValue": "https://example.org"},
            {"type": "table", "id": "table", "x": 20, "y": 220, "width": 200, "height": 60,
             "tableRows": 1, "tableColumns": 2,
             "tableCellData": [{"row": 0, "col": 0, "text": "Cell"}]},
        ],
    }
)  # fmt: skip

_SCRIPT = """
import hashlib, sys
from tests.deep.design.test_rendering_files import POSTER, WRITERS
print(*(hashlib.sha256(write(POSTER)).hexdigest() for write in WRITERS.values()))
"""


def test_every_file_has_the_same_bytes_in_another_process() -> None:
    here = [hashlib.sha256(write(POSTER)).hexdigest() for write in WRITERS.values()]
    done = subprocess.run(
        [sys.executable, "-c", _SCRIPT],
        capture_output=True,
        text=True,
        check=True,
        cwd=ROOT,
        # Another order of sets and dictionaries by hash must not matter.
        env={**os.environ, "PYTHONHASHSEED": "12345", "PYTHONPATH": str(ROOT)},
    )
    there = done.stdout.split()
    assert dict(zip(WRITERS, there, strict=True)) == dict(zip(WRITERS, here, strict=True))


def test_a_kept_layout_does_not_change_the_picture() -> None:
    first = render_png(POSTER)
    for elements in CASES.values():
        render_png(parse_design({"width": 160, "height": 120, "elements": elements}))
    assert render_png(POSTER) == first


@pytest.mark.parametrize("kind", ["png", "jpeg", "webp"])
def test_a_picture_has_the_size_that_was_asked_for(kind: str) -> None:
    for options, size in (
        (RenderOptions(), (400, 300)),
        (RenderOptions(scale=2), (800, 600)),
        (RenderOptions(max_width=128), (128, 96)),
        (RenderOptions(max_width=4000), (400, 300)),
    ):
        image = PIL.Image.open(io.BytesIO(WRITERS[kind](POSTER, options)))
        assert (image.size, image.format) == (size, kind.upper())


def test_a_transparent_picture_shows_what_is_behind() -> None:
    seen = PIL.Image.open(io.BytesIO(render_png(POSTER, RenderOptions(transparent=True))))
    assert seen.mode == "RGBA"
    assert seen.getpixel((390, 290)) == (0, 0, 0, 0)
    opaque = PIL.Image.open(io.BytesIO(render_png(POSTER)))
    assert opaque.mode == "RGB"


def test_only_the_chosen_elements_are_drawn() -> None:
    options = RenderOptions(element_ids=("dot",), transparent=True)
    seen = PIL.Image.open(io.BytesIO(render_png(POSTER, options))).convert("RGBA")
    assert seen.getbbox() == (240, 80, 300, 140)


def test_an_unknown_element_is_refused() -> None:
    with pytest.raises(ToolError, match="no element 'nobody'"):
        render_png(POSTER, RenderOptions(element_ids=("nobody",)))


def test_a_fast_preview_shows_the_same() -> None:
    usual, fast = (render_png(POSTER, RenderOptions(is_fast=is_fast)) for is_fast in (False, True))
    assert PIL.Image.open(io.BytesIO(usual)).tobytes() == PIL.Image.open(io.BytesIO(fast)).tobytes()
    assert len(fast) > len(usual)


def test_the_text_of_a_pdf_can_be_copied_and_is_there_once() -> None:
    page = pypdfium2.PdfDocument(render_pdf(POSTER))[0]
    text = page.get_textpage().get_text_range()
    for words in ("Findable words", "Outlined", "שלום", "Cell"):
        assert text.count(words) == 1
    assert page.get_size() == (300, 225)


def test_a_pdf_looks_like_the_picture() -> None:
    page = pypdfium2.PdfDocument(render_pdf(POSTER))[0]
    stream = io.BytesIO()
    page.render(scale=96 / 72).to_pil().save(stream, "PNG")
    assert similarity(stream.getvalue(), render_png(POSTER)) >= 0.95


def test_a_pdf_keeps_shapes_as_shapes() -> None:
    plain = msgspec.structs.replace(POSTER, elements=POSTER.elements[1:2], background="#ffffff")
    assert b"/Subtype /Image" not in render_pdf(plain)


def test_text_in_svg_is_text_with_its_font() -> None:
    markup = render_svg(POSTER).decode()
    assert ">Findable<" in markup.replace(" words", "<") or "Findable words" in markup
    assert "font-family=\"'Inter'\"" in markup and "@font-face" in markup
    assert 'font-weight="700"' in markup
    assert "<text" not in render_svg(POSTER, RenderOptions(text_as_paths=True)).decode()


def test_a_slide_keeps_text_and_plain_shapes_editable() -> None:
    data = render_pptx(POSTER, RenderOptions(title="Poster"))
    shown = Presentation(io.BytesIO(data))
    shapes = list(shown.slides[0].shapes)
    texts = [shape.text_frame.text for shape in shapes if shape.has_text_frame]
    assert "Findable words" in texts
    assert shown.slide_width == 400 * 9525
    # The gradient of the background is a background, not a picture.
    assert len(shapes) == len(POSTER.elements)
    assert shown.core_properties.title == "Poster"


@pytest.mark.parametrize("kind", WRITERS)
def test_an_empty_design_can_be_written(kind: str) -> None:
    assert WRITERS[kind](Design(width=10, height=10))
