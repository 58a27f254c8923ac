from __future__ import annotations

import re

import pytest

from dovetail_design.model import parse_design
from dovetail_design.rendering import RenderOptions, render_svg


def drawn(text: str, family: str = "Inter", *, outlines: bool = False) -> str:
    box = {"x": 10, "y": 10, "width": 780, "height": 80, "fontSize": 30}
    element = {"type": "text", "text": text, "fontFamily": family, **box}
    design = parse_design({"width": 800, "height": 100, "elements": [element]})
    return render_svg(design, RenderOptions(text_as_paths=outlines)).decode()


@pytest.mark.parametrize(
    ("text", "family"),
    [("A well-known word", "Inter"), ("office", "Roboto"), ("Big words", "Bebas Neue")],
)
def test_letters_come_with_their_font(text: str, family: str) -> None:
    markup = drawn(text, family)
    assert len(re.findall("@font-face", markup)) == 1 and "<text" in markup
    assert f"font-family:'{family}'" in markup and "data:font/woff;base64," in markup
    # The subset is small.
    assert len(markup) < 12_000


@pytest.mark.parametrize("text", ["a -> b", "مرحبا", "שלום"])
def test_joined_or_replaced_letters_are_outlines_with_a_label(text: str) -> None:
    markup = drawn(text)
    assert "<text" not in markup and "<style" not in markup and "<path" in markup
    assert 'role="img"' in markup and "aria-label=" in markup


def test_outlines_can_be_chosen() -> None:
    markup = drawn("word", outlines=True)
    assert "<text" not in markup and 'aria-label="word"' in markup
