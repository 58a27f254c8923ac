from __future__ import annotations

import io

import pypdfium2  # type: ignore[import-untyped]  # it ships without types
import pytest
from pypdf import PdfReader

from dovetail_design.fonts.bundled import FALLBACKS
from dovetail_design.model import parse_design
from dovetail_design.rendering import render_pdf

FAMILIES = ["Inter", "Roboto", "Noto Serif", "Bebas Neue", "Lobster", "Dancing Script", "Open Sans"]


def page(text: str, family: str, **more: object) -> bytes:
    box = {"x": 10, "y": 10, "width": 780, "height": 80, "fontSize": 30}
    element = {"type": "text", "text": text, "fontFamily": family, **box, **more}
    return render_pdf(parse_design({"width": 800, "height": 100, "elements": [element]}))


def read(data: bytes) -> str:
    return str(pypdfium2.PdfDocument(data)[0].get_textpage().get_text_range()).strip()


@pytest.mark.parametrize("family", FAMILIES)
@pytest.mark.parametrize("more", [{}, {"fill": "linear-gradient(90deg, red, blue)"}])
def test_text_is_extracted_exactly_and_fonts_are_real(family: str, more: dict[str, object]) -> None:
    text = "TV-SHOW 12-34: well-known office -> 8 pm, 10% (ffl)"
    data = page(text, family, **more)
    # Readers find narrow spaces by their width, each in its own way.
    assert "".join(read(data).split()) == "".join(text.split())
    fonts = PdfReader(io.BytesIO(data)).pages[0]["/Resources"]["/Font"].values()  # type: ignore[index]
    assert {font.get_object()["/Subtype"] for font in fonts} == {"/Type0"}
    assert data == page(text, family, **more)


def test_a_fallback_is_embedded_too() -> None:
    assert "Noto Sans Hebrew" in FALLBACKS
    assert "שלום" in read(page("Peace: שלום", "Bebas Neue"))
