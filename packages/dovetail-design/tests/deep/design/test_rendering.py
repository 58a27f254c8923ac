"""Every type of element and group of styles looks as it did, and as another renderer draws it."""

from __future__ import annotations

import io

import pypdfium2  # type: ignore[import-untyped]  # it ships without types
import pytest
import resvg_py

from dovetail_design.model import ELEMENT_TYPES
from dovetail_design.rendering import RenderOptions, render_pdf, render_png, render_svg
from tests.deep.design.pictures import colour_distance, similarity
from tests.deep.design.render_cases import CASES, REFERENCES, design_of

# What is seen through a panel is blurred at twice the size in a PDF, and keeps a little more.
PDF_BAR = {"backdrop_blur": 0.8}


def test_every_type_has_its_pictures() -> None:
    drawn = {element["type"] for elements in CASES.values() for element in elements}
    assert drawn == set(ELEMENT_TYPES)


def test_every_reference_belongs_to_a_case() -> None:
    assert {path.stem for path in REFERENCES.glob("*.png")} == set(CASES)


@pytest.mark.parametrize("name", CASES)
def test_a_design_looks_as_its_reference(name: str) -> None:
    reference = (REFERENCES / f"{name}.png").read_bytes()
    drawn = render_png(design_of(CASES[name]))
    # Not byte for byte: processors of different kinds round differently in the last bit.
    assert similarity(drawn, reference) >= 0.995
    assert colour_distance(drawn, reference) <= 0.5


@pytest.mark.parametrize("name", CASES)
def test_another_renderer_draws_the_svg_like_our_picture(name: str) -> None:
    design = design_of(CASES[name])
    markup = render_svg(design, RenderOptions(text_as_paths=True)).decode()
    other = bytes(resvg_py.svg_to_bytes(svg_string=markup))
    drawn = render_png(design)
    assert similarity(drawn, other) >= 0.97
    assert colour_distance(drawn, other) <= 4


@pytest.mark.parametrize("name", CASES)
def test_a_reader_of_pdf_draws_it_like_our_picture(name: str) -> None:
    design = design_of(CASES[name])
    page = pypdfium2.PdfDocument(render_pdf(design))[0]
    stream = io.BytesIO()
    page.render(scale=96 / 72).to_pil().save(stream, "PNG")
    assert similarity(render_png(design), stream.getvalue()) >= PDF_BAR.get(name, 0.95)


def test_the_measure_sees_what_is_missing() -> None:
    one, other = (render_png(design_of(CASES[name])) for name in ("rectangle", "circle"))
    assert similarity(one, other) < 0.97
    assert similarity(one, one) == pytest.approx(1.0)
