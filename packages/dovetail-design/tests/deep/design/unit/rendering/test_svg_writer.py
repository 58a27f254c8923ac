from __future__ import annotations

from typing import Any
from xml.etree import ElementTree

from dovetail_design.model import parse_design
from dovetail_design.rendering.render_options import RenderOptions
from dovetail_design.rendering.svg_writer import render_svg
from tests.deep.design.render_cases import DRAWING, PHOTO

SVG = "{http://www.w3.org/2000/svg}"


def written(*elements: dict[str, Any], **options: Any) -> ElementTree.Element:
    placed = [{"x": 0, "y": 0, "width": 50, "height": 40, **element} for element in elements]
    design = parse_design({"width": 100, "height": 80, "elements": placed})
    return ElementTree.fromstring(render_svg(design, RenderOptions(**options)))


def test_the_canvas_is_the_view_box() -> None:
    root = written(scale=2, title="A & B")
    assert (root.get("width"), root.get("viewBox")) == ("200", "0 0 100 80")
    assert root.findtext(f"{SVG}title") == "A & B"
    assert len(root.findall(f"{SVG}path")) == 1
    assert len(written(transparent=True)) == 0


def test_equal_definitions_are_written_once() -> None:
    fill = "linear-gradient(red, blue)"
    root = written({"type": "rectangle", "fill": fill}, {"type": "circle", "fill": fill})
    assert len(root.findall(f".//{SVG}linearGradient")) == 1


def test_text_with_special_letters_is_escaped() -> None:
    root = written({"type": "text", "text": "a<b>&c", "width": 99})
    assert "".join(node.text or "" for node in root.iter(f"{SVG}text")) == "a<b>&c"


def test_drawings_do_not_share_ids() -> None:
    root = written({"type": "svg", "src": DRAWING}, {"type": "svg", "src": DRAWING})
    ids = [node.get("id") for node in root.iter(f"{SVG}linearGradient")]
    assert len(ids) == len(set(ids)) == 2
    fills = [node.get("fill") for node in root.iter(f"{SVG}circle")]
    assert fills == [f"url(#{name})" for name in ids]


def test_pictures_lie_inside_the_file() -> None:
    root = written({"type": "image", "src": PHOTO}, {"type": "image", "src": "https://x.example/a"})
    links = [node.get("{http://www.w3.org/1999/xlink}href") for node in root.iter(f"{SVG}image")]
    assert [str(link)[:22] for link in links] == ["data:image/png;base64,"]


def test_effects_are_groups() -> None:
    root = written({"type": "circle", "rotation": 20, "opacity": 0.5, "blur": 3})
    (outer,) = root.findall(f"{SVG}g")
    (inner,) = outer.findall(f"{SVG}g")
    assert outer.get("transform") == "rotate(20 25 20)"
    assert inner.get("opacity") == "0.5"
    assert str(inner.get("filter")).startswith("url(#")
