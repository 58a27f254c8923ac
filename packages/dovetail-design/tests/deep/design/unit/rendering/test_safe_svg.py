from __future__ import annotations

import pytest

from dovetail import ToolError
from dovetail_design.rendering.safe_svg import looks_like_svg, read_svg

# What is refused is tested through the renderer: tests/servers/design/test_rendering_limits.py.
HEAD = '<svg xmlns="http://www.w3.org/2000/svg" '


def test_shapes_and_gradients_stay() -> None:
    drawing = read_svg(
        f"""<?xml version="1.0"?><!-- by hand -->
        {HEAD}viewBox="0 0 24 12" class="x" data-name="y">
        <title>Hidden <b>words</b></title><defs><linearGradient id="a"><stop offset="1"/>
        </linearGradient></defs><g style="fill: url(#a); -x-unknown: 1"><path d="M0 0h4"/></g></svg>
        """.encode()
    )
    assert (drawing.width, drawing.height) == (24, 12)
    assert "Hidden" not in drawing.markup and "class" not in drawing.markup
    assert '<g fill="url(#a)">' in drawing.markup
    assert '<path d="M0 0h4">' in drawing.markup


def test_every_way_to_paint_stays() -> None:
    written = 'fill-rule="evenodd" fill-opacity="0.5" stroke-linecap="round" clip-rule="evenodd"'
    stop = 'stop-color="red" stop-opacity="0.25"'
    markup = read_svg(
        f"""{HEAD}><linearGradient id="a"><stop {stop}/></linearGradient>
        <path d="M0 0h4" {written}/></svg>""".encode()
    ).markup
    for attribute in f"{written} {stop}".split():
        assert attribute in markup


@pytest.mark.parametrize(
    ("attributes", "size"),
    [
        ('width="30" height="20px"', (30, 20)),
        ('width="100%" height="100%" viewBox="0,0,8,4"', (8, 4)),
        ("", (100, 100)),
    ],
)
def test_the_size_is_found(attributes: str, size: tuple[float, float]) -> None:
    drawing = read_svg(f"{HEAD}{attributes}/>".encode())
    assert (drawing.width, drawing.height) == size


def test_a_size_out_of_bounds_is_refused() -> None:
    with pytest.raises(ToolError, match="1 to 100000"):
        read_svg(f'{HEAD}width="1000000" height="1"/>'.encode())


@pytest.mark.parametrize(
    "inner",
    [
        '<clipPath id="a" clip-path="url(#b)"/>',
        '<clipPath id="a"><g><path style="clip-path: url(#b)"/></g></clipPath>',
    ],
)
def test_clips_are_not_clipped(inner: str) -> None:
    with pytest.raises(ToolError, match="clip-path on or inside <clipPath>"):
        read_svg(f"{HEAD}>{inner}</svg>".encode())


def test_shapes_after_a_clip_are_clipped() -> None:
    shape = '<path clip-path="url(#a)"></path>'
    inner = f'<clipPath id="a"><g><rect></rect></g></clipPath>{shape}'
    assert inner in read_svg(f"{HEAD}>{inner}</svg>".encode()).markup


def test_names_of_drawing_programs_are_left_out() -> None:
    markup = read_svg(
        f'{HEAD}xmlns:ink="x" ink:version="1"><g ink:label="layer"/></svg>'.encode()
    ).markup
    assert "ink:" not in markup.replace("xlink:", "")


def test_svg_is_known_by_its_beginning() -> None:
    assert looks_like_svg(b"\xef\xbb\xbf  <SVG")
    assert looks_like_svg(b"<!-- c --><svg>")
    assert not looks_like_svg(b"\x89PNG")
