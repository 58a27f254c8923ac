"""Pictures of the library as the `src` of an element: the renderer reads them as SVG."""

from __future__ import annotations

import io

import PIL.Image
import pytest

from dovetail_design.library.pictures import KINDS, Picture, list_pictures
from dovetail_design.model import parse_design
from dovetail_design.rendering import RenderOptions, render_png

PICTURES = [picture for kind in KINDS for picture in list_pictures(kind)]


@pytest.mark.parametrize("picture", PICTURES, ids=lambda picture: f"{picture.kind}-{picture.name}")
def test_an_embedded_picture_is_drawn_in_its_colours(picture: Picture) -> None:
    markup = picture.as_svg().encode()
    image = {"type": "image", "src": "embedded:x", "x": 0, "y": 0, "width": 80, "height": 80}
    design = parse_design({"width": 80, "height": 80, "elements": [image]})
    drawn = render_png(design, RenderOptions(find_asset=lambda _src: markup))
    colours = PIL.Image.open(io.BytesIO(drawn)).convert("RGB").getcolors(80 * 80)
    assert colours is not None and len(colours) > 1
